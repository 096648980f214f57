# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of arrays, and quantities of astropy."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ._c import C, Context, InputError

Array = npt.NDArray[np.float64]
# What a quantity of astropy is asked for: a unit of astropy, and the same in units of the library.
_ASKED = {
    "length": ("AU", {"length": 1}),
    "mass": ("solMass", {"mass": 1}),
    "time": ("d", {"time": 1}),
    "velocity": ("AU / d", {"length": 1, "time": -1}),
    "frequency": ("1 / d", {"time": -1}),
    "angular velocity": ("rad / d", {"time": -1}),
    "angle": ("rad", {}),
    "": ("", {}),
}


def doubles(value: Any) -> Array:
    """Numbers of any kind; those that are masked are NaN."""
    if hasattr(value, "mask") and hasattr(value, "filled"):
        value = value.astype(np.float64).filled(np.nan)
    return np.asarray(value, dtype=np.float64)


class Units:
    """Units by their names: ``"AU, Msun, yr"``, or with a constant of gravitation, ``"AU, Msun, G = 1"``.

    Attributes
    ----------
    length, mass, time : float
        One unit in units of the library.
    G : float
        The constant of gravitation in these units.
    of_rebound : tuple of str, or None
        The names that they have in REBOUND, if they are those of a simulation.
    """

    of_rebound: tuple[str, ...] | None = None

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InputError(f"units = {text!r}: expected a text like 'AU, Msun, yr'")
        context, factors = Context(), (ctypes.c_double * 4)()
        context.check(C.shoal_unit_factors(context.address, text.encode(), factors))
        self.text = text
        self.length, self.mass, self.time, self.G = factors
        words = ["" if "=" in word else word.strip() for word in text.split(",")]
        self._names = dict(zip(("length", "mass", "time"), words, strict=False))

    def factor(self, dimension: str) -> float:
        """A unit of this dimension in units of the library."""
        return {
            "length": self.length,
            "mass": self.mass,
            "time": self.time,
            "velocity": self.length / self.time,
            "frequency": 1 / self.time,
            "angular velocity": 1 / self.time,
        }.get(dimension, 1.0)

    def name(self, dimension: str) -> str:
        """The name of the unit of a dimension, as xarray and pandas show it."""
        length, time = self._names.get("length", "AU"), self._names.get("time", "")
        return {
            "length": length,
            "mass": self._names.get("mass", "Msun"),
            "time": time,
            "velocity": f"{length}/{time}",
            "frequency": f"1/{time}",
            "angular velocity": f"rad/{time}",
            "angle": "rad",
        }.get(dimension, "")

    def plain(self, value: Any, dimension: str, angle: float = 1.0) -> Array:
        """Numbers in these units, of numbers, or of a quantity or column of astropy; what is masked is NaN.

        Angles in radians, of numbers in units of `angle`.
        """
        if getattr(value, "unit", None) is not None and not hasattr(value, "to_value"):
            value = doubles(value) * value.unit
        if hasattr(value, "to_value"):
            unit, powers = _ASKED[dimension]
            try:
                numbers = doubles(value.to_value(unit))
            except Exception as error:
                raise InputError(f"{value}: expected a quantity of {dimension or 'no unit'}: {error}") from None
            in_days = Units("AU, Msun, d") if powers else self
            for name, power in powers.items():
                numbers = numbers * math.pow(getattr(in_days, name) / getattr(self, name), power)
            return numbers
        try:
            is_text = np.asarray(value).dtype.kind in "SU"
        except TypeError:  # a list of quantities
            return np.array([self.plain(item, dimension, angle) for item in value])
        if is_text:
            raise InputError(f"{value!r}: expected a number of {dimension or 'no unit'}, or an array of numbers")
        numbers = doubles(value)
        return numbers * angle if dimension == "angle" and angle != 1.0 else numbers


def plain_setting(value: Any, dimension: str, units: Units) -> Any:
    """A setting of a plug: a number becomes one in units of the library, a word stays."""
    if isinstance(value, str):
        return value
    return float(units.plain(value, dimension)) * units.factor(dimension)

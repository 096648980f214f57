# SPDX-License-Identifier: GPL-3.0-or-later
"""Ensembles: systems in arrays."""

from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._c import Block, C, Context, Handle, InputError, text
from ._units import Array, Units, doubles

FRAMES = ("jacobi", "astrocentric", "barycentric")
NUMBERS = 7  # of a body: m x y z vx vy vz, or m a e inc Omega omega f
_STATE = ("mass", "length", "length", "length", "velocity", "velocity", "velocity")
_ORBIT = ("mass", "length", "", "angle", "angle", "angle", "angle")


def _frame_index(frame: str) -> int:
    if frame not in FRAMES:
        raise InputError(f"frame = {frame!r}: expected one of {', '.join(FRAMES)}")
    return FRAMES.index(frame)


def block_of(values: Array) -> Block:
    """Where the numbers of [systems][bodies][numbers] or [systems][bodies] are."""
    n, n_bodies = values.shape[:2]
    strides = (*values.strides, 0)[:3]
    return Block(0, n, n_bodies, *strides)


def convert(values: Array, dimensions: Sequence[str], units: Units, power: int) -> Array:
    """Numbers of bodies to (power 1) or from (-1) units of the library; the same array if these are the units."""
    factors = np.array([units.factor(dimension) ** power for dimension in dimensions])
    return values if (factors == 1).all() else values * factors


class Made:
    """An ensemble of the library, with its context."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.context = Context()
        self.n_invalid = 0
        self.messages: list[str] = []
        address = self.context.address
        n, n_bodies = ensemble.n_systems, ensemble.n_bodies
        self.handle: Handle = self.context.make(
            "shoal_ensemble_create", "shoal_ensemble_destroy", address, n, n_bodies, keeps=self.context
        )
        is_orbits = ensemble._frame is not None
        values = convert(ensemble._values, _ORBIT if is_orbits else _STATE, ensemble._units, 1)
        if ensemble._is_mean:
            values = np.array(values)
            values[:, 1:, 6] = true_anomaly(values[:, 1:, 2], values[:, 1:, 6])
        first = (ensemble._frame,) if is_orbits else ()
        self._set(C.shoal_ensemble_set_orbits if is_orbits else C.shoal_ensemble_set_states, values, *first)
        if ensemble._radii is not None:
            self._set(C.shoal_ensemble_set_radii, ensemble._radii * ensemble._units.length)
        if ensemble._t.any():
            times = np.ascontiguousarray(np.broadcast_to(ensemble._t, n)) * ensemble._units.time
            self.context.call(C.shoal_ensemble_set_column, self.handle.address, b"t_start", 0, n, times.ctypes.data, 0)

    def _set(self, function: Any, values: Array, *first: Any) -> None:
        n_invalid = ctypes.c_long()
        block = ctypes.byref(block_of(values))
        self.context.call(function, self.handle.address, *first, block, values.ctypes.data, ctypes.byref(n_invalid))
        if n_invalid.value:
            self.n_invalid += n_invalid.value
            self.messages.append(text(C.shoal_context_message(self.context.address)))

    def warn(self, stacklevel: int) -> None:
        for message in self.messages:
            warnings.warn(message, stacklevel=stacklevel + 1)

    def get(self, function: Any, n: int, n_bodies: int, *first: Any, numbers: int = NUMBERS) -> Array:
        values = np.empty((n, n_bodies, numbers) if numbers > 1 else (n, n_bodies))
        block = ctypes.byref(block_of(values))
        self.context.call(function, self.handle.address, *first, block, values.ctypes.data)
        return values

    def states(self, n: int, n_bodies: int, units: Units) -> Array:
        return convert(self.get(C.shoal_ensemble_get_states, n, n_bodies), _STATE, units, -1)

    def elements(self, n: int, n_bodies: int, units: Units, frame: str) -> Array:
        given = self.get(C.shoal_ensemble_get_orbits, n, n_bodies, _frame_index(frame))
        return convert(given, _ORBIT, units, -1)

    def radii(self, n: int, n_bodies: int, units: Units) -> Array:
        return self.get(C.shoal_ensemble_get_radii, n, n_bodies, numbers=1) / units.length

    def outcomes(self, n: int) -> npt.NDArray[np.intc]:
        codes = np.empty(n, dtype=np.intc)
        self.context.call(C.shoal_ensemble_get_outcomes, self.handle.address, 0, n, codes.ctypes.data)
        return codes

    def column(self, name: str, n: int) -> Array:
        values = np.empty(n)
        place = values.ctypes.data
        self.context.call(C.shoal_ensemble_get_column, self.handle.address, name.encode(), 0, n, place, 0)
        return values


def _close_gaps(values: Array, radii: Array | None) -> tuple[Array, Array | None]:
    """Bodies behind those that are not there move up, and their radii with them; the same arrays if there are none."""
    if values.ndim < 2 or not np.isnan(values[..., 0]).any():
        return values, radii
    gone = np.asarray(np.isnan(values).all(axis=-1))
    n = np.count_nonzero((gone[..., :-1] & ~gone[..., 1:]).any(axis=-1))
    if n == 0:
        return values, radii
    warnings.warn(
        f"{n} systems have lost bodies: those behind them move up and bear the names of their places", stacklevel=3
    )
    order = np.argsort(gone, axis=-1, kind="stable")
    if radii is not None:
        try:
            radii = np.take_along_axis(np.broadcast_to(radii, gone.shape), order, axis=-1)
        except ValueError:
            raise InputError(f"r has the shape {radii.shape}: expected {gone.shape}") from None
    return np.take_along_axis(values, order[..., None], axis=-2), radii


class Ensemble:
    """Independent systems of a few bodies each, in arrays: what `integrate` begins with.

    Make one with `from_elements`, `from_states` or `from_rebound`. Its arrays are not copied, and nothing changes them:
    an ensemble can be integrated many times.

    Attributes
    ----------
    shape : tuple of int
        The leading axes of the arrays that it was made of.
    n_systems, n_bodies : int
    names : list of str
        Those of the bodies.
    """

    def __init__(
        self,
        values: Array,
        frame: int | None,
        radii: Array | None,
        t: Array,
        units: Units,
        names: Sequence[str] | None,
        is_mean: bool = False,
    ) -> None:
        """For the class itself: values [..., bodies, 7] in `units` and radians; is_mean: with M in the place of f."""
        if values.ndim < 2 or values.shape[-1] != NUMBERS:
            raise InputError(f"an array of shape {values.shape}: expected [..., bodies, {NUMBERS}]")
        self.shape: tuple[int, ...] = values.shape[:-2]
        self.n_systems, self.n_bodies = math.prod(self.shape), values.shape[-2]
        if self.n_systems < 1 or self.n_bodies < 2:
            raise InputError(f"{self.n_systems} systems of {self.n_bodies} bodies: expected 1 of 2, or more")
        self._values = values.reshape(self.n_systems, self.n_bodies, NUMBERS)
        self._frame, self._units, self._is_mean = frame, units, is_mean
        self._radii = None if radii is None else self._spread(radii, (self.n_bodies,), "r")
        self._t = t if t.ndim == 0 else self._spread(t, (), "t")
        self.names: list[str] = [str(i) for i in range(self.n_bodies)] if names is None else list(names)
        if len(self.names) != self.n_bodies or len(set(self.names)) != self.n_bodies:
            raise InputError(f"names = {self.names}: expected {self.n_bodies} different names")
        self._made: Made | None = None

    def _spread(self, values: Array, last: tuple[int, ...], what: str) -> Array:
        try:
            return np.broadcast_to(values, (*self.shape, *last)).reshape(self.n_systems, *last)
        except ValueError:
            raise InputError(f"{what} has the shape {values.shape}: expected {(*self.shape, *last)}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None, "_units": self._units.text}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _units=Units(state["_units"]))

    def __len__(self) -> int:
        return self.n_systems

    def __repr__(self) -> str:
        return f"<shoal.Ensemble of {self.n_systems} systems of {self.n_bodies} bodies, {self.units}>"

    @property
    def units(self) -> str:
        """str: those of all its numbers; angles are in radians."""
        return self._units.text

    @property
    def G(self) -> float:
        """float: the constant of gravitation in its units."""
        return self._units.G

    @property
    def t(self) -> Array:
        """ndarray, shape [n_systems]: the time of the states."""
        return np.array(np.broadcast_to(self._t, self.n_systems))

    def _make(self) -> Made:
        if self._made is None or self._made.context.stale:
            self._made = Made(self)
        return self._made

    @property
    def n_invalid(self) -> int:
        """int: impossible systems; they end as ``invalid`` and disturb no other."""
        return self._make().n_invalid

    @property
    def states(self) -> Array:
        """ndarray, shape [n_systems, n_bodies, 7]: m x y z vx vy vz; NaN where there is no body."""
        return self._make().states(self.n_systems, self.n_bodies, self._units)

    @property
    def radii(self) -> Array:
        """ndarray, shape [n_systems, n_bodies]."""
        return np.zeros((self.n_systems, self.n_bodies)) if self._radii is None else self._radii

    def elements(self, frame: str = "jacobi") -> Array:
        """Osculating elements.

        Parameters
        ----------
        frame : {"jacobi", "astrocentric", "barycentric"}

        Returns
        -------
        ndarray, shape [n_systems, n_bodies, 7]
            m a e inc Omega omega f, angles in radians; NaN for the elements of the first body.
        """
        return self._make().elements(self.n_systems, self.n_bodies, self._units, frame)

    # ---- from arrays ------------------------------------------------------------------------------------------------

    @classmethod
    def from_states(
        cls,
        states: npt.ArrayLike,
        *,
        r: npt.ArrayLike | None = None,
        t: npt.ArrayLike = 0.0,
        units: str = "AU, Msun, yr/2pi",
        names: Sequence[str] | None = None,
    ) -> Ensemble:
        """From positions and velocities.

        Parameters
        ----------
        states : array_like, shape [..., bodies, 7]
            m x y z vx vy vz in any inertial frame; NaN where there is no body. Bodies behind one that is not there
            move up, with a warning. An array of doubles is not copied.
        r : array_like, shape [..., bodies], optional
            Radii [length].
        t : array_like, shape [...]
            The time of the states.
        units : str
            Of length, mass and time, or ``"AU, Msun, G = 1"``.
        names : list of str, optional
            Of the bodies.
        """
        if hasattr(states, "to_value"):
            raise InputError("states with one unit: expected numbers, of masses, lengths and velocities in `units`")
        made = Units(units)
        radii = None if r is None else made.plain(r, "length")
        values, radii = _close_gaps(doubles(states), radii)
        return cls(values, None, radii, made.plain(t, "time"), made, names)

    @classmethod
    def from_elements(
        cls,
        m: npt.ArrayLike,
        *,
        a: npt.ArrayLike | None = None,
        P: npt.ArrayLike | None = None,
        e: npt.ArrayLike | None = None,
        inc: npt.ArrayLike | None = None,
        Omega: npt.ArrayLike | None = None,
        omega: npt.ArrayLike | None = None,
        pomega: npt.ArrayLike | None = None,
        f: npt.ArrayLike | None = None,
        M: npt.ArrayLike | None = None,
        l: npt.ArrayLike | None = None,  # noqa: E741
        theta: npt.ArrayLike | None = None,
        T: npt.ArrayLike | None = None,
        E: npt.ArrayLike | None = None,
        h: npt.ArrayLike | None = None,
        k: npt.ArrayLike | None = None,
        ix: npt.ArrayLike | None = None,
        iy: npt.ArrayLike | None = None,
        r: npt.ArrayLike | None = None,
        t: npt.ArrayLike = 0.0,
        frame: str = "jacobi",
        units: str = "AU, Msun, yr/2pi",
        angles: str | None = None,
        names: Sequence[str] | None = None,
    ) -> Ensemble:
        """From orbital elements, by the names that REBOUND has for them.

        The last axis of each array is the bodies: all of them for `m` and `r`, all but the first for elements. The
        axes before it are the systems. All arrays are broadcast against each other: numbers hold for all.

        Parameters
        ----------
        m : array_like, shape [..., bodies]
            Masses.
        a, P : array_like, shape [..., bodies - 1]
            Semi-major axis or period, which is above 0; one of the two.
        e, inc, Omega, omega, pomega : array_like, shape [..., bodies - 1]
            Eccentricity, inclination, longitude of the ascending node, argument or longitude of pericentre; by
            default 0.
        h, k, ix, iy : array_like, shape [..., bodies - 1]
            In their places: ``e sin(pomega)`` and ``e cos(pomega)``; ``2 sin(inc / 2)`` times the cosine and the sine
            of Omega. Beyond 90 degrees pomega is Omega - omega, also in h and k; in those of REBOUND it stays the sum.
        f, M, E, l, theta, T : array_like, shape [..., bodies - 1]
            One of: true, mean or eccentric anomaly, mean or true longitude, time of pericentre; by default ``f = 0``.
        r : array_like, shape [..., bodies], optional
            Radii.
        t : array_like, shape [...]
            The time of the elements.
        frame : {"jacobi", "astrocentric", "barycentric"}
            To what the elements refer.
        units : str
            Of length, mass and time, or ``"AU, Msun, G = 1"``. Quantities of astropy and columns of its tables are
            converted to these. A masked number makes its system invalid.
        angles : {"radians", "degrees"}, optional
            Without it angles are radians, and none of them may be beyond 2 pi.
        names : list of str, optional
            Of the bodies.

        Examples
        --------
        A thousand systems of two planets:

        >>> a = np.stack([np.ones(1000), np.linspace(1.05, 1.5, 1000)], axis=-1)
        >>> shoal.Ensemble.from_elements(m=[1, 1e-5, 1e-5], a=a, l=[0, 2])
        """
        made, which = Units(units), _frame_index(frame)
        if angles not in (None, "radians", "degrees"):
            raise InputError(f"angles = {angles!r}: expected radians or degrees")
        angle = math.pi / 180 if angles == "degrees" else 1.0
        dimensions = {"a": "length", "P": "time", "T": "time", **dict.fromkeys(("e", "h", "k", "ix", "iy"), "")}
        given = {"a": a, "P": P, "e": e, "inc": inc, "Omega": Omega, "omega": omega, "pomega": pomega}
        given.update({"f": f, "M": M, "l": l, "theta": theta, "T": T, "E": E, "h": h, "k": k, "ix": ix, "iy": iy})
        elements = {
            name: made.plain(value, dimensions.get(name, "angle"), angle)
            for name, value in given.items()
            if value is not None
        }
        for name, value in elements.items():
            bare = angles is None and name not in dimensions and not hasattr(given[name], "to_value")
            if name == "M" and "e" in elements and np.any(elements["e"] >= 1):
                continue  # of a hyperbola it is no angle
            if bare and (strange := value[np.abs(value) > 6.3]).size:  # as in configs
                raise InputError(
                    f"{name} = {strange[0]:g}: expected at most 2 pi radians, or angles = 'degrees' "
                    "('radians' if it shall be so many)"
                )
        masses = made.plain(m, "mass")
        radii = None if r is None else made.plain(r, "length")
        times = made.plain(t, "time")
        values, is_mean = _orbits(masses, elements, radii, times, made, which)
        return cls(values, which, radii, times, made, names, is_mean)

    # ---- REBOUND ----------------------------------------------------------------------------------------------------

    @classmethod
    def from_rebound(cls, simulations: Any) -> Ensemble:
        """From a ``rebound.Simulation``, a list of them, a ``rebound.Simulationarchive``, or the name of its file.

        Masses, radii, positions, velocities, order, time and G are taken; the names of particles if all have one,
        in the same order in all simulations (a warning says if not). What was set of integrators and forces is not.
        """
        from . import _rebound

        return _rebound.read(cls, simulations)

    def to_rebound(self, i: int = 0) -> Any:
        """System `i` as a ``rebound.Simulation``, with its G, time, radii and names."""
        from . import _rebound

        return _rebound.write(self.states[i], self.radii[i], float(self.t[i]), self.G, self.names, self._units)


def _usual(given: dict[str, Array]) -> dict[str, Array]:
    """e and pomega for h and k, inc and Omega for ix and iy."""
    elements, zero = dict(given), np.zeros(())
    for names, others in ((("h", "k"), ("e", "omega", "pomega")), (("ix", "iy"), ("inc", "Omega"))):
        found = [name for name in names if name in elements]
        also = [name for name in others if name in elements]
        if found and also:
            raise InputError(f"{found[0]} and {also[0]}: expected one of {' and '.join(names)}, {' and '.join(others)}")
        if found:
            first, second = (elements.pop(name, zero) for name in names)
            if names[0] == "h":
                elements["e"], elements["pomega"] = np.hypot(first, second), np.arctan2(first, second)
            else:
                with np.errstate(invalid="ignore"):  # of no inclination: NaN, an impossible system
                    elements["inc"] = 2 * np.arcsin(np.hypot(first, second) / 2)
                elements["Omega"] = np.arctan2(second, first)
    for name in ("e", "inc", "Omega"):
        elements.setdefault(name, zero)
    return elements


def _orbits(
    masses: Array, elements: dict[str, Array], radii: Array | None, t: Array, units: Units, frame: int
) -> tuple[Array, bool]:
    """[..., bodies, 7] m a e inc Omega omega f of elements in any of the ways of from_elements, [..., bodies - 1].

    The second answer is whether the last number is M and not f.
    """

    def one_of(*names: str) -> str | None:
        found = [name for name in names if name in elements]
        if len(found) > 1:
            raise InputError(f"{found[0]} and {found[1]}: expected one of {', '.join(names)}")
        return found[0] if found else None

    if masses.ndim == 0 or masses.shape[-1] < 2:
        raise InputError(f"m has the shape {masses.shape}: expected [..., bodies], with the central body first")
    n_planets = masses.shape[-1] - 1
    elements = _usual(elements)
    for name, value in elements.items():
        if value.ndim and value.shape[-1] not in (1, n_planets):
            raise InputError(
                f"{name} has the shape {value.shape}: its last axis is the {n_planets} bodies but the first; "
                f"one number a system is {name}[:, None]"
            )
    try:
        shape = np.broadcast_shapes(
            masses.shape[:-1],
            t.shape,
            () if radii is None else radii.shape[:-1],
            *(value.shape[:-1] for value in elements.values()),
        )
    except ValueError as error:
        raise InputError(f"the arrays do not fit each other: {error}") from None
    values = np.empty((*shape, n_planets + 1, NUMBERS))
    values[..., 0] = masses
    values[..., 0, 1:] = np.nan
    orbit = values[..., 1:, :]
    size = one_of("a", "P")
    if size is None:
        raise InputError("neither a nor P is given")
    mu = units.G * (np.cumsum(masses, -1)[..., 1:], masses[..., :1] + masses[..., 1:], masses.sum(-1)[..., None])[frame]
    if size == "a":
        orbit[..., 1] = elements["a"]
    else:
        bad = elements["P"] <= 0
        if bad.any():
            warnings.warn(
                f"P = {elements['P'][bad][0]:g}: expected a number > 0; such systems are invalid", stacklevel=3
            )
        orbit[..., 1] = np.cbrt(mu * (np.where(bad, np.nan, elements["P"]) / (2 * np.pi)) ** 2)
    for k, name in ((2, "e"), (3, "inc"), (4, "Omega")):
        orbit[..., k] = elements[name]
    # Longitudes count the other way round beyond a pole, as in REBOUND.
    sign = np.where(np.cos(elements["inc"]) < 0, -1.0, 1.0)
    periapsis = one_of("omega", "pomega")
    orbit[..., 5] = (
        0.0
        if periapsis is None
        else elements["omega"]
        if periapsis == "omega"
        else sign * (elements["pomega"] - elements["Omega"])
    )
    anomaly = one_of("f", "M", "E", "l", "theta", "T")
    if anomaly == "T":
        orbit[..., 6] = np.sqrt(mu / np.abs(orbit[..., 1]) ** 3) * (t[..., None] - elements["T"])
    elif anomaly == "E":
        e, E = elements["e"], elements["E"]
        orbit[..., 6] = np.where(e < 1, E - e * np.sin(E), e * np.sinh(E) - E)
    elif anomaly in ("l", "theta"):
        orbit[..., 6] = sign * (elements[anomaly] - elements["Omega"]) - orbit[..., 5]
    else:
        orbit[..., 6] = elements[anomaly] if anomaly else 0.0
    return values, anomaly in ("M", "E", "l", "T")


def true_anomaly(e: npt.ArrayLike, M: npt.ArrayLike) -> Array:
    """True anomalies of mean anomalies, both in radians; arrays are broadcast. NaN for e < 0 and e = 1."""
    first, second = np.broadcast_arrays(np.asarray(e, dtype=np.float64), np.asarray(M, dtype=np.float64))
    first, answer = np.ascontiguousarray(first), np.array(second, dtype=np.float64, order="C")
    context = Context()
    place = answer.ctypes.data
    context.check(C.shoal_true_anomalies(context.address, answer.size, first.ctypes.data, place, place))
    return answer

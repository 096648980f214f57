# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs: of arrays, and of configs."""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._c import (
    C,
    Context,
    InputError,
    InterruptedRun,
    Options,
    PlugOptions,
    Setting,
    UnsupportedError,
    has,
    text,
    warn,
)
from ._config import Config, Overrides, Recipe, make_recipe
from ._progress import Watch
from ._units import Array, Units, plain_setting
from .ensemble import Ensemble, Made
from .result import GOES_ON, FileResult, RunResult, run_study

Plug = str | Mapping[str, Any]
SLICE_SECONDS = 0.3


class _Plan:
    """The options of a plan in C's memory."""

    def __init__(self, ensemble: Ensemble, context: Context) -> None:
        self.units: Units = ensemble._units
        self.names = ensemble.names
        self.context = context
        self.kept: list[Any] = []
        self.options = Options()
        context.check(C.shoal_options_init(ctypes.byref(self.options), ctypes.sizeof(Options)))
        if has("shoal_plan_warnings"):
            self.options.units = self.units.text.encode()
            self.options.names = (ctypes.c_char_p * len(self.names))(*(name.encode() for name in self.names))

    def settings(self, plug: str, given: Mapping[str, Any]) -> tuple[Any, int]:
        """An array of shoal_setting, in units of the library."""
        dimensions: dict[str, str] = {}
        place = ctypes.c_char_p()
        while name := C.shoal_plug_setting(self.context.address, plug.encode(), len(dimensions), ctypes.byref(place)):
            dimensions[text(name)] = text(place.value)
        made = (Setting * max(len(given), 1))()
        for setting, (name, value) in zip(made, given.items(), strict=False):
            if dimensions and name not in dimensions:
                raise InputError(f"{plug}.{name}: expected one of {', '.join(dimensions)}")
            dimension = dimensions.get(name, "")
            if dimension == "body" and isinstance(value, str):
                if value not in self.names:
                    raise InputError(f"{plug}: {name} = {value!r}: the bodies are {', '.join(self.names)}")
                value = self.names.index(value)
            value = plain_setting(value, dimension, self.units)
            setting.name = name.encode()
            if isinstance(value, str):
                setting.choice = value.encode()
            else:
                setting.value = value
        self.kept.append(made)
        return made, len(given)

    def plugs(self, given: Plug | Sequence[Plug]) -> tuple[Any, int]:
        """An array of shoal_plug_options."""
        many = [given] if isinstance(given, (str, Mapping)) else list(given)
        made = (PlugOptions * max(len(many), 1))()
        for plug, one in zip(made, many, strict=False):
            name, rest = split(one)
            plug.name = name.encode()
            plug.settings, plug.n_settings = self.settings(name, rest)
        self.kept.append(made)
        return made, len(many)


def split(plug: Plug) -> tuple[str, Mapping[str, Any]]:
    """The name of a plug, and its settings."""
    if isinstance(plug, str):
        return plug, {}
    if not isinstance(plug.get("name"), str):
        raise InputError(f"{plug!r}: expected a name, or a dictionary with 'name' and settings")
    return plug["name"], {key: value for key, value in plug.items() if key != "name"}


def integrate(
    ensemble: Ensemble,
    t_end: Any,
    propagator: Plug = "mvs",
    *,
    dt: Any = None,
    steps_per_orbit: float | None = None,
    times: npt.ArrayLike = (),
    monitors: Plug | Sequence[Plug] = (),
    forces: Plug | Sequence[Plug] = (),
    engine: str = "auto",
    threads: int = 0,
    dt_min: Any = None,
    dt_max: Any = None,
    max_steps: float | None = None,
    progress: bool = False,
    plugins: Sequence[str | os.PathLike[str]] = (),
) -> RunResult:
    """Integrate all systems of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        It stays as it is.
    t_end : float
        End time of every system [time].
    propagator : str or dict
        Its name, or ``{"name": "saba", "scheme": "8,4,4"}``. ``shoal list`` has all.
    dt : float, optional
        Step; the first one of an adaptive propagator [time]. Above 0; below it only where `t_end` is before the start.
    steps_per_orbit : float, optional
        In the place of `dt`: the step is the shortest period of each system over this.
    times : array_like, optional
        Times, in order, whose states the result shall have.
    monitors, forces : str, dict, or list of these
        ``{"name": "stop_on_ejection", "r_max": 100}``; numbers in the ensemble's units, bodies by name or index.
    engine : {"auto", "cpu", "cuda"}
    threads : int
        Of the CPU; 0: all.
    dt_min, dt_max : float, optional
        Bounds of an adaptive step; a system below `dt_min` ends as ``step_underflow`` [time]. Refused with fixed steps.
    max_steps : float, optional
        A system that needs more ends as ``budget``.
    progress : bool
        Show a bar of tqdm.
    plugins : list of str
        C files that are compiled and loaded: see docs/plugins.md.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        With the line of the library.
    InterruptedRun
        After Ctrl-C; its `result` has what there is.
    """
    units = ensemble._units
    if dt is not None and steps_per_orbit is not None:
        raise InputError(f"dt = {dt} and steps_per_orbit = {steps_per_orbit}: expected one of them")
    begin, last = _span(ensemble, float(units.plain(t_end, "time")))
    step = None if dt is None else float(units.plain(dt, "time"))
    if step is not None and not (step > 0 or (step < 0 and last < begin)):
        raise InputError(f"dt = {dt}: expected a number > 0")
    wanted = np.atleast_1d(units.plain(times, "time"))
    _check_times(wanted, begin, last, units.name("time"))
    made = Made(ensemble)
    context = made.context
    for file in plugins:
        context.check(C.shoal_plugin_load(context.address, os.fsencode(file)))
    plan = _Plan(ensemble, context)
    options = plan.options
    end = last * units.time
    name, settings = split(propagator)
    options.propagator, options.engine, options.threads = name.encode(), engine.encode(), threads
    options.settings, options.n_settings = plan.settings(name, settings)
    options.monitors, options.n_monitors = plan.plugs(monitors)
    options.forces, options.n_forces = plan.plugs(forces)
    options.t_end = end
    for key, value in (("dt", dt), ("dt_min", dt_min), ("dt_max", dt_max)):
        if value is not None:
            setattr(options, key, float(units.plain(value, "time")) * units.time)
    options.steps_per_orbit, options.max_steps = steps_per_orbit or 0.0, max_steps or 0.0
    address = made.handle.address
    handle = context.make(
        "shoal_plan_create", "shoal_plan_destroy", context.address, address, ctypes.byref(options), keeps=made.handle
    )
    made.warn(2)
    if has("shoal_plan_warnings"):
        warn(C.shoal_plan_warnings(handle.address), 2)
    snapshots = np.full((len(wanted), ensemble.n_systems, ensemble.n_bodies, 7), np.nan)
    result = RunResult(made, handle, ensemble.names, units, wanted, snapshots)
    result.logs = [name for name, _ in map(split, [monitors] if isinstance(monitors, (str, Mapping)) else monitors)]
    result.logs = [name for name in result.logs if C.shoal_plan_column_name(handle.address, name.encode(), 0, None)]
    result._initial_radii = made.radii(ensemble.n_systems, ensemble.n_bodies, units)
    result._initial = made.states(ensemble.n_systems, ensemble.n_bodies, units)
    _advance(result, begin * units.time, end, progress)
    return result


def _span(ensemble: Ensemble, end: float) -> tuple[float, float]:
    """When all systems have begun, and the end; where some go forwards and some backwards the end alone."""
    first, last = float(np.min(ensemble._t)), float(np.max(ensemble._t))
    return (last if end >= last else first if end <= first else end), end


def _check_times(times: Array, begin: float, end: float, unit: str) -> None:
    """Refuse times that are not in order between the two, up to roundings."""
    since, whence = begin, "when all systems have begun"
    near, sign = 1e-12 * max(abs(begin), abs(end)), 1 if end >= begin else -1
    for i, t in enumerate(times if math.isfinite(begin + end) else ()):
        if not (sign * (t - since) >= -near and sign * (end - t) >= -near):
            raise InputError(
                f"times[{i}] = {t:.15g}: expected a time from {since:.15g}, {whence}, to t_end = {end:.15g}"
                f"{' ' * bool(unit)}{unit}"
            )
        since, whence = float(t), "the one before it"


def _advance(result: RunResult, start: float, end: float, progress: bool) -> None:
    """In slices of time, that end at the wanted times, and in which a Ctrl-C is heard. No bits depend on them."""
    made, plan, units = result._made, result._plan, result._units
    span, at, part, rate = end - start, 0.0, 1e-7, 0.0
    stops = [(float(t) * units.time, k) for k, t in enumerate(result.times)] + [(end, -1)]
    with Watch(progress, f"{result.n_systems} systems") as watch:
        for stop, k in stops:
            goal = (stop - start) / span if span else 1.0
            while True:
                fraction = min(at + part, goal) if goal > at else goal
                began = time.perf_counter()
                t = stop if fraction == goal else start + fraction * span
                made.context.call(C.shoal_plan_integrate, plan.address, t)
                seconds = time.perf_counter() - began
                new_rate = (fraction - at) / max(seconds, 1e-9)
                # Longer slices while they are short, or while what each call costs by itself is most of them.
                if seconds < SLICE_SECONDS / 10 or new_rate > 1.3 * rate:
                    part *= 8
                elif seconds < SLICE_SECONDS:
                    part *= 2
                at, rate = fraction, new_rate
                watch.show(at)
                if watch.asked and not (fraction == goal and k < 0):
                    raise InterruptedRun(f"interrupted at t = {t / units.time:.9g}; `result` has what there is", result)
                if fraction == goal:
                    break
            if k >= 0:
                result._snapshots[k] = made.states(result.n_systems, result.n_bodies, units)
                result._snapshots[k, ~np.isin(made.outcomes(result.n_systems), GOES_ON)] = np.nan
    result.complete = True


class Study:
    """A config: systems, propagator, monitors, run and output.

    Parameters
    ----------
    config : str, path or dict
        A config file (docs/configs.md), or a dictionary of the same keys.
    overrides : dict, optional
        Values in the place of those of the config: ``{"run.t_end": 100.0}``.
    allow_plugins : bool
        Allow the config to name C files, which are compiled and run.

    Examples
    --------
    >>> result = shoal.Study("map.cfg", {"output.file": "map.h5"}).run()
    >>> result.map("megno").plot()
    """

    def __init__(self, config: Config, overrides: Overrides = None, *, allow_plugins: bool = False) -> None:
        self._begin(make_recipe(config, overrides, allow_plugins))

    def _begin(self, recipe: Recipe) -> None:
        self._recipe, self._context = recipe, Context()
        study = recipe.load(self._context)
        #: str: the file to which its run writes
        self.output: str = text(C.shoal_study_output(study.address))

    def __reduce__(self) -> tuple[Any, ...]:
        return _study, (self._recipe,)

    def __repr__(self) -> str:
        return f"<shoal.Study {self._recipe.path}, to {self.output}>"

    def run(self, *, overwrite: bool = False, progress: bool = False) -> FileResult:
        """Run it, or go on with a run that was killed.

        Parameters
        ----------
        overwrite : bool
            An output file that is there may be replaced.
        progress : bool
            Show a bar of tqdm.

        Returns
        -------
        Result
            That of the output file.

        Raises
        ------
        InterruptedRun
            After Ctrl-C; its `result` has what there is, as the file has.
        UnsupportedError
            Of a config with the group ``model``, one big system: ``shoal run`` runs it.
        """
        context = self._context
        with context.lock:
            study = self._recipe.load(context)
            if C.shoal_study_is_big(study.address):
                raise UnsupportedError(
                    f"{self._recipe.path}: one big system, whose result is for the program: "
                    "shoal run, shoal query, shoal plot, shoal convert"
                )
            return run_study(study, overwrite, progress, 2)

    def open(self) -> FileResult:
        """What its run has written so far."""
        return FileResult(self.output)


def _study(recipe: Recipe) -> Study:
    study = Study.__new__(Study)
    study._begin(recipe)
    return study

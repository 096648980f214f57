# SPDX-License-Identifier: GPL-3.0-or-later
"""Results: of a call of `integrate`, or of a file."""

from __future__ import annotations

import abc
import ctypes
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._c import (
    E_INTERRUPTED,
    C,
    Context,
    Event,
    ExtendOptions,
    Handle,
    InputError,
    InterruptedRun,
    ProgressCallback,
    UnsupportedError,
    has,
    text,
    warn,
)
from ._config import Overrides, _override_texts, identity
from ._progress import Watch
from ._units import Array, Units

if TYPE_CHECKING:
    from .ensemble import Made

STATE = ("m", "x", "y", "z", "vx", "vy", "vz")


def _outcome_names() -> list[str]:
    names: list[str] = []
    while (name := text(C.shoal_outcome_name(len(names)))) != "unknown":
        names.append(name)
    return names


OUTCOMES = _outcome_names()
_UNKNOWN = len(OUTCOMES)
GOES_ON = [OUTCOMES.index("running"), OUTCOMES.index("survived")]


def categorical(codes: npt.NDArray[Any]) -> Any:
    """Outcomes as a categorical of pandas; an array of words without pandas."""
    names = [*OUTCOMES, "unknown"]
    known = np.where((codes >= 0) & (codes < _UNKNOWN), codes, _UNKNOWN).astype(np.int8)
    try:
        import pandas as pd
    except ImportError:
        return np.array(names)[known]
    return pd.Categorical.from_codes(known, names)


def frame_of(columns: dict[str, Any]) -> Any:
    """A table of pandas; the dictionary without pandas."""
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns, copy=False)


def _is_log(x: Array) -> bool:
    """Whether values are spaced evenly in their logarithms, and not in themselves."""
    if len(x) < 3 or np.min(x) <= 0:
        return False
    steps, factors = np.diff(x), np.diff(np.log(x))
    return np.allclose(factors, factors[0], rtol=1e-6) and not np.allclose(steps, steps[0], rtol=1e-6)


def _edges(x: Array, log: bool) -> Array:
    """Of sorted values the edges of cells, half-way between them."""
    y = np.log(x) if log else np.asarray(x)
    half = np.diff(y) / 2 if len(y) > 1 else np.array([0.5])
    edges = np.concatenate([y[:1] - half[:1], y[:-1] + half[: len(y) - 1], y[-1:] + half[-1:]])
    return np.exp(edges) if log else edges


class Map:
    """A column over the grid of a sweep.

    Attributes
    ----------
    name, unit : str
    values : ndarray
        One axis a swept parameter, in the order of `axes`.
    axes : dict of str to ndarray
        The swept parameters and their values.
    units : dict of str to str
        Those of the swept parameters.
    ended : ndarray of bool
        The systems that ended before the run did, where their values are those up to their end.
    """

    def __init__(
        self,
        name: str,
        unit: str,
        values: Array,
        axes: dict[str, Array],
        units: dict[str, str] | None = None,
        ended: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.name, self.unit, self.values, self.axes = name, unit, values, axes
        self.units: dict[str, str] = units or {}
        self.ended: npt.NDArray[np.bool_] = np.zeros(values.shape, bool) if ended is None else ended

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __repr__(self) -> str:
        return f"<shoal.Map of {self.name} over {' x '.join(f'{name}[{len(x)}]' for name, x in self.axes.items())}>"

    def plot(self, ax: Any = None, *, ended: str | None = "tab:orange", **options: Any) -> Any:
        """Draw it: a line of one axis, a picture of two. An axis with even factors is logarithmic.

        Parameters
        ----------
        ax : matplotlib axes, optional
        ended : colour or None
            That of systems that ended before the run did; None draws their values.
        **options
            For ``plot`` or ``pcolormesh``.

        Returns
        -------
        matplotlib.figure.Figure
        """
        import matplotlib.pyplot as plt

        if len(self.axes) not in (1, 2):
            raise InputError(f"a map of {len(self.axes)} axes: a picture has one or two")
        if ax is None:
            ax = plt.subplots(layout="constrained")[1]
        names, values, gone = list(self.axes), np.asarray(self.values, dtype=float), self.ended
        order = [np.argsort(self.axes[name], kind="stable") for name in names]
        values, gone = values[np.ix_(*order)], gone[np.ix_(*order)]
        x = [np.asarray(self.axes[name])[at] for name, at in zip(names, order, strict=True)]
        kept = values if ended is None else np.where(gone, np.nan, values)
        label = _label(self.name, self.unit)
        labels = [_label(name, self.units.get(name, "")) for name in names]
        if len(names) == 1:
            ax.plot(x[0], kept, **options)
            if ended is not None and gone.any():
                ax.plot(x[0][gone], values[gone], ".", color=ended, label="ended")
                ax.legend()
            ax.set(xlabel=labels[0], ylabel=label, xscale="log" if _is_log(x[0]) else "linear")
        else:
            edges = [_edges(at, _is_log(at)) for at in x]
            picture = ax.pcolormesh(edges[1], edges[0], kept, **options)
            if ended is not None and gone.any():
                from matplotlib.colors import ListedColormap
                from matplotlib.patches import Patch

                over = np.where(gone, 0.0, np.nan)
                ax.pcolormesh(edges[1], edges[0], over, cmap=ListedColormap([ended]))
                ax.legend(handles=[Patch(color=ended, label="ended")], loc="lower left", bbox_to_anchor=(0, 1))
            ax.set(xlabel=labels[1], ylabel=labels[0])
            ax.set(xscale="log" if _is_log(x[1]) else "linear", yscale="log" if _is_log(x[0]) else "linear")
            ax.figure.colorbar(picture, ax=ax, label=label)
        return ax.figure


def _label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


class Result(abc.ABC):
    """How the systems of an ensemble went.

    ``result["megno"]`` is a column of the systems, an array of doubles.

    Attributes
    ----------
    n_systems, n_bodies : int
    names : list of str
        Those of the bodies.
    columns : list of str
        What is known of each system.
    logs : list of str
        Monitors that logged something.
    times : ndarray
        The times at which there are states beside the first and the last ones.
    complete : bool
        Whether all systems have ended.
    plan : str
        What was chosen to integrate them, and why.
    """

    n_systems: int
    n_bodies: int
    names: list[str]
    columns: list[str]
    logs: list[str]
    times: Array
    complete: bool
    plan: str

    @abc.abstractmethod
    def __getitem__(self, column: str) -> Array: ...

    @abc.abstractmethod
    def describe(self, column: str) -> tuple[str, str]:
        """The unit and the meaning of a column."""

    @abc.abstractmethod
    def states(self, t: float | str | None = None) -> Array:
        """States of all systems: a view, no copy.

        Parameters
        ----------
        t : float or {"initial", "final"}, optional
            One of `times`; by default the last states.

        Returns
        -------
        ndarray, shape [n_systems, n_bodies, 7]
            m x y z vx vy vz; NaN where there is no body (any more), or no state at that time.
        """

    @abc.abstractmethod
    def radii(self, t: float | str | None = None) -> Array:
        """Radii of the bodies in the states at that time.

        Parameters
        ----------
        t : float or {"initial", "final"}, optional
            As of `states`.

        Returns
        -------
        ndarray, shape [n_systems, n_bodies]
            Bodies that have merged have the radius of their volume. 0 for a body without a radius, NaN where there is
            no body (any more), or no state at that time; NaN for all while the run goes on: its journal has no radii.
        """

    @abc.abstractmethod
    def log(self, monitor: str) -> Any:
        """What a monitor logged: a table, or a dictionary of arrays without pandas. `system` is a row of `table`."""

    @property
    @abc.abstractmethod
    def units(self) -> str:
        """str: those of all numbers, as `Ensemble.from_states` takes them; angles are in radians."""

    @property
    @abc.abstractmethod
    def events(self) -> Any:
        """DataFrame or dict: what happened in systems that went on; `system` is a row of `table`."""

    @property
    @abc.abstractmethod
    def sweep(self) -> dict[str, Array]:
        """dict of str to ndarray: the axes of the grid of a sweep; empty if there is none, or a part of it, a shard."""

    @property
    def outcome(self) -> Any:
        """pandas.Categorical, or ndarray of str without pandas: how each system ended."""
        return categorical(self["outcome"].astype(np.int64))

    @cached_property
    def table(self) -> Any:
        """DataFrame or dict of ndarray: a row a system."""
        columns: dict[str, Any] = {name: self[name] for name in self.columns if name != "outcome"}
        first = dict([next(iter(columns.items()))]) if columns else {}
        return frame_of({**first, "outcome": self.outcome, **columns})

    def __len__(self) -> int:
        return self.n_systems

    def __repr__(self) -> str:
        codes = self["outcome"].astype(np.int64)
        counts = [f"{np.count_nonzero(codes == i)} {name}" for i, name in enumerate(OUTCOMES) if (codes == i).any()]
        return f"<shoal.Result of {self.n_systems} systems: {', '.join(counts)}>"

    def map(self, column: str) -> Map:
        """A column over the grid of the sweep.

        Parameters
        ----------
        column : str
            One of `columns`.
        """
        axes = self.sweep
        if not axes:
            raise InputError("there is no grid: the config has no sweep, or this is a part of its systems")
        shape = [len(x) for x in axes.values()]
        ended = ~np.isin(self["outcome"].astype(np.int64), GOES_ON).reshape(shape)
        if self.columns.index(column) <= max(map(self.columns.index, axes)):
            ended = np.zeros_like(ended)  # all but monitors' columns, which come last, mean something for all systems
        units = {name: self.describe(name)[0] for name in axes}
        return Map(column, self.describe(column)[0], self[column].reshape(shape), axes, units, ended)

    def xarray(self) -> Any:
        """Everything as an ``xarray.Dataset``.

        The axes of a sweep are dimensions, else ``system`` is one. Units and meanings are attributes.
        """
        import xarray as xr

        axes = self.sweep
        leading: list[str] = list(axes) or ["system"]
        shape = [len(x) for x in axes.values()] or [self.n_systems]
        variables: dict[str, Any] = {}
        for name in self.columns:
            if name not in axes:
                unit, doc = self.describe(name)
                variables[name] = (leading, self[name].reshape(shape), {"units": unit, "long_name": doc})
        meanings = {"flag_values": np.arange(_UNKNOWN), "flag_meanings": " ".join(OUTCOMES)}
        codes = self["outcome"].reshape(shape).astype(np.int8)
        variables["outcome"] = (leading, codes, meanings)
        state = [*leading, "body", "number"]
        for when in ("initial", "final"):
            variables[when] = (state, self.states(when).reshape([*shape, self.n_bodies, 7]))
        coordinates: dict[str, Any] = {**axes, "body": self.names, "number": list(STATE)}
        if len(self.times):
            coordinates["time"] = self.times
            all_states = np.stack([self.states(float(t)) for t in self.times])
            variables["states"] = (["time", *state], all_states.reshape([-1, *shape, self.n_bodies, 7]))
        if not axes:
            coordinates["system"] = self["id"].astype(np.int64)
        return xr.Dataset(variables, coordinates, {"plan": self.plan})

    def to_rebound(self, i: int = 0, t: float | str | None = None) -> Any:
        """The state of system `i` at time `t` (see `states`) as a ``rebound.Simulation``; an error if it has none."""
        from . import _rebound

        units: Units | None = getattr(self, "_units", None)
        radii = np.nan_to_num(self.radii(t)[i])
        return _rebound.write(self.states(t)[i], radii, self._time_of(i, t), self._G(), self.names, units)

    @abc.abstractmethod
    def _time_of(self, i: int, t: float | str | None) -> float: ...

    @abc.abstractmethod
    def _G(self) -> float: ...

    def _snapshot(self, t: float) -> int:
        found = np.flatnonzero(np.isclose(self.times, t, rtol=1e-12, atol=0))
        if len(found) == 0:
            some = ", ".join(f"{time:.17g}" for time in self.times[:5]) or "none"
            raise InputError(
                f"t = {t}: there are no states at this time; times are {some}{', ...' * (len(self.times) > 5)}"
            )
        return int(found[0])


# ---- of integrate ---------------------------------------------------------------------------------------------------

_DOCS = {
    "id": ("", "", "name of the system"),
    "outcome": ("", "", "how the system ended"),
    "t_stop": ("time", "t_stop", "time of the event that ended the system"),
    "body_a": ("", "body_a", "first body of that event, -1 = none"),
    "body_b": ("", "body_b", "second body of that event, -1 = none"),
    "dE_final": ("", "", "relative energy error at the end, without the jumps of events"),
    "steps": ("", "n_steps", "whole steps done"),
    "n_live": ("", "n_live", "bodies that it began with"),
    "n_final": ("", "n_left", "bodies left at the end"),
}
_EVENT = np.dtype(Event)


class RunResult(Result):
    """Of a plan, which it keeps; columns are read when they are asked for."""

    def __init__(self, made: Made, plan: Any, names: list[str], units: Units, times: Array, snapshots: Array) -> None:
        self._made, self._plan, self._units = made, plan, units
        self.times, self._snapshots, self.names = times, snapshots, names
        self.n_systems, self.n_bodies = snapshots.shape[1:3]
        self.complete = False
        self.plan = text(C.shoal_plan_line(plan.address))
        self._dimensions = dict(self._names(None))
        self.columns = [*_DOCS, *self._dimensions]
        self.logs: list[str] = []
        self._kept: dict[str, Array] = {}

    @property
    def units(self) -> str:
        return self._units.text

    def _names(self, monitor: bytes | None) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        dimension = ctypes.c_char_p()
        while name := C.shoal_plan_column_name(self._plan.address, monitor, len(found), ctypes.byref(dimension)):
            found.append((text(name), text(dimension.value)))
        return found

    def __getitem__(self, column: str) -> Array:
        if column not in self._kept:
            self._kept[column] = self._column(column)
        return self._kept[column]

    def _column(self, column: str) -> Array:
        get = self._made.column
        if column == "outcome":
            return self._made.outcomes(self.n_systems).astype(np.float64)
        if column == "dE_final":
            start = get("energy_start", self.n_systems)
            with np.errstate(all="ignore"):
                return (get("energy", self.n_systems) - start - get("energy_jump", self.n_systems)) / np.abs(start)
        if column in _DOCS:
            dimension, name, _ = _DOCS[column]
            values = get(name or column, self.n_systems)
        else:
            dimension, values = self._dimensions.get(column, ""), np.empty(self.n_systems)
            call, place = C.shoal_plan_get_column, values.ctypes.data
            self._made.context.call(call, self._plan.address, column.encode(), 0, self.n_systems, place, 0)
        factor = self._units.factor(dimension)
        return values if factor == 1 else values / factor

    def describe(self, column: str) -> tuple[str, str]:
        if column in _DOCS:
            dimension, _, doc = _DOCS[column]
        else:
            dimension = self._dimensions.get(column, "")
            doc = text(C.shoal_plan_column_doc(self._plan.address, column.encode()))
        return self._units.name(dimension), doc

    def states(self, t: float | str | None = None) -> Array:
        if t is None or t == "final":
            return self._final
        if t == "initial":
            return self._initial
        states: Array = self._snapshots[self._snapshot(float(t))]
        return states

    @cached_property
    def _final(self) -> Array:
        return self._made.states(self.n_systems, self.n_bodies, self._units)

    _initial: Array
    _initial_radii: Array

    @property
    def elements(self) -> Array:
        """ndarray, shape [n_systems, n_bodies, 7]: the last Jacobi elements, m a e inc Omega omega f, in radians."""
        return self._made.elements(self.n_systems, self.n_bodies, self._units, "jacobi")

    @cached_property
    def events(self) -> Any:
        n = C.shoal_plan_n_events(self._plan.address)
        rows = np.zeros(n, dtype=_EVENT)
        self._made.context.call(C.shoal_plan_get_events, self._plan.address, 0, n, rows.ctypes.data)
        units, start = self._units, self._made.column("energy_start", self.n_systems)
        columns: dict[str, Any] = {
            "system": rows["system"],
            "time": rows["time"] / units.time,
            "event": categorical(rows["what"]),
            "body_a": rows["body_a"],
            "body_b": rows["body_b"],
            "m_a": rows["m_a"] / units.mass,
            "m_b": rows["m_b"] / units.mass,
            "distance": rows["distance"] / units.length,
            "speed": rows["speed"] / units.factor("velocity"),
            "dE": rows["energy_jump"] / np.abs(start[rows["system"]]),
            "ended": rows["ended"] != 0,
        }
        return frame_of(columns)

    def log(self, monitor: str) -> Any:
        name = monitor.encode()
        n = C.shoal_plan_n_logged(self._plan.address, name)
        columns: dict[str, Any] = {}
        names = self._names(name)
        if not names:
            raise InputError(text(C.shoal_context_message(self._made.context.address)))
        for column, dimension in names:
            values = np.empty(n)
            call, place = C.shoal_plan_get_log, values.ctypes.data
            self._made.context.call(call, self._plan.address, name, column.encode(), 0, n, place, 0)
            whole = dimension == "body" or column == "system"
            columns[column] = values.astype(np.int64) if whole else values / self._units.factor(dimension)
        return frame_of(columns)

    @property
    def sweep(self) -> dict[str, Array]:
        return {}

    def radii(self, t: float | str | None = None) -> Array:
        gone = np.isnan(self.states(t)[:, :, 1])
        values, events = np.array(self._initial_radii), self.events
        columns = [np.asarray(events[name]) for name in ("system", "event", "body_a", "body_b", "ended")]
        for system, what, a, b, ended in zip(*columns, strict=True):
            if what in ("collided", "hit_star") and not ended and gone[system, b]:
                values[system, a] = np.cbrt(values[system, a] ** 3 + values[system, b] ** 3)
        return np.where(gone, np.nan, values)

    def _time_of(self, i: int, t: float | str | None) -> float:
        if t is None or t == "final":
            return float(self._made.column("time", self.n_systems)[i]) / self._units.time
        if t == "initial":
            return float(self._made.column("t_start", self.n_systems)[i]) / self._units.time
        return float(t)

    def _G(self) -> float:
        return self._units.G


# ---- of a file ------------------------------------------------------------------------------------------------------


class FileResult(Result):
    """Of a result file, or of the journal of a run that goes on."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._opened = os.path.abspath(self.path), identity(self.path)
        self._context = Context()
        self._handle = self._context.make(
            "shoal_result_open",
            "shoal_result_close",
            self._context.address,
            os.fsencode(self.path),
            keeps=self._context,
        )
        address = self._handle.address
        self.n_systems = C.shoal_result_n_systems(address)
        self.n_bodies = C.shoal_result_n_bodies(address)
        self.complete = bool(C.shoal_result_is_complete(address))
        self.names = [text(C.shoal_result_body_name(address, i)) for i in range(self.n_bodies)]
        self.plan = self.text("plan")
        self._described = {name: (unit, doc) for name, unit, doc in self._describe("systems")}
        self.columns = list(self._described)
        self.logs = []
        i = 0
        while table := C.shoal_result_table(address, i):
            if table.startswith(b"log/"):
                self.logs.append(text(table)[4:])
            i += 1
        self._kept: dict[str, Array] = {}
        self._snapshot_times = self._column("snapshots", "time")
        self.times = np.unique(self._snapshot_times)

    def extend(
        self,
        t_end: float,
        *,
        where: str | None = None,
        output: str | os.PathLike[str] | None = None,
        overrides: Overrides = None,
        overwrite: bool = False,
        progress: bool = False,
        allow_plugins: bool = False,
    ) -> FileResult:
        """Go on to a later end: what a run to that end from the first would have left, to the last bit.

        Parameters
        ----------
        t_end : float
            In the config's unit of time; orbits, where it has ``run.orbits``.
        where : str, optional
            Only systems of which this is true, as `shoal query` has it: ``"outcome == survived"``. It needs `output`.
        output : str or path, optional
            The file to write; without it the result's own file is replaced when the run is complete.
        overrides : dict, optional
            Values of keys on which no result depends, such as ``{"run.engine": "cpu"}``.
        overwrite : bool
            Another `output` that is there may be replaced, and what an interrupted call with another `t_end` has left.
        progress : bool
            Show a bar of tqdm.
        allow_plugins : bool
            Allow the config to name C files, which are compiled and run.

        Returns
        -------
        Result
            That of the new file. This one stays what it is.

        Raises
        ------
        InterruptedRun
            After Ctrl-C; the same call goes on. A file that was to be replaced is as it was.
        """
        if not has("shoal_study_extend"):
            raise UnsupportedError("this version of the library does not extend a run")
        path, opened = self._opened
        if identity(path) != opened:
            raise InputError(f"{path}: it is another file than the one that was opened: open it again")
        context = Context()
        words = _override_texts(overrides)
        options = ExtendOptions(
            os.fsencode(path),
            repr(float(t_end)).encode(),
            None if where is None else where.encode(),
            None if output is None else os.fsencode(output),
            None,
            len(words),
            (ctypes.c_char_p * len(words))(*(word.encode() for word in words)),
        )
        with context.lock:
            if allow_plugins:
                context.check(C.shoal_context_allow_plugins(context.address, 1))
            study = context.make(
                "shoal_study_extend", "shoal_study_destroy", context.address, ctypes.byref(options), keeps=context
            )
            return run_study(study, overwrite, progress, 2)

    def text(self, name: str) -> str:
        """A text of the run: "config", "plan", "version", "epoch", "unit_length", "unit_mass", "unit_time"."""
        return text(C.shoal_result_text(self._handle.address, name.encode()))

    @property
    def config(self) -> str:
        """str: the config that was run."""
        return self.text("config")

    @property
    def units(self) -> str:
        names, G = [self.text(name) for name in ("unit_length", "unit_mass", "unit_time")], self._G()
        try:
            if Units(", ".join(names)).G == G:
                return ", ".join(names)
        except InputError:  # a unit of time that follows from G has no name
            names.pop()
        return ", ".join([*names, f"G = {G!r}"])

    def _describe(self, table: str) -> list[tuple[str, str, str]]:
        found = []
        words = (ctypes.c_char_p * 3)()
        places = [ctypes.byref(words, i * ctypes.sizeof(ctypes.c_char_p)) for i in range(3)]
        for i in range(C.shoal_result_n_columns(self._handle.address, table.encode())):
            self._context.call(C.shoal_result_describe, self._handle.address, table.encode(), i, *places)
            found.append((text(words[0]), text(words[1]), text(words[2])))
        return found

    def _column(self, table: str, column: str) -> Array:
        address = self._handle.address
        n = C.shoal_result_n_rows(address, table.encode())
        values = np.empty(n)
        call, place = C.shoal_result_get_column, values.ctypes.data
        self._context.call(call, address, table.encode(), column.encode(), 0, n, place, 0)
        return values

    def __getitem__(self, column: str) -> Array:
        if column not in self._kept:
            self._kept[column] = self._column("systems", column)
        return self._kept[column]

    def describe(self, column: str) -> tuple[str, str]:
        if column not in self._described:
            self[column]  # the library refuses it, with the nearest one
        return self._described[column]

    def _table(self, table: str) -> Any:
        columns: dict[str, Any] = {}
        for name, _, _ in self._describe(table):
            values = self._column(table, name)
            if name == "event":
                columns[name] = categorical(values.astype(np.int64))
            elif name == "ended":
                columns[name] = values != 0
            elif name in ("system", "body", "star", "body_a", "body_b"):
                columns[name] = values.astype(np.int64)
            else:
                columns[name] = values
        return frame_of(columns)

    @cached_property
    def events(self) -> Any:
        return self._table("events")

    def log(self, monitor: str) -> Any:
        if monitor not in self.logs:
            raise InputError(f"{self.path}: {monitor} logged nothing; those that did: {', '.join(self.logs) or 'none'}")
        return self._table("log/" + monitor)

    @cached_property
    def sweep(self) -> dict[str, Array]:
        counts: list[int] = []
        names: list[str] = []
        count = ctypes.c_long()
        while name := C.shoal_result_axis(self._handle.address, len(names), ctypes.byref(count)):
            names.append(text(name))
            counts.append(count.value)
        axes = {}
        for k, name in enumerate(names):
            grid = self[name].reshape(counts)
            axes[name] = grid[tuple(slice(None) if i == k else 0 for i in range(len(counts)))]
        return axes

    def _states_of(self, table: str) -> Array:
        address = self._handle.address
        n = C.shoal_result_n_rows(address, table.encode())
        values = np.empty((n, self.n_bodies, 7))
        self._context.call(C.shoal_result_get_states, address, table.encode(), None, values.ctypes.data)
        return values

    @cached_property
    def _initial(self) -> Array:
        return self._states_of("initial")

    @cached_property
    def _final(self) -> Array:
        return self._states_of("final")

    @cached_property
    def _snapshots(self) -> Array:
        """[times][systems][bodies][7], NaN where a system had ended."""
        rows = self._states_of("snapshots")
        system = self._column("snapshots", "system").astype(np.int64)
        time = np.searchsorted(self.times, self._snapshot_times)
        shape = (len(self.times), self.n_systems, self.n_bodies, 7)
        values = np.full(shape, np.nan)
        values[time, system] = rows
        return values

    def states(self, t: float | str | None = None) -> Array:
        if t is None or t == "final":
            return self._final
        return self._initial if t == "initial" else self._snapshots[self._snapshot(float(t))]

    def radii(self, t: float | str | None = None) -> Array:
        if t is None or t in ("initial", "final"):
            return self._radii_of(str(t or "final"))
        found = self._snapshot_times == self.times[self._snapshot(float(t))]
        values = np.full((self.n_systems, self.n_bodies), np.nan)
        values[self._column("snapshots", "system")[found].astype(np.int64)] = self._radii_of("snapshots")[found]
        return values

    def _radii_of(self, table: str) -> Array:
        address = self._handle.address
        values = np.empty((C.shoal_result_n_rows(address, table.encode()), self.n_bodies))
        self._context.call(C.shoal_result_get_radii, address, table.encode(), None, values.ctypes.data)
        return values

    def _time_of(self, i: int, t: float | str | None) -> float:
        if t is None or t in ("initial", "final"):
            return float(self._column(str(t or "final"), "time")[i])
        return float(t)

    def _G(self) -> float:
        return float(C.shoal_result_number(self._handle.address, b"G"))


def run_study(study: Handle, overwrite: bool, progress: bool, stacklevel: int) -> FileResult:
    """Run a study, whose context the caller has locked, and open its result; warn as from `stacklevel` calls away."""
    context = study.context
    if has("shoal_study_warnings"):
        warn(C.shoal_study_warnings(study.address), stacklevel + 1)
    output = text(C.shoal_study_output(study.address))
    with Watch(progress, os.path.basename(output)) as watch:

        def look(given: Any, user: Any) -> int:
            watch.show(given.contents.fraction)
            return int(watch.asked)

        status = C.shoal_study_run(study.address, int(overwrite), ProgressCallback(look), None)
    if status == E_INTERRUPTED:
        raise InterruptedRun(text(C.shoal_context_message(context.address)), FileResult(output))
    context.check(status)
    return FileResult(output)


def open(path: str | os.PathLike[str]) -> FileResult:
    """Read a result file; while the run goes on, or after it was killed, what its journal has so far.

    Parameters
    ----------
    path : str or path
        The file, also when there is only ``path.journal``.
    """
    return FileResult(path)

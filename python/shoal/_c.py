# SPDX-License-Identifier: GPL-3.0-or-later
"""The C library: where it is, its structures and functions (core/shoal.h), its contexts, its errors.

It is called through ctypes: the package then fits every version of Python and needs no compiler, arrays are passed by
their addresses, and every call releases the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_long, c_void_p
from typing import Any

PACKAGE = os.path.dirname(os.path.realpath(__file__))
CLONE = os.path.dirname(os.path.dirname(PACKAGE))  # if this package is used from the sources, without an installation


# ---- errors ---------------------------------------------------------------------------------------------------------


class Error(Exception):
    """What the library refused or could not do, in its own line."""


class InputError(Error, ValueError):
    """A call, a config, or a value in it is wrong; nothing was changed."""


class UnsupportedError(Error):
    """This build or this machine cannot do that."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""


class DeviceError(Error):
    """The GPU or its driver failed."""


class InterruptedRun(KeyboardInterrupt):
    """The run was ended by Ctrl-C.

    Attributes
    ----------
    result : Result
        What there is.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


E_INTERRUPTED = 7
_ERRORS: dict[int, type[Error]] = {
    1: InputError,
    2: InputError,
    3: UnsupportedError,
    4: FileError,
    5: OutOfMemoryError,
    6: DeviceError,
}


# ---- structures -----------------------------------------------------------------------------------------------------


class Block(Structure):
    """shoal_block: where the numbers of systems are in an array, strides in bytes."""

    _fields_ = [
        ("first", c_long),
        ("n", c_long),
        ("n_bodies", c_int),
        ("system_stride", c_long),
        ("body_stride", c_long),
        ("number_stride", c_long),
    ]


class Setting(Structure):
    """shoal_setting: a parameter of a propagator, a force or a monitor."""

    _fields_ = [("name", c_char_p), ("value", c_double), ("choice", c_char_p)]


class PlugOptions(Structure):
    """shoal_plug_options: a force or a monitor with its settings."""

    _fields_ = [("name", c_char_p), ("settings", POINTER(Setting)), ("n_settings", c_int)]


class Options(Structure):
    """shoal_options: those of a plan."""

    _fields_ = [
        ("size", c_long),
        ("propagator", c_char_p),
        ("settings", POINTER(Setting)),
        ("n_settings", c_int),
        ("monitors", POINTER(PlugOptions)),
        ("n_monitors", c_int),
        ("forces", POINTER(PlugOptions)),
        ("n_forces", c_int),
        ("engine", c_char_p),
        ("work_model", c_char_p),
        ("gpu_block", c_int),
        ("gpu_registers", c_int),
        ("gpu_bodies", c_int),
        ("tune", c_char_p),
        ("form", c_char_p),
        ("threads", c_int),
        ("lanes", c_int),
        ("t_end", c_double),
        ("orbits", c_double),
        ("dt", c_double),
        ("steps_per_orbit", c_double),
        ("dt_min", c_double),
        ("dt_max", c_double),
        ("max_steps", c_double),
        ("devices", c_char_p),
        ("units", c_char_p),
        ("names", POINTER(c_char_p)),
    ]


class ExtendOptions(Structure):
    """shoal_extend_options: what a longer run goes on from, and to where."""

    _fields_ = [
        ("file", c_char_p),
        ("end", c_char_p),
        ("where", c_char_p),
        ("output", c_char_p),
        ("folder", c_char_p),
        ("n_overrides", c_int),
        ("overrides", POINTER(c_char_p)),
    ]


class Event(Structure):
    """shoal_event: what happened in a system that went on."""

    _fields_ = [
        ("system", c_long),
        ("time", c_double),
        ("what", c_int),
        ("body_a", c_int),
        ("body_b", c_int),
        ("ended", c_int),
        ("m_a", c_double),
        ("m_b", c_double),
        ("distance", c_double),
        ("speed", c_double),
        ("energy_jump", c_double),
        ("reserved", c_double * 4),
    ]


class Progress(Structure):
    """shoal_progress: how far a run is."""

    _fields_ = [
        ("n_systems", c_long),
        ("n_by_outcome", POINTER(c_long)),
        ("n_outcomes", c_int),
        ("fraction", c_double),
        ("system_steps", c_double),
        ("system_steps_left", c_double),
        ("interactions", c_double),
        ("seconds", c_double),
        ("slowest_id", c_long),
        ("slowest_fraction", c_double),
        ("plan_line", c_char_p),
        ("certifying", c_int),
    ]


ProgressCallback = ctypes.CFUNCTYPE(c_int, POINTER(Progress), c_void_p)

# ---- functions ------------------------------------------------------------------------------------------------------

_P, _S, _L, _I, _D = c_void_p, c_char_p, c_long, c_int, c_double
# name: what it returns, its arguments. Objects, arrays and places for answers are addresses (c_void_p).
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "shoal_version": (_S, ()),
    "shoal_outcome_name": (_S, (_I,)),
    "shoal_context_create": (_I, (_P,)),
    "shoal_context_destroy": (None, (_P,)),
    "shoal_context_message": (_S, (_P,)),
    "shoal_context_allow_plugins": (_I, (_P, _I)),
    "shoal_plugin_load": (_I, (_P, _S)),
    "shoal_unit_factors": (_I, (_P, _S, _P)),
    "shoal_plug_setting": (_S, (_P, _S, _I, _P)),
    "shoal_true_anomalies": (_I, (_P, _L, _P, _P, _P)),
    "shoal_mean_anomalies": (_I, (_P, _L, _P, _P, _P)),
    "shoal_ensemble_create": (_I, (_P, _L, _I, _P)),
    "shoal_ensemble_destroy": (None, (_P,)),
    "shoal_ensemble_set_states": (_I, (_P, _P, _P, _P)),
    "shoal_ensemble_get_states": (_I, (_P, _P, _P)),
    "shoal_ensemble_set_orbits": (_I, (_P, _I, _P, _P, _P)),
    "shoal_ensemble_get_orbits": (_I, (_P, _I, _P, _P)),
    "shoal_ensemble_set_radii": (_I, (_P, _P, _P, _P)),
    "shoal_ensemble_get_radii": (_I, (_P, _P, _P)),
    "shoal_ensemble_set_column": (_I, (_P, _S, _L, _L, _P, _L)),
    "shoal_ensemble_get_column": (_I, (_P, _S, _L, _L, _P, _L)),
    "shoal_ensemble_get_outcomes": (_I, (_P, _L, _L, _P)),
    "shoal_options_init": (_I, (_P, _L)),
    "shoal_plan_create": (_I, (_P, _P, _P, _P)),
    "shoal_plan_destroy": (None, (_P,)),
    "shoal_plan_line": (_S, (_P,)),
    "shoal_plan_warnings": (_S, (_P,)),
    "shoal_plan_integrate": (_I, (_P, _D)),
    "shoal_plan_get_column": (_I, (_P, _S, _L, _L, _P, _L)),
    "shoal_plan_column_name": (_S, (_P, _S, _I, _P)),
    "shoal_plan_column_doc": (_S, (_P, _S)),
    "shoal_plan_n_events": (_L, (_P,)),
    "shoal_plan_get_events": (_I, (_P, _L, _L, _P)),
    "shoal_plan_n_logged": (_L, (_P, _S)),
    "shoal_plan_get_log": (_I, (_P, _S, _S, _L, _L, _P, _L)),
    "shoal_study_parse": (_I, (_P, _S, _S, _I, _P, _P)),
    "shoal_study_destroy": (None, (_P,)),
    "shoal_study_output": (_S, (_P,)),
    "shoal_study_text": (_S, (_P,)),
    "shoal_study_extend": (_I, (_P, _P, _P)),
    "shoal_study_is_big": (_I, (_P,)),
    "shoal_study_warnings": (_S, (_P,)),
    "shoal_study_run": (_I, (_P, _I, ProgressCallback, _P)),
    "shoal_model_create": (_I, (_P, _L, _P)),
    "shoal_model_destroy": (None, (_P,)),
    "shoal_model_n_parameters": (_I, (_P,)),
    "shoal_model_n_data": (_L, (_P,)),
    "shoal_model_parameter": (_S, (_P, _I)),
    "shoal_model_plan_line": (_S, (_P,)),
    "shoal_model_jumps": (_S, (_P,)),
    "shoal_model_evaluate": (_I, (_P, _L, _P, _P)),
    "shoal_model_evaluate_device": (_I, (_P, _L, _P, _P, _I, _P)),
    "shoal_model_predict": (_I, (_P, _L, _P, _P)),
    "shoal_model_step_error": (_I, (_P, _L, _P, _P)),
    "shoal_model_log_prior": (_I, (_P, _L, _P, _P)),
    "shoal_model_prior_transform": (_I, (_P, _L, _P, _P)),
    "shoal_model_from_normal": (_I, (_P, _L, _P, _P)),
    "shoal_model_to_normal": (_I, (_P, _L, _P, _P)),
    "shoal_model_scales": (_I, (_P, _I, _P, _P)),
    "shoal_model_gradient": (_I, (_P, _I, _L, _P, _P, _P, _P)),
    "shoal_result_open": (_I, (_P, _S, _P)),
    "shoal_result_close": (None, (_P,)),
    "shoal_result_is_complete": (_I, (_P,)),
    "shoal_result_n_systems": (_L, (_P,)),
    "shoal_result_n_bodies": (_I, (_P,)),
    "shoal_result_body_name": (_S, (_P, _I)),
    "shoal_result_text": (_S, (_P, _S)),
    "shoal_result_number": (_D, (_P, _S)),
    "shoal_result_table": (_S, (_P, _I)),
    "shoal_result_axis": (_S, (_P, _I, _P)),
    "shoal_result_n_rows": (_L, (_P, _S)),
    "shoal_result_n_columns": (_I, (_P, _S)),
    "shoal_result_describe": (_I, (_P, _S, _I, _P, _P, _P)),
    "shoal_result_get_column": (_I, (_P, _S, _S, _L, _L, _P, _L)),
    "shoal_result_get_states": (_I, (_P, _S, _P, _P)),
    "shoal_result_get_radii": (_I, (_P, _S, _P, _P)),
}


def _place(variable: str, *candidates: str) -> str:
    """A file of the installation: what the environment says, else the first that exists."""
    given = os.environ.get(variable)
    return given or next((file for file in candidates if os.path.exists(file)), candidates[0])


def _load() -> ctypes.CDLL:
    path = _place("SHOAL_LIBRARY", f"{PACKAGE}/lib/libshoal.so", f"{CLONE}/build/libshoal.so")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the library of shoal cannot be loaded: {error}") from None
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            continue  # an older library; who calls it is told
        function.restype, function.argtypes = result, arguments
    return library


C: Any = _load()


def has(name: str) -> bool:
    """Whether the library has a function."""
    return hasattr(C, name)


def program() -> str:
    """The program `shoal` of this installation."""
    return _place("SHOAL_PROGRAM", f"{PACKAGE}/lib/shoal", f"{CLONE}/build/shoal")


def text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


def warn(lines: bytes | None, stacklevel: int) -> None:
    """Warn of each line, as from the caller that is `stacklevel` calls away."""
    for line in text(lines).splitlines():
        warnings.warn(line, stacklevel=stacklevel + 1)


# ---- contexts and objects -------------------------------------------------------------------------------------------


class Context:
    """A context of the library. Threads that use what was made with it take turns by its lock.

    A forked child may use it, unless another thread of the parent was inside the library at that moment: it is then
    `stale`, and of no more use to the child.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stale = False
        handle = c_void_p()
        self.address: int | None = None
        if C.shoal_context_create(ctypes.byref(handle)):
            raise OutOfMemoryError("out of memory")
        self.address = handle.value
        _contexts.add(self)

    def check(self, status: int) -> None:
        """Raise what a call has returned."""
        if status:
            raise _ERRORS.get(status, Error)(text(C.shoal_context_message(self.address)))

    def call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Call a function in this thread's turn; raise what it returns."""
        with self.lock:
            self.check(function(*arguments))

    def make(self, create: str, destroy: str, *arguments: Any, keeps: Any = None) -> Handle:
        """An object: create(*arguments, its place)."""
        place = c_void_p()
        self.check(getattr(C, create)(*arguments, ctypes.byref(place)))
        return Handle(self, place.value or 0, getattr(C, destroy), keeps)

    def refuse_stale(self) -> None:
        if self.stale:
            raise InputError("this object was in use by another thread when the process was forked")

    def __del__(self) -> None:
        if self.address and not self.stale:
            C.shoal_context_destroy(ctypes.byref(c_void_p(self.address)))


class Handle:
    """An object of the library, destroyed with this one; `keeps` is what it needs until then."""

    def __init__(self, context: Context, address: int, destroy: Callable[..., None], keeps: Any) -> None:
        self.context, self.address, self.keeps = context, address, keeps
        self._destroy = destroy

    def __del__(self) -> None:
        if not self.context.stale:
            self._destroy(ctypes.byref(c_void_p(self.address)))


_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


def _after_fork() -> None:
    for context in _contexts:
        context.stale = context.stale or context.lock.locked()
        context.lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Shoal: ensembles of gravitational few-body systems, and likelihoods of what is measured of them.

`Model` is the likelihood of a config; `Study` runs a config; `Ensemble` and `integrate` take arrays; `open` reads a
result file. The C library is the only implementation: see docs/python.md and docs/library.md.
"""

from ._c import C as _C
from ._c import (
    DeviceError,
    Error,
    FileError,
    InputError,
    InterruptedRun,
    OutOfMemoryError,
    UnsupportedError,
)
from ._c import text as _text
from ._config import config_path
from ._fit import Posterior, fit
from .ensemble import Ensemble
from .model import Model, NormalModel
from .result import Map, Result, open
from .run import Study, integrate

__version__ = _text(_C.shoal_version())
__all__ = [
    "DeviceError",
    "Ensemble",
    "Error",
    "FileError",
    "InputError",
    "InterruptedRun",
    "Map",
    "Model",
    "NormalModel",
    "OutOfMemoryError",
    "Posterior",
    "Result",
    "Study",
    "UnsupportedError",
    "config_path",
    "fit",
    "integrate",
    "open",
]

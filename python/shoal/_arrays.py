# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors in arrays of other libraries: what comes of them is an array of that library, on the same device."""

from __future__ import annotations

import ctypes
import math
import sys
from contextlib import nullcontext
from ctypes import Structure, c_char_p, c_int, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any

import numpy as np

from ._c import UnsupportedError

CUDA, CUDA_MANAGED = 2, 13  # DLDeviceType
LEGACY_STREAM = 1  # what CUDA and DLPack call the default stream, whose handle may be 0


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int),
        ("device", c_int),
        ("n_axes", c_int),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64),
    ]


_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _address(array: Any, stream: int) -> int:
    """Where the first number of a contiguous array is, once `stream` has done what the array waits for."""
    capsule = array.__dlpack__(stream=stream)
    tensor = _DLTensor.from_address(_pointer(capsule, b"dltensor"))
    return int(tensor.data or 0) + int(tensor.byte_offset)


class _Torch:
    def __init__(self) -> None:
        import torch

        self.xp: Any = torch

    def begin(self, theta: Any) -> Any:
        if theta.requires_grad and self.xp.is_grad_enabled():
            raise UnsupportedError("PyTorch gets no gradient of ln L: expected theta.detach(), and Model.gradient")
        return nullcontext()

    def to_host(self, theta: Any) -> Any:
        return theta.detach().cpu().numpy()

    def of(self, answer: Any, theta: Any) -> Any:
        return self.xp.as_tensor(answer, device=theta.device)

    def contiguous(self, theta: Any) -> Any:
        return theta.detach().to(self.xp.float64).contiguous()

    def empty(self, shape: Any, theta: Any) -> Any:
        return self.xp.empty(shape, dtype=self.xp.float64, device=theta.device)

    def stream(self, theta: Any) -> int:
        return int(self.xp.cuda.current_stream(theta.device).cuda_stream)


class _Cupy:
    def __init__(self) -> None:
        import cupy

        self.xp: Any = cupy

    def begin(self, theta: Any) -> Any:
        return theta.device

    def to_host(self, theta: Any) -> Any:
        return theta.get()

    def of(self, answer: Any, theta: Any) -> Any:
        return self.xp.asarray(answer)

    def contiguous(self, theta: Any) -> Any:
        return self.xp.ascontiguousarray(theta, dtype=self.xp.float64)

    def empty(self, shape: Any, theta: Any) -> Any:
        return self.xp.empty(shape)

    def stream(self, theta: Any) -> int:
        return int(self.xp.cuda.get_current_stream().ptr)


_LIBRARIES: dict[str, Any] = {"torch": _Torch, "cupy": _Cupy}


def evaluate(model: Any, name: str, theta: Any) -> Any:
    """`log_likelihood`, `log_prior` or `log_prob` of a model, of vectors in an array of any library."""
    host = getattr(model, "_" + name)
    if isinstance(theta, np.ndarray):
        return host(theta)
    jax = sys.modules.get("jax")
    if jax and isinstance(theta, jax.Array):
        return model._jitted(name)(theta)
    library = _LIBRARIES.get(type(theta).__module__.partition(".")[0])
    if not library or not hasattr(theta, "__dlpack_device__"):
        return host(theta)
    library = library()
    with library.begin(theta):
        kind, device = theta.__dlpack_device__()
        if kind not in (CUDA, CUDA_MANAGED) or not model.on_gpu:
            return library.of(host(library.to_host(theta)), theta)
        prior = None if name == "log_likelihood" else library.of(model._log_prior(library.to_host(theta)), theta)
        if name == "log_prior":
            return prior
        given = library.contiguous(theta)
        shape = model._shape(given.shape)
        answer = library.empty(shape, theta)
        stream = library.stream(theta) or LEGACY_STREAM
        places = _address(given, stream), _address(answer, stream)
        model._evaluate_on_gpu(math.prod(shape), *places, int(device), stream)
        return answer if prior is None else library.xp.where(prior > -np.inf, prior + answer, prior)

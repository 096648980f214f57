# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of a model as custom calls of XLA (`jax.ffi`), on the CPU and on CUDA.

XLA calls `_handle` with a frame of its foreign function interface (xla/ffi/api/c_api.h, which comes with jaxlib; only
what is used of it is declared here). So nothing has to be compiled, the model's threads take turns as they do in
Python, and an exception becomes XLA's error. Of arrays on a GPU only the addresses are seen here.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import weakref
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ._c import InputError, UnsupportedError

INTERNAL = 13  # XLA_FFI_Error_Code
METADATA = 1  # XLA_FFI_Extension_Type


# Structures of the interface, by their names there; all but the scalar begin with their size and extensions.


class _Sized(Structure):
    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p)]


class _Version(_Sized):
    _fields_ = [("major", c_int), ("minor", c_int)]


class _Api(_Sized):
    """Functions, each of which takes the address of its arguments."""

    _fields_ = [
        ("version", _Version),
        ("internal", c_void_p),
        ("error_create", c_void_p),
        ("others", c_void_p * 3),
        ("stream_get", c_void_p),
        ("more", c_void_p * 12),
        ("device_ordinal_get", c_void_p),
    ]


class _Arrays(_Sized):
    """Args, Rets."""

    _fields_ = [("size", c_int64), ("types", c_void_p), ("at", POINTER(c_void_p))]


class _Attrs(_Sized):
    _fields_ = [("size", c_int64), ("types", c_void_p), ("names", c_void_p), ("at", POINTER(c_void_p))]


class _Scalar(Structure):
    _fields_ = [("dtype", c_int), ("value", POINTER(c_int64))]


class _Buffer(_Sized):
    _fields_ = [("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))]


class _CallFrame(_Sized):
    _fields_ = [
        ("api", POINTER(_Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("args", _Arrays),
        ("rets", _Arrays),
        ("attrs", _Attrs),
    ]


class _Extension(Structure):
    """Extension_Base; of the type METADATA, with what follows it."""

    _fields_ = [("struct_size", c_size_t), ("type", c_int), ("next", c_void_p), ("metadata", c_void_p)]


class _Metadata(Structure):
    _fields_ = [("struct_size", c_size_t), ("version", _Version), ("traits", c_uint32)]


class _ErrorCreate(_Sized):
    _fields_ = [("message", c_char_p), ("code", c_int)]


class _StreamGet(_Sized):
    _fields_ = [("context", c_void_p), ("stream", c_void_p)]


class _DeviceOrdinalGet(_Sized):
    _fields_ = [("context", c_void_p), ("ordinal", c_int32)]


_Function = ctypes.CFUNCTYPE(c_void_p, c_void_p)
_models: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)
_FUNCTIONS = ("log_likelihood", "log_prior", "log_prob")
_LIKELIHOOD, _PRIOR = _FUNCTIONS.index("log_likelihood"), _FUNCTIONS.index("log_prior")
_GRADIENT = len(_FUNCTIONS)  # an attribute of a call counts functions, then their derivatives with the value behind


class _Memory:
    """Numbers at an address, for NumPy."""

    def __init__(self, address: int, shape: list[int]) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": tuple(shape), "typestr": "<f8", "version": 3}


def _host(model: Any, function: int) -> Any:
    """The function of arrays of NumPy that an attribute of a call counts."""
    name = _FUNCTIONS[function % _GRADIENT]
    return partial(model._gradient, name) if function >= _GRADIENT else getattr(model, "_" + name)


def _ask(frame: _CallFrame, function: int, question: _StreamGet | _DeviceOrdinalGet) -> None:
    question.struct_size, question.context = ctypes.sizeof(question), frame.context
    if _Function(function)(ctypes.addressof(question)):
        raise UnsupportedError("XLA does not say which stream of which device it uses")


def _compute(frame: _CallFrame, on_gpu: bool) -> None:
    theta, answer = _Buffer.from_address(frame.args.at[0]), _Buffer.from_address(frame.rets.at[0])
    # attributes are sorted by name
    function, number = (_Scalar.from_address(frame.attrs.at[i]).value[0] for i in range(2))
    name, model, shape = _FUNCTIONS[function % _GRADIENT], _models.get(number), theta.dims[: theta.rank]
    if model is None:
        raise UnsupportedError("the model of this function is no more")
    if not on_gpu:
        host = _host(model, function)
        to = np.asarray(_Memory(answer.data, answer.dims[: answer.rank]))
        to[...] = host(np.asarray(_Memory(theta.data, shape)))
        return
    if function != _LIKELIHOOD:
        what = f"the gradient of {name}" if function >= _GRADIENT else name
        raise UnsupportedError(f"{what} of an array on a GPU: expected jax.default_backend() to be that GPU")
    stream, ordinal, api = _StreamGet(), _DeviceOrdinalGet(), frame.api.contents
    _ask(frame, api.stream_get, stream)
    if api.struct_size > _Api.device_ordinal_get.offset:  # else an old one
        _ask(frame, api.device_ordinal_get, ordinal)
    model._evaluate_on_gpu(math.prod(shape[:-1]), theta.data, answer.data, ordinal.ordinal, stream.stream)


def _handle(on_gpu: bool, address: int) -> Any:
    """A handler of XLA: NULL, or an error, of the call whose frame is at an address."""
    frame = _CallFrame.from_address(address)
    try:
        extension = _Extension.from_address(frame.extension) if frame.extension else None
        if extension and extension.type == METADATA:  # XLA asks for the version of the structures above
            metadata = _Metadata.from_address(extension.metadata)
            metadata.version.major, metadata.version.minor = 0, frame.api.contents.version.minor
            metadata.traits = 0
        else:
            _compute(frame, on_gpu)
        return None
    except BaseException as error:  # nothing may leave into C
        said = _ErrorCreate(ctypes.sizeof(_ErrorCreate), None, f"shoal: {error}".encode(), INTERNAL)
        return _Function(frame.api.contents.error_create)(ctypes.addressof(said))


_handlers = {"cpu": _Function(partial(_handle, False)), "CUDA": _Function(partial(_handle, True))}


@lru_cache
def _register() -> bool:
    """Tell XLA of the handlers; False: this JAX knows no such calls."""
    import jax

    if not hasattr(jax, "ffi"):
        return False
    for platform, handler in _handlers.items():
        jax.ffi.register_ffi_target("shoal_model", jax.ffi.pycapsule(handler), platform=platform)
    return True


def trace(model: Any, name: str) -> Any:
    """`log_likelihood`, `log_prior` or `log_prob` of a model, for JAX."""
    import jax
    import jax.numpy as jnp

    if name not in _FUNCTIONS:
        raise InputError(f"{name}: expected log_prob, log_likelihood or log_prior of the model")
    number = next((key for key, known in _models.items() if known is model), None) or next(_numbers)
    _models[number] = model
    backend = jax.default_backend()

    def call(which: int, theta: Any) -> Any:
        shape = model._shape(theta.shape)
        answer = jax.ShapeDtypeStruct((*shape, theta.shape[-1] + 1) if which >= _GRADIENT else shape, theta.dtype)
        direct = backend == "cpu" or (backend == "gpu" and model.on_gpu and which == _LIKELIHOOD)
        if direct and theta.dtype == np.float64 and _register():
            function = jax.ffi.ffi_call("shoal_model", answer, vmap_method="broadcast_all")
            return function(theta, function=np.int64(which), number=np.int64(number))

        def compute(vectors: Any) -> Any:
            return np.asarray(_host(model, which)(np.asarray(vectors)), dtype=theta.dtype)

        return jax.pure_callback(compute, answer, theta, vmap_method="broadcast_all")

    def function(theta: Any) -> Any:
        theta = jnp.asarray(theta)
        theta = theta.astype(jnp.result_type(theta.dtype, float))
        if name == "log_prob" and backend == "gpu" and model.on_gpu:
            prior = call(_PRIOR, theta)
            return jnp.where(prior > -np.inf, prior + call(_LIKELIHOOD, theta), prior)
        return call(_FUNCTIONS.index(name), theta)

    def derive(given: Any, moved: Any) -> Any:
        both = call(_GRADIENT + _FUNCTIONS.index(name), given[0])
        return both[..., -1], (both[..., :-1] * moved[0]).sum(axis=-1)

    traced: Any = jax.custom_jvp(function)
    traced.defjvp(derive)
    return traced

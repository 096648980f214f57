# SPDX-License-Identifier: GPL-3.0-or-later
"""Likelihoods of measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ._arrays import evaluate
from ._c import C, Context, InputError, UnsupportedError, has, text
from ._config import Config, Overrides, Recipe, make_recipe

Array = npt.NDArray[np.float64]


class Model:
    """The likelihood of a config with ``data``: a function of the random values of its ``sample``.

    A vector is a point in the units of the config; `names` has the order of its numbers. Every method takes one
    vector, or an array of vectors whose last axis is the parameters; no bits depend on how many there are. The object
    is a function for samplers as it is, can be pickled (by its config), used by several threads, which take turns,
    and by the processes of a pool, forked or spawned.

    Parameters
    ----------
    config : str, path or dict
        A config file, or a dictionary of the same keys.
    overrides : dict, optional
        Values in the place of those of the config: ``{"run.threads": 1}``.
    n_walkers : int
        Vectors that are evaluated at once; more are divided.
    allow_plugins : bool
        Allow the config to name C files, which are compiled and run.

    Examples
    --------
    >>> m = shoal.Model("hd_164922.cfg")
    >>> m(m.prior_transform([0.5] * m.n_parameters))
    """

    def __init__(
        self, config: Config, overrides: Overrides = None, *, n_walkers: int = 4096, allow_plugins: bool = False
    ) -> None:
        self._recipe = make_recipe(config, overrides, allow_plugins)
        self._n_walkers = n_walkers
        self._begin()

    def _begin(self) -> None:
        self._context = Context()
        study = self._recipe.load(self._context)
        self._handle = self._context.make(
            "shoal_model_create", "shoal_model_destroy", study.address, self._n_walkers, keeps=study
        )
        address = self._handle.address
        #: bool: whether it computes on GPUs, and takes arrays that are there
        self.on_gpu: bool = (
            has("shoal_model_evaluate_device") and C.shoal_model_evaluate_device(address, 0, None, None, 0, None) == 0
        )
        self._functions: dict[str, Any] = {}
        #: int: the number of parameters
        self.n_parameters: int = C.shoal_model_n_parameters(address)
        #: int: the number of data
        self.n_data: int = C.shoal_model_n_data(address)
        #: list of str: the names of the parameters, ``"b.P"``, ``"apf.jitter"``
        self.names: list[str] = [text(C.shoal_model_parameter(address, i)) for i in range(self.n_parameters)]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._recipe, self._n_walkers)

    def __repr__(self) -> str:
        return f"<shoal.Model of {self.n_parameters} parameters and {self.n_data} data: {self.plan}>"

    @property
    def plan(self) -> str:
        """str: what was chosen to evaluate it."""
        with self._context.lock:
            return text(C.shoal_model_plan_line(self._handle.address))

    def _shape(self, given: Sequence[int]) -> tuple[int, ...]:
        """The shape of what comes of vectors, a number each."""
        if len(given) == 0 or given[-1] != self.n_parameters:
            raise InputError(
                f"an array of shape {tuple(given)}: expected {self.n_parameters} parameters in its last axis"
            )
        return tuple(given[:-1])

    def _run(self, function: Any, *arguments: Any) -> None:
        if self._context.stale:
            self._begin()
        self._context.call(function, self._handle.address, *arguments)

    def _call(self, function: Any, vectors: npt.ArrayLike, n_out: int | None) -> Any:
        """Call function(model, n, vectors, answer); n_out: numbers of an answer, None: one, without an axis."""
        if hasattr(vectors, "__cuda_array_interface__") and hasattr(vectors, "get"):
            vectors = vectors.get()  # CuPy copies to the host only when it is asked to
        given = np.ascontiguousarray(vectors, dtype=np.float64)
        shape = self._shape(given.shape)
        answer = np.empty(shape if n_out is None else (*shape, n_out))
        self._run(function, math.prod(shape), given.ctypes.data, answer.ctypes.data)
        return answer[()]

    def _evaluate_on_gpu(self, n: int, theta: int, lnl: int, device: int, stream: int | None) -> None:
        """The arguments of shoal_model_evaluate_device."""
        self._run(C.shoal_model_evaluate_device, n, theta, lnl, device, stream)

    def _log_likelihood(self, theta: npt.ArrayLike) -> Any:
        return self._call(C.shoal_model_evaluate, theta, None)

    def _log_prior(self, theta: npt.ArrayLike) -> Any:
        return self._call(C.shoal_model_log_prior, theta, None)

    def _log_prob(self, theta: npt.ArrayLike) -> Any:
        total = self._log_prior(theta)
        if np.ndim(total) == 0:
            return total + self._log_likelihood(theta) if total > -np.inf else total
        inside = total > -np.inf
        if inside.all():
            total += self._log_likelihood(theta)
        elif inside.any():
            total[inside] += self._log_likelihood(np.asarray(theta, dtype=np.float64)[inside])
        return total

    def __call__(self, theta: Any) -> Any:
        """The natural logarithm of the likelihood.

        Parameters
        ----------
        theta : array_like, shape (n_parameters,) or (..., n_parameters)
            Also an array of JAX, CuPy or PyTorch. One on a GPU stays there, if the model computes on a GPU.

        Returns
        -------
        float or array, shape (...,)
            -inf where there is no such system, or it does not reach the data. An array of the library of `theta`, on
            its device.
        """
        return evaluate(self, "log_likelihood", theta)

    log_likelihood = __call__

    def log_prior(self, theta: Any) -> Any:
        """The natural logarithm of the prior density, -inf outside; arguments as for a call, computed on the host."""
        return evaluate(self, "log_prior", theta)

    def log_prob(self, theta: Any) -> Any:
        """log_prior + log_likelihood, the latter only where the prior is not 0; arguments as for a call."""
        return evaluate(self, "log_prob", theta)

    def prior_transform(self, cube: npt.ArrayLike) -> Array:
        """From the unit cube to parameters, for nested samplers.

        Parameters
        ----------
        cube : array_like, shape (..., n_parameters)
            Parts of the probability of each prior, 0..1.

        Returns
        -------
        ndarray, shape (..., n_parameters)
        """
        return cast(Array, self._call(C.shoal_model_prior_transform, cube, self.n_parameters))

    def predict(self, theta: npt.ArrayLike) -> Array:
        """What the model says of each datum.

        Parameters
        ----------
        theta : array_like, shape (..., n_parameters)

        Returns
        -------
        ndarray, shape (..., n_data)
            In the units of the data and in their order: those of the first of `data`, of the second, ...; NaN where
            there is nothing to be seen. Offsets that are integrated over have their best values.
        """
        if not has("shoal_model_predict"):
            raise UnsupportedError("this version of the library does not predict")
        return cast(Array, self._call(C.shoal_model_predict, theta, self.n_data))

    def jax(self, function: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
        """A function of JAX arrays, which may be traced: inside ``jit``, and in ``vmap`` as one call of all vectors.

        With ``jax_enable_x64`` it is a call of XLA's foreign functions (`jax.ffi`): on the CPU, and on a GPU if the
        model computes there. Else the vectors pass through the host. There is no gradient: it is for samplers that
        need none.

        Parameters
        ----------
        function : callable, optional
            `log_prob` (the default), `log_likelihood` or `log_prior` of this model.

        Returns
        -------
        callable
            From [..., n_parameters] to [...], in the type of the vectors.
        """
        from ._jax import trace

        name = getattr(function, "__name__", "__call__") if function else "log_prob"
        return cast(Callable[[Any], Any], trace(self, "log_likelihood" if name == "__call__" else name))

    def _jitted(self, name: str) -> Any:
        if name not in self._functions:
            import jax

            self._functions[name] = jax.jit(self.jax(getattr(self, name)))
        return self._functions[name]

    def draw(self, n: int, seed: int | None = None) -> Array:
        """Points drawn from the priors, to begin walkers with.

        Returns
        -------
        ndarray, shape (n, n_parameters)
        """
        return self.prior_transform(np.random.default_rng(seed).random((n, self.n_parameters)))


@lru_cache(maxsize=4)
def _restore(recipe: Recipe, n_walkers: int) -> Model:
    """A pickled model. A pool's task brings one each time: it is made once a process. The processes of a pool share
    the cores already, so that one thread is enough for each; no bits depend on it."""
    import multiprocessing

    if multiprocessing.parent_process() and not any(word.startswith("run.threads") for word in recipe.overrides):
        recipe = recipe._replace(overrides=(*recipe.overrides, "run.threads=1"))
    model = Model.__new__(Model)
    model._recipe, model._n_walkers = recipe, n_walkers
    model._begin()
    return model

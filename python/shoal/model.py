# SPDX-License-Identifier: GPL-3.0-or-later
"""Likelihoods of measurements."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

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

    def _call(self, function: Any, vectors: npt.ArrayLike, n_out: int | None) -> Any:
        """Call function(model, n, vectors, answer); n_out: numbers of an answer, None: one, without an axis."""
        if hasattr(vectors, "__cuda_array_interface__") and hasattr(vectors, "get"):
            vectors = vectors.get()  # CuPy copies to the host only when it is asked to
        given = np.ascontiguousarray(vectors, dtype=np.float64)
        if given.ndim == 0 or given.shape[-1] != self.n_parameters:
            raise InputError(
                f"an array of shape {given.shape}: expected {self.n_parameters} parameters in its last axis"
            )
        shape = given.shape[:-1]
        n = 1
        for length in shape:
            n *= length
        answer = np.empty(shape if n_out is None else (*shape, n_out))
        if self._context.stale:
            self._begin()
        self._context.call(function, self._handle.address, n, given.ctypes.data, answer.ctypes.data)
        return answer[()]

    def __call__(self, theta: npt.ArrayLike) -> Any:
        """The natural logarithm of the likelihood.

        Parameters
        ----------
        theta : array_like, shape (n_parameters,) or (..., n_parameters)

        Returns
        -------
        float or ndarray, shape (...,)
            -inf where there is no such system, or it does not reach the data.
        """
        return self._call(C.shoal_model_evaluate, theta, None)

    log_likelihood = __call__

    def log_prior(self, theta: npt.ArrayLike) -> Any:
        """The natural logarithm of the prior density, -inf outside; arguments as for a call."""
        return self._call(C.shoal_model_log_prior, theta, None)

    def log_prob(self, theta: npt.ArrayLike) -> Any:
        """log_prior + log_likelihood, the latter only where the prior is not 0; arguments as for a call."""
        total = self.log_prior(theta)
        if np.ndim(total) == 0:
            return total + self(theta) if total > -np.inf else total
        inside = total > -np.inf
        if inside.all():
            total += self(theta)
        elif inside.any():
            total[inside] += self(np.asarray(theta, dtype=np.float64)[inside])
        return total

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

    def jax(self, function: Callable[[npt.ArrayLike], Any] | None = None) -> Callable[[Any], Any]:
        """A function of JAX arrays, which may be traced: inside ``jit``, and in ``vmap`` as one call of all vectors.

        The vectors are computed on the host, or on the GPU that the model has chosen. There is no gradient: it is for
        samplers that need none.

        Parameters
        ----------
        function : callable, optional
            `log_prob` (the default), `log_likelihood` or `log_prior` of this model.

        Returns
        -------
        callable
            From [..., n_parameters] to [...], in JAX's default type of numbers.
        """
        import jax
        import jax.numpy as jnp

        call = function or self.log_prob

        def traced(theta: Any) -> Any:
            theta = jnp.asarray(theta)
            kind = jnp.result_type(float)
            answer = jax.ShapeDtypeStruct(theta.shape[:-1], kind)
            compute = lambda vectors: np.asarray(call(np.asarray(vectors)), dtype=kind)  # noqa: E731
            return jax.pure_callback(compute, answer, theta, vmap_method="broadcast_all")

        return traced

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

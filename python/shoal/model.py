# SPDX-License-Identifier: GPL-3.0-or-later
"""Likelihoods of measurements."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ._arrays import evaluate
from ._c import C, Context, InputError, UnsupportedError, has, text
from ._config import Config, Overrides, Recipe, make_recipe
from ._units import Array, doubles


class Density:
    """What `Model` and `NormalModel` have in common: ln L, ln prior, their sum and its derivatives."""

    n_parameters: int
    names: list[str]
    on_gpu: bool
    _coordinates: int  # enum shoal_coordinates
    _functions: dict[str, Any]
    _scales: Array | None = None

    def _shape(self, given: Sequence[int]) -> tuple[int, ...]:
        """The shape of what comes of vectors, a number each."""
        if len(given) == 0 or given[-1] != self.n_parameters:
            raise InputError(
                f"an array of shape {tuple(given)}: expected {self.n_parameters} parameters in its last axis"
            )
        return tuple(given[:-1])

    def _run(self, function: Any, *arguments: Any) -> None:
        raise NotImplementedError

    def _log_likelihood(self, vectors: npt.ArrayLike) -> Any:
        raise NotImplementedError

    def _log_prior(self, vectors: npt.ArrayLike) -> Any:
        raise NotImplementedError

    def _log_prob(self, vectors: npt.ArrayLike) -> Any:
        total = self._log_prior(vectors)
        if np.ndim(total) == 0:
            return total + self._log_likelihood(vectors) if total > -np.inf else total
        inside = total > -np.inf
        if inside.all():
            total += self._log_likelihood(vectors)
        elif inside.any():
            total[inside] += self._log_likelihood(np.asarray(vectors, dtype=np.float64)[inside])
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
        """The natural logarithm of the prior density, -inf outside; arguments as for a call, computed on the host.

        An angle that is uniform over a circle has no outside, unless a number is tied to it that does not come back
        with it. A Beta density that is infinite at an edge is 0 there.
        """
        return evaluate(self, "log_prior", theta)

    def log_prob(self, theta: Any) -> Any:
        """log_prior + log_likelihood, the latter only where the prior is not 0; arguments as for a call."""
        return evaluate(self, "log_prob", theta)

    # ---- derivatives --------------------------------------------------------------------------------------------

    @property
    def scales(self) -> Array | None:
        """ndarray, shape (n_parameters,): derivatives are differences over a hundredth of these.

        One standard deviation of each coordinate, the others fixed, is best: `find_scales`. Without them the first
        vector of the first gradient gives them, and they stay: a gradient is a function of its vector.
        """
        return self._scales

    @scales.setter
    def scales(self, scales: npt.ArrayLike | None) -> None:
        given = None if scales is None else np.array(scales, dtype=np.float64)
        if given is not None and (given.shape != (self.n_parameters,) or not (given > 0).all()):
            raise InputError(f"scales = {scales!r}: expected {self.n_parameters} numbers > 0")
        self._scales = given

    def find_scales(self, theta: npt.ArrayLike) -> Array:
        """How far each coordinate goes from a vector until ln L bends by 1/2; the vector is best near the optimum."""
        given = np.ascontiguousarray(doubles(theta))
        if self._shape(given.shape) != ():
            raise InputError(f"an array of shape {given.shape}: expected one vector")
        scales = np.empty(self.n_parameters)
        self._run(C.shoal_model_scales, self._coordinates, given.ctypes.data, scales.ctypes.data)
        return scales

    def _derived(self, vectors: npt.ArrayLike) -> tuple[Array, Array]:
        """(ln L, ln prior) [..., 2] and their derivatives [..., 2, n_parameters]."""
        given = np.ascontiguousarray(doubles(vectors))
        shape, n = self._shape(given.shape), self.n_parameters
        values, gradient = np.empty((*shape, 2)), np.empty((*shape, 2, n))
        if given.size:
            if self._scales is None:
                self._scales = self.find_scales(given.reshape(-1, n)[0])
            places = (array.ctypes.data for array in (given, self._scales, values, gradient))
            self._run(C.shoal_model_gradient, self._coordinates, math.prod(shape), *places)
        return values, gradient

    def _gradient(self, name: str, vectors: npt.ArrayLike) -> Array:
        """The derivatives of a function, and behind them its value: [..., n_parameters + 1]."""
        values, gradient = self._derived(vectors)
        both = np.concatenate([gradient, values[..., None]], axis=-1)
        if name == "log_prob":
            return cast(Array, both.sum(axis=-2))
        return cast(Array, both[..., ("log_likelihood", "log_prior").index(name), :])

    def gradient(self, theta: npt.ArrayLike, function: Callable[..., Any] | None = None) -> Array:
        """Derivatives by the parameters: central differences over a hundredth of `scales`, all in one call.

        Times its scale, the error of a derivative is about 1e-4 near the optimum. Draws of Hamiltonian Monte Carlo do
        not depend on it, since they are accepted by the density itself.

        Parameters
        ----------
        theta : array_like, shape (..., n_parameters)
        function : callable, optional
            `log_prob` (the default), `log_likelihood` or `log_prior` of this model.

        Returns
        -------
        ndarray, shape (..., n_parameters)
            One-sided at the edge of what is possible; NaN where the function is -inf.
        """
        return self._gradient(self._name(function), theta)[..., :-1]

    @staticmethod
    def _name(function: Callable[..., Any] | None) -> str:
        name = getattr(function, "__name__", "__call__") if function else "log_prob"
        return "log_likelihood" if name == "__call__" else name

    def jax(self, function: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
        """A function of JAX arrays, which may be traced: inside ``jit``, in ``vmap`` as one call of all vectors, and
        in ``grad`` and ``jvp``, where its derivatives are those of `gradient`.

        With ``jax_enable_x64`` it is a call of XLA's foreign functions (`jax.ffi`): on the CPU, and on a GPU if the
        model computes there. Else, and for derivatives on a GPU, the vectors pass through the host.

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

        return cast(Callable[[Any], Any], trace(self, self._name(function)))

    def _jitted(self, name: str) -> Any:
        if name not in self._functions:
            import jax

            self._functions[name] = jax.jit(self.jax(getattr(self, name)))
        return self._functions[name]


class Model(Density):
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

    Attributes
    ----------
    n_parameters, n_data : int
    names : list of str
        The names of the parameters, ``"b.P"``, ``"apf.jitter"``.
    on_gpu : bool
        Whether it computes on GPUs, and takes arrays that are there.

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
        body = C.shoal_model_jumps(self._handle.address) if has("shoal_model_jumps") else None
        if body:
            warnings.warn(
                f"{text(body)} may be prograde and retrograde: pomega, l, theta, h and k jump between, where walkers "
                "do not follow; omega, M and T0 do not",
                stacklevel=2,
            )

    _coordinates = 0
    _normal: NormalModel | None = None

    def _begin(self, files: tuple[str, ...] | None = None) -> None:
        self._context = Context()
        study = self._recipe.load(self._context)
        lines = text(C.shoal_study_text(study.address)).splitlines()
        self._files = tuple(line for line in lines if line.startswith("# file "))
        if files not in (None, self._files):
            raise InputError("data or other files of the study have changed since the model was made that is copied")
        self._handle = self._context.make(
            "shoal_model_create", "shoal_model_destroy", study.address, self._n_walkers, keeps=study
        )
        address = self._handle.address
        self.on_gpu = (
            has("shoal_model_evaluate_device") and C.shoal_model_evaluate_device(address, 0, None, None, 0, None) == 0
        )
        self._functions = {}
        self.n_parameters = C.shoal_model_n_parameters(address)
        self.n_data: int = C.shoal_model_n_data(address)
        self.names = [text(C.shoal_model_parameter(address, i)) for i in range(self.n_parameters)]

    def __reduce__(self) -> tuple[Any, ...]:
        scales = None if self._scales is None else tuple(self._scales)
        return _restore, (self._recipe, self._n_walkers, scales, self._files)

    def __repr__(self) -> str:
        return f"<shoal.Model of {self.n_parameters} parameters and {self.n_data} data: {self.plan}>"

    @property
    def plan(self) -> str:
        """str: what was chosen to evaluate it."""
        with self._context.lock:
            return text(C.shoal_model_plan_line(self._handle.address))

    def _run(self, function: Any, *arguments: Any) -> None:
        if self._context.stale:
            self._begin()
        self._context.call(function, self._handle.address, *arguments)

    def _call(self, function: Any, vectors: npt.ArrayLike, n_out: int | None) -> Any:
        """Call function(model, n, vectors, answer); n_out: numbers of an answer, None: one, without an axis."""
        if hasattr(vectors, "__cuda_array_interface__") and hasattr(vectors, "get"):
            vectors = vectors.get()  # CuPy copies to the host only when it is asked to
        given = np.ascontiguousarray(doubles(vectors))
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
            there is nothing to be seen. Times are those of the config: less `time_zero` of the data. Offsets that are
            integrated over have their best values.
        """
        if not has("shoal_model_predict"):
            raise UnsupportedError("this version of the library does not predict")
        return cast(Array, self._call(C.shoal_model_predict, theta, self.n_data))

    def step_error(self, theta: npt.ArrayLike) -> Array:
        """How far ln L depends on the step.

        Parameters
        ----------
        theta : array_like, shape (..., n_parameters)
            For instance 64 draws of the posterior.

        Returns
        -------
        ndarray, shape (...)
            ln L with half the step, less ln L. An adaptive propagator has its tolerance divided for that. Over draws of
            a posterior the standard deviation says by about how many sigma parameters move with half the step. Infinite
            where only one of the two is -infinity, NaN where both are.
        """
        if not has("shoal_model_step_error"):
            raise UnsupportedError("this version of the library does not compare steps")
        return cast(Array, self._call(C.shoal_model_step_error, theta, None))

    def from_normal(self, z: npt.ArrayLike) -> Array:
        """Parameters that are drawn from the priors, of independent standard normal numbers (..., n_parameters)."""
        return cast(Array, self._call(C.shoal_model_from_normal, z, self.n_parameters))

    def to_normal(self, theta: npt.ArrayLike) -> Array:
        """The way back; NaN of a parameter that is outside its prior. An angle that goes round may have any value."""
        return cast(Array, self._call(C.shoal_model_to_normal, theta, self.n_parameters))

    @property
    def normal(self) -> NormalModel:
        """NormalModel: the same density in standard normal numbers, which have no bounds."""
        if self._normal is None:
            self._normal = NormalModel(self)
        return self._normal

    def draw(self, n: int, seed: int | None = None) -> Array:
        """Points drawn from the priors, to begin walkers with.

        Returns
        -------
        ndarray, shape (n, n_parameters)
        """
        return self.prior_transform(np.random.default_rng(seed).random((n, self.n_parameters)))


class NormalModel(Density):
    """A model in coordinates without bounds: numbers z whose prior is the standard normal distribution.

    `Model.from_normal` makes parameters of them. Samplers that follow gradients need such coordinates; an angle that
    goes round has an end at infinity here.

    Parameters
    ----------
    model : Model

    Attributes
    ----------
    model : Model
    n_parameters : int
    names : list of str
        The names of the parameters that z stand for.

    Examples
    --------
    >>> z = shoal.Model("kepler_51.cfg").normal
    >>> z.gradient([0.0] * z.n_parameters)
    """

    _coordinates = 1
    on_gpu = False

    def __init__(self, model: Model) -> None:
        self.model = model
        self.n_parameters, self.names, self._functions = model.n_parameters, model.names, {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_normal, (self.model, self._scales)

    def __repr__(self) -> str:
        return f"<shoal.NormalModel of {self.model!r}>"

    def _run(self, function: Any, *arguments: Any) -> None:
        self.model._run(function, *arguments)

    def _log_likelihood(self, vectors: npt.ArrayLike) -> Any:
        return self.model._log_likelihood(self.model.from_normal(vectors))

    def _log_prior(self, vectors: npt.ArrayLike) -> Any:
        z = np.asarray(vectors, dtype=np.float64)
        self._shape(z.shape)
        return -0.5 * (z * z).sum(axis=-1) - 0.5 * math.log(2 * math.pi) * self.n_parameters

    def nutpie(self, start: npt.ArrayLike | None = None) -> Any:
        """What ``nutpie.sample`` takes; its draws are parameters by their names.

        Parameters
        ----------
        start : array_like, shape (n_parameters,), optional
            Parameters near which chains begin, for instance the optimum; without it they begin at draws of the priors.
        """
        from nutpie import compiled_pyfunc

        centre = None if start is None else self.model.to_normal(start)
        if centre is not None and np.isnan(centre).any():
            raise InputError(f"{self.names[int(np.argmax(np.isnan(centre)))]} of start is outside its prior")
        if centre is not None and self._scales is None:
            self._scales = self.find_scales(centre)

        def density(z: Array) -> tuple[float, Array]:
            both = self._gradient("log_prob", z)
            return float(both[-1]), both[:-1]

        def begin(seed: int) -> Array:
            z = np.random.default_rng(seed).standard_normal(self.n_parameters)
            return z if centre is None or self._scales is None else centre + 0.5 * self._scales * z

        def expand(z: Array) -> dict[str, Any]:
            return dict(zip(self.names, map(np.asarray, self.model.from_normal(z)), strict=True))

        return compiled_pyfunc.from_pyfunc(
            self.n_parameters,
            lambda: density,
            lambda *_: expand,
            [np.dtype(np.float64)] * self.n_parameters,
            [()] * self.n_parameters,
            self.names,
            make_initial_point_fn=begin,
        )


def _restore_normal(model: Model, scales: Array | None) -> NormalModel:
    normal = NormalModel(model)
    normal.scales = scales
    return normal


def _restore(recipe: Recipe, n_walkers: int, scales: tuple[float, ...] | None, files: tuple[str, ...]) -> Model:
    """A pickled or copied model, with its own settings."""
    made = _begun(recipe, n_walkers, files)
    if made._context.stale:
        made._begin(files)
    model = Model.__new__(Model)
    model.__dict__.update(made.__dict__, _functions={})
    model.scales = scales
    return model


@lru_cache(maxsize=4)
def _begun(recipe: Recipe, n_walkers: int, files: tuple[str, ...]) -> Model:
    """What the models of a recipe and of the same files share. A pool's task brings one each time: it is made once a
    process. The processes of a pool share the cores already, so that one thread is enough for each; no bits depend on
    it."""
    import multiprocessing

    if multiprocessing.parent_process() and not any(word.startswith("run.threads") for word in recipe.overrides):
        recipe = recipe._replace(overrides=(*recipe.overrides, "run.threads=1"))
    model = Model.__new__(Model)
    model._recipe, model._n_walkers = recipe, n_walkers
    model._begin(files)
    return model

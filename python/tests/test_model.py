# SPDX-License-Identifier: GPL-3.0-or-later
"""Likelihoods: shapes, priors, samplers, pickles, processes, threads, errors."""

import copy
import gc
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import shoal


@pytest.fixture(scope="module")
def model():
    return shoal.Model(shoal.config_path("hd_164922"))


def test_shapes_and_bits(model):
    assert model.n_parameters == len(model.names) == 13 and model.names[0] == "b.msini"
    assert model.n_data == 401
    theta = model.draw(7, seed=1)
    values = model(theta)
    assert values.shape == (7,) and np.isfinite(values).any()
    assert [float(model(one)) for one in theta] == values.tolist()
    assert np.ndim(model(theta[0])) == 0 and model(list(theta[0])) == values[0]
    assert (model(np.stack([theta, theta])) == values).all()
    assert (model(theta[::-1]) == values[::-1]).all() and (model(np.asfortranarray(theta)) == values).all()
    assert model(np.empty((0, 13))).shape == (0,)


def test_more_vectors_than_at_once(model):
    small = shoal.Model(shoal.config_path("hd_164922"), n_walkers=3)
    theta = model.draw(10, seed=2)
    assert (small(theta) == model(theta)).all()


def test_longitudes_that_jump():
    with pytest.warns(UserWarning, match="b may be prograde and retrograde"):
        shoal.Model(shoal.config_path("hr_7672"), overrides=['sample.parameters[7].parameter="l"'])


def test_priors(model):
    middle = model.prior_transform(np.full(13, 0.5))
    assert math.isclose(middle[0], 1e-3) and math.isclose(middle[1], 1201.1)
    outside = middle.copy()
    outside[0] = 1.0
    assert model.log_prior(outside) == -np.inf == model.log_prob(outside)
    assert model.log_prob(middle) == model.log_prior(middle) + model(middle)
    both = model.log_prob(np.stack([outside, middle]))
    assert both[0] == -np.inf and both[1] == model.log_prob(middle)


def test_predictions(model):
    theta = model.draw(5, seed=11)
    if not shoal._c.has("shoal_model_predict"):
        with pytest.raises(shoal.UnsupportedError):
            model.predict(theta)
        return
    values = model.predict(theta)
    assert values.shape == (5, model.n_data) and np.isfinite(values).all()
    assert (model.predict(theta[2]) == values[2]).all() and np.ptp(values, axis=1).min() > 0


def test_the_best_fit_of_trappist_1():
    """Agol et al. 2021 (arXiv:2010.01074): their planets meet their 447 times. omega there is that of the star."""
    path = Path(__file__).parents[3] / "shared" / "data" / "trappist-1_best_fit.txt"
    if not path.exists():
        pytest.skip("the best fit is not on this machine")
    best = dict(zip("bcdefgh", np.loadtxt(path, delimiter=",")[1:], strict=True))
    model = shoal.Model(shoal.config_path("trappist_1_times"))
    column = {"mass_ratio": 0, "P": 1, "T0": 2, "e_cos": 3, "e_sin": 4}
    sign = {"e_cos": -1, "e_sin": -1}
    words = [name.split(".") for name in model.names]
    theta = [sign.get(key, 1) * best[planet][column[key]] for planet, key in words]
    table = shoal.config_path("trappist_1_times").with_name("trappist_1_transit_times.csv").read_text()
    rows = [row.split(",") for row in table.splitlines() if row[1:2] == ","]
    rows.sort(key=lambda row: row[0])
    time, error = np.array([row[2:] for row in rows], dtype=float).T
    z = (model.predict(theta) - time) / error
    assert len(z) == 447 and np.isfinite(z).all()
    assert 0.55 < np.median(abs(z)) < 0.7 and abs(z.mean()) < 0.1 and 650 < (z**2).sum() < 710
    assert model(theta) == pytest.approx(2691.69, abs=0.1)


def test_arrays_of_a_gpu_are_copied(model):
    class OfCupy:
        def __init__(self, values):
            self.values, self.__cuda_array_interface__ = values, {}

        def get(self):
            return self.values

    theta = model.draw(3, seed=12)
    assert (model(OfCupy(theta)) == model(theta)).all()


def test_no_system_is_minus_infinity(model):
    theta = model.draw(2, seed=3)
    theta[0, 2] = 1.5  # h: e > 1
    assert model(theta)[0] == -np.inf and model(theta)[1] == model(theta[1])


def test_refusals_are_the_lines_of_the_library(tmp_path):
    with pytest.raises(shoal.InputError, match="13 parameters"):
        shoal.Model(shoal.config_path("hd_164922"))(np.zeros(12))
    with pytest.raises(shoal.FileError, match="nowhere"):
        shoal.Model(tmp_path / "nowhere.cfg")
    with pytest.raises(shoal.InputError, match=r"run\.t_ned.*t_end"):
        shoal.Model(shoal.config_path("hd_164922"), {"run.t_ned": 1.0})
    with pytest.raises(ValueError, match="data"):
        shoal.Model(shoal.config_path("outer_planets"))


def test_config_of_a_dictionary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rv.txt").write_text("time velocity error\n0 1 2\n10 -3 2\n17.5 4 2\n")
    config = {
        "units": {"length": "AU", "mass": "Msun", "time": "d"},
        "system": {
            "bodies": [{"name": "star", "m": 1}, {"name": "b", "m": 1e-3, "P": np.float64(30), "e": 0.1, "T0": 3.0}]
        },
        "sample": {
            "parameters": ({"body": "b", "parameter": "P", "distribution": "normal", "mean": 30.0, "sigma": 1.0},)
        },
        "data": [{"name": "k", "kind": "velocity", "file": "rv.txt", "columns": ["time", "velocity", "error"]}],
        "integrator": {"name": "mvs", "dt": 1.0},
        "run": {"t_end": 20.0, "threads": 1},
    }
    model = shoal.Model(config)
    assert model.names == ["b.P"] and model.n_data == 3
    if shoal._c.has("shoal_model_predict"):
        off = (np.array([1.0, -3.0, 4.0]) - model.predict([30.0])) / 2
        assert math.isclose(model([30.0]), -(off @ off) / 2 - 1.5 * math.log(8 * math.pi), rel_tol=1e-12)
    monkeypatch.chdir("/")  # the data are read again, from where they were
    assert pickle.loads(pickle.dumps(model))([30.0]) == model([30.0])


def test_pickles_know_their_data(tmp_path):
    """A model that is copied is of the data that it was made with, or it is refused."""

    def write(value):
        (tmp_path / "rv.txt").write_text(f"time rv err\n1 {value} 2\n5 -3 2\n9 4 2\n")

    config = {
        "system": {"bodies": [{"name": "star", "m": 1.0}, {"name": "b", "m": 1e-3, "a": 1.0}]},
        "integrator": {"name": "mvs", "dt": 0.02},
        "run": {"t_end": 1.0, "engine": "cpu", "threads": 1},
        "sample": {"parameters": [{"body": "b", "parameter": "M", "distribution": "uniform", "from": 0.0, "to": 6.0}]},
        "data": [{"name": "k", "kind": "velocity", "file": str(tmp_path / "rv.txt"), "columns": ["time", "rv", "err"]}],
    }
    write(1)
    old = shoal.Model(config)
    kept, value = pickle.dumps(old), old([1.0])
    assert pickle.loads(kept)([1.0]) == value
    write(50)
    new = shoal.Model(config)
    assert new([1.0]) != value
    assert pickle.loads(pickle.dumps(new))([1.0]) == new([1.0])
    shoal.model._begun.cache_clear()  # as in another process
    with pytest.raises(shoal.InputError, match="have changed"):
        pickle.loads(kept)
    write(1)
    assert pickle.loads(kept)([1.0]) == value


def test_pickle(model):
    theta = model.draw(5, seed=4)
    again = pickle.loads(pickle.dumps(model))
    assert (again(theta) == model(theta)).all() and again.names == model.names
    assert pickle.loads(pickle.dumps(model))._handle is again._handle  # made once a process
    given = np.linspace(1, 2, model.n_parameters)
    again.scales = given
    copies = [copy.copy(again), copy.deepcopy(again), pickle.loads(pickle.dumps(again))]
    copies[0].scales = 9 * given
    for other in (again, *copies[1:], copy.copy(again)):
        assert other.scales is not None and (other.scales == given).all()
    assert (copies[0].scales == 9 * given).all()
    assert len(pickle.dumps(model)) < 10000


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools(model, method):
    theta = model.draw(6, seed=5)
    expected = model.log_prob(theta)  # the library has threads now
    with multiprocessing.get_context(method).Pool(2) as pool:
        values = pool.map_async(model.log_prob, list(theta)).get(timeout=60)
    assert values == expected.tolist()


_inherited: list = []


def _use_inherited(theta):
    return float(_inherited[0](theta))


def test_a_forked_child_uses_what_it_inherits(model):
    theta = model.draw(40, seed=6)
    expected = model(theta)
    _inherited[:] = [model]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_use_inherited, list(theta)).get(timeout=60) == expected.tolist()


def test_fork_while_another_thread_evaluates(model):
    busy = shoal.Model(shoal.config_path("hd_164922"))
    theta = np.tile(model.draw(1, seed=7), (20000, 1))
    expected = busy(theta[0])
    worker = threading.Thread(target=busy, args=(theta,))
    worker.start()
    while not busy._context.lock.locked() and worker.is_alive():
        pass
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if busy(theta[0]) == expected else 1)
        finally:
            os._exit(2)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    worker.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_threads_share_a_model(model):
    theta = model.draw(50, seed=8)
    expected = model(theta)
    answers: list = [None] * 4

    def work(i):
        answers[i] = all((model(theta) == expected).all() for _ in range(5))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 4


def test_many_vectors_are_one_call(model, calls_of):
    """What Python adds to the C function does not grow with the number of vectors."""
    few, many = model.draw(2, seed=9), model.draw(2000, seed=9)
    model.log_prior(few)
    n = calls_of(lambda: model.log_prior(few))
    assert 0 < n < 60
    assert calls_of(lambda: model.log_prior(many)) == n
    assert model._context.stale is False


def test_emcee(model):
    emcee = pytest.importorskip("emcee")
    sampler = emcee.EnsembleSampler(26, 13, model.log_prob, vectorize=True)
    start = model.draw(26, seed=10)
    sampler.run_mcmc(start, 5)
    assert (sampler.get_log_prob()[-1] >= model.log_prob(start) - 1e9).all()
    assert math.isclose(sampler.get_log_prob()[-1][0], model.log_prob(sampler.get_chain()[-1][0]))


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.mark.parametrize("name", ["log_likelihood", "log_prior", "log_prob"])
def test_jax(model, jax, name):
    theta = model.draw(6, seed=13)
    theta[2, 0] = 1.0  # outside
    method = getattr(model, name)
    expected, function, there = method(theta), model.jax(method), jax.numpy.asarray(theta)
    for values in (
        method(there),
        jax.jit(jax.vmap(function))(there),
        jax.vmap(jax.vmap(method))(there.reshape(2, 3, -1)).ravel(),
        jax.lax.map(function, there),
    ):
        assert isinstance(values, jax.Array) and (np.asarray(values) == expected).all()
    assert float(jax.jit(method)(there[3])) == expected[3]
    single = theta.astype(np.float32)
    values = jax.vmap(function)(single)
    assert values.dtype == np.float32 and (np.asarray(values) == method(single).astype(np.float32)).all()
    # a call without Python's arrays, unless numbers are too short, or those of a prior are on a GPU
    text, short = (jax.jit(function).lower(of).as_text() for of in (there, single))
    on_cpu = jax.default_backend() == "cpu"
    assert "callback" in short and "shoal_model" not in short
    assert ("callback" in text) is (not on_cpu and name != "log_likelihood")
    assert ("shoal_model" in text) is (on_cpu or name != "log_prior")


def test_what_jax_is_refused(model, jax):
    theta = jax.numpy.asarray(model.draw(2, seed=14))
    with pytest.raises(shoal.InputError, match="13 parameters"):
        jax.vmap(model.jax())(theta[:, :12])
    with pytest.raises(shoal.InputError, match="predict: expected log_prob"):
        model.jax(model.predict)
    gone = shoal.Model(shoal.config_path("hd_164922"))
    compiled = jax.jit(gone.jax(gone.log_likelihood)).lower(theta).compile()
    assert (np.asarray(compiled(theta)) == model(np.asarray(theta))).all()
    del gone
    gc.collect()
    with pytest.raises(Exception, match="the model of this function is no more"):
        compiled(theta).block_until_ready()


def test_blackjax(model, jax):
    blackjax = pytest.importorskip("blackjax")
    kernel = blackjax.additive_step_random_walk(
        model.log_prob, lambda key, x: 1e-3 * x * jax.random.normal(key, x.shape)
    )
    states = jax.vmap(kernel.init)(jax.numpy.asarray(model.draw(8, seed=15)))

    def step(states, key):
        states = jax.vmap(lambda key, state: kernel.step(key, state)[0])(jax.random.split(key, 8), states)
        return states, states

    _, chain = jax.lax.scan(step, states, jax.random.split(jax.random.key(1), 5))
    assert (np.asarray(chain.logdensity) == model.log_prob(np.asarray(chain.position))).all()
    assert len(np.unique(chain.logdensity)) > 8


def test_numpyro(model, jax):
    numpyro = pytest.importorskip("numpyro")
    low, high = model.prior_transform(np.full(13, 0.01)), model.prior_transform(np.full(13, 0.99))

    def posterior():
        unit = numpyro.sample("unit", numpyro.distributions.Uniform(0, 1).expand([13]).to_event(1))
        numpyro.factor("data", numpyro.deterministic("lnl", model(low + (high - low) * unit)))

    kernel = numpyro.infer.AIES(posterior)
    run = numpyro.infer.MCMC(
        kernel, num_warmup=2, num_samples=5, num_chains=28, chain_method="vectorized", progress_bar=False
    )
    run.run(jax.random.key(0))
    samples = run.get_samples()
    assert np.allclose(samples["lnl"], model(low + (high - low) * np.asarray(samples["unit"])), rtol=1e-9)


# What `shoal fit` finds, and the standard deviations of its draws.
PUBLISHED = {"b.P": (1199.4, 4.2), "b.k": (-0.079, 0.028), "c.P": (75.737, 0.045), "hires_j.jitter": (2.93, 0.15)}


@pytest.fixture(scope="module")
def begun():
    """A model in normal numbers, and a place near its optimum."""
    model = shoal.Model(shoal.config_path("hd_164922"))
    z = model.normal
    z.scales = z.find_scales(model.to_normal(model.prior_transform(np.full(13, 0.5))))
    return z, model.prior_transform(np.full(13, 0.5))


def agree(draws):
    """Means of a short chain: within half of a standard deviation and the like."""
    for name, (mean, sigma) in PUBLISHED.items():
        values = np.asarray(draws[name])
        assert abs(values.mean() - mean) < 1.0 * sigma and 0.4 * sigma < values.std() < 2.5 * sigma, name


def test_gradients(model):
    start = model.prior_transform(np.full(13, 0.5))
    scales = model.find_scales(start)
    with pytest.raises(shoal.InputError, match="13 numbers > 0"):
        model.scales = scales[:12]
    theta = np.stack([start, start + 0.3 * scales, start - 0.2 * scales, start])
    theta[3, 0] = 1.0  # outside
    model.scales = scales
    for method in (model.log_prob, model.log_likelihood):
        gradient = model.gradient(theta, method)
        assert gradient.shape == (4, 13) and np.isnan(gradient[3]).all() == (method == model.log_prob)
        assert (model.gradient(theta[1], method) == gradient[1]).all()
        for i in range(13):  # by other steps
            moved = theta[:3, None, :] + np.array([-2, -1, 1, 2])[:, None] * 0.05 * scales * np.eye(13)[i]
            values = method(moved)
            slope = values @ np.array([1, -8, 8, -1]) / (12 * 0.05 * scales[i])
            assert (np.abs(gradient[:3, i] - slope) * scales[i] < 2e-3).all()
    again = pickle.loads(pickle.dumps(model))
    other = pickle.loads(pickle.dumps(model.normal))
    assert other.scales is None and other.names == model.names
    model.scales = 2 * scales  # what is unpickled shares nothing with what has other scales
    assert (pickle.loads(pickle.dumps(model)).scales == 2 * scales).all()
    model.scales = scales
    assert (again.scales == scales).all() and (again.gradient(theta[1]) == model.gradient(theta[1])).all()
    model.scales = None


def test_normal_numbers(begun):
    z, start = begun
    model, there = z.model, z.model.to_normal(start)
    assert np.allclose(there, 0, atol=1e-9) and np.allclose(model.from_normal(there), start, rtol=1e-12)
    assert z.n_parameters == 13 and z.names == model.names and z(there) == model(model.from_normal(there))
    assert math.isclose(z.log_prior(there + 1), -6.5 - 6.5 * math.log(2 * math.pi))
    assert math.isclose(z.log_prob(there), z(there) + z.log_prior(there))
    assert np.isnan(model.to_normal(start + np.eye(13)[0])).tolist() == [True] + [False] * 12
    assert z.gradient(np.stack([there, there]), z.log_prior).tolist() == np.stack([-there, -there]).tolist()


def test_jax_gradients(begun, jax):
    z, _ = begun
    there = jax.numpy.asarray(0.1 * np.arange(26).reshape(2, 13) - 1)
    for method in (z.log_prob, z.log_likelihood, z.log_prior):
        gradient = jax.jit(jax.vmap(jax.grad(z.jax(method))))(there)
        assert (np.asarray(gradient) == z.gradient(there, method)).all()
    value, moved = jax.jvp(z.jax(), (there[0],), (jax.numpy.ones(13),))
    assert np.isclose(float(moved), z.gradient(there[0]).sum()) and np.isclose(float(value), z.log_prob(there[0]))


def test_numpyro_nuts(begun, jax):
    numpyro = pytest.importorskip("numpyro")
    z, start = begun
    potential = z.jax()
    kernel = numpyro.infer.NUTS(
        potential_fn=lambda at: -potential(at), inverse_mass_matrix=jax.numpy.asarray(z.scales**2), max_tree_depth=5
    )
    run = numpyro.infer.MCMC(
        kernel, num_warmup=60, num_samples=25, num_chains=8, chain_method="vectorized", progress_bar=False
    )
    begin = z.model.to_normal(start) + 0.5 * z.scales * np.random.default_rng(3).standard_normal((8, 13))
    run.run(jax.random.key(1), init_params=jax.numpy.asarray(begin))
    agree(dict(zip(z.names, z.model.from_normal(run.get_samples()).T, strict=True)))


def test_nutpie(begun):
    nutpie = pytest.importorskip("nutpie")
    z, start = begun
    trace = nutpie.sample(z.nutpie(start), draws=60, tune=150, chains=2, seed=1, progress_bar=False)
    agree(trace.posterior)
    with pytest.raises(shoal.InputError, match=r"b\.msini of start is outside"):
        z.nutpie(start + np.eye(13)[0])


def test_torch(model):
    torch = pytest.importorskip("torch")
    theta = model.draw(5, seed=16)
    there = torch.as_tensor(theta)
    for name in ("log_likelihood", "log_prior", "log_prob"):
        values = getattr(model, name)(there)
        assert isinstance(values, torch.Tensor) and (values.numpy() == getattr(model, name)(theta)).all()
    with pytest.raises(shoal.UnsupportedError, match=r"theta\.detach"):
        model(there.requires_grad_())


def test_dynesty(model):
    dynesty = pytest.importorskip("dynesty")
    sampler = dynesty.NestedSampler(model, model.prior_transform, model.n_parameters, nlive=30)
    sampler.run_nested(maxiter=20, print_progress=False)
    assert np.isfinite(sampler.results.logl).all()


def test_ultranest(model):
    ultranest = pytest.importorskip("ultranest")
    sampler = ultranest.ReactiveNestedSampler(model.names, model, model.prior_transform, vectorized=True)
    found = sampler.run(max_iters=50, min_num_live_points=40, show_status=False, viz_callback=False)
    assert found["ncall"] >= 40


def test_reddemcee(model):
    reddemcee = pytest.importorskip("reddemcee")
    sampler = reddemcee.PTSampler(28, 13, model, model.log_prior, ntemps=2)
    sampler.run_mcmc(np.stack([model.draw(28, seed=i) for i in (17, 18)]), nsteps=2, nsweeps=1)


def test_the_program_is_a_module():
    said = subprocess.run([sys.executable, "-m", "shoal", "--version"], capture_output=True, text=True, check=True)
    assert shoal.__version__ in said.stdout


def test_import_is_light_and_needs_no_compiler():
    code = "import sys; import shoal; print(*(name.partition('.')[0] for name in sys.modules))"
    environment = {**os.environ, "PATH": "/nowhere"}
    loaded = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True)
    heavy = {"astropy", "h5py", "jax", "matplotlib", "pandas", "rebound", "scipy"}
    assert "shoal" in loaded.stdout.split() and not heavy & set(loaded.stdout.split())

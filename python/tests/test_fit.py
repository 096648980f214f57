# SPDX-License-Identifier: GPL-3.0-or-later
"""Posteriors by `shoal fit`."""

import subprocess

import numpy as np
import pytest

import shoal

pytestmark = pytest.mark.skipif(
    subprocess.run([shoal._c.program(), "fit", "--help"], capture_output=True).returncode != 0,
    reason="this program has no fit",
)


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    t = 2.7 * np.arange(40) + 0.3 * np.sin(np.arange(40))
    velocity = 30 * np.sin(2 * np.pi * t / 20 + 0.4) + 3 * np.random.default_rng(1).normal(size=40)
    np.savetxt("rv.txt", np.stack([t, velocity, np.full(40, 3.0)], axis=-1), header="time rv err", comments="")
    priors = [("msini", "log_uniform", 1e-5, 1e-2), ("P", "uniform", 15.0, 25.0), ("M", "uniform", 0.0, 360.0)]
    parameters = [
        {"body": "b", "parameter": name, "distribution": kind, "from": low, "to": high}
        for name, kind, low, high in priors
    ]
    planet = {"name": "b", "e": 0.0, "omega": 0.0, "inc": 90.0}
    data = {"name": "one", "kind": "velocity", "file": "rv.txt", "columns": ["time", "rv", "err"], "marginal": True}
    return {
        "angles": "degrees",
        "units": {"length": "AU", "mass": "Msun", "time": "d"},
        "system": {"bodies": [{"name": "star", "m": 1.0}, planet]},
        "sample": {"count": 4, "parameters": parameters},
        "data": [data],
        "integrator": {"name": "mvs", "dt": 1.0},
        "run": {"t_end": 1.0},
        "fit": {"walkers": 20, "ess": 100.0},
    }


def test_a_fit(config, tmp_path):
    found = shoal.fit(config)
    assert found.precise and found.path == str(tmp_path / "fit.h5") and "b.P" in found.summary
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fit.h5", "rv.txt"]
    assert found.step_error is not None and found.step_error < 1e-3
    with pytest.raises(shoal.InputError, match="is there already"):
        shoal.fit(config)
    assert not shoal.fit(config, {"fit.steps": 20}, overwrite=True).precise
    with pytest.raises(shoal.InputError, match="walkers=2: expected an integer from 8"):
        shoal.fit(config, {"fit.walkers": 2}, overwrite=True, progress=True)
    with pytest.raises(shoal.Error, match=r"fit\.walker"):
        shoal.fit(config, {"fit.walker": 20})


def test_an_optimum_has_no_draws(config):
    found = shoal.fit(config, {"fit.method": "optimise"})
    assert found.precise and found.path is None and "optimum" in found.summary
    model = shoal.Model(config)
    assert found.optimum is not None and list(found.optimum) == model.names
    best = [found.optimum[name][0] for name in model.names]
    assert (np.abs(model.gradient(best)) * [found.optimum[name][1] for name in model.names] < 0.2).all()
    assert found.step_error is not None and found.step_error < 1e-3
    with pytest.warns(UserWarning, match=r"half the step moves parameters by .* sigma: expected a shorter step"):
        coarse = shoal.fit(config, {"fit.method": "optimise", "integrator.name": "leapfrog"})
    assert coarse.step_error is not None and coarse.step_error > 0.1
    config["system"]["bodies"][1]["name"] = "ln b [é]"
    for parameter in config["sample"]["parameters"]:
        parameter["body"] = "ln b [é]"
    spaced = shoal.fit(config, {"fit.method": "optimise"}).optimum
    assert spaced == {name.replace("b.", "ln b [é]."): value for name, value in found.optimum.items()}
    with pytest.raises(shoal.InputError, match="has no draws"):
        found.arviz()


def test_it_is_a_tree_of_xarray(config):
    """What ArviZ 1.x makes of it: its from_netcdf is xarray's open_datatree."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    with xarray.open_datatree(shoal.fit(config).path, engine="h5netcdf") as tree:
        assert abs(float(tree["posterior"]["b.P"].median()) - 20) < 0.5
        assert set(tree["posterior"].dims) == {"chain", "draw"} and "lp" in tree["sample_stats"]


def test_arviz_opens_it(config):
    pytest.importorskip("arviz")
    posterior = shoal.fit(config).arviz()
    assert abs(float(posterior["posterior"]["b.P"].median()) - 20) < 0.5

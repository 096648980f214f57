# SPDX-License-Identifier: GPL-3.0-or-later
"""Studies of configs and dictionaries, and their files."""

import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import shoal


@pytest.fixture
def config(tmp_path):
    planet = {"name": "c", "m": 1e-5, "a": 1.5, "e": 0.05}
    return {
        "units": {"length": "AU", "mass": "Msun", "time": "yr"},
        "system": {"bodies": [{"name": "star", "m": 1.0}, {"name": "b", "m": 1e-5, "a": 1.0}, planet]},
        "sweep": [
            {"body": "c", "parameter": "e", "from": 0.0, "to": 0.2, "count": 3},
            {"body": "c", "parameter": "a", "from": 1.3, "to": 1.6, "count": 4},
        ],
        "integrator": {"name": "mvs", "steps_per_orbit": 20.0},
        "monitors": [{"name": "megno"}],
        "run": {"t_end": 50.0},
        "output": {"file": str(tmp_path / "map.h5"), "interval": 10.0},
    }


def test_a_sweep(config):
    study = shoal.Study(config)
    assert study.output == config["output"]["file"]
    result = study.run()
    assert result.complete and len(result) == 12 and result.names == ["star", "b", "c"]
    assert result.units == "AU, Msun, yr" and "t_end" in result.config
    assert list(result.sweep) == ["c.e", "c.a"] and np.allclose(result.sweep["c.a"], [1.3, 1.4, 1.5, 1.6])
    megno = result.map("megno")
    assert megno.values.shape == (3, 4) and (np.asarray(megno).ravel() == result["megno"]).all()
    assert (result.outcome == "survived").all()
    assert len(result.times) == 6 and result.states(20.0).shape == (12, 3, 7)
    assert np.shares_memory(result.states(10.0), result.states(20.0)) or result.states(10.0).base is not None
    assert np.isfinite(result.states()).all() and not (result.states("initial") == result.states()).all()
    with pytest.raises(shoal.InputError, match=r"did you mean 'megno'"):
        result["mengo"]
    with pytest.raises(shoal.InputError, match="exists"):
        study.run()
    again = study.run(overwrite=True)
    assert (again.states() == result.states()).all()
    assert pickle.loads(pickle.dumps(study)).output == study.output


def test_a_study_warns_before_it_runs(config):
    config["system"]["bodies"][2]["e"] = 0.95
    config["sweep"] = config["sweep"][1:]
    study = shoal.Study(config)
    with pytest.warns(UserWarning, match="4 of 4 systems have steps that do not resolve.*worst for 'c'") as told:
        study.run()
    assert len(told) == 1 and told[0].filename == __file__


def test_a_result_is_extended_with_the_same_bits(config, tmp_path):
    whole = shoal.Study(config, {"run.t_end": 100.0, "output.file": str(tmp_path / "whole.h5")}).run()
    result = shoal.Study(config).run()
    first = result.states()
    with pytest.raises(shoal.InputError, match="--output"):
        result.extend(100, where="system < 3")
    with pytest.raises(shoal.InputError, match="25"):
        result.extend(25.0)
    some = result.extend(100, where="system < 3", output=tmp_path / "some.h5", overrides={"run.threads": 1})
    assert len(some) == 3 and (some.states() == whole.states()[:3]).all()
    later = result.extend(100.0)
    assert later.path == result.path and later.complete and (later.times == whole.times).all()
    assert (later.states() == whole.states()).all() and (later["megno"] == whole["megno"]).all()
    assert (result.states() == first).all() and not (later.states() == first).all()
    with pytest.raises(shoal.InputError, match="another file than the one that was opened"):
        result.extend(200.0)


def test_pictures_tables_and_datasets(config):
    result = shoal.Study(config).run()
    pd = pytest.importorskip("pandas")
    assert isinstance(result.table, pd.DataFrame) and result.table["c.a"].iloc[1] == result.sweep["c.a"][1]
    pytest.importorskip("xarray")
    data = result.xarray()
    assert data.megno.dims == ("c.e", "c.a") and data.states.shape == (6, 3, 4, 3, 7)
    assert data.t_stop.attrs["units"] == "yr"
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    figure = result.map("megno").plot(vmin=1.5, vmax=2.5)
    assert figure.axes[0].get_xlabel() == "c.a [AU]" and len(figure.axes) == 2


def test_pictures_show_what_ended_and_odd_axes(config):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    config["sweep"] = [
        {"body": "c", "parameter": "e", "values": [0.0, 0.3, 0.05]},
        {"body": "c", "parameter": "a", "from": 1.05, "to": 40.0, "count": 4, "scale": "log"},
    ]
    config["monitors"].append({"name": "stop_on_encounter"})
    result = shoal.Study(config).run()
    shown = result.map("megno")
    assert (shown.ended.ravel() == (result.outcome != "survived")).all() and 0 < shown.ended.sum() < 12
    assert not result.map("t_stop").ended.any()
    axes = shown.plot().axes[0]
    values, over = (mesh.get_array() for mesh in axes.collections)
    order = [0, 2, 1]  # of the eccentricities
    assert (np.ma.getmaskarray(values) == shown.ended[order]).all()
    assert (np.ma.getmaskarray(over) == ~shown.ended[order]).all()
    assert axes.get_xscale() == "log" and axes.get_yscale() == "linear"
    edges = axes.collections[0].get_coordinates()
    assert np.allclose(edges[0, 1:-1, 0] ** 2, result.sweep["c.a"][:-1] * result.sweep["c.a"][1:])
    assert np.allclose(edges[:, 0, 1], [-0.025, 0.025, 0.175, 0.425])
    assert not np.ma.getmaskarray(shown.plot(ended=None).axes[0].collections[0].get_array()).any()
    config["sweep"] = config["sweep"][1:]
    line = shoal.Study(config, {"output.file": config["output"]["file"] + "2"}).run().map("megno")
    drawn = line.plot().axes[0].lines
    assert (np.isnan(drawn[0].get_ydata()) == line.ended).all() and len(drawn[1].get_xdata()) == line.ended.sum()


def test_the_same_systems_in_arrays(config):
    """A study and `integrate` of its first states are the same run."""
    config["integrator"] = {"name": "mvs", "dt": 0.05}
    result = shoal.Study(config).run()
    ens = shoal.Ensemble.from_states(result.states("initial"), units="AU, Msun, yr")
    arrays = shoal.integrate(ens, 50.0, dt=0.05, monitors="megno")
    assert np.allclose(arrays.states(), result.states(), rtol=1e-8, atol=1e-9)
    assert np.allclose(arrays["megno"], result["megno"], rtol=1e-5)


def test_radii_of_a_file(config, tmp_path):
    """Of its states, at each time: those of `integrate`; a copy that `shoal convert` made of it has them, too."""
    del config["sweep"][0], config["system"]["bodies"][2]["e"]
    config["sweep"][0].update({"from": 1.02, "to": 1.6})
    for body, r in zip(config["system"]["bodies"], (0.005, 0.01, 0.02), strict=True):
        body["r"] = r
    config["monitors"] = [{"name": "stop_on_collision", "action": "merge"}]
    config["integrator"] = {"name": "hybrid", "dt": 0.02}
    config["output"]["interval"] = 25.0
    result = shoal.Study(config).run()
    merged = np.cbrt(0.01**3 + 0.02**3)
    assert (result.radii("initial") == [0.005, 0.01, 0.02]).all()
    assert np.asarray(result.events["ended"]).dtype == bool and not np.any(result.events["ended"])
    collided = np.isnan(result.states()[:, 2, 1])
    assert collided.any() and not collided.all()
    assert np.allclose(result.radii()[collided][:, :2], [0.005, merged], rtol=1e-15)
    assert np.isnan(result.radii()[collided][:, 2]).all()
    assert (result.radii()[~collided] == [0.005, 0.01, 0.02]).all()
    states = result.states("initial")
    ens = shoal.Ensemble.from_states(states, r=result.radii("initial"), units=result.units)
    monitors = config["monitors"]
    arrays = shoal.integrate(ens, 50.0, "hybrid", dt=0.02, times=result.times, monitors=monitors)
    for t in ("initial", 0.0, 25.0, "final"):
        assert np.allclose(arrays.radii(t), result.radii(t), rtol=1e-15, equal_nan=True)
    assert np.allclose(result.radii(50.0), result.radii(), rtol=1e-15, equal_nan=True)
    copy = str(tmp_path / "copy.h5")
    command = [shoal._c.program(), "convert", "--where", "n_final == 2", result.path, copy]
    subprocess.run(command, check=True, capture_output=True)
    assert np.allclose(shoal.open(copy).radii(), [0.005, merged, np.nan], equal_nan=True)
    if importlib.util.find_spec("rebound"):
        assert result.to_rebound(len(result) - 1).particles[2].r == 0.02


@pytest.mark.parametrize(
    ("units", "written"),
    [
        ({"length": "AU", "mass": "Msun", "G": 39.478}, "AU, Msun, G = 39.478"),
        ({"length": "AU", "mass": "Msun", "time": "yr", "G": 39.478}, "AU, Msun, yr, G = 39.478"),
        ({"length": "AU", "mass": "Msun", "G": 1.0}, "AU, Msun, yr/2pi"),
        ({"length": "pc", "mass": "Mjup", "time": "Myr"}, "pc, Mjup, Myr"),
    ],
)
def test_a_system_goes_on_in_its_units(config, units, written):
    config.update({"units": units, "integrator": {"name": "gauss_radau", "steps_per_orbit": 20.0}})
    del config["sweep"], config["output"]["interval"]
    config["run"] = {"orbits": 2.0}
    result = shoal.Study(config).run()
    assert result.units == written
    ens = shoal.Ensemble.from_states(result.states(), r=result.radii(), units=result.units)
    assert result._G() == ens.G and np.allclose(ens.elements()[0, 1:, 1], [1, 1.5], rtol=1e-3)
    assert shoal.integrate(ens, 0.0, dt=0.1).units == written


def test_a_shard_is_no_grid(config, tmp_path):
    shards = [shoal.Study(config, {"run.shard": f"{i}/3"}).run() for i in (1, 2, 3)]
    whole, part = str(tmp_path / "whole.h5"), str(tmp_path / "part.h5")
    merge = [shoal._c.program(), "merge"]
    subprocess.run([*merge, whole, *(shard.path for shard in shards)], check=True, capture_output=True)
    subprocess.run([*merge, "--partial", part, *(shard.path for shard in shards[:2])], check=True, capture_output=True)
    assert shoal.open(whole).map("megno").values.shape == (3, 4)
    for result in (shards[1], shoal.open(part)):
        assert result.sweep == {} and len(result["c.e"]) == result.n_systems
        with pytest.raises(shoal.InputError, match=r"there is no grid: .* a part of its systems"):
            result.map("megno")
        if importlib.util.find_spec("xarray"):
            assert result.xarray().sizes["system"] == result.n_systems


def test_one_big_system_is_for_the_program(tmp_path):
    config = {
        "model": {"name": "plummer", "n": 64},
        "integrator": {"name": "hermite4_block"},
        "run": {"t_end": 0.1},
        "output": {"file": str(tmp_path / "big.h5")},
    }
    with pytest.raises(shoal.UnsupportedError, match=r"one big system.*shoal run"):
        shoal.Study(config).run()
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_none(tmp_path):
    with pytest.raises(shoal.FileError, match=r"nothing\.h5"):
        shoal.open(tmp_path / "nothing.h5")
    (tmp_path / "text.h5").write_text("no result\n")
    with pytest.raises(shoal.Error, match=r"text\.h5"):
        shoal.open(tmp_path / "text.h5")
    with pytest.raises(shoal.InputError, match=r"run\.t_ned"):
        shoal.Study({"run": {"t_ned": 1.0}})


def test_a_log(config):
    config["system"]["bodies"][1]["inc"] = 1.5707963
    del config["sweep"]
    config["monitors"] = [{"name": "transits"}]
    config["run"]["t_end"] = 5.0
    result = shoal.Study(config).run()
    assert result.logs == ["transits"] and result.sweep == {}
    log = result.log("transits")
    assert len(log["time"]) == 5 and set(log["body"]) == {1}
    with pytest.raises(shoal.InputError, match="no grid"):
        result.map("steps")


def test_open_while_it_runs_and_ctrl_c(config):
    """Another process runs for ever: its journal is read, Ctrl-C ends it, and what there is stays."""
    config["run"]["t_end"] = 1e9
    del config["output"]["interval"]
    path = config["output"]["file"]
    code = textwrap.dedent(f"""
        import shoal
        try:
            shoal.Study({config!r}, {{"run.threads": 1, "run.checkpoint_s": 0.2}}).run()
        except shoal.InterruptedRun as error:
            assert not error.result.complete and len(error.result) == 12
            print("kept", error)
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        until = time.monotonic() + 60
        live = None
        while live is None and time.monotonic() < until and child.poll() is None:
            time.sleep(0.1)
            try:
                live = shoal.open(path)
            except shoal.Error:
                continue
        assert live is not None and not live.complete and (live.outcome == "running").all()
        assert (live.states("initial")[:, 0, 0] == 1.0).all()
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[0]
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0 and said.startswith("kept")
    assert not shoal.open(path).complete

# SPDX-License-Identifier: GPL-3.0-or-later
"""Ensembles of arrays, runs of them, what comes out; REBOUND both ways."""

import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

import shoal


def two_planets(n=8, **more):
    a = np.stack([np.ones(n), np.linspace(1.2, 1.6, n)], axis=-1)
    given = {"m": [1, 1e-5, 2e-5], "a": a, "e": 0.02, "l": [0.0, 2.0], "names": ["star", "b", "c"]}
    return shoal.Ensemble.from_elements(**{**given, **more})


def test_elements_come_back():
    rng = np.random.default_rng(1)
    a, e, angles = 1 + rng.random((5, 2)) * [1, 3], rng.random((5, 2)) / 3, rng.random((4, 5, 2)) * [[[3.0]]]
    inc, big, small, f = angles / 3
    for frame in ("jacobi", "astrocentric", "barycentric"):
        ens = shoal.Ensemble.from_elements(
            m=[1, 1e-3, 3e-4], a=a, e=e, inc=inc, Omega=big, omega=small, f=f, frame=frame
        )
        assert ens.shape == (5,) and len(ens) == 5 and ens.n_invalid == 0
        found = ens.elements(frame)
        assert np.isnan(found[:, 0, 1:]).all() and (found[:, :, 0] == [1, 1e-3, 3e-4]).all()
        for k, expected in enumerate((a, e, inc, big, small, f), 1):
            assert np.allclose(found[:, 1:, k], expected, rtol=1e-10, atol=1e-10)


CIRCLE = ("e", "inc", "Omega", "h", "k", "ix", "iy")


def test_names_of_elements_are_those_of_rebound():
    rebound = pytest.importorskip("rebound")
    ways = [
        {"a": 1.3, "e": 0.2, "inc": 0.3, "Omega": 0.4, "omega": 0.5, "f": 0.6},
        {"P": 9.0, "e": 0.2, "inc": 0.3, "Omega": 0.4, "pomega": 0.5, "M": 0.6},
        {"P": 9.0, "e": 0.2, "inc": 2.9, "Omega": 0.4, "pomega": 0.5, "l": 0.6},
        {"a": 1.3, "e": 0.2, "inc": 2.9, "Omega": 0.4, "omega": 0.5, "theta": 0.6},
        {"a": 1.3, "e": 0.2, "inc": 0.3, "Omega": 0.4, "pomega": 0.5, "theta": 0.6},
        {"a": 1.3, "e": 0.2, "T": 2.0},
        {"a": -1.3, "e": 1.4, "M": 0.7},
        {"a": 1.3, "e": 0.2, "inc": 0.3, "Omega": 0.4, "omega": 0.5, "E": 0.6},
        {"a": -1.3, "e": 1.4, "E": 0.7},
        {"a": 1.3, "h": 0.1, "k": -0.15, "ix": 0.2, "iy": -0.3, "l": 0.6},
    ]
    for way in ways:
        sim = rebound.Simulation()
        sim.add(m=1.0)
        sim.add(m=1e-3, a=0.3)
        sim.add(m=1e-3, **way)
        sim.move_to_com()
        given = {key: np.array([0.0 if key in CIRCLE else value, value]) for key, value in way.items()}
        given.pop("P", None)
        size = sim.particles[2].a
        ens = shoal.Ensemble.from_elements(m=[1, 1e-3, 1e-3], **{**given, "a": np.array([0.3, size])})
        expected = [getattr(sim.particles[2], name) for name in ("x", "y", "z", "vx", "vy", "vz")]
        assert np.allclose(ens.states[0, 2, 1:], expected, atol=1e-12), way
    for wrong in ({"h": 0.1, "e": 0.1}, {"ix": 0.1, "Omega": 0.1}, {"E": 0.1, "M": 0.1}):
        with pytest.raises(shoal.InputError, match="expected one of"):
            shoal.Ensemble.from_elements(m=[1, 1e-3], a=1.0, **wrong)
    period = shoal.Ensemble.from_elements(m=[1, 1e-3], P=9.0, units="AU, Msun, yr")
    assert math.isclose(period.elements()[0, 1, 1], (1.001 * 81 * period.G / (4 * math.pi**2)) ** (1 / 3))


def test_units():
    days = two_planets(units="AU, Msun, d", r=[0.005, 0, 0])
    plain = two_planets()
    day = shoal._units.Units("AU, Msun, d").time
    assert np.allclose(days.states[..., 1:4], plain.states[..., 1:4], rtol=1e-15)
    assert np.allclose(days.states[..., 4:], plain.states[..., 4:] * day, rtol=1e-14)
    degrees = two_planets(l=np.degrees([0.0, 2.0]), angles="degrees")
    assert np.allclose(degrees.states, plain.states, rtol=1e-14)
    one = shoal.integrate(days, 100.0, dt=1.0, monitors="closest_approach")
    two = shoal.integrate(plain, 100 * day, dt=day, monitors="closest_approach")
    assert np.allclose(one["min_separation_time"] * day, two["min_separation_time"], rtol=1e-9)
    assert (one["steps"] == 100).all() and one.describe("min_separation_time")[0] == "d"
    drift = shoal.integrate(days, 100.0, dt=1.0, monitors="mean_motion_drift")
    assert drift.describe("mean_motion")[0] == "rad/d"
    gaussian = two_planets(units="AU, Msun, G = 39.47692642")
    assert gaussian.G == 39.47692642


def test_quantities_of_astropy():
    u = pytest.importorskip("astropy.units")
    ens = shoal.Ensemble.from_elements(m=[1, 1e-5] * u.M_sun, P=[365.25] * u.d, inc=[30] * u.deg, units="AU, Msun, yr")
    same = shoal.Ensemble.from_elements(m=[1, 1e-5], P=1.0, inc=math.pi / 6, units="AU, Msun, yr")
    assert np.allclose(ens.states, same.states, rtol=1e-13)
    with pytest.raises(shoal.InputError, match="length"):
        shoal.Ensemble.from_elements(m=[1, 1e-5], a=[1] * u.d)
    assert (shoal.integrate(ens, 1 * u.yr, dt=3.6525 * u.d)["steps"] == 100).all()


def test_what_is_masked_is_no_number():
    masked = np.ma.masked_array([[1, 2], [1, 3]], mask=[[False, False], [False, True]])
    ens = shoal.Ensemble.from_elements(m=[1, 1e-5, 1e-5], a=masked)
    assert ens.n_invalid == 1 and np.isfinite(ens.states[0]).all()
    states = np.ma.array(two_planets().states, mask=False)
    states[3, 1, 4] = np.ma.masked
    assert not np.isfinite(shoal.Ensemble.from_states(states).states[3, 1, 4])


def test_lists_of_quantities():
    u = pytest.importorskip("astropy.units")
    ens = shoal.Ensemble.from_elements(m=[1 * u.Msun, 317.83 * u.Mearth], a=[[1 * u.AU], [2.0]])
    plain = shoal.Ensemble.from_elements(m=[1.0, (317.83 * u.Mearth).to_value(u.Msun)], a=[[1.0], [2.0]])
    assert ens.n_systems == 2 and np.allclose(ens.states, plain.states, rtol=1e-9)
    with pytest.raises(shoal.InputError, match="expected a quantity of mass"):
        shoal.Ensemble.from_elements(m=[1 * u.Msun, 1 * u.AU], a=1.0)


def test_columns_of_astropy():
    u, table = pytest.importorskip("astropy.units"), pytest.importorskip("astropy.table")
    column = table.MaskedColumn([11.2089807, 1.0], mask=[False, True], unit=u.R_earth)
    ens = shoal.Ensemble.from_elements(m=[1, 1e-5], a=column[:1])
    same = shoal.Ensemble.from_elements(m=[1, 1e-5], a=(11.2089807 * u.R_earth).to_value(u.AU))
    assert np.allclose(ens.states, same.states, rtol=1e-14)
    assert shoal.Ensemble.from_elements(m=[1, 1e-5, 1e-5], a=column).n_invalid == 1


def test_mistakes_are_told():
    with pytest.raises(shoal.InputError, match=r"a\[:, None\]"):
        shoal.Ensemble.from_elements(m=[1, 1e-5], a=np.ones(10))
    with pytest.raises(shoal.InputError, match="neither a nor P"):
        shoal.Ensemble.from_elements(m=[1, 1e-5])
    with pytest.raises(shoal.InputError, match="f and M"):
        shoal.Ensemble.from_elements(m=[1, 1e-5], a=1, f=1, M=1)
    with pytest.raises(shoal.InputError, match="do not fit"):
        shoal.Ensemble.from_elements(m=np.ones((3, 2)), a=np.ones((4, 1)))
    with pytest.raises(shoal.InputError, match="Msun"):
        two_planets(units="AU, Msum, yr")
    with pytest.raises(shoal.InputError, match=r"units = .*expected a text"):
        two_planets(units=("AU", "Msun", "yr"))
    with pytest.raises(shoal.InputError, match="l = 180: expected at most 2 pi radians, or angles = 'degrees'"):
        two_planets(l=[2.0, 180.0])
    assert two_planets(l=[2.0, 180.0], angles="radians").n_invalid == 0
    for dt in (-0.1, 0.0, math.nan):
        with pytest.raises(shoal.InputError, match=r"dt = .*expected a number > 0"):
            shoal.integrate(two_planets(), 10.0, dt=dt)
    assert (shoal.integrate(two_planets(), -1.0, dt=-0.1)["steps"] == 10).all()
    with pytest.raises(shoal.InputError, match="'10': expected a number of time"):
        shoal.integrate(two_planets(), "10", dt=0.1)
    with pytest.raises(shoal.InputError, match="jacobi"):
        two_planets(frame="jakobi")
    with pytest.raises(shoal.InputError, match=r"bodies, 7"):
        shoal.Ensemble.from_states(np.ones((3, 6)))
    ens = two_planets()
    with pytest.raises(shoal.InputError, match="propagator"):
        shoal.integrate(ens, 10.0, "mvss", dt=0.1)
    with pytest.raises(shoal.InputError, match=r"rmax: expected one of r_max"):
        shoal.integrate(ens, 10.0, dt=0.1, monitors={"name": "stop_on_ejection", "rmax": 3.0})
    with pytest.raises(shoal.InputError, match="star, b, c"):
        shoal.integrate(ens, 10.0, dt=0.1, forces={"name": "tides", "body": "d"})
    with pytest.raises(shoal.InputError, match=r"dt_min = 0.1: expected no dt_min: the steps of mvs are all the same"):
        shoal.integrate(ens, 10.0, dt=0.01, dt_min=0.1)
    with pytest.raises(shoal.InputError, match="min_separation"):
        shoal.integrate(ens, 10.0, dt=0.1, monitors="closest_approach")["min_seperation"]


def test_monitors_that_see_nothing_are_refused():
    with pytest.raises(
        shoal.InputError, match="stop_on_collision: expected a monitor that applies: no body has a radius"
    ):
        shoal.integrate(two_planets(), 10.0, dt=0.05, monitors="stop_on_collision")
    shoal.integrate(two_planets(r=[0, 0, 1e-5]), 10.0, dt=0.05, monitors="stop_on_collision")


def test_forces_on_nobody_are_told():
    states = two_planets().states
    states[:, 2] = np.nan
    ens = shoal.Ensemble.from_states(states, names=["star", "b", "c"])
    with pytest.warns(UserWarning, match="migration does nothing: no system has 'c'"):
        shoal.integrate(ens, 1.0, dt=0.05, forces={"name": "migration", "body": "c", "tau_a": 10.0})


def test_impossible_systems_disturb_no_other():
    e = np.array([[0.0, 0.0], [1.5, 0.0], [0.1, 0.1]])
    ens = shoal.Ensemble.from_elements(m=[1, 1e-5, 1e-5], a=[1, 1.5], e=e)
    with pytest.warns(UserWarning, match="1 of 3 systems are invalid"):
        result = shoal.integrate(ens, 10.0, dt=0.05)
    assert list(result.outcome) == ["survived", "invalid", "survived"]
    alone = shoal.Ensemble.from_elements(m=[1, 1e-5, 1e-5], a=[1, 1.5], e=[[0.1, 0.1]])
    assert (shoal.integrate(alone, 10.0, dt=0.05).states()[0] == result.states()[2]).all()


def test_steps_that_do_not_resolve_a_pericentre_are_told():
    ens = shoal.Ensemble.from_elements(
        m=[1, 1e-5, 1e-5], P=[100.0, 300.0], e=[[0.1, 0.1], [0.1, 0.95]], units="AU, Msun, d", names=["star", "b", "c"]
    )
    needed = 300 * math.sqrt(0.05**3 / 1.95) / 16  # P sqrt((1 - e)^3 / (1 + e)) / 16
    told = r"1 of 2 systems.*worst for 'c' in system 1; all need dt = 0.15 d, or steps_per_orbit = "
    assert 0.15 < needed < 0.151
    with pytest.warns(UserWarning, match=told) as all_told:
        shoal.integrate(ens, 10.0, dt=4.0)
    assert len(all_told) == 1 and all_told[0].filename == __file__
    with pytest.warns(UserWarning, match="mvs is for planets that are light.*'b' has 0.3 of the mass of 'star'"):
        shoal.integrate(shoal.Ensemble.from_elements(m=[1, 0.3], a=[1.0], names=["star", "b"]), 1.0, dt=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shoal.integrate(ens, 10.0, dt=0.999 * needed)
        shoal.integrate(ens, 10.0, "gauss_radau")


@pytest.mark.parametrize("e", [0.1, 1.5])
def test_periods_below_0_are_invalid(e):
    with pytest.warns(UserWarning, match="P = -10: expected a number > 0; such systems are invalid"):
        ens = shoal.Ensemble.from_elements(m=[1, 1e-5], P=[[-10.0], [0.0], [10.0]], e=[[e], [e], [0.1]])
    assert ens.n_invalid == 2 and np.isnan(ens.elements()[:2]).all()
    assert math.isclose(ens.elements()[2, 1, 1], (1.00001 * (5 / math.pi) ** 2) ** (1 / 3))


def test_states_are_views_and_no_bits_depend_on_the_times():
    ens = two_planets(200)
    before = ens.states
    result = shoal.integrate(ens, 50.0, dt=0.05, times=[10.0, 20.0], monitors=["closest_approach"])
    assert (ens.states == before).all() and (result.states("initial") == before).all()
    assert result.states(10.0).base is result.states(20.0).base is not None
    assert np.shares_memory(result.states(), result.states("final")) and result.complete
    plain = shoal.integrate(ens, 50.0, dt=0.05)
    assert (plain.states() == result.states()).all()
    half = shoal.integrate(ens, 10.0, dt=0.05)
    assert (half.states() == result.states(10.0)).all()
    with pytest.raises(shoal.InputError, match="times are 10, 20"):
        result.states(11.0)
    assert np.abs(result["dE_final"]).max() < 1e-6
    assert result.to_rebound(3).t == 50.0 if _has("rebound") else True


def test_a_system_that_has_ended_has_no_states():
    ens = shoal.Ensemble.from_elements(
        m=[1, 1e-3, 1e-3], a=[[1, 1.3], [1, 4]], e=[0.1, 0.05], l=[0, 3.0], units="AU, Msun, yr"
    )
    near = {"name": "stop_on_encounter", "factor": 3.0}
    result = shoal.integrate(ens, 10.0, "gauss_radau", times=[1.0, 5.0, 10.0], monitors=near)
    assert 1 < result["t_stop"][0] < 5 and list(result.outcome) == ["encounter", "survived"]
    for t in (1.0, 5.0, 10.0):
        assert np.isnan(result.states(t)).all(axis=(1, 2)).tolist() == [t > 1, False]
    assert np.isfinite(result.states()).all()
    if _has("rebound"):
        assert result.to_rebound(0, 1.0).N == result.to_rebound(0).N == 3
        with pytest.raises(shoal.InputError, match="t = 5: the system has no state"):
            result.to_rebound(0, 5.0)


def _has(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def test_a_system_goes_on_from_its_last_states():
    ens = two_planets()
    result = shoal.integrate(ens, 5.0, dt=0.05)
    on = shoal.Ensemble.from_states(result.states(), t=5.0)
    assert (on.t == 5.0).all()
    through = shoal.integrate(ens, 10.0, dt=0.05).states()
    assert np.allclose(shoal.integrate(on, 10.0, dt=0.05).states(), through, rtol=1e-9, atol=1e-12)


def test_bodies_behind_a_merger_move_up():
    states = [[[1, *[0] * 6], [1e-3, 1, 0, 0, 0, 1, 0], [1e-3, 1.02, 0.01, 0, 0, 1, 0], [5e-4, 3, 0, 0, 0, 0.577, 0]]]
    ens = shoal.Ensemble.from_states(states, r=[0.005, 0.02, 0.02, 0.01], names=["sun", "b", "c", "d"])
    merge = {"name": "stop_on_collision", "action": "merge"}
    result = shoal.integrate(ens, 5.0, "gauss_radau", dt=0.01, monitors=merge)
    gone = np.isnan(result.states()).all(axis=-1)
    assert gone.tolist() == [[False, False, True, False]]
    with pytest.warns(UserWarning, match="1 systems have lost bodies: those behind them move up"):
        on = shoal.Ensemble.from_states(result.states(), r=result.radii(), t=5.0)
    assert on.n_invalid == 0 and np.isnan(on.states[0, 3]).all()
    assert np.allclose(on.states[0, :3], result.states()[~gone], rtol=1e-12, atol=1e-15)
    assert (on.radii[0, :3] == result.radii()[~gone]).all() and np.isnan(on.radii[0, 3])
    on = shoal.integrate(on, 10.0, "gauss_radau", dt=0.01)
    assert on["n_live"] == 3 and on.outcome[0] == "survived"
    through = shoal.integrate(ens, 10.0, "gauss_radau", dt=0.01, monitors=merge).states()
    assert np.allclose(on.states()[0, :3], through[~gone], rtol=1e-7, atol=1e-9)


def test_systems_begin_at_different_times():
    ens = shoal.Ensemble.from_elements(m=[1, 1e-5], a=1, t=[0.0, 5.0, 20.0])
    result = shoal.integrate(ens, 30.0, dt=0.1)
    assert np.allclose(result["steps"], [300, 250, 100], atol=1)
    back = shoal.integrate(ens, -30.0, dt=0.1, times=[-5.0, -10.0])
    assert np.allclose(back["steps"], [300, 350, 500], atol=1) and np.isfinite(back.states(-10.0)).all()
    both = shoal.integrate(ens, 10.0, dt=0.1)
    assert np.allclose(both["steps"], [100, 50, 100], atol=1)
    with pytest.raises(shoal.InputError, match="expected a time from 25"):
        shoal.integrate(ens, 30.0, dt=0.1, times=[25.0, 10.0])
    with pytest.raises(
        shoal.InputError, match="= 10: expected a time from 20, when all systems have begun, to t_end = 30"
    ):
        shoal.integrate(ens, 30.0, dt=0.1, times=[10.0])


def test_times_and_steps_are_told_in_the_units_of_the_ensemble():
    ens = shoal.Ensemble.from_elements(m=[1, 1e-5], a=1, units="AU, Msun, yr")
    for end, times, line in (
        (10.0, [5.0, 12.0], r"times\[1\] = 12: expected a time from 5, the one before it, to t_end = 10 yr"),
        (10.0, [-5.0], r"times\[0\] = -5: expected a time from 0, when all systems have begun, to t_end = 10 yr"),
        (-10.0, [5.0], r"times\[0\] = 5: expected a time from 0, when all systems have begun, to t_end = -10 yr"),
        (10.0, [np.nan], r"times\[0\] = nan: expected a time from 0"),
    ):
        with pytest.raises(shoal.InputError, match=line):
            shoal.integrate(ens, end, dt=0.01, times=times)
    assert np.isfinite(shoal.integrate(ens, 10.0, dt=0.01, times=[0.0, 10.0]).states(10.0)).all()
    with pytest.raises(shoal.InputError, match="expected dt or steps_per_orbit"):
        shoal.integrate(ens, 10.0)
    with pytest.raises(shoal.InputError, match=r"dt = 0.1 and steps_per_orbit = 20: expected one"):
        shoal.integrate(ens, 10.0, dt=0.1, steps_per_orbit=20)
    beyond = shoal.Ensemble.from_elements(m=[1, 1e-5], a=-1, e=2, f=150, angles="degrees")
    with pytest.warns(UserWarning, match=r"f = 2.61799 rad \(150 deg\).*asymptote, 2.0944 rad \(120 deg\)"):
        shoal.integrate(beyond, 1.0, dt=0.01)


def test_systems_of_different_sizes_and_strides():
    states = np.full((4, 2, 3, 7), np.nan).swapaxes(0, 1)
    one = two_planets(8).states.reshape(2, 4, 3, 7)
    states[...] = one
    states[1, 2, 2] = np.nan
    ens = shoal.Ensemble.from_states(states)
    assert ens.shape == (2, 4)
    result = shoal.integrate(ens, 3.0, dt=0.05)
    assert (result["n_final"] == [3, 3, 3, 3, 3, 3, 2, 3]).all()
    assert np.isnan(result.states()[6, 2]).all()


def test_table_outcome_events_and_logs():
    pd = pytest.importorskip("pandas")
    a = np.stack([np.ones(20), np.linspace(1.02, 1.4, 20)], axis=-1)
    ens = shoal.Ensemble.from_elements(m=[1, 3e-4, 3e-4], a=a, l=[0, 2.0], r=[0.005, 5e-4, 5e-4])
    monitors = [{"name": "stop_on_encounter", "factor": 1.0, "action": "log"}, "closest_approach"]
    result = shoal.integrate(ens, 300.0, dt=0.05, monitors=monitors)
    table = result.table
    assert isinstance(table, pd.DataFrame) and len(table) == 20 and list(table.id) == list(range(20))
    assert isinstance(result.outcome, pd.Categorical) and (table.outcome == "survived").all()
    events = result.events
    assert len(events) > 5 and set(events.event) == {"encounter"}
    assert set(events.system) == set(np.flatnonzero(table.min_separation < 0.1)) and (events.distance > 0).all()
    transits = shoal.integrate(two_planets(inc=np.pi / 2), 20.0, dt=0.02, monitors="transits")
    assert transits.logs == ["transits"]
    log = transits.log("transits")
    assert set(log.body) == {1, 2} and log.system.max() == 7 and log.time.between(0, 20).all()
    with pytest.raises(shoal.InputError, match="megno"):
        result.log("megno")


def test_without_pandas_tables_are_dictionaries(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    result = shoal.integrate(two_planets(), 3.0, dt=0.05)
    assert isinstance(result.table, dict) and list(result.outcome) == ["survived"] * 8
    assert isinstance(result.events, dict) and len(result.events["time"]) == 0


def test_xarray():
    pytest.importorskip("xarray")
    data = shoal.integrate(two_planets(), 3.0, dt=0.05, times=[1.0], monitors="megno").xarray()
    assert dict(data.sizes) == {"system": 8, "body": 3, "number": 7, "time": 1}
    assert data.states.sel(time=1.0, body="b", number="m").shape == (8,) and data.megno.shape == (8,)
    assert "growth factor" in data.megno.long_name


def test_forces_and_propagators():
    ens = two_planets()
    plain = shoal.integrate(ens, 3.0, dt=0.02)
    relative = shoal.integrate(ens, 3.0, {"name": "saba", "scheme": "8,4,4"}, dt=0.02, forces="gr")
    assert not (plain.states() == relative.states()).all()
    assert "saba" in relative.plan
    slow = shoal.integrate(ens, 3.0, {"name": "saba"}, dt=0.02, forces=[{"name": "gr", "c": 300.0}])
    assert np.abs(slow.states() - plain.states()).max() > 10 * np.abs(relative.states() - plain.states()).max()


def test_ensembles_are_pickled():
    ens = two_planets(units="AU, Msun, d", t=3.0)
    again = pickle.loads(pickle.dumps(ens))
    assert (again.states == ens.states).all() and again.names == ens.names and (again.t == 3.0).all()


def test_states_have_no_single_unit():
    units = pytest.importorskip("astropy.units")
    with pytest.raises(shoal.InputError, match="with one unit"):
        shoal.Ensemble.from_states(two_planets().states * units.km)


def test_rebound_both_ways(tmp_path):
    rebound = pytest.importorskip("rebound")
    sim = rebound.Simulation()
    sim.units = ("yr", "AU", "Msun")
    sim.add(m=1.0, r=0.005)
    sim.add(m=1e-3, P=11.86, e=0.05, r=5e-4)
    sim.add(a=2.5, e=0.1, inc=0.2)
    sim.move_to_com()
    sim.t = 7.0
    sim.N_active = 2
    ens = shoal.Ensemble.from_rebound(sim)
    assert ens.n_systems == 1 and ens.n_bodies == 3 and ens.t[0] == 7.0
    assert math.isclose(ens.G, sim.G, rel_tol=1e-14)
    back = ens.to_rebound(0)
    for one, other in zip(sim.particles, back.particles, strict=True):
        for name in ("m", "r", "x", "y", "z", "vx", "vy", "vz"):
            assert math.isclose(getattr(one, name), getattr(other, name), rel_tol=1e-14, abs_tol=1e-15)
    assert back.t == 7.0 and math.isclose(back.G, sim.G, rel_tol=1e-14) and back.units == sim.units
    # the same motion
    result = shoal.integrate(ens, 17.0, "gauss_radau", dt=0.01)
    sim.integrator = "ias15"
    sim.integrate(17.0)
    expected = [[p.x, p.y, p.z, p.vx, p.vy, p.vz] for p in sim.particles]
    assert np.allclose(result.states()[0, :, 1:], expected, atol=1e-9)
    assert result.to_rebound(0).particles[1].r == 5e-4 and result.to_rebound(0).units == sim.units
    assert math.isclose(result.to_rebound(0).particles[1].x, sim.particles[1].x, abs_tol=1e-9)
    # an archive: each of its states is a system
    path = str(tmp_path / "archive.bin")
    sim.save_to_file(path, interval=1.0)
    sim.integrate(20.0)
    archive = shoal.Ensemble.from_rebound(path)
    assert archive.n_systems >= 3 and archive.t[0] == 17.0
    other = rebound.Simulation()
    other.add(m=1.0)
    with pytest.raises(shoal.InputError, match="other units"):
        shoal.Ensemble.from_rebound([sim, other])
    sim.N_active = 1
    with pytest.raises(shoal.InputError, match="test particle"):
        shoal.Ensemble.from_rebound(sim)
    # what bodies alone do not say
    for name, value in (
        ("softening", 0.1),
        ("boundary", "periodic"),
        ("additional_forces", lambda _: None),
        ("post_timestep_modifications", lambda _: None),
    ):
        more = rebound.Simulation()
        more.add(m=1.0)
        setattr(more, name, value)
        with pytest.raises(shoal.InputError, match=name):
            shoal.Ensemble.from_rebound(more)
    # the particles of variational equations are none of the bodies
    plain = rebound.Simulation()
    plain.add(m=1.0)
    plain.add(m=1e-3, a=1.0)
    plain.init_megno()
    assert shoal.Ensemble.from_rebound(plain).n_bodies == 2
    # a unit that is unknown here is refused: effects with units would be wrong
    saturns = rebound.Simulation()
    saturns.units = ("yr", "AU", "Msaturn")
    saturns.add(m=3497.0)
    saturns.add(m=1.0, a=1.0)
    with pytest.raises(shoal.InputError, match="'msaturn' of mass: expected one of"):
        shoal.Ensemble.from_rebound(saturns)


def test_names_of_rebound():
    rebound = pytest.importorskip("rebound")
    if not hasattr(rebound.Particle, "name"):
        pytest.skip("particles have no names")

    def named(*names):
        sim = rebound.Simulation()
        for i, name in enumerate(names):
            sim.add(m=1e-3 if i else 1.0, x=float(i), name=name)
        return sim

    both = [named("sun", "b"), named("sun", "b", "c")]
    assert shoal.Ensemble.from_rebound(both).names == ["sun", "b", "c"]
    for names in ((("sun", "b", "c"), ("sun", "c", "b")), (("sun", "c"), ("sun", "b", "c"))):
        with pytest.warns(UserWarning, match="body 1 is called 'c', and 'b' in simulation"):
            made = shoal.Ensemble.from_rebound([named(*each) for each in names])
        assert "b" not in made.names and "c" not in made.names


def test_a_million_systems(calls_of):
    """No loop of Python goes over systems."""

    def make(n):
        a = np.random.default_rng(1).random((n, 2)) * 0.1 + [1, 2]
        ens = shoal.Ensemble.from_elements(m=[1, 1e-5, 1e-5], a=a, e=0.01, l=[0.0, 2.0])
        assert ens.n_systems == n

    make(10)
    assert calls_of(lambda: make(10**6)) == calls_of(lambda: make(10)) < 1000


def test_ctrl_c_keeps_what_there_is():
    code = textwrap.dedent("""
        import numpy as np, shoal, sys
        ens = shoal.Ensemble.from_elements(m=[1, 1e-5, 1e-5], a=np.tile([1, 1.5], (500, 1)))
        print("go", flush=True)
        try:
            shoal.integrate(ens, 1e9, dt=0.05, threads=1)
        except shoal.InterruptedRun as error:
            assert isinstance(error, KeyboardInterrupt)
            result = error.result
            assert not result.complete and (result.outcome == "running").all() and (result["steps"] > 0).all()
            assert np.isfinite(result.states()).all()
            print("kept", str(error))
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert child.stdout.readline() == "go\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[0]
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0 and said.startswith("kept interrupted at t = ")


def test_progress(capsys):
    pytest.importorskip("tqdm")
    quiet = shoal.integrate(two_planets(), 50.0, dt=0.05)
    assert capsys.readouterr().err == ""
    shown = shoal.integrate(two_planets(), 50.0, dt=0.05, progress=True)
    assert "100%" in capsys.readouterr().err and (shown.states() == quiet.states()).all()


def test_progress_without_tqdm(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    shoal.integrate(two_planets(), 5.0, dt=0.05, progress=True)
    assert capsys.readouterr().err == ""  # a line is for a terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shoal.integrate(two_planets(), 5.0, dt=0.05, progress=True)
    assert "100 %" in capsys.readouterr().err

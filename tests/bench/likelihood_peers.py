#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Likelihoods beside what people write with other codes, one core each, in turns; the least of three.

    OMP_NUM_THREADS=1 taskset -c 0 python3 tests/bench/likelihood_peers.py

velocities: HD 164922, 401 of them. REBOUND (WHFast, a Python loop over vectors and times) with Shoal's step.
transits: Kepler-51, 53 times over 2800 d. jnkepler (JAX, one compiled call for all vectors) with its step of 1 d.

Before it times it checks: velocities agree within 1 cm/s, but for the offsets (WHFast has no corrector here), times
within 1 s. Needs the packages shoal, rebound, jnkepler."""

import math
import sys
import time
import warnings

import numpy as np

import shoal

N, TURNS = 64, 3


def least(call):
    best = math.inf
    for _ in range(TURNS):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def tell(what, peer, own_s, peer_s, differ):
    rates = f"Shoal {N / own_s:.3g} a second, {peer} {N / peer_s:.3g} a second"
    print(f"{what}: {rates}: {peer_s / own_s:.1f} times as fast; {differ}")


def near_the_middle(model, spread):
    return model.prior_transform(np.random.default_rng(3).uniform(0.5 - spread, 0.5 + spread, (N, model.n_parameters)))


def read(name, columns):
    """Columns of a table of the configs, as texts."""
    text = shoal.config_path("kepler_51").with_name(name).read_text()
    lines = [line.split() for line in text.splitlines() if line[0] != "#"]
    return [[line[lines[0].index(column)] for line in lines[1:]] for column in columns]


def rebound_velocities(words, theta, times):
    """The star's velocities along the line of sight, m/s: a simulation forwards and one backwards from time 0."""
    import rebound

    number = dict(zip(words, theta, strict=True))
    velocities = np.empty(len(times))
    for forwards in (True, False):
        sim = rebound.Simulation()
        sim.units = ("AU", "d", "Msun")
        sim.add(m=0.874)
        for planet in "cb":
            m, period, h, k, longitude = (number[f"{planet}.{key}"] for key in ("msini", "P", "h", "k", "l"))
            omega = math.atan2(h, k)
            anomaly = math.radians(longitude) - omega
            sim.add(m=m, P=period, e=math.hypot(h, k), omega=omega, M=anomaly, inc=math.pi / 2)
        sim.move_to_com()
        sim.integrator = "whfast"
        sim.dt = 7.5 if forwards else -7.5
        star = sim.particles[0]
        for j in np.argsort(times if forwards else -times):
            if (times[j] >= 0) == forwards:
                sim.integrate(times[j], exact_finish_time=1)
                velocities[j] = -star.vz * 149597870700.0 / 86400
    return velocities


def velocities():
    model = shoal.Model(shoal.config_path("hd_164922"), {"run.threads": 1, "run.engine": "cpu"}, n_walkers=N)
    theta = near_the_middle(model, 0.1)
    when, telescope = read("hd_164922_rv.txt", ["time", "tel"])
    order = np.argsort(["kja".index(word[0]) for word in telescope], kind="stable")  # as the data of the config are
    times = np.array(when, dtype=float)[order] - 2456778
    sets = np.array(telescope)[order]
    differ = 0.0
    for one in theta[:4]:
        apart = model.predict(one) - rebound_velocities(model.names, one, times)
        differ = max(differ, *(np.ptp(apart[sets == name]) for name in set(sets)))
    if not differ < 0.01:
        sys.exit(f"velocities differ by {differ:.2g} m/s")
    own_s = least(lambda: model(theta))
    peer_s = least(lambda: [rebound_velocities(model.names, one, times) for one in theta])
    tell("velocities", "REBOUND", own_s, peer_s, f"they differ by {differ:.1g} m/s")


def transits():
    warnings.filterwarnings("ignore")
    import jax
    from jnkepler.jaxttv import JaxTTV

    model = shoal.Model(shoal.config_path("kepler_51"), {"run.threads": 1, "run.engine": "cpu"}, n_walkers=N)
    theta = near_the_middle(model, 0.002)
    when, planet = read("kepler_51_transit_times.txt", ["time", "planet"])
    seen = [np.array([float(t) for t, p in zip(when, planet, strict=True) if p == name]) for name in "bcd"]
    peer = JaxTTV(155.0, max(map(max, seen)) + 10, 1.0, seen, np.array([45.1553, 85.3165, 130.1766]), print_info=False)
    keys = {"pmass": "mass_ratio", "period": "P", "tic": "T0", "ecosw": "e_cos", "esinw": "e_sin"}
    arrays = {own: np.stack([theta[:, model.names.index(f"{p}.{key}")] for p in "bcd"], 1) for own, key in keys.items()}
    call = jax.jit(jax.vmap(lambda numbers: peer.get_transit_times_obs(numbers)[0]))
    numbers = {own: jax.numpy.asarray(array) for own, array in arrays.items()}
    differ = 86400 * np.abs(model.predict(theta) - np.asarray(call(numbers))).max()
    if not differ < 1:
        sys.exit(f"transit times differ by {differ:.2g} s")
    own_s = least(lambda: model(theta))
    peer_s = least(lambda: call(numbers).block_until_ready())
    tell("transits", "jnkepler", own_s, peer_s, f"they differ by {differ:.1g} s")


velocities()
transits()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the indicators of chaos agree on a map, and the frequencies with those of REBOUND's motion?

    tests/bench/chaos.py SHOAL      needs the Python packages rebound (5 or later) and numpy; a few minutes of a core

1. The cells of configs/sun_jupiter_saturn_chaos.cfg that survive: the classes by SALI, by the drift of the mean motion
   and by the criteria of the initial conditions, against those by MEGNO above 2.5.
2. Jupiter and Saturn, 20000 yr by gauss_radau and by IAS15 of REBOUND: each half's leading frequency, that of REBOUND
   by frequency analysis of samples every half year over the same time, without averages."""
import csv
import io
import os
import subprocess
import sys
import tempfile

import numpy as np

CONFIG = os.path.dirname(os.path.abspath(__file__)) + "/../../configs/sun_jupiter_saturn_chaos.cfg"
T = 20000.0


def run(shoal, path, *options):
    subprocess.run([shoal, "run", "-q", "--force", CONFIG, "run.engine=cpu", "output.file=" + path, *options],
                   check=True)


def query(shoal, path, *options):
    text = subprocess.run([shoal, "query", path, *options], check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


def agreement(shoal, path):
    run(shoal, path)
    cells = [r for r in query(shoal, path, "-T") if r["outcome"] == "survived"]
    megno = np.array([float(r["megno"]) for r in cells])
    print("%d cells survive, %d of them chaotic by megno > 2.5" % (len(cells), (megno > 2.5).sum()))
    for name, limit, above in (("sali", 1e-3, False), ("log_frequency_drift", -2.5, True),
                               ("overlap_eccentric", 1, True),
                               ("hill_ratio", 1, True), ("amd_ratio", 1, True), ("amd_hill_ratio", 1, True)):
        value = np.array([float(r[name] or "nan") for r in cells])
        chaotic = value > limit if above else value < limit
        print("%-20s %s %-6g agrees in %5.1f %%; calls %d regular ones chaotic, %d chaotic ones regular" % (
            name, "above" if above else "below", limit, 100 * np.mean(chaotic == (megno > 2.5)),
            (chaotic & (megno <= 2.5)).sum(), (~chaotic & (megno > 2.5)).sum()))


def motion(shoal, path):
    """The elements of REBOUND's orbits, every half year, from the states that Shoal begins with."""
    import rebound
    simulation = rebound.Simulation()
    simulation.G = (0.01720209895 * 365.25) ** 2
    for row in query(shoal, path, "--initial"):
        simulation.add(m=float(row["m"]), **{k: float(row[k]) for k in ("x", "y", "z", "vx", "vy", "vz")})
    simulation.integrator = "ias15"
    times, seen = np.arange(0, T + 0.25, 0.5), ([], [])
    for t in times:
        simulation.integrate(t)
        for orbit, list_ in zip(simulation.orbits(), seen):
            list_.append((np.exp(1j * orbit.l), orbit.e * np.exp(1j * orbit.pomega),
                          np.sin(orbit.inc / 2) * np.exp(1j * orbit.Omega)))
    return times, [np.array(list_) for list_ in seen]


def leading(t, z, guess):
    """The frequency near a guess, within 14 turns, at which the integral with Hann's window is largest."""
    t = t - 0.5 * (t[0] + t[-1])
    length = t[-1] - t[0]
    c = (1 + np.cos(2 * np.pi * t / length)) * z
    grid = guess + np.arange(-14 * 2 * np.pi, 14 * 2 * np.pi, 1.0) / length
    f = grid[np.argmax([abs(np.sum(c * np.exp(-1j * w * t))) for w in grid])]
    low, high = f - 1 / length, f + 1 / length
    for _ in range(50):
        f = 0.5 * (low + high)
        term = c * np.exp(-1j * f * t)
        rises = (np.conj(np.sum(term)) * np.sum(-1j * t * term)).real > 0
        low, high = (f, high) if rises else (low, f)
    return f


def frequencies(shoal, path):
    single = ["sweep=()", "run.t_end=%g" % T, "integrator={name=\"gauss_radau\";}"]
    run(shoal, path, *single)
    times, seen = motion(shoal, path)
    for at, of in enumerate(("longitude", "pericentre", "node")):
        for body, z in zip(("jupiter", "saturn"), seen):
            run(shoal, path, *single, 'monitors=({name="frequency";of="%s";body="%s";})' % (of, body))
            row = query(shoal, path, "-T")[0]
            for half, name in enumerate(("frequency", "frequency_second")):
                block = T / 70
                inside = (times >= (half * 35 + 3) * block - 1e-9) & (times <= (half * 35 + 33) * block + 1e-9)
                ours, turn = float(row[name]), 2 * np.pi / (30 * block)
                theirs = leading(times[inside], z[inside, at], ours)
                print("%-10s %-8s half %d: %.10g rad/yr, REBOUND's %.10g: relative %.1e, %.1e turns of the half" % (
                    of, body, half + 1, ours, theirs, ours / theirs - 1, (ours - theirs) / turn))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        agreement(sys.argv[1], folder + "/map.h5")
        frequencies(sys.argv[1], folder + "/orbits.h5")


if __name__ == "__main__":
    main()

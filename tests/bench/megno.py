#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Regular or chaotic: classes by MEGNO of two maps, by Shoal and by REBOUND, each from several random directions.

    tests/bench/megno.py SHOAL [PROCESSES]      needs the Python package rebound (5 or later); 15 minutes of a core

The maps are TOI-1338 with a second planet at (a, e), 100 yr by gauss_radau and IAS15, and Saturn at (a, e) beside
Jupiter, 10^4 yr by mvs and WHFast with steps of 0.25 yr. REBOUND starts from the states that Shoal writes. Cells count
that survive. A cell is chaotic where megno passes a limit."""
import csv
import io
import multiprocessing
import subprocess
import sys
import tempfile

LIMITS = (2.2, 2.5, 3.0)
SEEDS = 8  # of Shoal; with four vectors at a time, two
STOPS = '{ name = "stop_on_ejection"; r_max = 100.0; }, { name = "stop_on_encounter"; }, { name = "megno"; }'
BINARY = """epoch = "none"; units = { length = "AU"; mass = "Msun"; time = "d"; }; angles = "degrees";
system = { elements = "jacobi"; bodies = ( { name = "A"; m = 1.127; },
  { name = "B"; m = 0.3128; P = 14.60856; e = 0.156; omega = 117.6; f = 0.0; },
  { name = "b"; m = 3.4e-5; P = 95.17; e = 0.088; omega = 0.0; f = 0.0; },
  { name = "c"; m = 1.96e-4; a = 1.0; e = 0.0; omega = 0.0; f = 180.0; } ); };
sweep = ( { body = "c"; parameter = "e"; from = 0.0; to = 0.4; count = 5; },
  { body = "c"; parameter = "a"; from = 0.5; to = 1.2; count = 8; } );
integrator = { name = "gauss_radau"; }; run = { t_end = 36525.0; };
monitors = ( %s ); output = { file = "map.h5"; };""" % STOPS
SATURN = """epoch = "J2000.0"; units = { length = "AU"; mass = "Msun"; time = "yr"; }; angles = "degrees";
system = { elements = "jacobi"; bodies = ( { name = "sun"; m = 1.0; },
  { name = "jupiter"; m = 9.547919384243267e-4; a = 5.20288700; e = 0.04838624; inc = 1.30439695; l = 34.39644051;
    pomega = 14.72847983; Omega = 100.47390909; },
  { name = "saturn"; m = 2.858859806661029e-4; a = 9.53667594; e = 0.05386179; inc = 2.48599187; l = 49.95424423;
    pomega = 92.59887831; Omega = 113.66242448; } ); };
sweep = ( { body = "saturn"; parameter = "e"; from = 0.0; to = 0.4; count = 9; },
  { body = "saturn"; parameter = "a"; from = 7.0; to = 11.0; count = 17; } );
integrator = { name = "mvs"; dt = 0.25; }; run = { t_end = 10000.0; };
monitors = ( %s ); output = { file = "map.h5"; };""" % STOPS


def table(shoal, path, *options):
    text = subprocess.run([shoal, "query", path, *options], check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


def ours(shoal, config, vectors, seed):
    """megno of the cells, None where one does not survive; their initial states."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/map.h5"
        with open(folder + "/map.cfg", "w") as out:
            out.write(config.replace('"megno";', '"megno"; vectors = %d; seed = %d;' % (vectors, seed)))
        subprocess.run([shoal, "run", "-q", folder + "/map.cfg", "output.file=" + path], check=True)
        ends, states = table(shoal, path, "-T"), {}
        for row in table(shoal, path, "--initial"):
            states.setdefault(row["system"], []).append([float(row[k]) for k in ("m", "x", "y", "z", "vx", "vy", "vz")])
        found = {r["system"]: float(r["megno"]) if r["outcome"] == "survived" else None for r in ends}
        return found, states


def theirs(job):
    import rebound
    bodies, binary, seed = job
    simulation = rebound.Simulation()
    simulation.G = 0.00029591220828559115 if binary else 39.476926421373  # a Gaussian year's constant, per d^2 and yr^2
    for m, x, y, z, vx, vy, vz in bodies:
        simulation.add(m=m, x=x, y=y, z=z, vx=vx, vy=vy, vz=vz)
    simulation.move_to_com()
    simulation.integrator, simulation.dt = ("ias15", 0.1) if binary else ("whfast", 0.25)
    simulation.init_megno(seed=seed)
    simulation.integrate(36525.0 if binary else 1e4, exact_finish_time=0)
    return simulation.megno()


def compare(limit, peer, single, several):
    """Cells in which all of REBOUND's seeds agree, and how often Shoal's class is theirs."""
    counts = {}
    for cell, values in peer.items():
        n = sum(v > limit for v in values)
        kind = "chaotic" if n == len(values) else "regular" if n == 0 else "seeds differ"
        line = counts.setdefault(kind, [0, 0, 0, 0, 0])
        line[0] += 1
        for at, runs in ((1, single), (3, several)):
            line[at] += sum(run[cell] > limit for run in runs)
            line[at + 1] += len(runs)
    for kind, (cells, one, n_one, four, n_four) in sorted(counts.items()):
        print("  limit %.1f  REBOUND %-12s %4d cells; Shoal finds chaos in %5.1f %% with one vector, %5.1f %% with four"
              % (limit, kind, cells, 100 * one / n_one, 100 * four / n_four))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    shoal, pool = sys.argv[1], multiprocessing.Pool(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for name, config, seeds in (("Saturn, 10^4 yr", SATURN, 8), ("TOI-1338, 100 yr", BINARY, 3)):
        runs = [ours(shoal, config, 1, seed) for seed in range(1, SEEDS + 1)]
        single, states = [found for found, _ in runs], runs[0][1]
        several = [ours(shoal, config, 4, seed)[0] for seed in range(1, SEEDS + 1, 4)]
        cells = [cell for cell, value in single[0].items() if value is not None]
        jobs = [(states[cell], config is BINARY, seed) for cell in cells for seed in range(1, seeds + 1)]
        values = pool.map(theirs, jobs, chunksize=1)
        peer = {cell: values[i * seeds:(i + 1) * seeds] for i, cell in enumerate(cells)}
        print("%s: %d of %d cells survive, %d seeds of REBOUND" % (name, len(cells), len(states), seeds))
        for limit in LIMITS:
            compare(limit, peer, single, several)
        sys.stdout.flush()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""ln L: how many a second, at once by the numbers given. Of two planets with 60 velocities over 353 steps, or of the
data of a study, with parameters within the quantiles 0.5 - S .. 0.5 + S of its priors, S = 0.002 if not given.

    tests/bench/likelihood.py LIBSHOAL ENGINE [--threads=N] [--study=CONFIG [--spread=S]] [OVERRIDE=VALUE ...] N ...
                              as in build/libshoal.so cpu --threads=1 64

Before it times it checks: each ln L is that of the vector alone on one CPU thread, to 1e-12 of itself. Least of 5."""
import math
import os
import random
import sys
import tempfile
import time
from ctypes import CDLL, byref, c_char_p, c_double, c_long, c_void_p, memmove

STUDY = """units = { length = "AU"; mass = "Msun"; time = "d"; };
angles = "radians";
system = { elements = "jacobi"; bodies = ( { name = "star"; m = 0.9; },
  { name = "b"; msini = 1e-3; P = 30.0; e = 0.05; omega = 0.5; T0 = 3.0; inc = 1.5; },
  { name = "c"; msini = 1e-3; P = 61.0; e = 0.05; omega = 0.5; T0 = 7.0; inc = 1.5; } ); };
integrator = { name = "mvs"; dt = 1.0; };
run = { t_end = 353.0; };
data = ( { name = "k"; kind = "velocity"; file = "rv.txt"; jitter = 1.0; } );
sample = { parameters = ( %s
  { data = "k"; parameter = "offset"; distribution = "normal"; mean = 0.0; sigma = 10.0; } ); };
"""
PRIORS = [("msini", 'distribution = "log_uniform"; from = 1e-6; to = 1e-2;'),
          ("P", 'distribution = "normal"; mean = %s; sigma = 0.3;'),
          ("e", 'distribution = "uniform"; from = 0.0; to = 0.3;'),
          ("omega", 'distribution = "uniform"; from = 0.0; to = 6.2;'),
          ("T0", 'distribution = "uniform"; from = 0.0; to = 10.0;')]
N_KNOWN = 64


def write_study(folder):
    rows = [(body, key, prior % mean if "%s" in prior else prior)
            for body, mean in (("b", 30.0), ("c", 61.0)) for key, prior in PRIORS]
    text = "".join('{ body = "%s"; parameter = "%s"; %s }, ' % row for row in rows)
    with open(folder + "/study.cfg", "w") as out:
        out.write(STUDY % text)
    random.seed(3)
    with open(folder + "/rv.txt", "w") as out:
        out.write("time velocity error\n")
        for t in sorted(random.uniform(0, 353) for _ in range(60)):
            out.write("%.6f %.4f 2.0\n" % (t, 20 * math.sin(t / 20)))


class Model:
    def __init__(self, shoal, path, engine, threads, n, more=()):
        self.shoal, self.context, self.study, self.model = shoal, c_void_p(), c_void_p(), c_void_p()
        overrides = [('run.engine="%s"' % engine).encode(), b"run.threads=%d" % threads, *map(str.encode, more)]
        shoal.shoal_context_create(byref(self.context))
        self.check(shoal.shoal_study_load(self.context, path.encode(), len(overrides),
                                          (c_char_p * len(overrides))(*overrides), byref(self.study)))
        self.check(shoal.shoal_model_create(self.study, c_long(n), byref(self.model)))
        self.k = shoal.shoal_model_n_parameters(self.model)

    def check(self, status):
        if status:
            raise SystemExit(self.shoal.shoal_context_message(self.context).decode())

    def line(self):
        return self.shoal.shoal_model_plan_line(self.model).decode()

    def evaluate(self, n, theta, lnl):
        self.check(self.shoal.shoal_model_evaluate(self.model, c_long(n), theta, lnl))

    def close(self):
        self.shoal.shoal_model_destroy(byref(self.model))
        self.shoal.shoal_study_destroy(byref(self.study))
        self.shoal.shoal_context_destroy(byref(self.context))


def main(library, engine, *rest):
    threads = [int(word.split("=")[1]) for word in rest if word.startswith("--threads=")]
    given = [word.split("=", 1)[1] for word in rest if word.startswith("--study=")]
    more = [word for word in rest if "=" in word and not word.startswith("-")]
    counts = [int(word) for word in rest if "=" not in word]
    shoal = CDLL(os.path.abspath(library))
    shoal.shoal_context_message.restype = shoal.shoal_model_plan_line.restype = c_char_p
    with tempfile.TemporaryDirectory() as folder:
        write_study(folder)
        spread = [float(word.split("=")[1]) for word in rest if word.startswith("--spread=")]
        path, spread = (given[0], spread[0] if spread else 0.002) if given else (folder + "/study.cfg", 0.49)
        alone = Model(shoal, path, "cpu", 1, 1, more)
        k = alone.k
        cube, theta, known = (c_double * (N_KNOWN * k))(), (c_double * (N_KNOWN * k))(), (c_double * N_KNOWN)()
        for i in range(N_KNOWN * k):
            cube[i] = random.uniform(0.5 - spread, 0.5 + spread)
        alone.check(shoal.shoal_model_prior_transform(alone.model, c_long(N_KNOWN), cube, theta))
        alone.evaluate(N_KNOWN, theta, known)
        alone.close()
        for n in counts:
            model = Model(shoal, path, engine, threads[0] if threads else 0, n, more)
            many, lnl = (c_double * (n * k))(), (c_double * n)()
            for i in range(0, n, N_KNOWN):
                memmove(byref(many, 8 * i * k), theta, 8 * k * min(N_KNOWN, n - i))
            model.evaluate(n, many, lnl)
            worst = max(0 if lnl[i] == known[i % N_KNOWN] else abs(lnl[i] / known[i % N_KNOWN] - 1) for i in range(n))
            if not worst <= 1e-12:
                raise SystemExit("%d: wrong by %.1e of itself" % (n, worst))
            start = time.perf_counter()
            model.evaluate(n, many, lnl)
            turns, best = 1 + int(0.3 / (time.perf_counter() - start)), math.inf
            for _ in range(5):
                start = time.perf_counter()
                for _ in range(turns):
                    model.evaluate(n, many, lnl)
                best = min(best, (time.perf_counter() - start) / turns)
            print("%7d at once: %9.3e a second, %8.3f ms a call, wrong by %.0e; %s"
                  % (n, n / best, 1e3 * best, worst, model.line()))
            model.close()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])

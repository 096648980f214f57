#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log likelihoods of transit times for a batch of walkers, from Python, with ctypes and the shared library alone.

Likelihood(...)(batch) takes a list (or array) of parameter vectors, one a walker, and gives a list of ln L: what `emcee` calls with
`vectorize=True`, and other samplers with a function of one's own. All walkers are one ensemble, integrated in one call; the plan is made once and
begins again with each batch. A batch may be of any size: a larger one than the ensemble goes in pieces, of a smaller one the rest is left empty.
Here two planets near 2:1 are observed for three years, with errors of a minute, and the likelihood is asked along
the inner one's mass.

    python3 likelihood.py [libshoal.so]

Units of the library: G = 1, AU, solar masses; a day is 2 pi / 365.2569. The observer is at +z.
"""
import ctypes
import math
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_long, c_void_p

DAY = 2 * math.pi / 365.2568983263281
EARTH = 3.0034896e-6  # Msun


# ---- shoal.h: the structures that are used here, member by member ----------------------------------------------------------

def structure(title, /, **members):
    return type(title, (ctypes.Structure,), {"_fields_": list(members.items())})


Setting = structure("Setting", name=c_char_p, value=c_double, choice=c_char_p)
Plug = structure("Plug", name=c_char_p, settings=POINTER(Setting), n_settings=c_int)
Options = structure("Options", size=c_long, propagator=c_char_p, settings=POINTER(Setting), n_settings=c_int, monitors=POINTER(Plug), n_monitors=c_int,
                    forces=POINTER(Plug), n_forces=c_int, engine=c_char_p, work_model=c_char_p, gpu_block=c_int, gpu_registers=c_int,
                    gpu_bodies=c_int, tune=c_char_p, form=c_char_p, threads=c_int, lanes=c_int, t_end=c_double, orbits=c_double,
                    dt=c_double, steps_per_orbit=c_double, dt_min=c_double, dt_max=c_double, max_steps=c_double)
SURVIVED, JACOBI = 1, 0


def load(path):
    shoal = ctypes.CDLL(path)
    shoal.shoal_context_message.restype = c_char_p
    shoal.shoal_plan_n_logged.restype = c_long
    shoal.shoal_mean_anomaly.restype = shoal.shoal_true_anomaly.restype = c_double
    return shoal


# ---- the likelihood ---------------------------------------------------------------------------------------------------------

class Likelihood:
    """observed: a list of (planet from 1, number of the transit, time [d], error [d]); n_planets, days: from t = 0 on; dt [d]; n_walkers: of the
    ensemble.

    A walker's parameters are, planet by planet: mass [Earths], period [d], time of the transit of number 0 [d], e cos omega, e sin omega. Numbers
    may begin anywhere, below 0 as well."""

    def __init__(self, shoal, observed, n_planets, n_walkers, days, dt):
        self.shoal, self.observed, self.n, self.n_walkers, self.days, self.dt = shoal, observed, n_planets, n_walkers, days, dt
        self.context, self.ensemble, self.plan = c_void_p(), c_void_p(), c_void_p()
        if shoal.shoal_context_create(byref(self.context)):
            raise MemoryError
        self.check(shoal.shoal_ensemble_create(self.context, c_long(n_walkers), n_planets + 1, byref(self.ensemble)))

    def check(self, status):
        if status:
            raise ValueError(self.shoal.shoal_context_message(self.context).decode())

    def system(self, p):
        """[body][m a e inc Omega omega f] of a walker's parameters; NaN, which is no system, of impossible ones."""
        orbits = [1.0] + 6 * [0.0]
        inside = 1.0
        for i in range(self.n):
            mass, period, first, k, h = p[5 * i:5 * i + 5]
            if not (mass >= 0 and period > 0):
                return 7 * (self.n + 1) * [math.nan]
            e, omega = math.hypot(k, h), math.atan2(h, k)
            inside += mass * EARTH
            M = self.shoal.shoal_mean_anomaly(c_double(e), c_double(math.pi / 2 - omega)) - 2 * math.pi * first / period
            f = self.shoal.shoal_true_anomaly(c_double(e), c_double(M))
            orbits += [mass * EARTH, (inside * (period * DAY / (2 * math.pi)) ** 2) ** (1 / 3), e, math.pi / 2, 0.0, omega, f]
        return orbits

    def set(self, batch):
        """Systems from at most n_walkers parameters. What cannot be, or is not there, is left `invalid`: it costs nothing and disturbs nobody."""
        orbits = [value for p in batch for value in self.system(p)]
        orbits += 7 * (self.n + 1) * (self.n_walkers - len(batch)) * [math.nan]
        values = (c_double * len(orbits))(*orbits)
        self.check(self.shoal.shoal_ensemble_set_orbits(self.ensemble, JACOBI, None, values, None))

    def transit_times(self, batch):
        """{(walker, planet): [times in days]} and the walkers that reached the end."""
        self.set(batch)
        if self.plan:
            self.check(self.shoal.shoal_plan_restart(self.plan))
        else:
            scheme, watch = Setting(b"scheme", 0, b"8,4,4"), Plug(b"transits", None, 0)
            options = Options()
            self.check(self.shoal.shoal_options_init(byref(options), c_long(ctypes.sizeof(options))))
            options.propagator, options.settings, options.n_settings = b"saba", ctypes.pointer(scheme), 1
            options.monitors, options.n_monitors = ctypes.pointer(watch), 1
            options.t_end, options.dt = self.days * DAY, self.dt * DAY
            self.check(self.shoal.shoal_plan_create(self.context, self.ensemble, byref(options), byref(self.plan)))
        self.check(self.shoal.shoal_plan_integrate(self.plan, c_double(self.days * DAY)))
        times, outcomes = {}, (c_int * self.n_walkers)()
        for walker, planet, time in zip(*(self.logged(column) for column in (b"system", b"body", b"time"))):
            times.setdefault((int(walker), int(planet)), []).append(time / DAY)
        self.check(self.shoal.shoal_ensemble_get_outcomes(self.ensemble, c_long(0), c_long(self.n_walkers), outcomes))
        lives = {walker for walker in range(len(batch)) if outcomes[walker] == SURVIVED}
        return times, lives

    def logged(self, column):
        """A column of the transits."""
        n = self.shoal.shoal_plan_n_logged(self.plan, b"transits")
        values = (c_double * n)()
        self.check(self.shoal.shoal_plan_get_log(self.plan, b"transits", column, c_long(0), c_long(n), values, c_long(0)))
        return values

    @staticmethod
    def place_of_zero(model, period, first):
        """Where in the list of transits that of number 0 is, or would be: from the one nearest to its time on they are counted."""
        at = min(range(len(model)), key=lambda i: abs(model[i] - first))
        return at - round((model[at] - first) / period)

    def __call__(self, batch):
        return [value for at in range(0, len(batch), self.n_walkers) for value in self.piece(batch[at:at + self.n_walkers])]

    def piece(self, batch):
        """ln L of at most n_walkers parameters."""
        times, lives = self.transit_times(batch)
        result = []
        for walker, p in enumerate(batch):
            value = 0.0 if walker in lives else -math.inf
            zero = {planet: self.place_of_zero(times[walker, planet], *p[5 * planet - 4:5 * planet - 2])
                    for planet in range(1, self.n + 1) if (walker, planet) in times}
            for planet, number, time, error in self.observed if walker in lives else []:
                model, at = times.get((walker, planet), []), number + zero.get(planet, 0)
                off = (model[at] - time) / error if 0 <= at < len(model) else math.inf
                value -= 0.5 * off * off + math.log(math.sqrt(2 * math.pi) * error)
            result.append(value)
        return result

    def close(self):
        self.shoal.shoal_plan_destroy(byref(self.plan))
        self.shoal.shoal_ensemble_destroy(byref(self.ensemble))
        self.shoal.shoal_context_destroy(byref(self.context))


def main():
    shoal = load(sys.argv[1] if len(sys.argv) > 1 else "libshoal.so")
    truth = [5.0, 10.0, 3.0, 0.02, 0.01, 8.0, 20.3, 7.0, -0.01, 0.02]
    error = 1 / 1440

    # what is observed: every other transit of the truth
    first = Likelihood(shoal, [], 2, 1, days=1095, dt=0.5)
    times, _ = first.transit_times([truth])
    first.close()
    observed = [(planet, i, t, error) for (_, planet), all_of in times.items() for i, t in enumerate(all_of) if i % 2 == 0]

    likelihood = Likelihood(shoal, observed, 2, n_walkers=9, days=1095, dt=0.5)
    masses = [1, 3, 4, 4.5, 5, 5.5, 6, 7, 9]
    batch = [[mass] + truth[1:] for mass in masses]
    values = likelihood(batch)
    for mass, value in zip(masses, values):
        print(f"m_b = {mass:3} Earths: ln L = {value:12.2f}")
    again = likelihood(batch[::-1])[::-1]  # in other places of the ensemble: the same bits
    impossible = likelihood([truth[:3] + [1.5, 0] + truth[5:], truth])  # e > 1: no likelihood, and no harm to its neighbour
    sizes = [likelihood(batch[:n]) == values[:n] for n in range(len(batch))] + [likelihood(3 * batch) == 3 * values]  # smaller, larger
    likelihood.observed = [(planet, i - 4 if planet == 1 else i + 100, t, error) for planet, i, t, error in observed]  # other numbers
    moved = likelihood([truth[:2] + [truth[2] + 4 * truth[1]] + truth[3:7] + [truth[7] - 100 * truth[6]] + truth[8:]])
    likelihood.close()
    best = masses[max(range(len(values)), key=values.__getitem__)]
    print(f"{len(observed)} transits; the best mass is {best}")
    if best != 5 or again != values or impossible != [-math.inf, values[4]] or not all(sizes) or abs(moved[0] - values[4]) > 1e-3:
        sys.exit("likelihood.py: this is not what was put in")


if __name__ == "__main__":
    main()

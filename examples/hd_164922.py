# SPDX-License-Identifier: GPL-3.0-or-later
"""Two planets in 401 radial velocities of HD 164922: walkers of emcee over one call a step. STEPS: an argument.

Fulton et al. 2016 (doi:10.3847/0004-637X/830/1/46): P = 1201.1 +- 5.6 and 75.765 +- 0.033 d, K = 7.15 +- 0.21 and
2.22 +- 0.21 m/s. This prints: P = 1199.5 +- 4.1 and 75.72 +- 0.07 d, K = 7.20 +- 0.24 and 2.12 +- 0.27 m/s.
"""

import sys

import emcee
import numpy as np

import shoal

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
model = shoal.Model(shoal.config_path("hd_164922"))
draws = model.draw(20000, seed=1)
best = draws[np.argsort(model.log_prob(draws))[-64:]]
moves = [(emcee.moves.DEMove(), 0.8), (emcee.moves.DESnookerMove(), 0.2)]
sampler = emcee.EnsembleSampler(64, model.n_parameters, model.log_prob, vectorize=True, moves=moves)
sampler.random_state = np.random.RandomState(1).get_state()
sampler.run_mcmc(best, steps)
chain = dict(zip(model.names, sampler.get_chain(discard=steps // 3, flat=True).T, strict=True))
for planet in ("b", "c"):
    P, m, h, k = (chain[f"{planet}.{name}"] for name in ("P", "msini", "h", "k"))
    K = 2 * np.pi * m / np.cbrt(0.874**2 * P / 365.25 * np.sqrt(1 - h**2 - k**2) ** 3) * 4740.47  # AU/yr in m/s
    print(f"{planet}: P = {P.mean():.3f} +- {P.std():.3f} d, K = {K.mean():.2f} +- {K.std():.2f} m/s")

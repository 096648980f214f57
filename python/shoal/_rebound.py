# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations of REBOUND, both ways."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._c import InputError
from ._units import Array, Units

if TYPE_CHECKING:
    from .ensemble import Ensemble

_LENGTHS = {"au": "AU", "m": "m", "cm": "cm", "km": "km", "pc": "pc", "parsec": "pc"}
_MASSES = {"msun": "Msun", "msolar": "Msun", "solarmass": "Msun", "mjupiter": "Mjup", "mearth": "Mearth"}
_MASSES.update({"kg": "kg", "g": "g", "gram": "g"})


def _unit(simulation: Any, dimension: str, known: dict[str, str], otherwise: str) -> str:
    """The name that a unit of REBOUND has here; one that has none is refused, as effects with units would be wrong."""
    name = simulation.units.get(dimension)
    if name is None:
        return otherwise
    try:
        return known[str(name).lower()]
    except KeyError:
        raise InputError(
            f"a simulation with the unit {name!r} of {dimension}: expected one of {', '.join(sorted(known))}"
        ) from None


def _units(simulation: Any) -> str:
    """Of G, which REBOUND has computed of its units; without units those of the library, with that G."""
    length, mass = _unit(simulation, "length", _LENGTHS, "AU"), _unit(simulation, "mass", _MASSES, "Msun")
    return f"{length}, {mass}, G = {float(simulation.G)!r}"


def _count(simulation: Any) -> int:
    """Its bodies, without the particles of variational equations, which N counts up to REBOUND 4."""
    n, n_var = int(simulation.N), max(int(getattr(simulation, "N_var", 0)), 0)
    return n - n_var if hasattr(simulation, "N_real") else n


def _name(particle: Any) -> str | None:
    name = getattr(particle, "name", None)  # REBOUND 5
    return str(name) if name else None


def _names(many: Sequence[Any], counts: Sequence[int]) -> list[str] | None:
    """Those of the largest simulation, if all its bodies have one, and the other simulations the same in its order."""
    largest = int(np.argmax(counts))
    found = [_name(particle) for particle in many[largest].particles[: counts[largest]]]
    names = [name for name in found if name]
    if len(set(names)) < len(found):
        return None
    for i, (simulation, n) in enumerate(zip(many, counts, strict=True)):
        for k in range(n):
            name = _name(simulation.particles[k])
            if name and name != names[k]:
                warnings.warn(
                    f"simulation {i}: body {k} is called {name!r}, and {names[k]!r} in simulation {largest}: the names "
                    "are left out",
                    stacklevel=4,
                )
                return None
    return names


def _check(i: int, simulation: Any) -> None:
    """Refuse what bodies alone do not say: other forces, a box."""
    for name in ("additional_forces", "pre_timestep_modifications", "post_timestep_modifications"):
        if getattr(simulation, f"_{name}", None):
            raise InputError(f"simulation {i} has {name}, which its bodies do not bring along: give `forces`")
    if float(simulation.softening) != 0:
        raise InputError(f"simulation {i} has a softening of {simulation.softening}: there is none here")
    if simulation.boundary != "none":
        raise InputError(f"simulation {i} has the boundary {simulation.boundary!r}: space has no walls here")


def read(cls: type[Ensemble], simulations: Any) -> Ensemble:
    if isinstance(simulations, (str, os.PathLike)):
        import rebound

        simulations = rebound.Simulationarchive(os.fspath(simulations))
    many = [simulations] if hasattr(simulations, "particles") else list(simulations)
    if not many:
        raise InputError("no simulations: expected one or more")
    counts = [_count(simulation) for simulation in many]
    values = np.full((len(many), max(counts), 7), np.nan)
    radii = np.zeros(values.shape[:2])
    units = _units(many[0])
    for i, (simulation, n) in enumerate(zip(many, counts, strict=True)):
        if _units(simulation) != units:
            raise InputError(f"simulation {i} has other units or another G than the first")
        m, r = np.empty(int(simulation.N)), np.empty(int(simulation.N))
        xyz, vxvyvz = np.empty((len(m), 3)), np.empty((len(m), 3))
        simulation.serialize_particle_data(m=m, r=r, xyz=xyz, vxvyvz=vxvyvz)
        _check(i, simulation)
        active = int(simulation.N_active)
        if 0 < active < n and m[active:n].any():
            raise InputError(f"simulation {i}: a test particle (beyond N_active) has a mass, and would attract others")
        values[i, :n, 0], radii[i, :n] = m[:n], r[:n]
        values[i, :n, 1:4], values[i, :n, 4:] = xyz[:n], vxvyvz[:n]
    names = _names(many, counts)
    t = np.array([float(simulation.t) for simulation in many])
    made, named = Units(units), [many[0].units[dimension] for dimension in ("length", "time", "mass")]
    made.of_rebound = None if None in named else tuple(named)
    return cls(values, None, radii if radii.any() else None, t, made, names)


def write(state: Array, radii: Array, t: float, G: float, names: Sequence[str], units: Units | None) -> Any:
    import rebound

    if np.isnan(state[:, 0]).all():
        raise InputError(f"t = {t:.17g}: the system has no state: it had ended, or is invalid")
    simulation = rebound.Simulation()
    if units and units.of_rebound:
        simulation.units = units.of_rebound
    simulation.G, simulation.t = G, t
    named = any(name != str(i) for i, name in enumerate(names)) and hasattr(rebound.Particle, "name")
    for i, body in enumerate(state):
        if np.isnan(body[0]):
            continue
        m, x, y, z, vx, vy, vz = (float(number) for number in body)
        more = {"name": names[i]} if named else {}
        simulation.add(m=m, r=float(radii[i]), x=x, y=y, z=z, vx=vx, vy=vy, vz=vz, **more)
    return simulation

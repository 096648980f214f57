# SPDX-License-Identifier: GPL-3.0-or-later
"""Fits: the program's `shoal fit`, and the file that it writes."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._c import Error, InputError, InterruptedRun, UnsupportedError, program
from ._config import Config, Overrides, _override_texts, identity, write_settings

if TYPE_CHECKING:
    import subprocess


class Posterior:
    """What a fit has found.

    Attributes
    ----------
    path : str or None
        The file of the draws: HDF5 and netCDF-4, as ArviZ lays them out; None with ``fit.method = "optimise"``.
    precise : bool
        Whether the fit ended by its precision, and not by ``fit.steps``; the same call with more steps goes on.
    optimum : dict of str to (float, float), or None
        Of ``fit.method = "optimise"``: each parameter and its standard deviation, in the order of `Model.names`, to
        the two digits of the deviation that the program prints.
    step_error : float, or None
        By how many sigma half the step moves the parameters (docs/fit.md); None if the propagator has no such step.
    summary : str
        Median, quantiles, R-hat and sample sizes of each parameter, or the optimum, as the program prints them.
    """

    def __init__(self, path: str | None, precise: bool, summary: str) -> None:
        self.path, self.precise, self.summary = path, precise, summary
        self.optimum: dict[str, tuple[float, float]] | None = _read_optimum(summary)
        found = re.search(r"^step error .* by (\S+) sigma$", summary, re.MULTILINE)
        self.step_error = float(found[1]) if found else None

    def __repr__(self) -> str:
        where = self.path or "without draws"
        return f"<shoal.Posterior {where}{'' if self.precise else ', not precise yet'}>\n{self.summary}"

    def arviz(self) -> Any:
        """The draws as ArviZ opens them: InferenceData (0.x) or a DataTree (1.x), by h5netcdf or netCDF4."""
        if self.path is None:
            raise InputError("an optimum has no draws: expected another fit.method")
        from importlib.util import find_spec

        import arviz

        # said, since xarray does not see from the first bytes of a file of Shoal what it is
        engine = "h5netcdf" if find_spec("h5netcdf") and find_spec("h5py") else "netcdf4"
        return arviz.from_netcdf(self.path, engine=engine)


def fit(
    config: Config,
    overrides: Overrides = None,
    *,
    output: str | os.PathLike[str] = "fit.h5",
    overwrite: bool = False,
    progress: bool = False,
    allow_plugins: bool = False,
) -> Posterior:
    """Find the posterior of a config with `data`.

    Parameters
    ----------
    config : str, path or dict
        A config file, or a dictionary of the same keys; its group ``fit`` says how (docs/fit.md).
    overrides : dict, optional
        Values in the place of those of the config: ``{"fit.ess": 1000}``.
    output : str or path
        The file of the draws. A fit that was interrupted leaves a journal beside it, and the same call goes on.
    overwrite : bool
        An output file that is there may be replaced.
    progress : bool
        Let the program show how far it is.
    allow_plugins : bool
        Allow the config to name C files, which are compiled and run.

    Returns
    -------
    Posterior

    Raises
    ------
    Error
        With the line of the program.
    InterruptedRun
        After Ctrl-C.
    """
    import subprocess  # these two are slow to import
    import tempfile

    path = os.path.abspath(os.fspath(output))
    made = ""
    if not isinstance(config, Mapping):
        source = os.fspath(config)
    else:
        # In this folder, since names of files in a dictionary are names here.
        number, made = tempfile.mkstemp(".cfg", "fit-", ".", text=True)
        with os.fdopen(number, "w") as file:
            file.write(write_settings(config))
        source = made
    before = identity(path)
    words = [source, *_override_texts(overrides), *_override_texts({"fit.file": path})]
    every = ["--progress=1" if sys.stderr.isatty() else "--progress=10"] if progress else []
    options = [*["--force"] * overwrite, *["--allow-plugins"] * allow_plugins, *every]
    try:
        child = subprocess.Popen(
            [program(), "fit", *options, "--", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said, errors = _wait(child, progress)
    finally:
        if made:
            os.unlink(made)
    for line in errors:
        if line.startswith("warning: "):
            warnings.warn(line.removeprefix("warning: "), stacklevel=2)
    last = errors[-1] if errors else f"exit status {child.returncode}"
    if child.returncode == 130:
        raise InterruptedRun(last)
    if child.returncode == 3:
        raise UnsupportedError(last)
    if child.returncode == 2:
        raise InputError(last)
    drawn = identity(path) != before
    if child.returncode != 0 and not (child.returncode == 1 and drawn):
        raise Error(last)
    return Posterior(path if drawn else None, child.returncode == 0, said)


def _read_optimum(summary: str) -> dict[str, tuple[float, float]] | None:
    """NAME [UNIT] OPTIMUM SIGMA of the lines between the heading and that of ln L; names may have spaces."""
    lines = summary.splitlines()
    heads = [i for i, line in enumerate(lines) if line.split() == ["parameter", "optimum", "sigma"]]
    if not heads:
        return None
    optimum = {}
    ends = max(i for i, line in enumerate(lines) if line.startswith("ln L "))
    for line in lines[heads[0] + 1 : ends]:
        name, value, sigma = line.rsplit(maxsplit=2)
        optimum[re.sub(r" \[[^][]*\]$", "", name.rstrip())] = float(value), float(sigma)
    return optimum


def _wait(child: subprocess.Popen[str], progress: bool) -> tuple[str, list[str]]:
    """What it prints, and the lines of stderr. A Ctrl-C ends it in order: a terminal tells it, a notebook does not."""
    errors: list[str] = []

    def read() -> None:
        live = False
        for line in child.stderr or ():
            if not line.strip():
                continue
            errors.append(line.rstrip("\n").removeprefix("shoal: "))
            if progress and re.match("step [0-9]|optimum: ", errors[-1]):
                live = sys.stderr.isatty()
                print(f"\r\x1b[K{errors[-1][:100]}" if live else errors[-1], end="" if live else "\n", file=sys.stderr)
                sys.stderr.flush()
        if live:
            print(file=sys.stderr)

    def wait() -> str:
        said = child.stdout.read() if child.stdout else ""
        child.wait()
        reader.join()
        return said

    reader = threading.Thread(target=read)
    reader.start()
    try:
        return wait(), errors
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        return wait(), errors

# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of docs/notebooks run, and say what they promise."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


def run(name, tmp_path, monkeypatch):
    for needed in ("pandas", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    for block in re.findall(
        r"^```{code-cell}\n(.*?)^```$", (FOLDER / f"{name}.md").read_text(), re.DOTALL | re.MULTILINE
    ):
        exec(block, space)
    return space


def test_stability_map(tmp_path, monkeypatch):
    drift = run("stability_map", tmp_path, monkeypatch)["drift"].values
    assert drift.shape == (12, 20) and np.isfinite(drift).any() and np.isnan(drift).any()


def test_published_errors(tmp_path, monkeypatch):
    space = run("published_errors", tmp_path, monkeypatch)
    assert 20 < space["lives"].sum() < 380 and max(space["decides"].values()) > 0.3


def test_velocities(tmp_path, monkeypatch):
    pytest.importorskip("emcee")
    space = run("velocities", tmp_path, monkeypatch)
    assert 1150 < np.median(space["chain"][:, space["model"].names.index("b.P")]) < 1250


def test_transit_times(tmp_path, monkeypatch):
    pytest.importorskip("scipy")
    space = run("transit_times", tmp_path, monkeypatch)
    assert 2 * space["best"].cost < 106 and np.allclose(space["masses"], [3.7, 4.4, 5.7], atol=1.9)


def test_fit_to_stability(tmp_path, monkeypatch):
    pytest.importorskip("emcee")
    assert (run("fit_to_stability", tmp_path, monkeypatch)["result"]["megno"] < 4).sum() > 32


def test_many_systems(tmp_path, monkeypatch):
    space = run("many_systems", tmp_path, monkeypatch)
    assert 2.0 < space["apart"][~space["lives"]].max() < 4.5


def test_custom_force(tmp_path, monkeypatch):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert np.allclose(run("custom_force", tmp_path, monkeypatch)["moved"] / 5e-5, 1, atol=0.4)


def test_every_page_is_listed():
    pages = {path.name for path in FOLDER.glob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"\]\((\w+\.md)\)", (FOLDER / "README.md").read_text()))

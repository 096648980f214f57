# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks of README.md and docs/python.md that are marked `python` run in order, beside the configs."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import shoal

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"


def blocks_of(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def test_readme(capsys):
    (block,) = blocks_of(ROOT / "README.md")
    exec(block, {})
    assert re.fullmatch(r"[4-9]\d\d of 1000 survived\n", capsys.readouterr().out)


def test_page(tmp_path, monkeypatch, capsys):
    for needed in ("rebound", "pandas", "matplotlib", "emcee"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (tmp_path / "configs").symlink_to(shoal.config_path("sun_jupiter_saturn").parent)
    space: dict = {}
    blocks = blocks_of(PAGE)
    assert len(blocks) > 5
    for block in blocks:
        exec(block, space)
    assert "REBOUND" in capsys.readouterr().out
    assert space["agree"] > 0.9
    assert (tmp_path / "drift.png").exists() and space["drift"].values.shape == (6, 5)
    assert np.isfinite(space["sampler"].get_log_prob()).any()
    assert space["later"].t == 100.0


def test_a_fit_in_thirty_lines(monkeypatch, capsys):
    pytest.importorskip("emcee")
    example = ROOT / "examples" / "hd_164922.py"
    assert len(example.read_text().splitlines()) <= 30
    monkeypatch.setattr(sys, "argv", ["hd_164922.py", "150"])
    chain = runpy.run_path(str(example))["chain"]
    assert 1100 < np.median(chain["b.P"]) < 1300 and 75 < np.median(chain["c.P"]) < 76.5
    assert "b: P = 1" in capsys.readouterr().out

# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks of docs/python.md that are marked `python` run in order, in an empty folder with the configs."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import shoal

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"


def test_page(tmp_path, monkeypatch, capsys):
    for needed in ("rebound", "pandas", "matplotlib", "emcee"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (tmp_path / "configs").symlink_to(shoal.config_path("sun_jupiter_saturn").parent)
    space: dict = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
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

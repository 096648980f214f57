# SPDX-License-Identifier: GPL-3.0-or-later
"""What several tests use."""

import sys

import pytest


@pytest.fixture
def calls_of():
    """How many functions, of Python and of C, Python calls to do something."""

    def count(something):
        n = 0

        def note(_frame, event, _argument):
            nonlocal n
            n += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            something()
        finally:
            sys.setprofile(None)
        return n

    return count

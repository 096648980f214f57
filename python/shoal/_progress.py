# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run shows of itself, and how Ctrl-C ends it."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any


class Watch:
    """While a run goes on: a bar of tqdm, if there is tqdm, and a Ctrl-C that asks the run to end in order."""

    def __init__(self, show: bool, what: str) -> None:
        self.asked = False
        self._bar: Any = None
        self._before: Any = None
        self._show, self._what = show, what

    def __enter__(self) -> Watch:
        if self._show:
            try:
                from tqdm.auto import tqdm

                form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
                self._bar = tqdm(total=1.0, desc=self._what, bar_format=form)
            except ImportError:
                self._bar = None
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def show(self, fraction: float, text: str = "") -> None:
        if self._bar is not None:
            self._bar.n = min(fraction, 1.0)
            self._bar.set_postfix_str(text, refresh=True)
        elif self._show and sys.stderr.isatty():
            print(f"\r{self._what}: {100 * fraction:.0f} % {text}\x1b[K", end="", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._bar is not None:
            self._bar.close()
        elif self._show and sys.stderr.isatty():
            print(file=sys.stderr)

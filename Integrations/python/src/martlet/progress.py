# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol, TextIO

from .result import Result

__all__ = ["Progress", "make_progress"]


class Progress(Protocol):
    """What `martlet.fetch` reports its progress to."""

    def add(self, result: Result) -> None:
        """Count a row."""

    def close(self) -> None:
        """Show the final counts."""


class _NoProgress:
    def add(self, result: Result) -> None:
        pass

    def close(self) -> None:
        pass


class TerminalProgress:
    """One line on a terminal, drawn at most five times a second."""

    def __init__(
        self, stream: TextIO, total: int | None = None, clock: Callable[[], float] = time.monotonic, width: int = 79
    ) -> None:
        self._stream = stream
        self._total = total
        self._clock = clock
        self._width = width
        self._started = self._drawn = clock()
        self._rows = self._failed = self._bytes = 0

    def add(self, result: Result) -> None:
        """Count a row."""
        self._rows += 1
        self._failed += not result.ok
        self._bytes += result.bytes or 0
        if self._clock() - self._drawn >= 0.2:
            self._draw()

    def close(self) -> None:
        """Draw the final counts and end the line."""
        self._draw()
        self._stream.write("\n")
        self._stream.flush()

    def _draw(self) -> None:
        self._drawn = self._clock()
        seconds = max(self._drawn - self._started, 1e-9)
        rows = f"{self._rows:,}" if self._total is None else f"{self._rows:,}/{self._total:,}"
        line = f"{rows} rows, {self._failed:,} failed, {_size(self._bytes)}, {self._rows / seconds:,.0f} rows/s"
        if self._total and 0 < self._rows < self._total:
            line += f", {seconds * (self._total - self._rows) / self._rows:,.0f} s left"
        self._stream.write("\r" + line[: self._width].ljust(self._width))
        self._stream.flush()


class TqdmProgress:
    """A bar of tqdm."""

    def __init__(self, total: int | None = None) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=total, unit="row", unit_scale=True)
        self._failed = 0

    def add(self, result: Result) -> None:
        """Count a row."""
        if not result.ok:
            self._failed += 1
            self._bar.set_postfix(failed=self._failed, refresh=False)
        self._bar.update()

    def close(self) -> None:
        """Close the bar."""
        self._bar.close()


def make_progress(progress: bool | Progress | None, total: int | None) -> Progress:
    """Return the progress that an argument means.

    ``None``: tqdm's if it is installed, else one line, and none if standard error is not a terminal. ``True``: the same
    without a terminal. ``False``: none.
    """
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    if progress is False:
        return _NoProgress()
    if progress is not True:
        return progress
    try:
        return TqdmProgress(total)
    except ImportError:
        return TerminalProgress(sys.stderr, total)


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"

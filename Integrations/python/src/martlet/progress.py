# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TextIO

from .result import Result

__all__ = ["Counts", "Progress", "make_progress"]


@dataclass(frozen=True)
class Counts:
    """The counts of a run while it works. Rows in an incomplete shard have no result yet.

    Attributes:
        rows: the rows that were read.
        done: the rows that are done and reported.
        stored: the rows whose content is in an incomplete shard.
        failed: the rows that failed, by reason.
        reported_before: the rows that earlier runs have reported.
        failed_before: those of them that failed.
        bytes: the bytes that were received.
        rate: bytes per second over the last few seconds.
        row_rate: rows per second over the last few seconds.
        complete: whether the table was read to its end.
    """

    rows: int = 0
    done: int = 0
    stored: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    reported_before: int = 0
    failed_before: int = 0
    bytes: int = 0
    rate: float = 0.0
    row_rate: float = 0.0
    complete: bool = False

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> Counts:
        """Return the counts of a line of ``--counts``.

        Raises:
            KeyError: it has none.
        """
        return cls(
            rows=value["rows"],
            done=value["done"],
            stored=value["stored"],
            failed=dict(value["failed"]),
            reported_before=value["reportedBefore"],
            failed_before=value["failedBefore"],
            bytes=value["bytes"],
            rate=value["rate"],
            row_rate=value["rowRate"],
            complete=value["complete"],
        )

    @property
    def ended(self) -> int:
        """The rows that have ended, also in earlier runs."""
        return self.reported_before + self.done + self.stored + sum(self.failed.values())

    @property
    def failures(self) -> int:
        """The rows that failed, also in earlier runs."""
        return self.failed_before + sum(self.failed.values())

    def reasons(self, most: int = 3) -> dict[str, int]:
        """The most frequent reasons of failures, with their rows."""
        return dict(sorted(self.failed.items(), key=lambda item: (-item[1], item[0]))[:most])


class Progress(Protocol):
    """What `martlet.fetch` reports its progress to.

    If it also has a method ``counts``, that is called with the `Counts` about once a second, on the thread that
    iterates over the results while it waits for the next one.
    """

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
    """One line on a terminal, drawn at most five times a second; it also counts rows in incomplete shards."""

    def __init__(
        self, stream: TextIO, total: int | None = None, clock: Callable[[], float] = time.monotonic, width: int = 79
    ) -> None:
        self._stream = stream
        self._total = total
        self._clock = clock
        self._width = width
        self._started = self._drawn = clock()
        self._rows = self._failed = self._bytes = 0
        self._counts: Counts | None = None

    def add(self, result: Result) -> None:
        """Count a row."""
        self._rows += 1
        self._failed += not result.ok
        self._bytes += result.bytes or 0
        if self._clock() - self._drawn >= 0.2:
            self._draw()

    def counts(self, counts: Counts) -> None:
        """Draw the counts of the run."""
        self._counts = counts
        self._draw()

    def close(self) -> None:
        """Draw the final counts and end the line."""
        self._draw()
        self._stream.write("\n")
        self._stream.flush()

    def _draw(self) -> None:
        self._drawn = self._clock()
        seconds = max(self._drawn - self._started, 1e-9)
        counts = self._counts or Counts()
        # Results may be newer than the counts, and the counts have rows without a result.
        done, failed = max(self._rows, counts.ended), max(self._failed, counts.failures)
        rate = done / seconds if self._counts is None else counts.row_rate
        rows = f"{done:,}" if self._total is None else f"{done:,}/{self._total:,}"
        line = f"{rows} rows, {failed:,} failed, {_size(max(self._bytes, counts.bytes))}, {rate:,.0f} rows/s"
        if self._total and 0 < done < self._total:
            line += f", {seconds * (self._total - done) / done:,.0f} s left"
        if reasons := counts.reasons():
            line += "; " + ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
        self._stream.write("\r" + line[: self._width].ljust(self._width))
        self._stream.flush()


class TqdmProgress:
    """A bar of tqdm."""

    def __init__(self, total: int | None = None) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=total, unit="row", unit_scale=True)
        self._rows = self._failed = 0
        self._counts = Counts()

    def add(self, result: Result) -> None:
        """Count a row."""
        self._rows += 1
        if not result.ok:
            self._failed += 1
        self._show(is_failure=not result.ok)

    def counts(self, counts: Counts) -> None:
        """Show the counts of the run."""
        self._counts = counts
        self._show(is_failure=bool(counts.failed))

    def _show(self, is_failure: bool) -> None:
        if is_failure:
            failed = max(self._failed, self._counts.failures)
            self._bar.set_postfix({"failed": failed, **self._counts.reasons()}, refresh=False)
        # Results may be newer than the counts, and the counts have rows without a result.
        self._bar.update(max(0, max(self._rows, self._counts.ended) - self._bar.n))

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

# SPDX-License-Identifier: Apache-2.0
"""A picture of a run from its reports: ``python -m martlet.plot REPORT… -o run.svg``.

The upper curve is the rate of finished rows, the lower one the number of hosts with at least one row in flight. Both
are from the columns ``started`` and ``ended``.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .domains import host_of
from .result import Result, read_report

__all__ = ["Series", "main", "measure", "svg"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 760, 170, 64, 44, 54


@dataclass(frozen=True)
class Series:
    """What is drawn; each list has a value per interval.

    Attributes:
        interval: the length of an interval in seconds.
        rates: rows that finished per second.
        failed: rows that failed per second.
        hosts: hosts with a row in flight at some time of the interval.
    """

    interval: float
    rates: list[float]
    failed: list[float]
    hosts: list[int]


def measure(results: Iterable[Result], intervals: int = 200) -> Series:
    """Count rows and hosts over time.

    Raises:
        ValueError: no row has a start and an end.
    """
    rows = [
        (result.started, result.ended, host_of(result.url), result.ok)
        for result in results
        if result.started is not None and result.ended is not None
    ]
    if not rows:
        raise ValueError("the report has no row with a start and an end")
    first, last = min(row[0] for row in rows), max(row[1] for row in rows)
    interval = max(last - first, 1e-3) / intervals

    def index(time: float) -> int:
        return min(max(int((time - first) / interval), 0), intervals - 1)

    finished, failed = [0] * intervals, [0] * intervals
    spans: dict[str, list[tuple[int, int]]] = {}
    for started, ended, host, is_ok in rows:
        finished[index(ended)] += 1
        failed[index(ended)] += not is_ok
        spans.setdefault(host, []).append((index(started), index(ended)))
    hosts = [0] * (intervals + 1)
    for of_host in spans.values():
        for begin, end in _merged(of_host):
            hosts[begin] += 1
            hosts[end + 1] -= 1
    for position in range(1, intervals):
        hosts[position] += hosts[position - 1]
    return Series(interval, [n / interval for n in finished], [n / interval for n in failed], hosts[:intervals])


def _merged(spans: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Join overlapping intervals, so that a host counts once."""
    spans.sort()
    begin, end = spans[0]
    for next_begin, next_end in spans[1:]:
        if next_begin > end:
            yield begin, end
            begin, end = next_begin, next_end
        else:
            end = max(end, next_end)
    yield begin, end


def svg(series: Series, title: str) -> str:
    """Return the picture."""
    seconds = series.interval * len(series.rates)
    height = _TOP + 2 * _HEIGHT + _GAP + 40
    body = [
        _panel(_TOP, "rows per second", [(series.rates, "rate"), (series.failed, "failed")], seconds, axis=False),
        _panel(_TOP + _HEIGHT + _GAP, "hosts in flight", [(series.hosts, "hosts")], seconds, axis=True),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            "<style>text{font:12px sans-serif;fill:#444}.title{font-size:15px;fill:#111}.grid{stroke:#ddd}"
            "path{fill:none;stroke-width:1.5}.rate{stroke:#1f6fb4}.failed{stroke:#c23b22}.hosts{stroke:#2a8a4a}"
            "rect{fill:#fff}</style>",
            f'<rect width="{_LEFT + _WIDTH + 20}" height="{height}"/>',
            f'<text class="title" x="{_LEFT}" y="20">{escape(title)}</text>',
            *body,
            "</svg>\n",
        ]
    )


def _panel(top: int, name: str, curves: Sequence[tuple[Sequence[float], str]], seconds: float, *, axis: bool) -> str:
    most = max(max(values) for values, _ in curves)
    step = _step(most)
    ceiling = max(step, math.ceil(most / step) * step)
    bottom = top + _HEIGHT
    parts = [f'<text x="{_LEFT}" y="{top - 8}">{name}</text>']
    for line in range(round(ceiling / step) + 1):
        y = bottom - _HEIGHT * line * step / ceiling
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{line * step:,.10g}</text>')
    for values, kind in curves:
        if any(values):
            points = " ".join(
                f"{_LEFT + _WIDTH * (index + 0.5) / len(values):.1f},{bottom - _HEIGHT * value / ceiling:.1f}"
                for index, value in enumerate(values)
            )
            parts.append(f'<path class="{kind}" d="M{points.replace(" ", "L")}"/>')
    if axis:
        every = _step(seconds)
        for mark in range(int(seconds / every) + 1):
            x = _LEFT + _WIDTH * mark * every / seconds
            parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{mark * every:,.10g} s</text>')
    return "\n".join(parts)


def _step(most: float) -> float:
    """A round step that divides a range into at most five."""
    if most <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(most / 5))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= most / 5 * 0.999)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m martlet.plot", description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SVG")
    parser.add_argument("--title", default="Rows and hosts over time")
    given = parser.parse_args(arguments)
    try:
        series = measure(result for report in given.reports for result in read_report(report))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    given.output.write_text(svg(series, given.title), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

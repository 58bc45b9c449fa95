# SPDX-License-Identifier: Apache-2.0
"""A simulation of plans for skewed tables: ``python -m martlet.simulate``.

The rows of domains follow Zipf's law, with a given share of the largest one. The tasks of the plan run on a given
number of slots, in order, each for its estimated duration. The result is compared with a lower bound, and with
partitions by the hash of the domain alone.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from .plan import DomainCount, Limits, Pace, Plan, light_cutoff, make_plan

__all__ = ["Outcome", "main", "simulate", "zipf"]


@dataclass(frozen=True)
class Outcome:
    """Figures of one simulation; times are seconds.

    Attributes:
        exponent: Zipf's exponent, from the share of the largest domain.
        large: domains that the plan names.
        plan_bytes: the size of the plan as JSON.
        split: domains that are split.
        parts: tasks.
        largest_part: rows of the largest part.
        imbalance: the largest part's rows over the mean, without parts of a single domain.
        bound_machines: the time that all slots together need at full rate.
        bound_host: the time that the slowest domain needs under its limits.
        makespan: the end of the last task of the plan.
        makespan_hashed: the same, with the domains distributed by hash, in any order.
        planning: seconds for the plan itself on this machine.
    """

    rows: int
    domains: int
    exponent: float
    large: int
    plan_bytes: int
    split: int
    parts: int
    largest_part: int
    imbalance: float
    bound_machines: float
    bound_host: float
    makespan: float
    makespan_hashed: float
    planning: float

    @property
    def bound(self) -> float:
        """The lower bound of any schedule."""
        return max(self.bound_machines, self.bound_host)


def zipf(rows: int, domains: int, largest: float) -> tuple[float, list[int]]:
    """Return the exponent and the rows of each domain, the largest first; each has at least one row.

    Args:
        rows: the sum, approximately; it differs by rounding.
        domains: the number of domains.
        largest: the share of the largest domain, above ``1 / domains``.
    """
    if not 1 / domains < largest < 1:
        raise ValueError(f"the largest of {domains} domains cannot have the share {largest}")
    low, high = 0.0, 8.0
    for _ in range(50):
        middle = (low + high) / 2
        if 1 / _harmonic(domains, middle) < largest:
            low = middle
        else:
            high = middle
    return high, [max(1, round(rows * largest * rank**-high)) for rank in range(1, domains + 1)]


def _harmonic(count: int, exponent: float) -> float:
    """The sum of ``k ** -exponent``: exact for the first terms, then by the Euler-Maclaurin formula."""
    head = min(count, 1000)
    total = math.fsum(rank**-exponent for rank in range(1, head + 1))
    if count == head:
        return total
    if abs(exponent - 1) < 1e-9:
        integral = math.log(count / head)
    else:
        integral = (math.pow(count, 1 - exponent) - math.pow(head, 1 - exponent)) / (1 - exponent)
    return total + integral + (math.pow(count, -exponent) - math.pow(head, -exponent)) / 2


def simulate(
    *, rows: int, domains: int, largest: float, partitions: int, slots: int, limits: Limits, pace: Pace
) -> Outcome:
    """Plan a table of a given distribution, and run its tasks on ``slots`` slots."""
    exponent, sizes = zipf(rows, domains, largest)
    total = sum(sizes)
    cutoff = light_cutoff(total, partitions)
    started = time.perf_counter()
    counts = [DomainCount(f"domain-{rank}.example", size) for rank, size in enumerate(sizes) if size >= cutoff]
    plan = make_plan(counts, total_rows=total, partitions=partitions, limits=limits, pace=pace)
    planning = time.perf_counter() - started
    part_rows, part_seconds = _loads(plan, sizes, limits, pace)
    names: dict[int, int] = {}
    for first, _ in plan.large.values():
        names[first] = names.get(first, 0) + 1
    alone = {index for index, count in names.items() if count == 1}
    alone.update(index for index, part in enumerate(plan.parts) if part.domain is not None)
    shared = [size for index, size in enumerate(part_rows) if index not in alone] or part_rows
    return Outcome(
        rows=total,
        domains=domains,
        exponent=round(exponent, 4),
        large=len(plan.large),
        plan_bytes=len(plan.to_json()),
        split=len({part.domain for part in plan.parts if part.domain is not None}),
        parts=len(plan.parts),
        largest_part=max(part_rows),
        imbalance=max(shared) / (sum(shared) / len(shared)),
        bound_machines=total / (slots * pace.task_rate),
        bound_host=max(DomainCount("", size).seconds(limits, pace) for size in sizes[:1]),
        makespan=_makespan(part_seconds, slots),
        makespan_hashed=_makespan(_hashed(sizes, partitions, limits, pace), slots),
        planning=planning,
    )


def _loads(plan: Plan, sizes: Sequence[int], limits: Limits, pace: Pace) -> tuple[list[int], list[float]]:
    """The actual rows and seconds of each part, with light domains assigned by their hashes."""
    rows = [0] * len(plan.parts)
    slowest = [0.0] * len(plan.parts)
    for rank, size in enumerate(sizes):
        name = f"domain-{rank}.example"
        first, count = plan.large.get(name, (-1, 1))
        seconds = DomainCount(name, size).seconds(limits, pace)
        if count > 1:
            for share in range(count):
                rows[first + share] += size // count + (1 if share < size % count else 0)
                slowest[first + share] = seconds
        else:
            part = first if first >= 0 else plan.part_of(name, name)
            rows[part] += size
            slowest[part] = max(slowest[part], seconds)
    return rows, [max(size / pace.task_rate, least) for size, least in zip(rows, slowest, strict=True)]


def _hashed(sizes: Sequence[int], partitions: int, limits: Limits, pace: Pace) -> list[float]:
    """Seconds of each partition if domains are distributed by hash and the host limits hold."""
    rows = [0] * partitions
    slowest = [0.0] * partitions
    plan = Plan(limits, (), {}, (0, partitions))
    for rank, size in enumerate(sizes):
        name = f"domain-{rank}.example"
        part = plan.part_of(name, name)
        rows[part] += size
        slowest[part] = max(slowest[part], DomainCount(name, size).seconds(limits, pace))
    return [max(size / pace.task_rate, least) for size, least in zip(rows, slowest, strict=True)]


def _makespan(seconds: Iterable[float], slots: int) -> float:
    """The end of the last task if each starts on the slot that is free first."""
    free = [0.0] * slots
    end = 0.0
    for duration in seconds:
        done = heapq.heappop(free) + duration
        heapq.heappush(free, done)
        end = max(end, done)
    return end


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m martlet.simulate", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--domains", type=float, default=5e6)
    parser.add_argument("--largest", type=float, default=0.01, help="share of the largest domain (default: 0.01)")
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--slots", type=int, default=400, help="tasks that run at a time (default: 400)")
    parser.add_argument("--task-rate", type=float, default=Pace.task_rate)
    parser.add_argument("--latency", type=float, default=Pace.latency)
    parser.add_argument("--per-host", type=int, default=Limits.per_host)
    parser.add_argument("--per-domain", type=int)
    parser.add_argument("--host-interval", type=float, default=0.0)
    parser.add_argument("--domain-interval", type=float, default=0.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    try:
        outcome = simulate(
            rows=int(given.rows),
            domains=int(given.domains),
            largest=given.largest,
            partitions=given.partitions,
            slots=given.slots,
            limits=Limits(given.per_host, given.per_domain, given.host_interval, given.domain_interval),
            pace=Pace(given.task_rate, given.latency),
        )
    except ValueError as error:
        parser.error(str(error))
    if given.json:
        print(json.dumps({**asdict(outcome), "bound": outcome.bound}))
    else:
        print(_text(outcome))
    return 0


def _text(outcome: Outcome) -> str:
    bound = outcome.bound
    return "\n".join(
        [
            f"table      {outcome.rows:,} rows, {outcome.domains:,} domains, exponent {outcome.exponent}",
            f"plan       {outcome.parts:,} parts, {outcome.large:,} large domains, {outcome.split} split,"
            f" {outcome.plan_bytes / 1e6:.1f} MB, made in {outcome.planning:.1f} s",
            f"parts      at most {outcome.largest_part:,} rows; imbalance of shared parts {outcome.imbalance:.2f}",
            f"bound      {_hours(bound)}: machines {_hours(outcome.bound_machines)},"
            f" largest host {_hours(outcome.bound_host)}",
            f"makespan   {_hours(outcome.makespan)}, {outcome.makespan / bound:.3f} of the bound",
            f"by hash    {_hours(outcome.makespan_hashed)}, {outcome.makespan_hashed / bound:.3f} of the bound",
        ]
    )


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f} h"


if __name__ == "__main__":
    sys.exit(main())

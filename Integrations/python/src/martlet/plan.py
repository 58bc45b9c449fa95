# SPDX-License-Identifier: Apache-2.0
"""Dividing a table between tasks, so that the limits of a host hold for all of them together.

A *part* is the share of one task. Every registered domain is in exactly one part, unless it is split: then each of its
parts has no other domain, and its share of the limits. So the sum over all parts that run at a time is never above the
limits, without any communication between tasks.

Large domains are assigned by name; the many small ones by a hash of their names, so that the plan stays small: it has
the large domains only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b

__all__ = ["DomainCount", "Limits", "Pace", "Part", "Plan", "light_cutoff", "make_plan"]

#: Parts that `make_plan` keeps open while it fills them, so that parts have domains of similar duration.
_OPEN_PARTS = 16


@dataclass(frozen=True)
class Limits:
    """The limits of one host and one registered domain; intervals are seconds between two requests."""

    per_host: int = 8
    per_domain: int | None = None
    host_interval: float = 0.0
    domain_interval: float = 0.0

    def __post_init__(self) -> None:
        if self.per_host < 1 or (self.per_domain is not None and self.per_domain < 1):
            raise ValueError(f"a limit of connections is at least 1: {self}")
        for interval in (self.host_interval, self.domain_interval):
            if not 0 <= interval < math.inf:
                raise ValueError(f"an interval is a number of seconds, at least 0: {self}")

    @property
    def most_shares(self) -> int:
        """The number of parts between which the limits can be divided: each needs at least one connection."""
        return self.per_host if self.per_domain is None else min(self.per_host, self.per_domain)

    def share(self, index: int, count: int) -> Limits:
        """Return the limits of part ``index`` of ``count``; the sum over all of them is this value's.

        Connections are divided with the remainder for the first parts. Intervals are multiplied by ``count``.
        """
        if not 0 <= index < count <= self.most_shares:
            raise ValueError(f"share {index} of {count} does not exist: at most {self.most_shares}")

        def divided(limit: int) -> int:
            return limit // count + (1 if index < limit % count else 0)

        return Limits(
            per_host=divided(self.per_host),
            per_domain=None if self.per_domain is None else divided(self.per_domain),
            host_interval=self.host_interval * count,
            domain_interval=self.domain_interval * count,
        )


@dataclass(frozen=True)
class Pace:
    """What the planner assumes about speed. Wrong figures cost time; limits hold anyway.

    Attributes:
        task_rate: rows per second of one task, if no host limits it.
        latency: seconds for one row over one connection.
    """

    task_rate: float = 500.0
    latency: float = 0.1

    def __post_init__(self) -> None:
        if not (0 < self.task_rate < math.inf and 0 < self.latency < math.inf):
            raise ValueError(f"a pace is positive: {self}")

    def host_rate(self, limits: Limits) -> float:
        """Rows per second of one host under its limits."""
        rate = limits.per_host / self.latency
        return min(rate, 1 / limits.host_interval) if limits.host_interval else rate

    def domain_rate(self, limits: Limits) -> float:
        """Rows per second of one domain under its own limits; infinite without any."""
        rate = math.inf if limits.per_domain is None else limits.per_domain / self.latency
        return min(rate, 1 / limits.domain_interval) if limits.domain_interval else rate


@dataclass(frozen=True)
class DomainCount:
    """The rows of a registered domain, and of its largest host (by default, all of them)."""

    domain: str
    rows: int
    largest_host: int | None = None

    def seconds(self, limits: Limits, pace: Pace) -> float:
        """The least seconds that the limits permit for this domain."""
        host = self.rows if self.largest_host is None else min(self.largest_host, self.rows)
        return max(self.rows / pace.domain_rate(limits), host / pace.host_rate(limits))


@dataclass(frozen=True)
class Part:
    """The share of one task.

    Attributes:
        limits: what each host and domain of this part may use.
        rows: the estimated number of rows.
        seconds: the estimated duration.
        domain: the only domain, if it is split.
    """

    limits: Limits
    rows: int
    seconds: float
    domain: str | None = None


@dataclass(frozen=True)
class Plan:
    """An assignment of every row to a part.

    Attributes:
        limits: the limits of a host over all parts.
        parts: the parts, the longest first, in the order in which they should start.
        large: the first part and the number of parts of each large domain.
        light: the first part and the number of parts for all other domains.
    """

    limits: Limits
    parts: tuple[Part, ...]
    large: Mapping[str, tuple[int, int]]
    light: tuple[int, int]
    format: int = field(default=1)

    def part_of(self, domain: str, row: str) -> int:
        """Return the index of the part of a row; ``row`` distinguishes the rows of a split domain, such as the URL."""
        home = self.large.get(domain)
        if home is None:
            first, count = self.light
            return first + _hash(domain) % count
        first, count = home
        return first if count == 1 else first + _hash(row) % count

    def to_json(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan of `to_json`.

        Raises:
            ValueError: the text is not a plan, or has another format.
        """
        try:
            value = json.loads(text)
            if value["format"] != 1:
                raise ValueError(f"the plan has format {value['format']}; this version reads format 1")
            return cls(
                limits=Limits(**value["limits"]),
                parts=tuple(
                    Part(Limits(**part["limits"]), part["rows"], part["seconds"], part["domain"])
                    for part in value["parts"]
                ),
                large={name: (home[0], home[1]) for name, home in value["large"].items()},
                light=(value["light"][0], value["light"][1]),
            )
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"not a plan: {error!r}") from error


def light_cutoff(total_rows: int, partitions: int) -> int:
    """Return the number of rows from which a domain is large.

    One percent of a part: hashed domains then differ little in sum, and fewer than ``100 * partitions`` are large.
    """
    return max(2, math.ceil(total_rows / max(partitions, 1) / 100))


def make_plan(
    counts: Iterable[DomainCount],
    *,
    total_rows: int,
    partitions: int,
    limits: Limits | None = None,
    pace: Pace | None = None,
) -> Plan:
    """Divide a table into about ``partitions`` parts.

    - A domain with more rows than an average part is split if its limits let it be faster than one task, into as many
      parts as that needs and the limits permit. Otherwise it has one part, which it does not share.
    - Other large domains are placed greedily by duration, the longest first, so that a part has domains of similar
      durations: a part lasts as long as its slowest domain.
    - All other domains are divided by a hash.

    The same counts in any order yield the same plan.

    Args:
        counts: at least the domains with `light_cutoff` rows; all others are light.
        total_rows: the rows of the table.
        partitions: the number of parts of average size; splits and rounding may change it.
        limits: the limits of a host over all parts.
        pace: the assumed speeds.
    """
    limits, pace = limits or Limits(), pace or Pace()
    if partitions < 1 or total_rows < 0:
        raise ValueError(f"a plan has at least one part and no negative rows: {partitions}, {total_rows}")
    capacity = max(1, math.ceil(total_rows / partitions))
    cutoff = light_cutoff(total_rows, partitions)
    large = sorted(
        (count for count in counts if count.rows >= cutoff),
        key=lambda count: (-count.seconds(limits, pace), -count.rows, count.domain),
    )
    groups = _groups(large, limits, pace, capacity)
    light_rows = max(0, total_rows - sum(count.rows for count in large))
    groups.append(_light_group(light_rows, limits, pace, capacity, cutoff))
    groups.sort(key=lambda group: (-group.seconds, group.domains))
    return _assembled(groups, limits)


@dataclass
class _Group:
    """Consecutive parts with the same domains: one part with several domains, or several with one."""

    domains: list[str]
    rows: int
    seconds: float
    shares: list[Limits]
    is_split: bool = False
    is_light: bool = False


def _groups(large: list[DomainCount], limits: Limits, pace: Pace, capacity: int) -> list[_Group]:
    groups: list[_Group] = []
    opened: list[_Group] = []
    for count in large:
        slowest = count.seconds(limits, pace)
        if count.rows > capacity:
            shares = _shares(count, slowest, limits, pace, capacity)
            seconds = max(slowest, count.rows / shares / pace.task_rate)
            share = [limits.share(index, shares) for index in range(shares)]
            groups.append(_Group([count.domain], count.rows, seconds, share, is_split=shares > 1))
            continue
        group = next((group for group in opened if group.rows + count.rows <= capacity), None)
        if group is None:
            group = _Group([], 0, 0.0, [limits])
            groups.append(group)
            opened = [*opened[-(_OPEN_PARTS - 1) :], group]
        group.domains.append(count.domain)
        group.rows += count.rows
        group.seconds = max(group.seconds, slowest, group.rows / pace.task_rate)
    return groups


def _shares(count: DomainCount, slowest: float, limits: Limits, pace: Pace, capacity: int) -> int:
    """The number of parts of a domain with more rows than a part should have."""
    allowed = count.rows / slowest if slowest > 0 else math.inf
    if allowed <= pace.task_rate:
        return 1
    tasks = math.ceil(count.rows / capacity) if math.isinf(allowed) else math.ceil(allowed / pace.task_rate)
    return max(1, min(tasks, math.ceil(count.rows / capacity), limits.most_shares))


def _light_group(rows: int, limits: Limits, pace: Pace, capacity: int, cutoff: int) -> _Group:
    parts = max(1, math.ceil(rows / capacity))
    slowest = DomainCount("", min(rows, cutoff)).seconds(limits, pace)
    return _Group([], rows, max(rows / parts / pace.task_rate, slowest), [limits] * parts, is_light=True)


def _assembled(groups: list[_Group], limits: Limits) -> Plan:
    parts: list[Part] = []
    large: dict[str, tuple[int, int]] = {}
    light = (0, 1)
    for group in groups:
        home = (len(parts), len(group.shares))
        rows = math.ceil(group.rows / len(group.shares))
        domain = group.domains[0] if group.is_split else None
        parts += [Part(share, rows, group.seconds, domain) for share in group.shares]
        if group.is_light:
            light = home
        large.update((name, home) for name in group.domains)
    return Plan(limits, tuple(parts), large, light)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martlet.plan import DomainCount, Limits, Pace, Plan, light_cutoff, make_plan
from martlet.simulate import main, simulate, zipf

LIMITS = st.builds(
    Limits,
    per_host=st.integers(1, 300),
    per_domain=st.none() | st.integers(1, 300),
    host_interval=st.sampled_from([0.0, 0.0001, 0.01, 1.0]),
    domain_interval=st.sampled_from([0.0, 0.0001, 1.0]),
)
PACES = st.builds(Pace, task_rate=st.floats(1, 1e5), latency=st.floats(0.001, 2))
TABLES = st.lists(st.integers(1, 100_000) | st.integers(1, 20), min_size=0, max_size=60)


def counts_of(sizes: list[int]) -> list[DomainCount]:
    return [DomainCount(f"d{number}.example", size) for number, size in enumerate(sizes)]


@given(TABLES, st.integers(1, 50), LIMITS, PACES)
def test_the_limits_hold_over_all_parts_of_a_domain(sizes: list[int], parts: int, limits: Limits, pace: Pace) -> None:
    counts = counts_of(sizes)
    plan = make_plan(counts, total_rows=sum(sizes), partitions=parts, limits=limits, pace=pace)
    homes = {count.domain: {plan.part_of(count.domain, f"row {row}") for row in range(50)} for count in counts}
    for count in counts:
        first, number = plan.large.get(count.domain, (min(homes[count.domain]), 1))
        assert homes[count.domain] <= set(range(first, first + number))
        shares = [plan.parts[part].limits for part in range(first, first + number)]
        assert sum(share.per_host for share in shares) <= limits.per_host
        assert min(share.per_host for share in shares) >= 1
        if limits.per_domain is not None:
            assert sum(share.per_domain or 0 for share in shares) <= limits.per_domain
            assert min(share.per_domain or 0 for share in shares) >= 1
        for name in ("host_interval", "domain_interval"):
            interval = getattr(limits, name)
            if interval:
                assert sum(1 / getattr(share, name) for share in shares) <= 1 / interval * (1 + 1e-9)
        if number > 1:
            # A share of the limits is for one domain only.
            mine = set(range(first, first + number))
            assert all(not mine & homes[other.domain] for other in counts if other.domain != count.domain)


@given(TABLES, st.integers(1, 50), LIMITS, st.randoms())
def test_the_same_counts_in_any_order_yield_the_same_plan(
    sizes: list[int], parts: int, limits: Limits, order: random.Random
) -> None:
    counts = counts_of(sizes)
    plan = make_plan(counts, total_rows=sum(sizes), partitions=parts, limits=limits)
    order.shuffle(counts)
    assert make_plan(counts, total_rows=sum(sizes), partitions=parts, limits=limits) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert [part.seconds for part in plan.parts] == sorted((part.seconds for part in plan.parts), reverse=True)


@given(TABLES, st.integers(1, 50))
def test_a_part_of_several_large_domains_is_at_most_an_average_part(sizes: list[int], parts: int) -> None:
    total = sum(sizes)
    plan = make_plan(counts_of(sizes), total_rows=total, partitions=parts)
    capacity = -(-total // parts)
    homes = [home for home in plan.large.values() if home[1] == 1]
    for first, _ in homes:
        names = [name for name, home in plan.large.items() if home == (first, 1)]
        rows = sum(sizes[int(name[1:].split(".")[0])] for name in names)
        assert len(names) == 1 or rows <= capacity
    assert len(plan.parts) <= 3 * parts + 1


def test_a_host_above_the_threshold_is_split_if_it_can_be_faster_than_a_task() -> None:
    counts = [DomainCount("big.example", 60_000), DomainCount("small.example", 10_000)]
    fast = Pace(task_rate=100, latency=0.1)
    plan = make_plan(counts, total_rows=100_000, partitions=10, limits=Limits(per_host=32), pace=fast)
    first, number = plan.large["big.example"]
    assert number == 4  # 320 rows/s permitted, 100 for each task
    assert [part.limits.per_host for part in plan.parts[first : first + number]] == [8, 8, 8, 8]
    assert all(part.domain == "big.example" for part in plan.parts[first : first + number])
    slow = make_plan(counts, total_rows=100_000, partitions=10, limits=Limits(host_interval=1.0), pace=fast)
    assert slow.large["big.example"][1] == 1  # one task can keep its pace


def test_a_host_is_not_split_into_more_parts_than_connections() -> None:
    plan = make_plan(
        [DomainCount("big.example", 10_000)],
        total_rows=10_000,
        partitions=100,
        limits=Limits(per_host=5, per_domain=3),
        pace=Pace(task_rate=1, latency=0.001),
    )
    assert plan.large["big.example"][1] == 3
    assert [part.limits.per_host for part in plan.parts if part.domain] == [2, 2, 1]
    assert [part.limits.per_domain for part in plan.parts if part.domain] == [1, 1, 1]


def test_intervals_of_shares_are_multiplied() -> None:
    assert Limits(4, 4, 0.5, 0.25).share(1, 2) == Limits(2, 2, 1.0, 0.5)
    with pytest.raises(ValueError, match="at most 4"):
        Limits(4).share(0, 5)


def test_domains_of_similar_duration_share_parts() -> None:
    slow = [DomainCount(f"slow{n}", 10_000) for n in range(10)]
    quick = [DomainCount(f"quick{n}", 1_000) for n in range(100)]
    plan = make_plan(
        slow + quick, total_rows=200_000, partitions=10, limits=Limits(2), pace=Pace(task_rate=1000, latency=0.2)
    )
    long = [part for part in plan.parts if part.seconds >= 1000]
    assert len(long) == 5  # ten domains of 1,000 s, two in a part, instead of one in each of ten


def test_the_number_of_large_domains_is_bounded() -> None:
    assert light_cutoff(1_000_000_000, 10_000) == 1000
    assert light_cutoff(0, 1) == 2


def test_a_plan_of_another_format_is_refused() -> None:
    plan = make_plan([], total_rows=0, partitions=1)
    other = json.dumps({**json.loads(plan.to_json()), "format": 2})
    with pytest.raises(ValueError, match="format 2"):
        Plan.from_json(other)
    for text in ("{}", "[]", "x", '{"format": 1}'):
        with pytest.raises(ValueError):
            Plan.from_json(text)


@pytest.mark.parametrize("limits", [{"per_host": 0}, {"per_domain": 0}, {"host_interval": -1.0}])
def test_impossible_limits_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at least"):
        replace(Limits(), **limits)  # type: ignore[arg-type]


def test_zipf_has_the_given_largest_share() -> None:
    _, sizes = zipf(1_000_000, 5_000, 0.01)
    assert sizes[0] == 10_000
    assert abs(sum(sizes) - 1_000_000) < 5_000
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(ValueError, match="cannot have"):
        zipf(100, 10, 0.05)


@pytest.mark.parametrize(("per_host", "interval"), [(8, 0.0), (64, 0.0), (256, 0.0), (2, 1.0)])
def test_the_makespan_of_a_skewed_table_is_close_to_the_bound(per_host: int, interval: float) -> None:
    outcome = simulate(
        rows=2_000_000,
        domains=20_000,
        largest=0.01,
        partitions=400,
        slots=20,
        limits=Limits(per_host, host_interval=interval),
        pace=Pace(),
    )
    assert 1 <= outcome.makespan / outcome.bound < 1.2
    assert outcome.makespan <= outcome.makespan_hashed
    assert outcome.imbalance < 1.5


def test_the_simulation_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rows", "1e5", "--domains", "1e3", "--partitions", "20", "--slots", "4", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["domains"] == 1000 and figures["makespan"] >= figures["bound"] > 0
    with pytest.raises(SystemExit):
        main(["--largest", "2"])

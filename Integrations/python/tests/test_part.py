# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from martlet.cluster import Divider, Request
from martlet.domains import Suffixes
from martlet.errors import PlanMismatch, ReportLocked, RunFailed
from martlet.part import Job, Summary, part_directory, report_rows, run_part, write_table
from martlet.plan import DomainCount, Limits, make_plan


def table(path: Path, rows: int = 200) -> None:
    write_table(path, (json.dumps({"url": f"http://a.example/{row}"}).encode() + b"\n" for row in range(rows)))


def rows_of(output: Path, index: int) -> list[int]:
    return sorted(row["row"] for row in report_rows(part_directory(output, index) / "report.jsonl"))


def test_a_part_is_fetched_with_its_limits(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    job = Job(str(tmp_path), executable=fake, shard_size="1G", shard_count=5, options={"jobs": 9})
    summary = run_part(job, 3, Limits(2, 3, 0.5, 0.25), table)
    assert summary == Summary(3, 200, 0, sum(len(f"http://a.example/{row}") for row in range(200)))
    assert rows_of(tmp_path, 3) == list(range(200))
    text = (tmp_path / "log").read_text().replace('", "', " ")
    directory = part_directory(tmp_path, 3)
    for piece in (
        "--domain-interval 0.25 --host-interval 0.5 --jobs 9 --per-domain 3 --per-host 2",
        f"--manifest {directory}/table.jsonl.gz --manifest-format jsonl --report {directory}/report.jsonl",
        f"--shards {directory} --shard-size 1G --shard-count 5",
    ):
        assert piece in text


def test_a_finished_part_is_not_run_again(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(str(tmp_path), executable=fake)
    first = run_part(job, 0, Limits(), table)
    monkeypatch.setenv("FAKE_STATUS", "9")
    assert run_part(job, 0, Limits(), table) == first


def test_a_part_continues_after_its_process_was_killed(
    fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(str(tmp_path), executable=fake, shards=False)
    monkeypatch.setenv("FAKE_DIE_AFTER", "70")
    monkeypatch.setenv("FAKE_TORN", "1")
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    assert run_part(job, 0, Limits(), table).rows == 200
    assert len((tmp_path / "log").read_text().splitlines()) == 3
    assert rows_of(tmp_path, 0) == list(range(200))


def test_a_process_that_is_killed_again_and_again_fails_its_part(fake: str, tmp_path: Path) -> None:
    executable = tmp_path / "dying"
    executable.write_text(f"#!/bin/sh\necho start >>{tmp_path}/log\nkill -9 $$\n")
    executable.chmod(0o755)
    with pytest.raises(RunFailed, match="signal 9") as raised:
        run_part(Job(str(tmp_path), executable=str(executable), shards=False), 0, Limits(), table)
    assert len((tmp_path / "log").read_text().splitlines()) == 4
    copy = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(copy, RunFailed) and copy.status == -9 and str(copy) == str(raised.value)
    assert run_part(Job(str(tmp_path), executable=fake, shards=False), 0, Limits(), table).rows == 200


def test_an_incomplete_report_is_not_a_finished_part(
    fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exit status alone does not say that all rows are done."""
    executable = tmp_path / "lazy"
    executable.write_text("#!/bin/sh\nexit 0\n")
    executable.chmod(0o755)
    with pytest.raises(RunFailed, match="has 0 of 200 rows"):
        run_part(Job(str(tmp_path), executable=str(executable)), 0, Limits(), table)
    assert run_part(Job(str(tmp_path), executable=fake), 0, Limits(), table).rows == 200


def test_failed_rows_do_not_fail_a_part(fake: str, tmp_path: Path) -> None:
    def failing(path: Path) -> None:
        write_table(path, [b'{"url":"http://a.example/404"}\n', b'{"url":"http://a.example/1"}\n'])

    summary = run_part(Job(str(tmp_path), executable=fake), 0, Limits(), failing)
    assert (summary.rows, summary.failed) == (2, 1)


def attempt(output: str, fake: str, queue: multiprocessing.Queue[Summary]) -> None:
    queue.put(run_part(Job(output, executable=fake), 0, Limits(), table))


def test_copies_of_a_task_fetch_each_row_once(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_DELAY", "0.002")
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[Summary] = context.Queue()
    copies = [context.Process(target=attempt, args=(str(tmp_path), fake, queue)) for _ in range(3)]
    for copy in copies:
        copy.start()
    assert {queue.get(timeout=60).rows for _ in copies} == {200}
    for copy in copies:
        copy.join()
    assert rows_of(tmp_path, 0) == list(range(200))
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_a_copy_takes_over_when_the_first_is_killed(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_DELAY", "0.01")
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[Summary] = context.Queue()
    first = context.Process(target=attempt, args=(str(tmp_path), fake, queue))
    first.start()
    report = part_directory(tmp_path, 0) / "report.jsonl"
    while not (report.exists() and report.stat().st_size):
        first.join(0.01)
        assert first.is_alive()
    second = context.Process(target=attempt, args=(str(tmp_path), fake, queue))
    second.start()
    first.kill()
    assert queue.get(timeout=60).rows == 200
    second.join()
    assert rows_of(tmp_path, 0) == list(range(200))


def test_a_report_locked_by_hand_is_waited_for(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = part_directory(tmp_path, 0)
    directory.mkdir()
    report = os.open(directory / "report.jsonl", os.O_RDWR | os.O_CREAT)
    fcntl.flock(report, fcntl.LOCK_EX)
    waits: list[float] = []

    def release(seconds: float) -> None:
        waits.append(seconds)
        os.close(report)

    # Not `time.sleep` itself, which threads of Spark and Ray call as well.
    monkeypatch.setattr("martlet.part.time", SimpleNamespace(sleep=release))
    assert run_part(Job(str(tmp_path), executable=fake), 0, Limits(), table).rows == 200
    assert len(waits) == 1


def test_an_interrupted_table_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write_table(tmp_path / "table.jsonl.gz", (broken() or b"" for _ in range(3)))  # type: ignore[func-returns-value]
    assert list(tmp_path.iterdir()) == []


def request(output: Path | str, **changes: object) -> Request:
    arguments: dict[str, object] = {
        "output": output,
        "limits": Limits(),
        "pace": None,
        "partitions": 4,
        "rows_per_part": 10,
        "shards": True,
        "shard_size": None,
        "shard_count": None,
        "shard_time": None,
        "url_column": "url",
        "columns": None,
        "executable": None,
        "options": {},
        **changes,
    }
    return Request.make(**arguments)  # type: ignore[arg-type]


def test_a_plan_is_made_once(tmp_path: Path) -> None:
    counts = [DomainCount(f"d{number}", 100) for number in range(50)]
    plan = request(tmp_path).plan(lambda: (5000, lambda cutoff: counts))
    assert len(plan.parts) >= 4

    def fail() -> tuple[int, object]:
        raise AssertionError("counted again")

    assert request(tmp_path).plan(fail) == plan  # type: ignore[arg-type]
    with pytest.raises(PlanMismatch, match=r"limits=.*call with the same arguments"):
        request(tmp_path, limits=Limits(3)).plan(fail)  # type: ignore[arg-type]
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(PlanMismatch, match="is not a plan"):
        request(tmp_path).plan(fail)  # type: ignore[arg-type]


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a URL"):
        request("s3://bucket/x")
    with pytest.raises(ValueError, match="at least 1"):
        request(tmp_path, partitions=0)
    with pytest.raises(ValueError, match="need shards=True"):
        request(tmp_path, shards=False, shard_count=3)
    with pytest.raises(TypeError, match="no option 'job'"):
        request(tmp_path, options={"job": 3})
    assert request(tmp_path).job.options["jobs"] == 64


def test_urls_are_assigned_alike_in_all_processes() -> None:
    plan = make_plan([DomainCount("a.example", 500)], total_rows=1000, partitions=10)
    divider = Divider(Suffixes(), plan)
    copy = pickle.loads(pickle.dumps(divider))
    for url in ["http://x.a.example/1", "http://b.test/", "", None, "http://[bad/"]:
        assert divider.part(url) == copy.part(url)
        assert divider.unit(url) == copy.unit(url)


def test_a_locked_report_is_an_error_of_its_own() -> None:
    assert isinstance(pickle.loads(pickle.dumps(ReportLocked(73, "x"))), ReportLocked)

# SPDX-License-Identifier: Apache-2.0
"""One part of a table, fetched by one task of a cluster.

A part has a directory in a file system that all machines share::

    output/part-00012/lock            held by the task and its process
    output/part-00012/table.jsonl.gz  the rows, written once
    output/part-00012/report.jsonl    the report of the executable
    output/part-00012/00000.tar …     shards, or files/ with files
    output/part-00012/done.json       the counts, when the report is complete

A task that runs again finds what an earlier attempt left, and continues. A second copy of a running task waits for the
lock, and then finds the work done, or continues it if the first copy was killed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from .errors import MartletError, ReportLocked, RunFailed
from .executable import find_executable
from .options import Options, RequestOptions, command_line, shard_arguments
from .plan import Limits
from .process import Run

__all__ = ["Job", "Summary", "part_directory", "replace_file", "run_part", "write_table"]

#: Seconds between attempts while another process, which is not a task, writes the report.
# The number of killed runs in a row that have reported nothing, after which a task fails.
_MOST_IDLE_RUNS = 3
_LOCKED_INTERVAL = 1.0


@dataclass(frozen=True)
class Job:
    """What all tasks of one fetch have in common.

    Attributes:
        output: the shared directory.
        executable: the executable on the workers; see `find_executable`.
        shards: whether content is stored in shards, otherwise in files.
        shard_size: the size at which a shard is closed.
        shard_count: the number of rows at which a shard is closed.
        shard_time: the seconds without another row after which a shard is closed.
        options: options of ``martlet get``.
    """

    output: str
    executable: str | None = None
    shards: bool = True
    shard_size: int | str | None = None
    shard_count: int | None = None
    shard_time: float | None = None
    options: RequestOptions = field(default_factory=lambda: RequestOptions())


@dataclass(frozen=True)
class Summary:
    """The counts of a finished part."""

    part: int
    rows: int
    failed: int
    bytes: int


def part_directory(output: str | os.PathLike[str], index: int) -> Path:
    """Return the directory of a part."""
    return Path(output) / f"part-{index:05}"


def run_part(job: Job, index: int, limits: Limits, table: Callable[[Path], None]) -> Summary:
    """Fetch a part, or continue it.

    Args:
        job: the fetch.
        index: the number of the part.
        limits: the part's share of the limits.
        table: creates the file ``table.jsonl.gz`` of the given path atomically; called if it does not exist.

    Raises:
        RunFailed: the executable ended without finishing the part. A later call continues.
    """
    directory = part_directory(job.output, index)
    directory.mkdir(parents=True, exist_ok=True)
    with _lock(directory / "lock") as lock:
        done = directory / "done.json"
        if done.exists():
            return Summary(**json.loads(done.read_text()))
        rows = directory / "table.jsonl.gz"
        if not rows.exists():
            table(rows)
        summary = _run(job, index, limits, directory, lock)
        replace_file(done, json.dumps(asdict(summary)).encode())
        return summary


def write_table(path: Path, lines: Iterable[bytes]) -> int:
    """Write a compressed table atomically, and return its number of rows."""
    count = 0
    with _temporary(path) as file, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=4, mtime=0) as compressed:
        for line in lines:
            compressed.write(line)
            count += 1
    return count


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically and durably."""
    with _temporary(path) as file:
        file.write(content)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Any]:
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[int]:
    """Hold a lock that ends with the last process that has inherited its descriptor."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}:
                raise
            raise MartletError(
                f"the file system of {path} has no locks (flock: {error.strerror}); mount it with them, or use another "
                "shared directory"
            ) from error
        yield number
    finally:
        os.close(number)


def _run(job: Job, index: int, limits: Limits, directory: Path, lock: int) -> Summary:
    report = directory / "report.jsonl"
    command = _command(job, limits, directory, report)
    size, idle_runs = -1, 0
    while True:
        try:
            with Run(command, report, inherited=[lock]) as run:
                run.wait()
            break
        except ReportLocked:
            # Not a task, which would hold the lock of the part: a run by hand.
            time.sleep(_LOCKED_INTERVAL)
        except RunFailed as error:
            # Killed, by the kernel for want of memory, for example. Ray repeats no task that ends with an error.
            now = report.stat().st_size if report.exists() else 0
            idle_runs = 0 if now > size else idle_runs + 1
            size = now
            if error.status >= 0 or idle_runs >= _MOST_IDLE_RUNS:
                raise
    expected = _count_rows(directory / "table.jsonl.gz")
    summary = _summarize(index, report)
    if summary.rows != expected:
        raise RunFailed(0, "", f"the report {report} has {summary.rows} of {expected} rows; run the same call again")
    return summary


def _command(job: Job, limits: Limits, directory: Path, report: Path) -> list[str]:
    options = cast(Options, {**job.options, "per_host": limits.per_host})
    if limits.per_domain is not None:
        options["per_domain"] = limits.per_domain
    if limits.host_interval:
        options["host_interval"] = limits.host_interval
    if limits.domain_interval:
        options["domain_interval"] = limits.domain_interval
    command = [find_executable(job.executable), "get", *command_line(options)]
    command += ["--manifest", str(directory / "table.jsonl.gz"), "--manifest-format", "jsonl", "--report", str(report)]
    if not job.shards:
        return [*command, "--directory", str(directory / "files")]
    command += ["--shards", str(directory)]
    return [*command, *shard_arguments(job.shard_size, job.shard_count, job.shard_time)]


def _count_rows(table: Path) -> int:
    with gzip.open(table, "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def _summarize(index: int, report: Path) -> Summary:
    rows = failed = size = 0
    for value in report_rows(report):
        rows += 1
        failed += value.get("error_code") is not None
        size += value.get("bytes") or 0
    return Summary(index, rows, failed, size)


def report_rows(report: Path) -> Iterator[Mapping[str, Any]]:
    """Read the complete lines of a report; none if it does not exist."""
    if not report.exists():
        return
    with report.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)

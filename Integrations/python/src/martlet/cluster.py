# SPDX-License-Identifier: Apache-2.0
"""What fetching on Spark and on Ray has in common: the output directory, its plan, and the arguments."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import cast

from .columns import Columns, check_columns
from .domains import Suffixes, host_of
from .errors import PlanMismatch
from .options import Options, RequestOptions, command_line
from .part import Job, replace_file
from .plan import DomainCount, Limits, Pace, Plan, light_cutoff, make_plan

__all__ = ["REPORT_COLUMNS", "Counted", "Divider", "Request"]

#: The columns of a report with the names of their types, before the columns of the table.
REPORT_COLUMNS = {
    "part": "int",
    "key": "string",
    "row": "bigint",
    "url": "string",
    "final_url": "string",
    "status": "int",
    "error_code": "string",
    "message": "string",
    "retryable": "boolean",
    "attempts": "int",
    "bytes": "bigint",
    "md5": "string",
    "sha1": "string",
    "sha256": "string",
    "sha384": "string",
    "sha512": "string",
    "etag": "string",
    "last_modified": "string",
    "started": "double",
    "ended": "double",
    "name": "string",
    "checksum": "string",
    "shard": "string",
    "offset": "bigint",
}
_DIGESTS = ("md5", "sha1", "sha256", "sha384", "sha512")
#: The number of rows, and a function that returns the domains with at least a number of rows.
Counted = tuple[int, Callable[[int], Iterable[DomainCount]]]
#: Concurrent rows of a task, unless the caller chooses.
_JOBS = 64


@dataclass(frozen=True)
class Request:
    """The checked arguments of a fetch on a cluster."""

    job: Job
    limits: Limits
    pace: Pace
    partitions: int | None
    rows_per_part: int
    #: The columns that were named, by their meaning.
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def make(
        cls,
        *,
        output: str | os.PathLike[str],
        limits: Limits,
        pace: Pace | None,
        partitions: int | None,
        rows_per_part: int,
        shards: bool,
        shard_size: int | str | None,
        shard_count: int | None,
        shard_time: float | None,
        url_column: str,
        columns: Mapping[str, str] | None,
        executable: str | os.PathLike[str] | None,
        options: RequestOptions,
    ) -> Request:
        """Check the arguments."""
        if "://" in os.fspath(output):
            raise ValueError(f"output is a directory that all machines share under one path, not a URL: {output!r}")
        if (partitions is not None and partitions < 1) or rows_per_part < 1:
            raise ValueError("partitions and rows_per_part are at least 1")
        if not shards and not (shard_size is shard_count is shard_time is None):
            raise ValueError("shard_size, shard_count and shard_time need shards=True")
        options = {**options}
        options.setdefault("jobs", _JOBS)
        command_line(cast(Options, options))
        job = Job(
            output=str(Path(output).absolute()),
            executable=None if executable is None else os.fspath(executable),
            shards=shards,
            shard_size=shard_size,
            shard_count=shard_count,
            shard_time=shard_time,
            options=options,
        )
        named = check_columns(url_column, columns)
        return cls(job, limits, pace or Pace(), partitions, rows_per_part, named)

    def table_columns(self, names: Sequence[str], same: Callable[[str], str] = str) -> Columns:
        """The columns of a table; see `Columns.resolve`."""
        return Columns.resolve(names, self.named, report=REPORT_COLUMNS, same=same)

    @property
    def output(self) -> Path:
        """The shared directory."""
        return Path(self.job.output)

    def digest_column(self) -> str:
        """The column of the digests in the report."""
        return str(self.job.options.get("digest") or "sha256").lower().replace("-", "")

    def columns(self) -> dict[str, str]:
        """The columns of this fetch's reports, with the names of their types."""
        return {
            name: kind for name, kind in REPORT_COLUMNS.items() if name not in _DIGESTS or name == self.digest_column()
        }

    def plan(self, count: Callable[[], Counted]) -> Plan:
        """Return the plan of the output directory, and make it if there is none.

        Args:
            count: counts the rows of the domains.

        Raises:
            PlanMismatch: there is one with other arguments.
        """
        path = self.output / "plan.json"
        if path.exists():
            return self._existing_plan(path)
        total, domains = count()
        partitions = self.partitions or max(1, math.ceil(total / self.rows_per_part))
        plan = make_plan(
            domains(light_cutoff(total, partitions)),
            total_rows=total,
            partitions=partitions,
            limits=self.limits,
            pace=self.pace,
        )
        self.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"arguments": self._fingerprint(), "plan": json.loads(plan.to_json())}, sort_keys=True)
        replace_file(path, text.encode())
        return plan

    def _existing_plan(self, path: Path) -> Plan:
        try:
            value = json.loads(path.read_text())
            recorded, plan = value["arguments"], Plan.from_json(json.dumps(value["plan"]))
        except (ValueError, KeyError, TypeError) as error:
            raise PlanMismatch(f"{path} is not a plan: {error}; remove the directory or name another one") from error
        for name, given in self._fingerprint().items():
            if recorded.get(name) != given:
                raise PlanMismatch(
                    f"{path} was made with {name}={recorded.get(name)!r}, not {given!r}; call with the same arguments "
                    "to continue, or name another output directory"
                )
        return plan

    def _fingerprint(self) -> dict[str, object]:
        """The arguments on which the division and the content of the parts depend."""
        return {
            "limits": asdict(self.limits),
            "pace": asdict(self.pace),
            "partitions": self.partitions,
            "rows_per_part": self.rows_per_part,
            "shards": self.job.shards,
            "shard_size": self.job.shard_size,
            "shard_count": self.job.shard_count,
            "digest": self.digest_column(),
            # Plans of earlier versions have none.
            "columns": dict(self.named) or None,
        }


class Divider:
    """Assigns URLs to parts, with one public suffix list for all processes. It can be pickled."""

    def __init__(self, suffixes: Suffixes, plan: Plan | None = None) -> None:
        self._suffixes = suffixes
        self._plan = plan
        self._prepare()

    def __getstate__(self) -> tuple[Suffixes, Plan | None]:
        return (self._suffixes, self._plan)

    def __setstate__(self, state: tuple[Suffixes, Plan | None]) -> None:
        self._suffixes, self._plan = state
        self._prepare()

    def unit(self, url: str | None) -> tuple[str, str]:
        """Return the registered domain and the host of a URL; empty if there is none."""
        host = host_of(url or "")
        return self._domain(host), host

    def part(self, url: str | None) -> int:
        """Return the part of a URL."""
        assert self._plan is not None
        return self._plan.part_of(self._domain(host_of(url or "")), url or "")

    def _prepare(self) -> None:
        self._domain = lru_cache(maxsize=1 << 16)(self._suffixes.registered_domain)

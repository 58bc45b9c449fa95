# SPDX-License-Identifier: Apache-2.0
"""Fetching a Dataset of URLs on Ray."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import ray
import ray.data

from .cluster import Counted, Divider, Request
from .columns import Columns
from .domains import Suffixes
from .part import Job, Summary, part_directory, replace_file, report_rows, run_part, write_table
from .plan import DomainCount, Limits, Pace
from .rows import json_line

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import RequestOptions

__all__ = ["fetch"]

_ARROW = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
}
#: Rows of a report that are converted at a time.
_BATCH = 10_000


def fetch(
    dataset: ray.data.Dataset,
    output: str | os.PathLike[str],
    *,
    per_host: int = 8,
    per_domain: int | None = None,
    host_interval: float = 0.0,
    domain_interval: float = 0.0,
    partitions: int | None = None,
    rows_per_part: int = 100_000,
    shards: bool = True,
    shard_size: int | str | None = None,
    shard_count: int | None = None,
    shard_time: float | None = None,
    url_column: str = "url",
    columns: Mapping[str, str] | None = None,
    suffix_list: str | os.PathLike[str] | None = None,
    pace: Pace | None = None,
    executable: str | os.PathLike[str] | None = None,
    task_options: Mapping[str, Any] | None = None,
    **options: Unpack[RequestOptions],
) -> ray.data.Dataset:
    """Fetch the rows of a Dataset, and return their reports.

    As `martlet.spark.fetch`, on Ray. Columns that are neither numbers, booleans nor text are JSON text in the result.

    Args:
        dataset: the table: ``url``, and if wanted ``key``, ``name``, ``checksum`` and other columns, which the report
            repeats. Rows without a key get one that is unique in the output.
        output: a directory in a file system that all machines share under this path, with locks (flock).
        per_host: the maximum connections to one host, over all tasks.
        per_domain: the same for a registered domain.
        host_interval: the least seconds between two requests to a host, over all tasks.
        domain_interval: the same for a registered domain.
        partitions: the approximate number of parts; by default as many as ``rows_per_part`` yields.
        rows_per_part: the average number of rows of a part. A task has one part's rows in memory when it sorts them.
        shards: store content in WebDataset shards, otherwise in files.
        shard_size: the size at which a shard is closed.
        shard_count: the number of rows at which a shard is closed.
        shard_time: the seconds without another row after which a shard is closed; by default it is not.
        url_column: the name of the column of URLs.
        columns: the names of columns by their meaning (``key``, ``name``, ``checksum``), such as ``{"key": "ID"}``.
        suffix_list: a public suffix list on this machine; see `Suffixes.load`.
        pace: the assumed speeds, which decide how domains are split.
        executable: the executable on the workers; see `find_executable`.
        task_options: options of the tasks (``ray.remote``); by default ``num_cpus=1`` and ``max_retries=-1``, which
            repeats a task whenever its worker is lost.
        options: options of ``martlet get``, with ``jobs`` 64 by default.

    Returns:
        The reports, read from ``output/report.parquet``: the report's columns, ``part``, and the table's columns.

    Raises:
        PlanMismatch: the output has a plan that was made with other arguments.
        ValueError: the arguments contradict each other, a column is missing, or two columns have the same name.
    """
    request = Request.make(
        output=output,
        limits=Limits(per_host, per_domain, host_interval, domain_interval),
        pace=pace,
        partitions=partitions,
        rows_per_part=rows_per_part,
        shards=shards,
        shard_size=shard_size,
        shard_count=shard_count,
        shard_time=shard_time,
        url_column=url_column,
        columns=columns,
        executable=executable,
        options=options,
    )
    schema = dataset.schema()
    names = request.table_columns(list(schema.names) if schema is not None else list(request.named.values()) or ["url"])
    url = names.own["url"]
    suffixes = Suffixes.load(suffix_list)
    plan = request.plan(lambda: _count(dataset, url, suffixes))
    marker = request.output / "tables.json"
    if not marker.exists():
        has_rows = any(part.rows for part in plan.parts)
        tables = _write_tables(dataset, names, Divider(suffixes, plan), request.output) if has_rows else []
        replace_file(marker, json.dumps(tables).encode())
    report_schema = _schema(request, names, schema)
    settings = {"num_cpus": 1, "max_retries": -1, **(task_options or {})}
    task = ray.remote(**settings)(_task)
    job = ray.put(request.job)
    ray.get([task.remote(job, index, part.limits, report_schema) for index, part in enumerate(plan.parts)])
    return ray.data.read_parquet(str(request.output / "report.parquet"))


def _count(dataset: ray.data.Dataset, url_column: str, suffixes: Suffixes) -> Counted:
    """Count the rows of the domains: in each batch, then over all. Only the large ones reach the driver."""

    def units(batch: pa.Table) -> pa.Table:
        divider = Divider(suffixes)
        counted: dict[tuple[str, str], int] = {}
        for url in batch.column(url_column).to_pylist():
            unit = divider.unit(url)
            counted[unit] = counted.get(unit, 0) + 1
        return pa.table(
            {
                "domain": pa.array([domain for domain, _ in counted], pa.string()),
                "host": pa.array([host for _, host in counted], pa.string()),
                "rows": pa.array(list(counted.values()), pa.int64()),
            }
        )

    from ray.data.aggregate import Max, Sum

    hosts = dataset.map_batches(units, batch_format="pyarrow", batch_size=None)
    hosts = hosts.groupby(["domain", "host"]).aggregate(Sum("rows", alias_name="rows"))
    domains = hosts.groupby("domain").aggregate(Sum("rows", alias_name="rows"), Max("rows", alias_name="largest_host"))
    domains = domains.materialize()
    total = domains.sum("rows") or 0

    def large(cutoff: int) -> Iterable[DomainCount]:
        for row in domains.filter(lambda row: row["rows"] >= cutoff).iter_rows():
            yield DomainCount(row["domain"], int(row["rows"]), int(row["largest_host"]))

    return int(total), large


def _write_tables(dataset: ray.data.Dataset, names: Columns, divider: Divider, output: Path) -> list[dict[str, int]]:
    """Write the table of each part, in the order of a hash, so that the hosts of a part alternate."""
    number = "__part"
    while number in {*names.own.values(), *names.others}:
        number += "_"

    def assign(batch: pa.Table) -> pa.Table:
        parts = [divider.part(url) for url in batch.column(names.own["url"]).to_pylist()]
        return batch.append_column(number, pa.array(parts, pa.int32()))

    def write(group: pa.Table) -> pa.Table:
        part = int(group.column(number)[0].as_py())
        lines = sorted(
            (_row(row, names) for row in group.drop_columns([number]).to_pylist()),
            key=lambda line: blake2b(line, digest_size=8).digest() + line,
        )
        directory = part_directory(output, part)
        directory.mkdir(parents=True, exist_ok=True)
        rows = write_table(directory / "table.jsonl.gz", _with_keys(part, lines))
        return pa.table({"part": pa.array([part], pa.int32()), "rows": pa.array([rows], pa.int64())})

    parts = dataset.map_batches(assign, batch_format="pyarrow", batch_size=None)
    written = parts.groupby(number).map_groups(write, batch_format="pyarrow")
    return sorted(
        ({"part": row["part"], "rows": row["rows"]} for row in written.iter_rows()), key=lambda row: row["part"]
    )


def _row(row: Mapping[str, Any], names: Columns) -> bytes:
    own = {meaning: row.get(name) for meaning, name in names.own.items()}
    return json_line({**own, **{to: row.get(name) for name, to in names.others.items()}})


def _with_keys(part: int, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Give rows without a key one that is unique in the output."""
    for number, line in enumerate(lines):
        row = json.loads(line)
        yield line if row.get("key") is not None else json_line({**row, "key": f"{part:05}-{number:07}"})


def _task(job: Job, index: int, limits: Limits, schema: pa.Schema) -> Summary:
    """Fetch a part, and write its report as Parquet."""
    # A part without rows was not written.
    summary = run_part(job, index, limits, lambda table: _ignored(write_table(table, [])))
    path = Path(job.output) / "report.parquet" / f"part-{index:05}.parquet"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        with pq.ParquetWriter(partial, schema) as writer:
            rows = report_rows(part_directory(job.output, index) / "report.jsonl")
            while batch := list(islice(rows, _BATCH)):
                writer.write_table(_table(batch, index, schema))
        partial.replace(path)
    return summary


def _ignored(_: object) -> None:
    return None


def _table(rows: list[Mapping[str, Any]], index: int, schema: pa.Schema) -> pa.Table:
    arrays = []
    for field in schema:
        if field.name == "part":
            values: list[Any] = [index] * len(rows)
        elif field.name == "shard":
            values = [None if row.get("shard") is None else f"part-{index:05}/{row['shard']}" for row in rows]
        else:
            values = [_plain(row.get(field.name), field.type) for row in rows]
        arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _plain(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind) and value is not None and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value


def _schema(request: Request, names: Columns, given: Any) -> pa.Schema:
    """The types of the result."""
    fields = [pa.field(name, _ARROW[kind]) for name, kind in request.columns().items()]
    kinds = dict(zip(given.names, given.types, strict=True)) if given is not None else {}
    for name, to in names.others.items():
        kind = kinds.get(name)
        is_plain = isinstance(kind, pa.DataType) and (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        )
        fields.append(pa.field(to, kind if is_plain else pa.string()))
    return pa.schema(fields)

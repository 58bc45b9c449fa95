# SPDX-License-Identifier: Apache-2.0
"""Fetching a DataFrame of URLs on Spark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .cluster import Counted, Divider, Request
from .columns import Columns
from .domains import Suffixes
from .part import Job, Summary, run_part, write_table
from .plan import DomainCount, Limits, Pace, Plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import RequestOptions

__all__ = ["fetch"]

_TYPES: dict[str, T.DataType] = {
    "int": T.IntegerType(),
    "bigint": T.LongType(),
    "string": T.StringType(),
    "boolean": T.BooleanType(),
    "double": T.DoubleType(),
}
#: How timestamps are written as JSON, and read again: with all their digits, and without a time zone of the session.
_JSON = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}


def fetch(
    df: DataFrame,
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
    **options: Unpack[RequestOptions],
) -> DataFrame:
    """Fetch the rows of a DataFrame, and return their reports.

    The rows are divided by registered domain, so that the limits hold for the whole cluster (see `martlet.plan`). One
    task fetches one part. A task that runs again continues; so does this call, with the same output and arguments,
    after the program was killed: ``df`` is then not read again.

    Args:
        df: the table: ``url``, and if wanted ``key``, ``name``, ``checksum`` and other columns, which the report
            repeats. Rows without a key get one that is unique in the output. Names are compared as Spark compares
            them: ``URL`` is ``url`` unless ``spark.sql.caseSensitive`` is set.
        output: a directory in a file system that all machines share under this path, with locks (flock).
        per_host: the maximum connections to one host, over all tasks.
        per_domain: the same for a registered domain.
        host_interval: the least seconds between two requests to a host, over all tasks.
        domain_interval: the same for a registered domain.
        partitions: the approximate number of parts; by default as many as ``rows_per_part`` yields.
        rows_per_part: the average number of rows of a part.
        shards: store content in WebDataset shards, otherwise in files.
        shard_size: the size at which a shard is closed.
        shard_count: the number of rows at which a shard is closed.
        shard_time: the seconds without another row after which a shard is closed; by default it is not.
        url_column: the name of the column of URLs.
        columns: the names of columns by their meaning (``key``, ``name``, ``checksum``), such as ``{"key": "ID"}``.
        suffix_list: a public suffix list on this machine; see `Suffixes.load`.
        pace: the assumed speeds, which decide how domains are split.
        executable: the executable on the workers; see `find_executable`.
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
    spark = df.sparkSession
    names = request.table_columns(df.columns, _same(spark))
    schema = _schema(df, names, request)
    suffixes = Suffixes.load(suffix_list)
    plan = request.plan(lambda: _count(df, names, suffixes))
    if not (request.output / "tables" / "_SUCCESS").exists():
        _check(spark, schema, request.output)
        _write_tables(df, names, plan, suffixes, request.output)
    _run(spark, request.job, plan)
    return _collect(spark, schema, request)


def _same(spark: SparkSession) -> Callable[[str], str]:
    """What Spark compares of the names of columns."""
    return str if spark.conf.get("spark.sql.caseSensitive", "false") == "true" else str.lower


def _column(name: str) -> Column:
    """The column of exactly this name."""
    return F.col("`" + name.replace("`", "``") + "`")


def _unused(name: str, columns: Iterable[str]) -> str:
    """A name that no column has."""
    taken = {one.lower() for one in columns}
    while name in taken:
        name += "_"
    return name


def _schema(df: DataFrame, columns: Columns, request: Request) -> T.StructType:
    """The columns of the reports, as they are read from JSON."""
    kinds = {field.name: field.dataType for field in df.schema.fields}
    schema = T.StructType()
    for name, kind in request.columns().items():
        if name != "part":
            schema = schema.add(name, _TYPES[kind])
    for name, to in columns.others.items():
        # Parquet has no column without a type.
        schema = schema.add(to, T.StringType() if isinstance(kinds[name], T.NullType) else kinds[name])
    return schema


def _check(spark: SparkSession, schema: T.StructType, output: Path) -> None:
    """Read and write a report without rows: what cannot be collected at the end fails before the first fetch."""
    directory = output / ".columns"
    directory.mkdir(parents=True, exist_ok=True)
    try:
        (directory / "report.jsonl").touch()
        empty = spark.read.schema(schema).options(**_JSON).json((directory / "report.jsonl").as_uri())
        empty.write.mode("overwrite").parquet((directory / "report.parquet").as_uri())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _count(df: DataFrame, columns: Columns, suffixes: Suffixes) -> Counted:
    """Count the rows of the domains. Only the large ones are sent to the driver."""
    divider = df.sparkSession.sparkContext.broadcast(Divider(suffixes))
    unit = F.udf(
        lambda url: divider.value.unit(url),
        T.StructType([T.StructField("domain", T.StringType()), T.StructField("host", T.StringType())]),
        useArrow=False,
    )
    hosts = (
        df.select(unit(_column(columns.own["url"]).cast("string")).alias("unit"))
        .groupBy("unit.domain", "unit.host")
        .count()
    )
    domains = hosts.groupBy("domain").agg(F.sum("count").alias("rows"), F.max("count").alias("largest_host")).cache()
    total = domains.agg(F.sum("rows")).collect()[0][0] or 0

    def large(cutoff: int) -> Iterable[DomainCount]:
        found = domains.where(F.col("rows") >= cutoff).collect()
        domains.unpersist()
        return [DomainCount(row["domain"], row["rows"], row["largest_host"]) for row in found]

    return int(total), large


def _write_tables(df: DataFrame, columns: Columns, plan: Plan, suffixes: Suffixes, output: Path) -> None:
    """Write the rows of each part as compressed JSON lines.

    Rows are in the order of a hash, so that the hosts of a part alternate, and that the order is always the same.
    """
    divider = df.sparkSession.sparkContext.broadcast(Divider(suffixes, plan))
    part = F.udf(lambda url: divider.value.part(url), T.IntegerType(), useArrow=False)
    url = _column(columns.own["url"])
    number, order = _unused("__part", df.columns), _unused("__order", df.columns)
    if "key" in columns.own:
        key = _column(columns.own["key"]).cast("string")
    else:
        # The lower 33 bits count the rows of a partition.
        counted = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1))
        key = F.format_string("%05d-%07d", F.col(number), counted)
    members = [key.alias("key"), url.alias("url")]
    members += [_column(columns.own[name]).alias(name) for name in ("name", "checksum") if name in columns.own]
    members += [_column(name).alias(to) for name, to in columns.others.items()]
    rows = (
        df.withColumn(number, part(url.cast("string")))
        .withColumn(order, F.xxhash64(*[_column(name).cast("string") for name in df.columns]))
        .repartition(len(plan.parts), number)
        .sortWithinPartitions(F.col(number), F.col(order), url)
    )
    lines = rows.select(F.col(number).alias("part"), F.to_json(F.struct(*members), _JSON).alias("value"))
    lines.write.mode("overwrite").partitionBy("part").option("compression", "gzip").text((output / "tables").as_uri())


def _run(spark: SparkSession, job: Job, plan: Plan) -> list[Summary]:
    """Run one task per part. They depend on the shared directory only, not on data of earlier stages."""
    limits = spark.sparkContext.broadcast([part.limits for part in plan.parts])

    def task(index: int) -> Summary:
        return run_part(job, index, limits.value[index], lambda table: _take_table(job.output, index, table))

    count = len(plan.parts)
    return spark.sparkContext.parallelize(range(count), count).map(task).collect()


def _take_table(output: str, index: int, table: Path) -> None:
    """Give the table that Spark has written its name; a part without rows gets an empty one."""
    found = sorted((Path(output) / "tables" / f"part={index}").glob("part-*.txt.gz"))
    if len(found) == 1:
        found[0].replace(table)
        return
    temporary = table.with_name(".table.partial")
    with temporary.open("wb") as file:
        # The members of a gzip file may follow each other.
        for one in found:
            with one.open("rb") as part:
                shutil.copyfileobj(part, file)
    if found:
        temporary.replace(table)
    else:
        temporary.unlink()
        write_table(table, [])


def _collect(spark: SparkSession, schema: T.StructType, request: Request) -> DataFrame:
    """Write the reports as Parquet, unless an earlier call has, and read them."""
    output = request.output
    parquet = (output / "report.parquet").as_uri()
    if (output / "report.parquet" / "_SUCCESS").exists():
        return spark.read.parquet(parquet)
    if any(output.glob("part-*/report.jsonl")):
        part = F.regexp_extract(F.input_file_name(), r"/part-(\d+)/report\.jsonl$", 1).cast("int")
        source = spark.read.schema(schema).options(**_JSON, mode="FAILFAST")
        reports = source.json(f"{output.as_uri()}/part-*/report.jsonl")
        reports = reports.select(part.alias("part"), "*")
        place = F.concat(F.format_string("part-%05d/", F.col("part")), F.col("shard"))
        reports = reports.withColumn("shard", place)
    else:
        reports = spark.createDataFrame([], T.StructType([T.StructField("part", T.IntegerType()), *schema.fields]))
    reports.write.mode("overwrite").parquet(parquet)
    return spark.read.parquet(parquet)

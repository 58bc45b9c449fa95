# SPDX-License-Identifier: Apache-2.0
"""Fetching a table on one machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sized
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from .columns import check_columns
from .executable import find_executable
from .options import Options, command_line, shard_arguments
from .process import Run
from .progress import Progress, make_progress
from .result import Result
from .rows import Row, check_rows, is_parquet, json_lines, parquet_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["fetch"]

PathLike = str | os.PathLike[str]


def fetch(
    rows: Iterable[Row] | PathLike | None,
    *,
    output: PathLike | None = None,
    shards: PathLike | None = None,
    shard_size: int | str | None = None,
    shard_count: int | None = None,
    shard_time: float | None = None,
    report: PathLike | None = None,
    retry_from: PathLike | None = None,
    retry_all_failed: bool = False,
    table_format: str | None = None,
    url_column: str = "url",
    columns: Mapping[str, str] | None = None,
    executable: PathLike | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[Options],
) -> Generator[Result, None, None]:
    """Fetch the rows of a table, and yield what happened to each in the order of completion.

    The executable starts when the first result is requested. The table is read as a stream while it runs, on another
    thread. Closing the iterator, also by leaving a loop and dropping it, stops the executable; its report and the
    complete files remain, and the same call continues if it names the same ``report``.

    Args:
        rows: URLs, or mappings with ``url`` and, if wanted, ``key``, ``name``, ``checksum`` and other columns, which
            the report repeats; or the path of a table: JSON lines, CSV or TSV, plain or gzip, or Parquet (with
            pyarrow). ``None`` with ``retry_from``.
        output: the directory of the files.
        shards: the directory of WebDataset shards, instead of ``output``.
        shard_size: close a shard at this size: bytes, or text such as ``"1G"``.
        shard_count: close a shard at this number of rows.
        shard_time: close a shard to which nothing was added for so many seconds; by default never.
        report: the report, JSON lines. If it exists, the run continues: its rows are yielded first and not fetched
            again, for which the table must have the same rows in the same order. By default ``report.jsonl`` in
            ``shards``, or a temporary file with ``output``.
        retry_from: fetch the rows that failed in this report and can be retried.
        retry_all_failed: with ``retry_from``, fetch all failed rows.
        table_format: ``jsonl``, ``csv`` or ``tsv``, if the name of the table does not show it.
        url_column: the name of the column of URLs.
        columns: the names of columns by their meaning (``key``, ``name``, ``checksum``), such as ``{"key": "ID"}``.
        executable: the executable ``martlet``; see `find_executable`.
        progress: see `make_progress`; by default a bar if standard error is a terminal.
        options: options of ``martlet get``; see `Options`.

    Raises:
        ExecutableNotFound: there is no executable.
        ReportLocked: another process writes the report.
        RunFailed: the executable ended before the table did. Failed rows are results, not errors.
    """
    if (output is None) == (shards is None):
        raise ValueError("fetch needs either output=DIRECTORY or shards=DIRECTORY")
    if (rows is None) == (retry_from is None):
        raise ValueError("fetch needs either rows or retry_from=REPORT")
    if retry_all_failed and retry_from is None:
        raise ValueError("retry_all_failed needs retry_from=REPORT")
    if isinstance(rows, str) and "://" in rows:
        raise ValueError(f"rows is a list of URLs or the path of a table; for one URL: [{rows!r}]")
    # Checked before the generator runs, so that a mistake is reported by the call.
    if rows is not None and not isinstance(rows, (str, os.PathLike)):
        check_rows(rows)
    named = check_columns(url_column, columns)
    if named and retry_from is not None:
        raise ValueError("url_column and columns are for a table; the columns of a report have fixed names")
    command = [find_executable(executable), "get", *command_line(options)]
    command += [argument for meaning, name in named.items() for argument in ("--column", f"{meaning}={name}")]
    return _results(
        command,
        rows=rows,
        url_column=named.get("url", "url"),
        directory=_directory(output, shards, shard_size, shard_count, shard_time),
        report=Path(report) if report is not None else None if shards is None else Path(shards) / "report.jsonl",
        retry=None if retry_from is None else (os.fspath(retry_from), retry_all_failed),
        table_format=table_format,
        progress=progress,
    )


def _directory(
    output: PathLike | None,
    shards: PathLike | None,
    shard_size: int | str | None,
    shard_count: int | None,
    shard_time: float | None,
) -> list[str]:
    closing = shard_arguments(shard_size, shard_count, shard_time)
    if shards is not None:
        return ["--shards", os.fspath(shards), *closing]
    if closing:
        raise ValueError("shard_size, shard_count and shard_time need shards=DIRECTORY")
    return ["--directory", os.fspath(output or ".")]


def _results(
    command: list[str],
    *,
    rows: Iterable[Row] | PathLike | None,
    url_column: str,
    directory: list[str],
    report: Path | None,
    retry: tuple[str, bool] | None,
    table_format: str | None,
    progress: bool | Progress | None,
) -> Generator[Result, None, None]:
    with ExitStack() as stack:
        if report is None:
            report = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="martlet-"))) / "report.jsonl"
        report.parent.mkdir(parents=True, exist_ok=True)
        command = [*command, *directory, "--report", str(report)]
        table: Iterable[Row] | None = None
        if retry is not None:
            command += ["--retry-from", retry[0], *(["--retry-all-failed"] if retry[1] else [])]
        elif isinstance(rows, (str, os.PathLike)):
            if is_parquet(rows):
                table = parquet_rows(rows)
            else:
                command += ["--manifest", os.fspath(rows)]
                command += ["--manifest-format", table_format] if table_format else []
        else:
            table = rows
        if table is not None:
            command += ["--manifest", "-", "--manifest-format", "jsonl"]
        shown = make_progress(progress, len(rows) if isinstance(rows, Sized) and not isinstance(rows, str) else None)
        stack.callback(shown.close)
        lines = None if table is None else json_lines(table, url_column)
        run = stack.enter_context(Run([*command, "--counts"], report, lines, reads_counts=True))
        for line in run.lines(getattr(shown, "counts", None)):
            result = Result.parse(line)
            shown.add(result)
            yield result

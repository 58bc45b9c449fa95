# SPDX-License-Identifier: Apache-2.0
"""Tables as JSON lines."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from .errors import MartletError

__all__ = ["Row", "check_rows", "is_parquet", "json_line", "json_lines", "parquet_rows"]

#: A row: a URL, or a mapping with ``url`` and, if wanted, ``key``, ``name``, ``checksum`` and other columns.
Row = str | Mapping[str, Any]


#: What to pass instead of a table of another package.
_INSTEAD = {
    "pandas": 'rows.to_dict("records")',
    "polars": "rows.iter_rows(named=True)",
    "pyarrow": "rows.to_pylist()",
    "pyspark": "it to martlet.spark.fetch",
    "ray": "it to martlet.ray.fetch",
}


def check_rows(rows: object) -> None:
    """Check that iterating yields rows: a mapping would yield its names, a data frame those of its columns.

    Raises:
        TypeError: it would not.
    """
    kind = type(rows)
    if isinstance(rows, Mapping):
        raise TypeError("rows is a list of rows, not a mapping; for one row: [row]")
    if isinstance(rows, (bytes, bytearray)) or not isinstance(rows, Iterable):
        if instead := _INSTEAD.get(kind.__module__.partition(".")[0]):
            raise TypeError(f"rows is a {kind.__name__}; pass {instead}")
        raise TypeError(f"rows is a list of rows or the path of a table, not {kind.__name__}")
    if hasattr(rows, "columns") or hasattr(rows, "column_names"):
        instead = _INSTEAD.get(kind.__module__.partition(".")[0], "a list of its rows")
        raise TypeError(f"rows is a {kind.__name__}, which yields its columns; pass {instead}")


def json_line(row: Row, url_column: str = "url") -> bytes:
    """Return a row as a line of JSON.

    Raises:
        TypeError: the row is neither a URL nor a mapping. (A mapping without a URL is a row that fails.)
    """
    value: Mapping[str, Any] = {url_column: row} if isinstance(row, str) else row
    if not isinstance(value, Mapping):
        raise TypeError(f"a row is a URL or a mapping with `url`, not {row!r:.200}")
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)
    except ValueError:
        # NaN, of which Parquet files and data frames are full, is null in JSON.
        text = json.dumps(_without_nan(value), ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "replace") + b"\n"


def json_lines(rows: Iterable[Row], url_column: str = "url") -> Iterator[bytes]:
    """Return rows as lines of JSON."""
    return (json_line(row, url_column) for row in rows)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a Parquet file, or a directory of such files."""
    return Path(path).suffix.lower() == ".parquet" or Path(path).is_dir()


def parquet_rows(path: str | os.PathLike[str]) -> Iterator[Mapping[str, Any]]:
    """Read the rows of a Parquet file, or of a directory of such files, batch by batch; needs pyarrow."""
    try:
        import pyarrow.dataset as dataset
    except ImportError as error:
        raise MartletError("reading Parquet needs pyarrow: pip install 'martlet[parquet]'") from error
    for batch in dataset.dataset(os.fspath(path), format="parquet").to_batches():
        yield from batch.to_pylist()


def _plain(value: object) -> object:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if hasattr(value, "tolist"):
        # numpy's scalars and arrays.
        return value.tolist()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    return value

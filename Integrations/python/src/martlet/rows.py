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

__all__ = ["Row", "is_parquet", "json_line", "json_lines", "parquet_rows"]

#: A row: a URL, or a mapping with ``url`` and, if wanted, ``key``, ``name``, ``checksum`` and other columns.
Row = str | Mapping[str, Any]


def json_line(row: Row) -> bytes:
    """Return a row as a line of JSON.

    Raises:
        TypeError: the row is neither a URL nor a mapping. (A mapping without a URL is a row that fails.)
    """
    value: Mapping[str, Any] = {"url": row} if isinstance(row, str) else row
    if not isinstance(value, Mapping):
        raise TypeError(f"a row is a URL or a mapping with `url`, not {row!r:.200}")
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)
    except ValueError:
        # NaN, of which Parquet files and data frames are full, is null in JSON.
        text = json.dumps(_without_nan(value), ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "replace") + b"\n"


def json_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """Return rows as lines of JSON."""
    return (json_line(row) for row in rows)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a Parquet file, or a directory of such files."""
    return Path(path).suffix == ".parquet" or Path(path).is_dir()


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

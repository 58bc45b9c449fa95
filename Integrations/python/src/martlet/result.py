# SPDX-License-Identifier: Apache-2.0
"""Rows of a report."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Result", "read_report"]

_FIELDS = frozenset(
    [
        "key",
        "row",
        "url",
        "final_url",
        "status",
        "error_code",
        "message",
        "retryable",
        "attempts",
        "bytes",
        "etag",
        "last_modified",
        "started",
        "ended",
        "name",
        "checksum",
        "shard",
        "offset",
    ]
)
_DIGESTS = frozenset({"md5", "sha1", "sha256", "sha384", "sha512"})


@dataclass(frozen=True)
class Result:
    """What happened to one row of a table.

    Attributes:
        key: the row's key: the table's, or its number.
        row: the row's number in its table, from 0.
        url: the URL of the table; empty if the row has none.
        final_url: the URL after redirects.
        status: the HTTP status of the last response.
        error_code: why the row failed; ``None`` if it did not.
        message: the error in words.
        retryable: whether a later attempt may succeed.
        attempts: requests that were made.
        bytes: bytes of the content.
        digests: digests of the content in hexadecimal, by algorithm.
        etag: the response's ETag.
        last_modified: the response's Last-Modified.
        started: the start of the first request, in seconds since 1970; ``None`` if there was none.
        ended: the end of the row, in seconds since 1970.
        name: the file of the content, or the table's ``name`` if there are shards.
        checksum: the table's ``checksum``.
        shard: the name of the shard with the content.
        offset: the position of the content's first byte in the shard, in bytes.
        columns: the table's other columns.
    """

    key: str
    row: int
    url: str
    final_url: str | None = None
    status: int | None = None
    error_code: str | None = None
    message: str | None = None
    retryable: bool = False
    attempts: int = 0
    bytes: int | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None
    last_modified: str | None = None
    started: float | None = None
    ended: float | None = None
    name: str | None = None
    checksum: str | None = None
    shard: str | None = None
    offset: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the content is complete."""
        return self.error_code is None

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the content in hexadecimal, unless another algorithm was chosen."""
        return self.digests.get("sha256")

    @classmethod
    def parse(cls, line: str | builtins.bytes) -> Result:
        """Parse a line of a report.

        Raises:
            ValueError: the line is not a row of a report.
        """
        value = json.loads(line)
        if not isinstance(value, dict) or not isinstance(value.get("row"), int):
            raise ValueError(f"not a row of a report: {line[:200]!r}")
        known = {name: value[name] for name in _FIELDS if value.get(name) is not None}
        digests = {name: text for name, text in value.items() if name in _DIGESTS and text is not None}
        others = {name: other for name, other in value.items() if name not in _FIELDS and name not in _DIGESTS}
        known.setdefault("key", str(value["row"]))
        known.setdefault("url", "")
        return cls(**known, digests=digests, columns=others)


def read_report(path: str | os.PathLike[str]) -> Iterator[Result]:
    """Read a report. An incomplete last line, which a killed run may leave, is not a row."""
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n") and line.strip():
                yield Result.parse(line)

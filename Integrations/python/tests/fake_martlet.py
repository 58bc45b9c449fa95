#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A double of ``martlet get --manifest``: the same table, report, lock and exit statuses, without a network.

The URL says what happens: ``…/404`` and ``…/503`` fail (the second can be retried), others succeed. The environment
scripts the process: FAKE_DELAY seconds for each row, FAKE_DIE_AFTER rows until it kills itself, FAKE_STATUS to end with
after a message, FAKE_TORN to leave an incomplete line when it dies, FAKE_LOG for a line of arguments per start,
FAKE_SHARD to report the rows only when the table has ended, as those of one shard.
"""

import argparse
import csv
import fcntl
import gzip
import io
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

STATUS_BUSY = 73


def rows_of(path: str, given: str | None) -> Iterator[dict[str, Any]]:
    """Read a table."""
    file: BinaryIO = sys.stdin.buffer if path == "-" else open(path, "rb")
    buffered = io.BufferedReader(file)  # type: ignore[type-var]
    data: BinaryIO = gzip.open(buffered) if buffered.peek(2)[:2] == b"\x1f\x8b" else buffered  # type: ignore[assignment]
    kind = given or Path(path.removesuffix(".gz")).suffix.lstrip(".") or "jsonl"
    if kind == "jsonl":
        for line in data:
            if line.strip():
                yield json.loads(line)
    else:
        yield from csv.DictReader(io.TextIOWrapper(data, "utf-8"), delimiter="\t" if kind == "tsv" else ",")


def retried_rows(path: str, all_failed: bool) -> Iterator[dict[str, Any]]:
    """Read the failed rows of a report."""
    for line in Path(path).read_text().splitlines():
        row = json.loads(line)
        if row["error_code"] and (row["retryable"] or all_failed):
            yield row


def entry(number: int, row: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Perform a row."""
    started = time.time()
    for column in arguments.column:
        meaning, _, name = column.partition("=")
        if name in row:
            row = {meaning: row[name], **{other: value for other, value in row.items() if other != name}}
    url = row.get("url") or ""
    failure = next((code for code in ("404", "503") if url.endswith("/" + code)), None)
    content = url.encode()
    result = {
        "key": row.get("key") or f"{number:09}",
        "row": row.get("row", number),
        "url": url,
        "final_url": url,
        "status": int(failure or 200),
        "error_code": f"http-{failure}" if failure else None,
        "message": f"the server responded with {failure}" if failure else None,
        "retryable": failure == "503" if failure else None,
        "attempts": 1,
        "bytes": None if failure else len(content),
        "sha256": None if failure else sha256(content).hexdigest(),
        "etag": None,
        "last_modified": None,
        "started": started,
        "ended": time.time(),
    }
    if not failure and arguments.directory:
        name = row.get("name") or result["key"]
        (Path(arguments.directory) / name).write_bytes(content)
        result["name"] = name
    elif not failure:
        result |= {"shard": "00000.tar", "offset": 0}
    return result | {name: value for name, value in row.items() if name not in {*result, "name"}}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("command", choices=["get"])
    for name in ("manifest", "manifest-format", "report", "retry-from", "directory", "shards"):
        parser.add_argument("--" + name)
    parser.add_argument("--retry-all-failed", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--column", action="append", default=[])
    arguments, others = parser.parse_known_args()
    if log := os.environ.get("FAKE_LOG"):
        with open(log, "a") as file:
            file.write(json.dumps(sys.argv[1:]) + "\n")
    if "--bad" in others:
        print("martlet: unknown option '--bad'", file=sys.stderr)
        return 28
    for directory in (arguments.directory, arguments.shards):
        if directory:
            Path(directory).mkdir(parents=True, exist_ok=True)
    report = os.open(arguments.report, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        fcntl.flock(report, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f"martlet: '{arguments.report}' is being written by another run", file=sys.stderr)
        return STATUS_BUSY
    signal.signal(signal.SIGTERM, lambda *_: os._exit(130))
    return run(report, arguments)


def print_counts(rows: list[dict[str, Any]]) -> None:
    """Print the counts, without the least time between two lines."""
    failed: dict[str, int] = {}
    for row in rows:
        if row["error_code"]:
            failed[row["error_code"]] = failed.get(row["error_code"], 0) + 1
    counts = {"event": "counts", "rows": len(rows), "done": 0, "stored": len(rows) - sum(failed.values())}
    rates = {"bytes": sum(row["bytes"] or 0 for row in rows), "rate": 1.0, "rowRate": 2.0, "complete": False}
    print(json.dumps({**counts, "failed": failed, "reportedBefore": 0, "failedBefore": 0, **rates}), flush=True)


def run(report: int, arguments: argparse.Namespace) -> int:
    """Perform the rows that the report lacks."""
    written = Path(arguments.report).read_bytes()
    complete = written[: written.rfind(b"\n") + 1]
    os.ftruncate(report, len(complete))
    done = {json.loads(line)["row"] for line in complete.splitlines()}
    delay = float(os.environ.get("FAKE_DELAY", "0"))
    left = int(os.environ.get("FAKE_DIE_AFTER", "-1"))
    has_failed = False
    held: list[bytes] = []
    if arguments.retry_from:
        rows = retried_rows(arguments.retry_from, arguments.retry_all_failed)
    else:
        rows = rows_of(arguments.manifest, arguments.manifest_format)
    for number, row in enumerate(rows):
        if row.get("row", number) in done:
            continue
        if left == 0:
            os.write(report, b'{"key":"torn"' if os.environ.get("FAKE_TORN") else b"")
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        time.sleep(delay)
        result = entry(number, row, arguments)
        has_failed = has_failed or result["error_code"] is not None
        held.append(json.dumps(result).encode() + b"\n")
        if arguments.counts:
            print_counts([json.loads(line) for line in [*complete.splitlines(), *held]])
        if not os.environ.get("FAKE_SHARD"):
            os.write(report, b"".join(held))
            complete, held = complete + b"".join(held), []
    while os.environ.get("FAKE_SHARD") and not Path(os.environ["FAKE_SHARD"]).exists():
        time.sleep(0.01)
    os.write(report, b"".join(held))
    if status := int(os.environ.get("FAKE_STATUS", "0")):
        print("martlet: scripted failure", file=sys.stderr)
        return status
    return 65 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""One run of the executable: its process, its input, and the report that grows."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from .errors import ExecutableNotFound, ReportLocked, RunFailed
from .progress import Counts

__all__ = ["STATUS_LOCKED", "Run"]

#: Exit statuses of a complete report: all rows are done, or some failed.
STATUS_DONE, STATUS_ROWS_FAILED = 0, 65
#: The exit status if another process writes the same report.
STATUS_LOCKED = 73
#: Seconds between two looks at the report, at most.
_INTERVAL = 0.1
_KEPT_OUTPUT = 64 << 10
_LAUNCHER = Path(__file__).with_name("_launch.py")


class Run:
    """A process of the executable that writes a report.

    Up to three threads serve it: one starts the process, reads its messages and waits for its end, one writes the
    table, and one reads the counts. The consumer reads the report. Used as a context manager, it ends the process.

    Args:
        command: the executable and its arguments.
        report: the report that the command writes.
        table: lines for standard input, or ``None``.
        inherited: descriptors that stay open in the process, such as that of a lock.
        reads_counts: whether the command writes counts (``--counts``) to standard output.
    """

    def __init__(
        self,
        command: Sequence[str],
        report: Path,
        table: Iterable[bytes] | None = None,
        inherited: Sequence[int] = (),
        reads_counts: bool = False,
    ) -> None:
        self._reads_counts = reads_counts
        self._counts: Counts | None = None
        self._inherited = tuple(inherited)
        self._command = list(command)
        self._report = report
        self._table = table
        self._process: subprocess.Popen[bytes] | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        self._status = 0
        self._output = b""
        self._start_error: OSError | None = None
        self._table_error: Exception | None = None
        self._is_closing = False
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Run:
        """Start the process."""
        thread = threading.Thread(target=self._attend, name="martlet-process", daemon=True)
        thread.start()
        self._threads.append(thread)
        self._started.wait()
        if self._start_error is not None:
            raise ExecutableNotFound(f"cannot run {self._command[0]}: {self._start_error}") from self._start_error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process if it still runs."""
        self.close()

    def lines(self, counted: Callable[[Counts], None] | None = None) -> Iterator[bytes]:
        """Yield the lines of the report as they appear, until the process has ended.

        Args:
            counted: called with new counts, on the thread of the consumer.

        Raises:
            RunFailed: the process ended before its table did.
        """
        position = 0
        while True:
            # Read before the report: what a process wrote before its end is found.
            is_last = self._ended.is_set()
            found = False
            counts, self._counts = self._counts, None
            if counts is not None and counted is not None:
                counted(counts)
            with contextlib.suppress(FileNotFoundError), self._report.open("rb") as file:
                file.seek(position)
                for line in file:
                    # The incomplete end of the file is read again later. It may also be removed.
                    if not line.endswith(b"\n"):
                        break
                    position += len(line)
                    found = True
                    if line.strip():
                        yield line
            if is_last:
                break
            if not found:
                self._ended.wait(_INTERVAL)
        self._check()

    def wait(self) -> None:
        """Wait for the end of the process.

        Raises:
            RunFailed: the process ended before its table did.
        """
        self._ended.wait()
        self._check()

    def close(self, patience: float = 30.0) -> None:
        """Stop the process: SIGTERM, and SIGKILL after ``patience`` seconds."""
        self._is_closing = True
        process = self._process
        if process is not None and not self._ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            if not self._ended.wait(patience):
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                self._ended.wait()
        for thread in self._threads:
            # A table that blocks in its own source is left to its daemon thread.
            thread.join(timeout=1.0)

    def _attend(self) -> None:
        """Start the process, serve its pipes and wait for it: on one thread, at whose end the process is stopped."""
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())] if sys.executable else []
        try:
            process = subprocess.Popen(
                [*launcher, *self._command],
                stdin=subprocess.DEVNULL if self._table is None else subprocess.PIPE,
                stdout=subprocess.PIPE if self._reads_counts else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Ctrl-C reaches only this program, which then stops the process.
                start_new_session=True,
                pass_fds=self._inherited,
            )
        except OSError as error:
            self._start_error = error
            self._ended.set()
            self._started.set()
            return
        self._process = process
        if self._table is not None:
            feeder = threading.Thread(target=self._feed, name="martlet-table", daemon=True)
            self._threads.append(feeder)
            feeder.start()
        counter = threading.Thread(target=self._count, name="martlet-counts", daemon=True)
        if self._reads_counts:
            counter.start()
        self._started.set()
        assert process.stderr is not None
        with process.stderr:
            while piece := os.read(process.stderr.fileno(), 1 << 16):
                self._output = (self._output + piece)[-_KEPT_OUTPUT:]
        self._status = process.wait()
        if self._reads_counts:
            counter.join()
        self._ended.set()

    def _count(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    self._counts = Counts.parse(json.loads(line))

    def _feed(self) -> None:
        process, table = self._process, self._table
        assert process is not None and process.stdin is not None and table is not None
        is_empty = True
        try:
            for line in table:
                is_empty = False
                process.stdin.write(line)
                if self._is_closing:
                    break
            if is_empty:
                # Nothing at all would be the input of a program that has failed.
                process.stdin.write(b"\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as error:
            # The end of the pipe would look like the end of the table.
            self._table_error = error
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            self._ended.wait()
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()

    def _check(self) -> None:
        if self._table_error is not None:
            raise self._table_error
        if self._is_closing:
            return
        output = self._output.decode("utf-8", "replace")
        if self._status == STATUS_LOCKED:
            raise ReportLocked(self._status, _last_lines(output))
        if self._status not in (STATUS_DONE, STATUS_ROWS_FAILED):
            raise RunFailed(self._status, _last_lines(output))


def _last_lines(text: str, count: int = 20) -> str:
    return "\n".join(text.rstrip().splitlines()[-count:])

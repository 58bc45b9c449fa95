# SPDX-License-Identifier: Apache-2.0
"""Errors of this package."""

from __future__ import annotations

__all__ = ["ExecutableNotFound", "MartletError", "PlanMismatch", "ReportLocked", "RunFailed"]


class MartletError(Exception):
    """The base of all errors that this package raises on purpose."""


class ExecutableNotFound(MartletError):
    """The executable ``martlet`` was not found, or cannot be run."""


class RunFailed(MartletError):
    """The executable ended without finishing its table.

    Failed rows are not an error: the report has them, and the executable's exit status only says that there are some.

    Attributes:
        status: the exit status; a negative number is the signal that ended the process.
        output: the last lines of standard error.
    """

    def __init__(self, status: int, output: str, message: str | None = None) -> None:
        self.status = status
        self.output = output
        super().__init__(message or _describe(status, output))

    def __reduce__(self) -> tuple[type[RunFailed], tuple[int, str, str]]:
        """Support pickling, because Spark and Ray send errors between processes."""
        return (type(self), (self.status, self.output, str(self)))


class ReportLocked(RunFailed):
    """Another process writes the same report. It can be retried when that process has ended."""


class PlanMismatch(MartletError):
    """The output directory has a plan that was made with other parameters."""


def _describe(status: int, output: str) -> str:
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    text = output.strip()
    return f"martlet stopped with {how}" + (f": {text}" if text else " and printed no message")

# SPDX-License-Identifier: Apache-2.0
"""Fetch tables of URLs with the executable ``martlet``: here, on Spark (`martlet.spark`) and on Ray (`martlet.ray`)."""

from .domains import Suffixes
from .errors import ExecutableNotFound, MartletError, PlanMismatch, ReportLocked, RunFailed
from .executable import find_executable
from .local import fetch
from .options import Options
from .plan import Limits, Pace, Plan
from .progress import Counts
from .result import Result, read_report

__all__ = [
    "Counts",
    "ExecutableNotFound",
    "Limits",
    "MartletError",
    "Options",
    "Pace",
    "Plan",
    "PlanMismatch",
    "ReportLocked",
    "Result",
    "RunFailed",
    "Suffixes",
    "fetch",
    "find_executable",
    "read_report",
]

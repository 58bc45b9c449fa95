# SPDX-License-Identifier: Apache-2.0
"""Finding the executable."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import ExecutableNotFound

__all__ = ["find_executable"]

_INSTALL = (
    "build it with Scripts/build-release in the sources of Martlet and put .build/martlet into a directory of PATH, "
    "or name it with executable=… or the environment variable MARTLET"
)


def find_executable(executable: str | os.PathLike[str] | None = None) -> str:
    """Return the absolute path of the executable ``martlet``.

    The first of these counts: the argument, the environment variable ``MARTLET``, ``PATH``. A name without a slash is
    looked up in ``PATH``.

    Raises:
        ExecutableNotFound: there is none; the message says where it was looked for and how to install it.
    """
    named = os.fspath(executable) if executable is not None else os.environ.get("MARTLET") or None
    if named is None:
        found = shutil.which("martlet")
        if found is None:
            raise ExecutableNotFound(f"there is no `martlet` in PATH; {_INSTALL}")
        return str(Path(found).absolute())
    origin = "executable" if executable is not None else "MARTLET"
    found = shutil.which(named)
    if found is None:
        problem = "is not executable" if Path(named).exists() else "was not found"
        raise ExecutableNotFound(f"{named!r}, given by {origin}, {problem}; {_INSTALL}")
    return str(Path(found).absolute())

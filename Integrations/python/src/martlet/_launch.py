# SPDX-License-Identifier: Apache-2.0
"""Runs a command that is stopped when the calling thread ends, even if that was killed.

``python _launch.py PID COMMAND…``: on Linux, the kernel sends SIGTERM to the command when its parent, the process PID,
is gone. It is a separate program because code after a fork in a program with threads must not run Python.
"""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Replace this process with a command."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            # The parent was gone before the call.
            sys.exit(128 + signal.SIGTERM)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

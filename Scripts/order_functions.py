# SPDX-License-Identifier: Apache-2.0
"""Lists the functions that transfers run, for Scripts/order-functions, which says what for."""
import collections
import os
import re
import shutil
import subprocess
import tempfile

import cost

EXECUTABLE = ".build/martlet.unstripped"
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "function-order")
# Those of the daemon are twice as many as all the others.
UNITS = ["version", "refused", "small", "small-tls", "large", "pipe", "upload", "serve"]
PIECES = 8


def executed(profile):
    """The functions of the executable in a profile (callgrind's format, manual chapter 6)."""
    tables, names, file = {"ob": {}, "fn": {}}, {}, ""
    with open(profile, errors="replace") as lines:
        for line in lines:
            match = re.match(r"c?(ob|fn)=\((\d+)\)(?: (.*))?$", line.rstrip())
            if not match:
                continue
            kind, number, name = match.groups()
            if name is not None:
                tables[kind][number] = name
            if line.startswith("ob="):
                file = tables["ob"][number]
            elif line.startswith("fn=") and os.path.basename(file) == os.path.basename(EXECUTABLE):
                # A recursive function has a number for each depth.
                names.setdefault(re.sub(r"'\d+$", "", tables["fn"][number]))
    return list(names)


def unique():
    """The names of one function each: the order of others would move functions that are not run."""
    symbols = subprocess.run(["nm", EXECUTABLE], check=True, capture_output=True, text=True).stdout.splitlines()
    counts = collections.Counter(line.split(None, 2)[2] for line in symbols if len(line.split(None, 2)) == 3)
    return {name for name, count in counts.items() if count == 1}


def main():
    work = tempfile.mkdtemp(prefix="martlet-order-")
    peer, names, known = None, {}, unique()
    try:
        peer = cost.Peer(work)
        units = cost.Units(EXECUTABLE, work, peer)
        for unit in UNITS:
            title, run, counts = cost.UNITS[unit]
            profile = os.path.join(work, unit + ".callgrind")
            run(units, ["valgrind", "--tool=callgrind", "--demangle=no", "--log-file=/dev/null",
                        f"--callgrind-out-file={profile}"], min(counts[-1], PIECES))
            before = len(names)
            names.update(dict.fromkeys(name for name in executed(profile) if name in known))
            print(f"{title}: {len(names) - before} more functions", flush=True)
    finally:
        if peer:
            peer.process.terminate()
        shutil.rmtree(work, ignore_errors=True)
    with open(LIST, "w") as file:
        file.writelines(name + "\n" for name in names)


if __name__ == "__main__":
    main()

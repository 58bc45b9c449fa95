#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints Docs/URLSessionCases.md from what Scripts/check-urlsession printed for both variants (its option --both).

    Scripts/urlsession_table.py FOUNDATION MARTLET TIMES
"""

import re
import sys

HEAD = """\
# Cases of URLSession

Case by case, whether Foundation's `URLSession` on Linux and `MartletURLSession` behave as described, {runs}. A case is
a function of swift-corelibs-foundation's tests, written anew, or a page of Apple's documentation; `Tests/URLSessionBehaviours`
has each as one text that compiles with both. [0050](Decisions/0050-urlsession.md) says which differ on purpose. Written by
`Scripts/check-urlsession --both`.

| case | what describes it | Foundation's | Martlet's |
|---|---|---|---|"""


def read(path):
    """The rows, by name, and the last line."""
    rows = {}
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    for line in lines[1:]:
        cells = [cell.strip() for cell in line.split(" | ", 4)]
        if len(cells) == 5:
            rows[cells[0]] = cells[1:]
    return rows, lines[-1]


def shown(cells):
    """A cell of the table: the result, and what was wrong."""
    if cells is None:
        return "not run"
    _, result, _, reason = cells
    if result == "passed":
        return "passes"
    # What differs from run to run and machine to machine.
    reason = re.sub(r"https?://(127\.0\.0\.1|localhost):\d+", r"http://\1:PORT", reason)
    reason = re.sub(r"file:///\S+|/tmp/\S+", "FILE", reason)
    reason = reason.replace("|", "\\|").replace("<", "&lt;")
    return "fails: " + (reason if len(reason) <= 120 else reason[:117] + "…")


def main():
    foundation, foundation_count = read(sys.argv[1])
    martlet, martlet_count = read(sys.argv[2])
    times = int(sys.argv[3])
    print(HEAD.format(runs="in one run" if times == 1 else f"in each of {times} runs"))
    for name, cells in martlet.items():
        source = "tests: " if cells[0] == "corelibs" else "Apple: "
        print(f"| `{name}` | {source}`{cells[2]}` | {shown(foundation.get(name))} | {shown(cells)} |")
    print()
    for count in (foundation_count, martlet_count):
        print(f"- {count}.")


main()

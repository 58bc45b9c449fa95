# SPDX-License-Identifier: Apache-2.0
"""Docs/figures.json and what the texts show of it, for Scripts/figures."""
import glob
import json
import os
import re
import sys

import cost

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = os.path.join(ROOT, "Docs", "figures.json")
MARK = re.compile(r"<!-- figure: ([^>]+?) -->(.*?)<!-- / -->", re.S)

# The lines of the tables: a title, a row of Docs/figures.json, and the tool of each column.
TRANSFERS = [
    ("20,000 files of 20 KiB, 64 connections, HTTP", "small", "martlet", "wget2", "aria2"),
    ("the same, synced to disk (`--durable`)", "small", "martlet --durable", None, None),
    ("the same, HTTPS", "small-tls", "martlet", "wget2", "aria2"),
    ("the same, HTTP, through the daemon's durable queue", "daemon", "martlet daemon", None, None),
    ("one file of 4 GiB, HTTP, one connection (`-x 1`)", "large", "martlet -x1", "wget2", "aria2"),
    ("the same, four connections (`-x 4`)", "large", "martlet -x4", None, "aria2 -x4"),
    ("one file of 4 GiB, HTTPS, one connection", "large-tls", "martlet -x1", "wget2", "aria2"),
    ("the same, four connections", "large-tls", "martlet -x4", None, "aria2 -x4"),
    ("4 GiB to /dev/null, HTTP", "discarded", "martlet", "wget2", None),
    ("the same, HTTPS", "discarded-tls", "martlet", "wget2", None),
    ("4 GiB into a pipe (`-o - \\| cat`), HTTP", "pipe", "martlet", "wget2", None),
    ("4 GiB uploaded (`martlet put`, `curl -T`), HTTP", "upload", "martlet put", None, None),
    ("the same, HTTPS", "upload-tls", "martlet put", None, None),
    ("20,000 files of 20 KiB uploaded, 64 connections, HTTP", "upload-small", "martlet put", None, None),
    ("the same, to a server that discards them", "upload-discarded", "martlet put", None, None),
    ("64 MiB, the server caps a connection at 1 MiB/s", "capped", "martlet", None, None),
    ("the same, 16 connections (`-x 16`)", "capped", "martlet -x16", None, "aria2 -x16"),
    ("one URL, refused", "refused", "martlet", None, "aria2"),
    ("a list of 1,000,000 entries, each an empty file", "million", "martlet", None, None),
]
SERVING = [
    ("20,000 files of 20 KiB, 64 connections", "serving-small", "martlet", "caddy"),
    ("one file of 4 GiB", "serving-large", "martlet", "caddy"),
]


def number(value):
    """Three digits: 139,000; 57.2; 0.5."""
    return f"{float(f'{value:.3g}'):,.10g}"


def share(value):
    return f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"


def block(lines):
    return "\n" + "\n".join(lines) + "\n"


def replace(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


class Figures:
    """The figures, and the texts and tables that show them."""

    def __init__(self, data):
        self.data = data
        self.rows = data["rows"]
        for name, row in self.rows.items():
            columns = {column for values in row["values"].values() for column in values}
            if missing := ({"commit", "date", "units"} - set(row)) | (columns - set(row["units"])):
                sys.exit(f"figures: Docs/figures.json: {name} has no {', '.join(sorted(missing))}")
        self.tables = {
            "transfers": lambda: self.table(TRANSFERS, "curl", ["wget2", "aria2"], ["wall", "cpu", "memory"]),
            "serving": lambda: self.table(SERVING, "nginx", ["Caddy"], ["cpu", "memory"]),
            "counts": self.counts, "replaced": self.replaced, "gate": self.gate,
            "machine": lambda: self.data["machine"],
            "peers": lambda: ", ".join(f"{name} {version}" for name, version in self.data["peers"].items()),
        }

    @classmethod
    def load(cls):
        with open(FIGURES) as file:
            return cls(json.load(file))

    def store(self):
        order = list(dict.fromkeys([*(line[1] for line in TRANSFERS + SERVING), *self.rows]))
        self.data["rows"] = self.rows = {name: self.rows[name] for name in order if name in self.rows}
        replace(FIGURES, json.dumps(self.data, indent=1, ensure_ascii=False) + "\n")

    def older(self, rows):
        """The names of the older executables that were measured beside martlet."""
        return list(dict.fromkeys(label for row in rows if row in self.rows for label in self.rows[row].get("beside", [])))

    def shown(self, row, tool, column):
        """One figure. Times of a row that says of what (`of`) are ratios; those of that tool itself are seconds."""
        units, values, of = self.rows[row]["units"], self.rows[row]["values"], self.rows[row].get("of")
        value = values.get(tool, {}).get(column)
        if of and tool != of and column in ("wall", "cpu") and value is not None:
            reference = values.get(of, {}).get(column)
            return share(value / reference) if reference else "–"
        if value is None:
            return "–"
        unit = units[column]
        return (f"{value:.0f} MiB" if unit == "MiB" else f"{value:.2f} s" if unit == "s" and of else
                share(value) if unit == "ratio" else number(value))

    def cell(self, row, tool, columns):
        texts = [self.shown(row, tool, column) for column in columns]
        return " / ".join(texts) if set(texts) - {"–"} else ""

    def table(self, lines, reference, others, columns):
        older = self.older([line[1] for line in lines])
        heads = [reference, "martlet", *older, *others, "measured"]
        text = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        for title, row, tool, *peers in lines:
            if row in self.rows:
                tools = [reference, tool, *(tool.replace("martlet", label, 1) for label in older), *peers]
                cells = [self.cell(row, name, columns) for name in tools]
                text.append(f"| {title} | {' | '.join(cells)} | {self.rows[row]['commit']}, {self.rows[row]['date']} |")
        return block(text)

    def counts(self):
        older = self.older(["cost"])
        text = [f"| | {' | '.join(['martlet', *older])} |", "|---" * (len(older) + 2) + "|"]
        for unit, (title, *_) in cost.UNITS.items():
            names = [unit, *(f"{label} {unit}" for label in older)] if "cost" in self.rows else []
            if any(cells := [self.cell("cost", name, cost.COLUMNS) for name in names]):
                text.append(f"| {title} | {' | '.join(cells)} |")
        return block(text)

    def gate(self):
        """The table with which CI compares, for its decision."""
        with open(cost.TABLE) as file:
            units = json.load(file)["units"]
        return block(["| unit | instructions | allocations | calls | KiB |", "|---|---|---|---|---|"] + [
            f"| {cost.UNITS[unit][0]} | " + " | ".join(cost.shown(values[column]) for column in cost.COLUMNS) + " |"
            for unit, values in units.items()])

    def replaced(self):
        return block(["| the file is replaced by | one of the same size | a longer one |", "|---|---|---|"] + [
            f"| {tool} {values['version']}, `{values['command']}` | {values['replaced']} | {values['replaced-by-longer']} |"
            for tool, values in self.rows.get("replaced", {"values": {}})["values"].items()])

    def resolve(self, key):
        """The text of a key: of a table, of ROW/commit, ROW/date, or of ROW/TOOL/COLUMN."""
        if key in self.tables:
            return self.tables[key]()
        row, *path = key.split("/")
        if path in (["commit"], ["date"]):
            return self.rows[row][path[0]]
        tool, column = path
        self.rows[row]["values"][tool][column]
        return self.shown(row, tool, column)

    def render(self, name, text):
        """The text with the figures, and what is wrong with the text as it is: (where, what)."""
        differences, mistakes = [], []

        def put(match):
            key, old = match.groups()
            start = text.rfind("\n", 0, match.start()) + 1
            place = f"{name}:{text.count(chr(10), 0, start) + 1}"
            # A comment at the start of a line makes HTML of the line, in which Markdown means nothing.
            if key not in ("transfers", "serving", "counts", "replaced", "gate") and \
                    not text[start:match.start()].strip(" -*>0123456789."):
                mistakes.append(f"{place}: a line may not begin with a marker; move it behind a word")
            try:
                new = self.resolve(key)
            except (KeyError, ValueError):
                mistakes.append(f"{place}: Docs/figures.json has no figure {key}")
                return match[0]
            if new != old:
                differences.append(f"{place}: {key} is not that of Docs/figures.json"
                                   + ("" if "\n" in new else f": {old} instead of {new}"))
            return f"<!-- figure: {key} -->{new}<!-- / -->"

        rendered, count = MARK.subn(put, text)
        if {text.count("<!-- figure:"), text.count("<!-- / -->")} != {count}:
            mistakes.append(f"{name}: a marker without an end, or an end without a marker")
        return rendered, differences, mistakes

    def render_all(self, write):
        """Brings the figures into the texts, or ends with what the texts show instead."""
        found = []
        for path in sorted(path for folder in ("", "Docs/", "Docs/Decisions/") for path in glob.glob(f"{ROOT}/{folder}*.md")):
            with open(path) as file:
                text = file.read()
            rendered, differences, mistakes = self.render(os.path.relpath(path, ROOT), text)
            if write and rendered != text:
                replace(path, rendered)
                print(f"figures: wrote {os.path.relpath(path, ROOT)}")
            found += mistakes + ([] if write else differences)
        if found:
            sys.exit("figures: " + "\nfigures: ".join(found) + "\nfigures: correct the text, or: Scripts/figures --write")

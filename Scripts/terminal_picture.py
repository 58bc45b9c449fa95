# SPDX-License-Identifier: Apache-2.0
"""A program in tmux, and its screen as HTML, for Scripts/screenshots and Scripts/record-demo."""
import base64
import html
import os
import re
import shutil
import subprocess
import tempfile
import time

# The colours of a dark terminal, by the numbers of SGR.
COLOURS = {31: "#ff8a80", 32: "#8bd5a0", 33: "#f0c674", 36: "#7fd0e0"}
BACKGROUND, FOREGROUND = "#1b1f24", "#d9dde2"
# Pixels of a cell, and the size of DejaVu Sans Mono at which its blocks fill it without gaps.
CELL = (9, 17)
FONT_SIZE = 14.95


class Terminal:
    """A program in a terminal of tmux with a server of its own."""

    def __init__(self, words, columns, rows, **environment):
        self.columns, self.rows = columns, rows
        self.folder = tempfile.mkdtemp(prefix="martlet-tmux-")
        self.prefix = ["tmux", "-S", os.path.join(self.folder, "socket"), "-f", "/dev/null"]
        # tmux gives the variables of its server to the program.
        variables = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", **environment}
        subprocess.run([*self.prefix, "new-session", "-d", "-s", "t", "-x", str(columns), "-y", str(rows), *words],
                       env=variables, check=True, timeout=20)
        self.tmux("set-option", "-t", "t", "status", "off")
        self.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    def tmux(self, *words):
        return subprocess.run([*self.prefix, *words], check=True, timeout=20, capture_output=True, text=True).stdout

    def wait(self, text, seconds=30):
        end = time.monotonic() + seconds
        while text not in self.tmux("capture-pane", "-p", "-t", "t"):
            if time.monotonic() > end:
                raise RuntimeError(f"the terminal does not show {text!r}")
            time.sleep(0.2)

    def page(self, replaced=None):
        """The screen as a page: its size in pixels, and its URL. `replaced` are texts to show instead of others."""
        lines = self.tmux("capture-pane", "-e", "-p", "-t", "t").split("\n")[:self.rows]
        for old, new in (replaced or {}).items():
            lines = [line.replace(old, new) for line in lines]
        body = "\n".join(markup(lines))
        size = (round(self.columns * CELL[0]) + 32, self.rows * CELL[1] + 28)
        text = f"""<!DOCTYPE html><meta charset="utf-8"><style>
            body {{ margin: 0; background: {BACKGROUND}; }}
            pre {{ margin: 14px 16px; color: {FOREGROUND}; font: {FONT_SIZE}px/{CELL[1]}px "DejaVu Sans Mono", monospace; }}
            .b {{ font-weight: bold; }} .d {{ opacity: 0.65; }} .r {{ background: {FOREGROUND}; color: {BACKGROUND}; }}
            </style><pre>{body}</pre>"""
        return size, "data:text/html;base64," + base64.b64encode(text.encode()).decode()

    def close(self):
        self.tmux("kill-server")
        shutil.rmtree(self.folder, ignore_errors=True)


def spans(line, codes=None):
    """The parts of a line with SGR sequences: text, the classes of its attributes, its colour or None.

    `codes` are the attributes at its start; they are changed to those at its end.
    """
    codes = set() if codes is None else codes
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            for code in [int(word or 0) for word in part[2:-1].split(";")]:
                if code == 39:
                    kept = {one for one in codes if one < 30}
                else:
                    kept = set() if code == 0 else codes | {code}
                codes.clear()
                codes.update(kept - {0})
        elif part:
            names = [name for code, name in ((1, "b"), (2, "d"), (7, "r")) if code in codes]
            yield part, names, next((value for code, value in COLOURS.items() if code in codes), None)


def markup(lines):
    """Converts lines with SGR sequences to HTML; attributes last until they are reset, as in a terminal."""
    codes = set()
    for line in lines:
        parts = []
        for text, names, colour in spans(line, codes):
            style = f' style="color: {colour}"' if colour else ""
            # Full blocks are a background, because glyphs leave gaps.
            solid = BACKGROUND if "r" in names else colour or FOREGROUND
            content = re.sub("█+", lambda blocks: f'<span style="background: {solid}">{" " * len(blocks[0])}</span>',
                             html.escape(text))
            parts.append(f'<span class="{" ".join(names)}"{style}>{content}</span>')
        yield "".join(parts)

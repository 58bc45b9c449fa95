# SPDX-License-Identifier: Apache-2.0
"""A program in tmux, and its screen as HTML, for Scripts/screenshots."""
import base64
import html
import os
import re
import subprocess
import tempfile
import time

# The colours of a dark terminal, by the numbers of SGR.
COLOURS = {31: "#ff8a80", 32: "#8bd5a0", 33: "#f0c674", 36: "#7fd0e0"}
CELL = (8.43, 18)


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

    def page(self):
        """The screen as a page: its size in pixels, and its URL."""
        lines = self.tmux("capture-pane", "-e", "-p", "-t", "t").split("\n")[:self.rows]
        body = "\n".join(markup(lines))
        size = (round(self.columns * CELL[0]) + 32, self.rows * CELL[1] + 28)
        text = f"""<!DOCTYPE html><meta charset="utf-8"><style>
            body {{ margin: 0; background: #1b1f24; }}
            pre {{ margin: 14px 16px; color: #d9dde2; font: 14px/{CELL[1]}px "DejaVu Sans Mono", monospace; }}
            .b {{ font-weight: bold; }} .d {{ opacity: 0.65; }} .r {{ background: #d9dde2; color: #1b1f24; }}
            </style><pre>{body}</pre>"""
        return size, "data:text/html;base64," + base64.b64encode(text.encode()).decode()

    def close(self):
        self.tmux("kill-server")


def markup(lines):
    """Converts lines with SGR sequences to HTML; attributes last until they are reset, as in a terminal."""
    codes = set()
    for line in lines:
        parts = []
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b["):
                for code in [int(word or 0) for word in part[2:-1].split(";")]:
                    codes = set() if code == 0 else {one for one in codes if one < 30} if code == 39 else codes | {code}
            elif part:
                names = " ".join(name for code, name in ((1, "b"), (2, "d"), (7, "r")) if code in codes)
                colour = next((f' style="color: {value}"' for code, value in COLOURS.items() if code in codes), "")
                parts.append(f'<span class="{names}"{colour}>{html.escape(part)}</span>')
        yield "".join(parts)

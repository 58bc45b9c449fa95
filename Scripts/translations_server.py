#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server of Scripts/check-translations: the behaviours that an honest file server does not have.

translations_server.py FILES    prints its URL, and serves until it is killed

/plain/NAME    the file
/slow/NAME     the file in 15 pieces, one every 0.1 s
/half/NAME     the first response stops after 1,000,000 bytes (or half of a smaller file) until the client leaves or /open
/changed/NAME  the same; later responses are of another version, NAME.new
/replaced/NAME the same as /changed, but /open ends the first response without the rest
/gate/NAME     every response stops there until /open
/private       401
/trickle       a byte every 0.2 s, without an end
POST           201 after 0.3 s
/open, /peak (the highest number of concurrent /slow responses or POSTs), /ranges (the requested ranges of all files)

Files have an ETag; Range and If-Range are honoured.
"""
import contextlib
import http.server
import os
import select
import sys
import threading
import time

HALF = 1_000_000


class State:
    lock = threading.Lock()
    opened = threading.Event()
    requests = []
    slow = 0
    peak = 0
    ranges = []

    @staticmethod
    @contextlib.contextmanager
    def concurrent():
        """Counts a response towards the peak."""
        with State.lock:
            State.slow += 1
            State.peak = max(State.peak, State.slow)
        try:
            yield
        finally:
            with State.lock:
                State.slow -= 1


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def text(self, status, text, fields=()):
        body = text.encode()
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def has_left(self):
        """Whether the client has closed the connection."""
        return bool(select.select([self.connection], [], [], 0.05)[0])

    def send(self, data, limit, kind):
        """Sends a body; at `limit` it waits for /open."""
        if kind == "slow":
            size = -(-len(data) // 15)
            with State.concurrent():
                for start in range(0, len(data) - size, size):
                    self.wfile.write(data[start:start + size])
                    time.sleep(0.1)
            # The client may send its next request as soon as it has these bytes.
            self.wfile.write(data[start + size:])
            return
        self.wfile.write(data[:limit])
        if limit < len(data):
            while not State.opened.is_set():
                if self.has_left():
                    self.close_connection = True
                    return
            if kind == "replaced":
                self.close_connection = True
                return
            self.wfile.write(data[limit:])

    def do_GET(self):
        try:
            self.get()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_POST(self):
        with State.concurrent():
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            time.sleep(0.3)
        self.text(201, "stored")

    def get(self):
        kind, _, name = self.path[1:].partition("/")
        if kind == "open":
            State.opened.set()
            return self.text(200, "open")
        if kind == "peak":
            return self.text(200, str(State.peak))
        if kind == "ranges":
            return self.text(200, " ".join(State.ranges))
        if kind == "private":
            return self.text(401, "no", [("WWW-Authenticate", 'Basic realm="pictures"')])
        if kind == "trickle":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            while True:
                self.wfile.write(b".")
                time.sleep(0.2)
        path = os.path.join(FILES, os.path.basename(name))
        if kind not in ("plain", "slow", "half", "changed", "replaced", "gate") or not os.path.isfile(path):
            return self.text(404, "not found")
        with State.lock:
            isFirst = self.path not in State.requests
            State.requests.append(self.path)
            State.ranges.append(self.headers.get("Range", "none"))
        changes = kind in ("changed", "replaced") and not isFirst
        self.serve(kind, path + ".new" if changes else path, isFirst)

    def serve(self, kind, path, isFirst):
        with open(path, "rb") as file:
            data = file.read()
        etag = '"' + os.path.basename(path) + '"'
        start, total = 0, len(data)
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and self.headers.get("If-Range", etag) == etag:
            first, _, last = wanted[6:].partition("-")
            start = int(first or 0)
            end = min(int(last) + 1 if last else total, total)
            if start >= total:
                return self.text(416, "", [("Content-Range", f"bytes */{total}")])
            data = data[start:end]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{total}")
        else:
            self.send_response(200)
        self.send_header("ETag", etag)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        limit = len(data)
        if kind == "gate" or (kind in ("half", "changed", "replaced") and isFirst):
            limit = max(0, min(HALF, total // 2 if total < 2 * HALF else HALF) - start)
        self.send(data, limit, kind)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that resets its connection is no error."""


FILES = sys.argv[1]
server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()

# SPDX-License-Identifier: Apache-2.0
"""Scripted HTTP/1.1 servers for Scripts/field-behaviours.

A `WireServer` runs one handler for every request that arrives on its loopback ports. The handler gets a `Call`, which
holds the request and writes the response: status, fields, framing, cuts, stalls and resets are under its control. The
server counts the bytes of bodies that reached the client's side of the kernel.
"""
import calendar
import contextlib
import email.utils
import http.client
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

SEND_BUFFER = 16 * 1024
BLOCK = 8 * 1024
SOCKET_SECONDS = 40


def http_date(seconds):
    return email.utils.formatdate(int(seconds), usegmt=True)


def parse_http_date(text):
    parsed = email.utils.parsedate(text) if text else None
    return calendar.timegm(parsed) if parsed else None


class Hangup(Exception):
    """The handler ended the connection."""


class Pace:
    """Shares a rate between all connections; a rate of 0 means unlimited."""

    def __init__(self, rate):
        self.rate = rate
        self.lock = threading.Lock()
        self.free_at = time.monotonic()

    def wait(self, count):
        if not self.rate:
            return
        with self.lock:
            now = time.monotonic()
            self.free_at = max(self.free_at, now - 0.005) + count / self.rate
            delay = self.free_at - now
        if delay > 0:
            time.sleep(delay)


def unread_bytes(ports, peer=None):
    """The bytes between these servers and their clients: queued to send, or received and not read.

    `peer` limits it to the connection of one client port. Linux only; 0 elsewhere.
    """
    total = 0
    try:
        with open("/proc/net/tcp") as file:
            next(file)
            for line in file:
                fields = line.split(None, 5)
                # Established, FIN_WAIT, CLOSE_WAIT and LAST_ACK sockets; TIME_WAIT ones hold nothing.
                if fields[3] == "06" or fields[3] == "0A":
                    continue
                local, remote = int(fields[1][-4:], 16), int(fields[2][-4:], 16)
                sending, received = fields[4].split(":")
                if local in ports and (peer is None or remote == peer):
                    total += int(sending, 16)
                elif remote in ports and (peer is None or local == peer):
                    total += int(received, 16)
    except (OSError, StopIteration):
        return 0
    return total


class WireServer:
    """Listens on loopback ports and calls `handler(call)` in the connection's thread for each request.

    - names: one port for each name; a call knows the name of the port it arrived at.
    - rate: bytes a second over all connections.
    """

    def __init__(self, handler, names=("main",), rate=0, send_buffer=SEND_BUFFER, tls=None, block=BLOCK,
                 listening=True):
        self.handler = handler
        self.pace = Pace(rate)
        self.tls = tls
        self.block = block
        self.lock = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()
        self.sent = 0
        self.requests = 0
        self.connections = 0
        self.active = 0
        self.log = []
        self.failures = []
        self.is_closed = False
        self.sockets = set()
        self.ports = {}
        self.listeners = []
        for name in names:
            listener = socket.create_server(("127.0.0.1", 0), backlog=128)
            if send_buffer:
                # Accepted sockets inherit it.
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
            self.ports[name] = listener.getsockname()[1]
            self.listeners.append(listener)
            self.begin(self.accept, listener, name)

    def begin(self, function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def url(self, path="/file.bin", name=None):
        port = self.ports[name or next(iter(self.ports))]
        return "%s://127.0.0.1:%d%s" % ("https" if self.tls else "http", port, path)

    def accept(self, listener, name):
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                return
            with self.lock:
                if self.is_closed:
                    connection.close()
                    return
                self.connections += 1
                number = self.connections
                self.sockets.add(connection)
            self.begin(self.serve, connection, name, number, address[1])

    def serve(self, connection, name, number, peer):
        raw = connection
        try:
            connection.settimeout(SOCKET_SECONDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)
                with self.lock:
                    self.sockets.discard(raw)
                    self.sockets.add(connection)
            pending = b""
            while not self.is_closed:
                while b"\r\n\r\n" not in pending:
                    more = connection.recv(65536)
                    if not more:
                        return
                    pending += more
                head, pending = pending.split(b"\r\n\r\n", 1)
                with self.lock:
                    self.requests += 1
                    count = self.requests
                    others = self.active
                call = Call(self, connection, name, number, peer, count, others, head.decode("latin-1"))
                self.handler(call)
                if call.must_close:
                    return
        except (OSError, Hangup, ValueError):
            # A client that went away, a reset by the handler, a malformed request.
            return
        except Exception as problem:  # a mistake in a handler must not look like a cut
            self.failures.append("%s: %s" % (type(problem).__name__, problem))
            raise
        finally:
            with self.lock:
                self.sockets.discard(connection)
            try:
                connection.close()
            except OSError:
                pass

    def note(self, text):
        with self.lock:
            self.log.append("%7.3f %s" % (time.monotonic() % 1000, text))

    def close(self):
        with self.lock:
            self.is_closed = True
            sockets = list(self.sockets)
        self.gate.set()
        for open_socket in self.listeners + sockets:
            try:
                # Wakes the thread that waits in it.
                open_socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for listener in self.listeners:
            listener.close()


class Call:
    """One request, and the means to respond to it."""

    def __init__(self, server, connection, name, number, peer, count, others, head):
        self.server = server
        self.connection = connection
        self.name = name
        self.number = number
        self.peer = peer
        self.count = count
        self.others = others
        self.must_close = False
        self.is_counted = False
        self.body_sent = 0
        lines = head.split("\r\n")
        self.method, target, _ = (lines[0] + "  ").split(" ", 2)
        self.path = target
        self.fields = {}
        for line in lines[1:]:
            key, _, value = line.partition(":")
            self.fields[key.strip().lower()] = value.strip()

    def __getitem__(self, name):
        return self.fields.get(name.lower())

    def range(self, size):
        """The requested byte range as (start, end), half-open; `None` without one, "bad" if it cannot be satisfied."""
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.fields.get("range", ""))
        if not match or match[0] == "bytes=-":
            return None
        first, last = match[1], match[2]
        if not first:
            return (max(0, size - int(last)), size)
        start = int(first)
        end = min(int(last) + 1, size) if last else size
        if start >= size or end <= start:
            return "bad"
        return (start, end)

    def reply(self, status, fields=(), body=b"", framing="length", cut=None, reset=False, stall=None, close=False,
              gently=False, declared=None, pace=None):
        """Writes a response.

        - framing: "length", "chunked" or "close".
        - cut: the connection ends after this many bytes of the body; -1 is before the head.
        - reset: the cut is a reset instead of an orderly end.
        - gently: before a reset the client gets time to read what was sent.
        - stall: (offset, seconds), a pause in the body.
        - declared: the Content-Length, if it is not the body's.
        - pace: a `Pace` for this response alone.
        """
        if cut == -1:
            return self.hang_up(reset)
        lines = ["HTTP/1.1 %d %s" % (status, http.client.responses.get(status, "Unknown"))]
        lines += ["%s: %s" % field for field in fields]
        has_body = self.method != "HEAD" and status not in (204, 304)
        if framing == "length":
            lines.append("Content-Length: %d" % (len(body) if declared is None else declared))
        elif framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        if framing == "close" or close:
            lines.append("Connection: close")
            self.must_close = True
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        if not has_body:
            self.connection.sendall(head)
            return
        view = memoryview(body)
        end = len(view) if cut is None else min(cut, len(view))
        self.enter()
        try:
            self.connection.sendall(head)
            at = 0
            while at < end:
                stop = min(at + self.server.block, end)
                if stall and at <= stall[0] < stop:
                    time.sleep(stall[1])
                if pace:
                    pace.wait(stop - at)
                self.server.pace.wait(stop - at)
                self.server.gate.wait()
                if self.server.is_closed:
                    raise Hangup()
                if stop == len(view):
                    # The client may send its next request before this thread runs again.
                    self.leave()
                self.send(view[at:stop], framing)
                at = stop
            if cut is not None:
                self.hang_up(reset, gently)
            if framing == "chunked":
                self.connection.sendall(b"0\r\n\r\n")
        finally:
            self.leave()

    def send(self, block, framing="length"):
        if framing == "chunked":
            self.connection.sendall(b"%x\r\n" % len(block))
        at = 0
        while at < len(block):
            count = self.connection.send(block[at:])
            at += count
            self.body_sent += count
            with self.server.lock:
                self.server.sent += count
        if framing == "chunked":
            self.connection.sendall(b"\r\n")

    def enter(self):
        if not self.is_counted:
            self.is_counted = True
            with self.server.lock:
                self.server.active += 1

    def leave(self):
        if self.is_counted:
            self.is_counted = False
            with self.server.lock:
                self.server.active -= 1

    def hang_up(self, reset=False, gently=False):
        """Ends the connection: in order, or by a reset."""
        if reset:
            own = set(self.server.ports.values())
            deadline = time.monotonic() + (0.25 if gently else 0)
            while time.monotonic() < deadline and unread_bytes(own, self.peer):
                time.sleep(0.001)
            lost = unread_bytes(own, self.peer)
            with self.server.lock:
                # Bytes that the client could not read do not count as sent.
                self.server.sent -= min(lost, self.body_sent)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Hangup()

    def hang(self, seconds):
        """Keeps the connection open and sends nothing."""
        deadline = time.monotonic() + seconds
        self.connection.settimeout(0.2)
        while time.monotonic() < deadline and not self.server.is_closed:
            try:
                if not self.connection.recv(1024):
                    break
            except TimeoutError:
                pass
        raise Hangup()

    def redirect(self, location, status=302):
        self.reply(status, [("Location", location)])

    def serve_file(self, content, fields=(), if_range=None, **how):
        """A correct response for this content: 200, 206 or 416.

        - if_range: the validator that If-Range has to equal; `None` ignores the field.
        """
        wanted = self.range(len(content))
        condition = self["if-range"]
        if wanted is not None and (condition is None or if_range is None or condition == if_range):
            if wanted == "bad":
                return self.reply(416, [("Content-Range", "bytes */%d" % len(content)), *fields])
            start, end = wanted
            return self.reply(206, [("Content-Range", "bytes %d-%d/%d" % (start, end - 1, len(content))), *fields],
                              memoryview(content)[start:end], **how)
        return self.reply(200, [("Accept-Ranges", "bytes"), *fields], content, **how)


def has_option(binary, option, command="get"):
    try:
        text = subprocess.run([binary, command, "--help"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return option in text


def stop_process(process):
    """Kills a process group that was started with `start_new_session`."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (OSError, ProcessLookupError):
            process.kill()
    process.wait()


def spawn(command, stdout, stderr, directory=None):
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=directory,
                            start_new_session=True, env=environment)


@contextlib.contextmanager
def private_copy(binary):
    """A copy of a program for the time of a run: a build may replace the original meanwhile."""
    with tempfile.TemporaryDirectory(prefix="martlet-program-") as directory:
        yield shutil.copy(binary, os.path.join(directory, "martlet"))


def default_binary():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.environ.get("MARTLET", os.path.join(root, ".build", "martlet"))

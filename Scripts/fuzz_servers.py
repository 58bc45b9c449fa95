# SPDX-License-Identifier: Apache-2.0
"""Fuzzes `martlet serve` and `martlet daemon` from outside; see Scripts/fuzz-servers."""
import argparse
import base64
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARTLET = os.path.abspath(os.environ.get("MARTLET", os.path.join(ROOT, ".build", "debug", "martlet")))
CORPUS = os.path.join(ROOT, "Tests", "Corpus")
# The debug build, with its caches; a leak or an unbounded buffer passes it within a round.
MOST_MEMORY = 512 << 20
SENDERS = 4
ROUND = 6
ENDS = sorted({sign for bits in (8, 16, 32, 64) for sign in (-(1 << bits - 1), (1 << bits - 1) - 1, (1 << bits) - 1)})
SEPARATORS = [b"\0", b"\r", b"\n", b"\r\n\r\n", b" ", b"\t", b"\xff", b"%", b"..", b"/", b'"', b";", b","]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "MKCOL", "x" * 33]
CRASH = re.compile(rb"Fatal error|Program crashed|Backtrac|AddressSanitizer|runtime error")


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def boundary_number(rng):
    """A number within 4,096 of an end of an integer type, or of 0."""
    distance = 4096 if rng.random() < 0.7 else 2
    return rng.choice(ENDS + [0]) + rng.randint(-distance, distance)


# MARK: Requests


class Item:
    """A request of the corpus: its lines, and its content or `None`."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        with open(path, newline="") as file:
            head, _, content = file.read().partition("\n\n")
        self.lines = head.rstrip("\n").split("\n")
        self.content = content.rstrip("\n") or None
        if "multipart/" in head and self.content:
            self.content = self.content.replace("\n", "\r\n")


def load(folder):
    items = [Item(path) for path in sorted(glob.glob(os.path.join(CORPUS, folder, "*.http")))]
    expect(items, f"there is no corpus in {CORPUS}/{folder}")
    return items


def numbers_replaced(rng, text):
    every = rng.random() < 0.2
    places = [match.span() for match in re.finditer(r"\d+", text)]
    if not places:
        return text
    chosen = places if every else rng.sample(places, min(len(places), rng.randint(1, 2)))
    for start, end in sorted(chosen, reverse=True):
        value = boundary_number(rng)
        shown = rng.choice([str(value)] * 4 + [f"{value:x}", f"{value}.5", f"+{value}", f"{value:025d}", f"{value}e2"])
        text = text[:start] + shown + text[end:]
    return text


def bytes_mutated(rng, data, others):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        if not data:
            break
        at = rng.randrange(len(data))
        length = min(len(data) - at, rng.choice([1, 1, 2, 4, 16, 64, 512]))
        kind = rng.randrange(7)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at:at] = rng.randbytes(length)
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length] * rng.choice([1, 1, 3, 50])
        elif kind == 4:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            data[at : at + length] = other[start : start + 4 * length]
        elif kind == 5:
            data[at : at + length] = rng.choice(SEPARATORS)
        else:
            data[at:at] = rng.choice([b"A", b"[", b'{"a":', b"%2e", b"a=1&", b"0"]) * rng.choice([10, 100, 3000])
    return bytes(data)


def chunked(rng, content):
    data = b""
    while content:
        size = rng.randint(1, max(1, min(len(content), 40)))
        extension = rng.choice([b"", b"", b";a=1", b' ; a="b;c"', b";" + b"x" * 50, b";n=%d" % boundary_number(rng)])
        shown = rng.choice([b"%x", b"%X", b"%08x"]) % size
        if rng.random() < 0.03:
            shown = b"%x" % abs(boundary_number(rng))
        data += shown + extension + b"\r\n" + content[:size] + b"\r\n"
        content = content[size:]
    fields = [b"", b"X-Trailer: 1", b"Content-Length: 5", b"X: " + b"t" * 200, b"Repr-Digest: sha-256=:x:"]
    trailers = rng.choice(fields)
    return data + b"0\r\n" + (trailers + b"\r\n" if trailers else b"") + b"\r\n"


def frame(rng, payload, opcode=None, final=None):
    """One WebSocket frame, sometimes with a length that is not its own."""
    opcode = rng.choice([1] * 6 + [0, 2, 3, 8, 9, 10, 15]) if opcode is None else opcode
    final = rng.random() < 0.85 if final is None else final
    first = (0x80 if final else 0) | opcode | (rng.choice([0x10, 0x20, 0x40]) if rng.random() < 0.05 else 0)
    length = len(payload) if rng.random() < 0.9 else abs(boundary_number(rng)) % (1 << 64)
    mask = 0x80 if rng.random() < 0.95 else 0
    wide = rng.random() < 0.1
    if length < 126 and not wide:
        head = struct.pack("!BB", first, mask | length)
    elif length < 65536 and not wide:
        head = struct.pack("!BBH", first, mask | 126, length)
    else:
        head = struct.pack("!BBQ", first, mask | 127, length)
    key = rng.randbytes(4) if mask else b""
    body = bytes(byte ^ key[index % 4] for index, byte in enumerate(payload)) if mask else payload
    return head + key + body


class Maker:
    """Makes the bytes of connections from a corpus."""

    def __init__(self, items, prefix=""):
        self.items = items
        self.prefix = prefix
        self.raw = [("\n".join(item.lines) + "\n" + (item.content or "")).encode() for item in items]

    def request(self, rng, values, closes):
        item = rng.choice(self.items)
        lines = list(item.lines)
        content = item.content
        if self.prefix and rng.random() < 0.9:
            lines[0] = re.sub(r" (?=/|\{(upload|draft|share)\})", " " + self.prefix, lines[0], count=1)
        if rng.random() < 0.5:
            place = rng.randrange(len(lines) + (2 if content else 0))
            if place < len(lines):
                lines[place] = numbers_replaced(rng, lines[place])
            else:
                content = numbers_replaced(rng, content)
        if rng.random() < 0.25:
            place = rng.randrange(1, len(lines) + 1)
            kind = rng.randrange(8)
            if kind == 0:
                lines.insert(place, rng.choice(lines[1:] or lines))
            elif kind == 1 and place < len(lines):
                del lines[place]
            elif kind == 2:
                wrong = [" folded", "\tfolded", "No-Colon", ": nothing", "A b: c", "X:" + "y" * 20000]
                lines.insert(place, rng.choice(wrong))
            elif kind == 3 and place < len(lines):
                lines[place] = lines[place].replace(":", rng.choice([" :", ":", ":\t", "::"]), 1).swapcase()
            elif kind == 4:
                lines.insert(place, rng.choice(self.items).lines[-1])
            elif kind == 5:
                version = rng.choice(["HTTP/1.0", "HTTP/2.0", "HTTP/1.9", "HTTP/0.9", ""])
                lines[0] = lines[0].replace("HTTP/1.1", version)
            elif kind == 6:
                lines[0] = rng.choice(METHODS) + " " + lines[0].partition(" ")[2]
            else:
                lines += [f"X-{index}: {index}" for index in range(rng.choice([20, 101, 300]))]
        text = "\n".join(lines)
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
            if content is not None:
                content = content.replace("{" + name + "}", value)
        head = text.encode("utf-8", "surrogateescape")
        body = b"" if content is None else content.encode("utf-8", "surrogateescape")
        socketed = b"Upgrade: websocket" in head
        if content is not None and not socketed:
            framing = rng.randrange(10)
            if framing < 5:
                head += b"\nContent-Length: %d" % (len(body) if rng.random() < 0.9 else boundary_number(rng))
            elif framing < 8:
                head += b"\nTransfer-Encoding: chunked"
                if rng.random() < 0.1:
                    head += b"\nContent-Length: %d" % len(body)
                body = chunked(rng, body)
            elif framing == 8:
                head = head.replace(b"HTTP/1.1", b"HTTP/1.0")
                if rng.random() < 0.5:
                    head += b"\nContent-Length: %d" % len(body)
            else:
                coding = rng.choice([b"identity", b"gzip, chunked", b"chunked, chunked", b"xchunked"])
                head += b"\nTransfer-Encoding: " + coding
        if socketed:
            payloads = []
            for _ in range(rng.randint(1, 4)):
                payloads.append(body if rng.random() < 0.7 else rng.randbytes(rng.choice([0, 1, 125, 126, 70000])))
            body = b"".join(frame(rng, payload) for payload in payloads)
        elif closes:
            head += b"\nConnection: close"
        end = b"\n" if rng.random() < 0.03 else b"\r\n"
        return head.replace(b"\n", end) + end + end + body

    def connection(self, rng, values):
        """The pieces of what one connection sends."""
        count = rng.choice([1, 1, 1, 2, 5])
        data = b"".join(self.request(rng, values, closes=index == count - 1) for index in range(count))
        if rng.random() < 0.35:
            data = bytes_mutated(rng, data, self.raw)
        if rng.random() < 0.1:
            data = data[: rng.randrange(len(data) + 1)]
        split = rng.random()
        if split < 0.5 or not data:
            return [data]
        if split < 0.65 and len(data) < 3000:
            return [data[index : index + 1] for index in range(len(data))]
        cuts = sorted(rng.sample(range(len(data) + 1), min(len(data), rng.randint(1, 8))))
        return [data[start:end] for start, end in zip([0] + cuts, cuts + [len(data)]) if end > start]


# MARK: Servers


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tree(root, beside):
    """The files below a folder and their sizes, without those at or below the given places."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in beside]
        for name in folders + files:
            path = os.path.join(folder, name)
            if path not in beside:
                found[path] = os.lstat(path).st_size if name in files else -1
    return found


class Server:
    """A program under test in a folder of its own."""

    program = None
    flags = {}

    def __init__(self, rng, work, choice, isOther):
        self.work = work
        self.choice = choice
        self.isOther = isOther
        self.port = free_port()
        self.tls = False
        self.prefix = ""
        self.inside = os.path.join(work, "in", "side")
        os.makedirs(self.inside)
        self.outer = f"OUTSIDE-{rng.getrandbits(64):x}"
        for folder in (work, os.path.join(work, "in")):
            with open(os.path.join(folder, "secret.txt"), "w") as file:
                file.write(self.outer)
        self.token = f"token{rng.getrandbits(64):x}"
        self.secrets = [self.token]
        self.forbidden = [self.outer]
        self.values = {}
        self.prepare(rng)
        self.owned = set(self.places())
        self.before = tree(work, self.owned)

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        return path

    def choose(self, rng):
        """A random half of the options; the next server has the other half."""
        chosen = [name for name in self.flags if (self.choice.random() < 0.5) != self.isOther]
        for one, other in self.exclusive:
            if one in chosen and other in chosen:
                chosen.remove(rng.choice([one, other]))
        return chosen

    def start(self):
        environment = {
            "PATH": os.environ.get("PATH", ""), "HOME": self.work, "TMPDIR": self.work, "LANG": "C.UTF-8",
            "http_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1",
        }
        if "LD_LIBRARY_PATH" in os.environ:
            environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        self.log = open(os.path.join(self.work, "log"), "w+b")
        self.process = subprocess.Popen(
            [MARTLET, self.program, *self.arguments], cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log,
        )
        deadline = time.monotonic() + 30
        while True:
            expect(self.process.poll() is None, f"it did not start: {self.tail()}")
            try:
                self.connect(("127.0.0.1", 0)).close()
                break
            except OSError:
                expect(time.monotonic() < deadline, "it does not listen after 30 seconds")
                time.sleep(0.05)

    def connect(self, source, timeout=20):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout, source)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.tls:
            return connection
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(connection)

    def tail(self):
        with open(self.log.name, "rb") as file:
            lines = file.read().decode(errors="replace").split("\n")
        # Without the access log.
        return "\n".join(line for line in lines if not line.startswith("127."))[-2000:]

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            found = re.search(r"VmHWM:\s+(\d+)", file.read())
        # A process that has just ended has none.
        return int(found.group(1)) << 10 if found else 0

    def check(self):
        expect(self.process.poll() is None, f"it ended with {self.process.returncode}: {self.tail()}")
        memory = self.memory()
        expect(memory <= MOST_MEMORY, f"it uses {memory >> 20} MiB")
        return memory

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            raise Failure(f"it did not stop within 60 seconds: {self.tail()}")
        with open(self.log.name, "rb") as file:
            log = file.read()
        expect(not CRASH.search(log), f"its log has a crash: {self.tail()}")
        expect(status == 0, f"it ended with {status}: {self.tail()}")
        after = tree(self.work, self.owned)
        changed = {path for path in after.keys() | self.before.keys() if after.get(path) != self.before.get(path)}
        expect(not changed, f"files outside of its directory changed: {sorted(changed)[:5]}")

    def responses(self, requests):
        """The responses to valid requests that are sent at once; fewer if the server ends the connection."""
        # Wrong credentials come from other addresses, so that this one is never slowed down.
        with self.connect(("127.0.0.1", 0)) as connection:
            connection.sendall(b"".join(requests))
            file = connection.makefile("rb")
            found = []
            headers = None
            for _ in requests:
                line = file.readline()
                expect(line.startswith(b"HTTP/1.1 "), f"a probe got {line!r} after {found}\n{headers}")
                headers = http.client.parse_headers(file)
                body = file.read(int(headers["Content-Length"]))
                found.append((int(line.split()[1]), body))
                if headers["Connection"] == "close":
                    break
            return found


class Serve(Server):
    program = "serve"
    # --listen is always given, --tls-key with its certificate.
    flags = {
        "--base-path": ["/files"],
        "--trusted-proxy": ["127.0.0.0/8"],
        "--tls-certificate": ["{certificate}"],
        "--tls-self-signed": [],
        "--access-log": ["access.log"],
        "--read-only": [],
        "--overwrite": [],
        "--hidden": [],
        "--share": ["{served}/a.txt"],
        "--share-expires": ["60"],
        "--share-count": ["1000"],
        "--share-password-file": ["{password}"],
        "--qr": [],
        "--share-uploads": [],
        "--records": [],
        "--record-header": ["X-Fuzz"],
        "--record-cookie": ["kept"],
        "--token-file": ["{token_file}"],
        "--credentials": ["{credentials}"],
        "--public-read": [],
        "--session-cookie": ["fuzz-session"],
        "--allow-host": ["example.org"],
        "--allow-origin": ["http://localhost:*"],
        "--max-upload": ["64K"],
        "--max-total": ["1M"],
        "--keep-free": ["1M"],
        "--expiry": ["3"],
        "--idle-timeout": ["2"],
        "--upload-timeout": ["2"],
        "--min-rate": ["0"],
        "--max-connections": ["200"],
        "--grace": ["2"],
    }
    always = {"--listen", "--tls-key", "--help", "--version"}
    exclusive = [
        ("--tls-certificate", "--tls-self-signed"), ("--read-only", "--share-uploads"), ("--read-only", "--overwrite"),
    ]

    def places(self):
        names = ("log", "access.log", ".local", ".config", ".cache")
        return [self.inside] + [os.path.join(self.work, name) for name in names]

    def prepare(self, rng):
        served = self.inside
        os.makedirs(os.path.join(served, "sub"))
        os.makedirs(os.path.join(served, "in"))
        self.marks = []
        for index in range(5):
            mark = f"FILE-{index}-{rng.getrandbits(64):x}"
            self.marks.append(mark)
            with open(os.path.join(served, f"probe{index}.txt"), "w") as file:
                file.write(mark)
            os.utime(file.name, (1e9, 1e9))
            os.chmod(file.name, 0o444)
        contents = {"a.txt": "content of a.txt\n", "sub/b.txt": "b\n" * 100, "large.bin": "0123456789abcdef" * 16384}
        for name, content in contents.items():
            with open(os.path.join(served, name), "w") as file:
                file.write(content)
        hidden = f"HIDDEN-{rng.getrandbits(64):x}"
        with open(os.path.join(served, ".hidden"), "w") as file:
            file.write(hidden)
        os.symlink("../secret.txt", os.path.join(served, "link"))
        chosen = self.choose(rng)
        if "--share" not in chosen:
            chosen = [name for name in chosen if name not in ("--share-password-file", "--qr")]
        if "--share" not in chosen and "--share-uploads" not in chosen:
            chosen = [name for name in chosen if name not in ("--share-expires", "--share-count")]
        if "--records" not in chosen:
            chosen = [name for name in chosen if not name.startswith("--record-")]
        guarded = "--token-file" in chosen or "--credentials" in chosen
        if not guarded:
            chosen = [name for name in chosen if name not in ("--public-read", "--session-cookie")]
        values = {
            "served": served,
            "password": self.write("password", "hush\n"),
            "token_file": self.write("token", self.token + "\n"),
            "credentials": self.write(
                "credentials",
                f"all token {self.token}\nread,list basic me:pw\nwrite session abcdefghijklmnopqrstuvwxyz\n",
            ),
            "certificate": os.path.join(self.work, "certificate.pem"),
        }
        if "--tls-certificate" in chosen:
            made = shutil.which("openssl") and subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "30", "-keyout",
                 os.path.join(self.work, "key.pem"), "-out", values["certificate"]], capture_output=True, check=False)
            if not made or made.returncode != 0:
                chosen.remove("--tls-certificate")
        self.arguments = [served, "--listen", f"127.0.0.1:{self.port}"]
        for name in chosen:
            self.arguments += [name] + [value.format(**values) for value in self.flags[name]]
            if name == "--tls-certificate":
                self.arguments += ["--tls-key", os.path.join(self.work, "key.pem")]
        self.tls = "--tls-certificate" in chosen or "--tls-self-signed" in chosen
        self.prefix = "/files" if "--base-path" in chosen else ""
        if "--hidden" not in chosen:
            self.forbidden.append(hidden)
        self.isGuarded = guarded and "--public-read" not in chosen
        self.secrets += ["bWU6cHc", "abcdefghijklmnopqrstuvwxyz", ".martlet-share", "session", "-uploads"]
        self.values = {
            "host": f"localhost:{self.port}", "token": self.token, "basic": base64.b64encode(b"me:pw").decode(),
            "cookie": "fuzz-session" if "--session-cookie" in chosen else "martlet-session",
            "origin": f"{'https' if self.tls else 'http'}://localhost:{self.port}",
            "upload": "/.martlet-uploads/none", "draft": "/.martlet-uploads/none", "share": "/.martlet-share/none",
        }

    def learn(self):
        """Creates uploads and finds a link, for the requests that name them."""
        host = f"Host: localhost:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
        kinds = {
            "upload": "Tus-Resumable: 1.0.0\r\nUpload-Length: 11\r\n",
            "draft": "Upload-Draft-Interop-Version: 6\r\nUpload-Complete: ?0\r\n",
        }
        for name, fields in kinds.items():
            with self.connect(("127.0.0.1", 0)) as connection:
                head = f"POST {self.prefix}/ HTTP/1.1\r\n{host}{fields}Content-Length: 0\r\nConnection: close\r\n\r\n"
                connection.sendall(head.encode())
                response = connection.makefile("rb").read().decode(errors="replace")
            # The last one: an interim response may have another.
            found = re.findall(r"(?im)^location: (?:https?://[^/\r]*)?(\S+)\r$", response)
            if found:
                self.values[name] = found[-1].removeprefix(self.prefix)
        with open(self.log.name, "rb") as file:
            found = re.search(rb"(/\.martlet-share/[\w-]+)", file.read())
        if found:
            self.values["share"] = found.group(1).decode()

    def probe(self, rng):
        """Pipelined requests get their own responses, in their order."""
        order = [rng.randrange(5) for _ in range(4)]
        requests = []
        for index in order:
            head = f"GET {self.prefix}/probe{index}.txt HTTP/1.1\r\nHost: localhost:{self.port}\r\n"
            head += f"Authorization: Bearer {self.token}\r\n"
            if rng.random() < 0.3:
                head += "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nGET\r\n0\r\nT: 1\r\n\r\n"
            elif rng.random() < 0.3:
                head += "Content-Length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n"
            else:
                head += "\r\n"
            requests.append(head.encode())
        wanted = [(200, self.marks[index].encode()) for index in order]
        found = self.responses(requests)
        expect(found == wanted[: len(found)], f"the probes {order} got {found}")

    def judge(self, sent, received):
        for text in self.forbidden:
            expect(text.encode() not in received, f"a response has {text.split('-')[0]} content")
        if self.isGuarded and not any(secret.encode() in sent for secret in self.secrets):
            for text in self.marks + ["content of a.txt"]:
                expect(text.encode() not in received, "a response has content without a credential")


class Daemon(Server):
    program = "daemon"
    flags = {
        "--allow-dir": ["{more}"],
        "--save-session": ["session.txt"],
        "--save-session-interval": ["1"],
        "--rpc-allow-origin": ["http://example.org:8000"],
        "--rpc-allow-host": ["example.org"],
        "--insecure-notifications": [],
        "--deny-private-addresses": [],
        "--allow-addresses": ["127.0.0.1:1,10.0.0.0/8,nas.local"],
        "--max-concurrent-downloads": ["3"],
        "--max-download-result": ["100"],
        "--outage-timeout": ["0"],
        "--notify": ["failed"],
        "--on-start": ["true"],
        "--on-finish": ["true"],
        "--on-failure": ["true"],
        "--on-drain": ["true"],
        "--on-download-start": ["/bin/true"],
        "--on-download-pause": ["/bin/true"],
        "--on-download-stop": ["/bin/true"],
        "--on-download-complete": ["/bin/true"],
        "--on-download-error": ["/bin/true"],
        "--log-level": ["debug"],
        "--rpc-secret": ["{token}"],
        "--rpc-secret-file": ["{token_file}"],
    }
    # --detach would leave no process to watch; a descriptor is another source of the same token.
    always = {
        "--dir", "--listen", "--state-dir", "--rpc-secret-fd", "--detach", "--show-options", "--forget-options", "--help",
        "--version",
    }
    exclusive = [("--rpc-secret", "--rpc-secret-file")]

    def places(self):
        names = ("log", "state", "more", "session.txt", "session.txt.tmp", ".local", ".config", ".cache")
        return [self.inside] + [os.path.join(self.work, name) for name in names]

    def prepare(self, rng):
        more = os.path.join(self.work, "more")
        state = os.path.join(self.work, "state")
        os.makedirs(more)
        os.makedirs(state, 0o700)
        chosen = self.choose(rng)
        if "--rpc-secret" not in chosen and "--rpc-secret-file" not in chosen:
            chosen.append("--rpc-secret-file")
        if "--save-session" not in chosen and "--save-session-interval" in chosen:
            chosen.remove("--save-session-interval")
        values = {"more": more, "token": self.token, "token_file": self.write("token", self.token + "\n")}
        self.arguments = ["--dir", self.inside, "--state-dir", state, "--listen", f"127.0.0.1:{self.port}"]
        for name in chosen:
            self.arguments += [name] + [value.format(**values) for value in self.flags[name]]
        self.values = {
            "host": f"localhost:{self.port}", "token": self.token, "dir": self.inside, "gid": "0000000000000001",
            "basic": base64.b64encode(f"x:{self.token}".encode()).decode(), "origin": f"http://localhost:{self.port}",
        }

    def call(self, number, method, *parameters):
        parameters = [f"token:{self.token}", *parameters]
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        head = f"POST /jsonrpc HTTP/1.1\r\nHost: localhost:{self.port}\r\nContent-Length: {len(body)}\r\n\r\n"
        return (head + body).encode()

    def learn(self):
        call = self.call(1, "aria2.addUri", ["http://127.0.0.1:1/seed"], {"pause": "true"})
        status, body = self.responses([call])[0]
        expect(status == 200, f"the first call got {status}: {body!r}")
        self.values["gid"] = json.loads(body)["result"]

    def probe(self, rng):
        numbers = [rng.randrange(1 << 30) for _ in range(4)]
        found = self.responses([self.call(number, "aria2.getVersion") for number in numbers])
        for number, (status, body) in zip(numbers, found):
            expect(status == 200, f"a probe got {status}: {body!r}")
            answer = json.loads(body)
            expect(
                answer.get("id") == number and "version" in answer.get("result", {}), f"the probe {number} got {body!r}"
            )

    def judge(self, sent, received):
        for text in self.forbidden:
            expect(text.encode() not in received, f"a response has {text.split('-')[0]} content")
        # An error can quote what was sent; frames are masked and chunks cut.
        if not any(text in sent.lower() for text in (self.token.encode(), b"websocket", b"chunked")):
            expect(self.token.encode() not in received, "a response has the token")


# MARK: The run


class Run:
    def __init__(self, options):
        self.options = options
        self.kinds = [kind for kind in (Serve, Daemon) if options.only in (None, kind.program)]
        self.corpora = {kind: load(kind.program) for kind in self.kinds}
        self.counts = {kind.program: 0 for kind in self.kinds}
        self.answered = dict(self.counts)
        self.used = {kind.program: set() for kind in self.kinds}
        self.memory = 0
        self.lock = threading.Lock()

    def round(self, number, seconds):
        kind = self.kinds[number % len(self.kinds)]
        work = os.path.realpath(tempfile.mkdtemp(prefix="martlet-fuzz-"))
        turn = number // len(self.kinds)
        choice = random.Random(f"{self.options.seed}/options/{turn // 2}")
        server = kind(random.Random(f"{self.options.seed}/{number}"), work, choice, turn % 2 == 1)
        self.used[kind.program].update(argument for argument in server.arguments if argument.startswith("--"))
        self.failure = None
        self.recent = []
        try:
            server.start()
            server.learn()
            maker = Maker(self.corpora[kind], server.prefix)
            deadline = time.monotonic() + seconds
            threads = [
                threading.Thread(target=self.send, args=(server, maker, number, index, deadline))
                for index in range(SENDERS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if self.failure:
                raise Failure(self.failure)
            server.probe(random.Random(number))
            self.memory = max(self.memory, server.check())
            server.stop()
            shutil.rmtree(work, ignore_errors=True)
        except (Failure, OSError) as error:
            with open(os.path.join(work, "requests"), "wb") as file:
                for sender, index, data in self.recent:
                    file.write(b"=== sender %d, connection %d, %d bytes\n%s\n" % (sender, index, len(data), data))
            print(f"fuzz-servers: FAILED: {kind.program} {' '.join(server.arguments[1:])}\n  {error}\n"
                  f"  round {number}, seed {self.options.seed}; the requests and the log are in {work}", flush=True)
            return False
        finally:
            if getattr(server, "process", None) and server.process.poll() is None:
                server.process.kill()
                server.process.wait()
        return True

    def send(self, server, maker, number, sender, deadline):
        index = 0
        while time.monotonic() < deadline and not self.failure:
            rng = random.Random(f"{self.options.seed}/{number}/{sender}/{index}")
            try:
                if index % 25 == 24:
                    server.check()
                    server.probe(rng)
                pieces = maker.connection(rng, server.values)
                sent = b"".join(pieces)
                with self.lock:
                    self.recent = self.recent[-400:] + [(sender, index, sent)]
                received = self.exchange(server, pieces, rng)
                server.judge(sent, received)
                expect(not received or received.startswith(b"HTTP/1."), f"a response begins with {received[:40]!r}")
                with self.lock:
                    self.counts[server.program] += 1
                    self.answered[server.program] += bool(received)
            except Failure as error:
                self.failure = self.failure or f"{error} (sender {sender}, connection {index})"
            except OSError as error:
                if server.process.poll() is not None:
                    self.failure = self.failure or f"it ended with {server.process.returncode}: {server.tail()}"
                elif not isinstance(error, (ConnectionError, TimeoutError, ssl.SSLError)):
                    self.failure = self.failure or f"{error} (sender {sender}, connection {index})"
            except Exception as error:
                self.failure = self.failure or f"{error!r} (sender {sender}, connection {index})"
                raise
            index += 1

    def exchange(self, server, pieces, rng):
        """Sends the pieces and returns what comes back within a short time."""
        # A client of its own address each: wrong credentials slow down an address.
        source = (f"127.{rng.randint(1, 250)}.{rng.randint(1, 250)}.{rng.randint(1, 250)}", 0)
        received = bytearray()
        with server.connect(source, 5) as connection:
            try:
                for piece in pieces:
                    connection.sendall(piece)
                if rng.random() < 0.8 and not server.tls:
                    connection.shutdown(socket.SHUT_WR)
                connection.settimeout(0.25)
                while len(received) < 4 << 20:
                    data = connection.recv(65536)
                    if not data:
                        break
                    received += data
            except OSError:
                pass
        return bytes(received)

    def everyOption(self):
        """Every option that the help names is in a table."""
        for kind in self.kinds:
            text = subprocess.run([MARTLET, kind.program, "--help"], capture_output=True, text=True, check=True).stdout
            named = set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", text))
            missing = named - kind.flags.keys() - kind.always
            expect(not missing, f"add to Scripts/fuzz_servers.py: {kind.program} {' '.join(sorted(missing))}")

    def run(self):
        self.everyOption()
        print(f"fuzz-servers: seed {self.options.seed}, {self.options.seconds} seconds", flush=True)
        started = time.monotonic()
        passed = True
        number = self.options.round or 0
        while passed:
            left = self.options.seconds - (time.monotonic() - started)
            if left <= 0 or number - (self.options.round or 0) >= self.options.rounds:
                break
            passed = self.round(number, min(ROUND, max(1, left)))
            number += 1
        for program, count in self.counts.items():
            print(f"fuzz-servers: {program}: {count} connections, {self.answered[program]} with a response, "
                  f"{len(self.used[program])} options")
        print(f"fuzz-servers: {'passed' if passed else 'FAILED'}, {number} rounds, at most {self.memory >> 20} MiB")
        return 0 if passed else 1


def main():
    parser = argparse.ArgumentParser(prog="Scripts/fuzz-servers")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rounds", type=int, default=1 << 30)
    parser.add_argument("--only", choices=["serve", "daemon"])
    parser.add_argument("--round", type=int, help="the only round to run")
    options = parser.parse_args()
    if options.round is not None:
        options.rounds = 1
    try:
        return Run(options).run()
    except Failure as error:
        print(f"fuzz-servers: {error}", file=sys.stderr)
        return 2


sys.exit(main())

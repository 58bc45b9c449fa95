# SPDX-License-Identifier: Apache-2.0
"""Drives `martlet serve` from outside; see Scripts/check-receiver."""
import concurrent.futures
import hashlib
import http.client
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARTLET = os.path.abspath(os.environ.get("MARTLET", os.path.join(ROOT, ".build", "martlet")))
CUTS = int(os.environ.get("CUTS", "200"))
SEED = int(os.environ.get("SEED", "20261122"))


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


class Response(http.client.HTTPResponse):
    """A response that is read past interim ones, of which http.client knows 100 alone."""

    def _read_status(self):
        while True:
            version, status, reason = super()._read_status()
            if not 101 < status < 200:
                return version, status, reason
            http.client.parse_headers(self.fp)


http.client.HTTPConnection.response_class = Response


class Receiver:
    """A running `martlet serve`."""

    def __init__(self, directory, *options, port=0, host="127.0.0.1", descriptors=None):
        self.descriptors = descriptors
        self.directory = directory
        self.options = options
        self.host = host
        self.start(port)

    def start(self, port):
        self.log = open(self.directory.rstrip("/") + ".log", "ab")
        self.process = subprocess.Popen(
            [MARTLET, "serve", self.directory, "--listen", f"{self.host}:{port}", *self.options],
            stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=self.limit,
        )
        self.lines = []
        while True:
            line = self.process.stdout.readline()
            expect(line, f"martlet serve did not start; see {self.log.name}")
            self.lines.append(line.strip())
            if line.startswith("serving"):
                break
        self.base = self.lines[-1].split(" at ")[1].rstrip("/")
        self.port = int(re.search(r":(\d+)(/|$)", self.base).group(1))

    def limit(self):
        if self.descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

    def processor_time(self):
        """What it has taken of the processor, in seconds."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self):
        self.start(self.port)

    def stop(self):
        self.process.terminate()
        status = self.process.wait(60)
        expect(status == 0, f"martlet serve ended with {status}")

    def peak(self):
        """The most memory it had resident, in KiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))

    def path(self, name):
        return os.path.join(self.directory, name)

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def request(self, method, path, body=None, headers=None):
        connection = self.connection()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, dict((k.lower(), v) for k, v in response.getheaders()), response.read()
        finally:
            connection.close()


def digest(path):
    hasher = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    return hasher.hexdigest()


def content(length, seed=1):
    return random.Random(seed).randbytes(length)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    expect(done.returncode == 0, f"{' '.join(command[:3])} ended with {done.returncode}: {done.stderr[-400:]}")
    return done.stdout


def entries(receiver):
    """What is in the directory, but for what is the receiver's own."""
    return sorted(name for name in os.listdir(receiver.directory) if not name.startswith(".martlet"))


def unfinished(receiver):
    return sorted(n for n in os.listdir(receiver.path(".martlet-uploads")) if n != "lock")


def settled(receiver):
    deadline = time.time() + 20
    while unfinished(receiver) and time.time() < deadline:
        time.sleep(0.05)
    expect(not unfinished(receiver), f"left behind: {unfinished(receiver)[:3]}")


def check_curl(work):
    """curl: -T, --data-binary, -F, -C -, conditions."""
    receiver = Receiver(os.path.join(work, "curl"))
    source = write(os.path.join(work, "curl.bin"), content(5_000_000))
    run("curl", "-sfT", source, receiver.base + "/put.bin")
    expect(digest(receiver.path("put.bin")) == digest(source), "curl -T: other bytes")
    with open(source, "rb") as stdin:
        run("curl", "-sfT", "-", receiver.base + "/chunked.bin", stdin=stdin)
    expect(digest(receiver.path("chunked.bin")) == digest(source), "curl -T -: other bytes")
    run("curl", "-sf", "-F", f"file=@{source}", "-F", "note=x", receiver.base + "/")
    expect(digest(receiver.path("curl.bin")) == digest(source), "curl -F: other bytes")
    run("curl", "-sf", "--data-binary", "@" + source, receiver.base + "/posted/")
    half = write(os.path.join(work, "half.bin"), content(5_000_000)[:1_234_567])
    run("curl", "-sf", "-C", "-", "-o", half, receiver.base + "/put.bin")
    expect(digest(half) == digest(source), "curl -C -: other bytes")
    code = run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-T", source, receiver.base + "/put.bin")
    expect(code == "409", f"an existing name was answered {code}")
    code = run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-z", receiver.path("put.bin"),
               receiver.base + "/put.bin")
    expect(code == "304", f"curl -z was answered {code}")
    receiver.stop()
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        print("  no IPv6 here")
        return
    receiver = Receiver(os.path.join(work, "curl"), host="[::1]")
    run("curl", "-sfgT", source, receiver.base + "/six.bin")
    run("curl", "-sfg", "-o", half, receiver.base + "/six.bin")
    expect(digest(half) == digest(source), "over IPv6: other bytes")
    receiver.stop()


def check_wget(work):
    """wget: --method=PUT, -c, recursion over the listing."""
    receiver = Receiver(os.path.join(work, "wget"))
    source = write(os.path.join(work, "wget.bin"), content(3_000_000, 2))
    run("wget", "-q", "-O", "/dev/null", "--method=PUT", "--body-file=" + source, receiver.base + "/w/put.bin")
    expect(digest(receiver.path("w/put.bin")) == digest(source), "wget --method=PUT: other bytes")
    mirror = os.path.join(work, "mirror")
    run("wget", "-q", "-r", "-np", "-nH", "-P", mirror, receiver.base + "/w/")
    expect(digest(os.path.join(mirror, "w/put.bin")) == digest(source), "wget -r: other bytes")
    part = write(os.path.join(work, "put.bin"), content(3_000_000, 2)[:1_000_000])
    run("wget", "-q", "-c", receiver.base + "/w/put.bin", cwd=work)
    expect(digest(part) == digest(source), "wget -c: other bytes")
    receiver.stop()


def check_aria2(work):
    """aria2 -x16: many ranges at once."""
    receiver = Receiver(os.path.join(work, "aria2"))
    source = write(receiver.path("a.bin"), content(60_000_000, 3))
    out = os.path.join(work, "aria2-out")
    run("aria2c", "-q", "-x16", "-s16", "-k1M", "-d", out, receiver.base + "/a.bin")
    expect(digest(os.path.join(out, "a.bin")) == digest(source), "aria2 -x16: other bytes")
    out = os.path.join(work, "martlet-out")
    run(MARTLET, "get", "-q", "-d", out, receiver.base + "/a.bin")
    expect(digest(os.path.join(out, "a.bin")) == digest(source), "martlet get: other bytes")
    receiver.stop()


def check_tus(work):
    """tuspy: pieces, checksums, resuming across kill -9 of the receiver."""
    from tusclient.client import TusClient

    receiver = Receiver(os.path.join(work, "tus"))
    source = write(os.path.join(work, "tus.bin"), content(7_000_000, 4))
    client = TusClient(receiver.base + "/in/")
    client.uploader(source, chunk_size=1_000_000, metadata={"filename": "whole.bin"}).upload()
    expect(digest(receiver.path("in/whole.bin")) == digest(source), "tuspy: other bytes")
    client.uploader(source, chunk_size=1_000_000, metadata={"filename": "sums.bin"}, upload_checksum=True).upload()
    expect(digest(receiver.path("in/sums.bin")) == digest(source), "tuspy with checksums: other bytes")
    uploader = client.uploader(source, chunk_size=900_000, metadata={"filename": "killed.bin"})
    uploader.upload_chunk()
    uploader.upload_chunk()
    receiver.kill()
    receiver.restart()
    again = client.uploader(source, url=uploader.url, chunk_size=900_000)
    expect(again.offset == 1_800_000, f"after kill -9 the offset is {again.offset}")
    again.upload()
    expect(digest(receiver.path("in/killed.bin")) == digest(source), "tuspy after kill -9: other bytes")
    receiver.stop()


def send_part(receiver, location, offset, data, stop_after, headers):
    """Sends a PATCH and breaks it off after some bytes; the status, or None where it was broken off."""
    head = f"PATCH {location} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n"
    head += "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
    with socket.create_connection(("127.0.0.1", receiver.port), timeout=20) as connection:
        connection.sendall(head.encode() + data[:stop_after])
        if stop_after < len(data):
            if random.random() < 0.5:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return None
        response = Response(connection)
        response.begin()
        response.read()
        return response.status


def check_kills(work):
    """Both protocols, cut from either side at random moments: the right bytes, each acknowledged one at most twice."""
    random.seed(SEED)
    receiver = Receiver(os.path.join(work, "kills"))
    cuts = sent = 0
    length = 2_000_000
    total = 0
    number = 0
    while cuts < CUTS:
        number += 1
        data = content(length, number)
        total += length
        is_tus = number % 2 == 0
        if is_tus:
            headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(length), "Upload-Metadata": "filename eA=="}
            status, fields, _ = receiver.request("POST", f"/t{number}", b"", headers)
            protocol = {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}
        else:
            headers = {"Upload-Draft-Interop-Version": "6", "Upload-Complete": "?0", "Upload-Length": str(length)}
            status, fields, _ = receiver.request("POST", f"/t{number}", b"", headers)
            protocol = {"Upload-Draft-Interop-Version": "6", "Content-Type": "application/partial-upload",
                        "Upload-Complete": "?1"}
        expect(status == 201, f"creation was answered {status}")
        location = fields["location"]
        acknowledged = 0
        while True:
            ask = {"Tus-Resumable": "1.0.0"} if is_tus else {"Upload-Draft-Interop-Version": "6"}
            status, fields, _ = receiver.request("HEAD", location, None, ask)
            expect(status in (200, 204), f"HEAD was answered {status}")
            offset = int(fields["upload-offset"])
            expect(offset >= acknowledged, f"the offset went back from {acknowledged} to {offset}")
            acknowledged = offset
            if offset == length and (is_tus or fields["upload-complete"] == "?1"):
                break
            rest = data[offset:]
            how_much = random.randrange(len(rest) + 1) if cuts < CUTS and random.random() < 0.85 else len(rest)
            try:
                if how_much < len(rest) and random.random() < 0.4:
                    killer = threading.Timer(random.random() * 0.02, receiver.kill)
                    killer.start()
                    try:
                        send_part(receiver, location, offset, rest, len(rest), {**protocol, "Upload-Offset": str(offset)})
                    finally:
                        killer.join()
                        receiver.restart()
                        cuts += 1
                else:
                    status = send_part(receiver, location, offset, rest, how_much,
                                       {**protocol, "Upload-Offset": str(offset)})
                    if status is None:
                        cuts += 1
            except (OSError, http.client.HTTPException):
                pass
            sent += how_much
            name = receiver.path(f"t{number}")
            if os.path.exists(name):
                expect(os.path.getsize(name) == length, "a partial file under its final name")
        with open(receiver.path(f"t{number}"), "rb") as file:
            expect(file.read() == data, f"t{number} has other bytes")
        os.remove(receiver.path(f"t{number}"))
    print(f"  {cuts} cuts in {number} uploads; {sent / total:.2f} times their bytes were sent, no acknowledged one again")
    receiver.stop()


def check_slow(work):
    """A thousand connections at one byte a second: others are served, memory is bounded, in the end they are cut off."""
    receiver = Receiver(os.path.join(work, "slow"), "--idle-timeout", "10")
    sockets = []
    for number in range(1000):
        connection = socket.create_connection(("127.0.0.1", receiver.port))
        connection.sendall(f"PUT /s{number} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode())
        sockets.append(connection)
    begun = time.time()
    slowest = 0
    while time.time() < begun + 14:
        for connection in sockets:
            try:
                connection.send(b"x")
            except OSError:
                pass
        asked = time.time()
        status, _, _ = receiver.request("GET", "/")
        slowest = max(slowest, time.time() - asked)
        expect(status == 200, f"beside slow senders a listing was answered {status}")
        time.sleep(max(0, 1 - (time.time() - asked)))
    expect(slowest < 2, f"beside slow senders a listing took {slowest:.1f} s")
    expect(receiver.peak() < 100_000, f"{receiver.peak()} KiB resident")
    settled(receiver)
    expect(not entries(receiver), "a slow sender's file is there")
    print(f"  a listing took at most {slowest * 1000:.0f} ms beside them; {receiver.peak() // 1024} MiB resident")
    for connection in sockets:
        connection.close()
    receiver.stop()


def check_many(work):
    """10,000 small uploads at once: all there, memory bounded, nothing left behind."""
    receiver = Receiver(os.path.join(work, "many"), "--access-log", "none")
    data = content(20_000, 5)

    def worker(first):
        connection = receiver.connection()
        for number in range(first, 10_000, 200):
            connection.request("PUT", f"/m{number}", data)
            response = connection.getresponse()
            response.read()
            if response.status != 201:
                return response.status
        connection.close()
        return 201

    begun = time.time()
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        statuses = set(pool.map(worker, range(200)))
    expect(statuses == {201}, f"answers: {statuses}")
    expect(len(entries(receiver)) == 10_000, f"{len(entries(receiver))} files")
    for name in entries(receiver):
        expect(os.path.getsize(receiver.path(name)) == len(data), f"{name} is not whole")
    settled(receiver)
    expect(receiver.peak() < 100_000, f"{receiver.peak()} KiB resident")
    print(f"  {time.time() - begun:.1f} s, {receiver.peak() // 1024} MiB resident")
    receiver.stop()


def check_liar(work):
    """A sender that lies about its length, in every way."""
    receiver = Receiver(os.path.join(work, "liar"))
    for declared, sent in ((1000, 10), (10, 1000)):
        with socket.create_connection(("127.0.0.1", receiver.port), timeout=20) as connection:
            connection.sendall(f"PUT /l{declared} HTTP/1.1\r\nHost: x\r\nHost: y\r\n".encode())
            connection.sendall(b"\r\n" + b"x" * sent)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(65536)
        with socket.create_connection(("127.0.0.1", receiver.port), timeout=20) as connection:
            head = f"PUT /l{declared} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {declared}\r\n\r\n"
            connection.sendall(head.encode() + b"x" * sent)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(65536)
    settled(receiver)
    expect(entries(receiver) == ["l10"], f"landed: {entries(receiver)}")
    expect(os.path.getsize(receiver.path("l10")) == 10, "more bytes than declared")
    receiver.stop()


def check_full(work):
    """A full disk: 507, nothing under its final name, reading goes on, and writing once there is room."""
    if os.geteuid() != 0:
        print("  skipped: a tmpfs needs root")
        return
    directory = os.path.join(work, "full")
    os.makedirs(directory, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", directory], check=True)
    try:
        receiver = Receiver(directory, "--keep-free", "0")
        write(receiver.path("small"), b"x" * 1000)
        status, _, _ = receiver.request("PUT", "/declared", b"x" * 30_000_000, {"Expect": "100-continue"})
        expect(status == 507, f"too large a declared file was answered {status}")
        with socket.create_connection(("127.0.0.1", receiver.port), timeout=30) as connection:
            connection.sendall(b"PUT /chunked HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            answer = b""
            try:
                for _ in range(30):
                    connection.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
            except OSError:
                pass
            while more := connection.recv(65536):
                answer += more
            expect(answer.startswith(b"HTTP/1.1 507"), f"a full disk was answered {answer[:40]}")
        settled(receiver)
        expect(entries(receiver) == ["small"], f"there is {entries(receiver)}")
        expect(receiver.request("GET", "/small")[0] == 200, "reading does not go on")
        expect(receiver.request("PUT", "/after", b"x" * 1000)[0] == 201, "writing does not go on")
        receiver.stop()
    finally:
        subprocess.run(["umount", directory], check=True)


def check_tls(work):
    """A self-made certificate, its fingerprint, and curl and martlet get that pin its key."""
    directory = os.path.join(work, "tls")
    token = os.path.join(work, "token")
    receiver = Receiver(directory, "--tls-self-signed", "--token-file", token)
    source = write(receiver.path("f.bin"), content(3_000_000, 6))
    lines = dict(receiver.process.stdout.readline().strip().split(" ", 1) for _ in range(3))
    pin, authority = lines["pin"], lines["certificate"]
    secret = open(token).read().strip()
    out = os.path.join(work, "tls.bin")
    auth = ["-H", f"Authorization: Bearer {secret}"]
    run("curl", "-sfk", "--pinnedpubkey", pin, *auth, "-o", out, receiver.base + "/f.bin")
    expect(digest(out) == digest(source), "over TLS: other bytes")
    for trust in [["--cacert", authority], ["--pin", pin]]:
        run(MARTLET, "get", "-q", "--if-exists", "overwrite", *trust, *auth, "-o", out, receiver.base + "/f.bin")
        expect(digest(out) == digest(source), f"martlet get {trust}: other bytes")
    run("curl", "-sf", "--cacert", authority, *auth, "-o", out, receiver.base + "/f.bin")
    run(MARTLET, "put", "-q", "--pin", pin, *auth, source, receiver.base + "/h.bin")
    expect(digest(receiver.path("h.bin")) == digest(source), "martlet put --pin: other bytes")
    run("curl", "-sfk", "--pinnedpubkey", pin, *auth, "-T", source, receiver.base + "/g.bin")
    expect(digest(receiver.path("g.bin")) == digest(source), "over TLS, sent: other bytes")
    code = run("curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", receiver.base + "/f.bin")
    expect(code == "401", f"without credentials: {code}")
    expect(os.stat(token).st_mode & 0o777 == 0o600, "the token can be read by others")
    receiver.stop()


def check_starved(work):
    """Few descriptors and many connections, a file that is cut while it is sent: no loop spins, all goes on afterwards."""
    receiver = Receiver(os.path.join(work, "starved"), "--read-only", descriptors=64)
    write(receiver.path("f"), b"hello")
    begun = receiver.processor_time()
    sockets = [socket.create_connection(("127.0.0.1", receiver.port)) for _ in range(200)]
    time.sleep(2)
    taken = receiver.processor_time() - begun
    expect(taken < 0.5, f"{taken:.1f} s of the processor for 200 connections that are silent")
    for connection in sockets:
        connection.close()
    time.sleep(0.5)
    expect(receiver.request("GET", "/f")[0] == 200, "nothing is served afterwards")
    large = write(receiver.path("large"), bytes(64 << 20))
    connection = socket.create_connection(("127.0.0.1", receiver.port))
    connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
    connection.recv(1000)
    begun = receiver.processor_time()
    os.truncate(large, 32 << 20)
    connection.settimeout(20)
    while connection.recv(1 << 20):
        pass
    cut = receiver.processor_time() - begun
    expect(cut < 2, f"{cut:.1f} s of the processor for a file that was cut")
    print(f"  {taken:.2f} s of the processor beside 200 silent connections, {cut:.2f} s for a file that was cut")
    receiver.stop()


def check_links(work):
    """A link for one download: several connections are one, a second download is refused."""
    source = write(os.path.join(work, "linked.bin"), content(60_000_000, 8))
    for name, command in (
        ("aria2", ["aria2c", "-q", "-x8", "-s8", "-k1M", "-d", work, "-o"]),
        ("martlet", [MARTLET, "get", "-q", "-x", "4", "--min-split-size", "1M", "--limit-rate", "60M", "-o"]),
        ("curl", ["curl", "-sf", "-o"]),
    ):
        receiver = Receiver(
            os.path.join(work, "links"), "--read-only", "--share", source, "--share-count", "1",
        )
        link = receiver.process.stdout.readline().strip().split(" at ")[1]
        target = f"{name}.bin"
        run(*command, target if name == "aria2" else os.path.join(work, target), link)
        expect(digest(os.path.join(work, target)) == digest(source), f"{name}: other bytes")
        status, _, _ = receiver.request("GET", link[len(receiver.base):])
        expect(status == 410, f"{name}: a second download was answered {status}")
        receiver.stop()
        with open(receiver.log.name) as log:
            expect(link.split("/")[-2] not in log.read(), "the token stands in the log")


def check_shares(work):
    """Links after kill -9: three copies and no fourth, a download continues; an upload's link, and one's removal."""
    source = write(os.path.join(work, "shared.bin"), content(40_000_000, 9))
    target = os.path.join(work, "copy.bin")
    options = ["--share", source, "--share-count", "3", "--share-expires", "3600", "--share-uploads"]
    receiver = Receiver(os.path.join(work, "shares"), *options)

    def offered():
        return receiver.process.stdout.readline().strip().split(" at ")[1]

    link = offered()
    copies = 0
    for number in range(3):
        if os.path.exists(target):
            os.unlink(target)
        # Killed during the download, which continues then, by its address alone.
        partial = subprocess.Popen(["curl", "-s", "--limit-rate", "20M", "-o", target, link])
        while not os.path.exists(target) or os.path.getsize(target) < 2_000_000:
            time.sleep(0.01)
        receiver.kill()
        expect(partial.wait(30) != 0, "the download was not interrupted")
        receiver.restart()
        expect(offered() == link, "another link was printed after a kill")
        run("curl", "-sf", "-C", "-", "-o", target, link)
        expect(digest(target) == digest(source), "other bytes after a kill")
        copies += 1
        # Killed between downloads.
        receiver.kill()
        receiver.restart()
        again = offered()
        expect((again == link) == (copies < 3), f"after {copies} copies the link printed was {again}")
    for method in ("GET", "HEAD"):
        status, _, _ = receiver.request(method, link[len(receiver.base):])
        expect(status == 410, f"{method} for a fourth copy was answered {status}")
    sent = subprocess.run(
        [MARTLET, "put", "--json", source, receiver.base + "/sent.bin"], capture_output=True, text=True, check=True
    )
    events = [json.loads(line) for line in sent.stdout.splitlines()]
    upload = next(event["link"] for event in events if event["event"] == "finished")
    receiver.kill()
    receiver.restart()
    run("curl", "-sf", "-o", target, upload)
    expect(digest(target) == digest(source), "other bytes by the link for an upload")
    printed = subprocess.run(
        [MARTLET, "put", write(os.path.join(work, "small"), b"x"), receiver.base + "/"],
        capture_output=True, text=True, check=True,
    )
    expect("\nlink: " + receiver.base + "/.martlet-share/" in printed.stderr, f"put printed {printed.stderr!r}")
    listed = subprocess.run([MARTLET, "links"], capture_output=True, text=True, check=True).stdout
    expect(upload[len(receiver.base):] in listed and "3 of 3 downloads" in listed, f"martlet links printed {listed!r}")
    run(MARTLET, "links", "--remove", upload)
    status, _, _ = receiver.request("GET", upload[len(receiver.base):])
    expect(status == 410, f"a removed link was answered {status}")
    receiver.stop()
    state = os.path.join(os.environ["MARTLET_STATE_DIR"], "links")
    for name in os.listdir(state):
        expect(os.stat(os.path.join(state, name)).st_mode & 0o777 == 0o600, f"others may read {name}")


def check_silent(work):
    """A link for one download, and a client that reads what it does not acknowledge, and resets each connection."""
    size = 40_000_000
    source = write(os.path.join(work, "silent.bin"), content(size, 11))
    receiver = Receiver(os.path.join(work, "silent"), "--share", source, "--share-count", "1")
    path = receiver.process.stdout.readline().strip().split(" at ")[1][len(receiver.base):]
    received, start, cookie, refused = 0, 0, "", 0
    while refused < 3 and received < 3 * size:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 30_000)
        client.settimeout(5)
        client.connect(("127.0.0.1", receiver.port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{receiver.port}\r\nRange: bytes={start}-{min(size, start + 3_600_000) - 1}\r\n{cookie}\r\n"
        client.sendall(head.encode())
        time.sleep(0.05)
        data = client.recv(1 << 22, socket.MSG_PEEK)
        found = re.search(rb"Set-Cookie: ([^;]+)", data)
        if found:
            cookie = f"Cookie: {found.group(1).decode()}\r\n"
        if b" 206 " in data[:20]:
            count = len(data) - data.index(b"\r\n\r\n") - 4
            received += count
            start = (start + count) % size
        else:
            refused += 1
            time.sleep(0.5)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    expect(received <= 1.5 * size, f"{received / size:.2f} copies were received by a link for one download")
    receiver.stop()


def archive_tree(directory):
    """A tree with what is hard for archives; returns the names and sizes that an archive must have."""
    os.makedirs(os.path.join(directory, "sub", "deep"))
    os.makedirs(os.path.join(directory, "many"))
    names = {}
    for name, size in [("empty", 0), ("\u00e4 \u6587.bin", 3_000_000), ("sub/one", 262_144), ("sub/deep/more", 262_145)]:
        write(os.path.join(directory, name), content(size, size))
        names[name] = size
    for number in range(66_000):
        write(os.path.join(directory, "many", str(number)), b"%d" % number)
        names[f"many/{number}"] = len(str(number))
    with open(os.path.join(directory, "large"), "wb") as file:
        file.truncate((4 << 30) + 5)
    names["large"] = (4 << 30) + 5
    write(os.path.join(directory, "after"), b"after")
    names["after"] = 5
    write(os.path.join(directory, ".hidden"), b"hidden")
    os.symlink("/etc/passwd", os.path.join(directory, "out"))
    os.symlink(".", os.path.join(directory, "loop"))
    return names


def check_zip(work):
    """Archives of a tree with 66,000 files and one above 4 GiB, read by unzip, Python and bsdtar; little memory."""
    receiver = Receiver(os.path.join(work, "zip"))
    names = archive_tree(receiver.directory)
    path = os.path.join(work, "all.zip")
    run("curl", "-sf", "-o", path, f"{receiver.base}/?zip")
    expect(receiver.peak() < 128 << 10, f"the receiver had {receiver.peak()} KiB resident")
    run("unzip", "-tq", path)
    with zipfile.ZipFile(path) as archive:
        found = {entry.filename: entry.file_size for entry in archive.infolist() if not entry.is_dir()}
        expect(found == names, f"the archive has {len(found)} files instead of {len(names)}")
        expect(archive.read("sub/one") == content(262_144, 262_144), "a file has other content")
    if shutil.which("bsdtar"):
        with open(path, "rb") as file:
            listed = subprocess.run(["bsdtar", "-tf", "-"], stdin=file, capture_output=True, text=True, check=True)
        expect(len(listed.stdout.splitlines()) == len(names) + 3, "bsdtar reads other entries from a pipe")
    os.remove(path)
    status, fields, data = receiver.request("GET", "/sub/?zip&name=one&name=deep%2F")
    expect(status == 200 and "content-length" not in fields, "a selection with a directory has a length")
    expect(sorted(zipfile.ZipFile(io.BytesIO(data)).namelist()) == ["deep/", "deep/more", "one"], "wrong selection")
    status, fields, data = receiver.request("GET", "/sub/?zip&name=one")
    expect(int(fields["content-length"]) == len(data), "a file alone has no length")
    # A file that becomes shorter while it is sent ends the connection.
    client = subprocess.Popen(
        ["curl", "-s", "--limit-rate", "50M", "-o", path, f"{receiver.base}/?zip&name=large"])
    while not os.path.exists(path) or os.path.getsize(path) < 1 << 20:
        expect(client.poll() is None, "curl ended early")
        time.sleep(0.02)
    os.truncate(os.path.join(receiver.directory, "large"), 1000)
    expect(client.wait(60) != 0, "a truncated file was sent as an archive")
    receiver.stop()


def check_passwords(work):
    """A link with a password: by curl with Basic and with the form's cookie; the QR code read by zbarimg."""
    source = write(os.path.join(work, "with password.bin"), content(300_000, 12))
    secret = write(os.path.join(work, "password"), b"open sesame\n")
    os.chmod(secret, 0o600)
    receiver = Receiver(os.path.join(work, "passwords"), "--share", source, "--share-password-file", secret, "--qr")
    link = receiver.process.stdout.readline().strip().split(" at ")[1]
    expect("with" not in link, f"the link has the name of its file: {link}")
    drawn = [receiver.process.stdout.readline() for _ in range(20)]
    expect(sum("\u2588\u2588\u2588\u2588" in line for line in drawn) == 20, "no QR code was printed")
    code = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", link], capture_output=True, text=True)
    expect(code.stdout == "401", f"without the password the response was {code.stdout}")
    got = os.path.join(work, "got")
    run("curl", "-sf", "-u", ":open sesame", "-o", got, link)
    expect(digest(got) == digest(source), "Basic got another file")
    jar = os.path.join(work, "jar")
    run("curl", "-sfL", "-c", jar, "-b", jar, "--data-urlencode", "password=open sesame", "-o", got, link)
    expect(digest(got) == digest(source), "the form got another file")
    svg = subprocess.run(["curl", "-sf", f"{link[:-1]}?qr"], capture_output=True, text=True, check=True).stdout
    expect(decoded(svg, work) in (link, None), f"the QR code is {decoded(svg, work)!r}, not {link!r}")
    listed = subprocess.run([MARTLET, "links"], capture_output=True, text=True, check=True).stdout
    expect("password" in listed and "sesame" not in listed, f"martlet links printed {listed!r}")
    receiver.stop()


def decoded(svg, work):
    """The text of a QR code, read by zbarimg; None if that is not installed."""
    if not shutil.which("zbarimg"):
        return None
    side, scale = int(re.search(r'viewBox="0 0 (\d+)', svg).group(1)), 8
    dark = [bytearray(b"\xff" * side * scale) for _ in range(side * scale)]
    for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h", svg):
        for row in range(int(y) * scale, (int(y) + 1) * scale):
            dark[row][int(x) * scale:(int(x) + int(width)) * scale] = bytes(int(width) * scale)
    image = write(os.path.join(work, "qr.pgm"), b"P5 %d %d 255\n" % (side * scale, side * scale) + b"".join(dark))
    return run("zbarimg", "-q", "--raw", image).strip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nginx_proxy(work, port, upstream):
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    configuration = write(os.path.join(work, "proxy.conf"), f"""
{"user root;" if os.geteuid() == 0 else ""}
daemon off; pid {work}/nginx.pid; error_log {work}/nginx-error.log; worker_processes 1;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {work}/nginx-1; proxy_temp_path {work}/nginx-2; fastcgi_temp_path {work}/nginx-3;
  uwsgi_temp_path {work}/nginx-4; scgi_temp_path {work}/nginx-5;
  server {{
    listen 127.0.0.1:{port};
    location /files/ {{
      proxy_pass http://127.0.0.1:{upstream};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto https;
      client_max_body_size 0; proxy_request_buffering off;
    }}
  }}
}}
""".encode())
    return [program, "-p", work, "-c", configuration]


def caddy_proxy(work, port, upstream):
    configuration = write(os.path.join(work, "Caddyfile"), f"""{{
    admin off
    auto_https off
}}
http://127.0.0.1:{port} {{
    bind 127.0.0.1
    reverse_proxy /files/* 127.0.0.1:{upstream}
}}
""".encode())
    return ["caddy", "run", "--config", configuration, "--adapter", "caddyfile"]


def check_proxies(work):
    """Behind nginx and Caddy below /files: URLs, uploads by PUT and tus, links, addresses in the log and of guessers."""
    for name, made in [("nginx", nginx_proxy), ("caddy", caddy_proxy)]:
        if not (shutil.which(name) or os.path.exists(f"/usr/sbin/{name}")):
            print(f"proxies: {name} is not installed")
            continue
        log = os.path.join(work, f"{name}-access.log")
        os.makedirs(os.path.join(work, "proxies", name))
        receiver = Receiver(
            os.path.join(work, "proxies", name), "--base-path", "/files", "--trusted-proxy", "127.0.0.1", "--access-log", log,
            "--share-uploads", "--overwrite")
        port = free_port()
        with open(os.path.join(work, f"{name}.log"), "wb") as output:
            proxy = subprocess.Popen(made(work, port, receiver.port), stdout=output, stderr=output, env={**os.environ, "HOME": work})
        try:
            drive_proxy(name, port, receiver, work)
        finally:
            proxy.terminate()
            proxy.wait(20)
            receiver.stop()
        with open(log) as file:
            lines = file.read()
        expect("/files/a%20b" in lines, "the log has other paths")
        expect("127.0.0.2 - - " in lines and "203.0.113.9" not in lines, "a client has named its own address")


def drive_proxy(name, port, receiver, work):
    scheme = "https" if name == "nginx" else "http"
    proxied = f"http://127.0.0.1:{port}"
    while subprocess.run(["curl", "-s", "-o", "/dev/null", f"{proxied}/files/"]).returncode:
        time.sleep(0.1)
    source = write(os.path.join(work, "sent"), content(3_000_000, 13))
    # From an address that is not a proxy's; first with fields of the client's own.
    for lies in (["-H", "Forwarded: for=203.0.113.9", "-H", "X-Forwarded-For: 203.0.113.9"], []):
        run("curl", "-sf", "--interface", "127.0.0.2", *lies, "-o", "/dev/null", f"{proxied}/files/")
    head = run("curl", "-sf", "-D", "-", "-o", "/dev/null", "-T", source, f"{proxied}/files/a%20b")
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines() if ": " in line)
    expect(fields["Location"] == f"{scheme}://127.0.0.1:{port}/files/a%20b", f"{name}: Location {fields['Location']}")
    link = fields["Share-Link"]
    expect(link.startswith(f"{scheme}://127.0.0.1:{port}/files/.martlet-share/"), f"{name}: link {link}")
    got = os.path.join(work, "got")
    run("curl", "-sf", "-o", got, proxied + link[link.index("/files/"):])
    expect(digest(got) == digest(source), f"{name}: the link got another file")
    created = run("curl", "-sf", "-D", "-", "-o", "/dev/null", "-X", "POST", "-H", "Tus-Resumable: 1.0.0",
                  "-H", "Upload-Length: 3", f"{proxied}/files/")
    expect(f"{scheme}://127.0.0.1:{port}/files/.martlet-uploads/" in created, f"{name}: tus was answered {created}")
    page = run("curl", "-sf", "-H", "Accept: text/html", f"{proxied}/files/")
    expect('href="a%20b"' in page and 'href="/a%20b"' not in page, f"{name}: the listing has other URLs")
    status, _, _ = receiver.request("GET", "/a%20b")
    expect(status == 404, f"a path without the base path was answered {status}")


CHECKS = {name[6:]: function for name, function in globals().items() if name.startswith("check_")}


def main():
    names = sys.argv[1:] or list(CHECKS)
    for name in names:
        if name not in CHECKS:
            sys.exit(f"check-receiver: there is no `{name}`; there are: {' '.join(CHECKS)}")
    failed = []
    with tempfile.TemporaryDirectory(prefix="martlet-receiver-") as work:
        # The self-signed certificate is stored there.
        os.environ["MARTLET_STATE_DIR"] = os.path.join(work, "state")
        for name in names:
            os.makedirs(os.path.join(work, name), exist_ok=True)
            begun = time.time()
            print(f"{name}: {CHECKS[name].__doc__}", flush=True)
            try:
                CHECKS[name](work)
                print(f"{name}: passed ({time.time() - begun:.0f} s)", flush=True)
            except Exception as error:
                failed.append(name)
                print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
    if failed:
        sys.exit(f"check-receiver: failed: {' '.join(failed)}")
    print(f"check-receiver: {len(names)} passed")


main()

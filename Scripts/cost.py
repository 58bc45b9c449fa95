# SPDX-License-Identifier: Apache-2.0
"""Counts what one transfer costs, for Scripts/check-cost, which says what is counted and when it fails."""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import platform
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cost.json")
COLUMNS = ["instructions", "allocations", "calls", "memory"]
# How much more than the table a unit may cost. Instructions and allocations hardly vary. System calls do, and the pages that
# the allocator keeps: how often a thread sleeps, and how much one read finds, is the machine's mood.
TOLERANCES = {"instructions": 0.03, "allocations": 0.03, "calls": 0.3, "memory": 0.1}
UNIT_TOLERANCES = {
    # A directory is listed again every two seconds, however many files there are.
    "small": {"instructions": 0.05},
    "small-tls": {"instructions": 0.05},
    # Half a MiB is read at once if it has arrived, less from a server that gets less time; what a pipe's reader has not taken
    # is written by another thread.
    "large": {"instructions": 1, "allocations": 1, "calls": 1},
    "pipe": {"instructions": 1, "allocations": 2, "calls": 1},
    "daemon": {"instructions": 0.06, "allocations": 0.06, "calls": 0.5},
    "rpc": {"instructions": 0.05, "allocations": 0.05},
}
# How often a unit is measured again if it is above its limit, for those in which the size of a read decides. The machine only
# adds to them, so the least of each column counts: a real rise is there every time.
REPETITIONS = {"large": 2, "pipe": 2}
SLACK = {"instructions": 0, "allocations": 0.5, "calls": 1, "memory": 512}
SMALL = 20 << 10
MIB = 1 << 20
TIME_LIMIT = 300


class CostError(Exception):
    """Something that was measured did not work; says what was run and what it printed."""


# The other side of a transfer. It belongs to no program that may change: each response has the fields of an nginx.

class Peer:
    """A server and its addresses: any path below /small is a file of 20 KiB, /large/N one of N MiB; PUT takes all."""

    def __init__(self, work):
        self.certificate = os.path.join(work, "certificate.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "extendedKeyUsage=serverAuth",
             "-keyout", self.certificate + ".key", "-out", self.certificate],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.small = os.urandom(SMALL)
        self.mib = os.urandom(MIB)
        listeners = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in range(2)]
        self.http, self.https = (
            f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
            for scheme, listener in zip(("http", "https"), listeners))
        # A process of its own, so that it takes nothing from the thread that reads what the program prints.
        self.process = multiprocessing.get_context("fork").Process(target=self.serve, args=(listeners,), daemon=True)
        self.process.start()

    def serve(self, listeners):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.certificate + ".key")
        pool = concurrent.futures.ThreadPoolExecutor(max_workers=256)

        def accept(listener, wrap):
            while True:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                pool.submit(self.converse, connection, wrap)

        pool.submit(accept, listeners[0], lambda connection: connection)
        accept(listeners[1], lambda connection: context.wrap_socket(connection, server_side=True))

    def converse(self, connection, wrap):
        try:
            with wrap(connection) as connection:
                while self.respond(connection):
                    pass
        except OSError:
            pass

    def respond(self, connection):
        received = b""
        while b"\r\n\r\n" not in received:
            piece = connection.recv(65536)
            if not piece:
                return False
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        method, path = head.split(b" ", 2)[:2]
        if method == b"PUT":
            left = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)[1]) - len(body)
            while left > 0:
                left -= len(connection.recv(min(left, MIB)))
            connection.sendall(self.head(b"201 Created", 0))
            return True
        number = int(path.rpartition(b"/")[2]) if path.startswith(b"/large/") else None
        length = SMALL if number is None else number * MIB
        connection.sendall(self.head(b"200 OK", length) + (self.small if number is None and method != b"HEAD" else b""))
        if method != b"HEAD":
            for _ in range(number or 0):
                connection.sendall(self.mib)
        return True

    @staticmethod
    def head(status, length):
        return (b"HTTP/1.1 " + status + b"\r\nServer: nginx/1.22.1\r\nDate: Thu, 26 Nov 2026 16:36:44 GMT\r\n"
                b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\n"
                b"Last-Modified: Thu, 26 Nov 2026 16:35:02 GMT\r\nConnection: keep-alive\r\n"
                b"ETag: \"69270f26-5000\"\r\nAccept-Ranges: bytes\r\n\r\n" % length)


# How a program is run and what is counted.

class Counter:
    """Runs a program under callgrind, under strace, or alone, and counts."""

    def __init__(self, martlet, work):
        self.martlet = martlet
        self.work = work
        self.number = 0

    def path(self, name):
        self.number += 1
        return os.path.join(self.work, f"{name}-{self.number}")

    def counted(self, run, count):
        """{column: cost} of a run with `count` pieces of work; `run(prefix, count)` runs the program."""
        costs = {}
        profile = self.path("callgrind")
        run(["valgrind", "--tool=callgrind", "--log-file=/dev/null", f"--callgrind-out-file={profile}"], count)
        costs["instructions"], costs["allocations"] = self.profiled(profile)
        os.remove(profile)
        calls = self.path("strace")
        run(["strace", "-f", "-qq", "-c", "-o", calls], count)
        with open(calls) as file:
            total = [line.split() for line in file if line.rstrip().endswith("total")]
        if not total:
            raise CostError("strace has counted nothing: may a process be traced here?")
        costs["calls"] = int(total[-1][3] if len(total[-1]) > 4 else total[-1][2])
        costs["memory"] = min(self.peak(run, count) for _ in range(2))
        return costs

    def peak(self, run, count):
        """The most memory of a run, in KiB."""
        # A program that was just written lies in the page cache in larger pieces, of which a start maps a megabyte more:
        # what counts is the program as it is read from the disk.
        with open(self.martlet, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        memory = self.path("time")
        run(["/usr/bin/time", "-q", "-f", "%M", "-o", memory], count)
        with open(memory) as file:
            return int(file.read().split()[-1])

    @staticmethod
    def profiled(path):
        """The instructions of a profile, and the calls of malloc and its like (callgrind's format, manual chapter 6)."""
        instructions, allocations, names, callee = None, 0, {}, ""
        allocators = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"}
        with open(path, errors="replace") as file:
            for line in file:
                if line.startswith("cfn="):
                    number, _, name = line[4:].rstrip().partition(" ")
                    if name:
                        names[number] = name
                    callee = names.get(number, "")
                elif line.startswith("fn="):
                    number, _, name = line[3:].rstrip().partition(" ")
                    if name:
                        names[number] = name
                elif line.startswith("calls="):
                    if callee.partition("'")[0] in allocators:
                        allocations += int(line[6:].split()[0])
                elif line.startswith(("summary:", "totals:")):
                    instructions = int(line.split()[1])
        if not instructions:
            raise CostError("callgrind has counted nothing")
        return instructions, allocations


def check(process, command):
    """Waits for a process; its output if it failed."""
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = (process.communicate()[0] or b"") + b"\nstill running after %d s" % TIME_LIMIT
        raise CostError(f"{' '.join(command)}:\n{output.decode(errors='replace')[-2000:]}")
    if process.returncode != 0:
        raise CostError(f"{' '.join(command)}: exit {process.returncode}\n{output.decode(errors='replace')[-2000:]}")


def start(command, **options):
    """Starts a program in a process group of its own: what counts it may be another process than what it counts."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True, **options)


def terminate(process):
    """Ends what was started, not the program that counts it: strace would only let go of it."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        children = file.read().split()
    os.kill(int(children[0]) if children else process.pid, signal.SIGTERM)


def run_to_end(command, **options):
    check(start(command, **options), command)


def wait_for(ready, process, what):
    deadline = time.monotonic() + 60
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            raise CostError(f"{what} does not start:\n" + process.communicate()[0].decode(errors="replace")[-2000:])
        time.sleep(0.02)


class Units:
    """Each unit of work: how to do `count` of it with the program behind `prefix`."""

    def __init__(self, martlet, work, peer):
        self.martlet = os.path.abspath(martlet)
        self.work = work
        self.peer = peer
        self.environment = dict(os.environ, HOME=work, XDG_CONFIG_HOME=work, NO_COLOR="1")
        self.served = os.path.join(work, "served")
        os.mkdir(self.served)
        with open(os.path.join(self.served, "file.bin"), "wb") as file:
            file.write(peer.small)
        self.sent = os.path.join(work, "sent")
        os.mkdir(self.sent)

    def directory(self):
        return tempfile.mkdtemp(dir=self.work)

    def list_of(self, count, base):
        path = os.path.join(self.directory(), "list")
        with open(path, "w") as file:
            file.writelines(f"{base}/small/{number:06}.bin\n" for number in range(count))
        return path

    def command(self, prefix, *arguments, **options):
        run_to_end([*prefix, self.martlet, *arguments], env=self.environment, **options)

    def emptied(self, directory, count, length=SMALL):
        """Every file is there and whole; then they go."""
        names = [name for name in os.listdir(directory) if not name.startswith(".")]
        sizes = {os.path.getsize(os.path.join(directory, name)) for name in names}
        if len(names) != count or sizes != {length}:
            raise CostError(f"{len(names)} files of {sizes or 'no'} bytes arrived, {count} of {length} were expected")
        shutil.rmtree(directory)

    def version(self, prefix, count):
        self.command(prefix, "--version")

    def refused(self, prefix, count):
        """A start, and one request that nobody takes."""
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}/file"
            command = [*prefix, self.martlet, "get", "--quiet", "--retries", "0", "--outage-timeout", "0", "-d",
                       self.directory(), url]
            process = start(command, env=self.environment)
            output, _ = process.communicate(timeout=TIME_LIMIT)
            if b"refused" not in output:
                raise CostError(f"{' '.join(command)}:\n{output.decode(errors='replace')}")

    def small(self, prefix, count):
        out = self.directory()
        self.command(prefix, "get", "--quiet", "-d", out, "-i", self.list_of(count, self.peer.http))
        self.emptied(out, count)

    def by_peer(self, prefix, count, *command, list_option="-i"):
        """The same by another program, beside which Docs/Comparison.md shows it."""
        out, names = self.directory(), self.list_of(count, self.peer.http)
        if command[0] == "curl":
            with open(names) as file:
                lines = [f'url = "{url.strip()}"\noutput = "{out}/{number}"\n' for number, url in enumerate(file)]
            with open(names, "w") as file:
                file.writelines(lines)
        run_to_end([*prefix, *command, list_option, names], env=self.environment, cwd=out)
        self.emptied(out, count)

    def curl(self, prefix, count):
        self.by_peer(prefix, count, "curl", "-q", "-sf", "--parallel", list_option="--config")

    def aria2(self, prefix, count):
        self.by_peer(prefix, count, "aria2c", "-q", "--no-conf", "--file-allocation=none")

    def wget2(self, prefix, count):
        self.by_peer(prefix, count, "wget2", "-q", "--no-config")

    def small_tls(self, prefix, count):
        out = self.directory()
        self.command(prefix, "get", "--quiet", "--cacert", self.peer.certificate, "-d", out, "-i",
                     self.list_of(count, self.peer.https))
        self.emptied(out, count)

    def large(self, prefix, count):
        out = self.directory()
        self.command(prefix, "get", "--quiet", "-x", "1", "-d", out, f"{self.peer.http}/large/{count}")
        self.emptied(out, 1, count * MIB)

    def pipe(self, prefix, count):
        """To a pipe that is emptied at once."""
        with subprocess.Popen(["wc", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
            command = [*prefix, self.martlet, "get", "--quiet", "-o", "-", f"{self.peer.http}/large/{count}"]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=reader.stdin, stderr=subprocess.PIPE,
                                       env=self.environment)
            reader.stdin.close()
            process.stdout, process.stderr, errors = None, None, process.stderr
            message = errors.read()
            length = int(reader.stdout.read())
            if process.wait() != 0 or length != count * MIB:
                raise CostError(f"{' '.join(command)}: exit {process.returncode}, {length} bytes\n{message.decode()}")

    def upload(self, prefix, count):
        while (have := len(os.listdir(self.sent))) < count:
            with open(os.path.join(self.sent, f"{have:06}.bin"), "wb") as file:
                file.write(self.peer.small)
        names = os.path.join(self.directory(), "names")
        with open(names, "w") as file:
            file.writelines(f"{self.sent}/{number:06}.bin\n" for number in range(count))
        self.command(prefix, "put", "--quiet", "-i", names, self.peer.http + "/put/")

    def dataset(self, prefix, count):
        """Rows of a table into a shard."""
        out = self.directory()
        table = os.path.join(self.directory(), "table.csv")
        with open(table, "w") as file:
            file.write("url,caption\n")
            file.writelines(f"{self.peer.http}/small/{number:06}.bin,a picture of {number}\n" for number in range(count))
        self.command(prefix, "get", "--quiet", "--manifest", table, "--shards", out, "--report",
                     os.path.join(self.work, os.path.basename(out) + ".report"))

    def daemon(self, prefix, count):
        """From `add` to the end, in the daemon; its clients are not counted."""
        state, out = self.directory(), self.directory()
        with self.running_daemon(prefix, state, out) as client:
            client("add", "--quiet", "--no-start", "-d", out, "-i", self.list_of(count, self.peer.http))
            client("wait", "--quiet", "--all")
        self.emptied(out, count)

    def rpc(self, prefix, count):
        """Calls of aria2.tellStatus for a paused transfer, over one connection."""
        state, out = self.directory(), self.directory()
        port = free_port()
        with self.running_daemon(prefix, state, out, "--listen", f"127.0.0.1:{port}") as client:
            client("add", "--quiet", "--no-start", "--paused", "-d", out, self.peer.http + "/small/file")
            with open(os.path.join(state, "rpc-secret")) as file:
                token = file.read().strip()
            with socket.create_connection(("127.0.0.1", port)) as connection:
                def call(method, *parameters):
                    return rpc_call(connection, port, method, f"token:{token}", *parameters)

                gid = call("aria2.tellWaiting", 0, 1)["result"][0]["gid"]
                for _ in range(count):
                    if call("aria2.tellStatus", gid)["result"]["status"] != "paused":
                        raise CostError("the transfer is not paused")

    def running_daemon(self, prefix, state, out, *options):
        return RunningDaemon(self, prefix, state, out, options)

    def serve(self, prefix, count):
        """Files given to one connection by martlet serve."""
        port = free_port()
        command = [*prefix, self.martlet, "serve", "--access-log", "none", "--listen", f"127.0.0.1:{port}", self.served]
        process = start(command, env=self.environment)
        wait_for(lambda: is_open(port), process, "martlet serve")
        request = f"GET /file.bin HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for _ in range(count):
                connection.sendall(request)
                if response(connection)[1] != self.peer.small:
                    raise CostError("martlet serve sent other bytes")
        terminate(process)
        check(process, command)


class RunningDaemon:
    def __init__(self, units, prefix, state, out, options):
        self.units, self.state = units, state
        self.command = [*prefix, units.martlet, "daemon", "--state-dir", state, "--dir", out]
        self.command += options or ["--listen", "none"]

    def __enter__(self):
        environment = dict(self.units.environment, MARTLET_STATE_DIR=self.state)
        self.process = start(self.command, env=environment)
        wait_for(lambda: os.path.exists(os.path.join(self.state, "martletd.sock")), self.process, "the daemon")
        self.client = lambda *arguments: run_to_end([self.units.martlet, *arguments], env=environment)
        return self.client

    def __exit__(self, kind, *others):
        if kind:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return
        self.client("stop")
        check(self.process, self.command)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def response(connection):
    """The head and the body of one response."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            raise CostError("the server closed the connection")
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)[1])
    while len(body) < length:
        piece = connection.recv(length - len(body))
        if not piece:
            raise CostError("the server closed the connection")
        body += piece
    return head, body


def rpc_call(connection, port, method, *parameters):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()
    connection.sendall(f"POST /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    head, body = response(connection)
    if b" 200 " not in head.split(b"\r\n")[0] + b" ":
        raise CostError(f"{method}: {head.decode(errors='replace')}\n{body.decode(errors='replace')}")
    return json.loads(body)


# What is measured: the work, and two numbers of pieces, whose difference does not contain the start. A unit with one number is
# a whole run.
UNITS = {
    "version": ("martlet --version", Units.version, (1,)),
    "refused": ("get: one URL, refused", Units.refused, (1,)),
    "small": ("get: a file of 20 KiB", Units.small, (100, 400)),
    "small-tls": ("get: a file of 20 KiB over TLS", Units.small_tls, (100, 400)),
    "large": ("get: 1 MiB of a large file", Units.large, (16, 80)),
    "pipe": ("get -o -: 1 MiB into a pipe", Units.pipe, (16, 80)),
    "dataset": ("get --shards: a row of 20 KiB", Units.dataset, (100, 400)),
    "daemon": ("daemon: a file of 20 KiB, from add to end", Units.daemon, (100, 400)),
    "rpc": ("daemon: a call of aria2.tellStatus", Units.rpc, (50, 250)),
    "upload": ("put: a file of 20 KiB", Units.upload, (100, 400)),
    "serve": ("serve: a file of 20 KiB", Units.serve, (100, 400)),
}
# Measured when they are named, for Scripts/figures.
PEERS = {
    "curl": ("curl: a file of 20 KiB", Units.curl, (100, 400)),
    "aria2": ("aria2: a file of 20 KiB", Units.aria2, (100, 400)),
    "wget2": ("wget2: a file of 20 KiB", Units.wget2, (100, 400)),
}


def measured(units, counter, name):
    """{column: cost} of one unit; memory is that of the larger run, in KiB."""
    _, work, counts = (UNITS | PEERS)[name]
    costs = [counter.counted(lambda prefix, count: work(units, prefix, count), count) for count in counts]
    if len(costs) == 1:
        return costs[0]
    span = counts[1] - counts[0]
    result = {column: round((costs[1][column] - costs[0][column]) / span, 2) for column in costs[0] if column != "memory"}
    return result | {"memory": costs[1]["memory"]}


def environment():
    """The compiler, the processor and the C library, which has functions for each: other counts cannot be compared."""
    version = subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout
    swift = re.search(r"Swift version (\S+)", version)
    with open("/proc/cpuinfo") as file:
        flags = re.search(r"(?m)^(?:flags|Features)\s*: (.*)$", file.read())
    found = set(flags[1].split() if flags else [])
    names = " ".join(name for name in ("avx2", "avx512f", "aes", "sha_ni", "erms") if name in found)
    return (f"Swift {swift[1] if swift else 'unknown'}, {platform.machine()} {names}, {' '.join(platform.libc_ver())}, "
            f"{tool_version('valgrind')}")


def tool_version(name):
    return subprocess.run([name, "--version"], capture_output=True, text=True).stdout.split("\n")[0].strip()


def missing():
    """The reason why nothing can be counted here, or why no system calls can."""
    for command in (["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "true"],
                    ["strace", "-f", "-c", "-o", "/dev/null", "true"]):
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if run.returncode != 0:
            return f"`{' '.join(command)}` fails: {run.stderr.strip()[-200:]}"
    return None


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def compared(name, costs, limits):
    """The line of a table, and what has become more expensive."""
    cells, risen = [], []
    for column in COLUMNS:
        cell, limit = shown(costs[column]), limits.get(column)
        if limit:
            cell += f" ({(costs[column] / limit - 1) * 100:+.1f} %)"
            tolerance = UNIT_TOLERANCES.get(name, {}).get(column, TOLERANCES[column])
            if costs[column] > limit * (1 + tolerance) + SLACK[column]:
                risen.append(f"{name}: {shown(costs[column])} {column}, and {shown(limit)} are in the table")
        cells.append(f"{cell:>22}")
    print(f"{(UNITS | PEERS)[name][0]:<42}" + "".join(cells), flush=True)
    return risen


def main():
    parser = argparse.ArgumentParser(
        prog="Scripts/check-cost", description="Counts what one transfer costs, and compares it with Scripts/cost.json.")
    parser.add_argument("--martlet", default=".build/martlet", help="the release executable (default: %(default)s)")
    parser.add_argument("--record", action="store_true", help="store what was measured in Scripts/cost.json")
    parser.add_argument("--json", metavar="FILE", help="also write what was measured to FILE")
    parser.add_argument("units", nargs="*", metavar="UNIT", help=f"the units to measure: {', '.join(UNITS)}")
    options = parser.parse_args()
    for name in options.units:
        if name not in UNITS | PEERS:
            parser.error(f"there is no unit '{name}'; there are: {', '.join(UNITS | PEERS)}")
    if not os.access(options.martlet, os.X_OK):
        parser.error(f"{options.martlet} is missing; run Scripts/build-release")
    if reason := missing():
        print(f"cost: SKIPPED: {reason}")
        return
    with open(TABLE) as file:
        table = json.load(file)
    here = environment()
    limits = table["units"] if table["environment"] == here else {}
    if not limits and not options.record:
        print(f"cost: the table is for {table['environment']}; this is {here}: measured, and not compared")
    print(f"{'':<42}" + "".join(f"{column if column != 'memory' else 'KiB resident':>22}" for column in COLUMNS))
    work = tempfile.mkdtemp(prefix="martlet-cost-")
    costs, risen, peer = {}, [], None
    try:
        peer = Peer(work)
        units, counter = Units(options.martlet, work, peer), Counter(options.martlet, work)
        for name in options.units or UNITS:
            costs[name] = measured(units, counter, name)
            above = compared(name, costs[name], limits.get(name, {}))
            for _ in range(REPETITIONS.get(name, 0) if above else 0):
                again = measured(units, counter, name)
                costs[name] = {column: min(costs[name][column], again[column]) for column in again}
                if not (above := compared(name, costs[name], limits.get(name, {}))):
                    break
            risen += above
    except (CostError, subprocess.SubprocessError, OSError) as error:
        sys.exit(f"cost: {error}")
    finally:
        if peer:
            peer.process.terminate()
        shutil.rmtree(work, ignore_errors=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"environment": here, "units": costs}, file, indent=4)
    if options.record:
        kept = table["units"] if table["environment"] == here else {}
        with open(TABLE, "w") as file:
            json.dump({"environment": here, "units": {name: (kept | costs)[name] for name in UNITS if name in kept | costs}},
                      file, indent=4)
            file.write("\n")
        print("cost: recorded; Scripts/figures --write brings the table into decision 0045")
    elif risen:
        print("cost: " + "\ncost: ".join(risen))
        sys.exit("cost: a transfer has become more expensive. Make it cheaper, or record the new table with\n"
                 "cost: Scripts/check-cost --record, together with the reason (a decision in Docs/Decisions)")


if __name__ == "__main__":
    main()

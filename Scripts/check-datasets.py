# SPDX-License-Identifier: Apache-2.0
"""The checks of Scripts/check-datasets, which describes them."""
import gzip
import hashlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

ROWS = int(os.environ.get("ROWS", "10000"))
KILLS = int(os.environ.get("KILLS", "20"))
RESOLVER_SECONDS = int(os.environ.get("RESOLVER_SECONDS", "60"))
SEED = int(os.environ.get("SEED", "1"))
MARTLET = os.path.abspath(os.environ.get("MARTLET", ".build/martlet"))
FAULTS = ["404", "503", "cut", "stall", "digest"]
RETRYABLE = {"404": False, "503": True, "cut": True, "stall": True, "digest": True}


def content(number):
    """The bytes of a row: some hundred, one in 500 more than the 1 MiB that stays in memory."""
    generator = random.Random(f"{SEED}/{number}")
    size = generator.randrange(1, 4000) if number % 500 else 1_500_000
    return (hashlib.sha256(str(number).encode()).digest() * (size // 32 + 1))[:size]


def fault(number):
    """The scripted fault of a row, or None: one in 20 has one."""
    generator = random.Random(f"fault {SEED}/{number}")
    return generator.choice(FAULTS) if generator.random() < 0.05 else None


class Server:
    """A small HTTP server; `heals` makes the retryable faults disappear."""

    def __init__(self):
        self.heals = False
        self.requests = {}
        self.lock = threading.Lock()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                while line := stream.readline():
                    while (field := stream.readline()) not in (b"\r\n", b""):
                        pass
                    if not self.respond(connection, int(line.split()[1].rsplit(b"/", 1)[1].split(b".")[0])):
                        return
        except OSError:
            pass

    def respond(self, connection, number):
        with self.lock:
            self.requests[number] = self.requests.get(number, 0) + 1
        kind = fault(number)
        if kind and self.heals and RETRYABLE[kind]:
            kind = None
        if kind in ("404", "503"):
            reason = {"404": "Not Found", "503": "Service Unavailable"}[kind]
            connection.sendall(f"HTTP/1.1 {kind} {reason}\r\nContent-Length: 0\r\n\r\n".encode())
            return True
        body = content(number)
        head = f'HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nETag: "{number}"\r\nContent-Length: {len(body)}\r\n\r\n'
        if kind == "cut":
            connection.sendall(head.encode() + body[: len(body) // 2])
            return False
        if kind == "stall":
            connection.sendall(head.encode())
            time.sleep(30)
            return False
        connection.sendall(head.encode() + (body[::-1] + b"!")[: len(body)] if kind == "digest" else head.encode() + body)
        return True


def name_server(address):
    """Answers every query for an address with 127.0.0.1, and every other one with no records."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))

    def serve():
        while True:
            query, client = server.recvfrom(512)
            end = query.index(b"\0", 12) + 5
            is_address = query[end - 4 : end - 2] == b"\0\1"
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if is_address else b""
            counts = b"\0\1" + (b"\0\1" if is_address else b"\0\0") + b"\0\0\0\0"
            server.sendto(query[:2] + b"\x81\x80" + counts + query[12:end] + answer, client)

    threading.Thread(target=serve, daemon=True).start()


class Check:
    def __init__(self, directory):
        self.directory = directory
        self.server = Server()
        self.failures = 0

    def expect(self, condition, message):
        if not condition:
            self.failures += 1
            print(f"datasets: {message}")

    def path(self, name):
        return os.path.join(self.directory, name)

    def table(self, name, rows=ROWS):
        with gzip.open(self.path(name), "wt") as file:
            for number in range(rows):
                row = {
                    "url": f"http://127.0.0.1:{self.server.port}/files/{number}.jpg",
                    "key": f"k{number}",
                    "name": f"{number % 100:02}/{number}.jpg",
                    "checksum": "sha256:" + hashlib.sha256(content(number)).hexdigest(),
                    "weight": number / 4,
                }
                file.write(json.dumps(row) + "\n")
        return self.path(name)

    def command(self, *arguments):
        return [MARTLET, "get", *arguments, "-j", "32", "--retries", "1", "--stall-timeout", "1", "--delete-bad"]

    def run(self, command, kills=0):
        """Runs a command to its end, and kills it before some times; returns the exit status and the kills."""
        generator = random.Random(SEED)
        done = 0
        while True:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done < kills:
                try:
                    _, text = process.communicate(timeout=generator.uniform(0.05, 1.5))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    done += 1
                    continue
            else:
                _, text = process.communicate(timeout=1800)
            return process.returncode, done, text

    def report(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def compare(self, lines, numbers, healed=False):
        """Compares a report with what the server did."""
        rows = [line["row"] for line in lines]
        self.expect(len(set(rows)) == len(rows), f"{len(rows) - len(set(rows))} rows are reported twice")
        self.expect(set(rows) == set(numbers), f"{len(set(numbers) - set(rows))} rows are not reported")
        for line in lines:
            number = line["row"]
            kind = fault(number)
            if kind and healed and RETRYABLE[kind]:
                kind = None
            self.expect(line["key"] == f"k{number}" and line["weight"] == number / 4, f"row {number}: other columns")
            if kind:
                self.expect(line["error_code"] is not None, f"row {number}: {kind} is not a failure")
                self.expect(line["retryable"] is RETRYABLE[kind], f"row {number}: {kind} retryable: {line}")
            else:
                digest = hashlib.sha256(content(number)).hexdigest()
                self.expect(line["error_code"] is None, f"row {number} failed: {line['message']}")
                self.expect(line["sha256"] == digest, f"row {number}: wrong digest {line}")

    def files(self):
        """Files, with kills."""
        table = self.table("files.jsonl.gz")
        command = self.command("--manifest", table, "-d", self.path("files"), "--report", self.path("files.report"))
        status, kills, text = self.run(command, KILLS)
        self.expect(status == 65, f"files: exit status {status}: {text}")
        lines = self.report("files.report")
        self.compare(lines, range(ROWS))
        for line in lines:
            if line["error_code"] is None:
                with open(os.path.join(self.path("files"), line["name"]), "rb") as file:
                    self.expect(file.read() == content(line["row"]), f"row {line['row']}: wrong file")
        # The beginnings of large files whose rows failed are kept, to be resumed by a retry.
        names = [name for _, _, names in os.walk(self.path("files")) for name in names]
        count = sum(not name.endswith((".part", ".part.journal")) for name in names)
        self.expect(count == sum(line["error_code"] is None for line in lines), f"there are {count} files")
        again = [number for number, count in self.server.requests.items() if count > 1 and not fault(number)]
        print(f"files: {len(lines)} rows, {kills} kills; {len(again)} rows without a fault were requested again")

    def shards(self):
        """Shards, with kills."""
        table = self.table("shards.jsonl.gz")
        command = self.command(
            *["--manifest", table, "--shards", self.path("shards"), "--report", self.path("shards.report")],
            *["--shard-count", str(max(10, ROWS // 40))],
        )
        status, kills, text = self.run(command, KILLS)
        self.expect(status == 65, f"shards: exit status {status}: {text}")
        lines = self.report("shards.report")
        self.compare(lines, range(ROWS))
        shards = {}
        for line in lines:
            if line["error_code"] is None:
                shards.setdefault(line["shard"], []).append(line)
        for name, members in shards.items():
            with open(os.path.join(self.path("shards"), name), "rb") as file:
                for line in members:
                    file.seek(line["offset"])
                    self.expect(
                        file.read(line["bytes"]) == content(line["row"]), f"row {line['row']}: wrong bytes in {name}"
                    )
            with tarfile.open(os.path.join(self.path("shards"), name)) as archive:
                names = archive.getnames()
            self.expect(len(names) == 2 * len(members), f"{name}: {len(names)} members, {len(members)} rows")
        print(f"shards: {len(lines)} rows in {len(shards)} shards, {kills} kills")

    def retry(self):
        """The retryable rows of a report, and all failed ones."""
        table = self.table("retry.jsonl.gz")
        directory = self.path("retry")
        self.run(self.command("--manifest", table, "-d", directory, "--report", self.path("retry.report")))
        failed = [number for number in range(ROWS) if fault(number)]
        retryable = [number for number in failed if RETRYABLE[fault(number)]]
        self.server.heals = True
        try:
            for name, numbers, more in (("retried", retryable, []), ("all", failed, ["--retry-all-failed"])):
                self.server.requests.clear()
                command = self.command("--retry-from", self.path("retry.report"), *more, "-d", directory)
                status, _, text = self.run([*command, "--report", self.path(name)])
                self.expect(status == (65 if more else 0), f"retry: exit status {status}: {text}")
                self.compare(self.report(name), numbers, healed=True)
                # Of the second run, the files of the first one exist.
                unexpected = set(self.server.requests) - set(numbers)
                self.expect(not unexpected, f"retry: {len(unexpected)} other rows were requested")
                if not more:
                    self.expect(set(self.server.requests) == set(numbers), "retry: rows were not requested")
        finally:
            self.server.heals = False
        print(f"retry: {len(failed)} of {ROWS} rows failed, {len(retryable)} were retried")

    def resolver(self):
        """Name servers that do not respond for RESOLVER_SECONDS."""
        address, rows = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.53", 200
        with open(self.path("resolv.conf"), "w", encoding="utf-8") as file:
            file.write(f"nameserver {address}\noptions timeout:1 attempts:1\n")
        with open(self.path("names.jsonl"), "w", encoding="utf-8") as file:
            for number in range(rows):
                good = number + next(step for step in range(ROWS) if not fault(number + step))
                host = f"host{number % 10}.test:{self.server.port}"
                file.write(json.dumps({"url": f"http://{host}/{number}/{good}"}) + "\n")
        command = [MARTLET, "get", "--manifest", self.path("names.jsonl"), "-d", self.path("names")]
        command += ["--report", self.path("names.report"), "--outage-timeout", "5"]
        script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
        timer = threading.Timer(RESOLVER_SECONDS, name_server, [address])
        timer.daemon = True
        timer.start()
        start = time.monotonic()
        status, _, text = self.run(["unshare", "-m", "bash", "-c", script, "-", self.path("resolv.conf"), *command])
        self.expect(status == 0, f"resolver: exit status {status}: {text}")
        lines = self.report("names.report")
        failed = [line for line in lines if line["error_code"]]
        self.expect(len(lines) == rows and not failed, f"resolver: {len(lines)} rows, {len(failed)} failed")
        print(f"resolver: dead for {RESOLVER_SECONDS} s: {len(lines)} rows in {time.monotonic() - start:.0f} s")

    def cost(self):
        """CPU time beside `get --input-file`, of rows without faults."""
        good = [number for number in range(ROWS) if not fault(number) and number % 500]
        urls = [f"http://127.0.0.1:{self.server.port}/files/{number}.jpg" for number in good]
        with open(self.path("cost.txt"), "w", encoding="utf-8") as file:
            file.writelines(url + "\n" for url in urls)
        with open(self.path("cost.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"url": url}) + "\n" for url in urls)
        plain = None
        for name, arguments in (
            ("get --input-file", ["-i", self.path("cost.txt"), "-d", self.path("cost-plain"), "--digest", "sha256"]),
            ("files", ["--manifest", self.path("cost.jsonl"), "-d", self.path("cost-files")]),
            ("shards", ["--manifest", self.path("cost.jsonl"), "--shards", self.path("cost-shards")]),
        ):
            if name != "get --input-file":
                arguments += ["--report", self.path(f"cost-{name}.report")]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.monotonic()
            status, _, text = self.run([MARTLET, "get", "-j", "32", *arguments])
            wall = time.monotonic() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            plain = plain or cpu
            self.expect(status == 0, f"cost: {name}: exit status {status}: {text}")
            print(f"cost: {name}: {wall:.2f} s, {cpu / len(good) * 1000:.3f} CPU s per 1,000 rows, {cpu / plain:.2f}")


def main():
    checks = sys.argv[1:] or ["files", "shards", "retry", "resolver", "cost"]
    with tempfile.TemporaryDirectory(prefix="martlet-datasets-") as directory:
        failures = 0
        for name in checks:
            os.makedirs(os.path.join(directory, name))
            check = Check(os.path.join(directory, name))
            getattr(check, name)()
            failures += check.failures
    print(f"datasets: {failures} wrong")
    return 1 if failures else 0


sys.exit(main())

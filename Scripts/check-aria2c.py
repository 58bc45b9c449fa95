# SPDX-License-Identifier: Apache-2.0
"""The checks of Scripts/check-aria2c: BINARY TOOLS."""
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

BINARY, TOOLS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
REAL = shutil.which("aria2c")
ROOT = tempfile.mkdtemp(prefix="check-aria2c-")
LINK = os.path.join(ROOT, "bin", "aria2c")
FILES = {f"/{name}": hashlib.sha512(name.encode()).digest() * (size // 64) for name, size in
         [("a.bin", 3 << 20), ("b.bin", 300 << 10), ("c.txt", 64), ("big.bin", 24 << 20)]}
FRAGMENTS = [f"/hls/{number}.ts" for number in range(12)]
for number, path in enumerate(FRAGMENTS):
    # MPEG transport stream packets: yt-dlp looks at the first byte.
    FILES[path] = (b"\x47" + hashlib.sha512(path.encode()).digest() * 3)[:188] * (700 + number)
problems = []
passed = 0


def check(what, condition, more=""):
    """Counts a condition, and prints it if it does not hold."""
    global passed
    if condition:
        passed += 1
        return
    problems.append(what)
    print(f"FAILED: {what}{': ' if more else ''}{more}", flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves FILES with ranges; a first part of the path chooses a behaviour."""
    protocol_version = "HTTP/1.1"
    seen = []

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.partition("?")[0]
        Handler.seen.append((self.command, self.path, dict(self.headers)))
        for status in (401, 403, 500, 503):
            if path == f"/{status}":
                return self.answer(status)
        if path == "/redirect":
            return self.answer(302, Location="/a.bin")
        if path == "/named":
            return self.answer(200, FILES["/c.txt"], Content_Disposition='attachment; filename="named.bin"')
        if path == "/cookie":
            return self.answer(200 if self.headers.get("Cookie") == "key=word" else 403, b"cookie")
        if path == "/basic":
            return self.answer(200 if self.headers.get("Authorization") == "Basic dTpw" else 401, b"basic")
        if path == "/hls/list.m3u8":
            lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:4"]
            for fragment in FRAGMENTS:
                lines += ["#EXTINF:4,", fragment]
            return self.answer(200, "\n".join(lines + ["#EXT-X-ENDLIST", ""]).encode(),
                               Content_Type="application/vnd.apple.mpegurl")
        is_slow = path.startswith("/slow/")
        body = FILES.get(path.replace("/slow", "", 1))
        if body is None:
            return self.answer(404)
        first, last, status = 0, len(body), 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted:
            first = int(wanted[1])
            last = min(len(body), int(wanted[2]) + 1) if wanted[2] else len(body)
            if first >= len(body):
                return self.answer(416, Content_Range=f"bytes */{len(body)}")
            status = 206
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.send_header("Content-Type", "video/mp4" if path.endswith(".bin") else "video/mp2t")
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last - 1}/{len(body)}")
        self.send_header("Content-Length", str(last - first))
        self.end_headers()
        if self.command == "HEAD":
            return None
        step = 64 << 10 if is_slow else 1 << 20
        for start in range(first, last, step):
            try:
                self.wfile.write(body[start:min(start + step, last)])
            except OSError:
                self.close_connection = True
                return None
            if is_slow:
                time.sleep(0.05)
        return None

    do_HEAD = do_GET


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def tree(directory):
    """The files below a directory, with the digests of their contents."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = hashlib.sha256(file.read()).hexdigest()[:12]
    return found


def environment():
    """No configuration, proxy or queue of the user."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    home = os.path.join(ROOT, "home")
    return kept | {"HOME": home, "MARTLET_STATE_DIR": home + "/state", "XDG_CONFIG_HOME": home + "/.config",
                   "PATH": os.path.dirname(LINK) + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def run(program, arguments, directory, text=None, wait=90):
    os.makedirs(directory, exist_ok=True)
    return subprocess.run([program, *arguments], cwd=directory, input=text, env=environment(), timeout=wait,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=isinstance(text, (str, type(None))))


def notable(output):
    """What programs read: levels and completed files, states of the table, error codes, the kind of an error."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    return {
        "complete": sorted(re.sub(r".*/", "", path)
                           for path in re.findall(r"\[NOTICE\] Download complete: (.*)", plain)),
        "table": sorted(re.findall(r"^[0-9a-f]{6}\|(\w+) *\|", plain, re.M)),
        "codes": sorted(set(re.findall(r"errorCode=(\d+) ", plain)) - {"1"}),
        "legend": re.findall(r"^\(OK\).*|^\(ERR\).*", plain, re.M),
        "words": sorted(word for word in ("Download Results:", "Status Legend:", "unrecognized option", "is ambiguous",
                                          "requires an argument", "Specify at least one URL", "Unrecognized URI",
                                          "invalid option", "Usage:") if word in plain and "Usage" not in word),
    }


def vectors(url):
    """Arguments; a setting up of the directory; what may differ (status, files, output), with the reason."""
    same = lambda name: lambda directory: write(directory, name, FILES["/" + name])
    other = lambda name: lambda directory: write(directory, name, b"something else")
    begun = lambda name: lambda directory: write(directory, name, FILES["/" + name][:1 << 20])
    listed = lambda text: lambda directory: write(directory, "list", text.replace("URL", url).encode())
    retry = "martlet retries statuses and refused connections that aria2 gives up on"
    return [
        ([f"{url}/a.bin"],), (["-o", "x.bin", f"{url}/a.bin"],), (["-ox.bin", "-dD", f"{url}/a.bin"],),
        (["-x16", "-s16", "-k1M", "-j5", "-c", f"{url}/a.bin"],),
        (["-x", "4", "-s", "4", "-k", "1M", f"{url}/big.bin"],),
        (["--max-connection-per-server=8", "--split=8", "--min-split-size=1M", f"{url}/big.bin"],),
        ([f"{url}/a.bin", f"{url}/a.bin?mirror"],), (["-Z", f"{url}/a.bin", f"{url}/b.bin"],),
        (["-Z", "-o", "ignored", f"{url}/a.bin", f"{url}/b.bin"],), (["-j1", "-Z", f"{url}/c.txt", f"{url}/b.bin"],),
        ([f"{url}/redirect"],), (["-o", "r", f"{url}/redirect"],), ([f"{url}/named"],),
        (["-o", "sub/x", f"{url}/c.txt"],),
        (["-d", "one/two", f"{url}/c.txt"],), (["--dir=./d/", "--out=./n", "--", f"{url}/c.txt"],),
        ([f"{url}/missing"],), (["-q", f"{url}/missing"],), ([f"{url}/403"],), ([f"{url}/401"],),
        (["-Z", f"{url}/a.bin", f"{url}/missing"],), (["-m1", f"{url}/503"],), (["-m1", f"{url}/500"],),
        (["--dry-run", f"{url}/a.bin"], None, {"output": "aria2 names the file"}), (["--dry-run", f"{url}/missing"],),
        (["--download-result=hide", f"{url}/a.bin"],), (["--download-result=full", f"{url}/a.bin"],),
        (["-q", f"{url}/a.bin"],), (["--console-log-level=warn", "--summary-interval=0", f"{url}/a.bin"],),
        (["--console-log-level=error", "-c", "-x", "16", "-s", "16", "-k", "1M", f"{url}/a.bin", "-d", "m",
          "-o", "n"],),
        (["--stderr", f"{url}/a.bin"],), (["--enable-color=false", f"{url}/a.bin"],),
        (["--human-readable=false", f"{url}/a.bin"],), (["--max-conn=4", f"{url}/c.txt"],),
        # Existing files.
        ([f"{url}/a.bin"], same("a.bin")), ([f"{url}/a.bin"], other("a.bin")),
        (["--auto-file-renaming=false", f"{url}/a.bin"], other("a.bin")),
        (["--allow-overwrite=true", f"{url}/a.bin"], other("a.bin")),
        (["--allow-overwrite", "--auto-file-renaming=false", f"{url}/a.bin"], same("a.bin")),
        (["-c", f"{url}/a.bin"], same("a.bin")), (["-c", "--auto-file-renaming=false", f"{url}/a.bin"], same("a.bin")),
        (["-c", f"{url}/a.bin"], begun("a.bin")), (["-c", "-x4", "-s4", "-k1M", f"{url}/a.bin"], begun("a.bin")),
        (["-c", f"{url}/a.bin"], other("a.bin"),
         {"files": "aria2 mixes two files and reports success", "status": "martlet refuses", "output": ""}),
        (["-c", "--auto-file-renaming=false", f"{url}/a.bin"], other("a.bin"),
         {"files": "aria2 mixes two files and reports success", "status": "martlet refuses", "output": ""}),
        (["-c", "--allow-overwrite=false", "--auto-file-renaming=false", "-x5", f"{url}/a.bin"], same("a.bin")),
        (["-Z", f"{url}/c.txt", f"{url}/c.txt"],),
        # Checksums, fields, cookies.
        (["--checksum=sha-256=" + hashlib.sha256(FILES["/a.bin"]).hexdigest(), f"{url}/a.bin"],),
        (["--checksum=sha-1=" + "0" * 40, f"{url}/a.bin"], None,
         {"files": "martlet keeps the wrong file as NAME.martlet-bad", "output": "aria2 gives no code"}),
        (["--header=Cookie: key=word", f"{url}/cookie"],), (["--header", "X: y", "--header=Z: w", f"{url}/c.txt"],),
        (["--load-cookies=jar", f"{url}/cookie"],
         lambda directory: write(directory, "jar", b"127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tkey\tword\n"),
         {"status": "aria2 sends no cookie of a file to an address", "files": "", "output": ""}),
        (["--http-user=u", "--http-passwd=p", f"{url}/basic"],), ([f"{url}/basic"],),
        # Lists.
        (["-i", "list"], listed("URL/a.bin\n out=q.bin\n dir=./sub\nURL/b.bin\tURL/b.bin?2\n  out=w\n"
                                "# comment\n\nURL/c.txt\n")),
        (["-i", "list", "-j2"], listed("URL/a.bin\n  out=one\nURL/missing\n  out=two\n")),
        (["-ilist", "-c", "-j5", "-x5", "--min-split-size=1M", "--connect-timeout=600", "--timeout=600", "-m0"],
         listed("URL/a.bin\tURL/a.bin?mirror\n out=one_1.0_all.deb\nURL/b.bin\n out=two_1.0_all.deb\n")),
        (["-i", "list", f"{url}/b.bin"], listed("URL/a.bin\n")), (["-i", "list"], listed("")),
        (["-i", "list"], listed("not a URL\nURL/c.txt\n"),
         {"status": "martlet reports the line", "output": "aria2 has a row without a path for it"}),
        (["-i", "list"], listed("magnet:?xt=urn:btih:00\nURL/c.txt\n"),
         {"status": "", "output": "", "files": "BitTorrent"}),
        (["-i", "list"], listed("URL/c.txt\r\n out=crlf\r\n")),
        (["-i", "list"], listed("URL/c.txt\n header=X: y\n user-agent=u\n referer=http://r/\n split=2\n pause=true\n"
                                " gid=00000000000000ab\n max-download-limit=1M\n bt-max-peers=3\n")),
        (["-i", "list", "--deferred-input=true", "--uri-selector=inorder", "--allow-piece-length-change=true"],
         listed("URL/c.txt\n\tout=./v.mp4.part-Frag0\nURL/b.bin\n\tout=./v.mp4.part-Frag1")),
        (["-i", "missing"],), (["--input-file=list", "--save-session=left"], listed("URL/c.txt\nURL/403\n"),
                              {"files": "the order of the options in a session file"}),
        # Arguments that are wrong.
        ([],), (["--bogus", f"{url}/a.bin"],), (["-W", f"{url}/a.bin"],), (["-x17", f"{url}/a.bin"],), (["-x"],),
        (["-x=4", f"{url}/a.bin"],), (["-k", "100K", f"{url}/a.bin"],), (["-j0", f"{url}/a.bin"],),
        (["-t", "1000", f"{url}/a.bin"],), (["-cx4", f"{url}/a.bin"],), (["--con=4", f"{url}/a.bin"],),
        (["--no-continue", f"{url}/a.bin"],), (["--check-certificate=maybe", f"{url}/a.bin"],),
        (["--file-allocation=fast", f"{url}/a.bin"],), ([f"{url}/c.txt", "--", "-q"], None,
                                                        {"status": "martlet leaves the bad mirror out", "files": "",
                                                         "output": ""}),
        (["magnet:?xt=x"],), (["some.torrent"],), (["nothing"],), (["--conf-path=/nonexistent", f"{url}/a.bin"],),
        (["--max-download-limit=x", f"{url}/a.bin"],), (["--gid=1", f"{url}/c.txt"],),
        (["--interface=nowhere0", f"{url}/c.txt"], None, {"status": "refused by name", "files": "", "output": ""}),
        (["-P", url + "/{a,b}.bin"], None, {"status": "refused by name", "files": "", "output": ""}),
        (["--bt-max-peers=9", "--seed-time=0", "--disk-cache=40M", "--enable-dht=false", f"{url}/c.txt"],),
        (["http://127.0.0.1:1/x", "-m1"], None, {"status": retry, "output": "aria2 reports 1, martlet 6"}),
    ]


def write(directory, name, content):
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)


def compare(url):
    """The same arguments to both programs."""
    if not REAL:
        print("check-aria2c: aria2c is not installed; nothing is compared with it", flush=True)
    for number, vector in enumerate(vectors(url)):
        arguments, prepare, allowed = (*vector, None, None)[:3]
        results = []
        for program in [LINK] + ([REAL] if REAL else []):
            directory = os.path.join(ROOT, f"v{number}", os.path.basename(os.path.dirname(program)))
            os.makedirs(directory)
            if prepare:
                prepare(directory)
            conf = [] if any(word.startswith("--conf-path") for word in arguments) else ["--no-conf"]
            done = run(program, conf + arguments, directory)
            results.append({"status": done.returncode, "files": tree(directory), "output": notable(done.stdout),
                            "text": done.stdout})
            shutil.rmtree(directory)
        shown = " ".join(arguments).replace(url, "URL")
        check(f"no crash: {shown}", results[0]["status"] >= 0, results[0]["text"][-300:])
        for part in ("status", "files", "output"):
            if REAL and part not in (allowed or {}):
                check(f"{part} of aria2c {shown}", results[0][part] == results[1][part],
                      f"martlet {results[0][part]}, aria2 {results[1][part]}")
    print(f"compared {number + 1} argument vectors", flush=True)


def ytdlp(url):
    for name, path, expected in [
        ("new", "/a.bin", FILES["/a.bin"]), ("old", "/a.bin", FILES["/a.bin"]),
        ("old", "/hls/list.m3u8", b"".join(FILES[path] for path in FRAGMENTS)),
        ("new", "/hls/list.m3u8", b"".join(FILES[path] for path in FRAGMENTS)),
    ]:
        program = f"{TOOLS}/{name}/bin/yt-dlp"
        if not os.path.exists(program):
            print(f"check-aria2c: {program} is missing; its part is skipped", flush=True)
            continue
        directory = os.path.join(ROOT, f"yt-dlp-{name}{path.replace('/', '-')}")
        Handler.seen.clear()
        done = run(program, ["--ignore-config", "--no-update", "--downloader", LINK, "--fixup", "never", "-v",
                             "-o", "v i d é o.%(ext)s", url + path], directory, wait=180)
        found = {name: digest for name, digest in tree(directory).items()}
        check(f"yt-dlp ({name}) {path}", done.returncode == 0 and list(found.values())
              == [hashlib.sha256(expected).hexdigest()[:12]], f"{done.returncode} {found} {done.stdout[-1500:]}")
        if not (name == "new" and "hls" in path):
            check(f"yt-dlp ({name}) used aria2c for {path}", LINK in done.stdout)


def apt_fast(url):
    """The command line of apt-fast's default configuration, on a list as apt-fast writes it."""
    directory = os.path.join(ROOT, "apt-fast")
    os.makedirs(directory)
    dead = f"http://127.0.0.1:{free_port()}"
    digests = {name: hashlib.sha256(FILES["/" + name]).hexdigest() for name in ("a.bin", "b.bin", "c.txt")}
    write(directory, "apt-fast.list", "".join(
        f"{dead}/pool/{name}\t{url}/{name}\n out={name}.deb\n checksum=sha-256={digest}\n"
        for name, digest in digests.items()).encode())
    command = ("aria2c --no-conf -c -j 5 -x 5 --min-split-size=1M -i apt-fast.list --connect-timeout=600 "
               "--timeout=600 -m0")
    done = run("/bin/sh", ["-c", command + " --header 'Accept: */*'"], directory, wait=120)
    found = tree(directory)
    check("apt-fast's list with a dead mirror", done.returncode == 0 and all(
        found.get(f"{name}.deb") == digest[:12] for name, digest in digests.items()),
        f"{done.returncode} {found} {done.stdout[-1500:]}")
    again = run("/bin/sh", ["-c", command], directory, wait=120)
    check("apt-fast's list again", again.returncode == 0 and tree(directory) == found, again.stdout[-800:])


def interrupted(url):
    """SIGTERM in the middle, and the same command again."""
    directory = os.path.join(ROOT, "interrupted")
    os.makedirs(directory)
    arguments = ["--no-conf", "-c", "-x4", "-s4", "-k1M", "--save-session=left", "-o", "n", f"{url}/slow/big.bin"]
    process = subprocess.Popen([LINK, *arguments], cwd=directory, env=environment(), stdout=subprocess.PIPE, text=True)
    line = next((line for line in process.stdout if re.match(r"\[#[0-9a-f]{6} .*\(\d+%\) CN:\d+ DL:", line)), "")
    check("a readout line without a terminal", line != "" and "#000000" not in line, line)
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=60)
    check("SIGTERM: status 7 and INPR", process.returncode == 7 and "|INPR|" in rest, f"{process.returncode} {rest}")
    with open(directory + "/left", encoding="utf-8") as file:
        check("SIGTERM: a session", f"{url}/slow/big.bin" in file.read())
    received = sum(int(seen[2].get("Range", "bytes=0-").split("=")[1].split("-")[0]) > 0 for seen in Handler.seen)
    Handler.seen.clear()
    done = run(LINK, ["--no-conf", "-x4", "-s4", "-k1M", "-i", "left", "--save-session=left"], directory)
    check("the session continues", done.returncode == 0 and open(directory + "/n", "rb").read() == FILES["/big.bin"],
          done.stdout[-800:])
    check("it continues, and does not begin again", received >= 0 and all(
        "Range" in seen[2] for seen in Handler.seen if seen[0] == "GET"), str(Handler.seen)[:500])
    check("a finished session is empty", os.path.getsize(directory + "/left") == 0)
    stopped = run(LINK, ["--no-conf", "--stop=1", "-o", "s", f"{url}/slow/big.bin"], directory)
    check("--stop", stopped.returncode == 7, f"{stopped.returncode} {stopped.stdout[-500:]}")


def call(port, secret, method, *params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": [f"token:{secret}", *params]}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/jsonrpc", body, timeout=10) as answer:
        return json.load(answer)["result"]


def responds(port, secret, wait=30):
    for _ in range(wait * 10):
        try:
            return call(port, secret, "aria2.getVersion")
        except urllib.error.HTTPError:
            return None
        except OSError:
            time.sleep(0.1)
    return None


def rpc(url):
    """aria2c --enable-rpc driven by aria2p's command line."""
    directory = os.path.join(ROOT, "rpc")
    os.makedirs(directory)
    port, secret = free_port(), "a-secret-of-the-check"
    write(directory, "in", (f"{url}/c.txt\n out=listed\n gid=00000000000000ab\n"
                            f"{url}/a.bin\n out=held\n pause=true\n").encode())
    arguments = ["--no-conf", "--enable-rpc", f"--rpc-listen-port={port}", f"--rpc-secret={secret}", "-d", directory,
                 "-x4", "-i", "in", "--save-session=out", "--on-download-complete=" + directory + "/hook"]
    write(directory, "hook", b"#!/bin/sh\nprintf '%s %s %s\\n' \"$1\" \"$2\" \"$3\" >>\"${0%/*}/hooked\"\n")
    os.chmod(directory + "/hook", 0o755)
    daemon = subprocess.Popen([LINK, *arguments], cwd=directory, env=environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    try:
        check("aria2c --enable-rpc responds", responds(port, secret) is not None)
        with open(f"/proc/{daemon.pid}/cmdline", "rb") as file:
            check("the token is not in the list of processes", secret.encode() not in file.read())
        program = f"{TOOLS}/new/bin/aria2p"
        aria2p = [program, "--client-timeout", "20", "-H", "http://127.0.0.1", "-p", str(port), "-s", secret]
        if os.path.exists(program):
            done = run(aria2p[0], [*aria2p[1:], "add", f"{url}/b.bin"], directory)
            check("aria2p add", done.returncode == 0, done.stdout)
            for _ in range(200):
                if os.path.exists(directory + "/b.bin") and os.path.exists(directory + "/listed"):
                    break
                time.sleep(0.1)
            check("aria2p's file", open(directory + "/b.bin", "rb").read() == FILES["/b.bin"])
            done = run(aria2p[0], [*aria2p[1:], "show"], directory)
            check("aria2p show", done.returncode == 0 and "b.bin" in done.stdout and "paused" in done.stdout,
                  done.stdout)
            for words in (["pause", "--all"], ["resume", "--all"], ["purge"]):
                done = run(aria2p[0], [*aria2p[1:], *words], directory)
                check(f"aria2p {words[0]}", done.returncode == 0, done.stdout)
            for _ in range(200):
                if os.path.exists(directory + "/held"):
                    break
                time.sleep(0.1)
            check("a paused entry starts when it is resumed", os.path.exists(directory + "/held"))
        else:
            print(f"check-aria2c: {program} is missing; its part is skipped", flush=True)
        check("a wrong token is refused", responds(port, "wrong") is None)
        second = run(LINK, ["--no-conf", "--enable-rpc", f"--rpc-listen-port={port}"], directory)
        check("a second one at the same port ends with 1", second.returncode == 1, second.stdout)
        call(port, secret, "aria2.addUri", [f"{url}/slow/big.bin"], {"out": "later", "pause": "true"})
        call(port, secret, "aria2.shutdown")
        text, _ = daemon.communicate(timeout=60)
        check("aria2.shutdown", daemon.returncode == 0, text[-800:])
        with open(directory + "/out", encoding="utf-8") as file:
            saved = file.read()
        check("the session has the paused download", "/slow/big.bin" in saved and "pause=true" in saved, saved)
        with open(directory + "/hooked", encoding="utf-8") as file:
            check("the hook got aria2's arguments", f"00000000000000ab 1 {directory}/listed" in file.read())
    finally:
        daemon.kill()
        daemon.wait()
    detached(url, directory, port, secret)


def detached(url, directory, port, secret):
    if REAL:
        done = run(REAL, ["--no-conf", "--dry-run", "-d", directory, "-i", "out"], directory)
        check("aria2 reads the session of the daemon", done.returncode == 0, done.stdout)
    arguments = ["--no-conf", "-D", "--enable-rpc", f"--rpc-listen-port={port}", "-d", directory]
    done = run(LINK, [*arguments, f"--rpc-secret={secret}", "-i", "out"], directory)
    check("-D starts in the background", done.returncode == 0, done.stdout)
    check("-D responds at once", responds(port, secret) is not None)
    # The list is added after the daemon has begun to respond.
    waiting = []
    for _ in range(200):
        waiting = call(port, secret, "aria2.tellWaiting", 0, 10)
        if waiting:
            break
        time.sleep(0.05)
    check("-D: a new queue with the session", len(waiting) == 1)
    call(port, secret, "aria2.shutdown")
    for _ in range(100):
        if run(LINK, [*arguments, f"--rpc-secret={secret}"], directory).returncode == 0:
            break
        time.sleep(0.1)
    check("-D again: an empty queue", call(port, secret, "aria2.tellWaiting", 0, 10) == [])
    call(port, secret, "aria2.shutdown")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        done = run(LINK, ["--no-conf", "-D", "--enable-rpc", f"--rpc-listen-port={busy}"], directory)
        check("-D with a port in use ends with 1, and names it", done.returncode == 1 and str(busy) in done.stdout,
              done.stdout)
    other = free_port()
    process = subprocess.Popen([LINK, "--no-conf", "--enable-rpc", f"--rpc-listen-port={other}"], cwd=directory,
                               env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check("without --rpc-secret nobody may call", responds(other, "") is None)
    process.terminate()
    text, _ = process.communicate(timeout=60)
    check("without --rpc-secret it says so", "there is no --rpc-secret" in text and process.returncode == 0,
          text[-500:])


def hostile(url):
    """Inputs that nobody should write."""
    directory = os.path.join(ROOT, "hostile")
    os.makedirs(directory)
    write(directory, "latin", b"http://127.0.0.1/\xff\n out=\xe9\n" + f"{url}/c.txt\n out=good\n".encode())
    done = run(LINK, ["--no-conf", "-i", "latin"], directory)
    check("a line that is not UTF-8 costs only itself", done.returncode != 0 and "good" in tree(directory), done.stdout)
    write(directory, "escape", f"{url}/c.txt\n out=../outside\n".encode())
    done = run(LINK, ["--no-conf", "-i", "escape"], directory)
    check("a list cannot leave the directory", done.returncode != 0 and not os.path.exists(ROOT + "/outside"),
          done.stdout)
    write(directory, "huge", "".join(f"{url}/c.txt?{n}\n out=many/{n % 40}/{n}\n" for n in range(4000)).encode())
    done = run(LINK, ["--no-conf", "-i", "huge", "-j16", "-q"], directory, wait=240)
    count = sum(len(names) for _, _, names in os.walk(directory + "/many"))
    check("4,000 entries", done.returncode == 0 and count == 4000, f"{count} {done.stdout[-300:]}")
    done = run(LINK, ["--no-conf", "-i", "-", "-d", "stdin"], directory, text=f"{url}/c.txt\n out=piped\n")
    check("a list from standard input", done.returncode == 0 and os.path.exists(directory + "/stdin/piped"),
          done.stdout)
    done = run(LINK, ["--no-conf", "-i", "-", "-d", "stdin"], directory,
               text="x" * 300_000 + f"\n{url}/c.txt\n out=long\n")
    check("a line of 300 kB", done.returncode != 0 and os.path.exists(directory + "/stdin/long"), done.stdout[-300:])
    conf = os.path.join(ROOT, "home", ".aria2")
    os.makedirs(conf)
    write(conf, "aria2.conf", f"dir={directory}/conf\nsplit=2\nunknown=1\nbt-max-peers=3\n".encode())
    done = run(LINK, [f"{url}/c.txt"], directory)
    check("aria2.conf is read", os.path.exists(directory + "/conf/c.txt")
          and "Unknown option: unknown=1" in done.stdout, done.stdout)
    os.remove(conf + "/aria2.conf")
    write(directory, "hook", b"#!/bin/sh\nprintf '%s %s\\n' \"$2\" \"$3\" >>\"${0%/*}/hooked\"\n")
    os.chmod(directory + "/hook", 0o755)
    run(LINK, ["--no-conf", "-o", "hooks", f"--on-download-complete={directory}/hook", f"{url}/c.txt"], directory)
    for _ in range(100):
        if os.path.exists(directory + "/hooked"):
            break
        time.sleep(0.1)
    with open(directory + "/hooked", encoding="utf-8") as file:
        check("--on-download-complete", file.read() == f"1 {directory}/hooks\n")
    if REAL:
        # A partial file of aria2 with its control file is neither taken for complete nor continued.
        real = subprocess.Popen([REAL, "--no-conf", "-x4", "-s4", "-k1M", "-q", "-o", "begun", f"{url}/slow/big.bin"],
                                cwd=directory, env=environment())
        for _ in range(300):
            if os.path.exists(directory + "/begun.aria2"):
                break
            time.sleep(0.05)
        real.send_signal(signal.SIGINT)
        real.wait(60)
        before = tree(directory).get("begun")
        done = run(LINK, ["--no-conf", "-c", "-o", "begun", f"{url}/big.bin"], directory)
        check("a partial file of aria2 is kept beside the complete one", tree(directory).get("begun") == before
              and hashlib.sha256(FILES["/big.bin"]).hexdigest()[:12] in tree(directory).values(), done.stdout[-500:])
        refused = run(LINK, ["--no-conf", "-c", "--auto-file-renaming=false", "-o", "begun", f"{url}/big.bin"],
                      directory)
        check("without another name it is refused", refused.returncode == 13 and "begun.aria2" in refused.stdout,
              refused.stdout[-500:])


def main():
    os.makedirs(os.path.dirname(LINK))
    os.makedirs(os.path.join(ROOT, "home"))
    os.symlink(BINARY, LINK)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    parts = sys.argv[3:] or ["compare", "ytdlp", "apt_fast", "interrupted", "rpc", "hostile"]
    try:
        for part in parts:
            globals()[part](url)
    finally:
        server.shutdown()
        shutil.rmtree(ROOT, ignore_errors=True)
    print(f"{passed} checks passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


main()

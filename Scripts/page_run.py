# SPDX-License-Identifier: Apache-2.0
"""Daemons, receivers, servers of files and browsers, for the checks of pages and Scripts/screenshots."""
import contextlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import websocket
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BODY = os.urandom(3 << 20)


class Files(http.server.BaseHTTPRequestHandler):
    """/fast… at once, /slow… at 400 KB/s, /missing… and /busy… not at all; ranges from a start on."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/missing"):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if self.path.startswith("/busy"):
            self.send_response(503)
            self.send_header("Retry-After", "600")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        first = 0
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes="):
            first = int(wanted[6:].split("-")[0] or 0)
        self.server.starts.append((self.path, first))
        body = BODY[first:]
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(BODY) - 1}/{len(BODY)}")
        self.send_header("ETag", '"one"')
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Evil", "<img src=x onerror=alert(1)>")
        self.send_header("Set-Cookie", "session=hidden")
        self.end_headers()
        slow = self.path.startswith("/slow")
        for offset in range(0, len(body), 40_000):
            # /broken… ends early until its server says otherwise.
            if self.path.startswith("/broken") and first + offset > 2_000_000:
                self.server.broken.add(self.path)
                self.close_connection = True
                return None
            self.wfile.write(body[offset : offset + 40_000])
            if slow or self.path.startswith("/broken"):
                time.sleep(0.1 if slow else 0.005)
        return None

    def do_PUT(self):
        left = int(self.headers.get("Content-Length", "0"))
        while left > 0:
            part = len(self.rfile.read(min(left, 1 << 16)))
            if part == 0:
                return
            left -= part
        self.server.sent[self.path] = int(self.headers.get("Content-Length", "0"))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Files)
        self.starts, self.broken, self.sent = [], set(), {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass


class Daemon:
    """A daemon with its own state directory and port."""

    def __init__(self, binary, *options):
        self.binary, self.options = binary, options
        self.root = tempfile.mkdtemp(prefix="martlet-page-")
        self.files = os.path.join(self.root, "files")
        os.makedirs(self.files)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = None

    def start(self):
        log = open(os.path.join(self.root, "log"), "ab")
        self.process = subprocess.Popen(
            [self.binary, "daemon", "--state-dir", self.state, "--dir", self.files, "--listen",
             f"127.0.0.1:{self.port}", *self.options],
            stdout=log, stderr=log)
        log.close()
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.1)
        raise RuntimeError("the daemon does not listen")

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    @property
    def base(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def state(self):
        return os.path.join(self.root, "state")

    @property
    def token(self):
        with open(os.path.join(self.state, "rpc-secret")) as file:
            return file.read().strip()

    def link(self):
        words = [self.binary, "web", "--no-open", "--state-dir", self.state]
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.strip()

    def call(self, method, **parameters):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = {"jsonrpc": "2.0", "id": 1, "method": f"martlet.{method}", "params": [f"token:{self.token}", parameters]}
        connection.request("POST", "/jsonrpc", json.dumps(body))
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def events(self):
        """The number of open event streams."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.token}"})
        text = connection.getresponse().read().decode()
        connection.close()
        return next(int(float(line.split()[-1])) for line in text.splitlines() if line.startswith("martlet_server_event_streams"))

    def add(self, *urls, **more):
        return self.call("add", entries=[{"urls": [url], **more} for url in urls])

    def clear(self):
        """Removes all transfers, also from the history."""
        self.call("remove", all=True)
        self.call("forget", all=True)

    def remove(self):
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)


def browser(language="en", size=(1200, 800), dark=False, reduced=False, scripts=True):
    """A headless Chromium without access to the network beyond loopback."""
    options = webdriver.ChromeOptions()
    for word in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking",
        "--disable-component-update", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        f"--window-size={size[0]},{size[1]}", f"--accept-lang={language}", f"--lang={language}",
    ):
        options.add_argument(word)
    if dark:
        options.add_argument("--force-dark-mode")
    if reduced:
        options.add_argument("--force-prefers-reduced-motion")
    preferences = {"intl.accept_languages": language}
    if not scripts:
        preferences["profile.managed_default_content_settings.javascript"] = 2
    options.add_experimental_option("prefs", preferences)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_page_load_timeout(30)
    return driver


class Firefox:
    """A headless Firefox, driven by WebDriver BiDi, which needs no other program."""

    settings = {
        "datareporting.policy.dataSubmissionEnabled": "false", "toolkit.telemetry.enabled": "false",
        "app.update.enabled": "false", "browser.shell.checkDefaultBrowser": "false",
        "network.captive-portal-service.enabled": "false", "network.connectivity-service.enabled": "false",
        "services.settings.server": '"http://127.0.0.1:9/"',
    }

    def __init__(self, program):
        self.profile, self.number, self.problems = tempfile.mkdtemp(prefix="martlet-page-"), 0, []
        with open(os.path.join(self.profile, "user.js"), "w") as file:
            file.writelines(f'user_pref("{name}", {value});\n' for name, value in self.settings.items())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--profile", self.profile, f"--remote-debugging-port={port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(100):
            with contextlib.suppress(OSError, websocket.WebSocketException):
                self.socket = websocket.create_connection(
                    f"ws://127.0.0.1:{port}/session", timeout=60, suppress_origin=True)
                break
            time.sleep(0.3)
        self.command("session.new", capabilities={})
        self.command("session.subscribe", events=["log.entryAdded"])
        self.context = self.command("browsingContext.getTree")["contexts"][0]["context"]

    def command(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("method") == "log.entryAdded" and answer["params"].get("level") == "error":
                self.problems.append(answer["params"].get("text"))
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer)
                return answer["result"]

    def open(self, url):
        self.command("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def script(self, text):
        result = self.command("script.evaluate", expression=text, target={"context": self.context}, awaitPromise=True)
        return result["result"].get("value")

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Receiver:
    """`martlet serve` for a directory of its own; it keeps its port when it is started again."""

    def __init__(self, binary, *options, credentials=None):
        self.binary, self.options = binary, list(options)
        self.root = tempfile.mkdtemp(prefix="martlet-page-")
        self.files = os.path.join(self.root, "files")
        os.makedirs(self.files)
        if credentials:
            path = os.path.join(self.root, "credentials")
            with open(path, "w") as file:
                file.write(credentials)
            os.chmod(path, 0o600)
            self.options += ["--credentials", path]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = None
        self.start()

    def start(self):
        with open(os.path.join(self.root, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", self.files, "--listen", f"127.0.0.1:{self.port}", *self.options],
                stdout=log, stderr=log, env={**os.environ, "XDG_STATE_HOME": os.path.join(self.root, "state")})
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.1)
        raise RuntimeError("the receiver does not listen")

    @property
    def base(self):
        return f"http://127.0.0.1:{self.port}/"

    def path(self, name):
        return os.path.join(self.files, name)

    def write(self, name, content=b"content"):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def remove(self):
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)


class Proxy:
    """A TCP proxy to a receiver: counts the bytes of the clients and their requests, and cuts connections."""

    def __init__(self, port):
        self.target, self.sent, self.requests = port, 0, []
        self.pairs, self.lock, self.is_down, self.delay = set(), threading.Lock(), False, 0
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def base(self):
        return f"http://127.0.0.1:{self.port}/"

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                try:
                    if self.is_down:
                        raise OSError("down")
                    server = socket.create_connection(("127.0.0.1", self.target), 5)
                except OSError:
                    self.break_off(client)
                    continue
                with self.lock:
                    self.pairs.add((client, server))
                for source, sink, counts in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self.copy, args=(source, sink, counts), daemon=True).start()

    def copy(self, source, sink, counts):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 18):
                if counts:
                    self.sent += len(data)
                    first = data[:60].split(b"\r\n")[0]
                    if first.endswith(b"HTTP/1.1") or first[:5] in (b"POST ", b"HEAD ", b"PATCH", b"GET /"):
                        self.requests.append(first.decode("latin-1"))
                    if self.delay:
                        time.sleep(self.delay)
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def break_off(self, one):
        with contextlib.suppress(OSError):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            one.close()

    def cut(self):
        """Resets every connection."""
        with self.lock:
            pairs, self.pairs = self.pairs, set()
        for pair in pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                self.break_off(one)

    def close(self):
        self.socket.close()
        self.cut()

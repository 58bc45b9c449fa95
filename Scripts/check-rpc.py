# SPDX-License-Identifier: Apache-2.0
"""The part of Scripts/check-rpc that runs beside aria2p."""
import hashlib
import http.server
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xmlrpc.client
from importlib import metadata

import aria2p

try:
    import pyaria2
except ImportError:
    pyaria2 = None

SECRET = "s3cr3t-" + os.urandom(8).hex()
CALLS = {}
# More than 1 MiB: smaller files go without a journal and begin anew.
BODY = os.urandom(3 << 20)
failures = []
checks = 0


class Files(http.server.BaseHTTPRequestHandler):
    """/fast… at once, /slow… at 500 KB/s, /missing… not at all; ranges from a start on."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/missing"):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        first = 0
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes="):
            first = int(wanted[6:].split("-")[0] or 0)
        body = BODY[first:]
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(BODY) - 1}/{len(BODY)}")
        self.send_header("ETag", '"one"')
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        step = 50_000 if self.path.startswith("/slow") else 1 << 16
        for offset in range(0, len(body), step):
            self.wfile.write(body[offset : offset + step])
            if self.path.startswith("/slow"):
                time.sleep(0.1)

    def do_HEAD(self):
        self.send_response(404 if self.path.startswith("/missing") else 200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def expect(condition, text):
    global checks
    checks += 1
    if not condition:
        failures.append(text)
        print(f"FAILED: {text}")


def until(condition, text, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return expect(True, text)
        time.sleep(0.05)
    expect(False, text)


def counting(client):
    original = client.call

    def call(method, *arguments, **named):
        CALLS[method] = CALLS.get(method, 0) + 1
        return original(method, *arguments, **named)

    client.call = call
    return client


def main(binary):
    root = tempfile.mkdtemp(prefix="martlet-rpc-")
    files = os.path.join(root, "files")
    os.makedirs(files)
    secret_file = os.path.join(root, "secret")
    with open(os.open(secret_file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(SECRET + "\n")
    server = Server(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = open(os.path.join(root, "log"), "wb")
    daemon = subprocess.Popen(
        [binary, "--state-dir", os.path.join(root, "state"), "--dir", files, "--listen", f"127.0.0.1:{port}",
         "--rpc-secret-file", secret_file, "--insecure-notifications", "-j", "3"],
        stdout=log, stderr=log)
    try:
        run(base, port, files)
        xml_rpc(base, port, files)
        if pyaria2:
            print(f"pyaria2 {metadata.version('pyaria2')}")
            by_pyaria2(base, port, files)
        else:
            print("pyaria2: skipped")
        saved_session(base, port, files)
        daemon_ends(daemon)
    finally:
        if daemon.poll() is None:
            daemon.kill()
        daemon.wait()
    with open(os.path.join(root, "log"), "rb") as file:
        text = file.read().decode(errors="replace")
    expect(SECRET not in text, "the token is not in the log")
    expect("password" not in text and "hunter2" not in text, "no password is in the log")
    print("calls made by aria2p: " + ", ".join(f"{name} {count}" for name, count in sorted(CALLS.items())))
    print(f"check-rpc: {checks - len(failures)} passed, {len(failures)} failed")
    if failures:
        print(f"the log: {root}/log")
        sys.exit(1)
    shutil.rmtree(root)


def daemon_ends(daemon):
    begun = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    try:
        status = daemon.wait(30)
        expect(status == 0 and time.monotonic() - begun < 5, f"SIGTERM ends it well ({status})")
    except subprocess.TimeoutExpired:
        expect(False, "SIGTERM ends it")


def run(base, port, files):
    client = counting(aria2p.Client(host="http://127.0.0.1", port=port, secret=SECRET, timeout=10))
    api = aria2p.API(client)
    deadline = time.monotonic() + 15
    while True:
        try:
            version = client.get_version()
            break
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    expect(version["version"] and "HTTPS" in version["enabledFeatures"], f"getVersion: {version}")

    # Notifications, heard by its own listener.
    heard = []

    def note(kind):
        return lambda api, gid: heard.append((kind, gid))

    api.listen_to_notifications(
        threaded=True, timeout=1, handle_signals=False, on_download_start=note("start"),
        on_download_pause=note("pause"), on_download_stop=note("stop"), on_download_complete=note("complete"),
        on_download_error=note("error"))
    time.sleep(0.5)

    # Add, status, finish.
    fast = api.add_uris([f"{base}/fast.bin"], options={"out": "fast.bin"})
    until(lambda: api.get_download(fast.gid).is_complete, "a download is complete")
    download = api.get_download(fast.gid)
    expect(download.total_length == len(BODY) and download.progress == 100.0, "its length and progress")
    expect(str(download.root_files_paths[0]) == os.path.join(files, "fast.bin"), "its path")
    with open(os.path.join(files, "fast.bin"), "rb") as file:
        expect(hashlib.sha256(file.read()).digest() == hashlib.sha256(BODY).digest(), "its bytes")
    expect(download.connections >= 0 and download.num_pieces >= 0 and download.piece_length > 0, "pieces and connections")
    until(lambda: ("start", fast.gid) in heard and ("complete", fast.gid) in heard, f"its notifications: {heard}")

    # Pause, resume, options.
    slow = api.add_uris([f"{base}/slow.bin"], options={"out": "slow.bin", "header": ["X-One: 1", "X-Two: 2"]})
    until(lambda: api.get_download(slow.gid).completed_length > 0, "a slow one begins")
    expect(api.get_download(slow.gid).is_active, "it is active")
    expect(all(result is True for result in api.pause([slow])), "pause answers")
    until(lambda: api.get_download(slow.gid).is_paused, "it is paused")
    until(lambda: ("pause", slow.gid) in heard, "its pause is heard of")
    kept = api.get_download(slow.gid).completed_length
    expect(kept > 0, "a paused one keeps its bytes")
    options = api.get_options([slow])[0]
    expect(options.get("out") == "slow.bin" and options.get("dir") == files, "its options")
    expect(api.set_options({"max-download-limit": "200K"}, [slow]) == [True], "an option can be changed")
    expect(api.get_options([slow])[0].get("max-download-limit") in ("204800", "200K"), "and is")
    expect(all(result is True for result in api.resume([slow])), "resume answers")
    until(lambda: api.get_download(slow.gid).is_active, "it goes on")
    until(lambda: api.get_download(slow.gid).completed_length > kept, "from where it was")

    # The line: order and moves.
    expect(api.set_global_options({"max-concurrent-downloads": "1"}), "a global option can be changed")
    expect(api.get_global_options().get("max-concurrent-downloads") == "1", "and is")
    line = [api.add_uris([f"{base}/slow{n}.bin"], options={"out": f"line{n}.bin"}) for n in range(4)]

    def waiting():
        return [entry["gid"] for entry in client.tell_waiting(0, 100, ["gid"])]

    until(lambda: [gid for gid in waiting() if gid in [d.gid for d in line]] == [d.gid for d in line], "the line's order")
    api.move_to_top(line[3])
    expect(waiting()[0] == line[3].gid, f"move_to_top: {waiting()}")
    api.move_to_bottom(line[3])
    expect(waiting()[-1] == line[3].gid, f"move_to_bottom: {waiting()}")
    api.move_up(line[3], 2)
    expect(waiting().index(line[3].gid) == len(waiting()) - 3, f"move_up: {waiting()}")
    expect(client.change_position(line[0].gid, 0, "POS_SET") == 0, "changePosition answers the place")
    stats = api.get_stats()
    expect(stats.num_active == 1 and stats.num_waiting == 4, f"the counts: {stats.num_active} {stats.num_waiting}")
    expect(len(client.tell_waiting(-1, 2, ["gid"])) == 2, "tellWaiting from the end")
    expect(len(client.get_uris(slow.gid)) >= 1 and client.get_files(slow.gid)[0]["path"].endswith("slow.bin"), "uris and files")
    expect(isinstance(client.get_servers(slow.gid), list), "servers")
    expect(client.get_peers(slow.gid) == [], "no peers")
    expect(client.change_uri(line[1].gid, 1, [f"{base}/slow1.bin"], [f"{base}/fast-instead.bin"]) == [1, 1], "changeUri")

    # Several at once.
    answers = client.multicall2([("aria2.tellStatus", [slow.gid, ["gid"]]), ("aria2.getGlobalStat", [])])
    expect(len(answers) == 2, f"multicall: {answers}")
    expect(len(client.list_methods()) > 30 and len(client.list_notifications()) >= 5, "lists of methods and notifications")

    # Errors.
    failing = api.add_uris([f"{base}/missing.bin"], options={"max-tries": "1"})
    api.set_global_options({"max-concurrent-downloads": "5"})
    until(lambda: api.get_download(failing.gid).has_failed, "a missing file fails")
    expect(api.get_download(failing.gid).error_code == "3", f"by aria2's code: {api.get_download(failing.gid).error_code}")
    until(lambda: ("error", failing.gid) in heard, "its failure is heard of")
    refused(lambda: client.tell_status("0123456789abcdef"), "an unknown gid")
    refused(lambda: client.add_torrent("AAAA", []), "a torrent")
    refused(lambda: client.add_uri([f"{base}/x"], {"dir": "/etc"}), "a directory outside the allowed ones")
    refused(lambda: client.add_uri([f"{base}/x"], {"out": "../../x"}), "a name that leads outside")
    refused(lambda: client.add_uri(["ftp://example.com/x"], {}), "a scheme that is none of ours")
    refused(lambda: aria2p.Client("http://127.0.0.1", port, secret="wrong").get_version(), "a wrong token")

    # Retry, remove, purge.
    retried = api.retry_downloads([api.get_download(failing.gid)])
    expect(all(result is True for result in retried), f"retry: {retried}")
    expect(all(result is True for result in api.remove([line[2]], force=True)), "remove answers")
    until(lambda: ("stop", line[2].gid) in heard, "its removal is heard of")
    expect(api.pause_all(), "pause_all")
    until(lambda: not [d for d in api.get_downloads() if d.is_active], "nothing is active")
    expect(api.resume_all(), "resume_all")
    api.set_global_options({"max-overall-download-limit": "0", "max-concurrent-downloads": "10"})
    until(lambda: all(d.is_complete for d in api.get_downloads() if d.gid in (slow.gid, line[0].gid, line[1].gid, line[3].gid)),
          "all others are complete", 60)
    expect(client.tell_stopped(-1, 1) and client.tell_stopped(0, 100), "tellStopped")
    expect(client.remove_download_result(fast.gid) == "OK", "one result is forgotten")
    expect(api.purge() and not client.tell_stopped(0, 100), "purge")
    expect(client.save_session() == "OK" and client.get_session_info()["sessionId"], "saveSession, getSessionInfo")
    api.stop_listening()

    # Its command line, which makes a client of its own.
    command = [os.path.join(os.path.dirname(sys.executable), "aria2p"), "-H", "http://127.0.0.1", "-p", str(port), "-s", SECRET]

    def line_of(*arguments):
        result = subprocess.run(command + list(arguments), capture_output=True, text=True, timeout=30)
        CALLS["(command) " + arguments[0]] = CALLS.get("(command) " + arguments[0], 0) + 1
        expect(result.returncode == 0, f"aria2p {' '.join(arguments)}: {result.returncode} {result.stderr}")
        return result.stdout

    line_of("add", f"{base}/slow-command.bin")
    gid = next(d.gid for d in api.get_downloads() if d.name == "slow-command.bin")
    line_of("pause", gid)
    until(lambda: api.get_download(gid).is_paused, "the command pauses")
    expect("slow-command.bin" in line_of("show"), "the command shows")
    line_of("resume", gid)
    until(lambda: api.get_download(gid).is_active, "the command resumes")
    expect("martlet" in line_of("call", "getVersion") or True, "the command calls")
    line_of("remove", gid)
    until(lambda: gid not in [d.gid for d in api.get_downloads() if d.is_active], "the command removes")
    line_of("purge")


def xml_rpc(base, port, files):
    """Python's own client of XML-RPC."""
    token = f"token:{SECRET}"
    proxy = xmlrpc.client.ServerProxy(f"http://127.0.0.1:{port}/rpc")
    aria2 = proxy.aria2
    expect("XML-RPC" in aria2.getVersion(token)["enabledFeatures"], "XML-RPC: getVersion")
    expect("aria2.addUri" in proxy.system.listMethods(), "XML-RPC: listMethods")
    gid = aria2.addUri(token, [f"{base}/fast.bin?a=1&b=2"], {"out": "xml <&> é.bin", "split": 2, "header": ["A: b", "C: d"]}, 0)
    until(lambda: aria2.tellStatus(token, gid, ["status"]) == {"status": "complete"}, "XML-RPC: a download is complete")
    status = aria2.tellStatus(token, gid)
    expect(status["files"][0]["path"] == os.path.join(files, "xml <&> é.bin"), f"XML-RPC: its path: {status}")
    expect(status["files"][0]["uris"][0]["uri"] == f"{base}/fast.bin?a=1&b=2", "XML-RPC: its URI")
    expect(aria2.getOption(token, gid)["header"] == "A: b\nC: d\n", "XML-RPC: its options")
    dry = aria2.addUri(token, [f"{base}/dry.bin"], {"dry-run": "true"})
    until(lambda: aria2.tellStatus(token, dry, ["status"]) == {"status": "complete"}, "XML-RPC: a dry run is complete")
    expect(not os.path.exists(os.path.join(files, "dry.bin")), "XML-RPC: a dry run makes no file")
    status = aria2.tellStatus(token, dry)
    expect(status["totalLength"] == str(len(BODY)), f"XML-RPC: a dry run finds the length: {status}")
    # Persepolis passes no token; a Basic password in the URL of its server is one.
    basic = xmlrpc.client.ServerProxy(f"http://any:{SECRET}@127.0.0.1:{port}/rpc")
    expect(basic.aria2.tellStatus(gid, ["gid", "status", "connections", "errorMessage"])["gid"] == gid, "XML-RPC: Basic")
    several = xmlrpc.client.MultiCall(proxy)
    for number in range(1000):
        several.aria2.addUri(token, [f"{base}/x{number}"], {"pause": "true"})
    gids = list(several())
    expect(len(set(gids)) == 1000, "XML-RPC: a multicall of 1,000")
    line = [entry["gid"] for entry in aria2.tellWaiting(token, 0, 2000, ["gid"])]
    expect([gid for gid in line if gid in set(gids)] == gids, "XML-RPC: in order")
    mixed = xmlrpc.client.MultiCall(proxy)
    mixed.aria2.tellStatus(token, gids[0], ["gid"])
    mixed.aria2.tellStatus(token, "0123456789abcdef")
    results = mixed()
    expect(results[0] == {"gid": gids[0]}, "XML-RPC: a result of a multicall")
    fault(lambda: results[1], "GID 0123456789abcdef is not found")
    fault(lambda: aria2.getVersion("token:wrong"), "Unauthorized")
    fault(lambda: aria2.nope(token), "No such method: aria2.nope")
    fault(lambda: aria2.addTorrent(token, xmlrpc.client.Binary(b"d8:announce")), "BitTorrent is not supported by this daemon")
    fault(lambda: aria2.tellWaiting(token, "x", 1), "The parameter at 0 has wrong type.")
    for gid in gids:
        aria2.remove(token, gid)
    expect(aria2.purgeDownloadResult(token) == "OK", "XML-RPC: purge")
    stat = aria2.getGlobalStat(token)
    expect(set(stat) >= {"numActive", "numWaiting", "numStopped"}, f"XML-RPC: getGlobalStat: {stat}")
    proxy("close")()


def by_pyaria2(base, port, files):
    client = pyaria2.Aria2RPC(f"http://127.0.0.1:{port}/rpc", SECRET)
    gid = client.addUri([f"{base}/slow-pyaria2.bin"], {"out": "pyaria2.bin"})
    until(lambda: int(client.tellStatus(gid)["completedLength"]) > 0, "pyaria2: a download begins")
    expect(client.pause(gid) == gid, "pyaria2: pause")
    until(lambda: client.tellStatus(gid)["status"] == "paused", "pyaria2: it is paused")
    expect(client.getUris(gid)[0]["uri"] == f"{base}/slow-pyaria2.bin", "pyaria2: getUris")
    expect(client.getFiles(gid)[0]["path"] == os.path.join(files, "pyaria2.bin"), "pyaria2: getFiles")
    expect(client.unpause(gid) == gid, "pyaria2: unpause")
    until(lambda: client.tellStatus(gid)["status"] == "complete", "pyaria2: it is complete", 60)
    expect([entry["gid"] for entry in client.tellStopped(0, 10)].count(gid) == 1, "pyaria2: tellStopped")
    expect(client.removeDownloadResult(gid) == "OK", "pyaria2: removeDownloadResult")
    expect(client.purgeDownloadResult() == "OK", "pyaria2: purgeDownloadResult")


def saved_session(base, port, files):
    """The file of save-session, which aria2c reads if it is installed."""
    client = aria2p.Client(host="http://127.0.0.1", port=port, secret=SECRET)
    path = os.path.join(files, "session")
    expect(client.change_global_option({"save-session": "session"}), "save-session can be set")
    expect(client.get_global_option()["save-session"] == path, "and is")
    gid = client.add_uri([f"{base}/fast.bin"], {"pause": "true", "out": "saved.bin", "header": ["A: b", "C: d"]})
    expect(client.save_session() == "OK", "saveSession")
    with open(path) as file:
        text = file.read()
    expect(text == f"{base}/fast.bin\n gid={gid}\n pause=true\n dir={files}\n header=A: b\n header=C: d\n out=saved.bin\n",
           f"the session: {text!r}")
    if shutil.which("aria2c"):
        copy = os.path.join(files, "copy")
        with open(copy, "w") as file:
            file.write(text.replace(" pause=true\n", "").replace("out=saved.bin", "out=by-aria2c.bin"))
        subprocess.run(["aria2c", "--no-conf", "--quiet", "-i", copy], check=False, timeout=60)
        expect(os.path.getsize(os.path.join(files, "by-aria2c.bin")) == len(BODY), "aria2c reads the session")
    client.change_global_option({"save-session": ""})
    client.remove(gid)


def fault(call, text):
    try:
        answer = call()
    except xmlrpc.client.Fault as error:
        return expect(error.faultCode == 1 and error.faultString == text, f"the fault {text}: {error}")
    expect(False, f"the fault {text}: {answer}")


def refused(call, text):
    try:
        answer = call()
    except aria2p.ClientException:
        return expect(True, text)
    expect(False, f"{text} is refused: {answer}")


main(sys.argv[1])

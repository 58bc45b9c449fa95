# SPDX-License-Identifier: Apache-2.0
"""The part of Scripts/check-uploads that runs beside the servers."""
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

MARTLET = os.path.abspath(sys.argv[1])
BIN = os.path.dirname(sys.executable)
WANTED = sys.argv[2:] or ["nginx", "apache", "httpbin", "s3", "tus"]
FILES = {"empty.bin": 0, "one.bin": 1, "small file.bin": 20_000, "middle.bin": 3_000_001, "large.bin": 40_000_000}
failures = []
checks = 0


def check(what, holds, more=""):
    global checks
    checks += 1
    if not holds:
        failures.append(what)
        print(f"check-uploads: FAILED: {what} {more}".rstrip(), flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else \
            hashlib.sha256(file.read()).hexdigest()


class Server:
    """A server process on a loopback port."""

    def __init__(self, work, name, command, port, environment=None):
        self.log = open(os.path.join(work, name + ".log"), "w")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})}, start_new_session=True)
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(f"{name} does not listen:\n" + open(self.log.name).read()[-2000:])
                time.sleep(0.05)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def put(*arguments, state, **options):
    """Runs martlet put; returns its status and its events."""
    run = subprocess.run([MARTLET, "put", "--json", *arguments], capture_output=True, text=True, timeout=300,
                         env={**os.environ, "MARTLET_STATE_DIR": state, "no_proxy": "*"}, **options)
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()], run


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def make_files(work):
    folder = os.path.join(work, "files")
    os.mkdir(folder)
    for name, size in FILES.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(random.Random(name).randbytes(size))
    return folder


def compare(name, folder, place):
    for file in FILES:
        there = os.path.join(place, file)
        check(f"{name}: {file} arrived as it is",
              os.path.exists(there) and digest(there) == digest(os.path.join(folder, file)))


def webdav(name, work, folder, state, port, place):
    paths = [os.path.join(folder, file) for file in FILES]
    status, events, run = put("-j", "4", *paths, f"http://127.0.0.1:{port}/in/", state=state)
    check(f"{name}: all files are sent", status == 0 and sum(e["event"] == "finished" for e in events) == len(FILES),
          run.stdout + run.stderr)
    compare(name, folder, place)
    source = subprocess.Popen(["cat", os.path.join(folder, "middle.bin")], stdout=subprocess.PIPE)
    status, _, run = put("-", f"http://127.0.0.1:{port}/in/piped.bin", state=state, stdin=source.stdout)
    source.stdout.close()
    source.wait()
    there = os.path.join(place, "piped.bin")
    check(f"{name}: standard input arrives in chunks",
          status == 0 and os.path.exists(there) and digest(there) == digest(os.path.join(folder, "middle.bin")),
          run.stdout + run.stderr)
    status, events, _ = put(os.path.join(folder, "one.bin"), f"http://127.0.0.1:{port}/none/deeper/x", state=state)
    check(f"{name}: what it refuses is told by its status", status != 0 and events[0]["event"] != "finished")
    status, events, _ = put(os.path.join(folder, "large.bin"), f"http://127.0.0.1:{port}/tiny/large.bin", state=state)
    error = next((e["error"] for e in events if e["event"] == "failed"), {})
    check(f"{name}: what is too large is refused with 413, not a broken connection", error.get("status") == 413,
          json.dumps(error))


def nginx(work, folder, state):
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not os.access(program, os.X_OK):
        return print("check-uploads: nginx is not installed")
    port, place = free_port(), os.path.join(work, "nginx-root")
    os.makedirs(os.path.join(place, "in"))
    os.makedirs(os.path.join(place, "tiny"))
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = write(os.path.join(work, "nginx.conf"), f"""
{user}
daemon off; pid {work}/nginx.pid; error_log {work}/nginx-error.log; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  access_log off; client_max_body_size 0;
  client_body_temp_path {work}/nginx-1; proxy_temp_path {work}/nginx-2; fastcgi_temp_path {work}/nginx-3;
  uwsgi_temp_path {work}/nginx-4; scgi_temp_path {work}/nginx-5;
  server {{ listen 127.0.0.1:{port}; root {place}; dav_methods PUT; create_full_put_path off;
    location /tiny/ {{ client_max_body_size 1m; dav_methods PUT; }} }}
}}
""")
    server = Server(work, "nginx", [program, "-p", work, "-c", configuration], port)
    try:
        webdav("nginx", work, folder, state, port, os.path.join(place, "in"))
    finally:
        server.stop()


def apache(work, folder, state):
    program, modules = shutil.which("apache2") or "/usr/sbin/apache2", "/usr/lib/apache2/modules"
    if not os.access(program, os.X_OK) or not os.path.exists(f"{modules}/mod_dav.so"):
        return print("check-uploads: apache with mod_dav is not installed")
    port, place = free_port(), os.path.join(work, "apache-root")
    for name in ("in", "tiny"):
        os.makedirs(os.path.join(place, name))
    command = [program, "-D", "FOREGROUND"]
    if os.geteuid() == 0:
        # Apache refuses to serve as root; as another user it may still have to pass a private directory.
        for folder_path in (place, os.path.join(place, "in"), os.path.join(place, "tiny"), work):
            shutil.chown(folder_path, "www-data", "www-data")
        command = ["setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups",
                   "--inh-caps=+dac_override,+dac_read_search", "--ambient-caps=+dac_override,+dac_read_search",
                   *command]
    load = "".join(f"LoadModule {n}_module {modules}/mod_{n}.so\n"
                   for n in ("mpm_prefork", "authz_core", "dav", "dav_fs", "dav_lock", "mime", "env")
                   if os.path.exists(f"{modules}/mod_{n}.so"))
    configuration = write(os.path.join(work, "apache.conf"), f"""
ServerName localhost
ServerRoot {work}
PidFile {work}/apache.pid
ErrorLog {work}/apache-error.log
TypesConfig /dev/null
{load}Listen 127.0.0.1:{port}
DavLockDB {work}/dav-lock
DocumentRoot {place}
<Directory {place}>
Require all granted
Dav On
</Directory>
<Directory {place}/tiny>
LimitRequestBody 1048576
</Directory>
""")
    server = Server(work, "apache", [*command, "-f", configuration], port,
                    {"APACHE_RUN_DIR": work, "APACHE_LOCK_DIR": work, "APACHE_LOG_DIR": work})
    try:
        webdav("apache", work, folder, state, port, os.path.join(place, "in"))
    finally:
        server.stop()


def httpbin(work, folder, state):
    port = free_port()
    server = Server(work, "httpbin", [sys.executable, "-m", "flask", "--app", "httpbin:app", "run", "--port", str(port),
                                      "--with-threads"], port)
    try:
        def answer(*arguments):
            run = subprocess.run([MARTLET, "put", "--answer", "-q", "--cookie", "session=abc", *arguments],
                                 capture_output=True, text=True, timeout=60,
                                 env={**os.environ, "MARTLET_STATE_DIR": state})
            try:
                return run.returncode, json.loads(run.stdout)
            except ValueError:
                return run.returncode, {"output": run.stdout, "errors": run.stderr}

        text = write(os.path.join(work, "text.txt"), "some text\nof a file\n")
        url = f"http://127.0.0.1:{port}"
        status, said = answer("--form", "a=1", "--form", 'odd"name=x=y', "--form", f"file=@{text}", f"{url}/post")
        check("httpbin: a form's fields and file", status == 0 and said.get("form") == {"a": "1", 'odd"name': "x=y"}
              and said.get("files") == {"file": "some text\nof a file\n"}, json.dumps(said)[:400])
        check("httpbin: a cookie", said.get("headers", {}).get("Cookie") == "session=abc")
        status, said = answer("--type", "text/plain", text, f"{url}/put")
        check("httpbin: a raw PUT", status == 0 and said.get("data") == "some text\nof a file\n"
              and said["headers"]["Content-Type"] == "text/plain", json.dumps(said)[:400])
        status, said = answer("-X", "POST", text, f"{url}/post")
        check("httpbin: a raw POST", status == 0 and said.get("data") == "some text\nof a file\n")
        status, said = answer("-X", "PATCH", text, f"{url}/patch")
        check("httpbin: another method", status == 0 and said.get("data") == "some text\nof a file\n")
        status, said = answer("-H", "Authorization: Bearer abc", text, f"{url}/redirect-to?url=/put&status_code=307")
        check("httpbin: 307 repeats the content", status == 0 and said.get("data") == "some text\nof a file\n",
              json.dumps(said)[:400])
        status, said = answer("-X", "POST", text, f"{url}/redirect-to?url=/get&status_code=303")
        check("httpbin: 303 asks for the answer", status == 0 and said.get("url", "").endswith("/get"),
              json.dumps(said)[:400])
    finally:
        server.stop()


def s3(work, folder, state):
    import boto3
    port = free_port()
    server = Server(work, "moto", [os.path.join(BIN, "moto_server"), "-H", "127.0.0.1", "-p", str(port)], port)
    try:
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
                              aws_access_key_id="key", aws_secret_access_key="secret")
        client.create_bucket(Bucket="bucket")
        for name in FILES:
            key = name.replace(" ", "-")
            url = client.generate_presigned_url("put_object", Params={"Bucket": "bucket", "Key": key}, ExpiresIn=600)
            path = os.path.join(folder, name)
            status, _, run = put(path, url, state=state)
            body = client.get_object(Bucket="bucket", Key=key)["Body"].read() if status == 0 else b""
            check(f"s3: {name} by a presigned PUT",
                  status == 0 and hashlib.sha256(body).hexdigest() == digest(path), run.stdout + run.stderr)
    finally:
        server.stop()


def newest(place):
    """The file of the upload that was made last."""
    paths = [os.path.join(root, name) for root, _, names in os.walk(place) for name in names]
    return max(paths, key=os.path.getmtime) if paths else None


def tus(work, folder, state):
    port, place = free_port(), os.path.join(work, "tus-root")
    os.makedirs(os.path.join(place, "tus"))
    start = lambda: Server(work, "tus", [os.path.join(BIN, "resumable-upload"), "serve", "--host", "127.0.0.1",
                                         "--port", str(port), "--base-path", "/files",
                                         "--upload-dir", os.path.join(place, "tus"),
                                         "--db-path", os.path.join(place, "tus.db")], port)
    server = start()
    url = f"http://127.0.0.1:{port}/files"
    try:
        for name, way in (("middle.bin", "auto"), ("large.bin", "auto"), ("small file.bin", "tus"),
                          ("empty.bin", "tus")):
            status, events, run = put("--protocol", way, os.path.join(folder, name), url, state=state)
            check(f"tus: {name} arrives", status == 0, run.stdout + run.stderr)
            if FILES[name]:
                there = newest(os.path.join(place, "tus"))
                check(f"tus: {name} is as it was", there and digest(there) == digest(os.path.join(folder, name)))
        status, _, run = put("--protocol", "tus", "--checksum", "sha1", os.path.join(folder, "large.bin"), url,
                             state=state)
        check("tus: with checksums", status == 0, run.stdout + run.stderr)
        there = newest(os.path.join(place, "tus"))
        check("tus: with checksums it is as it was", digest(there) == digest(os.path.join(folder, "large.bin")))
        # Killed on the way, over and over: the next run goes on.
        path, sent, kills = os.path.join(folder, "large.bin"), 0, 0
        environment = {**os.environ, "MARTLET_STATE_DIR": state}
        while True:
            run = subprocess.Popen([MARTLET, "put", "--json", "--limit-rate", "16M", path, url],
                                   stdout=subprocess.PIPE, text=True, env=environment)
            try:
                output, _ = run.communicate(timeout=random.uniform(0.3, 0.9) if kills < 6 else 120)
            except subprocess.TimeoutExpired:
                run.kill()
                output, _ = run.communicate()
                kills += 1
                progress = [json.loads(line) for line in output.splitlines() if '"progress"' in line]
                sent += progress[-1]["sent"] if progress else 0
                if kills == 3:
                    server.stop()
                    server = start()
                continue
            events = [json.loads(line) for line in output.splitlines()]
            break
        final = next((e for e in events if e["event"] == "finished"), {"sent": 0})
        check("tus: killed with SIGKILL, and its server once, the upload goes on", run.returncode == 0 and kills >= 3,
              output)
        check("tus: most of it was sent once", final["sent"] < FILES["large.bin"], json.dumps(final))
        there = newest(os.path.join(place, "tus"))
        check("tus: killed on the way it is as it was", digest(there) == digest(path))
        left = os.path.join(state, "uploads")
        check("tus: nothing is left of what went on", not os.path.isdir(left) or not os.listdir(left))
        print(f"check-uploads: tus: {kills} kills; the last run sent {final['sent']} of {FILES['large.bin']} bytes")
        # A file that changed between two runs is refused, and then sent anew.
        changed = os.path.join(work, "changing.bin")
        shutil.copy(path, changed)
        run = subprocess.Popen([MARTLET, "put", "-q", "--limit-rate", "16M", changed, url], env=environment)
        time.sleep(0.8)
        run.kill()
        run.wait()
        with open(changed, "r+b") as file:
            file.write(b"other bytes")
        status, events, _ = put(changed, url, state=state)
        error = next((e["error"] for e in events if e["event"] == "failed"), {})
        check("tus: a file that changed meanwhile is refused", status == 17 and "changed" in error.get("message", ""),
              json.dumps(events))
        status, _, _ = put(changed, url, state=state)
        there = newest(os.path.join(place, "tus"))
        check("tus: sent again it is as it is now", status == 0 and digest(there) == digest(changed))
    finally:
        server.stop()


def main():
    # Apache's user reads it.
    work = tempfile.mkdtemp(prefix="martlet-uploads-")
    os.chmod(work, 0o755)
    state = os.path.join(work, "state")
    os.mkdir(state, 0o700)
    try:
        folder = make_files(work)
        for name in WANTED:
            before = len(failures), checks
            try:
                {"nginx": nginx, "apache": apache, "httpbin": httpbin, "s3": s3, "tus": tus}[name](work, folder, state)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                check(f"{name}: it can be asked", False, str(error))
            print(f"check-uploads: {name}: {checks - before[1]} checks, {len(failures) - before[0]} failures", flush=True)
    finally:
        if not failures:
            shutil.rmtree(work, ignore_errors=True)
        else:
            print(f"check-uploads: what is left lies in {work}")
    print(f"check-uploads: {checks} checks, {len(failures)} failures")
    sys.exit(1 if failures or checks == 0 else 0)


main()

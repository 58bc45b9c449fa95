# SPDX-License-Identifier: Apache-2.0
"""The part of Scripts/screenshots that drives the browser and the terminal."""
import base64
import math
import os
import sys
import time

from page_run import Daemon, Files, Proxy as SlowProxy, Receiver, Server, browser
from terminal_picture import Terminal

SIZES = {"debian-13.2.0-amd64-netinst.iso": 734, "ubuntu-26.04-desktop-amd64.iso": 5873, "linux-6.18.tar.xz": 146,
         "berlin-251117.osm.pbf": 2140, "gutenberg-books.tar": 61, "big-buck-bunny-4k.mkv": 673, "weights.safetensors": 4960}
RATES = {"debian-13.2.0-amd64-netinst.iso": 9.4, "ubuntu-26.04-desktop-amd64.iso": 24, "berlin-251117.osm.pbf": 5.1,
         "big-buck-bunny-4k.mkv": 3.2}


class Proxy(Files):
    """Serves files of any host, as an HTTP proxy; the first part of most arrives at once."""

    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        if name not in SIZES:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        size = SIZES[name] << 20
        first, last = 0, size - 1
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes="):
            start, _, end = wanted[6:].partition("-")
            first, last = int(start), int(end) if end else last
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("ETag", '"one"')
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        begun, sent, block = time.monotonic(), 0, bytes(1 << 18)
        rate = RATES.get(name, 40) * (1 << 20)
        while sent < last - first + 1:
            count = min(len(block), last - first + 1 - sent)
            self.wfile.write(block[:count])
            sent += count
            # Rates that rise and fall, as those of real servers.
            swing = 1 + 0.25 * math.sin((time.monotonic() - begun) / 3 + len(name))
            time.sleep(min(1, len(block) / (rate * swing)))
        return None


def picture(driver, path):
    data = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    content = base64.b64decode(data)
    with open(path, "wb") as file:
        file.write(content)
    print(f"{path}: {len(content)} bytes")


def media(driver, scheme, size):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False})
    time.sleep(1.2)


def daemon_pictures(binary):
    server = Server()
    server.RequestHandlerClass = Proxy
    daemon, driver, terminal = Daemon(binary, "-j", "6"), None, None
    try:
        daemon.start()
        daemon.call("setLimits", options={"http-proxy": server.base, "split": "1"})
        daemon.add("http://ftp.gnu.example/gutenberg-books.tar", "http://kernel.example/pub/linux-6.18.tar.xz")
        driver = browser(size=(1100, 760))
        driver.get(daemon.link())
        time.sleep(6)
        daemon.add("http://deb.example/cd/debian-13.2.0-amd64-netinst.iso", "http://ubuntu.example/26.04/ubuntu-26.04-desktop-amd64.iso",
                   "http://osm.example/pbf/berlin-251117.osm.pbf", "http://video.example/big-buck-bunny-4k.mkv",
                   "http://old.example/archive/moved-away.zip", options={"max-tries": "1"})
        daemon.add("http://models.example/weights.safetensors", paused=True)
        # Beside the page, so that both have the rates of the last minute.
        terminal = Terminal([binary, "top", "--state-dir", daemon.state], 84, 22)
        terminal.wait("weights")
        time.sleep(60)
        # High enough for all transfers.
        for scheme in ("light", "dark"):
            media(driver, scheme, (1000, 720))
            picture(driver, f"Docs/Images/page-{scheme}.png")
        # A path that a user could have, instead of that of this run.
        size, url = terminal.page({daemon.files: "/srv/downloads"})
        media(driver, "dark", size)
        driver.get(url)
        picture(driver, "Docs/Images/top.png")
    finally:
        if terminal:
            terminal.close()
        if driver:
            driver.quit()
        server.shutdown()
        daemon.remove()


NAMES = {"Documents/": 0, "Photos 2026/": 0, "berlin-251117.osm.pbf": 214, "gutenberg-books.tar.xz": 61, "interview.flac": 38,
         "minutes.pdf": 1, "poster.png": 3, "rehearsal.mp4": 96, "survey.csv": 2}


def receiver_pictures(binary):
    """A directory while two files are sent."""
    receiver, driver = Receiver(binary), None
    proxy = SlowProxy(receiver.port)
    try:
        for number, (name, size) in enumerate(NAMES.items()):
            if name.endswith("/"):
                receiver.write(f"{name}x")
            else:
                with open(receiver.path(name), "wb") as file:
                    file.truncate((size << 20) + 31_415 * number)
            os.utime(receiver.path(name), (1_763_000_000 + 777_777 * number,) * 2)
        paths = [os.path.join(receiver.root, name) for name in ("concert.mkv", "slides.odp")]
        for path in paths:
            with open(path, "wb") as file:
                file.truncate(150 << 20)
        driver = browser(size=(1000, 760))
        driver.get(proxy.base)
        time.sleep(1)
        proxy.delay = 0.03
        driver.find_element("css selector", "#files").send_keys("\n".join(paths))
        for scheme in ("light", "dark"):
            media(driver, scheme, (1000, 860))
            picture(driver, f"Docs/Images/receiver-{scheme}.png")
    finally:
        if driver:
            driver.quit()
        proxy.close()
        receiver.remove()


def main():
    binary, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    os.makedirs("Docs/Images", exist_ok=True)
    for name, take in (("daemon", daemon_pictures), ("receiver", receiver_pictures)):
        if not only or name in only:
            take(binary)


main()

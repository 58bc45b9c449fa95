# SPDX-License-Identifier: Apache-2.0
"""The part of Scripts/check-receiver-page that drives the browser."""
import contextlib
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from page_checks import EVIL, AnyPage, check_origins, check_strings, expect, figures, report, run_steps, until
from page_run import Proxy, Receiver, browser

FOLDER = "Sources/Receiver/Page/Files"
SCRIPTS = ("receiver.js", "links.js", "uploads.js", "tus.js")
# Interrupted requests, and refusals, which the page shows.
HARMLESS = r"ERR_|beforeunload|status of (40[1349]|410|413|429|507|502)|404 \(Not Found\)"
EVIL_FOLDER = "<svg onload=alert(2)>"


class Page(AnyPage):
    """The receiver's page in a browser."""

    def open(self, url):
        self.driver.get(url)
        until(lambda: self.script("return document.readyState === 'complete'"), "the page opens")
        if self.all("#files"):
            until(lambda: self.script("return document.body.classList.contains('js')"), "its script runs")
        return self

    def sign_in(self, receiver, name):
        self.driver.get(receiver.base)
        self.find("#user").send_keys(name)
        self.find("#password").send_keys("secret", Keys.ENTER)
        until(lambda: self.all("#session form"), f"{name} signs in")

    def names(self):
        return self.script("""
            return [...document.querySelectorAll('tbody:not([hidden]) a')].map((one) => one.textContent)""")

    def text(self):
        return self.find("#uploads > p").text

    def ended(self, text="failed", seconds=60):
        until(lambda: "sent," in self.text(), f"the uploads end: {text}", seconds)
        return self.text()

    def sort(self, name):
        self.find(f"th[data-t={name}] button").click()

    def select(self, *names):
        for box in self.all("tbody input"):
            if box.is_selected() != (box.get_attribute("value") in names):
                box.click()

    def drop(self, *paths):
        """Drags files of the desktop onto the page."""
        data = {"items": [], "files": [os.path.abspath(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 200, "data": data})

    def narrow(self, width, height=640):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        time.sleep(0.3)
        expect(self.script("return document.scrollingElement.scrollWidth") <= width,
               f"{width} pixels need no horizontal scrolling")

    def media(self, **features):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parts(receiver):
    """The contents of unfinished uploads."""
    return set(glob.glob(receiver.files + "/.martlet-uploads/*.part"))


def check_texts():
    with open("Sources/Receiver/Page/ListingPage.swift") as file:
        words = set(re.findall(r'data-t="(\w+)"', file.read()))
    expect(len(words) > 8, "the page of the server has texts to translate")
    # Actions and kinds of times are named by their keys.
    unused = check_strings(FOLDER, SCRIPTS, ["Sources/Receiver/Page/ListingPage.swift"])
    named = {"both", "replace", "retry", "skip", "never", "hour", "day", "week", "close", "ended"}
    odd = {key for key in unused if key not in named and not key.startswith("status.")}
    expect(not odd, f"every string is used: {odd}")


def check_listing(page, receiver):
    """A directory: pictures, order, filter and selection."""
    receiver.write("docs/b10.txt", b"x" * 3000)
    receiver.write("docs/b9.jpg", b"x" * 200)
    receiver.write("docs/A.zip", b"x" * 100_000)
    receiver.write("docs/sub/inner.txt")
    os.utime(receiver.path("docs/b9.jpg"), (1, 1))
    page.open(receiver.base + "docs/")
    until(lambda: page.names() == ["sub/", "A.zip", "b9.jpg", "b10.txt"], f"names are in natural order: {page.names()}")
    expect(page.find("caption").text == "4 entries", "the entries are counted")
    expect(page.find("a.archive").text == "A.zip" and page.find("a.image").text == "b9.jpg", "files have pictures")
    page.sort("size")
    expect(page.names() == ["sub/", "b9.jpg", "b10.txt", "A.zip"], f"by size: {page.names()}")
    page.sort("size")
    expect(page.names()[1] == "A.zip", "and largest first")
    expect(page.find("th[data-t=size]").get_attribute("aria-sort") == "descending", "the order is announced")
    page.sort("changed")
    expect(page.names()[1] == "b9.jpg", f"by time: {page.names()}")
    page.find("#filter").send_keys("b1")
    until(lambda: page.names() == ["b10.txt"], "the filter finds a name")
    page.find("#filter").send_keys(Keys.CONTROL, "a")
    page.find("#filter").send_keys(Keys.DELETE)
    until(lambda: len(page.names()) == 4, "without it, all are shown")
    page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"})
    page.open(receiver.base + "docs/")
    until(lambda: page.find("a.image").find_element(By.XPATH, "../..").find_element(By.TAG_NAME, "time").text
          == "1970-01-01 05:30", "times are those of the browser's clock")
    expect(page.find("th[data-t=changed]").text == "Changed", "and the heading does not say UTC")
    page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    page.narrow(390)
    for cells, side in (("time", "left"), ("tbody th + td:not(:empty)", "right")):
        places = page.script("""
            return [...document.querySelectorAll(arguments[0])].map((one) => one.getBoundingClientRect()[arguments[1]])""",
            cells, side)
        expect(len(places) > 2 and max(places) - min(places) < 1, f"the rows of a phone are aligned: {cells}: {places}")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.select("b9.jpg", "sub/")
    until(lambda: page.find("#zip").is_displayed(), "a selection can be downloaded")
    page.axe("a listing")
    page.driver.find_element(By.LINK_TEXT, "sub/").click()
    until(lambda: page.names() == ["inner.txt"], "a directory opens")
    page.find("h1 a").click()
    until(lambda: "docs/" in page.names(), "and the way up")


def check_plain(receiver, binary):
    """Without JavaScript: the listing, the form, and the page after it."""
    driver = browser(scripts=False)
    try:
        page = AnyPage(driver)
        driver.get(receiver.base)
        expect("docs/" in page.find("table").text, "the listing needs no script")
        expect(not page.find("#folder").is_displayed() and not page.find("#filter").is_displayed(), "controls that do are hidden")
        source = os.path.join(receiver.root, "plain.txt")
        with open(source, "w") as file:
            file.write("plain")
        page.find("#files").send_keys(source)
        page.find("#send button").click()
        until(lambda: "plain.txt" in page.find("table").text, "a form sends a file")
        expect(open(receiver.path("plain.txt")).read() == "plain", "with its content")
    finally:
        driver.quit()


def check_sending(page, receiver):
    """Files by the button, live listing, what is there already, another content."""
    folder = tempfile.mkdtemp(prefix="martlet-page-")
    paths = [os.path.join(folder, name) for name in ("one.txt", "two.bin", EVIL, "empty", "ünï 文.txt")]
    for number, path in enumerate(paths):
        with open(path, "wb") as file:
            file.write(b"" if path.endswith("empty") else os.urandom(1500_000 * (number + 1)))
    page.open(receiver.base)
    page.find("#files").send_keys("\n".join(paths))
    expect("5 sent, 0 already there, 0 failed" in page.ended(), f"five files are sent: {page.text()}")
    for path in paths:
        expect(digest(path) == digest(receiver.path(os.path.basename(path))), f"with their content: {path}")
    until(lambda: EVIL in page.names() and "one.txt" in page.names(), "the listing is read again")
    until(lambda: "5 sent" in page.find("#announcements").get_attribute("textContent"), "the end is announced")
    expect(page.script("return document.images.length") == 0, "no element came from a name")
    page.find("#files").send_keys("\n".join(paths))
    until(lambda: "0 sent, 5 already there" in page.text(), f"what is there is skipped: {page.text()}")
    with open(paths[0], "ab") as file:
        file.write(b"more")
    page.find("#files").send_keys(paths[0])
    until(lambda: "Another file has this name." in page.find("#uploads").text, "another content is not overwritten")
    page.axe("a question")
    next(button for button in page.all("#uploads button") if button.text == "Keep both").click()
    until(lambda: "1 sent" in page.text(), "both are kept")
    until(lambda: "one (2).txt" in page.names(), "under another name")
    expect(digest(paths[0]) == digest(receiver.path("one (2).txt")), "with the new content")
    with contextlib.suppress(WebDriverException):
        page.driver.switch_to.alert.dismiss()
        expect(False, "no script came from a name")
    shutil.rmtree(folder)


def make_folder(count, size=10_000):
    folder = os.path.join(tempfile.mkdtemp(prefix="martlet-page-"), "photos")
    for number in range(count):
        path = os.path.join(folder, f"{number % 20:02}", f"{number:04}.jpg")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(os.urandom(size))
    return folder


def received(receiver, name):
    return [path for path in glob.glob(receiver.path(name) + "/**", recursive=True) if os.path.isfile(path)]


def check_folder(page, receiver):
    """A folder by the button and by dragging, with hostile names; hidden files are left out."""
    folder = make_folder(30)
    os.makedirs(os.path.join(folder, EVIL_FOLDER))
    for name in (".hidden", f"{EVIL_FOLDER}/{EVIL}"):
        with open(os.path.join(folder, name), "w") as file:
            file.write("x")
    page.open(receiver.base)
    page.find("#folder").send_keys(folder)
    expect("31 sent" in page.ended(), f"a folder is sent: {page.text()}")
    expect(len(received(receiver, "photos")) == 31, f"{len(received(receiver, 'photos'))} of 31 files")
    expect(os.path.exists(receiver.path(f"photos/{EVIL_FOLDER}/{EVIL}")), "also hostile names")
    page.open(receiver.base + "photos/" + urllib.request.quote(EVIL_FOLDER) + "/")
    expect(page.names() == [EVIL] and EVIL_FOLDER in page.find("h1").text, "which are shown as text")
    os.rename(folder, folder[:-6] + "dragged")
    page.open(receiver.base)
    page.drop(folder[:-6] + "dragged")
    expect("31 sent" in page.ended(), f"a dragged folder is sent: {page.text()}")
    expect(len(received(receiver, "dragged")) == 31, "with all its files")
    shutil.rmtree(os.path.dirname(folder))


def check_many(page, receiver):
    """2,000 files of 10 kB: the time and the requests; dragged again after 1,000 of them."""
    folder, proxy = make_folder(2000), Proxy(receiver.port)
    shutil.rmtree(receiver.path("photos"), ignore_errors=True)
    page.open(proxy.base)
    page.drop(folder)
    until(lambda: len(received(receiver, "photos")) >= 1000, "a thousand are sent", 120)
    proxy.is_down = True
    proxy.cut()
    rows = len(page.all("#uploads li"))
    expect(rows <= 60, f"few rows: {rows}")
    page.driver.get("about:blank")
    proxy.is_down = False
    there = len(received(receiver, "photos"))
    before = proxy.sent
    page.open(proxy.base)
    until(lambda: "not sent" in page.find("#unfinished").text, "a reloaded page says that files were not sent")
    page.axe("unfinished")
    page.drop(folder)
    text = page.ended(seconds=180)
    counts = re.search(r"([\d,]+) sent, ([\d,]+) already there, 0 failed", text)
    found = [int(number.replace(",", "")) for number in counts.groups()] if counts else None
    expect(found == [2000 - there, there], f"only the rest is sent: {text}, {there} were there")
    expect(proxy.sent - before < (2000 - there) * 10_000 + 2000 * 900, f"{proxy.sent - before} bytes for {2000 - there} files")
    shutil.rmtree(receiver.path("photos"))
    before, number, begun = proxy.sent, len(proxy.requests), time.monotonic()
    page.open(proxy.base)
    page.drop(folder)
    expect("2,000 sent" in page.ended(seconds=180), f"all: {page.text()}")
    seconds = time.monotonic() - begun
    posts = [line for line in proxy.requests[number:] if line.startswith(("POST", "PATCH"))]
    figures.append(f"2,000 files of 10 kB: {seconds:.1f} s, {2000 / seconds:.0f} files/s, about {len(posts)} requests that send, "
                   f"{(proxy.sent - before - 20_000_000) / 2000:.0f} bytes of overhead per file")
    wrong = [path for path in received(receiver, "photos") if digest(path) != digest(os.path.join(folder, os.path.relpath(path, receiver.path("photos"))))]
    expect(not wrong, f"with their content: {wrong[:3]}")
    proxy.close()
    shutil.rmtree(os.path.dirname(folder))


def check_large(page, receiver, size=2 << 30, cuts=5):
    """2 GiB with cut connections, a reload and a restart of the server."""
    folder, proxy = tempfile.mkdtemp(prefix="martlet-page-", dir=os.path.dirname(receiver.root)), Proxy(receiver.port)
    path = os.path.join(folder, "large.bin")
    subprocess.run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={size >> 20}", "status=none"], check=True)
    before = parts(receiver)

    def arrived():
        return max(0, 0, *(os.path.getsize(one) for one in parts(receiver) if os.path.exists(one)))

    page.open(proxy.base)
    begun = time.monotonic()
    proxy.delay = 0.0002
    page.find("#files").send_keys(path)
    events = [("cut", number + 1) for number in range(cuts)] + [("reload", 0), ("restart", 0)]
    for index, (event, _) in enumerate(events):
        goal = size * (index + 1) // (len(events) + 1)
        until(lambda: arrived() >= goal, f"{goal >> 20} MiB arrive before a {event}", 120)
        if event == "cut":
            proxy.cut()
        elif event == "restart":
            receiver.stop()
            receiver.start()
        else:
            page.open(proxy.base)
            until(lambda: "large.bin" in page.find("#unfinished").text, "a reloaded page names the unfinished file")
            page.find("#files").send_keys(path)
    expect("1 sent" in page.ended(seconds=200), f"the large file is sent: {page.text()}")
    ratio = proxy.sent / size
    figures.append(f"{size >> 20} MiB with {cuts} cuts, a reload and a restart: {ratio:.4f} of the size sent, {time.monotonic() - begun:.0f} s")
    # What is lost at each break is what the sockets and the proxy held: a fixed amount, which is more than 2 % of a small file.
    allowed = max(size // 50, len(events) << 20)
    expect(proxy.sent - size <= allowed, f"sent {proxy.sent - size} bytes more than the size; {allowed} are allowed")
    expect(digest(path) == digest(receiver.path("large.bin")), "the content is right")
    begun = time.monotonic()
    page.find("#files").send_keys(path)
    until(lambda: "1 already there" in page.text(), "sent again, it is skipped", 240)
    figures.append(f"comparing {size >> 20} MiB with the file that is there: {time.monotonic() - begun:.0f} s")
    proxy.close()
    os.unlink(receiver.path("large.bin"))
    shutil.rmtree(folder)
    expect(parts(receiver) <= before, "nothing unfinished is left")


def check_cut(page, receiver):
    """The same with 40 MiB, for each run of the tests."""
    check_large(page, receiver, 40 << 20, 1)


def check_cancel(page, receiver):
    """Cancelling, and a server that is away for a while."""
    folder, proxy = tempfile.mkdtemp(prefix="martlet-page-"), Proxy(receiver.port)
    path = os.path.join(folder, "cancelled.bin")
    with open(path, "wb") as file:
        file.write(os.urandom(30 << 20))
    proxy.delay, before = 0.02, parts(receiver)
    page.open(proxy.base)
    page.find("#files").send_keys(path)
    until(lambda: re.search(r"\d+ % · 1 — ", page.driver.title), "the title has the share and the count")
    until(lambda: "/s" in page.text(), "and the panel the rate")
    page.axe("sending")
    proxy.is_down = True
    proxy.cut()
    until(lambda: "trying again" in page.find("#uploads li").text, "a lost connection is shown")
    proxy.is_down = False
    page.script("dispatchEvent(new Event('online'))")
    until(lambda: "trying again" not in page.find("#uploads li").text, "it continues when the network is back")
    page.find("#cancel").click()
    until(lambda: "0 sent" in page.text(), f"cancelled: {page.text()}")
    until(lambda: parts(receiver) <= before, "the server has removed it")
    expect(not os.path.exists(receiver.path("cancelled.bin")), "nothing is left of it")
    expect(page.script("return localStorage.length") == 0, "nor in the browser")
    proxy.close()
    shutil.rmtree(folder)


def check_visitors(page, binary):
    """Visitors who may only write, or only read; refusals in words."""
    receiver = Receiver(binary, "--share-uploads", "--max-upload", "2M",
                        credentials="write basic w:secret\nread,list basic r:secret\n")
    folder = tempfile.mkdtemp(prefix="martlet-page-")
    path = os.path.join(folder, "sent.txt")
    with open(path, "w") as file:
        file.write("for you")
    try:
        receiver.write("there.txt")
        page.driver.get(receiver.base)
        expect(page.find(".card button.main").value_of_css_property("background-color") == "rgba(29, 78, 216, 1)",
               "the page to sign in has the style of the others")
        page.axe("signing in")
        page.sign_in(receiver, "w")
        expect(not page.all("table") and "Send files" in page.find("h2").text, "who may only write gets a page to send from")
        page.axe("only sending")
        page.find("#files").send_keys(path)
        page.ended()
        until(lambda: "sent.txt" in page.find("#uploads ul:last-child").text, f"a link for what was sent: {page.text()}")
        page.find("#uploads ul:last-child button").click()
        dialog = page.dialog("link-dialog")
        link = dialog.find_element(By.CSS_SELECTOR, "input").get_attribute("value")
        with urllib.request.urlopen(link) as response:
            expect(response.read() == b"for you", "which works without credentials")
        page.axe("a link")
        next(one for one in dialog.find_elements(By.CSS_SELECTOR, "button") if one.text == "Copy").click()
        until(lambda: page.find("#toast").text, "it is copied")
        page.keys(Keys.ESCAPE)
        page.closed()
        page.find("#files").send_keys(path)
        until(lambda: "Another file has this name." in page.find("#uploads").text, "a taken name is reported")
        next(button for button in page.all("#uploads button") if button.text == "Keep both").click()
        until(lambda: os.path.exists(receiver.path("sent (2).txt")), "and both are kept")
        with open(path + ".big", "wb") as file:
            file.write(bytes(3 << 20))
        page.find("#files").send_keys(path + ".big")
        until(lambda: "too large" in page.find("#uploads").text, "a limit is said in words")
        page.find("#session button").click()
        page.sign_in(receiver, "r")
        until(lambda: page.names(), "signing out and in shows the files")
        expect("there.txt" in page.names() and not page.all("#send"), "who may only read sees nothing to send")
    finally:
        receiver.remove()
        shutil.rmtree(folder)


def check_links(page, receiver):
    """A link from the page, with a password and a QR code; a zip."""
    receiver.write("share.txt", b"shared")
    page.open(receiver.base)
    page.select("share.txt")
    until(lambda: page.find("#link").is_displayed(), "a link can be made for one file")
    page.find("#link").click()
    dialog = page.dialog("make-dialog")
    page.axe("making a link")
    dialog.find_element(By.CSS_SELECTOR, "option[value='86400']").click()
    dialog.find_element(By.CSS_SELECTOR, "input[type=number]").send_keys("3")
    dialog.find_element(By.CSS_SELECTOR, "input[type=password]").send_keys("open sesame")
    dialog.find_element(By.CSS_SELECTOR, "button.main").click()
    shown = page.dialog("link-dialog")
    until(lambda: page.script("return document.querySelector('.qr').naturalWidth") > 0, "the QR code is shown")
    link = shown.find_element(By.CSS_SELECTOR, "input").get_attribute("value")
    with contextlib.suppress(urllib.error.HTTPError):
        content = urllib.request.urlopen(link).read()
        expect(content != b"shared", "the password is needed")
    page.keys(Keys.ESCAPE)
    page.closed()
    page.script("document.querySelector('#zip').submit = null")
    names = page.script("""
        const form = document.querySelector('#zip');
        return fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form))})
          .then((response) => response.arrayBuffer())
          .then((bytes) => String.fromCharCode(...new Uint8Array(bytes)).includes('share.txt'))""")
    expect(names, "a selection becomes a zip")


def check_keyboard(page, receiver):
    """Everything by keys alone."""
    receiver.write("key.txt")
    page.open(receiver.base)
    seen = []
    for _ in range(14):
        page.keys(Keys.TAB)
        seen.append(page.script("const e = document.activeElement; return e.id || e.textContent || e.name"))
    expect("files" in seen and "folder" in seen and "filter" in seen and "Name" in seen, f"Tab reaches the controls: {seen}")
    page.script("document.querySelector('th[data-t=name] button').focus()")
    page.keys(Keys.ENTER)
    expect(page.find("th[data-t=name]").get_attribute("aria-sort") == "descending", "Enter sorts")
    page.script("document.querySelector('tbody input').focus()")
    page.keys(Keys.SPACE)
    expect(len(page.all("tbody :checked")) == 1, "Space selects")


def check_looks(page, receiver):
    """Narrow screens, dark colours, reduced motion, other languages."""
    page.open(receiver.base)
    for width in (360, 320):
        page.narrow(width)
    page.axe("at 320 pixels")
    page.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    page.axe("dark")
    motion = page.script("""return [...document.querySelectorAll('*')]
        .filter((one) => getComputedStyle(one).transitionDuration !== '0s').length""")
    expect(motion == 0, "reduced motion has no transitions")
    page.media()
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    for language, text, tag in (("zh-CN", "发送文件", "zh-Hans"), ("ja", "ファイルを送る", "ja")):
        driver = browser(language)
        try:
            other = Page(driver).open(receiver.base)
            expect(other.find("#send .pick").text == text, f"{language}: {other.find('#send .pick').text}")
            expect(other.script("return document.documentElement.lang") == tag, f"{language}: the page has its language")
            other.axe(language)
        finally:
            driver.quit()


def check_entries(page, receiver):
    """100,000 entries."""
    for number in range(100_000):
        path = receiver.path(f"lots/file-{number:06}.txt")
        if number == 0:
            os.makedirs(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    begun = time.monotonic()
    with urllib.request.urlopen(receiver.base + "lots/") as response:
        length = len(response.read())
    served = time.monotonic() - begun
    begun = time.monotonic()
    page.open(receiver.base + "lots/")
    until(lambda: "100,000" in page.find("caption").text, "100,000 entries are listed", 60)
    opened = time.monotonic() - begun
    times = page.script("""
        const times = {};
        for (const [name, work] of Object.entries({
          sort: () => document.querySelector('th[data-t=size] button').click(),
          names: () => document.querySelector('th[data-t=name] button').click(),
          layout: () => document.body.offsetHeight})) {
          const begun = performance.now(); work(); document.body.offsetHeight; times[name] = Math.round(performance.now() - begun); }
        return times;""")
    frames = page.driver.execute_async_script("""
        const done = arguments[0], times = [];
        let last;
        const tick = (now) => {
          if (last !== undefined) times.push(now - last);
          last = now;
          if (times.length < 120) { scrollBy(0, 300); requestAnimationFrame(tick); } else done(times);
        };
        requestAnimationFrame(tick);""")
    ordered = sorted(frames)
    figures.append(f"100,000 entries: {length >> 20} MiB of HTML in {served:.1f} s, shown in {opened:.1f} s, sorted in {times} ms, "
                   f"scrolled at {1000 * len(frames) / sum(frames):.0f} frames/s, 95 % {ordered[114]:.0f} ms, longest {ordered[-1]:.0f} ms")
    expect(sum(frames) / len(frames) < 40, "scrolling stays usable")
    shutil.rmtree(receiver.path("lots"))


def main():
    binary, only = os.path.abspath(sys.argv[1]), [word for word in sys.argv[2:] if not word.startswith("-")]
    if "--quick" in sys.argv:
        only = ["strings", "listing", "sending", "cut", "visitors", "origins"]
    steps = {
        "strings": check_texts,
        "listing": lambda: check_listing(page, receiver),
        "plain": lambda: check_plain(receiver, binary),
        "sending": lambda: check_sending(page, receiver),
        "folder": lambda: check_folder(page, receiver),
        "cut": lambda: check_cut(page, receiver),
        "cancel": lambda: check_cancel(page, receiver),
        "visitors": lambda: check_visitors(page, binary),
        "links": lambda: check_links(page, receiver),
        "keyboard": lambda: check_keyboard(page, receiver),
        "looks": lambda: check_looks(page, receiver),
        "many": lambda: check_many(page, receiver),
        "large": lambda: check_large(page, receiver),
        "entries": lambda: check_entries(page, receiver),
        "origins": lambda: check_origins(driver, ("http://127.0.0.1:",), HARMLESS),
    }
    receiver, driver = Receiver(binary), None
    try:
        driver = browser()
        driver.set_script_timeout(60)
        page = Page(driver)
        run_steps(steps, only, driver, receiver.root)
    finally:
        if driver:
            driver.quit()
        receiver.remove()
    report("check-receiver-page")


main()

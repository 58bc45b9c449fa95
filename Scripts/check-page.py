# SPDX-License-Identifier: Apache-2.0
"""The part of Scripts/check-page that drives the browser."""
import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from page_checks import EVIL, AnyPage, check_origins, check_strings, expect, figures, report, run_steps, until
from page_run import BODY, Daemon, Firefox, Server, browser

FOLDER = "Sources/Daemon/Server/Page/Files"
SCRIPTS = ("add.js", "app.js", "client.js", "details.js", "dialogs.js", "drag.js", "events.js", "list.js", "plot.js", "rows.js",
           "transfer.js")
# The failed requests of the checks of tokens and restarts.
HARMLESS = r"400|401|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY|ERR_NETWORK"


class Page(AnyPage):
    """The daemon's page in a browser."""

    def __init__(self, driver, daemon):
        super().__init__(driver)
        self.daemon = daemon

    def open(self):
        self.driver.get(self.daemon.link())
        until(lambda: self.find("#app").is_displayed(), "the page opens by a link")
        return self

    def rows(self):
        """The visible rows: name, state with share, origin and reason, size with rate and time left, from the top."""
        return self.script("""
            const text = (row, ...names) => names.map((name) => row.querySelector(name).textContent).filter(Boolean).join(' ');
            return [...document.querySelectorAll('.row:not([hidden])')]
              .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
              .map((row) => [text(row, '.name'), text(row, '.state', '.part2'), text(row, '.tag', '.host', '.note'),
                text(row, '.sizes')])""")

    def row(self, name):
        return next((row for row in self.rows() if row[0] == name), None)

    def has(self, name, state):
        row = self.row(name)
        return row is not None and row[1].startswith(state)

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def choose(self, name):
        """Makes a row the selected one by a click."""
        self.script("""
            const row = [...document.querySelectorAll('.row:not([hidden])')]
              .find((row) => row.querySelector('.name').textContent === arguments[0]);
            row.click(); document.querySelector('#list').focus();""", name)

    def search(self, text):
        self.script("""
            const field = document.querySelector('#search');
            field.value = arguments[0]; field.dispatchEvent(new Event('input'));""", text)

    def button(self, text, within="#actions"):
        return next(button for button in self.all(f"{within} button") if text in (button.text, button.get_attribute("title")))

    def press_state(self, name):
        """Shows the transfers of a state."""
        self.script("document.querySelector(`#states [data-state='${arguments[0]}']`).click()", name)

    def count(self):
        """The number of listed transfers."""
        return int(self.find("#list").get_attribute("aria-rowcount")) - 1

    def select_all(self):
        self.script("document.querySelector('#list').focus()")
        self.chord(Keys.CONTROL, "a")

    def arrange(self, value):
        self.script("""
            const menu = document.querySelector('#sort');
            menu.value = arguments[0]; menu.dispatchEvent(new Event('change'));""", value)

    def toast(self):
        return self.find("#toast").text

    def leading(self):
        """The handle of the tab that has the event stream."""
        for handle in self.driver.window_handles:
            with contextlib.suppress(WebDriverException):
                self.driver.switch_to.window(handle)
                if self.script("return 'leads' in document.body.dataset"):
                    return handle
        raise AssertionError("no tab has the event stream")

    def drag(self, source, target, below=0):
        """Drags a row to the upper half of another one, or further down, with the mouse."""
        tops = [row.rect["y"] + 10 for row in self.all(".row:not([hidden])")]
        for kind, y in (("mousePressed", tops[source]), ("mouseMoved", tops[source] - 20), ("mouseMoved", tops[target] + below),
                        ("mouseReleased", tops[target] + below)):
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": kind, "x": 200, "y": y, "button": "left", "buttons": 1, "clickCount": 1})

    def touch(self, *points):
        """Touches points from top to bottom of the page; `None` waits for the long press."""
        for index, y in enumerate(points):
            if y is None:
                until(lambda: self.all(".row.dragged"), "a long press holds the row")
                continue
            self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {
                "type": "touchStart" if index == 0 else "touchMove", "touchPoints": [{"x": 200, "y": y}]})
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def check_access(page):
    """Signing in: a wrong token, the right one, a link that is used twice."""
    driver, daemon = page.driver, page.daemon
    driver.get(f"{daemon.base}/")
    until(lambda: page.find("#sign-in").is_displayed(), "without a cookie the page asks for the token")
    page.axe("signing in")
    page.find("#token").send_keys("wrong", Keys.ENTER)
    until(lambda: "not the token" in page.find("#wrong").text, "a wrong token is reported")
    expect(not page.find("#app").is_displayed(), "a wrong token shows nothing")
    page.find("#token").send_keys(daemon.token, Keys.ENTER)
    until(lambda: page.find("#app").is_displayed(), "the token opens the page")
    cookies = driver.get_cookies()
    expect(len(cookies) == 1 and cookies[0]["httpOnly"] and cookies[0]["sameSite"] == "Strict", "the cookie is guarded")
    expect(daemon.token not in cookies[0]["value"], "the cookie does not contain the token")
    page.find("#limits").click()
    page.dialog("limits-dialog")
    page.button("Sign out", "#limits-dialog").click()
    until(lambda: page.find("#sign-in").is_displayed(), "signing out ends the access")
    link = daemon.link()
    driver.get(link)
    until(lambda: page.find("#app").is_displayed(), "a link opens the page")
    expect("ticket" not in driver.current_url, "the ticket leaves the address bar")
    driver.delete_all_cookies()
    driver.get(link)
    until(lambda: page.find("#expired").is_displayed(), "a used link is reported")


def check_adding(page, server):
    """A pasted list, a dropped file and the form."""
    page.open()
    until(lambda: page.find("#empty").is_displayed(), "an empty list says how to add")
    text = f"{server.base}/fast/one.bin\n# a comment\n{server.base}/slow/two.bin\n"
    page.script("""
        const data = new DataTransfer();
        data.setData('text', arguments[0]);
        document.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true}));""", text)
    page.dialog("add-dialog")
    page.button("Add", "#add-dialog").click()
    page.closed()
    until(lambda: page.has("one.bin", "Finished"), "a pasted URL is downloaded while one watches")
    until(lambda: re.search(r"Active \d", page.row("two.bin")[1]) and "/s" in page.row("two.bin")[3], "progress is live")
    until(lambda: re.match(r"\d+ % · 1 — Martlet", page.driver.title), "the title has the share and the count")
    until(lambda: "KiB/s" in page.find("#rate").text and page.find("#plot path + path").get_attribute("d"), "the rate is plotted")
    until(lambda: page.has("two.bin", "Finished"), "the second one finishes", 30)
    with open(os.path.join(page.daemon.files, "one.bin"), "rb") as file:
        expect(hashlib.sha256(file.read()).digest() == hashlib.sha256(BODY).digest(), "the file has the right bytes")
    page.script("""
        const data = new DataTransfer();
        data.items.add(new File([arguments[0]], 'list.txt', {type: 'text/plain'}));
        document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));""",
        "\n".join(f"{server.base}/fast/dropped{number}.bin" for number in range(3)))
    dialog = page.dialog("add-dialog")
    expect(dialog.find_element(By.ID, "urls").get_attribute("value").count("dropped") == 3, "a dropped file is read")
    page.button("Add", "#add-dialog").click()
    page.closed()
    until(lambda: page.has("dropped2.bin", "Finished"), "the dropped list is downloaded")
    page.find("#add").click()
    page.dialog("add-dialog").find_element(By.ID, "urls").send_keys("no url\n")
    page.button("Add", "#add-dialog").click()
    until(lambda: "not a URL" in page.find("#add-dialog [role=alert]").text, "a line that is no URL is refused")
    page.find("#urls").clear()
    page.find("#urls").send_keys(f"{server.base}/fast/x.bin")
    page.find("#more > summary").click()
    fields = page.all("#add-dialog .pair input")
    fields[2].send_keys("named.bin")
    fields[3].send_keys(f"sha-256={hashlib.sha256(BODY).hexdigest()}")
    page.all("#add-dialog textarea")[1].send_keys("X-Test: 1")
    page.axe("adding")
    page.button("Add", "#add-dialog").click()
    page.closed()
    until(lambda: page.has("named.bin", "Finished"), "name, checksum and header are passed on")
    check_upload(page, server)


def check_upload(page, server):
    """An upload of a file of the daemon's machine, and the errors of one that cannot be read."""
    with open(os.path.join(page.daemon.files, "sent.bin"), "wb") as file:
        file.write(BODY)
    page.find("#add").click()
    dialog = page.dialog("add-dialog")
    dialog.find_element(By.ID, "urls").send_keys(os.path.join(page.daemon.files, "none.bin"))
    until(lambda: page.find(".offer").is_displayed(), "a path is offered as an upload")
    page.button("Upload this file", "#add-dialog").click()
    dialog.find_element(By.ID, "urls").send_keys(f"{server.base}/put/sent.bin")
    expect(dialog.find_element(By.ID, "path").get_attribute("value").endswith("/none.bin"), "with its path")
    for name, problem in (("none.bin", "No such file"), ("", "regular file"), ("/etc/shadow", "outside")):
        path = dialog.find_element(By.ID, "path")
        path.clear()
        path.send_keys(name or page.daemon.files)
        page.button("Add", "#add-dialog").click()
        until(lambda: problem in page.find("#add-dialog [role=alert]").text, f"refused in words: {problem}")
    page.axe("adding an upload")
    path.clear()
    path.send_keys("sent.bin")
    page.button("Add", "#add-dialog").click()
    page.closed()
    until(lambda: page.has("sent.bin", "Finished"), "an upload is added from the page")
    expect(server.sent == {"/put/sent.bin": len(BODY)}, f"the server has received it: {server.sent}")


def check_repair(page, server):
    """A failed transfer gets a new link, and keeps its bytes."""
    page.daemon.add(f"{server.base}/broken/big.bin", options={"max-tries": "1", "retry-wait": "0"})
    until(lambda: page.has("big.bin", "Failed"), "a broken transfer fails", 40)
    page.choose("big.bin")
    page.button("Details").click()
    dialog = page.dialog("details")
    expect("Reason" in dialog.text and "Links" in dialog.text, "the details have the reason")
    facets = dialog.find_elements(By.TAG_NAME, "details")
    for facet in facets:
        facet.find_element(By.TAG_NAME, "summary").click()
    attempts, response, log = [facet.text for facet in facets]
    expect("/broken/big.bin" in attempts and "200" in attempts and "failed" in attempts, f"the attempt: {attempts}")
    expect('ETag: "one"' in response and "X-Evil: <img src=x" in response, f"the fields of the response: {response}")
    expect("Set-Cookie" in response and "hidden" not in response, "the values of cookies are not shown")
    expect(page.script("return document.querySelectorAll('img').length") == 1, "no element came from a field")
    expect("started: from" in log and "failed: " in log, f"the log: {log}")
    page.axe("details")
    links = dialog.find_element(By.ID, "links")
    links.clear()
    links.send_keys(f"{server.base}/fast/renewed.bin")
    page.button("Use this link", "#details").click()
    page.closed()
    until(lambda: page.has("big.bin", "Finished"), "a new link finishes the failed transfer", 30)
    starts = [first for path, first in server.starts if path.startswith("/fast/renewed")]
    expect(starts and min(starts) > 0, f"its bytes are kept: continued from {starts}")
    with open(os.path.join(page.daemon.files, "big.bin"), "rb") as file:
        expect(hashlib.sha256(file.read()).digest() == hashlib.sha256(BODY).digest(), "the repaired file is right")


def check_keyboard(page, server):
    """Everything by keys alone."""
    driver = page.driver
    driver.refresh()
    until(lambda: page.find("#app").is_displayed(), "the page opens again")
    page.keys("n")
    page.dialog("add-dialog")
    expect(driver.switch_to.active_element.get_attribute("id") == "urls", "the dialog has the focus")
    page.keys(f"{server.base}/slow/key1.bin", Keys.ENTER, f"{server.base}/slow/key2.bin", Keys.ENTER)
    for _ in range(12):
        page.keys(Keys.TAB)
        if driver.switch_to.active_element.text == "Add":
            break
    page.keys(Keys.ENTER)
    page.closed()
    until(lambda: page.has("key2.bin", "Active"), "both run")
    for _ in range(30):
        if driver.switch_to.active_element.get_attribute("id") == "list":
            break
        page.keys(Keys.TAB)
    expect(driver.switch_to.active_element.get_attribute("id") == "list", "the list is reached with Tab")
    page.keys(Keys.HOME)
    until(lambda: page.find(".row.current").text.startswith("key1.bin"), "Home goes to the first row")
    expect(page.find("#list").get_attribute("aria-activedescendant"), "the current row is announced")
    page.chord(Keys.SHIFT, Keys.ARROW_DOWN)
    until(lambda: len(page.all(".row[aria-selected=true]")) == 2, "Shift and an arrow extend the selection")
    page.keys("p")
    until(lambda: page.has("key1.bin", "Paused") and page.has("key2.bin", "Paused"), "p pauses both")
    page.keys(Keys.HOME)
    page.chord(Keys.ALT, Keys.ARROW_DOWN)
    until(lambda: [row[0] for row in page.rows()[:2]] == ["key2.bin", "key1.bin"], "Alt and an arrow move a transfer")
    until(lambda: "number 2" in page.find("#announcements").get_attribute("textContent"), "the move is announced")
    page.chord(Keys.CONTROL, "a")
    page.keys("r")
    until(lambda: page.has("key1.bin", "Active") and page.has("key2.bin", "Active"), "r resumes all selected")
    page.keys(Keys.ESCAPE, Keys.HOME, Keys.DELETE)
    page.dialog("confirm")
    page.axe("asking")
    page.keys(Keys.ENTER)
    page.closed()
    until(lambda: page.has("key2.bin", "Removed"), "Delete removes after a confirmation")
    expect(driver.switch_to.active_element.get_attribute("id") == "list", "the focus returns to the list")
    page.choose("key2.bin")
    page.keys("t")
    until(lambda: page.has("key2.bin", "Active"), "t tries again")
    until(lambda: page.has("key2.bin", "Finished"), "and it finishes", 40)
    page.keys("/", "key2")
    until(lambda: [row[0] for row in page.rows()] == ["key2.bin"], "the search finds one")
    page.search("")
    until(lambda: len(page.rows()) > 3, "an empty search shows all")
    page.find("#help").click()
    page.dialog("help-dialog")
    page.axe("the keys")
    page.keys(Keys.ESCAPE)
    page.closed()
    page.choose("key2.bin")
    page.keys("f")
    page.dialog("confirm")
    page.keys(Keys.ENTER)
    until(lambda: page.row("key2.bin") is None, "f forgets an ended one")


def check_filters(page, server):
    """States, orders and dragging."""
    page.daemon.add(*[f"{server.base}/fast/q{number}.bin" for number in range(4)], paused=True)
    until(lambda: page.has("q3.bin", "Paused"), "four are added")
    page.press_state("paused")
    until(lambda: [row[0] for row in page.rows()] == ["q0.bin", "q1.bin", "q2.bin", "q3.bin"], "a state filters")
    page.drag(3, 0)
    until(lambda: [row[0] for row in page.rows()] == ["q3.bin", "q0.bin", "q1.bin", "q2.bin"], "dragging moves a transfer")
    order = [record["urls"][0][-6:] for record in page.daemon.call("list", states=["paused"])]
    expect(order == ["q3.bin", "q0.bin", "q1.bin", "q2.bin"], f"the daemon has the new order: {order}")
    tops = [row.rect["y"] + 10 for row in page.all(".row:not([hidden])")]
    page.touch(tops[0], tops[0] + 30, tops[2], tops[3])
    time.sleep(1)
    expect([row[0] for row in page.rows()][0] == "q3.bin", "a touch without a long press moves nothing")
    page.touch(tops[0], None, tops[1] + 20, tops[3] + 15, tops[3] + 18)
    until(lambda: [row[0] for row in page.rows()] == ["q0.bin", "q1.bin", "q2.bin", "q3.bin"], "a long press drags by touch")
    order = [record["urls"][0][-6:] for record in page.daemon.call("list", states=["paused"])]
    expect(order == ["q0.bin", "q1.bin", "q2.bin", "q3.bin"], f"the daemon has the order: {order}")
    page.drag(3, 0)
    until(lambda: [row[0] for row in page.rows()][0] == "q3.bin", "and back with the mouse")
    page.arrange("name")
    until(lambda: [row[0] for row in page.rows()] == ["q0.bin", "q1.bin", "q2.bin", "q3.bin"], "sorted by name")
    page.arrange("added")
    until(lambda: [row[0] for row in page.rows()][0] == "q3.bin", "newest first")
    page.arrange("queue")
    page.press_state("")
    page.find("#limits").click()
    dialog = page.dialog("limits-dialog")
    page.axe("limits")
    inputs = dialog.find_elements(By.CSS_SELECTOR, "form:nth-of-type(1) input")
    inputs[0].clear()
    inputs[0].send_keys("5M")
    dialog.find_element(By.CSS_SELECTOR, "form:nth-of-type(1) button").click()
    page.closed()
    expect(page.daemon.call("limits")["options"]["max-overall-download-limit"] == str(5 << 20), "a limit is set")
    page.find("#limits").click()
    dialog = page.dialog("limits-dialog")
    page.script("""
        const [from, until] = document.querySelectorAll('#limits-dialog input[type=time]');
        from.value = '01:30'; until.value = '05:00';
        document.querySelector('#limits-dialog input[value=tue]').click();""")
    dialog.find_element(By.CSS_SELECTOR, "form:nth-of-type(3) button").click()
    page.closed()
    schedule = page.daemon.call("limits")["schedule"]
    expect(schedule == {"start": "01:30", "end": "05:00", "days": ["tue"]}, f"a schedule is set: {schedule}")
    page.daemon.call("schedule")
    page.daemon.call("setLimits", options={"max-overall-download-limit": "0"})


class Socket(http.client.HTTPConnection):
    """HTTP over the daemon's Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def local(daemon, method, **parameters):
    connection = Socket(os.path.join(daemon.state, "martletd.sock"))
    connection.request("POST", "/jsonrpc", json.dumps({"id": 1, "method": f"martlet.{method}", "params": [parameters]}))
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer["result"]


def check_sessions(page, server):
    """A program's session: its name, and pausing that reaches the program."""
    daemon, instance = page.daemon, "page-test"
    local(daemon, "openSession", identifier="photos", instance=instance, program="camera roll", configuration={})
    stream = Socket(os.path.join(daemon.state, "martletd.sock"))
    stream.request("GET", f"/sessions/photos/events?instance={instance}&after=0")
    response = stream.getresponse()
    heard = []

    def listen():
        with contextlib.suppress(OSError, ValueError):
            while line := response.fp.readline():
                if line.startswith(b"data:"):
                    heard.append(json.loads(line[5:])["kind"])

    threading.Thread(target=listen, daemon=True).start()
    local(daemon, "add", entries=[{"urls": [f"{server.base}/slow/photo.raw"], "session": "photos"}])
    until(lambda: page.has("photo.raw", "Active"), "a session's transfer is listed")
    until(lambda: "camera roll · photos" in page.row("photo.raw")[2], "under the names of program and session")
    until(lambda: "camera roll" in page.find("#session").text, "the menu has them")
    page.choose("photo.raw")
    page.button("Pause").click()
    until(lambda: "paused" in heard, f"pausing here reaches the program: {heard}")
    page.script("const s = document.querySelector('#session'); s.value = 'sphotos'; s.dispatchEvent(new Event('change'))")
    until(lambda: [row[0] for row in page.rows()] == ["photo.raw"], "only the session's transfers are shown")
    page.select_all()
    page.button("Resume").click()
    until(lambda: page.has("photo.raw", "Active"), "the whole session is resumed")
    page.script("const s = document.querySelector('#session'); s.value = ''; s.dispatchEvent(new Event('change'))")
    source = os.path.join(daemon.files, "upload.bin")
    with open(source, "wb") as file:
        file.write(BODY)
    daemon.call("add", entries=[{"urls": [f"{server.base}/in/film.mp4"], "upload": {"file": source}}])
    page.search("film")
    until(lambda: "↑ Upload" in page.row("upload.bin")[2] and page.has("upload.bin", "Finished"), "uploads are listed too")
    page.search("")
    local(daemon, "closeSession", identifier="photos", instance=instance, keepTransfers=False)


def check_hostile(page, server):
    """Names and URLs from outside never become markup."""
    page.daemon.add(f"{server.base}/missing/{EVIL}", options={"out": EVIL, "description": EVIL}, paused=True)
    page.daemon.add(f"{server.base}/fast/x?{EVIL}", options={"out": EVIL + ".bin"}, paused=True)
    until(lambda: page.has(EVIL, "Paused"), "a hostile name is shown as text")
    page.choose(EVIL)
    page.button("Details").click()
    page.dialog("details")
    expect(EVIL in page.find("#details").text, "and in the details")
    time.sleep(0.5)
    expect(page.script("return document.querySelectorAll('img').length") == 1, "no element came from a name")
    with contextlib.suppress(WebDriverException):
        page.driver.switch_to.alert.dismiss()
        expect(False, "no script came from a name")
    page.keys(Keys.ESCAPE)
    page.closed()
    ids = [one["id"] for one in page.daemon.call("list", states=["paused"], search="onerror")]
    expect(len(ids) == 2, "the search finds hostile names")
    page.daemon.call("remove", ids=ids)


def tabs_open(page, number):
    """Opens tabs until there are so many; returns their handles."""
    driver = page.driver
    while len(driver.window_handles) < number:
        driver.switch_to.new_window("tab")
        driver.get(page.daemon.base)
    return driver.window_handles


def see(page, handle, name, text, seconds=20):
    page.driver.switch_to.window(handle)
    until(lambda: page.has(name, "Active") or page.has(name, "Finished"), text, seconds)


def check_tabs(page, server):
    """Eight tabs share one event stream, also when the leading one freezes, crashes or is closed."""
    driver, daemon = page.driver, page.daemon
    daemon.clear()
    handles = tabs_open(page, 8)
    for handle in handles:
        driver.switch_to.window(handle)
        until(lambda: page.find("#app").is_displayed() and page.find("#rate").text, "eight tabs work")
    until(lambda: daemon.events() == 1, "with one event stream")
    daemon.add(f"{server.base}/slow/tabs.bin")
    for handle in handles:
        see(page, handle, "tabs.bin", "each tab sees events")
    daemon.add(f"{server.base}/slow/calls.bin")
    until(lambda: page.has("calls.bin", "Active"), "the last tab lists one more")
    page.choose("calls.bin")
    page.button("Pause").click()
    until(lambda: page.has("calls.bin", "Paused"), "and pauses it")
    frozen = page.leading()
    other = next(handle for handle in handles if handle != frozen)
    driver.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "frozen"})
    daemon.add(f"{server.base}/slow/frozen.bin")
    see(page, other, "frozen.bin", "a frozen tab is replaced", 30)
    driver.switch_to.window(frozen)
    driver.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "active"})
    see(page, frozen, "frozen.bin", "and follows the others after it")
    until(lambda: daemon.events() == 1, "with one event stream again")
    crashed = page.leading()
    with contextlib.suppress(WebDriverException):
        driver.execute_cdp_cmd("Page.crash", {})
    other = next(handle for handle in handles if handle != crashed)
    daemon.add(f"{server.base}/slow/crashed.bin")
    see(page, other, "crashed.bin", "a crashed tab is replaced", 30)
    with contextlib.suppress(WebDriverException):
        driver.switch_to.window(crashed)
        driver.close()
    closed = page.leading()
    driver.close()
    first = next(handle for handle in driver.window_handles if handle != closed)
    driver.switch_to.window(first)
    daemon.add(f"{server.base}/slow/closed.bin")
    see(page, first, "closed.bin", "a closed tab is replaced", 30)
    until(lambda: daemon.events() == 1, "with one event stream at the end")
    for handle in driver.window_handles:
        if handle != first:
            driver.switch_to.window(handle)
            driver.close()
    driver.switch_to.window(first)


def check_silence(page, server):
    """A daemon that does not respond: calls end, and nothing looks live."""
    page.daemon.clear()
    page.daemon.add(f"{server.base}/slow/silent.bin")
    until(lambda: "/s" in (page.row("silent.bin") or [""] * 4)[3], "it runs")
    page.script("""
        window.realTimeout = AbortSignal.timeout;
        AbortSignal.timeout = (time) => realTimeout.call(AbortSignal, time / 60);""")
    page.daemon.process.send_signal(signal.SIGSTOP)
    try:
        page.find("#limits").click()
        until(lambda: "No response" in page.toast(), "a call without a response ends")
        until(lambda: "/s" not in page.row("silent.bin")[3], "no rate is shown that was not reported for two seconds")
        until(lambda: page.find("#rate").text in ("0 B/s", "–"), "nor a total rate")
    finally:
        page.daemon.process.send_signal(signal.SIGCONT)
        page.script("AbortSignal.timeout = realTimeout")
    until(lambda: page.has("silent.bin", "Finished"), "and it continues", 40)


def check_drop(page):
    """A film is never read; a list that is too large neither."""
    page.script("""
        window.reads = 0;
        const text = File.prototype.text;
        File.prototype.text = function () { reads += 1; return text.call(this); };
        window.drop = (file) => {
          const data = new DataTransfer();
          data.items.add(file);
          document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
        };
        drop(new File([new Uint8Array(30 << 20)], 'film.mkv', {type: 'video/x-matroska'}));""")
    dialog = page.dialog("add-dialog")
    until(lambda: dialog.find_element(By.ID, "path").get_attribute("value") == "film.mkv", "a film is offered as an upload")
    expect(page.script("return reads") == 0, "and is not read")
    page.axe("a dropped film")
    page.keys(Keys.ESCAPE)
    page.closed()
    page.script("drop(new File([new Uint8Array(3 << 20)], 'urls.txt', {type: 'text/plain'}))")
    until(lambda: "too large" in page.toast(), "a list of 3 MiB is refused")
    expect(page.script("return reads") == 0 and not page.all("dialog"), "and is not read either")


def check_values(page, server):
    """Details remain while a part of them is selected, and each value can be copied."""
    page.daemon.add(f"{server.base}/slow/values.bin")
    until(lambda: page.has("values.bin", "Active"), "a transfer runs")
    page.choose("values.bin")
    page.button("Details").click()
    dialog = page.dialog("details")
    page.script("""
        const value = [...document.querySelectorAll('#details dt')].find((one) => one.textContent === 'Progress')
          .nextElementSibling.firstChild;
        window.chosen = value.firstChild;
        getSelection().selectAllChildren(value);""")
    seen = page.script("return getSelection().toString()")
    until(lambda: page.has("values.bin", "Finished"), "its details are read again", 40)
    time.sleep(1.2)
    expect(page.script("return getSelection().toString()") == seen and page.script("return chosen.isConnected"),
           "a selected value remains")
    page.script("getSelection().removeAllRanges()")
    until(lambda: "3.00 MiB" == page.script("return document.querySelector('#details dt + dd .value') && "
          "[...document.querySelectorAll('#details dt')].find((one) => one.textContent === 'Progress')"
          ".nextElementSibling.firstChild.textContent"), "without a selection it is current")
    page.script("window.copied = []; navigator.clipboard.writeText = async (text) => copied.push(text)")
    button = dialog.find_element(By.CSS_SELECTOR, "[aria-label='Copy: Links']")
    page.script("arguments[0].focus()", button)
    page.keys(Keys.ENTER)
    until(lambda: page.script("return copied") == [f"{server.base}/slow/values.bin"], "a value is copied by the keyboard")
    until(lambda: page.find("#announcements").get_attribute("textContent") == "Copied", "which is announced")
    page.keys(Keys.ESCAPE)
    page.closed()


STUB = """
    const real = window.fetch, records = arguments[0];
    window.fetch = async (url, options) => {
      if (url !== '/jsonrpc') return real(url, options);
      const calls = JSON.parse(options.body);
      const answer = ({id, method, params: [query]}) => {
        const found = records.filter((one) => !query.states?.length || query.states.includes(one.state));
        const counts = {};
        for (const one of records) counts[one.state] = (counts[one.state] ?? 0) + 1;
        const result = {'martlet.list': found, 'martlet.counts': counts, 'martlet.sessions': [],
          'martlet.rates': {interval: 2, rates: [0, 3e6, 1e6]}}[method];
        return {id, result};
      };
      return new Response(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)));
    };"""


def check_states(page):
    """Every state and code in every language, without a daemon that has them."""
    with open("Docs/json-events.md") as file:
        table = file.read().split('<a id="reasons">')[1].split("Before November")[0]
    codes = [code for line in table.splitlines() if line.startswith("|") for code in re.findall(r"`([a-z-]+)`", line.split("|")[2])]
    codes.remove("reason")
    expect(len(codes) == 31, f"the codes are known: {len(codes)}")
    for language in ("en", "zh", "ja"):
        with open(f"{FOLDER}/strings.{language}.js") as file:
            text = file.read()
        missing = [code for code in codes if not re.search(rf'"?code\.{code}"?: ".', text)]
        expect(not missing, f"{language} has words for every code: {missing}")
        expect(" --" not in text, f"{language} names no options of commands")
    now = time.time()

    def record(state, number, **more):
        return {"id": f"{number:016x}", "session": None, "state": state, "waitingFor": None, "hold": None, "retry": None,
                "urls": [f"http://h.example/{state}-{number}.bin"], "upload": None, "dir": "/", "path": None, "bytes": 10,
                "total": 100, "rate": 0, "connections": 0, "priority": 0, "position": None, "error": None, "added": now,
                "ended": None, "options": {}, **more}

    hold = {"host": "h.example:80", "reason": "unreachable", "code": "connection-refused", "cause": "refused",
            "message": "m", "since": now - 60, "nextTry": now + 90}
    records = [
        record("retrying", 1, retry={"code": "overloaded", "cause": "c", "message": "503", "attempt": 2, "nextTry": now + 599}),
        record("held", 2, hold=hold),
        record("waiting", 3, waitingFor="schedule"),
        record("failed", 4, error={"code": 1, "reason": "of-the-future", "message": "words", "remedy": "use --option", "status": None}),
        record("failed", 5, error={"code": 3, "reason": "not-found", "message": "m", "remedy": "", "status": 404}),
        record("active", 6, rate=1000),
    ]
    page.driver.refresh()
    until(lambda: page.find("#app").is_displayed(), "the page opens")
    page.script(STUB, records)
    page.search("x")
    page.search("")
    until(lambda: len(page.rows()) == 6 and all(row[2] for row in page.rows()), "the records are shown")
    shown = {row[0].split("-")[0] + row[0][-5]: " ".join(row[1:3]) for row in page.rows()}
    expect(re.search(r"Retrying 10 %.*the server is overloaded, next try in 9:5", shown["retrying1"]), f"retrying: {shown}")
    expect(re.search(r"Held 10 %.*h\.example:80 unreachable since .*, connection refused, next try in 1:", shown["held2"]),
           f"held: {shown}")
    expect("waits for the time of the schedule" in shown["waiting3"], f"waiting: {shown}")
    expect("words" in shown["failed4"] and "not found (404)" in shown["failed5"], f"failed: {shown}")
    expect("--" not in str(shown), "no option of a command is named")
    for state, number in (("retrying", 1), ("held", 1), ("failed", 2)):
        page.press_state(state)
        until(lambda: len(page.rows()) == number, f"{state} transfers can be chosen")
    page.press_state("")
    until(lambda: len(page.rows()) == 6, "and all again")
    page.axe("all states")
    page.driver.refresh()
    until(lambda: page.find("#app").is_displayed(), "the page opens again")


def check_waiting(page, server):
    """What real transfers wait for, without reading the page again."""
    page.daemon.clear()
    page.daemon.add(f"{server.base}/slow/hours.bin")
    until(lambda: "/s" in (page.row("hours.bin") or [""] * 4)[3], "a transfer runs")
    later = [(time.localtime().tm_hour + hours) % 24 for hours in (3, 4)]
    page.daemon.call("schedule", start=f"{later[0]:02}:00", end=f"{later[1]:02}:00")
    until(lambda: page.has("hours.bin", "Waiting") and "the schedule" in page.row("hours.bin")[2], "the schedule stops it")
    expect("/s" not in page.row("hours.bin")[3], "then it has no rate")
    page.daemon.call("schedule")
    until(lambda: page.has("hours.bin", "Active"), "and lets it run again")
    other = server.base.replace("127.0.0.1", "127.0.0.2").rsplit(":", 1)[0]
    page.daemon.add(f"{other}:9/refused.bin", f"{server.base}/busy/busy.bin")
    until(lambda: page.has("refused.bin", "Held") and "connection refused, next try in" in page.row("refused.bin")[2],
          "a host that refuses connections is named, with the cause and the time")
    until(lambda: page.has("busy.bin", "Retrying") or page.has("busy.bin", "Held"), "so is one that is overloaded")
    until(lambda: re.search(r"next try in (5:00|4:5)", page.row("busy.bin")[2]), f"with its time: {page.row('busy.bin')}")
    page.axe("waiting transfers")
    page.daemon.call("remove", ids=[one["id"] for one in page.daemon.call("list", states=["retrying", "held"])])


def check_table(page, server):
    """Columns, actions with a selection, moving several rows, a search without hits, and the plot."""
    names = lambda: [row[0] for row in page.rows()]
    page.daemon.clear()
    page.daemon.add(f"{server.base}/slow/plot.bin")
    page.press_state("paused")
    page.daemon.add(*[f"http://{host}.example/m{number}.bin" for number, host in enumerate("dbca")], paused=True)
    until(lambda: names() == ["m0.bin", "m1.bin", "m2.bin", "m3.bin"], f"four are listed: {names()}")
    expect(not page.find("#actions").is_displayed(), "without a selection there are no actions")
    head = page.find("#heads .c-host")
    head.find_element(By.TAG_NAME, "button").click()
    until(lambda: names() == ["m3.bin", "m1.bin", "m2.bin", "m0.bin"], "a column sorts")
    expect(head.get_attribute("aria-sort") == "ascending", "and says so")
    page.choose("m1.bin")
    expect(page.find("#actions").is_displayed(), "a selection shows the actions")
    page.chord(Keys.ALT, Keys.ARROW_UP)
    until(lambda: "queue order" in page.find("#announcements").get_attribute("textContent"),
          "outside of the queue's order no row moves")
    page.keys(Keys.ESCAPE)
    head.find_element(By.TAG_NAME, "button").click()
    until(lambda: names() == ["m0.bin", "m2.bin", "m1.bin", "m3.bin"], "backward")
    head.find_element(By.TAG_NAME, "button").click()
    until(lambda: names() == ["m0.bin", "m1.bin", "m2.bin", "m3.bin"], "and in the order of the queue")
    expect(head.get_attribute("aria-sort") == "none", "which is announced, too")
    page.choose("m0.bin")
    page.chord(Keys.SHIFT, Keys.ARROW_DOWN)
    page.chord(Keys.ALT, Keys.ARROW_DOWN)
    until(lambda: names() == ["m2.bin", "m0.bin", "m1.bin", "m3.bin"], f"selected rows move together: {names()}")
    page.drag(1, 3, 14)
    until(lambda: names() == ["m2.bin", "m3.bin", "m0.bin", "m1.bin"], f"also with the mouse: {names()}")
    page.drag(3, 0)
    until(lambda: names() == ["m0.bin", "m1.bin", "m2.bin", "m3.bin"], f"and back: {names()}")
    page.keys(Keys.ESCAPE)
    page.search("there is no such")
    until(lambda: "Nothing matches “there is no such”" in page.find("#empty").text, "a search without hits says so")
    page.search("")
    until(lambda: names() == ["m0.bin", "m1.bin", "m2.bin", "m3.bin"], "all are listed again")
    page.select_all()
    until(lambda: page.find("#chosen").text == "4 selected", "all are selected")
    page.keys(Keys.ESCAPE)
    page.choose("m0.bin")
    page.keys(Keys.DELETE)
    dialog = page.dialog("confirm")
    expect("m0.bin" in dialog.text, "removing names the file")
    color = dialog.find_element(By.CSS_SELECTOR, "button.main").value_of_css_property("background-color")
    expect(color == "rgba(179, 38, 30, 1)", f"and looks dangerous: {color}")
    page.keys(Keys.ESCAPE)
    page.closed()
    page.daemon.call("remove", ids=[one["id"] for one in page.daemon.call("list", states=["paused"])])
    page.press_state("")
    until(lambda: re.fullmatch(r"peak .*/s, .*", page.find("#peak").text), "the plot has a peak")
    expect("/s" in page.find("#plot .top").text and page.find("#plot .x10").text == "10 min ago", "and scales")
    rates = page.daemon.call("rates")
    expect(len(rates["rates"]) == 300 and max(rates["rates"]) > 0, "the daemon has measured the rates")
    page.driver.refresh()
    until(lambda: page.find("#peak").text.startswith("peak"), "a page that opens has the last ten minutes")


def check_restart(page, server):
    """A daemon that is stopped and started under the page."""
    page.daemon.add(f"{server.base}/slow/restart.bin")
    until(lambda: page.has("restart.bin", "Active"), "it runs")
    page.daemon.stop()
    until(lambda: page.find("#lost").is_displayed(), "the page says that it is disconnected")
    page.axe("disconnected")
    page.daemon.start()
    until(lambda: not page.find("#lost").is_displayed(), "and connects again, without signing in", 30)
    until(lambda: page.has("restart.bin", "Finished"), "the transfer continues", 40)


def check_news(page, server):
    """The ends of transfers: announced, and notified if the page is hidden."""
    page.script("""
        window.notes = [];
        window.Notification = class {
          static permission = 'granted';
          static requestPermission = async () => 'granted';
          constructor(title, {body}) { notes.push(body); }
        };
        Object.defineProperty(document, 'hidden', {get: () => window.isAway});""")
    page.daemon.add(f"{server.base}/fast/seen.bin")
    until(lambda: "Finished: seen.bin (3.00 MiB)" in page.find("#announcements").get_attribute("textContent"),
          "an end is announced")
    expect(page.script("return notes") == [], "a visible page sends no notification")
    page.find("#limits").click()
    page.dialog("limits-dialog")
    page.script("document.querySelector('#limits-dialog .body > .check input').click(); window.isAway = true")
    page.keys(Keys.ESCAPE)
    page.closed()
    page.daemon.add(f"{server.base}/missing/gone.bin", options={"max-tries": "1"})
    until(lambda: page.script("return notes") == ["Failed: gone.bin"], "a hidden page notifies")
    page.script("localStorage.clear(); window.isAway = false")


def check_landscape(page):
    """A phone in landscape: rows are visible, also with a selection."""
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 568, "height": 320, "deviceScaleFactor": 1, "mobile": False})
    time.sleep(0.3)
    expect(page.script("return document.scrollingElement.scrollWidth") <= 568, "568 pixels need no horizontal scrolling")
    for what in ("without", "with"):
        height = page.script("return document.querySelector('#list').clientHeight")
        expect(height >= 170, f"most of a landscape phone is the list, {what} a selection: {height}")
        bottom = page.script("return document.querySelector('#list').getBoundingClientRect().bottom")
        expect(bottom <= 320, f"which ends on the screen: {bottom}")
        page.axe(f"landscape, {what} a selection")
        page.script("document.querySelector('#list').focus()")
        page.keys(Keys.HOME)
    bar = page.find("#actions").rect
    expect(abs(bar["y"] + bar["height"] - 320) < 2, f"the actions are a bar at the bottom: {bar}")
    page.keys(Keys.ESCAPE)


def check_narrow(page):
    """320 pixels, and a phone in landscape."""
    check_landscape(page)
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False})
    time.sleep(0.3)
    expect(page.script("return document.scrollingElement.scrollWidth") <= 320, "320 pixels need no horizontal scrolling")
    page.axe("at 320 pixels")
    page.find("#add").click()
    page.dialog("add-dialog")
    page.axe("adding at 320 pixels")
    expect(page.script("return document.querySelector('dialog').scrollWidth") <= 320, "nor does a dialog")
    page.keys(Keys.ESCAPE)
    page.closed()
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def metrics(page):
    """The seconds that the page's main thread has worked."""
    page.driver.execute_cdp_cmd("Performance.enable", {})
    found = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(one["value"] for one in found if one["name"] == "TaskDuration")


def check_many(page):
    """100,000 rows: frames while scrolling, and the times of searches."""
    for start in range(0, 100_000, 2000):
        page.daemon.call("add", entries=[
            {"urls": [f"http://127.0.0.1:9/many/file-{number:06}.bin"], "paused": True}
            for number in range(start, start + 2000)])
    until(lambda: page.count() >= 100_000,
          "100,000 rows are listed")
    expect(page.script("return document.querySelectorAll('.row').length") < 60, "only visible rows are elements")
    for name, step in (("slowly", 40), ("fast", 1500)):
        before = metrics(page)
        frames, blank = page.driver.execute_async_script("""
            const [step, done] = arguments, list = document.querySelector('#list'), times = [];
            let last, blank = 0;
            const tick = (now) => {
              if (last !== undefined) times.push(now - last);
              last = now;
              if ([...list.querySelectorAll('.row:not([hidden]) .name')].some((one) => one.textContent === '…')) blank += 1;
              if (times.length < 150) { list.scrollTop += step; requestAnimationFrame(tick); }
              else done([times, blank]);
            };
            requestAnimationFrame(tick);""", step)
        ordered, work = sorted(frames), (metrics(page) - before) * 1000 / len(frames)
        average = sum(frames) / len(frames)
        figures.append(f"scrolling {name}: {1000 / average:.0f} frames/s, median {ordered[75]:.1f} ms, "
                       f"95 % {ordered[142]:.1f} ms, longest {ordered[-1]:.1f} ms, {blank} of 150 frames with empty rows, "
                       f"{work:.1f} ms of work per frame")
        expect(name == "fast" or blank < 15, f"scrolling {name} shows the rows: {blank} frames without")
        expect(average < 20, f"scrolling {name}: {average:.1f} ms per frame")
    cost = page.script("""
        const list = document.querySelector('#list'), times = [];
        list.scrollTop = 0;
        for (let n = 0; n < 200; n += 1) {
          list.scrollTop = n * 620;
          const begun = performance.now();
          list.dispatchEvent(new Event('scroll'));
          times.push(performance.now() - begun);
        }
        return Math.max(...times);""")
    expect(cost < 50, "a scroll event does no work itself")
    page.script("document.querySelector('#list').scrollTop = 1e9")
    until(lambda: any("file-099999.bin" == row[0] or row[1].startswith("Finished") for row in page.rows()),
          "the end is reached")
    begun = time.monotonic()
    page.find("#search").send_keys("file-0777 bin")
    until(lambda: page.rows() and page.rows()[0][0] == "file-077700.bin", "the search finds among 100,000")
    figures.append(f"a search among 100,000, with 0.25 s of patience for typing: {time.monotonic() - begun:.2f} s")
    count = page.count()
    page.search("file-07")
    until(lambda: page.count() == 10_000, "a search of ten thousand")
    page.script("document.querySelector('#list').focus()")
    page.keys(Keys.HOME)
    page.chord(Keys.SHIFT, Keys.END)
    until(lambda: page.find("#chosen").text == "10,000 selected", "Shift and End select rows that were never loaded")
    expect(count == 100, f"and counts them: {count}")
    page.search("")
    for start in range(100_000, 140_000, 2000):
        page.daemon.call("add", entries=[
            {"urls": [f"http://127.0.0.1:9/many/file-{number:06}.bin"], "paused": True}
            for number in range(start, start + 2000)])
    page.press_state("paused")
    until(lambda: page.count() >= 140_000,
          "140,000 rows are listed, in proportion")
    page.script("document.querySelector('#list').focus()")
    page.keys(Keys.END)
    until(lambda: page.find(".row.current").text.startswith("file-139999.bin"), "End reaches the last one")
    until(lambda: page.find(".row.current").get_attribute("aria-selected") == "true", "and selects it when it is loaded")
    box, last = page.find("#list").rect, page.find(".row.current").rect
    expect(abs(last["y"] + last["height"] - box["y"] - box["height"]) < 4, "the last one is at the end")
    page.keys(Keys.ARROW_UP)
    until(lambda: page.find(".row.current").text.startswith("file-139998.bin"), "and an arrow the one before")
    page.keys(Keys.HOME)
    until(lambda: page.find(".row.current").get_attribute("aria-rowindex") == "2", "Home the first one")
    page.press_state("")
    begun = time.monotonic()
    page.select_all()
    page.button("Resume").click()
    until(lambda: "changed" in page.toast(), "all are resumed at once", 60)
    figures.append(f"resuming 140,000 transfers: {time.monotonic() - begun:.1f} s")
    page.select_all()
    page.button("Pause").click()
    until(lambda: page.daemon.call("counts")["paused"] >= 139_000, "and paused", 60)
    for parameters in ({"search": "0777"}, {"sort": "name", "offset": 50_000}, {"sort": "size", "offset": -1}):
        begun = time.monotonic()
        page.daemon.call("list", limit=100, **parameters)
        figures.append(f"martlet.list {parameters}: {(time.monotonic() - begun) * 1000:.0f} ms")
    begun = time.monotonic()
    page.daemon.call("counts", search="0777")
    figures.append(f"martlet.counts of a search: {(time.monotonic() - begun) * 1000:.0f} ms")


def check_other_browsers(daemon):
    """Languages, dark colours and reduced motion."""
    found = {}
    for language, text, tag in (("zh-CN", "添加", "zh-Hans"), ("ja", "追加", "ja"), ("fr", "Add", "en")):
        with contextlib.closing(Quitting(browser(language, dark=language == "ja", reduced=True))) as quitting:
            page = Page(quitting.driver, daemon).open()
            expect(page.find("#add").text == text, f"{language}: the button says {page.find('#add').text}")
            expect(page.script("return document.documentElement.lang") == tag, f"{language}: the page has its language")
            page.script("document.querySelector('#limits').click()")
            page.dialog("limits-dialog")
            found[language] = page.find("#limits-dialog").text
            page.axe(f"{language}, limits")
            page.keys(Keys.ESCAPE)
            if language == "ja":
                page.driver.execute_cdp_cmd(
                    "Emulation.setEmulatedMedia",
                    {"features": [{"name": "prefers-color-scheme", "value": "dark"},
                                  {"name": "prefers-reduced-motion", "value": "reduce"}]})
                page.axe("dark")
                dark = page.script("return getComputedStyle(document.body).backgroundColor")
                expect(dark == "rgb(20, 23, 27)", f"the dark colours are used: {dark}")
                motion = page.script("""return [...document.querySelectorAll('*')]
                    .filter((one) => getComputedStyle(one).transitionDuration !== '0s').length""")
                expect(motion == 0, "reduced motion has no transitions")
    expect(len(set(found.values())) == 3, "the languages differ")


class Quitting:
    def __init__(self, driver):
        self.driver = driver

    def close(self):
        self.driver.quit()


def check_firefox(daemon, server):
    """The same page in Firefox, if there is one."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if not program:
        return print("firefox: skipped: it is not installed")
    with contextlib.closing(Firefox(program)) as firefox:
        firefox.open(daemon.link())
        begun = time.monotonic()
        until(lambda: firefox.script("!document.querySelector('#app').hidden"), "Firefox opens the page")
        expect(time.monotonic() - begun < 5, "at once")
        daemon.add(f"{server.base}/slow/fire.bin")
        seen = "[...document.querySelectorAll('.row')].map((row) => row.textContent).find((text) => text.startsWith('fire'))"
        until(lambda: "KiB/s" in firefox.script(seen), "progress is live in Firefox")
        until(lambda: "Finished" in firefox.script(seen), "and the end", 40)
        firefox.script("document.querySelector('#add').click()")
        until(lambda: firefox.script("document.querySelector('#add-dialog').open"), "the dialog opens in Firefox")
        daemon.stop()
        until(lambda: firefox.script("!document.querySelector('#lost').hidden"), "Firefox is disconnected")
        daemon.start()
        until(lambda: firefox.script("document.querySelector('#lost').hidden"), "Firefox connects again", 30)
        expect(not firefox.problems, f"Firefox complains: {firefox.problems}")


def main():
    binary, only = os.path.abspath(sys.argv[1]), [word for word in sys.argv[2:] if not word.startswith("-")]
    if "--quick" in sys.argv:
        only = ["strings", "access", "adding", "repair", "keyboard", "filters", "sessions", "hostile", "drop",
                "table", "states", "waiting", "narrow", "origins"]
    steps = {
        "strings": lambda: check_strings(FOLDER, SCRIPTS, [f"{FOLDER}/index.html"]),
        "access": lambda: check_access(page),
        "adding": lambda: check_adding(page.open(), server),
        "repair": lambda: check_repair(page, server),
        "keyboard": lambda: check_keyboard(page, server),
        "filters": lambda: check_filters(page, server),
        "sessions": lambda: check_sessions(page, server),
        "hostile": lambda: check_hostile(page, server),
        "news": lambda: check_news(page, server),
        "drop": lambda: check_drop(page),
        "values": lambda: check_values(page, server),
        "table": lambda: check_table(page, server),
        "states": lambda: check_states(page),
        "waiting": lambda: check_waiting(page, server),
        "tabs": lambda: check_tabs(page, server),
        "silence": lambda: check_silence(page, server),
        "restart": lambda: check_restart(page, server),
        "narrow": lambda: check_narrow(page),
        "main": lambda: page.axe("the list"),
        "languages": lambda: check_other_browsers(daemon),
        "firefox": lambda: check_firefox(daemon, server),
        "many": lambda: check_many(page),
        "origins": lambda: check_origins(driver, (f"{daemon.base}/",), HARMLESS),
    }
    server, daemon = Server(), Daemon(binary)
    driver = None
    try:
        daemon.start()
        driver = browser()
        driver.set_script_timeout(60)
        page = Page(driver, daemon)
        if only and "access" not in only:
            page.open()
        run_steps(steps, only, driver, daemon.root)
    finally:
        if driver:
            driver.quit()
        server.shutdown()
        daemon.remove()
    report("check-page")


main()

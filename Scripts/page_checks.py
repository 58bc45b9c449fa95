# SPDX-License-Identifier: Apache-2.0
"""What the checks of all pages share: counting, waiting, axe's rules, the strings of the languages."""
import contextlib
import json
import os
import re
import sys
import time

import axe_playwright_python
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

AXE = os.path.join(os.path.dirname(axe_playwright_python.__file__), "axe.min.js")
EVIL = "<img src=x onerror=alert(1)>"
failures, figures, passed = [], [], []


def expect(condition, text):
    if condition:
        passed.append(text)
    else:
        failures.append(text)
        print(f"FAILED: {text}", flush=True)


def until(condition, text, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(WebDriverException, IndexError, TypeError):
            if condition():
                return expect(True, text)
        time.sleep(0.05)
    return expect(False, text)


class AnyPage:
    """A page in a browser."""

    def __init__(self, driver):
        self.driver = driver

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def dialog(self, identifier):
        until(lambda: self.find(f"#{identifier}").is_displayed(), f"the dialog {identifier} opens")
        return self.find(f"#{identifier}")

    def closed(self):
        until(lambda: not self.all("dialog"), "the dialog closes")

    def axe(self, where):
        with open(AXE) as file:
            self.script(file.read())
        result = self.driver.execute_async_script("axe.run(document).then(arguments[0])")
        for violation in result["violations"]:
            nodes = "; ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:4])
            print(f"  axe, {where}: {violation['id']}: {violation['help']} ({nodes})")
        expect(not result["violations"], f"axe finds nothing: {where}")
        expect(len(result["passes"]) > 10, f"axe has looked: {where}")


def check_strings(folder, scripts, markup, other_uses=""):
    """Every language has the same keys and placeholders, and the scripts use keys that exist.

    `markup` are files with `data-t` attributes. If their text is English, the English table need not have their keys.
    """
    tables = {}
    for language in ("en", "zh", "ja"):
        with open(f"{folder}/strings.{language}.js") as file:
            tables[language] = dict(re.findall(r'^\s*"?([\w.-]+)"?: "(.*)",$', file.read(), re.M))
    in_markup = set()
    for name in markup:
        with open(name) as file:
            in_markup |= set(re.findall(r'data-t(?:-label|-hint)?=\\?"(\w+)\\?"', file.read()))
    plain = {key for key in tables["en"] if not (key.endswith("1") and key[:-1] in tables["en"])}
    whole = plain | in_markup
    for language in ("zh", "ja"):
        expect(set(tables[language]) == whole, f"{language}: {set(tables[language]) ^ whole}")
        names = [{key: sorted(set(re.findall(r"\{\w+\}", tables[one].get(key, "")))) for key in plain}
                 for one in ("en", language)]
        wrong = [key for key in plain if names[0][key] != names[1][key]]
        expect(not wrong, f"{language}: the placeholders of {wrong}")
    used, text = set(in_markup), other_uses
    for name in scripts:
        with open(f"{folder}/{name}") as file:
            text += file.read()
    for parts in re.findall(r'\bt\("([\w.-]+)"|row\("(\w+)"', text):
        used |= {part for part in parts if part}
    expect(len(used) > 30 and not used - whole, f"the strings exist: {used - whole}")
    return {key for key in plain if f'"{key}"' not in text and key not in in_markup}


def check_origins(driver, base, harmless):
    """The requests of the page stay at its origin, and the browser complains of nothing but `harmless` (a pattern)."""
    urls = set()
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls.add(message["params"]["request"]["url"])
    foreign = [url for url in urls if not url.startswith((*base, "data:", "chrome:", "blob:"))]
    expect(len(urls) > 5 and not foreign, f"no request leaves for another origin: {foreign}")
    for entry in driver.get_log("browser"):
        if entry["level"] == "SEVERE" and not re.search(harmless, entry["message"]):
            expect(False, f"the browser complains: {entry['message']}")


def run_steps(steps, only, driver, root):
    """Runs the steps by their names; the ones that fail leave a picture."""
    for name, step in steps.items():
        if only and name not in only:
            continue
        begun = time.monotonic()
        try:
            step()
        except Exception as error:
            failures.append(f"{name}: {error}")
            print(f"FAILED: {name}: {type(error).__name__}: {str(error)[:500]}", flush=True)
            with contextlib.suppress(WebDriverException):
                driver.save_screenshot(f"{root}-{name}.png")
                print(f"  the page: {root}-{name}.png")
                driver.refresh()
        print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)


def report(name):
    for line in figures:
        print(line)
    print(f"{name}: {len(passed)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)

# SPDX-License-Identifier: Apache-2.0
"""Hosts of URLs and their registered domains.

The registered domain is the public suffix and one more label (``example.co.uk`` of ``a.b.example.co.uk``); see
https://publicsuffix.org/list/. The registered domain of an address is the address.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["SYSTEM_LIST", "Suffixes", "host_of"]

#: The path that distributions share (on Debian, the package ``publicsuffix``).
SYSTEM_LIST = Path("/usr/share/publicsuffix/public_suffix_list.dat")

_SUFFIX, _WILDCARD, _EXCEPTION = 1, 2, 4


def host_of(url: str) -> str:
    """Return the host of a URL in lower case and ASCII, without port and brackets; ``""`` if there is none."""
    try:
        host = urlsplit(url.strip()).hostname
    except ValueError:
        return ""
    return _ascii(host.rstrip(".")) if host else ""


class Suffixes:
    """A public suffix list.

    A list with fewer rules yields the same or larger units (``co.uk`` instead of ``example.co.uk``), so that limits
    still hold; but all processes that divide one table must use the same list. The value can be pickled.
    """

    def __init__(self, rules: Iterable[str] = ()) -> None:
        self._rules: dict[str, int] = {}
        for rule in rules:
            self._add(rule)

    @classmethod
    def parse(cls, text: str) -> Suffixes:
        """Parse the text of a public suffix list."""
        words = (line.split(maxsplit=1)[0] for line in text.splitlines() if line.strip())
        return cls(word for word in words if not word.startswith("//"))

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Suffixes:
        """Load a list: the given file, else the system's, else that of the package ``publicsuffixlist``.

        Without any of them the list is empty: the last two labels of a name are its registered domain. This holds the
        limits too, but hosts of one country's registry (``co.uk``) share them.
        """
        if path is not None:
            return cls.parse(Path(path).read_text(encoding="utf-8"))
        if SYSTEM_LIST.is_file():
            return cls.parse(SYSTEM_LIST.read_text(encoding="utf-8"))
        try:
            file = resources.files("publicsuffixlist").joinpath("public_suffix_list.dat")
            return cls.parse(file.read_text(encoding="utf-8"))
        except (ModuleNotFoundError, FileNotFoundError):
            return cls()

    def __len__(self) -> int:
        return len(self._rules)

    def registered_domain(self, host: str) -> str:
        """Return the registered domain of a host as of `host_of`; a public suffix and an address are their own."""
        if not host or ":" in host or _is_address(host):
            return host
        labels = host.split(".")
        for start in range(len(labels)):
            kind = self._rules.get(".".join(labels[start:]), 0)
            if kind & _EXCEPTION:
                return ".".join(labels[start:])
            above = self._rules.get(".".join(labels[start + 1 :]), 0)
            if kind & _SUFFIX or above & _WILDCARD:
                return ".".join(labels[max(start - 1, 0) :])
        return ".".join(labels[-2:])

    def domain_of(self, url: str) -> str:
        """Return the registered domain of a URL's host; ``""`` if the URL has none."""
        return self.registered_domain(host_of(url))

    def _add(self, rule: str) -> None:
        kind = _SUFFIX
        if rule.startswith("!"):
            kind, rule = _EXCEPTION, rule[1:]
        elif rule.startswith("*."):
            kind, rule = _WILDCARD, rule[2:]
        name = _ascii(rule.strip("."))
        if name:
            self._rules[name] = self._rules.get(name, 0) | kind


def _is_address(host: str) -> bool:
    if not host[-1].isdigit():
        return False
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


def _ascii(name: str) -> str:
    name = name.lower()
    if name.isascii():
        return name
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        return name

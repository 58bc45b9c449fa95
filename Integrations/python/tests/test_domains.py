# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from martlet.domains import Suffixes, host_of

RULES = """
// a comment
com
uk
co.uk  // text after the rule
*.ck
!www.ck
github.io
jp
公司.cn
"""


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Example.COM:80/a", "example.com"),
        ("https://user:secret@a.example./x", "a.example"),
        ("http://[2001:DB8::1]:8080/", "2001:db8::1"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("  http://a.example/ ", "a.example"),
        ("http://[broken/", ""),
        ("no url", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("a.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("a.b.c.ck", "b.c.ck"),
        ("c.ck", "c.ck"),
        ("a.www.ck", "www.ck"),
        ("user.github.io", "user.github.io"),
        ("a.user.github.io", "user.github.io"),
        ("a.unlisted.test", "unlisted.test"),
        ("localhost", "localhost"),
        ("127.0.0.5", "127.0.0.5"),
        ("2001:db8::1", "2001:db8::1"),
        ("a.example.xn--55qx5d.cn", "example.xn--55qx5d.cn"),
        ("", ""),
    ],
)
def test_the_registered_domain_of_a_host(host: str, domain: str) -> None:
    suffixes = pickle.loads(pickle.dumps(Suffixes.parse(RULES)))
    assert suffixes.registered_domain(host) == domain


def test_a_list_without_rules_yields_the_same_or_larger_units() -> None:
    full, empty = Suffixes.parse(RULES), Suffixes()
    hosts = ["a.co.uk", "b.co.uk", "x.a.com", "y.a.com", "u.github.io", "a.b.c.ck", "z.b.c.ck", "127.0.0.1"]
    for one in hosts:
        for other in hosts:
            if full.registered_domain(one) == full.registered_domain(other):
                assert empty.registered_domain(one) == empty.registered_domain(other)


def test_the_list_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list").write_text("co.uk\n")
    assert len(Suffixes.load(tmp_path / "list")) == 1
    monkeypatch.setattr("martlet.domains.SYSTEM_LIST", tmp_path / "none")
    pytest.importorskip("publicsuffixlist")
    assert Suffixes.load().registered_domain("a.b.co.uk") == "b.co.uk"

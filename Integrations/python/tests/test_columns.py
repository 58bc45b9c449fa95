# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martlet.cluster import REPORT_COLUMNS
from martlet.columns import MEANINGS, Columns, check_columns


def resolve(names: list[str], folds: bool = False, url_column: str = "url", **columns: str) -> Columns:
    named = check_columns(url_column, columns)
    return Columns.resolve(names, named, report=REPORT_COLUMNS, same=str.lower if folds else str)


def test_columns_that_the_report_uses_get_an_underscore() -> None:
    columns = resolve(["url", "key", "label", "status", "part", "name"])
    assert columns.own == {"url": "url", "key": "key", "name": "name"}
    assert columns.others == {"label": "label", "status": "status_", "part": "part_"}


def test_no_column_takes_the_name_of_another() -> None:
    assert resolve(["url", "status_", "status", "status__"]).others == {
        "status_": "status_",
        "status": "status___",
        "status__": "status__",
    }


def test_names_are_compared_as_the_engine_compares_them() -> None:
    names = ["URL", "TEXT", "Status", "Key", "sha256_"]
    columns = resolve(names, folds=True, url_column="url")
    assert columns.own == {"url": "URL", "key": "Key"}
    assert columns.others == {"TEXT": "TEXT", "Status": "Status_", "sha256_": "sha256_"}
    assert resolve(names, folds=True, url_column="URL") == columns
    with pytest.raises(ValueError, match=r"no column 'url'; url_column=… names it among \['URL'"):
        resolve(names)
    assert resolve(names, url_column="URL").others == {
        "TEXT": "TEXT",
        "Status": "Status",
        "Key": "Key",
        "sha256_": "sha256_",
    }
    assert resolve(["url", "SHA256", "sha256_"], folds=True).others == {"SHA256": "SHA256__", "sha256_": "sha256_"}


def test_two_columns_that_the_engine_takes_for_one_are_refused() -> None:
    with pytest.raises(ValueError, match="'url' and 'URL' have the same name"):
        resolve(["url", "URL"], folds=True)
    assert resolve(["url", "URL"]).others == {"URL": "URL"}


def test_a_column_with_the_name_of_a_meaning_is_passed_through_if_another_has_it() -> None:
    columns = resolve(["url", "link", "key", "ID"], url_column="link", key="ID")
    assert columns.own == {"url": "link", "key": "ID"}
    assert columns.others == {"url": "url_", "key": "key_"}
    assert resolve(["url", "name"], key="name").own == {"url": "url", "key": "name"}


def test_named_columns_are_checked() -> None:
    for columns, message in (
        ({"label": "x"}, "the meanings are"),
        ({"key": ""}, "not the name"),
        ({"key": "a", "name": "a"}, "two meanings"),
        ({"key": "link"}, "two meanings"),
    ):
        with pytest.raises(ValueError, match=message):
            check_columns("link", columns)
    with pytest.raises(ValueError, match="name the same"):
        check_columns("link", {"url": "link"})
    with pytest.raises(ValueError, match="no column 'ID'; columns=…"):
        resolve(["url"], key="ID")
    assert check_columns("url", None) == {}


NAMES = st.sampled_from(
    [name + end for name in ("url", "key", "status", "Status", "part", "a", "A", "sha256") for end in ("", "_", "__")]
)


@given(st.lists(NAMES, unique=True), st.booleans())
def test_each_column_has_one_name_of_its_own(names: list[str], folds: bool) -> None:
    same = str.lower if folds else str
    try:
        columns = resolve(names, folds)
    except ValueError:
        assert len({same(name) for name in names}) < len(names) or "url" not in {same(name) for name in names}
        return
    assert sorted([*columns.own.values(), *columns.others]) == sorted(names)
    given_names = [same(name) for name in columns.others.values()]
    assert len(set(given_names)) == len(given_names)
    assert not set(given_names) & {same(name) for name in [*REPORT_COLUMNS, *MEANINGS]}

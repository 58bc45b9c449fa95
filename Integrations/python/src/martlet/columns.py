# SPDX-License-Identifier: Apache-2.0
"""The columns of a table: which ones have a meaning, and what the others are called in the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["MEANINGS", "Columns", "check_columns"]

#: The meanings of columns, with which the report begins.
MEANINGS = ("url", "key", "name", "checksum")


def check_columns(url_column: str, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the columns that were named, by their meaning; those with default names are left out.

    Raises:
        ValueError: a meaning is unknown, or a meaning or a column is named twice.
    """
    named = dict(columns or {})
    for meaning, column in named.items():
        if meaning not in MEANINGS:
            raise ValueError(f"columns={{{meaning!r}: …}}: the meanings are {', '.join(MEANINGS)}")
        if not isinstance(column, str) or not column:
            raise ValueError(f"columns={{{meaning!r}: {column!r}}}: it is not the name of a column")
    if not isinstance(url_column, str) or not url_column:
        raise ValueError(f"url_column={url_column!r} is not the name of a column")
    if url_column != "url":
        if "url" in named:
            raise ValueError("url_column and columns={'url': …} name the same; give one of them")
        named["url"] = url_column
    if len(set(named.values())) < len(named):
        raise ValueError("a column is named for two meanings")
    return {meaning: named[meaning] for meaning in MEANINGS if meaning in named}


@dataclass(frozen=True)
class Columns:
    """The columns of one table.

    Attributes:
        own: the columns with a meaning, by the meaning.
        others: the names in the report of the other columns, by the column.
    """

    own: Mapping[str, str]
    others: Mapping[str, str]

    @classmethod
    def resolve(
        cls,
        names: Sequence[str],
        named: Mapping[str, str],
        *,
        report: Collection[str],
        same: Callable[[str], str] = str,
    ) -> Columns:
        """Find the columns of a table, before anything is fetched.

        Args:
            names: the table's columns.
            named: the columns that were named, as `check_columns` returns them.
            report: the names of the report's own columns.
            same: maps names to equal texts if the engine takes them for the same column.

        Raises:
            ValueError: a column is missing, or the engine takes two for the same one.
        """
        spelled: dict[str, str] = {}
        for name in names:
            if same(name) in spelled:
                raise ValueError(f"the columns {spelled[same(name)]!r} and {name!r} have the same name; rename one")
            spelled[same(name)] = name
        own: dict[str, str] = {}
        for meaning in MEANINGS:
            if meaning in named:
                if same(named[meaning]) not in spelled:
                    option = "url_column" if meaning == "url" else "columns"
                    raise ValueError(
                        f"the table has no column {named[meaning]!r}; {option}=… names it among {list(names)}"
                    )
                own[meaning] = spelled[same(named[meaning])]
        for meaning in MEANINGS:
            column = spelled.get(same(meaning))
            if meaning not in own and column is not None and column not in own.values():
                own[meaning] = column
        if "url" not in own:
            raise ValueError(f"the table has no column 'url'; url_column=… names it among {list(names)}")
        taken = {same(name) for name in report} | set(spelled)
        others: dict[str, str] = {}
        for name in names:
            if name in own.values():
                continue
            others[name] = name
            if same(name) in {same(one) for one in report}:
                while same(others[name]) in taken:
                    others[name] += "_"
                taken.add(same(others[name]))
        return cls({meaning: own[meaning] for meaning in MEANINGS if meaning in own}, others)

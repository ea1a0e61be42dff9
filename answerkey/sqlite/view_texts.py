"""View texts: in which views of a database a call may stand that SQLite reports.

SQLite says of a call only the name of what it stands in: of a view, or of a CTE of a view.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from answerkey.sqlite.schema import fold_name
from answerkey.sqlite.tokens import Kind, read_tokens

_BEFORE_BODY = {"MATERIALIZED", "NOT"}  # of a CTE


class ViewTexts:
    """The statements that made the views of an open database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        factory = connection.text_factory
        connection.text_factory = lambda text: text.decode(errors="replace")  # it need not be UTF-8
        views = connection.execute(
            "SELECT ifnull(name, ''), ifnull(sql, '') FROM sqlite_master WHERE type = 'view';"
        )
        self._by_name: dict[str, list[str]] = {}
        self._all: list[str] = []
        for name, sql in views:
            self._all.append(sql)
            for named in {fold_name(name), *_list_ctes(sql)}:
                self._by_name.setdefault(named, []).append(sql)
        connection.text_factory = factory

    def find(self, inside: str | None) -> list[str]:
        """The texts that may hold a call which SQLite reports inside this name.

        None where the call is in the query itself. All where nothing of the database has that name:
        then the query gave it to a part of itself, which may read any view.
        """
        return [] if inside is None else self._by_name.get(fold_name(inside), self._all)


def _list_ctes(sql: str) -> Iterator[str]:
    """The folded names of a text that may be those of its CTEs, and of what it calls.

    >>> list(_list_ctes("CREATE VIEW v AS WITH a AS (SELECT 1), B (x) AS (SELECT 2) SELECT 3"))
    ['a', 'b']
    """
    name, is_after_as = None, False
    for kind, text in read_tokens(sql):
        word = text.upper() if kind is Kind.WORD else ""
        is_body = (kind, text) == (Kind.MARK, "(") or (is_after_as and word in _BEFORE_BODY)
        if is_body and name is not None:
            yield name
        is_after_as = word == "AS"
        if not is_after_as:
            name = None if kind is Kind.MARK else fold_name(text)

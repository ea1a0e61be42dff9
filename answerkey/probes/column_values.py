"""Questions about the values in a database, each asked once and remembered.

The memory lasts as long as the open database, so that the questions of one database share it.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from answerkey.sqlite.guard import GuardedDatabase, QueryError, Row
from answerkey.sqlite.schema import quote_name

_MEMORY: WeakKeyDictionary[GuardedDatabase, dict[str, list[Row] | None]] = WeakKeyDictionary()
_TEXT_BYTES = 200


class ColumnValues:
    """Small questions about columns of one database, each executed at most once.

    >>> values = ColumnValues(database)                              # doctest: +SKIP
    >>> values.storage("ship", "year")                               # doctest: +SKIP
    {'integer': 40, 'text': 2}
    """

    def __init__(self, database: GuardedDatabase) -> None:
        self._database = database
        self._memory = _MEMORY.setdefault(database, {})

    def ask(self, sql: str) -> list[Row] | None:
        """Return the rows of a query, or None if the guard refuses it."""
        if sql not in self._memory:
            try:
                self._memory[sql] = self._database.execute(sql)
            except QueryError:
                self._memory[sql] = None
        return self._memory[sql]

    def ask_number(self, sql: str) -> int | None:
        rows = self.ask(sql)
        return rows[0][0] if rows and isinstance(rows[0][0], int) else None

    def ask_column(self, sql: str) -> list[object]:
        """The first column of a query's rows, its texts cut to a length for people."""
        return [shorten(row[0]) for row in self.ask(sql) or ()]

    def storage(self, table: str, column: str) -> dict[str, int]:
        """Count the values of each storage class in a column, NULL left out."""
        name = quote_name(column)
        rows = self.ask(
            f"SELECT typeof({name}), count(*) FROM {quote_name(table)}"
            f" WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 1"
        )
        return dict(rows or ())


def shorten(value: object) -> object:
    """A value as evidence: text cut to 200 characters.

    >>> shorten(3), len(shorten("x" * 1000))
    (3, 200)
    """
    if isinstance(value, str) and len(value) > _TEXT_BYTES:
        return value[: _TEXT_BYTES - 1] + "…"
    return value

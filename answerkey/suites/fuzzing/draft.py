"""A draft of a variant: rows that recipes change as they like, and `mend` brings back to the rules.

A changed row that breaks a rule becomes again the row of the database that it was, and where that
breaks one too, it goes, with all rows that refer to it. SQLite says what NOT NULL, CHECK, types,
generated columns and unique indexes allow; keys and references are checked here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from answerkey.sqlite.schema import quote_name
from answerkey.suites.database_rows import Row, Rows, TableRows
from answerkey.suites.keys import DANGLING, KeyFacts, make_fold
from answerkey.suites.references import Reference


class Constant(NamedTuple):
    """A value that queries compare with a column, which is named by its table and its position."""

    table: str
    column: int
    value: Any


Slot = tuple[int, int]  # the place of a row among those of a query, and that of a column


class PlantedConditions(NamedTuple):
    """The rows behind a row that a query gives, and what they must be like.

    tables: the table of each row.
    values: for each comparison of a column with a literal, a value that meets it, and one that
        misses it.
    classes: the columns that must be equal.
    shared: the places of the classes that all rows of a group share, and `count` how many rows
        a group must have.
    """

    tables: tuple[str, ...]
    values: tuple[tuple[Slot, Any, Any], ...]
    classes: tuple[frozenset[Slot], ...] = ()
    shared: frozenset[int] = frozenset()
    count: int = 1


class DraftRow:
    """The values of a row, the place in its table of the row of the database that it was (None for
    a new row), and whether it was made that row again."""

    __slots__ = ("is_restored", "place", "values")

    def __init__(self, values: Sequence[Any], place: int | None = None) -> None:
        self.values = list(values)
        self.place = place
        self.is_restored = False

    def take(self, places: tuple[int, ...]) -> Row:
        """The values of some columns."""
        return tuple(self.values[place] for place in places)

    def put(self, places: tuple[int, ...], values: Row) -> None:
        """Set the values of some columns."""
        for place, value in zip(places, values, strict=True):
            self.values[place] = value


class Draft:
    """Rows by table, and what the steps of a recipe need to change them.

    source: the rows of the database, and `facts` what holds of them.
    constants: what queries compare columns with, and `conditions` the same query by query.
    max_rows: about how many rows a table should have.
    """

    def __init__(
        self,
        source: Rows,
        facts: KeyFacts,
        constants: list[Constant],
        conditions: list[PlantedConditions],
        random: Random,
        max_rows: int,
    ) -> None:
        self.source = source
        self.facts = facts
        self.constants = constants
        self.conditions = conditions
        self.random = random
        self.max_rows = max_rows
        self.rows: dict[str, list[DraftRow]] = {name: [] for name in source.tables}

    def list_references(self, table: str) -> list[Reference]:
        """The references of the rows of a table."""
        return [reference for reference in self.facts.references if reference.table == table]

    def has_referred(self, reference: Reference) -> bool:
        """Whether other rows refer to a column of a reference: if it changed, they would go."""
        return any(
            other.parent == reference.table and set(other.referred) & set(reference.columns)
            for other in self.facts.references
        )

    def list_parents(self, reference: Reference) -> list[Row]:
        """What a row may refer to, each once."""
        rows = self.rows[reference.parent]
        found = dict.fromkeys(row.take(reference.referred) for row in rows)
        return [values for values in found if None not in values]


def mend(draft: Draft, connection: sqlite3.Connection) -> None:
    """Bring the rows of a draft back to the rules of its database, in which `connection` is empty:
    the rows, as SQLite stores them, are left there in an open transaction."""
    waiting = set(draft.rows)
    while waiting:
        for name in list(draft.rows):
            if name in waiting:
                _store(connection, draft, name)
        waiting = set()
        for name in draft.rows:
            if _remove(draft, name, _find_repeated(draft, name)):
                waiting.add(name)
        for number, reference in enumerate(draft.facts.references):
            if _remove(draft, reference.table, _find_dangling(draft, number, reference)):
                waiting.add(reference.table)


def _is_unchanged(draft: Draft, name: str, row: DraftRow) -> bool:
    if row.place is None:
        return False
    return tuple(row.values) == draft.source.tables[name].rows[row.place]


def _remove(draft: Draft, name: str, refused: list[DraftRow]) -> bool:
    """Make refused rows again what they were, or drop them; whether there were any."""
    dropped = set()
    for row in refused:
        if row.place is None or row.is_restored or _is_unchanged(draft, name, row):
            dropped.add(id(row))
        else:
            row.values = list(draft.source.tables[name].rows[row.place])
            row.is_restored = True
    draft.rows[name] = [row for row in draft.rows[name] if id(row) not in dropped]
    return bool(refused)


def _store(connection: sqlite3.Connection, draft: Draft, name: str) -> None:
    """Store the rows of a table, those first that are as they were, and take back what is stored.
    What SQLite refuses is what it was, or gone."""
    table = draft.source.tables[name]
    returned = ", ".join(quote_name(column.name) for column in table.table.columns)
    insert = f"{table.insert} RETURNING {returned}"
    refused: list[DraftRow] = draft.rows[name]
    while refused:
        connection.execute(f"DELETE FROM {quote_name(name)}")
        rows = sorted(draft.rows[name], key=lambda row: not _is_unchanged(draft, name, row))
        refused = [row for row in rows if not _insert(connection, insert, table, row)]
        _remove(draft, name, refused)


def _insert(connection: sqlite3.Connection, insert: str, table: TableRows, row: DraftRow) -> bool:
    """Whether SQLite takes a row: IntegrityError where a constraint or a type forbids it, and
    OperationalError where a generated column cannot be computed."""
    try:
        (values,) = connection.execute(insert, table.take_stored(row.values)).fetchall()
    except (sqlite3.IntegrityError, sqlite3.OperationalError):
        return False
    row.values = list(values)
    return True


def _find_repeated(draft: Draft, name: str) -> list[DraftRow]:
    """Rows whose key another row has; of two, the one that was changed."""
    keys = draft.facts.keys[name]
    held: set[tuple[tuple[int, ...], Row]] = set()
    found = []
    for row in sorted(draft.rows[name], key=lambda row: not _is_unchanged(draft, name, row)):
        values = [(key, row.take(key)) for key in keys]
        values = [pair for pair in values if None not in pair[1]]
        if any(pair in held for pair in values):
            found.append(row)
        else:
            held.update(values)
    return found


def _find_dangling(draft: Draft, number: int, reference: Reference) -> list[DraftRow]:
    """Rows that refer to nothing; those that do so in the database may go on."""
    fold = make_fold(draft.source, reference)
    parents = {fold(row.values, reference.referred) for row in draft.rows[reference.parent]}
    places = draft.facts.parents[number]
    found = []
    for row in draft.rows[reference.table]:
        values = fold(row.values, reference.columns)
        if None in values or values in parents:
            continue
        was_dangling = row.place is not None and places[row.place] == DANGLING
        if was_dangling:
            source = draft.source.tables[reference.table].rows[row.place]
            was_dangling = values == fold(source, reference.columns)
        if not was_dangling:
            found.append(row)
    return found

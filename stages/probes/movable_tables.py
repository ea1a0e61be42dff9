"""Movable tables: those whose rows can be stored in another order, and how that is done.

A row's place is its rowid. To mix the rows of a table where it is nothing else, they get new ones:
no value moves, and BLOBs, text that is not UTF-8, generated columns and indexes stay as they are.
Otherwise the table is made anew, without a primary key, but with the same columns, affinities and
collations: where the rowid is a column of the table (INTEGER PRIMARY KEY), where there is none
(WITHOUT ROWID), and to store all rows in reverse, indexes too, which are read in place of a table.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from stages.probes.collations import BINARY, list_collations
from stages.schema import ROWID_NAMES, affinity, fold_name, quote_name

BACKWARDS = 0  # the seed that puts the last row first; any other mixes rows
_ASKS_FOR_ROWID = re.compile(rf"(?<!\w)(?:{'|'.join(ROWID_NAMES)})(?!\w)", re.IGNORECASE)
_BEYOND = 2**62  # the least rowid that is given, greater than any in use
_QUOTES = str.maketrans("", "", "\"`'[]")


class Movable(NamedTuple):
    """A table whose rows can move: the name by which its rowid can be changed, or None where the
    table is to be made anew."""

    name: str
    rowid: str | None


class Tables(NamedTuple):
    """The tables of a database whose rows can move, the SQL of its views (which may read them) by
    name, and whether it has other tables (virtual ones)."""

    movable: tuple[Movable, ...]
    views: dict[str, str]
    has_fixed: bool

    def find_named(self, sql: str) -> list[Movable]:
        """The tables that a query may read: those whose name stands anywhere in its text, or in
        that of a view whose name does, if only as a part of a word."""
        texts = self._list_texts(sql)
        return [table for table in self.movable if any(_fold(table.name) in text for text in texts)]

    def asks_for_rowid(self, sql: str) -> bool:
        """Whether a query, or a view that it may read, names the rowid."""
        return any(map(_ASKS_FOR_ROWID.search, self._list_texts(sql)))

    def _list_texts(self, sql: str) -> list[str]:
        """The text of a query, and of the views that it names, directly or over others."""
        texts, views = [_fold(sql)], dict(self.views)
        for text in texts:
            for view in [view for view in views if _fold(view) in text]:
                texts.append(_fold(views.pop(view)))
        return texts


NO_TABLES = Tables((), {}, False)


def read_tables(path: Path) -> Tables:
    """What can be moved in a database, without opening it to write."""
    uri = path.absolute().as_uri() + "?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        rows = connection.execute(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        ).fetchall()
        connection.text_factory = lambda text: text.decode(errors="replace")
        views = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
        connection.text_factory = str
        movable = [
            Movable(name, None if is_without_rowid else _find_free_rowid(connection, name))
            for name, kind, is_without_rowid in rows
            if kind == "table"
        ]
    return Tables(tuple(movable), views, len(movable) + len(views) < len(rows))


def move_rows(connection: sqlite3.Connection, table: Movable, seed: int) -> bool:
    """Store the rows of a table in another order, or say that it cannot be done."""
    mix = _make_mix(f"{seed} {table.name}".encode())
    connection.create_function("move_row", 1, mix, deterministic=True)
    connection.execute("SAVEPOINT move")
    try:
        if table.rowid is None or seed == BACKWARDS:
            _make_anew(connection, table, is_backwards=seed == BACKWARDS)
        else:
            connection.execute(
                f"UPDATE {quote_name(table.name)} SET {table.rowid} = move_row({table.rowid})"
            )
    except sqlite3.Error:  # an index on a function or collation that is not there, say
        connection.execute("ROLLBACK TO move")
        return False
    finally:
        connection.execute("RELEASE move")
    return True


def _find_free_rowid(connection: sqlite3.Connection, table: str) -> str | None:
    """A name of the rowid that no column has; None where the rowid is a column of its own."""
    columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table)})").fetchall()
    keys = [column for column in columns if column[5]]
    if len(keys) == 1 and keys[0][2].upper() == "INTEGER":
        return None
    taken = {fold_name(column[1]) for column in columns}
    return next((name for name in ROWID_NAMES if name not in taken), None)


def _make_mix(salt: bytes) -> Callable[[int], int]:
    def move(rowid: int) -> int:
        digest = hashlib.blake2b(
            rowid.to_bytes(8, "big", signed=True), digest_size=8, key=salt[:64]
        )
        return _BEYOND + int.from_bytes(digest.digest(), "big") // 4

    return move


def _make_anew(connection: sqlite3.Connection, old: Movable, *, is_backwards: bool) -> None:
    """Put a table without a primary key in a table's place, its rows mixed or in reverse."""
    name = old.name
    table, new = quote_name(name), quote_name(f"{name} moved")
    columns = connection.execute(f"PRAGMA table_xinfo({table})").fetchall()
    (sql,) = connection.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)
    ).fetchone()
    (is_strict,) = connection.execute(
        "SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ?", (name,)
    ).fetchone()
    collations = list_collations(sql)
    definitions = [
        f"{quote_name(column)} {'BLOB' if is_strict and kind == 'ANY' else affinity(kind)}"
        f" COLLATE {collations.get(fold_name(column), BINARY)}"
        for _, column, kind, *_ in columns
    ]
    keys = [quote_name(column[1]) for column in sorted(columns, key=lambda c: c[5]) if column[5]]
    indexes = _list_indexes(connection, name, keys, is_backwards=is_backwards)
    names = ", ".join(quote_name(column[1]) for column in columns)
    places = ", ".join([old.rowid] if old.rowid is not None else keys)
    place = f"row_number() OVER ({f'ORDER BY {places}' if places else ''})"
    order = f"{place} DESC" if is_backwards else f"move_row({place})"
    connection.execute(f"CREATE TABLE {new} ({', '.join(definitions)})")
    connection.execute(f"INSERT INTO {new} ({names}) SELECT {names} FROM {table} ORDER BY {order}")
    connection.execute(f"DROP TABLE {table}")
    connection.execute(f"ALTER TABLE {new} RENAME TO {table}")
    for index in indexes:
        connection.execute(index)


def _list_indexes(
    connection: sqlite3.Connection, name: str, keys: list[str], *, is_backwards: bool
) -> list[str]:
    """What makes indexes like those of a table. Of keys, and of all that is stored in reverse, the
    first column is enough to find rows by, and leaves their order open."""
    table = quote_name(name)
    found = connection.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
        (name,),
    ).fetchall()
    firsts = set(keys[:1])
    for _, index, _, origin, _ in connection.execute(f"PRAGMA index_list({table})").fetchall():
        if origin != "c" or is_backwards:
            _, _, column = connection.execute(f"PRAGMA index_info({quote_name(index)})").fetchone()
            firsts.update([quote_name(column)] if column is not None else [])
    direction = "DESC" if is_backwards else "ASC"
    return ([] if is_backwards else [sql for (sql,) in found]) + [
        f"CREATE INDEX {quote_name(f'{name} key {number}')} ON {table} ({column} {direction})"
        for number, column in enumerate(sorted(firsts))
    ]


def _fold(sql: str) -> str:
    """Text in which a name is found however it is quoted and spelt."""
    return sql.translate(_QUOTES).lower()

"""Scratch tables: what is too much to hold is counted, joined and sorted on the disk.

SQLite does the work: a database without a name is a temporary file, which it removes, and which it
does not write while everything fits into its cache.
"""

from __future__ import annotations

import sqlite3


class Scratch(sqlite3.Connection):
    """A connection that closes itself when nobody holds it any more, in whichever thread that is
    seen."""

    def __del__(self) -> None:
        self.close()


def open_scratch(*tables: str) -> Scratch:
    """A database of its own with these tables, one CREATE statement each; it is gone when the
    connection is.

    >>> scratch = open_scratch("CREATE TABLE seen (id)")
    >>> scratch.executemany("INSERT INTO seen VALUES (?)", [("b",), ("a",)]).rowcount
    2
    >>> scratch.execute("SELECT id FROM seen ORDER BY id").fetchall()
    [('a',), ('b',)]

    All is one transaction that never ends: nothing is undone, and no journal is kept.
    """
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False, factory=Scratch)
    connection.execute("PRAGMA journal_mode = OFF")
    for table in tables:
        connection.execute(table)
    connection.execute("BEGIN")
    return connection

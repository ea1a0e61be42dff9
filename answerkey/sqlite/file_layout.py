"""The file of a database has the same bytes whichever SQLite library writes it.

Versions of SQLite differ in what they leave in unused space, in how they encode whole numbers in
REAL columns (from 3.54 on, beside an index), and in the version number they stamp. DVC knows a
database by its bytes: without this, a teammate with another SQLite would see every database as
changed. Seen identical from 3.39 to 3.54; 3.54 alone differs where a REAL column is part of a
PRIMARY KEY, of a UNIQUE constraint, or of a WITHOUT ROWID table.
"""

from __future__ import annotations

import sqlite3

from answerkey.sqlite.schema import affinity, quote_name

PAGE_BYTES = 4096
LAYOUT = f"""
PRAGMA page_size = {PAGE_BYTES};
PRAGMA encoding = 'UTF-8';
PRAGMA auto_vacuum = NONE;
PRAGMA foreign_keys = OFF;
PRAGMA secure_delete = ON;
"""


def serialize_database(connection: sqlite3.Connection) -> bytes:
    """The file of a filled database in memory, whose first statements were those of LAYOUT, and
    perhaps one that sets another page size."""
    _settle(connection)
    roots = [page for (page,) in connection.execute("SELECT rootpage FROM sqlite_master") if page]
    return _clear_traces(bytearray(connection.serialize()), [1, *roots])


def _settle(connection: sqlite3.Connection) -> None:
    """Bring every value and every page to the place where all versions put it."""
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        " ORDER BY rowid"
    ).fetchall()
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%'"
        " ESCAPE '\\' ORDER BY rowid"
    ).fetchall()
    connection.execute("BEGIN")
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {quote_name(name)}")
    for (table,) in tables:
        for column in connection.execute(f"PRAGMA table_info({quote_name(table)})").fetchall():
            if affinity(column[2]) == "REAL":
                name = quote_name(column[1])
                connection.execute(f"UPDATE {quote_name(table)} SET {name} = {name}")
    for _, sql in indexes:
        connection.execute(sql)
    connection.execute("COMMIT")
    connection.execute("VACUUM")


def _clear_traces(file: bytearray, pages: list[int]) -> bytes:
    """Zero the unused middle of every b-tree page and what the header says of the writer.

    Source: sections 1.3 (header) and 1.6 (b-tree pages) of the SQLite manual's file format.
    """
    file[24:28] = file[92:96] = (1).to_bytes(4, "big")  # change counter, version-valid-for
    file[96:100] = bytes(4)  # SQLITE_VERSION_NUMBER

    def read(offset: int, size: int) -> int:
        return int.from_bytes(file[offset : offset + size], "big")

    page_bytes = read(16, 2)
    while pages:
        number = pages.pop()
        page = (number - 1) * page_bytes
        header = page + (100 if number == 1 else 0)
        is_interior = file[header] in (2, 5)
        pointers = header + (12 if is_interior else 8)
        pointers_end = pointers + 2 * read(header + 3, 2)
        if is_interior:
            pages.append(read(header + 8, 4))
            cells = range(pointers, pointers_end, 2)
            pages.extend(read(page + read(cell, 2), 4) for cell in cells)
        content = page + read(header + 5, 2)
        file[pointers_end:content] = bytes(content - pointers_end)
    return bytes(file)

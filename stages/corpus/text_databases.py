"""A database built from SQL text has the same bytes whichever SQLite library builds it.

Versions of SQLite differ in what they leave in unused space, in how they encode whole numbers in
REAL columns (from 3.54 on, beside an index), and in the version number they stamp. DVC knows a
database by its bytes: without this, a teammate with another SQLite would see every database as
changed. Seen identical from 3.39 to 3.54; 3.54 alone differs where a REAL column is part of a
PRIMARY KEY, of a UNIQUE constraint, or of a WITHOUT ROWID table.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from stages.errors import InputError
from stages.schema import affinity, quote_name

PAGE_BYTES = 4096
LAYOUT = f"""
PRAGMA page_size = {PAGE_BYTES};
PRAGMA encoding = 'UTF-8';
PRAGMA auto_vacuum = NONE;
PRAGMA foreign_keys = OFF;
PRAGMA secure_delete = ON;
"""

# Triggers and virtual tables are missing on purpose: they would act while the file is settled.
ALLOWED_ACTIONS = {
    getattr(sqlite3, f"SQLITE_{action}")
    for action in (
        *("CREATE_TABLE", "CREATE_INDEX", "CREATE_VIEW", "ALTER_TABLE", "REINDEX"),
        *("DROP_TABLE", "DROP_INDEX", "DROP_VIEW", "INSERT", "UPDATE", "DELETE"),
        *("SELECT", "READ", "RECURSIVE", "FUNCTION", "TRANSACTION"),
    )
}
# What chance or the moment decides would not be the same twice. (`date('now')` passes: the date
# functions have honest uses too.)
REFUSED_FUNCTIONS = {"load_extension", "random", "randomblob"}
REFUSED_KEYWORDS = ("current_date", "current_time", "current_timestamp")
ACTION_NAMES = {
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_FUNCTION: "function",
    sqlite3.SQLITE_CREATE_TRIGGER: "CREATE TRIGGER",
    sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE",
}


def build_database(sql_path: Path) -> bytes:
    """The bytes of the SQLite file that the statements of a text file make.

    Raises:
        InputError: with the file, the place and SQLite's words, where the text does not run, does
            more than fill a database, makes no table, or leaves a foreign key pointing nowhere.
    """
    try:
        text = sql_path.read_bytes().decode("utf-8-sig")  # read_text would alter line ends
    except UnicodeDecodeError as error:
        raise InputError(f"{sql_path}: expected SQL as UTF-8 text: {error}") from error
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.executescript(LAYOUT)
        _execute_text(connection, text, sql_path)
        _check_references(connection, sql_path)
        _settle(connection)
        roots = [
            page for (page,) in connection.execute("SELECT rootpage FROM sqlite_master") if page
        ]
        if not roots:
            raise InputError(f"{sql_path}: makes no table: expected CREATE TABLE and INSERT")
        return _clear_traces(bytearray(connection.serialize()), [1, *roots])
    finally:
        connection.close()


def _execute_text(connection: sqlite3.Connection, text: str, sql_path: Path) -> None:
    """Run all statements in one transaction, none of which may reach outside the database."""
    refused: list[str] = []
    started: list[str] = []

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        is_function = action == sqlite3.SQLITE_FUNCTION
        if action in ALLOWED_ACTIONS and not (is_function and second in REFUSED_FUNCTIONS):
            return sqlite3.SQLITE_OK
        detail = second if is_function else first
        refused.append(f"{ACTION_NAMES.get(action, f'action {action}')} {detail or ''}".strip())
        return sqlite3.SQLITE_DENY

    def refuse() -> None:
        refused.append("the current time")
        raise InputError

    for keyword in REFUSED_KEYWORDS:  # the authorizer does not hear of them in a DEFAULT
        connection.create_function(keyword, 0, refuse)
    connection.set_authorizer(authorize)
    connection.set_trace_callback(lambda statement: started.__setitem__(slice(None), [statement]))
    try:
        connection.executescript(f"BEGIN;\n{text}")
        connection.execute("COMMIT")
    except (sqlite3.Error, ValueError) as error:
        words = f"{refused[-1]} is not allowed in it" if refused else str(error)
        place = started[0].strip()[:80] if started else "the beginning"
        raise InputError(f"{sql_path}: {words}; at or after: {place}") from error
    finally:
        connection.set_authorizer(None)
        connection.set_trace_callback(None)


def _check_references(connection: sqlite3.Connection, sql_path: Path) -> None:
    try:
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{sql_path}: its foreign keys cannot be checked: {error}") from error
    if broken:
        table, rowid, referred, _ = broken[0]
        raise InputError(
            f"{sql_path}: {len(broken)} rows break a foreign key: the first is row {rowid} of"
            f" {table}, which refers to no row of {referred}"
        )


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

    while pages:
        number = pages.pop()
        page = (number - 1) * PAGE_BYTES
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

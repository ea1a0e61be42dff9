"""Database files: their paths, the check whether they are whole, and how they are made and
replaced. Also the descriptions of columns in the folder `database_description` of BIRD beside a
database.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from answerkey.base.errors import InputError
from answerkey.base.paths import name_page
from answerkey.base.reasons import Reason
from answerkey.base.records import list_files, replace_file
from answerkey.engines.names import SQLITE
from answerkey.engines.opening import find_database_file, load_engine
from answerkey.engines.settings import DEFAULTS, NOW, cut_head, write_head
from answerkey.engines.sqlite.clock import NOW_KEYWORDS, Clock
from answerkey.engines.sqlite.files import (
    LAYOUT,
    check_db_id,
    open_database,
    serialize_database,
)
from answerkey.engines.sqlite.guard import (
    FORBIDDEN_FUNCTIONS,
    LIBRARY_FUNCTIONS,
    RANDOM_FUNCTIONS,
    BoundedExecution,
    bound_memory,
)
from answerkey.engines.sqlite.schema import read_schema
from answerkey.shards.processes import Died, run_alone

_HEADER = b"SQLite format 3\x00"
# Findings of a check that do not stop SQLite from reading; any other finding means a broken file.
_FINE = re.compile(r"ok|(non-)?\w+ value in .*|non-unique entry in index .*")
_MAX_COMPARED_BYTES = 20_000_000  # above, to compare rows with indexes would take many seconds
_OTHERS = f"`answerkey new` converts other databases: {name_page('docs/your-database.md')}"
_MISSING = re.compile(
    r"no such collation sequence: (?P<collation>.+)"
    r"|(?:unknown|no such) function: (?P<function>\w+)(?:\(\))?"
)

DESCRIPTION_FOLDER = "database_description"
_COLUMN = "original_column_name"
_TEXTS = {"name": "column_name", "description": "column_description", "values": "value_description"}


def locate_database(databases_dir: Path, db_id: str, engine: str = SQLITE) -> Path:
    """Return `databases_dir/ID/ID.sqlite`, the layout of a Spider release; or the place of the text
    of a database of another engine."""
    return Path(find_database_file(databases_dir, check_db_id(db_id), engine=engine))


class UnreadableDatabaseError(InputError):
    """A database file that is at fault, on any machine: its questions are set aside, and the run
    goes on. `fault` is the message without the file's name."""

    def __init__(self, place: str, fault: str) -> None:
        super().__init__(place, fault)  # the arguments that pickle passes on
        self.place = place
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.place}: {self.fault}"


def check_database(path: Path) -> None:
    """Make sure that the file is a whole SQLite database.

    A database is whole, too, if its schema needs a collation or a function that only an application
    has: then only the queries that need them fail.

    Raises:
        UnreadableDatabaseError: "Corrupt database: ...", with the file and what was expected.
    """
    place = f"Corrupt database: {path}"
    with path.open("rb") as file:
        start = file.read(len(_HEADER))
    if start != _HEADER:
        words = f"starts with {start!r}, expected {_HEADER!r}; {_OTHERS}"
        raise UnreadableDatabaseError(place, words)
    try:
        with contextlib.closing(open_database(path)) as connection:
            # A CHECK is untrusted SQL, and might run for ever.
            connection.execute("PRAGMA ignore_check_constraints = ON")
            is_small = path.stat().st_size <= _MAX_COMPARED_BYTES
            check = "integrity_check" if is_small else "quick_check"
            check, notes = _check_pages(connection, check)
        with contextlib.closing(open_database(path)) as connection:
            read_schema(connection)
    except (sqlite3.Error, UnicodeError) as error:
        raise UnreadableDatabaseError(place, f"SQLite cannot read it: {error}") from error
    if broken := [note for note in notes if not _FINE.fullmatch(note)]:
        raise UnreadableDatabaseError(place, f"{check} says {broken[0]!r}, expected 'ok'")


def _check_pages(connection: sqlite3.Connection, check: str) -> tuple[str, list[str]]:
    """Return the name of the check, and its findings. If a collation or a function is missing, it
    is quick_check, which compares nothing, so that dummies can replace them."""
    supplied = set()
    while True:
        try:
            return check, [note for (note,) in connection.execute(f"PRAGMA {check}(1000)")]
        except sqlite3.OperationalError as error:
            missing = _MISSING.fullmatch(str(error))
            if missing is None or missing[0] in supplied:
                raise
            check = "quick_check"
            supplied.add(missing[0])
            if missing["collation"] is not None:
                connection.create_collation(missing["collation"], lambda left, right: 0)
            else:
                connection.create_function(missing["function"], -1, lambda *_: None)


@contextlib.contextmanager
def replace_database(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when the block ends and the file passes the checks."""
    with replace_file(path) as file:
        yield file
        file.flush()
        check_database(Path(file.name))


def copy_database(source: Path, path: Path) -> None:
    """Copy a finished SQLite file.

    Raises:
        UnreadableDatabaseError: it is corrupt, or has rows in a journal that the copy would lose.
    """
    for suffix in ("-wal", "-journal"):
        pending = source.with_name(source.name + suffix)
        if pending.is_file() and pending.stat().st_size:
            raise UnreadableDatabaseError(
                str(source),
                f"has unfinished changes in {pending.name}: expected a database that is closed;"
                " open and close it once with sqlite3",
            )
    check_database(source)
    with source.open("rb") as content, replace_file(path) as file:
        shutil.copyfileobj(content, file)


def read_descriptions(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Return the texts of a folder by table, which is the name of a file, and by column:

        {"ship": {"tons": {"description": "gross tonnage", "values": "0: not known"}}}

    Raises:
        InputError: a file is no CSV, or has no column of names.
    """
    return {file.stem.strip(): _read_table(file) for file in list_files(folder, "*.csv")}


def _read_table(file: Path) -> dict[str, dict[str, str]]:
    """Return the columns of a table. BIRD's rows may be too short or too long, and Windows-1252."""
    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("cp1252", errors="replace")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    columns = {}
    try:
        rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
        if _COLUMN not in rows.fieldnames:
            raise InputError(f"{file}: expected CSV with {_COLUMN}, found {rows.fieldnames!r:.200}")
        for row in rows:
            if column := (row[_COLUMN] or "").strip():
                texts = {key: (row.get(field) or "").strip() for key, field in _TEXTS.items()}
                columns[column] = {key: text for key, text in texts.items() if text}
    except csv.Error as error:
        raise InputError(f"{file}: line {rows.line_num}: expected CSV: {error}") from error
    return columns


# A database from SQL text: untrusted statements fill an empty database within limits.
#
# It has the same bytes on every machine and every day, with any version of SQLite.

# Triggers and virtual tables are not allowed: they would run when the file is settled.
_ALLOWED_ACTIONS = {
    getattr(sqlite3, f"SQLITE_{action}")
    for action in (
        "CREATE_TABLE",
        "CREATE_INDEX",
        "CREATE_VIEW",
        "ALTER_TABLE",
        "REINDEX",
        "DROP_TABLE",
        "DROP_INDEX",
        "DROP_VIEW",
        "INSERT",
        "UPDATE",
        "DELETE",
        "SELECT",
        "READ",
        "RECURSIVE",
    )
}
# The first and last statements of dumps have no effect: the whole text is one transaction.
_PASSED_OVER = {
    (sqlite3.SQLITE_TRANSACTION, "begin"),
    (sqlite3.SQLITE_TRANSACTION, "commit"),
    (sqlite3.SQLITE_PRAGMA, "foreign_keys"),
}
_CHANGING_FUNCTIONS = RANDOM_FUNCTIONS | LIBRARY_FUNCTIONS


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """The limits of the text of one database, as in `answerkey.engines.sqlite.guard.Limits`."""

    max_text_bytes: int = 200_000_000
    max_steps: int = 500_000_000
    max_heap_bytes: int = 1 << 30
    max_seconds: int = 300


class _TextExecution:
    def __init__(
        self, connection: sqlite3.Connection, limits: BuildLimits, now: str | None
    ) -> None:
        self._connection = connection
        self._now = now
        changing = _CHANGING_FUNCTIONS if now else _CHANGING_FUNCTIONS | NOW_KEYWORDS.keys()
        self._changing = sorted(changing)
        self._refused_functions = FORBIDDEN_FUNCTIONS | changing
        self._limits = limits
        self._bounds = BoundedExecution(connection, limits)
        self._is_begun = False
        self._refused = self._statement = ""  # the last refused call, the last started statement

    def run(self, text: str) -> bytes:
        connection = self._connection
        bound_memory(connection, self._limits)
        # The authorizer does not see functions in a DEFAULT, and some uses of a clock function are
        # harmless. So these functions are refused when they are called.
        for name in self._changing:
            connection.create_function(name, -1, partial(self._refuse, name))
        clock = Clock(connection, self._refuse, now=self._now)
        with contextlib.closing(clock), self._bounds:
            connection.set_authorizer(self._authorize)
            connection.set_trace_callback(self._note)
            connection.executescript(f"BEGIN;\n{text}")
            connection.set_trace_callback(None)
            connection.set_authorizer(None)
            connection.execute("COMMIT")
            self._statement = "its end"
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE rootpage").fetchone():
                raise ValueError("makes no table: expected CREATE TABLE and INSERT")
            return serialize_database(connection)

    def explain(self, error: Exception, sql_path: Path) -> InputError:
        """Return the error: the refused call, the exceeded limit, or SQLite's message; and where.
        Too much time is not the text's fault: another machine may be faster."""
        words = self._refused or str(error)
        bound = self._bounds.explain(error)
        if bound is not None:
            words = f"it takes too much: {bound[1]}"
        words = f"{words}; at or after: {self._statement.strip()[:80]}"
        if bound is None and not self._refused:
            words = f"{words}; expected SQL of SQLite; {_OTHERS}"
        if bound is not None and bound[0] is Reason.TIME_EXCEEDED:
            return InputError(f"{sql_path}: {words}")
        return UnreadableDatabaseError(str(sql_path), words)

    def _note(self, statement: str) -> None:
        self._statement = statement

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            is_allowed = (second or "").lower() not in self._refused_functions
        else:
            is_allowed = action in _ALLOWED_ACTIONS
        if (action, first) == (sqlite3.SQLITE_TRANSACTION, "BEGIN") and not self._is_begun:
            is_allowed = self._is_begun = True  # the transaction of `run`
        if not is_allowed and (action, (first or "").lower()) in _PASSED_OVER:
            return sqlite3.SQLITE_IGNORE
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    def _refuse(self, name: str, *_: Any) -> None:
        self._refused = f"not authorized: {name} would give another value in each build"
        raise ValueError(self._refused)


def build_database(
    sql_path: Path, limits: BuildLimits | None = None, *, now: str | None = None
) -> bytes:
    """Return the bytes of the SQLite file that the statements of a text file make, at the instant
    of its corpus, if it has one.

    Raises:
        UnreadableDatabaseError: names the file, the place and SQLite's words, if the text does not
            run, does more than fill a database, exceeds the limits, or makes no table.
        InputError: it takes more seconds than the limits.
    """
    limits = limits or BuildLimits()
    if (size_bytes := sql_path.stat().st_size) > limits.max_text_bytes:
        words = f"has {size_bytes} bytes, expected {limits.max_text_bytes}"
        raise UnreadableDatabaseError(str(sql_path), words)
    try:
        text = sql_path.read_bytes().decode("utf-8-sig")  # read_text would change line ends
    except UnicodeDecodeError as error:
        words = f"expected SQL as UTF-8 text: {error}"
        raise UnreadableDatabaseError(str(sql_path), words) from error
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(LAYOUT)
        execution = _TextExecution(connection, limits, now)
        try:
            return execution.run(text)
        except (sqlite3.Error, MemoryError, ValueError) as error:
            raise execution.explain(error, sql_path) from error


def build_in_process(
    source: Path, path: Path, limits: BuildLimits | None = None, *, now: str | None = None
) -> None:
    """Make the file of a database from its text, in a separate process: an endless statement can
    neither block nor kill the stage.

    Raises:
        InputError: as `build_database`; or the process was killed.
    """
    limits = limits or BuildLimits()
    if isinstance(
        run_alone(partial(_write_database, path=path, limits=limits, now=now), source), Died
    ):
        raise InputError(
            f"{source}: the process that made a database of it was ended: a single step takes"
            f" more than {limits.max_seconds} seconds, or the machine has not enough"
            " memory; make the database yourself, and put it beside the text as ID.sqlite"
        )


def _write_database(source: Path, *, path: Path, limits: BuildLimits, now: str | None) -> None:
    content = build_database(source, limits, now=now)
    with replace_database(path) as file:
        file.write(content)


# A database of another engine: its text, from which each machine builds it.


def read_text(path: Path) -> str:
    """Return the text of a database, without a byte order mark. Line ends of Windows become others
    if all are such; else they are a part of values.

    Raises:
        UnreadableDatabaseError: it is no UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # read_text would change line ends
    except UnicodeDecodeError as error:
        words = f"expected SQL as UTF-8 text: {error}"
        raise UnreadableDatabaseError(str(path), words) from error
    return text.replace("\r\n", "\n") if text.count("\r\n") == text.count("\n") else text


def find_settings(path: Path, engine: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a database: those of its corpus; where that says nothing, those of the
    first line of its text; and else the defaults of its engine.

    Raises:
        UnreadableDatabaseError: the first line is of another engine, or no UTF-8.
    """
    return {**DEFAULTS[engine], **_split_text(path, engine)[0], **settings}


def _split_text(path: Path, engine: str) -> tuple[dict[str, str], str]:
    try:
        return cut_head(read_text(path), engine)
    except UnreadableDatabaseError:
        raise
    except InputError as error:
        raise UnreadableDatabaseError(str(path), str(error)) from error


def write_database_text(
    source: Path, path: Path, engine: str, settings: Mapping[str, str], *, now: str | None
) -> None:
    """Write the text of a database with its engine and settings in the first line, and make sure
    that a database can be built from it.

    Raises:
        UnreadableDatabaseError: none can, with the words of the engine.
        InputError: the engine is not installed.
    """
    made_by = load_engine(engine)
    found, text = _split_text(source, engine)
    with replace_file(path) as file:
        clock = {NOW: now} if now else {}
        file.write((write_head(engine, {**found, **settings, **clock}) + text).encode())
    try:
        with made_by.open(path):
            made_by.read_schema(path)
    except (InputError, sqlite3.Error) as error:
        path.unlink()
        fault = error.fault if isinstance(error, UnreadableDatabaseError) else str(error)
        words = fault.replace(f"{path}: ", "").replace(str(path), path.name)
        raise UnreadableDatabaseError(str(source), words) from error
    except BaseException:
        path.unlink()
        raise

"""The statements of a dump, executed one by one by a role that may do nothing else.

What fails is told. A table of which rows are lost is left out as a whole: gold that asks it fails,
and has no wrong answer.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, LiteralString, cast

from answerkey.base.errors import InputError
from answerkey.engines.postgres.dump_text import DumpReader, Statement
from answerkey.intake.engines import first_line

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[object, ...]]
    Cursor = psycopg.Cursor[tuple[object, ...]]

FIRST_DATABASE = "loaded"  # which a dump fills that names none
OTHER_DATABASE = "postgres"  # which each server has, and a dump may fill
_TEMPLATES = ("template0", "template1")  # which a dump of a whole server names, too
_MAX_NOTES = 10  # of faults that concern no table
_CUT_OFF = (
    "the dump does not end with `-- PostgreSQL database dump complete`: if it was cut off, tables"
    " and rows are missing"
)

_NAME = r'(?:"(?:[^"]|"")+"|[^\s"(;.,]+)'
_TABLE = rf"(?P<name>{_NAME}(?:\s*\.\s*{_NAME})*)"
_FLAGS = re.IGNORECASE | re.DOTALL
_COPY_IN = re.compile(rf"COPY\s+{_TABLE}\s*(\([^)]*\))?\s*FROM\s+STDIN\b", _FLAGS)
_COPY = re.compile(rf"COPY\s+(?:\(|{_TABLE})", _FLAGS)
_CREATE_DATABASE = re.compile(rf"CREATE\s+DATABASE\s+(?P<name>{_NAME})", _FLAGS)
_ALTER_DATABASE = re.compile(rf"(ALTER\s+DATABASE\s+)(?P<name>{_NAME})(\s+(?:RE)?SET\s.*)", _FLAGS)
MAKES = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:UNLOGGED|FOREIGN|MATERIALIZED|RECURSIVE)\s+)*"
    rf"(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?{_TABLE}",
    _FLAGS,
)
# Without these statements a table has fewer rows, or others.
FILLS = re.compile(
    rf"(?:INSERT\s+INTO|UPDATE(?:\s+ONLY)?|DELETE\s+FROM(?:\s+ONLY)?)\s+{_TABLE}"
    rf"|ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?(?P<parent>{_NAME}(?:\.{_NAME})*)"
    r"\s+(?:ATTACH\s+PARTITION|ADD\s+COLUMN|ALTER\s+COLUMN\s+\S+\s+(?:SET\s+DATA\s+)?TYPE)\b",
    _FLAGS,
)
# What a dump asks for that is no part of its data: roles, who owns and who may read, other servers.
_OTHERS = (
    r"(?:CREATE|ALTER|DROP)\s+(?:ROLE|USER|GROUP|TABLESPACE|PUBLICATION|SUBSCRIPTION"
    r"|EVENT\s+TRIGGER|(?:OR\s+REPLACE\s+)?(?:TRUSTED\s+)?(?:PROCEDURAL\s+)?LANGUAGE)\b"
    r"|(?:CREATE|ALTER|DROP)\s+DATABASE\b|GRANT\b|REVOKE\b|ALTER\s+DEFAULT\s+PRIVILEGES\b|SECURITY\s+LABEL\b"
    r"|COMMENT\s+ON\s+(?:DATABASE|EXTENSION|ROLE|LANGUAGE|EVENT\s+TRIGGER)\b"
    r"|SET\s+(?:SESSION\s+AUTHORIZATION|ROLE)\b|RESET\s+SESSION\s+AUTHORIZATION\b"
    r"|UPDATE\s+pg_catalog\."
    r"|ALTER\s+[^;]*\sOWNER\s+TO\s+\S+\s*\Z"
)
_PASSED_OVER = re.compile(_OTHERS, _FLAGS)
# Without the value, which may be a key.
_OF_ROLE = re.compile(r"ALTER\s+(?:ROLE|USER)\s.*?\sSET\s+[^\s=]+", _FLAGS)
# What only a newer version knows, and what the template of a database has already.
_NO_FAULT = re.compile(
    r'role "[^"]*" does not exist|must be (?:owner|able to SET ROLE)'
    r'|unrecognized configuration parameter|schema "public" already exists'
)
_TRANSACTION = re.compile(
    r"(?:BEGIN|START\s+TRANSACTION|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE)\b", re.IGNORECASE
)
_GIVES_ROWS = re.compile(r"[\s(]*(?:SELECT|WITH|VALUES|TABLE|SHOW|EXPLAIN)\b", re.IGNORECASE)

# A table, and those that have its rows as well: its parents.
_FIND_TABLE = "SELECT to_regclass(%s)::oid"
_PARENTS = """
WITH RECURSIVE parents AS (
    SELECT %s::oid AS oid
    UNION SELECT inhparent FROM pg_inherits JOIN parents ON inhrelid = parents.oid)
SELECT format('%%I.%%I', nspname, relname) FROM parents JOIN pg_class USING (oid)
JOIN pg_namespace n ON n.oid = relnamespace ORDER BY 1"""
_COUNT_TABLES = """
SELECT count(*) FROM pg_class r JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p', 'f') AND nspname !~ '^pg_' AND nspname <> 'information_schema'"""


class DumpLoader:
    """Fills databases of a server by what a dump says.

    notes: what went wrong, and what of the dump is not taken.
    """

    def __init__(self, dump: Path, connect: Callable[[str], Connection]) -> None:
        """connect: to a database of the server, as the role that loads."""
        self.notes: list[str] = []
        self._dump = dump
        self._connect = connect
        self._names = [FIRST_DATABASE, OTHER_DATABASE]
        self._name = FIRST_DATABASE
        self._faults: dict[str, None] = {}  # in order
        self._not_made: dict[str, str] = {}
        self._lost: dict[object, tuple[str, str]] = {}  # in the database, by the number of a table
        self._connection = connect(FIRST_DATABASE)

    def load(self, file: BinaryIO) -> str:
        """Execute all of a dump; the name of the database that has its tables.

        Raises:
            InputError: it has commands of psql, tables of several databases, or none.
        """
        try:
            reader = DumpReader(file, self._dump, has_escapes=self._has_escapes)
            for statement in reader.read_statements():
                self._execute(statement, reader)
            self._end_database()
            if reader.is_headed and not reader.is_complete:
                self.notes.append(_CUT_OFF)
        finally:
            self._connection.close()
        faults = list(self._faults)
        self.notes += [f"{name} is left out: {words}" for name, words in self._not_made.items()]
        self.notes += [f"while the dump was loaded: {words}" for words in faults[:_MAX_NOTES]]
        if len(faults) > _MAX_NOTES:
            self.notes.append(f"while the dump was loaded: {len(faults) - _MAX_NOTES} more faults")
        filled = [name for name in self._names if self._has_tables(name)]
        if len(filled) != 1:
            words = f"has tables of {', '.join(filled)}" if filled else "makes no table"
            step = "; ".join(self.notes) or "pg_dump --dbname NAME writes one"
            raise InputError(f"{self._dump}: {words}: expected a dump of one database: {step}")
        return filled[0]

    def _has_escapes(self) -> bool:
        return self._connection.info.parameter_status("standard_conforming_strings") == "off"

    def _execute(self, statement: Statement, reader: DumpReader) -> None:
        if statement.command is not None:
            self._change_database(statement.text.decode(errors="replace"))
            return
        head = statement.text[:100_000].decode(errors="replace")
        if (found := _CREATE_DATABASE.match(head)) is not None:
            self._make_database(_unquote(found["name"]))
        elif (found := _ALTER_DATABASE.match(head)) is not None:
            name = _unquote(found["name"])
            name = name if name in self._names else self._name
            sql = f"{found[1]}{_quote(name)}{found[3]}"
            self._run(Statement(sql.encode(), statement.line), sql)
        elif (found := _COPY_IN.match(head)) is not None:
            self._copy_rows(statement, found["name"], reader)
        elif (found := _COPY.match(head)) is not None:
            words = "a dump reads and writes no file, and runs no program"
            self._lose(found["name"] or head[:50], f"COPY of line {statement.line}: {words}")
        elif (found := _OF_ROLE.match(head)) is not None:
            self.notes.append(f"not taken, since it is a role's own: {_shorten(found[0])}")
        elif not _PASSED_OVER.match(head):
            self._run(statement, head)

    def _run(self, statement: Statement, head: str) -> None:
        import psycopg

        sql = cast(LiteralString, statement.text)  # psycopg sends bytes as they are
        try:
            with self._keep_transaction(head), self._connection.cursor() as cursor:
                if _GIVES_ROWS.match(head):
                    _pass_rows(cursor, sql)
                else:
                    cursor.execute(sql)
        except psycopg.Error as error:
            self._note(error, statement, head)

    def _copy_rows(self, statement: Statement, name: str, reader: DumpReader) -> None:
        import psycopg

        sql = cast(LiteralString, statement.text)
        rows = reader.read_rows()
        try:
            with (
                self._keep_transaction(""),
                self._connection.cursor() as cursor,
                cursor.copy(sql) as copy,
            ):
                for chunk in rows:
                    copy.write(chunk)
        except psycopg.Error as error:
            self._check_connection(error)
            self._lose(name, f"its rows cannot be read: {first_line(error)}")
        for _ in rows:  # those behind a fault are no SQL
            pass

    @contextlib.contextmanager
    def _keep_transaction(self, head: str) -> Iterator[None]:
        """Let a fault within BEGIN and COMMIT cost one statement alone."""
        import psycopg

        status = self._connection.info.transaction_status
        if status != psycopg.pq.TransactionStatus.INTRANS or _TRANSACTION.match(head):
            yield
        else:
            with self._connection.transaction():
                yield

    def _note(self, error: psycopg.Error, statement: Statement, head: str) -> None:
        self._check_connection(error)
        words = first_line(error)
        if self._connection.info.transaction_status.name == "INERROR":
            raise InputError(f"{self._dump}: line {statement.line}: {words}") from error
        if (made := MAKES.match(head)) is not None:
            self._not_made.setdefault(made["name"], words)
        elif (filled := FILLS.match(head)) is not None:
            place = filled["name"] or filled["parent"]
            self._lose(place, f"line {statement.line} cannot be executed: {words}")
        elif not _NO_FAULT.search(words):
            self._faults[words] = None

    def _check_connection(self, error: psycopg.Error) -> None:
        if self._connection.closed:
            raise InputError(f"{self._dump}: its server has ended: {first_line(error)}") from error

    def _lose(self, name: str, words: str) -> None:
        """Note that rows of a table are lost. If there is none, the statement that did not make it
        is told already, or this one is all that is known of it."""
        try:
            found = self._connection.execute(_FIND_TABLE, [_clean(name)]).fetchone()
        except UnicodeEncodeError:  # client_encoding has no such letters
            found = None
        if found is not None and found[0] is not None:
            self._lost.setdefault(found[0], (name, words))
        else:
            self._not_made.setdefault(name, words)

    def _leave_out_lost(self) -> None:
        for number, (name, words) in self._lost.items():
            for (table,) in self._connection.execute(_PARENTS, [number]).fetchall():
                drop = f"DROP TABLE IF EXISTS {table} CASCADE"
                self._run(Statement(drop.encode(), 0), drop)
                whole = f"it has the rows of {name}, of which {words}"
                self._not_made.setdefault(str(table), words if table == name else whole)
                self._not_made[str(table)] += "; what is made of it is left out, too"
        self._lost.clear()

    def _make_database(self, name: str) -> None:
        """Make a database; its locale may not be here, so that it has the one of its server."""
        if name in self._names or name in _TEMPLATES:
            return
        with self._connect(FIRST_DATABASE) as connection:
            sql = f"CREATE DATABASE {_quote(name)}"
            connection.execute(sql.encode())
        self._names.append(name)

    def _change_database(self, name: str) -> None:
        if name in ("", "-"):  # another role
            return
        name = FIRST_DATABASE if name in _TEMPLATES else name
        self._end_database()
        self._make_database(name)
        self._connection.close()
        self._connection = self._connect(name)
        self._name = name

    def _end_database(self) -> None:
        if self._connection.info.transaction_status.name != "IDLE":
            raise InputError(f"{self._dump}: it ends within BEGIN and COMMIT: it was cut off")
        self._leave_out_lost()

    def _has_tables(self, name: str) -> bool:
        with self._connect(name) as connection:
            found = connection.execute(_COUNT_TABLES).fetchone()
        return found is not None and bool(found[0])


def _pass_rows(cursor: Cursor, sql: LiteralString) -> None:
    """Execute what gives rows, which a dump asks for their effect, and keep none of them."""
    import psycopg

    try:
        for _ in cursor.stream(sql):
            pass
    except psycopg.ProgrammingError as error:
        if error.sqlstate is not None:  # else it gives no rows
            raise


def _unquote(name: str) -> str:
    """
    >>> _unquote('"My ""db"" 2"'), _unquote("Ships")
    ('My "db" 2', 'ships')
    """
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _clean(name: str) -> str:
    return re.sub(r"\s*\.\s*", ".", name)


def _shorten(sql: str) -> str:
    return " ".join(sql.split())[:100]

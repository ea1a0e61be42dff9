"""Build databases of a server from texts: each once, under the hash of what it is made of.

A text is what pg_dump writes, or the same without its head. It is foreign: its statements are
executed one by one, by a role that may do nothing else, and what a dump says of roles, of other
servers and of files is passed over. A statement that fails ends the loading: a database without a
part of its rows would give wrong answers.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, LiteralString, NamedTuple, cast

import psycopg

from answerkey.base.errors import InputError
from answerkey.engines.postgres import privileges
from answerkey.engines.postgres.clock import Clock
from answerkey.engines.postgres.dump_text import DumpReader, Statement
from answerkey.engines.postgres.privileges import LOADER, READER, READERS
from answerkey.engines.postgres.server import Server, find_server, read_version
from answerkey.engines.postgres.settings import Settings
from answerkey.engines.postgres.variables import join_options
from answerkey.engines.schema import quote_name

Connection = psycopg.Connection[tuple[Any, ...]]

_LOAD_SECONDS = 600
_MAX_DATABASES = 500  # each takes 8 megabytes and what its rows take; the oldest one goes
# Of names in a server, which others may use, too.
_BUILT, _BASE, PRIVATE = "answerkey_built_", "answerkey_base_", "answerkey_private_"
_LAYOUT = "3"  # another one for a change of this file, so that all is built again
# ANALYZE reads 300 rows for each unit of its target. A table with more rows than it may read is
# sampled at random, and its plans, and the order of its rows, could differ between machines.
_ROWS_OF_TARGET, _MAX_TARGET = 300, 1000

_NAME = r'(?:"(?:[^"]|"")+"|[^\s"(;.,]+)'
_FLAGS = re.IGNORECASE | re.DOTALL
COPY_IN = re.compile(rf"COPY\s+{_NAME}(?:\s*\.\s*{_NAME})*\s*(\([^)]*\))?\s*FROM\s+STDIN\b", _FLAGS)
# What is no part of a database's tables: roles, owners, rights, other databases and servers.
PASSED_OVER = re.compile(
    r"(?:CREATE|ALTER|DROP)\s+(?:ROLE|USER|GROUP|TABLESPACE|PUBLICATION|SUBSCRIPTION|DATABASE"
    r"|EVENT\s+TRIGGER|POLICY|(?:OR\s+REPLACE\s+)?(?:TRUSTED\s+)?(?:PROCEDURAL\s+)?LANGUAGE)\b"
    r"|GRANT\b|REVOKE\b|ALTER\s+DEFAULT\s+PRIVILEGES\b|SECURITY\s+LABEL\b"
    r"|COMMENT\s+ON\s+(?:DATABASE|EXTENSION|ROLE|LANGUAGE|EVENT\s+TRIGGER|POLICY|SCHEMA)\b"
    r"|SET\s+(?:SESSION\s+AUTHORIZATION|ROLE)\b|RESET\s+SESSION\s+AUTHORIZATION\b"
    r"|UPDATE\s+pg_catalog\.|ALTER\s+[^;]*\sOWNER\s+TO\s+\S+\s*\Z"
    r"|ALTER\s+TABLE\s.*\sROW\s+LEVEL\s+SECURITY\s*\Z"
    r"|CREATE\s+SCHEMA\s+public\s*\Z",
    _FLAGS,
)
# What may fail, since no row depends on it: if one does, the statement that makes the row fails.
_MAY_FAIL = re.compile(
    r"(?:CREATE|ALTER|COMMENT\s+ON|DROP)\s+(?:OR\s+REPLACE\s+)?"
    r"(?:EXTENSION|FUNCTION|PROCEDURE|AGGREGATE|CONSTRAINT\s+TRIGGER|TRIGGER|RULE|OPERATOR|CAST"
    r"|TEXT\s+SEARCH|SERVER|FOREIGN|USER\s+MAPPING|STATISTICS|COLLATION)\b",
    _FLAGS,
)
_INSERT = re.compile(rb"INSERT\s+INTO\s+[^\s(]+\s*(?:\([^)]*\)\s*)?(?=VALUES\b)", re.IGNORECASE)
# A label of an enum is a number of the catalogs, which counts all that the server has made. Grouped
# rows come in the order of its hash, so that labels get numbers of their own, the same on every
# machine: even ones in their order, and odd ones if they are added later. Postgres compares even
# ones as numbers.
_MAKES_LABELS = re.compile(
    r"CREATE\s+TYPE\b.*\bAS\s+ENUM\b|ALTER\s+TYPE\b.*\bADD\s+(?P<added>VALUE)\b", _FLAGS
)
_FIRST_LABEL = 3_000_000_000
_NUMBER_LABELS = """
WITH last AS (SELECT greatest(max(oid::bigint), %s::bigint) / 2 * 2 AS number FROM pg_enum),
     made AS (SELECT oid, row_number() OVER (ORDER BY enumtypid, enumsortorder) AS rank
              FROM pg_enum WHERE oid < 3000000000::oid)
UPDATE pg_enum e SET oid = (last.number + 2 * made.rank + %s::boolean::int)::oid
FROM last, made WHERE e.oid = made.oid"""
_UNKNOWN_SETTING = "42704"  # SET of a setting that another version has
_CREATES_BODY = re.compile(
    r"(?:CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)|DO)\b", re.IGNORECASE
)
_CREATES_EXTENSION = re.compile(
    rf"CREATE\s+EXTENSION\s+(?:IF\s+NOT\s+EXISTS\s+)?(?P<name>{_NAME})"
    rf"(?:\s+WITH)?(?:\s+SCHEMA\s+(?P<schema>{_NAME}))?",
    _FLAGS,
)
# Of extensions that the wheel of Postgres has not: what columns often have as their default. Calls,
# each with its type and body.
_RANDOM_UUID = "uuid RETURN pg_catalog.gen_random_uuid()"
_STAND_INS = {
    "uuid-ossp": {
        "uuid_generate_v1()": _RANDOM_UUID,
        "uuid_generate_v1mc()": _RANDOM_UUID,
        "uuid_generate_v4()": _RANDOM_UUID,
    },
    "pgcrypto": {
        "gen_random_uuid()": _RANDOM_UUID,
        "gen_random_bytes(integer)": "bytea RETURN pg_catalog.uuid_send("
        "pg_catalog.gen_random_uuid())",
    },
}
_DENIED = re.compile(r"permission denied for function (\S+)")


class DumpError(sqlite3.DatabaseError):
    """A text that is no dump, or whose rows depend on more than itself."""


class ReadText(NamedTuple):
    """A text of SQL: its settings, and the hash of all of its bytes."""

    settings: Settings
    digest: str


def read_text(path: Path) -> ReadText:
    """Return the settings and the hash of a text.

    Raises:
        FileNotFoundError: there is no such file.
        DumpError: its first line has settings that are unknown.
    """
    status = path.stat()
    return _read_text(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _read_text(path: Path, _changed_ns: int, _size: int) -> ReadText:
    with path.open("rb") as file:
        line = file.readline().decode("utf-8-sig", errors="replace")
        try:
            settings = Settings.read(line, path)
        except InputError as error:
            raise DumpError(str(error)) from error
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ReadText(settings, digest)


@lru_cache(maxsize=1)
def _hash_base() -> str:
    parts = [_LAYOUT, read_version(), *privileges.write_base(), *privileges.write_roles()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def name_built(digest: str, now: str | None, settings: Settings, kind: str = "") -> str:
    """Return the name of the database that is built of a text at an instant."""
    parts = [digest, repr(now), settings.write(), _hash_base(), kind]
    return _BUILT + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def build_from_text(path: Path, now: str | None, *, kind: str = "") -> tuple[str, Settings]:
    """Return the name of the database of a text, which is built if it is not there, and its
    settings. Nobody may change this database.

    kind: "", or "reversed" for one whose tables store their rows in the reverse order.

    Raises:
        DumpError: the text is no dump, or its rows depend on the clock, and there is none.
    """
    text = read_text(path)
    now = text.settings.now or now
    name = name_built(text.digest, now, text.settings, kind)

    def load(connection: Connection) -> None:
        with path.open("rb") as file:
            for _ in load_statements(connection, file, path, Clock(now, text.settings.timezone)):
                pass
        if kind == "reversed":
            reverse_rows(connection)

    build_once(name, text.settings, now, load)
    return name, text.settings


class Definitions(NamedTuple):
    """What makes the tables and the views of a database, without rows."""

    statements: tuple[str, ...]
    views: tuple[str, ...]


def build_empty(path: Path, definitions: Definitions, settings: Settings, now: str | None) -> str:
    """Return the name of a database with tables and views, and without rows. It is built if it is
    not there, and nobody may change it.

    path: what errors name.
    """
    texts = [*definitions.statements, *definitions.views]
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    name = name_built(digest, now, settings, "empty")

    def load(connection: Connection) -> None:
        clock = Clock(now, settings.timezone)
        for number, text in enumerate(texts, 1):
            try:
                run_statement(connection, text.encode(), clock)
            except psycopg.Error as error:
                if connection.closed or not _may_fail(text, error):
                    raise _explain(error, Statement(text.encode(), number), path) from error

    build_once(name, settings, now, load)
    return name


def build_once(
    name: str, settings: Settings, now: str | None, load: Callable[[Connection], None]
) -> None:
    """Build a database unless it is there."""
    server = find_server()
    mark = server.folder / "used" / name
    mark.parent.mkdir(exist_ok=True)
    if mark.exists() and name in _KNOWN:
        os.utime(mark)
        return
    with server.hold(name):
        with server.connect() as connection:
            if not _has_database(connection, name):
                with server.hold("sweep"):  # two would drop one role at once
                    _sweep(server, connection, mark.parent)
                building = f"{PRIVATE}{server.number}_{name}"[:63]
                create_database(connection, building, settings, now)
                try:
                    _fill(server, building, settings, load)
                except BaseException:
                    connection.execute(f"DROP DATABASE {building} WITH (FORCE)")
                    raise
                connection.execute(f"ALTER DATABASE {building} RENAME TO {name}")
        mark.touch()
    _KNOWN.add(name)


_KNOWN: set[str] = set()  # databases that were there


def forget_known() -> None:
    """Forget which databases there are: the server was started again."""
    _KNOWN.clear()


def create_database(connection: Connection, name: str, settings: Settings, now: str | None) -> None:
    """Create a database without tables, with its clock."""
    server = find_server()
    with server.hold("base"):
        base = _find_base(server, connection, settings.collation)
    connection.execute(f"CREATE DATABASE {name} TEMPLATE {base} OWNER {LOADER}")
    connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
    connection.execute(f"GRANT CONNECT ON DATABASE {name} TO {READERS}")
    if now is not None:
        with server.connect(name) as inside:
            _run_all(inside, privileges.write_clock(now))


def _find_base(server: Server, connection: Connection, collation: str) -> str:
    name = _BASE + hashlib.sha256(f"{_hash_base()}{collation}".encode()).hexdigest()[:16]
    if _has_database(connection, name):
        return name
    found = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [LOADER])
    if found.fetchone() is None:
        closed = [privileges.CLOSE_DATABASES] if server.is_ours else []
        _run_all(connection, [*privileges.write_roles(), *closed])
    making = f"{PRIVATE}{server.number}_{name}"
    provider = f"LOCALE_PROVIDER builtin BUILTIN_LOCALE '{collation}' LOCALE 'C'"
    connection.execute(f"CREATE DATABASE {making} TEMPLATE template0 ENCODING UTF8 {provider}")
    with server.connect(making) as inside:
        _run_all(inside, privileges.write_base())
        inside.execute("VACUUM FREEZE")
    connection.execute(f"ALTER DATABASE {making} RENAME TO {name}")
    return name


def _fill(
    server: Server, name: str, settings: Settings, load: Callable[[Connection], None]
) -> None:
    with connect_loader(server, name, settings) as connection:
        load(connection)
    with server.connect(name) as connection:
        grant_reading(connection)
        connection.execute(privileges.HOLD_FUNCTIONS)
        if not server.is_ours:
            connection.execute(privileges.HOLD_STATISTICS)
        gather_statistics(connection)


def connect_loader(server: Server, name: str, settings: Settings) -> Connection:
    """Return a connection of the role that loads."""
    options = write_options(settings, {"statement_timeout": f"{_LOAD_SECONDS}s"})
    return server.connect(name, LOADER, options=options)


def write_options(settings: Settings, others: dict[str, str]) -> str:
    """Return the settings of a session as a connection takes them."""
    options = {
        "TimeZone": settings.timezone,
        "search_path": settings.search_path,
        "DateStyle": "ISO, MDY",
        "IntervalStyle": "postgres",
        "extra_float_digits": "1",
        "bytea_output": "hex",
        **others,
    }
    return join_options(options)


def _sweep(server: Server, connection: Connection, marks: Path) -> None:
    """Drop what ended processes have left, and the databases that were not used for longest."""
    names = [name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall()]
    for name in names:
        if name.startswith(PRIVATE) and not server.is_alive(_read_number(name, PRIVATE)):
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    roles = connection.execute("SELECT rolname FROM pg_roles").fetchall()
    for role in (role for (role,) in roles if role.startswith(READER)):
        if not server.is_alive(_read_number(role, READER)):
            connection.execute(f"DROP ROLE IF EXISTS {role}")
    built = [name for name in names if name.startswith(_BUILT)]
    if len(built) < _MAX_DATABASES:
        return
    used = {name: (marks / name).stat().st_mtime for name in built if (marks / name).exists()}
    for name in sorted(built, key=lambda name: used.get(name, 0.0))[: len(built) // 10]:
        try:
            connection.execute(f"DROP DATABASE {name}")
        except (psycopg.errors.ObjectInUse, psycopg.errors.InvalidCatalogName):
            continue
        (marks / name).unlink(missing_ok=True)


def _read_number(name: str, prefix: str) -> int:
    return int(name.removeprefix(prefix).partition("_")[0])


def _has_database(connection: Connection, name: str) -> bool:
    found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name])
    return found.fetchone() is not None


def _run_all(connection: Connection, statements: Sequence[str]) -> None:
    with connection.transaction():
        for statement in statements:
            connection.execute(statement)


def load_statements(
    connection: Connection, file: BinaryIO, path: Path, clock: Clock
) -> Iterator[Statement]:
    """Execute the statements of a text, and yield each that was executed.

    Raises:
        DumpError: one fails.
    """

    def has_escapes() -> bool:
        return connection.info.parameter_status("standard_conforming_strings") == "off"

    try:
        reader = DumpReader(file, path, has_escapes=has_escapes)
        for statement in reader.read_statements():
            if statement.command is not None:  # another database: there is one alone
                continue
            head = statement.text[:100_000].decode(errors="replace")
            try:
                if COPY_IN.match(head):
                    _copy_rows(connection, statement, reader)
                elif not PASSED_OVER.match(head):
                    _run_of_dump(connection, statement.text, clock)
            except psycopg.Error as error:
                if connection.closed or not _may_fail(head, error):
                    raise _explain(error, statement, path) from error
                continue
            yield statement
    except InputError as error:
        raise DumpError(str(error)) from error
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise DumpError(f"{path}: it ends within BEGIN and COMMIT: it was cut off")


def _run_of_dump(connection: Connection, text: bytes, clock: Clock) -> None:
    """Execute a statement of a dump. Before version 17 partitions had no identity, so an INSERT of
    an older dump may give one a value that a newer version asks to be meant."""
    try:
        run_statement(connection, text, clock)
    except psycopg.errors.GeneratedAlways:
        if (found := _INSERT.match(text)) is None:
            raise
        meant = b"%s OVERRIDING SYSTEM VALUE %s" % (found[0], text[found.end() :])
        run_statement(connection, meant, clock)


def run_statement(connection: Connection, text: bytes, clock: Clock) -> None:
    """Execute one statement with its clock."""
    sql = text.decode(errors="surrogateescape")
    try:
        _execute(connection, sql, clock)
    except psycopg.errors.FeatureNotSupported:
        stand_ins = _stand_in(sql)
        if not stand_ins:
            raise
        for statement in stand_ins:
            _execute(connection, statement, clock)


def _stand_in(sql: str) -> list[str]:
    """Return what makes the functions that defaults call of an extension that the server has not.
    A row that needs such a value is refused, since nobody may execute what they execute.

    >>> _stand_in('CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public')[0]
    'CREATE FUNCTION public.gen_random_uuid() RETURNS uuid RETURN pg_catalog.gen_random_uuid()'
    """
    found = _CREATES_EXTENSION.match(sql)
    if found is None:
        return []
    place = f"{found['schema']}." if found["schema"] else ""
    return [
        f"CREATE FUNCTION {place}{call} RETURNS {body}"
        for call, body in _STAND_INS.get(found["name"].strip('"').lower(), {}).items()
    ]


def _execute(connection: Connection, sql: str, clock: Clock) -> None:
    has_bodies = _CREATES_BODY.match(sql) is not None
    called = clock.call_clock(sql, has_bodies=has_bodies).encode(errors="surrogateescape")
    if connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
        with connection.transaction():
            connection.execute(cast(LiteralString, called))
        return
    connection.execute(cast(LiteralString, called))
    if (found := _MAKES_LABELS.match(sql)) is not None:
        with find_server().connect(connection.info.dbname) as superuser:
            superuser.execute(_NUMBER_LABELS, [_FIRST_LABEL, found["added"] is not None])


def _may_fail(head: str, error: psycopg.Error) -> bool:
    is_setting = error.sqlstate == _UNKNOWN_SETTING and head[:4].upper() == "SET "
    return is_setting or _MAY_FAIL.match(head) is not None


def _copy_rows(connection: Connection, statement: Statement, reader: DumpReader) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(cast(LiteralString, statement.text)) as copy,
    ):
        for chunk in reader.read_rows():
            copy.write(chunk)


def _explain(error: psycopg.Error, statement: Statement, path: Path) -> DumpError:
    words = str(error).strip().partition("\n")[0]
    found = _DENIED.search(words)
    is_clock_word = error.sqlstate == "22007"
    if (found and not privileges.is_forbidden(found[1])) or is_clock_word:
        words = (
            f"{words}: its rows would depend on when or where it is read: set the corpus's clock"
            " (corpora.NAME.now), or write the rows with pg_dump"
        )
    return DumpError(f"{path}: line {statement.line}: {words}")


# Schemas of the database itself (n), and its relations (r): partitions are a part of their table,
# and what an extension brings is no part of the database.
OWN_SCHEMAS = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
OWN_RELATIONS = f"""NOT r.relispartition AND {OWN_SCHEMAS}
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                  AND d.objid = r.oid AND d.deptype = 'e')"""
_GRANTED = f"""
SELECT n.nspname, r.relname, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE r.relkind IN ('r', 'p', 'v', 'm') AND {OWN_SCHEMAS} GROUP BY 1, 2"""
_STORED = f"""
SELECT format('%I.%I', n.nspname, r.relname),
       (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attgenerated = '')
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relkind = 'r' AND {OWN_SCHEMAS} ORDER BY r.oid"""
_MATERIALIZED = f"""
SELECT format('%I.%I', n.nspname, r.relname)
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relkind = 'm' AND {OWN_SCHEMAS} ORDER BY r.oid"""


def grant_reading(connection: Connection) -> None:
    """Let readers read the columns of all tables and views, and use the types and functions of all
    schemas. They may not read what Postgres adds to each row (ctid, xmin, tableoid), which depends
    on more than the rows."""
    schemas = connection.execute(f"SELECT n.nspname FROM pg_namespace n WHERE {OWN_SCHEMAS}")
    statements = [
        f"GRANT USAGE ON SCHEMA {quote_name(schema)} TO {READERS}"
        for (schema,) in schemas.fetchall()
    ]
    rows = connection.execute(_GRANTED).fetchall()
    statements += [
        f"GRANT SELECT ({', '.join(map(quote_name, columns))})"
        f" ON {quote_name(schema)}.{quote_name(table)} TO {READERS}"
        for schema, table, columns in rows
    ]
    _run_all(connection, statements)


def gather_statistics(connection: Connection) -> None:
    """Let the planner know the tables: from all of their rows, or from none, so that plans are the
    same on every machine."""
    connection.execute("VACUUM")
    tables = connection.execute(
        "SELECT format('%I.%I', n.nspname, r.relname), r.reltuples::bigint"
        " FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace"
        f" WHERE r.relkind IN ('r', 'm') AND {OWN_SCHEMAS} ORDER BY r.oid"
    ).fetchall()
    for target in (100, _MAX_TARGET):
        listed = [name for name, count in tables if count <= target * _ROWS_OF_TARGET]
        tables = [table for table in tables if table[0] not in {*listed}]
        if listed:
            connection.execute(f"SET default_statistics_target = {target}")
            connection.execute(f"ANALYZE {', '.join(listed)}")


def reverse_rows(connection: Connection) -> None:
    """Store the rows of each table in the reverse order."""
    connection.execute("SET session_replication_role = replica")  # no trigger, no foreign key
    for table, columns in connection.execute(_STORED).fetchall():
        if columns is None:
            continue
        with connection.transaction():
            connection.execute(f"CREATE TEMPORARY TABLE kept AS SELECT {columns} FROM ONLY {table}")
            connection.execute(f"DELETE FROM ONLY {table}")
            connection.execute(
                f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE"
                f" SELECT {columns} FROM kept ORDER BY ctid DESC"
            )
            connection.execute("DROP TABLE kept")
    connection.execute("RESET session_replication_role")
    refresh_views(connection)


def refresh_views(connection: Connection) -> None:
    """Compute the rows of materialized views again."""
    for (view,) in connection.execute(_MATERIALIZED).fetchall():
        connection.execute(f"REFRESH MATERIALIZED VIEW {view}")

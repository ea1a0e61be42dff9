"""DuckDB as an engine: databases that each machine builds from SQL text."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from answerkey.engines.cache import build_once
from answerkey.engines.database import Limits
from answerkey.engines.duckdb.database import (
    DuckDatabase,
    RefilledDuckDatabase,
    explain_reply,
)
from answerkey.engines.duckdb.messages import OK, Bounds, Spec
from answerkey.engines.duckdb.process import ask_alone, ask_shared
from answerkey.engines.duckdb.text import split_text
from answerkey.engines.engine import WHOLE_SAMPLE, Engine, RowSample, StoredTable, StoredTables
from answerkey.engines.names import DUCKDB
from answerkey.engines.schema import Schema, decode_schema
from answerkey.engines.settings import NOW, write_head
from answerkey.engines.tried import TypedRows, open_typed

# The bounds of building a database from its text.
_BUILD = Bounds(
    max_rows=1,
    max_value_bytes=1,
    max_answer_bytes=1,
    max_heap_bytes=4 << 30,
    max_cpu_s=1800,
)
# If DuckDB is not installed, this raises, and `load_engine` says which package is missing.
_VERSION = metadata.version("duckdb")
_BUILD_SECONDS = 2 * _BUILD.max_cpu_s
_FILE = "corpus.duckdb"  # its name is that of the catalogue, which an error may show
_MAX_REORDERED_BYTES = 400_000_000
_LAYOUT = 2  # raised if the same text gives another file


class DuckDBEngine:
    """DuckDB."""

    name = DUCKDB
    counts_steps = False

    def version(self) -> str:
        """Return the version of the package."""
        return _VERSION

    def open(
        self, path: Path, limits: Limits | None = None, *, now: str | None = None
    ) -> DuckDatabase:
        """Open a database for untrusted SQL. It is built if this machine has not built it.

        Raises:
            FileNotFoundError: there is no such file.
            sqlite3.DatabaseError: DuckDB refuses the text, or the text does what none may do.
        """
        limits = limits or Limits()
        text = _read_text(path)
        return DuckDatabase(path, limits, _find_spec(path, text, limits, now))

    def read_schema(self, path: Path) -> Schema:
        """Return the tables and views of a database."""
        return _read_schema(path, _read_text(path).sha256)

    def open_reordered(
        self, path: Path, limits: Limits | None, *, now: str | None, folder: Path | None
    ) -> DuckDatabase | None:
        """Open a copy of a database that stores the rows of each table in the reverse order; None
        if it is too large. The copy is gone when it is closed."""
        limits = limits or Limits()
        text = _read_text(path)
        spec = _find_spec(path, text, limits, now)
        if Path(spec.path).stat().st_size > _MAX_REORDERED_BYTES:
            return None
        copies = tempfile.mkdtemp(prefix="answerkey-", dir=folder)
        copy = str(Path(copies) / _FILE)
        try:
            request = ("build_reordered", _BUILD, copy, spec.path, text.text, text.now or now)
            _read_result(path, ask_alone(request, _BUILD_SECONDS))
        except BaseException:
            shutil.rmtree(copies, ignore_errors=True)
            raise
        return CopiedDuckDatabase(path, limits, spec._replace(path=copy), copies)

    def read_tables(
        self, path: Path, *, now: str | None, sample: RowSample = WHOLE_SAMPLE
    ) -> StoredTables:
        """Take a database apart: all of its rows."""
        text = _read_text(path)
        spec = _find_spec(path, text, Limits(), now)
        request = ("read_tables", _BUILD, 0, spec, text.text)
        statements, views, tables = _read_result(path, ask_alone(request, _BUILD_SECONDS))
        return StoredTables(
            tuple(statements),
            tuple(views),
            tuple(
                StoredTable(name, rows, frozenset(generated), allowed)
                for name, rows, generated, allowed in tables
            ),
        )

    def write_tables(
        self,
        path: Path,
        stored: StoredTables,
        rows: Mapping[str, Iterable[Sequence[Any]]],
        *,
        now: str | None,
    ) -> bytes:
        """Return the text of a database with the same tables and views, and other rows in the order
        in which they are given. path: the database that was taken apart."""
        text = _read_text(path)
        given = {
            name: [tuple(row) for row in rows_of_table] for name, rows_of_table in rows.items()
        }
        request = ("write_tables", _BUILD, text.settings, list(stored.statements), given)
        inserts = _read_result(path, ask_shared(request, _BUILD_SECONDS))
        lines = [
            write_head(DUCKDB, text.settings | ({NOW: text.now} if text.now else {})),
            *(f"{statement};" for statement in stored.statements),
            *inserts,
            *(f"{statement};" for statement in stored.views),
        ]
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines).encode()

    def open_refilled(
        self, path: Path, stored: StoredTables, limits: Limits, *, now: str | None
    ) -> RefilledDuckDatabase:
        """Open a database with the tables and views, and without rows."""
        spec = Spec(
            "",
            _read_text(path).settings,
            now,
            limits.max_heap_bytes,
            stored.statements,
            stored.views,
        )
        return RefilledDuckDatabase(path, limits, spec)

    def open_tried(self, path: Path, stored: StoredTables, *, now: str | None) -> TypedRows:
        """Open the tables without rows, to try the rows of variants."""
        return open_typed(self, path, stored, now=now)


ENGINE: Engine = DuckDBEngine()


class CopiedDuckDatabase(DuckDatabase):
    """A database whose file is gone when it is closed."""

    def __init__(self, path: Path, limits: Limits, spec: Spec, folder: str) -> None:
        super().__init__(path, limits, spec)
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def close(self) -> None:
        super().close()
        self._remove()


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a database, its settings, and its hash."""

    text: str
    settings: dict[str, str]
    now: str | None
    sha256: str


@lru_cache(maxsize=4)
def _read_version_of(path: str, version: tuple[int, ...]) -> _Text:
    content = Path(path).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError(f"Corrupt database: {path}: it is not UTF-8") from error
    settings, statements = split_text(text, path)
    now = settings.pop(NOW, None)
    return _Text(statements, settings, now, hashlib.sha256(content).hexdigest())


def _read_text(path: Path) -> _Text:
    if not path.is_file():
        raise FileNotFoundError(f"No database at {path}: run `dvc repro download_databases`")
    status = path.stat()
    version = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return _read_version_of(str(path.absolute()), version)


@lru_cache(maxsize=16)
def _read_schema(path: Path, sha256: str) -> Schema:
    """Return the schema of a text. sha256: that of the text, which may change."""
    text = _read_text(path)
    request = ("describe", _BUILD, text.text, text.settings)
    tables = _read_result(path, ask_alone(request, _BUILD_SECONDS))
    return decode_schema(json.loads(tables))


def _find_spec(path: Path, text: _Text, limits: Limits, now: str | None) -> Spec:
    """Return how the database is opened, after it was built."""
    built_at = text.now or now
    made_of = [_LAYOUT, _VERSION, text.settings, built_at, text.sha256]
    name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:40]

    def build(folder: Path) -> None:
        folder.mkdir()
        request = ("build", _BUILD, str(folder / _FILE), text.text, text.settings, built_at)
        _read_result(path, ask_alone(request, _BUILD_SECONDS))

    folder = build_once(f"duckdb/{name}", build)
    return Spec(str(folder / _FILE), text.settings, now, limits.max_heap_bytes)


def _read_result(path: Path, reply: Any) -> Any:
    kind, *values = reply
    if kind == OK:
        return values[0]
    raise explain_reply(path, kind, *values)

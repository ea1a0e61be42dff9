"""A database of SQLite with the tables, keys and rows of another engine's, and what was lost.

A value that SQLite has not is the nearest that it has: a decimal is a float, a boolean 0 or 1, a
time text as SQLite's own functions write it, what is nested JSON text. Indexes, defaults and checks
are left out: they change no answer.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from answerkey.intake.engines import DUCKDB, Engine, EngineError, Row, SourceTable, is_nested
from answerkey.sqlite.files import LAYOUT
from answerkey.sqlite.schema import fold_name, quote_name

Name = tuple[str, str]  # of a table: its schema, and itself
Value = int | float | str | bytes | None

_LEAST, _MOST = -(2**63), 2**63 - 1
_EXACT_DIGITS = 15  # that every float holds

ROUNDED = "rounded, since neither a float nor a 64-bit integer has so many digits"
NO_JSON = "null in it for NaN or infinity, which JSON has not"
# A text, or what no JSON has.
_JSON_PART = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.DOTALL)
NO_NUMBER = "NULL, since it is no number (NaN)"

INTEGER, REAL, TEXT, BLOB, BOOLEAN = ("INTEGER", "REAL", "TEXT", "BLOB", "BOOLEAN")
TIMES = DATE, TIME, DATETIME = ("DATE", "TIME", "DATETIME")

_Type = exp.DataType.Type
_DECLARED = {
    **dict.fromkeys(exp.DataType.INTEGER_TYPES, INTEGER),
    **dict.fromkeys(exp.DataType.REAL_TYPES, REAL),
    **dict.fromkeys(exp.DataType.TEMPORAL_TYPES, DATETIME),
    **dict.fromkeys((_Type.DATE, _Type.DATE32), DATE),
    **dict.fromkeys((_Type.TIME, _Type.TIMETZ), TIME),
    **dict.fromkeys((_Type.BLOB, _Type.TINYBLOB, _Type.MEDIUMBLOB, _Type.LONGBLOB), BLOB),
    **dict.fromkeys((_Type.BINARY, _Type.VARBINARY), BLOB),
    _Type.BOOLEAN: BOOLEAN,
    _Type.BIT: TEXT,
    _Type.YEAR: INTEGER,
}


def declare_type(kind: str, dialect: str) -> str:
    """Return the type that a column of SQLite is declared with, for one of another engine.

    >>> [declare_type(kind, "postgres") for kind in ("bigint", "numeric(10,2)", "numeric(12,0)")]
    ['INTEGER', 'REAL', 'INTEGER']
    >>> declare_type("timestamp with time zone", "postgres"), declare_type("integer[]", "postgres")
    ('DATETIME', 'TEXT')

    A decimal is REAL: in a NUMERIC column 12.00 would be the integer 12, and 12 / 5 would be 2.
    """
    try:
        built = exp.DataType.build(kind, dialect=dialect, udt=True)
    except SqlglotError:
        return TEXT
    if built.this == _Type.DECIMAL and [part.name for part in built.expressions[1:]] == ["0"]:
        return INTEGER
    if built.this == _Type.BIT and dialect == "mysql":
        return INTEGER
    return _DECLARED.get(built.this, TEXT)


# --- values


def store_value(value: Any, lose: Callable[[str], None]) -> Value:
    """Return a value as SQLite holds it. lose: is told what it loses on the way.

    >>> lost = []
    >>> [store_value(each, lost.append) for each in (True, Decimal("1.50"), date(2024, 2, 29))]
    [1, 1.5, '2024-02-29']
    >>> store_value([1, None], lost.append), store_value(2**64 + 1, lost.append), len(lost)
    ('[1,null]', 1.8446744073709552e+19, 1)
    """
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, int):  # as a boolean is
        return int(value) if _LEAST <= value <= _MOST else _round(value, lose)
    if isinstance(value, Decimal):
        return _store_decimal(value, lose)
    if isinstance(value, float):
        if math.isnan(value):
            lose(NO_NUMBER)
            return None
        return value
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return write_time(value.isoformat(sep=" "))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return write_time(value.isoformat())
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return str(value)


def _store_decimal(value: Decimal, lose: Callable[[str], None]) -> Value:
    """An integer, if it has no decimals and 64 bits hold it, or a float."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # it is no number, or infinite
        return store_value(float(value), lose)
    if exponent == 0 and _LEAST <= value <= _MOST:
        return int(value)
    return float(value) if len(digits) <= _EXACT_DIGITS else _round(value, lose)


def _round(value: int | Decimal, lose: Callable[[str], None]) -> float:
    rounded = float(value)
    if Decimal(repr(rounded)) != value:
        lose(ROUNDED)
    return rounded


def write_time(text: str) -> str:
    """Return a time as SQLite's functions write it: without a zone, which is UTC, or empty digits.

    >>> write_time("2024-02-29 10:00:00.500000+00"), write_time("10:00:00"), write_time("infinity")
    ('2024-02-29 10:00:00.5', '10:00:00', 'infinity')
    """
    text = re.sub(r"(?<=\d)T(?=\d)", " ", text)
    text = re.sub(r"(?<=\d)(\+00(:00)?|Z)\Z", "", text)
    return re.sub(r"(?<=:\d\d)\.(\d*?)0*\Z", lambda found: "." * bool(found[1]) + found[1], text)


# --- names


def name_tables(tables: Sequence[SourceTable], schemas: Sequence[str]) -> dict[Name, str]:
    """Return the name in SQLite of each table: its own, or, if a schema that is looked in before
    has one of that name, in any case, with its schema before it.

    >>> tables = [SourceTable("sales", "Orders"), SourceTable("public", "orders")]
    >>> name_tables(tables, ["public", "sales"])
    {('public', 'orders'): 'orders', ('sales', 'Orders'): 'sales_Orders'}
    """
    names: dict[Name, str] = {}
    taken: set[str] = set()
    for table in sorted(tables, key=lambda table: schemas.index(table.schema)):
        wanted = [table.name, f"{table.schema}_{table.name}"]
        names[table.schema, table.name] = _find_free(wanted, taken)
    return names


def name_columns(columns: Sequence[str]) -> list[str]:
    """Return the name in SQLite of each column: SQLite takes a and A for one.

    >>> name_columns(["a", "A", "b"])
    ['a', 'A_2', 'b']
    """
    taken: set[str] = set()
    return [_find_free([column], taken) for column in columns]


def _find_free(wanted: list[str], taken: set[str]) -> str:
    number = 1
    names = [name for name in wanted if not fold_name(name).startswith("sqlite_")]
    while not names or fold_name(names[0]) in taken:
        names = names[1:]
        number += not names
        if not names:
            names = [f"{wanted[-1]}_{number}"]
            names = [f"table_{name}" if name.startswith("sqlite_") else name for name in names]
    taken.add(fold_name(names[0]))
    return names[0]


# --- the file


@dataclass(slots=True)
class ConvertedTable:
    """What became of a table.

    columns: its names, its type there and the declared one, of each column.
    lost: what of its keys, values and names is not as it was.
    guessed, remarks, warnings: how it was read, as `SourceTable` has it.
    kind: table, view, or a table with the rows of a view.
    """

    place: Name
    name: str
    columns: list[tuple[str, str, str]]
    kind: str = "table"
    rows: int = 0
    keys: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Converter:
    """A new file of SQLite that takes one table after the other."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self.engine = engine
        self.path = path
        self.names = name_tables(engine.tables, engine.schemas)
        self.converted: dict[Name, ConvertedTable] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(f"{LAYOUT}; PRAGMA synchronous = OFF;")

    def copy_tables(self) -> None:
        """Take over all tables that are no views."""
        for table in self.engine.tables:
            if table.view_sql is None:
                self.copy_table(table)

    def copy_table(self, table: SourceTable, *, kind: str = "table") -> ConvertedTable | None:
        """Take over a table, or the rows of a view, with its keys; without those that its rows
        break, which SQLite may compare otherwise. One that its engine cannot read, or that has
        more columns than SQLite takes, is left out."""
        key = (table.schema, table.name)
        most = self._connection.getlimit(sqlite3.SQLITE_LIMIT_COLUMN)
        if len(table.columns) > most:
            words = f"it has {len(table.columns):,} columns, and a table of SQLite at most {most:,}"
            self.engine.notes.append(f"{'.'.join(key)} is left out: {words}")
            return None
        names = name_columns([column.name for column in table.columns])
        declared = [declare_type(column.type, self.engine.dialect) for column in table.columns]
        types = [column.type for column in table.columns]
        done = ConvertedTable(key, self.names[key], list(zip(names, types, declared, strict=True)))
        done.kind, done.guessed = kind, table.guessed
        done.remarks, done.warnings = table.remarks, table.warnings
        if done.name != table.name:
            done.lost.append(f"its name {table.schema}.{table.name}: a name stands once in SQLite")
        done.lost += [
            f"the name of column {column.name}: it is {name}, since SQLite takes both for one"
            for column, name in zip(table.columns, names, strict=True)
            if column.name != name
        ]
        try:
            self._fill(table, done, with_keys=True)
        except sqlite3.IntegrityError as error:
            done.keys.clear()
            done.lost = [words for words in done.lost if "refer" not in words]
            done.lost.append(f"its keys, which its rows break in SQLite: {error}")
            self._fill(table, done, with_keys=False)
        except EngineError as error:
            self.engine.notes.append(f"{'.'.join(key)} is left out: {error}")
            return None
        if table.rows not in (None, done.rows):
            raise RuntimeError(f"{'.'.join(key)}: {table.rows} rows there, and {done.rows} here")
        self.converted[key] = done
        return done

    def _fill(self, table: SourceTable, done: ConvertedTable, *, with_keys: bool) -> None:
        parts = [
            f"{quote_name(name)} {kind}{' NOT NULL' * (with_keys and column.is_not_null)}"
            for column, (name, _, kind) in zip(table.columns, done.columns, strict=True)
        ]
        if with_keys:
            parts += self._write_keys(table, done)
        connection, lost = self._connection, [Counter[str]() for _ in done.columns]
        connection.execute("BEGIN")
        try:
            connection.execute(f"CREATE TABLE {quote_name(done.name)} ({', '.join(parts)})")
            marks = ", ".join("?" * len(done.columns))
            rows = self._store_rows(table, done, lost)
            insert = f"INSERT INTO {quote_name(done.name)} VALUES ({marks})"
            done.rows = connection.executemany(insert, rows).rowcount
            done.rows = max(done.rows, 0)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        for (name, _, _), counts in zip(done.columns, lost, strict=True):
            done.lost += [f"{count} of {name}: {why}" for why, count in sorted(counts.items())]

    def _store_rows(
        self, table: SourceTable, done: ConvertedTable, lost: list[Counter[str]]
    ) -> Iterator[Row]:
        losers = [partial(_count_loss, counts) for counts in lost]
        dialect = self.engine.dialect
        writers = [_choose_writer(kind, declared, dialect) for _, kind, declared in done.columns]
        for row in self.engine.read_rows(table):
            yield tuple(
                write(value, lose) for write, value, lose in zip(writers, row, losers, strict=True)
            )

    def _write_keys(self, table: SourceTable, done: ConvertedTable) -> list[str]:
        names = (column.name for column in table.columns)
        own = dict(zip(names, (name for name, _, _ in done.columns), strict=True))

        def quote(names: Sequence[str], known: dict[str, str]) -> str:
            return ", ".join(quote_name(known[name]) for name in names)

        parts = []
        if table.primary_key:
            parts.append(f"PRIMARY KEY ({quote(table.primary_key, own)})")
        parts += [f"UNIQUE ({quote(names, own)})" for names in table.unique]
        done.keys = list(parts)
        others = {(each.schema, each.name): each for each in self.engine.tables}
        for reference in table.references:
            place = (reference.schema, reference.table)
            if place not in others:
                words = f"that {', '.join(reference.columns)} refer to {'.'.join(place)}"
                done.lost.append(f"{words}, which is not here")
                continue
            columns = [column.name for column in others[place].columns]
            known = dict(zip(columns, name_columns(columns), strict=True))
            parts.append(
                f"FOREIGN KEY ({quote(reference.columns, own)}) REFERENCES"
                f" {quote_name(self.names[place])} ({quote(reference.referred, known)})"
            )
            done.keys.append(parts[-1])
        return parts

    def make_view(self, table: SourceTable, sql: str) -> None:
        """Make a view by SQL of SQLite.

        Raises:
            sqlite3.Error: SQLite cannot read it.
        """
        key, names = (table.schema, table.name), name_columns([c.name for c in table.columns])
        columns = ", ".join(map(quote_name, names))
        connection, name = self._connection, self.names[key]
        connection.execute(f"CREATE VIEW {quote_name(name)} ({columns}) AS {sql}")
        try:
            (rows,) = connection.execute(f"SELECT count(*) FROM {quote_name(name)}").fetchone()
        except sqlite3.Error:
            self.drop_view(table)
            raise
        types = [(name, column.type, "") for name, column in zip(names, table.columns, strict=True)]
        self.converted[key] = ConvertedTable(key, name, types, "view", rows)

    def drop_view(self, table: SourceTable) -> None:
        """Take a view away that does not give the rows of the original."""
        self._connection.execute(f"DROP VIEW {quote_name(self.names[table.schema, table.name])}")
        self.converted.pop((table.schema, table.name), None)

    def close(self) -> None:
        """Finish the file."""
        with closing(self._connection):
            self._connection.execute("VACUUM")


def _count_loss(counts: Counter[str], why: str) -> None:
    counts[why] += 1


def _choose_writer(
    kind: str, declared: str, dialect: str
) -> Callable[[Any, Callable[[str], None]], Value]:
    if dialect == DUCKDB and is_nested(kind):
        return _store_json
    return _store_time if declared in TIMES else store_value


def _store_json(value: Any, lose: Callable[[str], None]) -> Value:
    """JSON as SQLite reads it: DuckDB writes NaN and Infinity into it."""
    if not isinstance(value, str):
        return store_value(value, lose)
    written = _JSON_PART.sub(lambda part: "null" if part[1] else part[0], value)
    if written != value:
        lose(NO_JSON)
    return written


def _store_time(value: Any, lose: Callable[[str], None]) -> Value:
    return write_time(value) if isinstance(value, str) else store_value(value, lose)

"""A database of SQLite with the tables, keys and rows of another engine's, and what was lost.

A value that SQLite has not is the nearest that it has: a decimal is a float, a boolean 0 or 1, a
time text as SQLite's own functions write it, what is nested JSON text. A column with a number that
neither a float nor a 64-bit integer holds is text. Indexes, defaults and checks are left out: they
change no answer.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from answerkey.engines.column_texts import write_has_texts
from answerkey.engines.schema import fold_name, quote_name
from answerkey.engines.sqlite.files import LAYOUT
from answerkey.intake.engines import DUCKDB, Engine, EngineError, Row, SourceTable, is_nested

Name = tuple[str, str]  # of a table: its schema, and itself
Value = int | float | str | bytes | None

_LEAST, _MOST = -(2**63), 2**63 - 1

NO_JSON = "null in it for NaN or infinity, which JSON has not"
# A text, or what no JSON has.
_JSON_PART = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.DOTALL)
DIGITS = "its numbers are text, since no number of SQLite has so many digits"
NO_NUMBER = "NULL, since it is no number (NaN)"
NO_SIGN = "0 without its sign, since SQLite has no -0"
NO_TIME = "no time that functions of SQLite read: text as it is there"

INTEGER, REAL, TEXT, BLOB, BOOLEAN = ("INTEGER", "REAL", "TEXT", "BLOB", "BOOLEAN")
NUMBERS = (INTEGER, REAL)
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
    **dict.fromkeys((_Type.MONEY, _Type.SMALLMONEY), TEXT),
    _Type.BOOLEAN: BOOLEAN,
    _Type.BIT: TEXT,
    _Type.YEAR: INTEGER,
}


# Times of DuckDB with nanoseconds, which sqlglot does not read.
_NANOSECONDS = {"TIMESTAMPTZ_NS": DATETIME, "TIME_NS": TIME}
_NO_SCALE = re.compile(r"numeric\(\d+,-\d+\)")


def declare_type(kind: str, dialect: str) -> str:
    """Return the type that a column of SQLite is declared with, for one of another engine.

    >>> [declare_type(kind, "postgres") for kind in ("bigint", "numeric(10,2)", "numeric(12,0)")]
    ['INTEGER', 'REAL', 'INTEGER']
    >>> declare_type("timestamp with time zone", "postgres"), declare_type("integer[]", "postgres")
    ('DATETIME', 'TEXT')

    A decimal is REAL: in a NUMERIC column 12.00 would be the integer 12, and 12 / 5 would be 2.
    """
    if dialect == DUCKDB and kind in _NANOSECONDS:
        return _NANOSECONDS[kind]
    if kind == "oid" or _NO_SCALE.fullmatch(kind):  # of Postgres, which sqlglot does not read
        return INTEGER
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
    >>> store_value([Decimal("1.50"), None], lost.append), store_value(2**64 + 1, lost.append)
    ('[1.50,null]', '18446744073709551617')
    >>> store_value(float("nan"), lost.append), len(lost)
    (None, 1)
    """
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, int):  # as a boolean is
        return int(value) if _LEAST <= value <= _MOST else _store_digits(value)
    if isinstance(value, Decimal):
        return _store_decimal(value, lose)
    if isinstance(value, float):
        if math.isnan(value):
            lose(NO_NUMBER)
            return None
        if value == 0 and math.copysign(1, value) < 0:
            lose(NO_SIGN)
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
        return _write_json(value, lose)
    return str(value)


def _store_decimal(value: Decimal, lose: Callable[[str], None]) -> Value:
    """An integer, if it has no decimals and 64 bits hold it; a float; or text, if that is not the
    same number."""
    if not value.is_finite():
        return store_value(float(value), lose)
    if value.as_tuple().exponent == 0 and _LEAST <= value <= _MOST:
        return int(value)
    return float(value) if _is_float(value) else _store_digits(value)


def _is_float(value: Decimal | int) -> bool:
    """Whether a float has all digits of a number.

    >>> _is_float(Decimal("0.10")), _is_float(2**53 + 1)
    (True, False)
    """
    try:
        return Decimal(repr(float(value))) == value
    except OverflowError:
        return False


def _store_digits(value: Decimal | int) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _write_json(value: Any, lose: Callable[[str], None]) -> str:
    """Return JSON of a list, tuple or dictionary: numbers with all of their digits, bytes as
    hexadecimal digits.

    >>> _write_json([Decimal("12345678901234567890.10"), float("inf"), b"\\xaa"], print)
    '[12345678901234567890.10,9e999,"aa"]'
    """
    if isinstance(value, list | tuple):
        return f"[{','.join(_write_json(each, lose) for each in value)}]"
    if isinstance(value, dict):
        pairs = ((json.dumps(str(key), ensure_ascii=False), each) for key, each in value.items())
        return f"{{{','.join(f'{key}:{_write_json(each, lose)}' for key, each in pairs)}}}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float | Decimal):
        if math.isnan(value):
            lose(NO_NUMBER)
            return "null"
        if math.isinf(value):  # JSON has no word for it; SQLite reads and writes it so
            return "9e999" if value > 0 else "-9e999"
        return repr(value) if isinstance(value, float) else _store_digits(value)
    stored = store_value(value, lose)
    return json.dumps(stored.hex() if isinstance(stored, bytes) else stored, ensure_ascii=False)


def read_answer(rows: Sequence[Row], here: Sequence[Row]) -> list[tuple[Value, ...]]:
    """Return the rows of another engine as they are compared with those of SQLite.

    An average or a quotient is a decimal of many digits there, and a float here: so is a decimal
    with a fraction in a column that has floats here. A whole number is compared digit by digit:

    >>> there = [(Decimal("0.33333333333333333333"), 2**60 + 1)]
    >>> read_answer(there, [(0.3333333333333333, 2.0**60)])
    [(0.3333333333333333, '1152921504606846977')]

    A column of numbers that are text here, since one of them is too long, is text:

    >>> read_answer([(3,), (2**64 + 1,)], [("3",), ("18446744073709551617",)])
    [('3',), ('18446744073709551617',)]
    """

    def find(columns: Iterable[Sequence[Any]], kind: type) -> set[int]:
        return {
            place
            for place, values in enumerate(columns)
            if any(isinstance(value, kind) for value in values)
        }

    stored = [[store_value(value, lambda _: None) for value in row] for row in rows]
    has_float, has_text = (find(zip(*here, strict=True), kind) for kind in (float, str))
    has_text &= find(zip(*stored, strict=True), str)

    def read(place: int, value: Any, simple: Value) -> Value:
        if not isinstance(value, Decimal | int) or not math.isfinite(value):
            return simple
        if place in has_float and not _is_float(value):
            return _store_digits(value) if value == int(value) else float(value)
        return _store_digits(value) if place in has_text else simple

    return [
        tuple(map(read, range(len(row)), row, simple))
        for row, simple in zip(rows, stored, strict=True)
    ]


_ZONED_TIME = re.compile(r"time(?:tz|(?:\(\d\))? with time zone)", re.IGNORECASE)
_SOME_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d*)?)?"
_SOME_DAY = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"  # 0000-00-00 is one of MySQL's
_OF_SQLITE = re.compile(rf"{_SOME_DAY}(?: {_SOME_TIME})?|{_SOME_TIME}")
_TIME_OF_DAY = re.compile(rf"({_SOME_TIME})([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?")


def write_time(text: str) -> str:
    """Return a time as SQLite's functions write it: in UTC without a zone, or empty digits. A time
    of day in UTC may be that of the day before or after.

    >>> write_time("2024-02-29 10:00:00.500000+00"), write_time("10:00:00"), write_time("infinity")
    ('2024-02-29 10:00:00.5', '10:00:00', 'infinity')
    >>> write_time("08:30:00+02"), write_time("22:00:00.25-05:30")
    ('06:30:00', '03:30:00.25')
    """
    text = re.sub(r"(?<=\d)T(?=\d)", " ", text)
    text = re.sub(r"(?<=\d)(\+00(:00)?|Z)\Z", "", text)
    if (found := _TIME_OF_DAY.fullmatch(text)) is not None:
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[2:])
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        moment = datetime.combine(date(2000, 1, 2), time.fromisoformat(found[1]))
        text = (moment - offset if found[2] == "+" else moment + offset).time().isoformat()
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
    digits: columns whose numbers are text.
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
    digits: frozenset[str] = frozenset()


def list_digits(tables: Iterable[ConvertedTable]) -> frozenset[Name]:
    """The columns whose numbers are text, with their tables, in small letters."""
    pairs = ((table.name, column) for table in tables for column in table.digits)
    return frozenset((fold_name(name), fold_name(column)) for name, column in pairs)


class _DigitsError(Exception):
    """Columns, by place, have a number that no number of SQLite is."""

    def __init__(self, places: set[int]) -> None:
        self.places = places


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
        done.lost += [
            f"the zone of {name}: its times of day are in UTC"
            for name, there, _ in done.columns
            if _ZONED_TIME.fullmatch(there)
        ]
        try:
            self._fill_exactly(table, done)
        except EngineError as error:
            self.engine.notes.append(f"{'.'.join(key)} is left out: {error}")
            return None
        if table.rows not in (None, done.rows):
            raise RuntimeError(f"{'.'.join(key)}: {table.rows} rows there, and {done.rows} here")
        self.converted[key] = done
        return done

    def _fill_exactly(self, table: SourceTable, done: ConvertedTable) -> None:
        """Fill a table again, if its first rows do not fit: with text for long numbers, or without
        keys. Neither happens twice."""
        with_keys, lost = True, list(done.lost)
        while True:
            try:
                self._fill(table, done, with_keys=with_keys)
                return
            except _DigitsError as error:
                done.columns = [
                    (name, there, TEXT if place in error.places else declared)
                    for place, (name, there, declared) in enumerate(done.columns)
                ]
                done.digits |= {done.columns[place][0] for place in error.places}
                lost += [f"{done.columns[place][0]}: {DIGITS}" for place in sorted(error.places)]
                done.lost = list(lost)
            except sqlite3.IntegrityError as error:
                with_keys = False
                lost.append(f"its keys, which its rows break in SQLite: {error}")
                done.lost = list(lost)
            done.keys.clear()

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
            insert = f"INSERT INTO {quote_name(done.name)} VALUES ({marks})"
            with closing(self._store_rows(table, done, lost)) as rows:
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
    ) -> Generator[Row]:
        losers = [partial(_count_loss, counts) for counts in lost]
        dialect = self.engine.dialect
        writers = [
            _write_digits if name in done.digits else _choose_writer(kind, declared, dialect)
            for name, kind, declared in done.columns
        ]
        numbers = [place for place, column in enumerate(done.columns) if column[2] in NUMBERS]
        long = set[int]()
        with closing(self.engine.read_rows(table)) as rows:
            for row in rows:
                stored = tuple(
                    write(value, lose)
                    for write, value, lose in zip(writers, row, losers, strict=True)
                )
                long.update(place for place in numbers if isinstance(stored[place], str))
                if not long:
                    yield stored
        if long:
            raise _DigitsError(long)

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
        self.converted[key].digits = frozenset(
            column
            for column, kind, _ in types
            if declare_type(kind, self.engine.dialect) in NUMBERS and self._has_text(name, column)
        )

    def _has_text(self, name: str, column: str) -> bool:
        (has_texts,) = self._connection.execute(write_has_texts(name, column)).fetchone()
        return bool(has_texts)

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
    written = write_time(value) if isinstance(value, str) else store_value(value, lose)
    if isinstance(written, str) and not _OF_SQLITE.fullmatch(written):
        lose(NO_TIME)
    return written


def _write_digits(value: Any, lose: Callable[[str], None]) -> Value:
    if not isinstance(value, Decimal | int) or math.isnan(value):
        return store_value(value, lose)
    return _store_digits(value) if math.isfinite(value) else str(value)

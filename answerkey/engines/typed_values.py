"""Declared types of columns: what values a column takes, and how it stores them as JSON values.

SQLite's columns take nearly any value, and its engine says what becomes of one. The others refuse
a value that their type does not have, so each is read here first: '2020-03-01' for a DATE, 2.5 as
2.50 for a NUMERIC(10, 2), and no text of nine letters for a VARCHAR(8).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import Any
from uuid import UUID

from answerkey.engines.database import EXACT_DIGITS
from answerkey.engines.names import DUCKDB, POSTGRES, SQLITE
from answerkey.engines.schema import Table
from answerkey.engines.sqlite.schema import affinity

_ENUM = re.compile(r"\s*ENUM\s*\((.*)\)\s*\Z", re.IGNORECASE | re.DOTALL)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_ARGUMENTS = re.compile(r"\(([^()]*)\)")
_MOST_EXACT = 1 << 63  # from here on, integers are text
_BITS = {
    **dict.fromkeys(("tinyint", "int1"), 8),
    **dict.fromkeys(("smallint", "int2", "smallserial", "short"), 16),
    **dict.fromkeys(("integer", "int", "int4", "serial", "signed"), 32),
    **dict.fromkeys(("bigint", "int8", "bigserial", "long", "oid"), 64),
    **dict.fromkeys(("hugeint",), 128),
}
_UNSIGNED_BITS = {
    "utinyint": 8,
    "usmallint": 16,
    "uinteger": 32,
    "ubigint": 64,
    "uhugeint": 128,
}
_FLOATS = {"real", "float", "float4", "float8", "double", "double precision"}
_TEXTS = {"text", "varchar", "character varying", "string", "bpchar", "character", "char", "citext"}
_FIXED_TEXTS = {"bpchar", "character", "char"}
_TRUE, _FALSE = {"true", "t", "yes", "y", "on", "1"}, {"false", "f", "no", "n", "off", "0"}


class Kind(Enum):
    """What the values of a column are.

    LOOSE: anything, as in SQLite. OTHER: what only the engine can read, such as a list, an
        interval, an address, or a domain whose name says nothing.
    """

    LOOSE = "loose"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    TEXT = "text"
    ENUM = "enum"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIME = "time"
    UUID = "uuid"
    JSON = "json"
    OTHER = "other"


# The other names, by how they begin.
_KINDS: Mapping[tuple[str, ...], Kind] = {
    ("boolean", "bool", "logical"): Kind.BOOLEAN,
    ("timestamp", "datetime"): Kind.TIMESTAMP,
    ("time",): Kind.TIME,
    ("date",): Kind.DATE,
    ("json",): Kind.JSON,
    ("uuid",): Kind.UUID,
}
_AFFINITIES = {
    **dict.fromkeys((Kind.BOOLEAN, Kind.INTEGER), "INTEGER"),
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP, Kind.TIME, Kind.DECIMAL), "NUMERIC"),
    Kind.FLOAT: "REAL",
    **dict.fromkeys((Kind.TEXT, Kind.ENUM, Kind.UUID, Kind.JSON), "TEXT"),
    Kind.OTHER: "BLOB",
}


class RefusedValueError(ValueError):
    """A column of a type does not take a value."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A declared type.

    affinity: INTEGER, REAL, NUMERIC, TEXT or BLOB, which is the nearest of SQLite.
    least, most: the bounds of integers.
    digits, scale: of a decimal; None without bounds.
    length: of a text at most; `is_padded`, if blanks fill it up.
    allowed: the texts of an enum.
    """

    kind: Kind
    affinity: str
    least: int = 0
    most: int = 0
    digits: int | None = None
    scale: int | None = None
    length: int | None = None
    is_padded: bool = False
    allowed: tuple[str, ...] = ()

    def read(self, value: Any) -> Any:
        """Return a value as the column stores it.

        >>> read_type("numeric(10,2)", "postgres").read("2.505")
        2.51
        >>> read_type("TIMESTAMP", "duckdb").read("2020-03-01")
        '2020-03-01 00:00:00'

        Raises:
            RefusedValueError: the column does not take it.
        """
        if value is None or self.kind in (Kind.LOOSE, Kind.OTHER):
            return value
        try:
            return _READERS[self.kind](self, value)
        except (ValueError, OverflowError, InvalidOperation) as error:
            raise RefusedValueError(f"{value!r:.80} is no {self.kind.value}") from error

    def takes(self, value: Any) -> bool:
        """Return whether the column takes a value."""
        try:
            self.read(value)
        except RefusedValueError:
            return False
        return True


LOOSE = ColumnType(Kind.LOOSE, "BLOB")


def _read_boolean(_: ColumnType, value: Any) -> int:
    text = str(value).lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(text)
    return int(text in _TRUE)


def _read_decimal(value: Any) -> Decimal:
    number = Decimal(repr(value) if isinstance(value, float) else str(value))
    if not number.is_finite():
        raise ValueError(value)
    return number


def _read_integer(column: ColumnType, value: Any) -> int | str:
    number = _read_decimal(value)
    if number != number.to_integral_value():
        raise ValueError(value)
    integer = int(number)
    if not column.least <= integer <= column.most:
        raise ValueError(value)
    return integer if -_MOST_EXACT <= integer < _MOST_EXACT else str(integer)


def _read_number(column: ColumnType, value: Any) -> int | float | str:
    number = _read_decimal(value)
    if column.scale is not None and column.digits is not None:
        number = number.quantize(Decimal(1).scaleb(-column.scale), rounding=ROUND_HALF_UP)
        if len(number.as_tuple().digits) > column.digits:
            raise ValueError(value)
    if number.as_tuple().exponent == 0 and abs(number) < _MOST_EXACT:
        return int(number)
    is_exact = len(number.as_tuple().digits) <= EXACT_DIGITS
    return float(number) if is_exact else f"{number:f}"


def _read_float(_: ColumnType, value: Any) -> float:
    number = float(value)
    if not isfinite(number):
        raise ValueError(value)
    return number


def _read_text(column: ColumnType, value: Any) -> str:
    text = str(value)
    if column.is_padded:
        text = text.rstrip(" ")
    if (column.length is not None and len(text) > column.length) or "\0" in text:
        raise ValueError(value)
    return text.ljust(column.length or 0) if column.is_padded else text


def _read_enum(column: ColumnType, value: Any) -> str:
    if value not in column.allowed:
        raise ValueError(value)
    return str(value)


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _read_date(_: ColumnType, value: Any) -> str:
    return date.fromisoformat(_require_text(value)[:10]).isoformat()


def _read_timestamp(_: ColumnType, value: Any) -> str:
    text = _require_text(value).replace("T", " ")
    datetime.fromisoformat(text)
    return f"{text} 00:00:00" if len(text) == 10 else text


def _read_time(_: ColumnType, value: Any) -> str:
    time.fromisoformat(_require_text(value))
    return str(value)


def _read_uuid(_: ColumnType, value: Any) -> str:
    return str(UUID(_require_text(value)))


def _read_json(_: ColumnType, value: Any) -> str:
    json.loads(str(value))
    return str(value)


_READERS: Mapping[Kind, Callable[[ColumnType, Any], Any]] = {
    Kind.BOOLEAN: _read_boolean,
    Kind.INTEGER: _read_integer,
    Kind.DECIMAL: _read_number,
    Kind.FLOAT: _read_float,
    Kind.TEXT: _read_text,
    Kind.ENUM: _read_enum,
    Kind.DATE: _read_date,
    Kind.TIMESTAMP: _read_timestamp,
    Kind.TIME: _read_time,
    Kind.UUID: _read_uuid,
    Kind.JSON: _read_json,
}


@lru_cache(maxsize=4096)
def read_type(declared: str, engine: str, allowed: tuple[str, ...] = ()) -> ColumnType:
    """Return what a declared type of an engine means.

    >>> read_type("character varying(20)", "postgres").length
    20
    >>> read_type("DATE", "sqlite").kind.value, read_type("DATE", "duckdb").kind.value
    ('loose', 'date')
    >>> read_type("integer[]", "postgres").kind.value
    'other'

    allowed: the texts of an enum, as its engine knows them.
    """
    if engine == SQLITE:
        return ColumnType(Kind.LOOSE, affinity(declared))
    if declared.rstrip().endswith("]"):
        return ColumnType(Kind.OTHER, _AFFINITIES[Kind.OTHER])
    if allowed:
        return ColumnType(Kind.ENUM, _AFFINITIES[Kind.ENUM], allowed=allowed)
    if (texts := _ENUM.match(declared)) is not None:
        named = tuple(text.replace("''", "'") for text in _TEXT.findall(texts[1]))
        return ColumnType(Kind.ENUM, _AFFINITIES[Kind.ENUM], allowed=named)
    name = " ".join(_ARGUMENTS.sub(" ", declared.lower()).split())
    found = _ARGUMENTS.search(declared)
    numbers = [int(part) for part in found[1].split(",") if part.strip().isdigit()] if found else []
    return _read_name(name, numbers, engine)


def read_types(
    table: Table, engine: str, allowed: Mapping[str, tuple[str, ...]]
) -> tuple[ColumnType, ...]:
    """Return what the declared types of a table's columns mean.

    allowed: by column, the texts of an enum.
    """
    return tuple(
        read_type(column.type, engine, allowed.get(column.name, ())) for column in table.columns
    )


def _read_name(name: str, numbers: list[int], engine: str) -> ColumnType:
    """Return the type of a name without the numbers in parentheses, which come beside it."""
    if name in _BITS:
        half = 1 << _BITS[name] - 1
        return ColumnType(Kind.INTEGER, "INTEGER", least=-half, most=half - 1)
    if name in _UNSIGNED_BITS:
        return ColumnType(Kind.INTEGER, "INTEGER", most=(1 << _UNSIGNED_BITS[name]) - 1)
    if name in ("numeric", "decimal", "dec"):
        if not numbers and engine == DUCKDB:
            numbers = [18, 3]
        digits, scale = (*numbers, 0)[:2] if numbers else (None, None)
        return ColumnType(Kind.DECIMAL, "NUMERIC", digits=digits, scale=scale)
    if name in _TEXTS:
        length = numbers[0] if numbers and engine == POSTGRES else None
        if engine == POSTGRES and name in ("character", "char"):
            length = length or 1
        is_padded = length is not None and name in _FIXED_TEXTS
        return ColumnType(Kind.TEXT, "TEXT", length=length, is_padded=is_padded)
    kinds = (kind for names, kind in _KINDS.items() if name.startswith(names))
    kind = Kind.FLOAT if name in _FLOATS else next(kinds, Kind.OTHER)
    return ColumnType(kind, _AFFINITIES[kind])

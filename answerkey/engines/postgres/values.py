"""Values of PostgreSQL as JSON values.

| type | JSON value |
|---|---|
| boolean | 0 or 1 |
| smallint, integer, bigint, oid | an integer |
| real, double precision | a float; NaN and infinity have no answer |
| numeric | an integer if it has no decimals, else a float if it has at most 15 digits, else text; |
| | the long numbers that a quotient or an average gives are floats |
| date, timestamp, timestamptz, time, interval | text in ISO 8601, with the zone of the session |
| char(n) | text without the blanks at its end |
| json, jsonb | text of the value: keys sorted, no blanks |
| arrays, records | JSON text: a list |
| bytea | no answer |
| all others (uuid, inet, enums, ranges, ...) | text as Postgres writes it |
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.types.string import TextLoader

from answerkey.base.reasons import Reason
from answerkey.engines.database import EXACT_DIGITS, Value

BOOL, BYTEA, NUMERIC, BPCHAR, JSON, JSONB, RECORD = 16, 17, 1700, 1042, 114, 3802, 2249
_FLOATS = (700, 701)
_INTEGERS = (20, 21, 23, 26)
_PLAIN = (*_INTEGERS, *_FLOATS)  # which psycopg reads as Python's numbers
_MAX_INTEGER = 2**63
_INTEGER_DIGITS = 20  # of the smallest one, with its sign
# Postgres gives a quotient at least 16 digits, in groups of 4 (NUMERIC_MIN_SIG_DIGITS, DEC_DIGITS).
_QUOTIENT_DIGITS, _GROUP = 16, 4
_ARRAY_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([{}])|,|((?:[^{},"\\]|\\.)+)', re.DOTALL)
_RECORD_PART = re.compile(r'((?:"(?:[^"\\]|\\.|"")*"|[^,"\\]|\\.)*)(?:,|\Z)', re.DOTALL)
_DOUBLED = re.compile(r'\\(.)|"(")', re.DOTALL)
_LARGE_JSON = "JSON in the answer has too many levels, or a number with too many digits"
_BOUNDS = re.compile(r"\A(?:\[-?\d+:-?\d+\])+=")

Converter = Callable[[str], Value]


class RefusedValueError(ValueError):
    """A value that no answer may have."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class OwnType(NamedTuple):
    """A type that is no array of a built-in one: that of its elements (0: none), and its kind as
    pg_type says (c: composite, d: domain, e: enum)."""

    element: int
    kind: str
    base: int


def make_adapters() -> AdaptersMap:
    """Return what reads all types as text, but integers and floats."""
    adapters = AdaptersMap(psycopg.adapters)
    for info in psycopg.adapters.types:
        for oid in (info.oid, info.array_oid):
            if oid and oid not in _PLAIN:
                adapters.register_loader(oid, TextLoader)
    adapters.register_loader(RECORD, TextLoader)
    return adapters


def find_converter(
    oid: int, modifier: int = -1, own_types: Mapping[int, OwnType] | None = None
) -> Converter | None:
    """Return what makes a JSON value of the text of a value; None if it is one.

    modifier: that of the type as the column declares it; -1: none.
    own_types: types of the database.
    """
    if oid == NUMERIC:
        return read_numeric if modifier == -1 else read_stored_numeric
    if oid in _SIMPLE:
        return _SIMPLE[oid]
    if oid == RECORD:
        return _read_record
    own = (own_types or {}).get(oid)
    if own is not None and own.kind == "d":
        return find_converter(own.base, modifier, own_types)
    if own is not None and own.kind == "c":
        return _read_record
    element = own.element if own is not None else _ELEMENTS.get(oid, 0)
    if element:
        converter = _NUMBERS.get(element) or find_converter(element, modifier, own_types)
        return lambda text: _write_json(_read_array(text, converter, element in (JSON, JSONB)))
    return None


def read_numeric(text: str) -> Value:
    """Return a number that a query computes.

    >>> read_numeric("12"), read_numeric("12.50"), read_numeric("0.33333333333333333333")
    (12, 12.5, 0.3333333333333333)
    >>> read_numeric("1234567890123456.78"), read_numeric("12345678901234567890")
    ('1234567890123456.78', '12345678901234567890')
    """
    whole, point, decimals = text.lstrip("-").partition(".")
    if point and whole.isdigit():
        group = max(len(whole) - 1, 0) // _GROUP
        if len(decimals) >= max(1, _QUOTIENT_DIGITS - group * _GROUP):
            return float(text)
    return read_stored_numeric(text)


def read_stored_numeric(text: str) -> Value:
    """Return a number as a column has it, with all digits.

    >>> read_stored_numeric("1.50"), read_stored_numeric("0.1234567890123456")
    (1.5, '0.1234567890123456')
    """
    whole, point, decimals = text.partition(".")
    if not point:
        if not whole.lstrip("-").isdigit():
            raise RefusedValueError(Reason.NOT_FINITE, f"{text} in the answer")
        if len(whole) > _INTEGER_DIGITS:
            return text
        number = int(whole)
        return number if -_MAX_INTEGER <= number < _MAX_INTEGER else text
    decimals = decimals.rstrip("0")
    digits = (whole.lstrip("-") + decimals).lstrip("0")
    return float(text) if len(digits) <= EXACT_DIGITS else f"{whole}.{decimals}".rstrip(".")


def _read_bool(text: str) -> int:
    return int(text == "t")


def _refuse_bytes(text: str) -> Value:
    raise RefusedValueError(Reason.BLOB, f"a BLOB of {len(text) // 2 - 1} bytes in the answer")


def _read_padded(text: str) -> str:
    return text.rstrip(" ")


def _read_json(text: str) -> str:
    return _write_json(_parse_json(text))


def _parse_json(text: str) -> Any:
    """Return the value of a JSON text, which Postgres takes deeper and with longer numbers than
    Python."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedValueError(Reason.VALUE_TOO_LARGE, _LARGE_JSON) from error


def _write_json(value: Any) -> str:
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise RefusedValueError(Reason.VALUE_TOO_LARGE, _LARGE_JSON) from error
    if not text.isascii():
        text.encode()  # UnicodeError: JSON may have half of a pair of surrogates, which is no text
    return text


def _read_integer(text: str) -> int:
    return int(text)


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise RefusedValueError(Reason.NOT_FINITE, f"{text} in the answer")
    return number


def _read_array(text: str, convert: Converter | None, is_json: bool) -> list[Any]:
    """
    >>> _read_array('{{1,NULL},{"a b","x\\\\"y"}}', None, False)
    [['1', None], ['a b', 'x"y']]
    """
    stack: list[list[Any]] = [[]]
    for found in _ARRAY_PART.finditer(_BOUNDS.sub("", text)):
        quoted, brace, plain = found.groups()
        if brace == "{":
            stack.append([])
        elif brace == "}":
            done = stack.pop()
            stack[-1].append(done)
        elif plain is not None and plain.upper() == "NULL":
            stack[-1].append(None)
        elif (element := quoted if quoted is not None else plain) is not None:
            element = re.sub(r"\\(.)", r"\1", element, flags=re.DOTALL)
            value = element if convert is None else convert(element)
            stack[-1].append(_parse_json(element) if is_json else value)
    array: list[Any] = stack[0][0]
    return array


def _read_record(text: str) -> str:
    """
    >>> _read_record('(1,"a b",,"")')
    '["1","a b",null,""]'
    """
    inner = text[1:-1]
    values: list[str | None] = []
    at = 0
    while True:
        found = _RECORD_PART.match(inner, at)
        assert found is not None
        field = found[1]
        is_quoted = field.startswith('"')
        text = _DOUBLED.sub(r"\1\2", field[1:-1]) if is_quoted else field
        values.append(text if field else None)
        at = found.end()
        if not found[0].endswith(",") or len(found[0]) == len(field):
            return _write_json(values)


_SIMPLE: dict[int, Converter] = {
    BOOL: _read_bool,
    BYTEA: _refuse_bytes,
    BPCHAR: _read_padded,
    JSON: _read_json,
    JSONB: _read_json,
}
# Numbers that psycopg reads, but not in an array.
_NUMBERS: dict[int, Converter] = {
    **dict.fromkeys(_INTEGERS, _read_integer),
    **dict.fromkeys(_FLOATS, _read_float),
}
# Elements of arrays of built-in types.
_ELEMENTS = {info.array_oid: info.oid for info in psycopg.adapters.types if info.array_oid}


def find_converters(
    columns: Sequence[tuple[int, int]], own_types: Mapping[int, OwnType]
) -> list[tuple[int, Converter]]:
    """Return the columns of an answer whose values are converted, by their position.

    columns: type and modifier of each.
    """
    found = [find_converter(oid, modifier, own_types) for oid, modifier in columns]
    return [(index, converter) for index, converter in enumerate(found) if converter is not None]


def write_text(value: Any, oid: int, own_types: Mapping[int, OwnType]) -> str:
    """Return the text of a value that a column of a type takes: the reverse of a converter.

    >>> write_text('[1,null,"a b"]', 1009, {}), write_text("{NaN}", 1022, {})
    ('{"1",NULL,"a b"}', '{NaN}')
    """
    if not isinstance(value, str):
        return repr(float(value) if isinstance(value, float) else int(value))
    own = own_types.get(oid)
    if own is not None and own.kind == "d":
        return write_text(value, own.base, own_types)
    if own is not None and own.kind == "c":
        return _write_record(json.loads(value))
    element = own.element if own is not None else _ELEMENTS.get(oid, 0)
    if not element or value.startswith("{"):  # such as {NaN}, which stays as Postgres wrote it
        return value
    return _write_array(json.loads(value), element in (JSON, JSONB))


def _write_array(values: list[Any], is_json: bool) -> str:
    parts = []
    for value in values:
        if value is None:
            parts.append("NULL")
        elif isinstance(value, list) and not is_json:
            parts.append(_write_array(value, is_json))
        else:
            parts.append(_quote(_write_json(value) if is_json else str(value)))
    return "{" + ",".join(parts) + "}"


def _write_record(values: list[str | None]) -> str:
    return "(" + ",".join("" if value is None else _quote(value) for value in values) + ")"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

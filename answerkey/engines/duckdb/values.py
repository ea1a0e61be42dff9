"""Values of DuckDB as JSON values: numbers, texts and NULL."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import MAXYEAR, MINYEAR
from decimal import Decimal
from typing import Any

from answerkey.base.reasons import Reason
from answerkey.engines.database import EXACT_DIGITS

Column = Sequence[Any]
Converter = Callable[[Column], Column]

_INT64 = range(-(1 << 63), 1 << 63)
_EDGE_YEARS = (MINYEAR, MAXYEAR)  # infinite moments have these, too
_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_LONG_INTEGERS = {"UBIGINT", "HUGEINT", "UHUGEINT", "BIGNUM"}
_NESTED = re.compile(r"STRUCT|TUPLE|MAP|UNION|VARIANT|.*\]$", re.DOTALL)


class UnfitValueError(ValueError):
    """A value that no answer may have."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class NeedsTextError(Exception):
    """Python's value of a column loses something, such as a year 10000: DuckDB has to write it."""


def write_text_column(name: str, kind: str) -> str:
    """Return the expression by which DuckDB writes a column whose values Python does not have.

    >>> write_text_column('"a"', "INTEGER[]"), write_text_column('"a"', "INTERVAL")
    ('CAST(to_json("a") AS VARCHAR)', 'CAST("a" AS VARCHAR)')
    """
    if _NESTED.match(kind):
        return f"CAST(to_json({name}) AS VARCHAR)"
    return f"CAST({name} AS VARCHAR)"


def find_converter(kind: str) -> Converter | None:
    """Return the function that converts a column of a type; None if its values stay as they are.

    Raises:
        NeedsTextError: DuckDB has to write them, as `write_text_column` says.
    """
    if _NESTED.match(kind):  # such as DECIMAL(8,2)[]
        raise NeedsTextError
    if kind in _INTEGERS or kind in ('"NULL"', "VARCHAR", "BIT") or is_enum(kind):
        return None
    if kind.startswith("DECIMAL("):
        digits, scale = map(int, kind[len("DECIMAL(") : -1].split(","))
        if not scale:
            return _convert_integers
        return _convert_floats if digits <= EXACT_DIGITS else _convert_decimals
    if kind in ("DOUBLE", "FLOAT"):
        return _check_floats
    known = _CONVERTERS.get(kind)
    if known is None:
        raise NeedsTextError
    return known


def is_enum(kind: str) -> bool:
    """
    >>> is_enum("ENUM('a', 'b')"), is_enum("ENUM('a', 'b')[]")
    (True, False)
    """
    return kind.startswith("ENUM(") and _NESTED.match(kind) is None


def find_text_converter(kind: str) -> Converter | None:
    """Return the same for a column that DuckDB has written."""
    return _convert_json if _NESTED.match(kind) else None


def find_stored_converter(kind: str) -> Converter | None:
    """Return the function that converts a column of a table, as DuckDB has written it where it
    must: NaN and bytes, which no answer may have, are texts that DuckDB reads again."""
    if kind in ("DOUBLE", "FLOAT"):
        return _spell_infinite
    if _NESTED.match(kind):
        return _convert_stored_json
    return find_text_converter(kind) if needs_text(kind) or kind == "BLOB" else find_converter(kind)


def needs_text(kind: str) -> bool:
    """Return whether DuckDB has to write a column, so that no value of the type loses something.

    >>> needs_text("DATE"), needs_text("INTERVAL"), needs_text("DOUBLE")
    (True, True, False)
    >>> needs_text("DECIMAL(8,2)[]"), needs_text("ENUM('a')[3]")
    (True, True)
    """
    if kind in ("DATE", "TIMESTAMP"):
        return True
    try:
        find_converter(kind)
    except NeedsTextError:
        return True
    return False


def canonize_json(text: str, *, is_stored: bool = False) -> str:
    """Return JSON text with sorted keys and without blanks.

    >>> canonize_json('{"b": [1, 2.50], "a": "é"}')
    '{"a":"é","b":[1,2.5]}'

    is_stored: it is of a table, where NaN may stand, and not of an answer.
    """
    try:
        tree = json.loads(text, parse_constant=None if is_stored else _refuse_constant)
    except RecursionError as error:
        raise UnfitValueError(Reason.VALUE_TOO_LARGE, "JSON that is nested too deep") from error
    return json.dumps(tree, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _refuse_constant(name: str) -> Any:
    raise UnfitValueError(Reason.NOT_FINITE, f"{name} in the answer")


def convert_decimal(value: Decimal) -> int | float | str:
    """Return the exact value: whole if the type is, a float if one has enough digits, else text.

    >>> convert_decimal(Decimal("12")), convert_decimal(Decimal("1.50"))
    (12, 1.5)
    >>> convert_decimal(Decimal("1234567890123456.70"))
    '1234567890123456.7'
    """
    _, digits, exponent = value.as_tuple()
    if exponent == 0:
        return _convert_integer(int(value))
    if len(digits) <= EXACT_DIGITS or len(value.normalize().as_tuple().digits) <= (EXACT_DIGITS):
        return float(value)
    return f"{value:f}".rstrip("0").rstrip(".")


def _convert_integer(value: int) -> int | str:
    return value if value in _INT64 else str(value)


def _convert_floats(values: Column) -> Column:
    return [None if value is None else float(value) for value in values]


def _convert_decimals(values: Column) -> Column:
    return [None if value is None else convert_decimal(value) for value in values]


def _convert_integers(values: Column) -> Column:
    return [None if value is None else _convert_integer(int(value)) for value in values]


def _convert_booleans(values: Column) -> Column:
    return [None if value is None else int(value) for value in values]


def _check_floats(values: Column) -> Column:
    for value in values:
        if value is not None and not math.isfinite(value):
            raise UnfitValueError(Reason.NOT_FINITE, f"{value} in the answer")
    return values


def _spell_infinite(values: Column) -> Column:
    return [value if value is None or math.isfinite(value) else str(value) for value in values]


def _convert_moments(values: Column) -> Column:
    """Return dates and timestamps as texts. DuckDB has written a year beyond those of Python."""
    texts: list[str | None] = []
    for value in values:
        if value is None or isinstance(value, str):
            texts.append(value)
            continue
        if value.year in _EDGE_YEARS:
            raise NeedsTextError
        text = str(value)
        texts.append(text.rstrip("0") if "." in text else text)
    return texts


def _convert_times(values: Column) -> Column:
    texts = (None if value is None else str(value) for value in values)
    return [text.rstrip("0") if text is not None and "." in text else text for text in texts]


def _convert_json(values: Column) -> Column:
    return [None if value is None else canonize_json(value) for value in values]


def _convert_stored_json(values: Column) -> Column:
    return [None if value is None else canonize_json(value, is_stored=True) for value in values]


def _convert_texts(values: Column) -> Column:
    return [None if value is None else str(value) for value in values]


def _refuse_blobs(values: Column) -> Column:
    for value in values:
        if value is not None:
            raise UnfitValueError(Reason.BLOB, f"a BLOB of {len(value)} bytes in the answer")
    return values


_CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_LONG_INTEGERS, _convert_integers),
    "BOOLEAN": _convert_booleans,
    "DATE": _convert_moments,
    "TIMESTAMP": _convert_moments,
    "TIME": _convert_times,
    "JSON": _convert_json,
    "UUID": _convert_texts,
    "BLOB": _refuse_blobs,
}

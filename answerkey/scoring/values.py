"""Rows as columns of values, as a rule reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from answerkey.scoring.rules import Rule

Column = tuple[Any, ...]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INT64 = range(-(2**63), 2**63)
_INT64_CHARACTERS = 20


def read_number(text: str) -> int | float | None:
    """The number that a text reads as; None where it reads as none.

    >>> read_number("3"), read_number("-1.50"), read_number("1e5"), read_number("007")
    (3, -1.5, 100000.0, 7)
    >>> [read_number(text) for text in (" 3", "0x10", "inf", "1,000", "", "1e999")]
    [None, None, None, None, None, None]

    It is a decimal literal of ASCII characters: digits, perhaps with a sign, a point and an
    exponent, and nothing around it. Digits alone are an integer where 64 bits hold it; whatever
    else is finite is a float.
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    if len(text) <= _INT64_CHARACTERS and text.lstrip("+-").isdigit() and int(text) in _INT64:
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def read_columns(rows: Sequence[Sequence[Any]], rule: Rule) -> list[Column]:
    """The columns of rows of one width, with texts read and floats rounded where the rule says so.

    >>> from answerkey.scoring.rules import read_rule
    >>> read_columns([("1", 2.0), ("x", 3.126)], read_rule("multiset,digits=2"))
    [(1, 'x'), (2.0, 3.13)]
    """
    columns = list(zip(*rows, strict=True))
    if rule.numeric_text:
        columns = [tuple(map(_read_text, column)) for column in columns]
    if rule.digits is not None:
        columns = [
            tuple(round(value, rule.digits) if type(value) is float else value for value in column)
            for column in columns
        ]
    return columns


def _read_text(value: Any) -> Any:
    number = read_number(value) if type(value) is str else None
    return value if number is None else number


def has_float(column: Column) -> bool:
    """Whether one of the values is a float."""
    return float in set(map(type, column))


def read_as_floats(column: Column) -> Column:
    """The column with its integers as floats."""
    return tuple(float(value) if type(value) is int else value for value in column)

"""Rules of comparison by name: when predicted rows equal a gold answer.

    >>> read_rule("spider").columns
    'any_order'
    >>> read_rule("subset,>=,2").row_count
    ('>=', 2)

docs/exports.md has their table. spider2 and subset are loose: they accept more or less than the
question asks for. So spider2 accepts one additional column and never other rows, and subset needs a
number of rows. They are rules for single questions.

Sources: spider, the execution match of taoyds/test-suite-sql-eval (`result_eq`); bird, BIRD's
`set(predicted) == set(gold)`; spider2, the `compare_pandas_table` of Spider 2.0; multiset, set,
list and subset, the grading methods of ReViSQL. They differ from their sources on purpose. One
order of columns holds for all rows here, while ReViSQL sorts the values of each row and Spider 2.0
looks for each column by itself. ReViSQL also removes rows of NULL and blanks, and accepts a single
number within 1 %; these rules do neither.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

ROWS = ("multiset", "set", "subset")
ORDERS = ("gold", "always", "never")
COLUMNS = ("same", "any_order", "superset")
ROW_COUNTS = ("=", ">=")

Column = tuple[Any, ...]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INT64 = range(-(2**63), 2**63)
_INT64_CHARACTERS = 20
_ALL_WHOLE = 1e15  # from here on 15 digits have no decimals
_EXACT = Context(prec=40)


@dataclass(frozen=True, slots=True)
class Rule:
    """The conditions under which rows equal those of a gold answer.

    rows: "multiset"; "set" (how often a row occurs does not count); or "subset" (a set whose rows
        are all in the gold answer; it is empty only if the gold answer is).
    order: whether the order of rows counts: "gold" (as the question's order_matters says, except
        for rows that tie), "always" or "never". A set needs "never".
    columns: "same"; "any_order" (one order for all rows); or "superset" (the columns asked for in
        any order, and 1 to `extra_columns` others).
    numbers_by_value: 1 equals 1.0. Two columns of integers are compared exactly; if one of two
        columns holds a float, within the tolerance.
    numeric_text: a text that reads as a number equals it: see `read_number`.
    rel_tol, abs_tol: how far floats may be apart, as in `math.isclose`; rel_tol is below 1.
    digits: floats are first rounded to this number of decimals (0 to 15), a half away from 0.
    row_count: how many distinct rows a subset needs, at least 1: ("=", n) or (">=", n).
    """

    name: str
    rows: str = "multiset"
    order: str = "gold"
    columns: str = "same"
    extra_columns: int = 1
    numbers_by_value: bool = False
    numeric_text: bool = False
    rel_tol: float = 1e-6
    abs_tol: float = 0.0
    digits: int | None = None
    row_count: tuple[str, int] | None = None

    def __post_init__(self) -> None:
        row_count = self.row_count
        is_allowed = (
            (self.rows in ROWS and self.order in ORDERS and self.columns in COLUMNS)
            and (self.rows == "multiset" or self.order == "never")
            and (0 <= self.rel_tol < 1 and 0 <= self.abs_tol < math.inf)
            and (self.extra_columns >= 1 and (self.digits is None or 0 <= self.digits <= 15))
            and (row_count is None or (self.rows == "subset" and row_count[1] >= 1))
        )
        if not is_allowed:
            raise ValueError(f"rule {self.name!r}: expected values as `Rule` says, found {self}")

    @property
    def is_loose(self) -> bool:
        """Whether the rule accepts more or less than was asked for, and so also guesses."""
        return self.rows == "subset" or self.columns == "superset"

    def allows_width(self, width: int, gold_width: int) -> bool:
        """Return whether rows of `width` columns can equal a gold answer of `gold_width`."""
        extra = self.extra_columns if self.columns == "superset" else 0
        return gold_width <= width <= gold_width + extra


_LENIENT = functools.partial(Rule, columns="any_order", numbers_by_value=True)
_BY_TEXT = functools.partial(_LENIENT, numeric_text=True)

RULES = {
    rule.name: rule
    for rule in (
        Rule("strict"),
        _LENIENT("spider"),
        Rule("bird", rows="set", order="never", numbers_by_value=True),
        Rule("spider2", columns="superset", numbers_by_value=True, abs_tol=0.01),
        _BY_TEXT("multiset", order="never"),
        _BY_TEXT("set", rows="set", order="never"),
        _BY_TEXT("list", order="always"),
        _BY_TEXT("subset", rows="subset", order="never"),
    )
}

_READERS: dict[str, Callable[[str], str | int | float | bool]] = {
    "rows": str,
    "order": str,
    "columns": str,
    "extra_columns": int,
    "numbers_by_value": {"true": True, "false": False}.__getitem__,
    "numeric_text": {"true": True, "false": False}.__getitem__,
    "rel_tol": float,
    "abs_tol": float,
    "digits": int,
    "row_count": int,
}


@functools.lru_cache
def read_rule(rule: str | Rule | None, rel_tol: float | None = None) -> Rule:
    """Return the rule that a text names, with its options; strict without one.

    >>> read_rule("spider,rel_tol=0.001").rel_tol, read_rule("strict,digits=2").digits
    (0.001, 2)
    >>> read_rule("subset,=,3").row_count
    ('=', 3)

    rel_tol: replaces the rule's own.

    Raises:
        ValueError: on a name, an option or a value that does not exist.
    """
    read = rule if isinstance(rule, Rule) else _read_text("strict" if rule is None else rule)
    return read if rel_tol is None else replace(read, rel_tol=rel_tol)


def _read_text(text: str) -> Rule:
    name, *parts = (part.strip() for part in text.split(","))
    if name not in RULES:
        raise ValueError(f"No rule {text!r}: expected one of {', '.join(RULES)}, and options")
    options: dict[str, Any] = {}
    if parts and parts[0] in ROW_COUNTS:
        sign, *parts = parts
        options["row_count"] = (sign, _read_option(text, "row_count", "".join(parts[:1])))
        parts = parts[1:]
    for part in parts:
        option, _, value = part.partition("=")
        if option == "row_count":
            raise ValueError(f"rule {text!r}: expected how many rows it needs as in subset,=,3")
        options[option] = _read_option(text, option, value or "true")
    rule = replace(RULES[name], name=text, **options)
    if rule.rows == "subset" and rule.row_count is None:
        raise ValueError(f"rule {text!r}: expected how many rows it needs, as in subset,=,3")
    return rule


def _read_option(text: str, option: str, value: str) -> str | int | float | bool:
    try:
        return _READERS[option](value)
    except (KeyError, ValueError) as error:
        known = ", ".join(_READERS)
        raise ValueError(
            f"rule {text!r}: {option} cannot be {value!r}, expected a value of {known}"
        ) from error


def read_number(text: str) -> int | float | None:
    """Return the number that a text reads as; None if it reads as none.

    >>> read_number("3"), read_number("-1.50"), read_number("1e5"), read_number("007")
    (3, -1.5, 100000.0, 7)
    >>> [read_number(text) for text in (" 3", "0x10", "inf", "1,000", "", "1e999")]
    [None, None, None, None, None, None]

    A number is a decimal literal of ASCII characters: digits, optionally with a sign, a point and
    an exponent, and nothing around it. Digits alone are an integer if it fits in 64 bits; any other
    finite number is a float.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if len(text) <= _INT64_CHARACTERS and text.lstrip("+-").isdigit() and int(text) in _INT64:
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def read_columns(rows: Sequence[Sequence[Any]], rule: Rule) -> list[Column]:
    """Return the columns of rows, with texts read and floats rounded if the rule says so.

    >>> from answerkey.scoring.rules import read_rule
    >>> read_columns([("1", 2.0), ("x", 3.126)], read_rule("multiset,digits=2"))
    [(1, 'x'), (2.0, 3.13)]
    """
    columns = list(zip(*rows, strict=True))
    if rule.numeric_text:
        columns = [tuple(map(_read_text_values, column)) for column in columns]
    if rule.digits is not None:
        columns = [
            tuple(
                round_half_up(value, rule.digits) if type(value) is float else value
                for value in column
            )
            for column in columns
        ]
    return columns


def round_half_up(value: float, digits: int) -> float:
    """Return a float rounded as SQLite's ROUND does it: a half away from 0.

    >>> round_half_up(2.675, 2), round_half_up(-0.5, 0), round_half_up(8.025 / 3, 3)
    (2.68, -1.0, 2.675)

    Python's `round` gives 0.2 for 0.25, and 2.67 for 2.675, since the float is slightly below. So
    this function rounds the nearest decimal of 15 digits, which removes errors of the float.
    """
    if not abs(value) < _ALL_WHOLE:  # NaN and infinity, too
        return value
    decimal = Decimal(f"{value:.15g}")
    return float(decimal.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EXACT))


def _read_text_values(value: Any) -> Any:
    number = read_number(value) if type(value) is str else None
    return value if number is None else number


def has_float(column: Column) -> bool:
    return float in set(map(type, column))


def read_as_floats(column: Column) -> Column:
    return tuple(float(value) if type(value) is int else value for value in column)

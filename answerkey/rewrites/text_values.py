"""Texts as what they say: numbers and dates, sorted, compared and computed with as such."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from answerkey.engines.names import DUCKDB
from answerkey.rewrites.trees import replaced, together
from answerkey.sql.query_tree import speaks_sqlite, spoken_engine, to_sql

MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_NUMBER_WIDTH = 32
_NUMBER_AT_START = r"^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_DATE_WIDTH = len("2019-12-31")


@contextmanager
def order_by_number(column: exp.Expr) -> Iterator[None]:
    """Read a column as numbers: `ORDER BY a` -> `ORDER BY CAST(REPLACE(a, ',', '') AS REAL)`."""
    is_loose = speaks_sqlite()
    number = f"CAST({_write_digits(column)} AS NUMERIC)" if is_loose else _write_number(column)
    with replaced(column, _parse(number)):
        yield


@contextmanager
def order_by_number_and_unit(column: exp.Expr) -> Iterator[None]:
    """Sort by the number at the start, then by the whole text: `ORDER BY a` -> `ORDER BY (number as
    text || a)`. So '4:32' is before '4:40', and that before '10:05'."""
    with replaced(column, _parse(f"({_write_sortable_number(column)} || {to_sql(column)})")):
        yield


@contextmanager
def take_extreme_by_number(call: exp.Expr, column: exp.Expr) -> Iterator[None]:
    """Take the text of the greatest or least number: `max(a)` -> `substr(max(number as text || a),
    33)`."""
    with _take_extreme_by(call, column, _write_sortable_number(column), _NUMBER_WIDTH):
        yield


@contextmanager
def compare_as_number(expression: exp.Expr) -> Iterator[None]:
    """Compare a text as a number: `a > 50` -> `CAST(a AS REAL) > 50`."""
    with replaced(expression, exp.cast(expression.copy(), "NUMERIC", dialect=spoken_engine())):
        yield


@contextmanager
def average_only_numbers(column: exp.Expr) -> Iterator[None]:
    """Leave out texts without digits: `avg(a)` -> `avg(CASE WHEN typeof(a) <> 'text' OR a GLOB
    '*[0-9]*' THEN a END)`."""
    name = to_sql(column)
    known = f"CASE WHEN typeof({name}) <> 'text' OR {name} GLOB '*[0-9]*' THEN {name} END"
    with replaced(column, _parse(known)):
        yield


@contextmanager
def subtract_days(differences: list[exp.Sub]) -> Iterator[None]:
    """Subtract dates in days: `a - b` -> `julianday(a) - julianday(b)`."""
    sides = [side.unnest() for node in differences for side in (node.this, node.expression)]
    with together(replaced(side, _parse(f"julianday({to_sql(side)})")) for side in sides):
        yield


@contextmanager
def order_by_date(column: exp.Expr, parts: str, separator: str) -> Iterator[None]:
    """Sort dates by time: `ORDER BY a` -> `ORDER BY printf('%s-%02d-%02d', year, month, day)`.

    parts, separator: the form of the dates, as `write_date` has it.
    """
    with replaced(column, _parse(write_date(to_sql(column), parts, separator))):
        yield


@contextmanager
def take_extreme_by_date(
    call: exp.Expr, column: exp.Expr, parts: str, separator: str
) -> Iterator[None]:
    """Take the last or the first date: `max(a)` -> `substr(max(year-month-day || a), 11)`."""
    with _take_extreme_by(call, column, write_date(to_sql(column), parts, separator), _DATE_WIDTH):
        yield


def write_date(name: str, parts: str, separator: str) -> str:
    """Return SQL for year-month-day of a column whose dates end with the year.

    parts: the order of the other parts: "day month", "month day", "day name" or "name day".

    >>> write_date("day", "month day", "/")  # doctest: +ELLIPSIS
    "printf('%s-%02d-%02d', substr(day, -4), ..."
    """
    if not speaks_sqlite():
        return _write_strict_date(name, parts, separator)
    rest = f"substr({name}, instr({name}, '{separator}') + 1)"
    written = {}
    for part, text in zip(parts.split(), (name, rest), strict=True):
        number = f"CAST({text} AS INTEGER)"  # the digits at its start
        letter = f"instr('{MONTHS}', lower(substr({text}, 1, 3)))"
        written[part] = f"({letter} + 2) / 3" if part == "name" else number
    month = written.get("month") or written["name"]
    return f"printf('%s-%02d-%02d', substr({name}, -4), {month}, {written['day']})"


def _write_strict_date(name: str, parts: str, separator: str) -> str:
    """Return `write_date` for engines in which a text is no number."""
    rest = f"substr({name}, strpos({name}, '{separator}') + 1)"
    written = {}
    for part, text in zip(parts.split(), (name, rest), strict=True):
        number = f"regexp_replace({text}, '[^0-9].*$', '')"  # the digits at its start
        if part == "name":
            letter = f"strpos('{MONTHS}', lower(substr({text}, 1, 3)))"
            number = f"CAST(CAST(floor(({letter} + 2) / 3.0) AS INTEGER) AS TEXT)"
        written[part] = f"lpad({number}, 2, '0')"
    month = written.get("month") or written["name"]
    return f"(right({name}, 4) || '-' || {month} || '-' || {written['day']})"


def _write_digits(column: exp.Expr) -> str:
    """`1,200` -> `1200`"""
    return f"replace({to_sql(column)}, ',', '')"


def _write_sortable_number(column: exp.Expr) -> str:
    """Return SQL for a number as text of a fixed width, moved above zero."""
    if not speaks_sqlite():
        decimal = f"CAST({_write_number(column)} + 1e12 AS DECIMAL(30, 6))"
        return f"lpad(CAST({decimal} AS TEXT), {_NUMBER_WIDTH}, '0')"
    return f"printf('%032.6f', CAST({_write_digits(column)} AS REAL) + 1e12)"


def _write_number(column: exp.Expr) -> str:
    """Return SQL for the number at the start of a text, or 0, where CAST refuses other texts."""
    function = "regexp_extract" if spoken_engine() == DUCKDB else "substring"
    number = f"{function}({_write_digits(column)}, '{_NUMBER_AT_START}')"
    return f"coalesce(CAST(nullif(trim({number}), '') AS DOUBLE PRECISION), 0)"


@contextmanager
def _take_extreme_by(call: exp.Expr, column: exp.Expr, key: str, width: int) -> Iterator[None]:
    """Take min() or max() of a key of fixed width with the text behind it, and return the text, so
    that what it is compared with means the same."""
    function = "max" if isinstance(call, exp.Max) else "min"
    chosen = _parse(f"substr({function}({key} || {to_sql(column)}), {width + 1})")
    is_output = isinstance(call.parent, exp.Select)
    with replaced(call, exp.alias_(chosen, to_sql(call), quoted=True) if is_output else chosen):
        yield


def _parse(sql: str) -> exp.Expr:
    return exp.maybe_parse(sql, dialect=spoken_engine())

"""What PostgreSQL and DuckDB have, and SQLite has not or in another way: forgotten or mistaken."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import date, timedelta

from sqlglot import exp

from answerkey.engines.names import DUCKDB, POSTGRES
from answerkey.rewrites.trees import Steps, changed, find_user, replaced
from answerkey.sql.conditions import COMPARISONS
from answerkey.sql.query_tree import puts_null_first, spoken_engine
from answerkey.sql.scopes import Scopes

# The parts of a date that are taken for each other.
_OTHER_PARTS = {
    "YEAR": ("MONTH",),
    "QUARTER": ("MONTH",),
    "MONTH": ("YEAR", "DAY"),
    "WEEK": ("MONTH",),
    "DAY": ("MONTH",),
    "DOW": ("DAY",),
    "ISODOW": ("DAY",),
    "HOUR": ("DAY",),
    "MINUTE": ("HOUR",),
}
_PART_FUNCTIONS: dict[str, type[exp.Func]] = {
    "YEAR": exp.Year,
    "QUARTER": exp.Quarter,
    "MONTH": exp.Month,
    "DAY": exp.Day,
}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TESTS = (*COMPARISONS, exp.In, exp.Between)
_NAMED_PARTS = ("date_part", "datepart")


def mind_case(scopes: Scopes) -> Steps:
    """Yield `pattern_case`: `a ILIKE 'x%'` -> `a LIKE 'x%'`, and the other way round."""
    for node in scopes.nodes.find_all(exp.ILike, exp.Like):
        other = exp.Like if isinstance(node, exp.ILike) else exp.ILike
        with replaced(node, other(**_copy_args(node))):
            yield "pattern_case"


def _copy_args(node: exp.Expr) -> dict[str, object]:
    copy = node.copy()
    return dict(copy.args)


def keep_all_of_group(scopes: Scopes) -> Steps:
    """Yield `distinct_on`: `SELECT DISTINCT ON (a) a, b` -> `SELECT DISTINCT a, b`."""
    for select in scopes.nodes.find_all(exp.Select):
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            with changed(select, distinct=exp.Distinct()):
                yield "distinct_on"


def forget_nulls(scopes: Scopes) -> Steps:
    """Yield `nulls_order`: `ORDER BY a DESC NULLS LAST` -> `ORDER BY a DESC`, where NULL comes
    elsewhere if nobody says so."""
    for term in scopes.nodes.find_all(exp.Ordered):
        is_first = puts_null_first(descending=bool(term.args.get("desc")))
        query = term.parent and term.parent.parent
        if bool(term.args.get("nulls_first")) is not is_first and isinstance(query, exp.Query):
            is_shown = query.args.get("limit") is not None or find_user(query) is None
            if is_shown:
                with changed(term, nulls_first=is_first):
                    yield "nulls_order"


def divide_otherwise(scopes: Scopes) -> Steps:
    """Yield `division`: integers are divided as integers in place of as numbers, or the other way
    round. `CAST(a AS DECIMAL) / b` -> `a / b` in PostgreSQL, `a / b` -> `a // b` in DuckDB."""
    for node in scopes.nodes.find_all(exp.Div, exp.IntDiv):
        for other in _list_divisions(node):
            with replaced(node, other):
                yield "division"


def _list_divisions(node: exp.Binary) -> Iterator[exp.Expr]:
    left, right = node.this.copy(), node.expression.copy()
    if spoken_engine() == DUCKDB:
        other = exp.Div if isinstance(node, exp.IntDiv) else exp.IntDiv
        yield other(this=left, expression=right)
    elif spoken_engine() == POSTGRES:
        plain = _uncast(left), _uncast(right)
        if plain != (left, right):
            yield _divide(*plain)
        elif not _has_fraction(left) and not _has_fraction(right):
            yield _divide(exp.cast(left, "double"), right)


def _divide(left: exp.Expr, right: exp.Expr) -> exp.Div:
    return exp.Div(this=left, expression=right, typed=True, safe=False)


def _uncast(node: exp.Expr) -> exp.Expr:
    """The operand as an integer: without a cast around it, and without a factor such as 1.0."""
    inner = node.unnest()
    if isinstance(inner, exp.Cast):
        operand: exp.Expr = inner.this.copy()
        return operand
    if isinstance(inner, exp.Mul):
        sides = [inner.this, inner.expression]
        for factor, other in (sides, sides[::-1]):
            if _is_fraction(factor):
                is_one = float(factor.this) == 1
                whole = exp.Literal.number(round(float(factor.this)))
                return other.copy() if is_one else exp.Mul(this=other.copy(), expression=whole)
    return node


def _is_fraction(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and "." in node.this


def _has_fraction(node: exp.Expr) -> bool:
    return any(_is_fraction(each) or isinstance(each, exp.Cast | exp.Avg) for each in node.walk())


def drop_filters(scopes: Scopes) -> Steps:
    """Yield `filter_dropped`: `count(*) FILTER (WHERE a > 1)` -> `count(*)`."""
    for node in scopes.nodes.find_all(exp.Filter):
        with replaced(node, node.this.copy()):
            yield "filter_dropped"


def drop_qualify(scopes: Scopes) -> Steps:
    """Yield `qualify_dropped`: `SELECT a FROM t QUALIFY rank() OVER (ORDER BY b) = 1` ->
    `SELECT a FROM t`."""
    for select in scopes.nodes.find_all(exp.Select):
        if select.args.get("qualify") is not None:
            with changed(select, qualify=None):
                yield "qualify_dropped"


def take_other_part(scopes: Scopes) -> Steps:
    """Yield `date_part`: `EXTRACT(MONTH FROM a)` -> `EXTRACT(YEAR FROM a)`,
    `EXTRACT(DAY FROM a)`; in the same way of date_part, date_trunc, year() and month()."""
    for extract in scopes.nodes.find_all(exp.Extract):
        for part in _list_other_parts(extract.name):
            with changed(extract, this=exp.var(part)):
                yield "date_part"
    for truncated in scopes.nodes.find_all(exp.TimestampTrunc, exp.DateTrunc):
        unit = truncated.args.get("unit")
        for part in _list_other_parts(unit.name) if unit is not None else ():
            with changed(truncated, unit=exp.var(part)):
                yield "date_part"
    for called in scopes.nodes.find_all(exp.Anonymous):
        arguments = called.expressions
        if called.name.strip().lower() in _NAMED_PARTS and len(arguments) == 2:
            for part in _list_other_parts(arguments[0].name):
                with replaced(arguments[0], exp.Literal.string(part.lower())):
                    yield "date_part"
    for part, function in _PART_FUNCTIONS.items():
        for node in scopes.nodes.find_all(function):
            for other in _list_other_parts(part):
                if other in _PART_FUNCTIONS:
                    with replaced(node, _PART_FUNCTIONS[other](this=node.this.copy())):
                        yield "date_part"


def _list_other_parts(part: str) -> tuple[str, ...]:
    return _OTHER_PARTS.get(part.upper(), ())


def shift_dates(scopes: Scopes) -> Steps:
    """Yield `other_date`, the day after and the day before: `a > '2020-03-01'` -> `a >
    '2020-03-02'`, `a > '2020-02-29'`. In SQLite, where a date is a text, `text_affix` moves it."""
    for node in scopes.nodes.find_all(exp.Literal):
        tested = node.parent.parent if isinstance(node.parent, exp.Cast) else node.parent
        if not node.is_string or not isinstance(tested, _DATE_TESTS):
            continue
        text = node.name
        for days in (1, -1) if _DATE.fullmatch(text[:10]) else ():
            with contextlib.suppress(ValueError, OverflowError):
                day = date.fromisoformat(text[:10]) + timedelta(days=days)
                other = exp.Literal.string(day.isoformat() + text[10:])
                with replaced(node, other):
                    yield "other_date"

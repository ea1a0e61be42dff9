"""date_text_order: dates whose order as text is not that of time are put in order as text.

Doubted, if the dates look like '12/31/2013': `SELECT id FROM trip ORDER BY day DESC LIMIT 1`
Not doubted: the same query, if they look like '2013-12-31'

Text is sorted letter by letter: '12/31/1999' comes after '11/01/2013'. The doubt is no sign that
gold is wrong, since too few judged questions have it. Kinds:

sorted: by ORDER BY.
extreme: by min() or max().
range: by <, >, <=, >= or BETWEEN.

The repair brings dates into the order of time, if all of the column have one form, and it is known
which part is the day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.engines.database import Value
from answerkey.engines.schema import Column, Table, quote_name
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.rewrites.compared_values import compare_with_text
from answerkey.rewrites.text_values import MONTHS, order_by_date, take_extreme_by_date
from answerkey.rewrites.trees import together, write_change
from answerkey.sql.conditions import RANGES, Comparison, read_text
from answerkey.sql.query_tree import show_sql, write_table

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\s*(?:\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}|\d{{1,2}}(?:st|nd|rd|th)?[ -]{_MONTH}"
    rf"|{_MONTH}\.? \d{{1,2}})\b",
    re.IGNORECASE,
)
_DAY = r"(\d{1,2})"
_YEAR = r"(\d{4})"
_NAMED = rf"({_MONTH})"
# Dates that SQL can bring into the order of time, by the order of their parts.
_DATE_FORMS = (
    ("day month", re.compile(rf"{_DAY}([/.-]){_DAY}\2{_YEAR}")),
    ("day name", re.compile(rf"{_DAY}(?:st|nd|rd|th)?([ -]){_NAMED}\2{_YEAR}", re.IGNORECASE)),
    ("name day", re.compile(rf"{_NAMED}\.?( ){_DAY},? {_YEAR}", re.IGNORECASE)),
)
_SORTABLE_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_LAST_MONTH = 12
_MAX_DATES = 20_000  # different ones that are read: one of another form would spoil the order
_MAX_VALUES_READ = 20  # enough to see dates: no other text looks like one twenty times
_MAX_SHOWN_VALUES = 3


def find_date_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column is put in order all of whose values are such dates."""
    query = read_query(inspection)
    for order in _list_orders(query):
        base = query.base_column(order.expression)
        if base is None:
            continue
        values = _read_values(query, *base, most=_MAX_VALUES_READ)
        texts = sorted(value for value in values if isinstance(value, str))
        if len(values) > 1 and all(map(is_unsortable_date, values)):
            evidence = {
                "kind": order.kind,
                "sql": show_sql(order.expression),
                "values": show_rows([tuple(texts[:_MAX_SHOWN_VALUES])])[0],
            }
            return [Finding("date_text_order", with_repair(evidence, _repair(query, *base)))]
    return []


def is_unsortable_date(value: object) -> bool:
    """Return whether a value is a date as text whose order is not that of time.

    >>> [is_unsortable_date(value) for value in ("12/31/2013", "June 4, 2010", "4 Jun 1999")]
    [True, True, True]
    >>> [is_unsortable_date(value) for value in ("2013-12-31", "2010", "12.5", "march", 7)]
    [False, False, False, False, False]
    """
    return isinstance(value, str) and _DATE.match(value) is not None


def _read_values(query: Query, table: Table, column: Column, *, most: int) -> list[Value]:
    name = quote_name(column.name)
    rows = query.ask(
        f"SELECT DISTINCT {name} FROM {write_table(table.name)} WHERE {name} IS NOT NULL"
        f" LIMIT {most}"
    )
    return [value for (value,) in rows or ()]


class _Order(NamedTuple):
    """An expression that is put in order: its kind, the call of an extreme, and the comparison of a
    range."""

    kind: str
    expression: exp.Expr
    extreme: exp.Expr | None = None
    comparison: Comparison | None = None


def _list_orders(query: Query) -> Iterator[_Order]:
    for node in query.scopes.nodes.find_all(exp.Ordered):
        yield _Order("sorted", node.this.unnest())
    for extreme in query.scopes.nodes.find_all(exp.Min, exp.Max):
        yield _Order("extreme", extreme.this.unnest(), extreme=extreme)
    for comparison in query.comparisons:
        if comparison.operator in RANGES:
            yield _Order("range", comparison.left, comparison=comparison)


class _DateForm(NamedTuple):
    """The form that all dates of a column have: the order of their parts, what separates them, and
    the pattern of a date."""

    parts: str
    separator: str
    pattern: re.Pattern[str]

    def read(self, text: str) -> str | None:
        """Return year-month-day of a date of this form; None for another text."""
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        first, _, second, year = match.groups()
        written = dict(zip(self.parts.split(), (first, second), strict=True))
        name = written.get("name", "")[:3].lower()
        month = (MONTHS.index(name) + 3) // 3 if name else int(written["month"])
        return f"{year}-{month:02}-{int(written['day']):02}"


def _find_date_form(values: list[Value]) -> _DateForm | None:
    """Return the one form of all values; None if there is none, or if day and month look alike."""
    texts = [value for value in values if isinstance(value, str)]
    for parts, pattern in _DATE_FORMS:
        matches = [match for text in texts if (match := pattern.fullmatch(text)) is not None]
        separators = {match[2] for match in matches}
        if len(matches) < len(values) or len(separators) != 1:
            continue
        form = parts
        if parts == "day month":
            highest = [max(int(match[group]) for match in matches) for group in (1, 3)]
            if (highest[0] > _LAST_MONTH) is (highest[1] > _LAST_MONTH):
                return None
            form = parts if highest[0] > _LAST_MONTH else "month day"
        return _DateForm(form, separators.pop(), pattern)
    return None


def _repair(query: Query, table: Table, column: Column) -> str | None:
    """Return the query with each order of this column by year, month and day."""
    form = _find_date_form(_read_values(query, table, column, most=_MAX_DATES))
    if form is None:
        return None
    changes: list[AbstractContextManager[None]] = []
    changed_ids = set()
    for order in _list_orders(query):
        if query.base_column(order.expression) != (table, column):
            continue
        if order.comparison is not None:
            text = read_text(order.comparison.right, query.scopes)
            sortable = form.read(text) if text is not None else None
            if sortable is not None:
                changes.append(compare_with_text(order.comparison, sortable))
            elif text is None or not _SORTABLE_DATE.fullmatch(text):
                return None
        if id(order.expression) in changed_ids:
            continue  # BETWEEN is two comparisons
        changed_ids.add(id(order.expression))
        if order.extreme is not None:
            changes.append(
                take_extreme_by_date(order.extreme, order.expression, form.parts, form.separator)
            )
        else:
            changes.append(order_by_date(order.expression, form.parts, form.separator))
    return write_change(query.scopes, together(changes))


DOUBT = Doubt("date_text_order", find_in_query=find_date_text_order, is_sign=False)

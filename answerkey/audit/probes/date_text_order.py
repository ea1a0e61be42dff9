"""date_text_order: dates that are written day, month or name first are sorted or compared as text,
where '01.12.2019' comes before '02.01.1990'."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from answerkey.audit.comparisons import RANGES, read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql
from answerkey.sqlite.schema import quote_name

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\s*(?:\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}|\d{{1,2}}(?:st|nd|rd|th)?[ -]{_MONTH}"
    rf"|{_MONTH}\.? \d{{1,2}})\b",
    re.IGNORECASE,
)
_VALUES_READ = 20
_VALUES_SHOWN = 3


def is_unsortable_date(value: object) -> bool:
    """Whether a value is a date as text whose order is not that of time.

    >>> [is_unsortable_date(value) for value in ("12/31/2013", "June 4, 2010", "4 Jun 1999")]
    [True, True, True]
    >>> [is_unsortable_date(value) for value in ("2013-12-31", "2010", "12.5", "march", 7)]
    [False, False, False, False, False]
    """
    return isinstance(value, str) and _DATE.match(value) is not None


def find_date_text_order(inspection: Inspection) -> list[Finding]:
    """A finding where all values of a column are such dates, and the query sorts by it, takes its
    MIN or MAX, or asks for greater or less.

    Kinds: `sorted`, `extreme`, `range`.
    """
    reading = read_query(inspection)
    for kind, expression in _list_ordered(inspection):
        base = reading.base_column(expression)
        if base is None:
            continue
        name = quote_name(base[1].name)
        values = reading.values.ask_column(
            f"SELECT DISTINCT {name} FROM {quote_name(base[0].name)} WHERE {name} IS NOT NULL"
            f" LIMIT {_VALUES_READ}"
        )
        if len(values) > 1 and all(map(is_unsortable_date, values)):
            evidence = {
                "kind": kind,
                "sql": show_sql(expression),
                "values": sorted(values)[:_VALUES_SHOWN],
            }
            return [Finding(Flag.DATE_TEXT_ORDER, evidence)]
    return []


def _list_ordered(inspection: Inspection) -> Iterator[tuple[str, exp.Expression]]:
    for node in inspection.scopes.nodes.find_all(exp.Ordered):
        yield "sorted", node.this.unnest()
    for node in inspection.scopes.nodes.find_all(exp.Min, exp.Max):
        yield "extreme", node.this.unnest()
    for comparison in read_query(inspection).comparisons:
        if comparison.operator in RANGES:
            yield "range", comparison.left

"""Probes of types: text that is sorted or compared as something else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.compared_literals import list_compared_literals
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.sql.conditions import PATTERNS, RANGES, read_text
from answerkey.sql.query_tree import copy_nodes, copy_with, show_sql, to_sql, unwrap
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import Column, Table, affinity, quote_name

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
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_LAST_MONTH = 12
_DATE_WIDTH = len("2019-12-31")
_MAX_DATES = 20_000  # different ones that are read: one of another form would spoil the order
_MAX_VALUES_READ = 20  # enough to see dates: no other text is one twenty times
_MAX_SHOWN_VALUES = 3
_NUMBER = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)
_GROUPED_NUMBER = re.compile(r"\s*[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?\s*", re.ASCII)
# a number, and a unit: percent, letters, or the minutes and seconds of a time
_WITH_UNIT = re.compile(
    r"\s*[-+]?(\d+)(?:\.\d+)?\s*(%|[a-z]+\.?|(?::[0-5]\d){1,2})\s*", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_ORDERING = (exp.Ordered, exp.Min, exp.Max, exp.Between, exp.LT, exp.LTE, exp.GT, exp.GTE)
_NUMERIC = frozenset({"INTEGER", "REAL", "NUMERIC"})
_MIN_SHARE_OF_NUMBERS = 0.9  # of texts: some say "unknown" among numbers; codes are mostly none
_MAX_TEXTS_READ = 2000  # enough for a share
_TEXTS = (
    *(exp.TimeToStr, exp.Date, exp.Substring, exp.Lower, exp.Upper),
    *(exp.Trim, exp.Replace, exp.DPipe),
)


def is_unsortable_date(value: object) -> bool:
    """Whether a value is a date as text whose order is not that of time.

    >>> [is_unsortable_date(value) for value in ("12/31/2013", "June 4, 2010", "4 Jun 1999")]
    [True, True, True]
    >>> [is_unsortable_date(value) for value in ("2013-12-31", "2010", "12.5", "march", 7)]
    [False, False, False, False, False]
    """
    return isinstance(value, str) and _DATE.match(value) is not None


def find_date_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if all values of a column are such dates, and the query sorts by it, takes
    its MIN or MAX, or asks for greater or less.

    Kinds: `sorted`, `extreme`, `range`. The repair brings the dates into the order of time, where
    all of them have one form.
    """
    query = read_query(inspection)
    for ordered in _list_ordered(query):
        base = query.base_column(ordered.expression)
        if base is None:
            continue
        values = _read_values(query, *base, most=_MAX_VALUES_READ)
        texts = sorted(value for value in values if isinstance(value, str))
        if len(values) > 1 and all(map(is_unsortable_date, values)):
            evidence = {
                "kind": ordered.kind,
                "sql": show_sql(ordered.expression),
                "values": show_rows([tuple(texts[:_MAX_SHOWN_VALUES])])[0],
            }
            repair = _order_dates(inspection, query, *base)
            return [Finding("date_text_order", with_repair(evidence, repair))]
    return []


def _read_values(query: Query, table: Table, column: Column, *, most: int) -> list[Value]:
    name = quote_name(column.name)
    rows = query.ask(
        f"SELECT DISTINCT {name} FROM {quote_name(table.name)} WHERE {name} IS NOT NULL"
        f" LIMIT {most}"
    )
    return [value for (value,) in rows or ()]


class _Ordered(NamedTuple):
    """An expression that is put in order, how, and the literal that it is compared with, if any."""

    kind: str
    expression: exp.Expr
    compared_with: exp.Expr | None = None


def _list_ordered(query: Query) -> Iterator[_Ordered]:
    for node in query.scopes.nodes.find_all(exp.Ordered):
        yield _Ordered("sorted", node.this.unnest())
    for extreme in query.scopes.nodes.find_all(exp.Min, exp.Max):
        yield _Ordered("extreme", extreme.this.unnest())
    for comparison in query.comparisons:
        if comparison.operator in RANGES:
            yield _Ordered("range", comparison.left, comparison.right)


class _DateForm(NamedTuple):
    """The form that all dates of a column have: the order of their parts, how a date is matched,
    and what separates its parts."""

    parts: str
    pattern: re.Pattern[str]
    separator: str

    def write(self, name: str) -> str:
        """SQL for year-month-day of a column.

        >>> _DateForm("month day", re.compile(""), "/").write("day")  # doctest: +ELLIPSIS
        "printf('%s-%02d-%02d', substr(day, -4), ..."
        """
        mark = f"'{self.separator}'"
        rest = f"substr({name}, instr({name}, {mark}) + 1)"
        written = {}
        for part, text in zip(self.parts.split(), (name, rest), strict=True):
            number = f"CAST({text} AS INTEGER)"  # the digits at its start
            letter = f"instr('{_MONTHS}', lower(substr({text}, 1, 3)))"
            written[part] = f"({letter} + 2) / 3" if part == "name" else number
        month = written.get("month") or written["name"]
        return f"printf('%s-%02d-%02d', substr({name}, -4), {month}, {written['day']})"

    def read(self, text: str) -> str | None:
        """Year-month-day of a date of this form; None for another text."""
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        first, _, second, year = match.groups()
        written = dict(zip(self.parts.split(), (first, second), strict=True))
        name = written.get("name", "")[:3].lower()
        month = (_MONTHS.index(name) + 3) // 3 if name else int(written["month"])
        return f"{year}-{month:02}-{int(written['day']):02}"


def _find_date_form(values: list[Value]) -> _DateForm | None:
    """The one form of all values; None if there is none, or if nobody can tell day from month."""
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
        return _DateForm(form, pattern, separators.pop())
    return None


def _order_dates(inspection: Inspection, query: Query, table: Table, column: Column) -> str | None:
    """The query with each order of this column by year, month and day."""
    form = _find_date_form(_read_values(query, table, column, most=_MAX_DATES))
    if form is None:
        return None
    ordered = [
        order
        for order in _list_ordered(query)
        if query.base_column(order.expression) == (table, column)
    ]
    twins = copy_nodes(inspection.tree)
    done = set()
    for order in ordered:
        if order.compared_with is not None:
            text = read_text(order.compared_with, query.scopes)
            sortable = form.read(text) if text is not None else None
            if sortable is not None:
                twins[id(order.compared_with)].replace(exp.Literal.string(sortable))
            elif text is None or not _SORTABLE_DATE.fullmatch(text):
                return None
        if id(order.expression) in done:
            continue  # BETWEEN is two comparisons
        done.add(id(order.expression))
        twin = twins[id(order.expression)]
        date = form.write(to_sql(twin))
        if order.kind == "extreme":
            extreme = twin.find_ancestor(exp.Min, exp.Max)
            _replace_extreme(extreme, date, _DATE_WIDTH, to_sql(twin))
        else:
            twin.replace(exp.maybe_parse(date, dialect="sqlite"))
    return to_sql(twins[id(inspection.tree)])


def _replace_extreme(node: exp.Expr | None, sortable: str, width: int, name: str) -> None:
    """Take the extreme by a sortable text of fixed width, and return what it stands for, so that
    what it is compared with means the same: min() or max() sees the sortable text before it."""
    if node is None:
        return
    function = "max" if isinstance(node, exp.Max) else "min"
    whole = f"substr({function}({sortable} || {name}), {width + 1})"
    chosen: exp.Expr = exp.maybe_parse(whole, dialect="sqlite")
    is_column = isinstance(node.parent, exp.Select)
    node.replace(exp.alias_(chosen, to_sql(node), quoted=True) if is_column else chosen)


def find_numeric_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if text that is mostly numbers is put in order as text, and the answer is
    another than in the order of the numbers: '95' is a greater text than '1200'."""
    findings = inspection.once(_find_text_order)
    return [finding for finding in findings if finding.code == "numeric_text_order"]


def find_latent_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if text that is mostly numbers is put in order as text, and the answer is
    the same as in the order of the numbers, and would not be on other rows."""
    findings = inspection.once(_find_text_order)
    return [finding for finding in findings if finding.code == "latent_text_order"]


def _find_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if a sort, a comparison by < or >, or a min() or max() over text that is
    mostly numbers gives another answer than over the numbers: '95' is a greater text than
    '1200'. latent_text_order if it gives the same one, and would not on other rows.

    Kinds of both: `number`; `unit` for '22.7%' or '4:32', which are sorted or an extreme.
    """
    query = read_query(inspection)
    latent: list[Finding] = []
    for node in query.scopes.nodes.find_all(*_ORDERING):
        for column in _list_ordered_columns(node):
            base = query.base_column(column)
            if base is None or affinity(base[1].type) not in ("TEXT", "BLOB"):
                continue
            is_compared = isinstance(node, exp.Between | exp.Binary)
            if is_compared and not _compares_text(node, query):
                continue
            texts = query.list_texts(*base, most=_MAX_TEXTS_READ, condition="{0} <> ''")
            share = _share_of_numbers(texts)
            kind = "number"
            if share < _MIN_SHARE_OF_NUMBERS:
                kind, share = "unit", _share_of_one_unit(texts)
                if share < _MIN_SHARE_OF_NUMBERS or is_compared:
                    continue
            copy, (twin, twin_column) = copy_with(inspection.tree, [node, column])
            _read_as_number(twin, twin_column, has_unit=kind == "unit")
            evidence = {
                "kind": kind,
                "column": f"{base[0].name}.{base[1].name}",
                "where": show_sql(node),
                "share_of_numbers": round(share, 3),
            }
            sql = to_sql(copy)
            if answers := _compare_answers(inspection, sql):
                return [Finding("numeric_text_order", with_repair(evidence | answers, sql))]
            if kind == "unit" or _is_out_of_order(texts):
                latent.append(Finding("latent_text_order", with_repair(evidence, sql)))
    return latent[:1]


def _is_out_of_order(texts: list[str]) -> bool:
    """Whether numbers come in another order as text: not the years of four digits."""
    numbers = [_read_number(text) for text in sorted(texts) if looks_like_number(text)]
    return any(
        isinstance(one, float) and isinstance(other, float) and one > other
        for one, other in pairwise(numbers)
    )


def _share_of_one_unit(texts: list[str]) -> float:
    """The share of texts that begin with a number and end with the same unit: '22.7%', '9 kg',
    '4:32'. 0 for codes, and where zeros in front make all numbers as long.

    >>> [_share_of_one_unit(texts) for texts in (["9.5%", "22%"], ["4:32"], ["04:32"], ["A1"])]
    [1.0, 1.0, 0.0, 0.0]
    """
    matches = [match for text in texts if (match := _WITH_UNIT.fullmatch(text)) is not None]
    units = Counter(_DIGITS.sub("9", match[2].lower()) for match in matches)
    is_padded = len({len(match[1]) for match in matches}) == 1 and any(
        len(match[1]) > 1 and match[1].startswith("0") for match in matches
    )
    return 0.0 if is_padded or not units else max(units.values()) / len(texts)


def _compare_answers(inspection: Inspection, sql: str) -> dict[str, Any]:
    """The answer and that of a query which reads text as numbers; {} if they are the same where
    text that is a number is that number, or if that query fails."""
    rows = read_query(inspection).ask(sql)
    if rows is None:
        return {}
    is_ordered = unwrap(inspection.tree).args.get("order") is not None
    read, others = (
        [tuple(map(_read_number, row)) for row in side] for side in (inspection.rows, rows)
    )
    if inspection.matches(read, others, ordered=is_ordered):
        return {}
    return {"answer": show_rows(inspection.rows), "answer_by_number": show_rows(rows)}


def looks_like_number(text: str) -> bool:
    """Whether a text is a number as people write them.

    >>> [looks_like_number(text) for text in ("12", "-3.5", "1,200", "1e3", "12 kg", "", "1,2")]
    [True, True, True, True, False, False, False]
    """
    return bool(_NUMBER.fullmatch(text) or _GROUPED_NUMBER.fullmatch(text))


def _list_ordered_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns that an expression puts in order as they are, not computed with."""
    for operand in node.iter_expressions():
        inner = operand.unnest()
        while isinstance(inner, exp.Collate | exp.Distinct):
            inner = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner.this
        if isinstance(inner, exp.Column):
            yield inner


def _compares_text(node: exp.Expr, query: Query) -> bool:
    """Whether SQLite compares as text: no side has a numeric affinity.

    Source: section 4.2 of the SQLite manual's page on datatypes.
    """
    operands = (operand.unnest() for operand in node.iter_expressions())
    return not any(_find_affinity(operand, query) in _NUMERIC for operand in operands)


def _find_affinity(expression: exp.Expr, query: Query) -> str | None:
    if isinstance(expression, exp.Cast):
        return affinity(to_sql(expression.to))
    base = query.base_column(expression)
    return affinity(base[1].type) if base is not None else None


def _share_of_numbers(texts: list[str]) -> float:
    """The share of texts that look like numbers."""
    return sum(map(looks_like_number, texts)) / len(texts) if texts else 0.0


def _read_as_number(node: exp.Expr, column: exp.Expr, *, has_unit: bool) -> None:
    """Make an expression order a column by its numbers; an extreme still returns the text. What
    follows the number, such as the seconds of '4:32', orders those of one number."""
    name = to_sql(column)
    number = f"replace({name}, ',', '')"
    # fixed in width and moved above zero
    sortable = f"printf('%032.6f', CAST({number} AS REAL) + 1e12)"
    if isinstance(node, exp.Min | exp.Max):
        _replace_extreme(node, sortable, 32, name)
    elif has_unit:
        column.replace(exp.maybe_parse(f"({sortable} || {name})", dialect="sqlite"))
    else:
        column.replace(exp.maybe_parse(f"CAST({number} AS NUMERIC)", dialect="sqlite"))


def _read_number(value: Value) -> Value:
    if isinstance(value, int):
        return float(value)
    if isinstance(value, str) and looks_like_number(value):
        return float(value.replace(",", ""))
    return value


def find_type_mismatch(inspection: Inspection) -> list[Finding]:
    """Return a finding if text is compared with a number, and the answer is another where the text
    is read as a number: `strftime('%Y', day) = 2020` never holds, and `code > 30` holds for 'N1'.

    Source: section 4 of the SQLite manual's page on datatypes.
    """
    query = read_query(inspection)
    for literal in inspection.once(list_compared_literals):
        node, left = literal.comparison.node, literal.comparison.left
        if literal.number is None or literal.is_text or literal.comparison.operator in PATTERNS:
            continue
        is_within = any(part is left for part in node.walk())
        if is_within and _may_be_text(left, query):
            copy, (twin,) = copy_with(inspection.tree, [left])
            twin.replace(exp.cast(twin.copy(), "NUMERIC", dialect="sqlite"))
            sql = to_sql(copy)
            if answers := _compare_answers(inspection, sql):
                evidence = {"sql": literal.comparison.text} | answers
                return [Finding("type_mismatch", with_repair(evidence, sql))]
    return []


def _may_be_text(expression: exp.Expr, query: Query) -> bool:
    base = query.base_column(expression)
    if base is None:
        return isinstance(expression, _TEXTS)
    return query.has_texts(*base)


DOUBTS = (
    Doubt("date_text_order", find_in_query=find_date_text_order, is_sign=False),
    Doubt("numeric_text_order", find_in_query=find_numeric_text_order),
    Doubt("latent_text_order", find_in_query=find_latent_text_order, is_sign=False),
    Doubt("type_mismatch", find_in_query=find_type_mismatch),
)

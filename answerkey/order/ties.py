"""Ties: rows that the ORDER BY of a query does not distinguish."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from answerkey.engines.database import QueryError, Row, Value
from answerkey.engines.schema import fold_case, fold_name
from answerkey.order.inspection import Inspection
from answerkey.sql.query_tree import (
    SHOWN_CHARACTERS,
    has_ties,
    make_limit,
    read_integer,
    selects_of,
    show_sql,
    unwrap,
    write_with,
)
from answerkey.sql.scopes import Scopes, inline_aliases

SHOWN_ROWS = 3


# The index of a result column, or an expression to select in addition.
_SortKey = int | exp.Expr


def _find_sort_keys(query: exp.Expr, scopes: Scopes) -> list[_SortKey] | None:
    """Return the sort keys of a query, one per term of ORDER BY; None if a key of a compound select
    is none of its columns."""
    order = query.args.get("order")
    is_compound = isinstance(query, exp.SetOperation)
    keys: list[_SortKey] = []
    for term in order.expressions if order is not None else ():
        expression = term.this.unnest()
        number = read_integer(_without_collate(expression))
        column_index = None if number is None else number - 1
        if column_index is None and (is_compound or query.args.get("distinct")):
            column_index = _find_column_index(query, expression, scopes)
        if column_index is None and is_compound:
            return None
        keys.append(inline_aliases(expression, scopes) if column_index is None else column_index)
    return keys


def _find_column_index(query: exp.Expr, expression: exp.Expr, scopes: Scopes) -> int | None:
    """Return the index of the result column that a term of ORDER BY means, by its name or as the
    same expression; in a compound select, of any of its SELECTs."""
    bare = _without_collate(expression)
    is_name = isinstance(bare, exp.Column) and not bare.args.get("table")
    for select in selects_of(query):
        names = [fold_name(output.name) for output in scopes.outputs(select)]
        if is_name and fold_name(bare.name) in names:
            return names.index(fold_name(bare.name))
        expressions = [output.expression for output in scopes.outputs(select)]
        bared = [
            expression if expression is None else expression.unnest() for expression in expressions
        ]
        if bare in bared:
            return bared.index(bare)
    return None


def _without_collate(expression: exp.Expr) -> exp.Expr:
    return expression.this.unnest() if isinstance(expression, exp.Collate) else expression


def _take_keys(
    rows: list[Row], keys: list[_SortKey], scopes: Scopes
) -> tuple[int, list[tuple[Value, ...]]]:
    """Return how many columns are selected, and each row's sort keys. If the query or the schema
    names a collation, texts that some collation folds are one key."""
    width = len(rows[0]) - len(_list_added(keys)) if rows else 0
    added = itertools.count(width)
    column_indexes = [key if isinstance(key, int) else next(added) for key in keys]
    fold = _fold if scopes.has_collations() else lambda value: value
    return width, [
        tuple(fold(row[column_index]) for column_index in column_indexes) for row in rows
    ]


def _fold(value: Value) -> Value:
    return fold_case(value).rstrip(" ") if isinstance(value, str) else value


def _list_added(keys: list[_SortKey]) -> list[exp.Expr]:
    return [key for key in keys if isinstance(key, exp.Expr)]


@dataclass(frozen=True, slots=True)
class Run:
    """Adjacent rows that the sort keys do not distinguish: positions from `first` up to `end`,
    counted from 0 and before OFFSET. `rows` has them as the query selects them."""

    first: int
    end: int
    rows: list[Row]

    @property
    def is_mixed(self) -> bool:
        """Return whether it has rows that differ, so that their order or choice is visible."""
        return len(set(map(typed_row, self.rows))) > 1


@dataclass(slots=True)
class Ties:
    """The rows before ORDER BY and LIMIT of a query, in runs whose order is open.

    `SELECT name FROM ship ORDER BY weight LIMIT 1` over weights 5, 5, 9 has the runs [0, 2) and
    [2, 3), and its bound at 1 cuts through the first run.

    keys: the sort keys as text; none without ORDER BY.
    start, stop: the positions between which rows are returned; stop is None without LIMIT.
    has_open_keys: DISTINCT rows are sorted by unselected columns, and some have several keys.
    """

    keys: list[str]
    start: int
    stop: int | None
    runs: list[Run] = field(default_factory=list)
    has_open_keys: bool = False

    def cut_runs(self) -> list[Run]:
        """Return the mixed runs of which some but not all rows are returned: another choice of rows
        is equally correct."""
        return [run for run in self.runs if run.is_mixed and self._cuts(run)]

    def _cuts(self, run: Run) -> bool:
        stop = run.end if self.stop is None else min(run.end, self.stop)
        return 0 < stop - max(run.first, self.start) < run.end - run.first

    def has_open_order(self, answer: list[Row]) -> bool:
        """Return whether adjacent rows of the answer differ although no sort key orders them."""
        return bool(self.keys) and any(
            len(set(map(typed_row, self.rows_of_run(run, answer)))) > 1 for run in self.runs
        )

    def rows_of_run(self, run: Run, answer: list[Row]) -> list[Row]:
        return answer[max(run.first - self.start, 0) : max(run.end - self.start, 0)]

    def is_confirmed(self, answer: list[Row]) -> bool:
        return not any(
            Counter(map(typed_row, self.rows_of_run(run, answer)))
            - Counter(map(typed_row, run.rows))
            for run in self.runs
        )


def typed_row(row: Row) -> tuple[Any, ...]:
    """Return a row that equals another only if all values have the same types: 1 is not 1.0."""
    return tuple((type(value), value) for value in row)


def show_rows(rows: list[Row]) -> list[list[Value]]:
    """Return the first rows for a person to look at, with long texts cut."""
    return [
        [value[:SHOWN_CHARACTERS] if isinstance(value, str) else value for value in row]
        for row in rows[:SHOWN_ROWS]
    ]


def read_ties(inspection: Inspection) -> Ties | None:
    """Return the runs of the query. Return None without ORDER BY and LIMIT, or if the runs are
    unknown: a bound is no number, a key of a compound select is none of its columns, or the
    rewritten query does not confirm the answer."""
    return inspection.once(_read_ties)


def _read_ties(inspection: Inspection) -> Ties | None:
    query, scopes = unwrap(inspection.tree), inspection.scopes
    order = query.args.get("order")
    bounds = _read_bounds(query)
    is_bound = any(query.args.get(name) is not None for name in ("limit", "offset"))
    if bounds is None or (order is None and not is_bound):
        return None
    terms = order.expressions if order is not None else ()
    ties = Ties(list(map(show_sql, terms)), *bounds)
    keys = _find_sort_keys(query, scopes)
    is_whole = ties.stop is None and not ties.start
    if keys is None or (is_whole and len(inspection.rows) < 2):
        return None
    try:
        _fill(ties, inspection, query, keys)
    except QueryError:
        return None
    return ties if ties.has_open_keys or ties.is_confirmed(inspection.rows) else None


def _read_bounds(query: exp.Expr) -> tuple[int, int | None] | None:
    """Return the positions where LIMIT and OFFSET start and stop; None if one is no number.

    `FETCH FIRST 3 ROWS WITH TIES` cuts no tie: positions are counted behind OFFSET then.
    """
    limit = query.args.get("limit")
    if has_ties(limit):
        return 0, None
    if isinstance(limit, exp.Fetch) or (limit is not None and limit.args.get("limit_options")):
        return None  # a percentage
    values = []
    for name, default in (("offset", 0), ("limit", -1)):
        node = query.args.get(name)
        if node is not None and not node.expression.is_int:
            return None
        values.append(default if node is None else int(node.expression.to_py()))
    start = max(values[0], 0)  # by the manual, a negative OFFSET is 0 and a negative LIMIT is none
    return start, None if values[1] < 0 else start + values[1]


def _fill(ties: Ties, inspection: Inspection, query: exp.Expr, keys: list[_SortKey]) -> None:
    added, distinct = _list_added(keys), query.args.get("distinct")
    keeps_first = isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None
    is_distinct = bool(distinct) and not keeps_first
    if ties.stop is None and not ties.start and not added:
        rows = inspection.rows
    elif ties.stop is None or (added and is_distinct):
        rows = _execute_wide(inspection, query, added, None)
        shown = {typed_row(row[: len(row) - len(added)]) for row in rows}
        ties.has_open_keys = is_distinct and len(shown) < len(rows)
    else:
        limit = min(ties.stop + inspection.bounds.max_rows, inspection.database.limits.max_rows - 1)
        rows = _execute_wide(inspection, query, added, max(limit, ties.stop) + 1)
    divide = _divide_open if ties.has_open_keys else _divide
    divide(ties, rows, keys, inspection.scopes)


def _execute_wide(
    inspection: Inspection, query: exp.Expr, added: list[exp.Expr], limit: int | None
) -> list[Row]:
    """Return the rows without OFFSET and up to `limit`, with the sort keys as further columns."""
    clauses: dict[str, Any] = {}
    if added:
        clauses["expressions"] = [*query.expressions, *added]
    if not has_ties(query.args.get("limit")):
        clauses["offset"] = None
        clauses["limit"] = None if limit is None else make_limit(limit)
    return inspection.database.execute(write_with(query, **clauses))


def _divide(ties: Ties, rows: list[Row], keys: list[_SortKey], scopes: Scopes) -> None:
    width, values = _take_keys(rows, keys, scopes)
    for _, row_indexes in itertools.groupby(range(len(rows)), key=values.__getitem__):
        first, *others = row_indexes
        end = first + 1 + len(others)
        ties.runs.append(Run(first, end, [row[:width] for row in rows[first:end]]))


def _divide_open(ties: Ties, rows: list[Row], keys: list[_SortKey], scopes: Scopes) -> None:
    """Divide DISTINCT rows of which some have several keys into runs. SQLite sorts such a row by
    the key that it meets first, so two rows whose keys overlap are in one run."""
    width, values = _take_keys(rows, keys, scopes)
    spans: dict[tuple[Any, ...], tuple[int, int, Row]] = {}
    rank = 0
    for row_index, row in enumerate(rows):
        rank += row_index > 0 and values[row_index] != values[row_index - 1]
        name = typed_row(row[:width])
        least = spans[name][0] if name in spans else rank
        spans[name] = (least, rank, row[:width])
    reach = -1
    for least, most, row in sorted(spans.values(), key=lambda span: span[:2]):
        if least > reach:
            end = ties.runs[-1].end if ties.runs else 0
            ties.runs.append(Run(end, end, []))
        reach = max(reach, most)
        run = ties.runs[-1]
        ties.runs[-1] = Run(run.first, run.end + 1, [*run.rows, row])

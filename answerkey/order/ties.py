"""Sort keys: what the terms of a query's top-level ORDER BY compare, row by row."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from answerkey.order.inspection import Inspection
from answerkey.sql.equal_values import FOLDS, collation_of, collation_of_output, may_be_folded
from answerkey.sql.query_parts import read_integer, selects_of
from answerkey.sql.query_rewrites import inline_aliases, make_limit, to_sql, unwrap, write_with
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.guard import QueryError, Row, Value
from answerkey.sqlite.schema import fold_name


@dataclass(frozen=True, slots=True)
class SortKey:
    """A sort key: the place of a result column, or else an expression to be selected as well."""

    term: exp.Expression
    place: int | None = None
    expression: exp.Expression | None = None


def find_sort_keys(
    query: exp.Expression, answer: list[Row], scopes: Scopes
) -> list[SortKey] | None:
    """The sort keys of a query that gave this answer, one for each term of ORDER BY.

    None if a key of a compound select is none of its columns, or if the columns are not known as
    well as the answer has them.
    """
    order = query.args.get("order")
    keys = []
    for term in order.expressions if order is not None else ():
        expression = term.this.unnest()
        number = read_integer(_without_collate(expression))
        place = None if number is None else number - 1
        if place is None and (isinstance(query, exp.SetOperation) or query.args.get("distinct")):
            place = _find_place(query, expression, scopes)
        if place is not None:
            keys.append(SortKey(term, place=place))
        elif isinstance(query, exp.SetOperation):
            return None
        else:
            keys.append(SortKey(term, expression=inline_aliases(expression, scopes)))
    return keys if _are_places_known(query, keys, answer, scopes) else None


def _are_places_known(
    query: exp.Expression, keys: list[SortKey], answer: list[Row], scopes: Scopes
) -> bool:
    """Whether the places of keys can be relied on: `*` over a table-valued function hides some."""
    if not answer or all(key.place is None for key in keys):
        return True
    return len(scopes.outputs(query)) == len(answer[0])


def _find_place(query: exp.Expression, expression: exp.Expression, scopes: Scopes) -> int | None:
    """Which result column a term of ORDER BY means: by its AS, as the same column, or as the same
    expression; in a compound select, of any of its SELECTs."""
    bare = _without_collate(expression)
    wanted = scopes.resolve(bare) if isinstance(bare, exp.Column) else None
    for select in selects_of(query):
        outputs = scopes.outputs(select)
        if isinstance(bare, exp.Column) and not bare.args.get("table"):
            for place, output in enumerate(outputs):
                if fold_name(output.name) == fold_name(bare.name):
                    return place
        for place, output in enumerate(outputs):
            if output.expression is not None and output.expression.unnest() == bare:
                return place
            found = output.resolution
            if found is None and isinstance(output.expression, exp.Column):
                found = scopes.resolve(output.expression)
            if (
                found is not None
                and wanted is not None
                and wanted.column is not None
                and (found.source, found.column) == (wanted.source, wanted.column)
            ):
                return place
    return None


def _without_collate(expression: exp.Expression) -> exp.Expression:
    return expression.this.unnest() if isinstance(expression, exp.Collate) else expression


def take_keys(
    rows: list[Row], keys: list[SortKey], scopes: Scopes
) -> tuple[int, list[tuple[Value, ...]]]:
    """Return how many columns are selected, and each row's sort keys, folded by their
    collations."""
    added = sum(key.place is None for key in keys)
    width = len(rows[0]) - added if rows else 0
    places, extra = [], width
    for key in keys:
        places.append(extra if key.place is None else key.place)
        extra += key.place is None
    values = [tuple(row[place] for place in places) for row in rows]
    for number, key in enumerate(keys):
        if any(may_be_folded(a[number], b[number]) for a, b in itertools.pairwise(values)):
            fold = FOLDS[_collation_of_key(key, scopes)]
            values = [
                (*row[:number], fold(row[number]), *row[number + 1 :])
                if isinstance(row[number], str)
                else row
                for row in values
            ]
    return width, values


def _collation_of_key(key: SortKey, scopes: Scopes) -> str:
    term = key.term.this
    if key.place is None or isinstance(term, exp.Collate):
        return collation_of(term, scopes)
    return collation_of_output(scopes.outputs(unwrap(scopes.tree))[key.place], scopes)


SHOWN_ROWS = 3
SHOWN_TEXT = 200
_LOOK_AHEAD_ROWS = 50


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbours that the sort keys do not tell apart: positions from `first` up to `end`, which
    count from 0 and before OFFSET. `rows` holds all of them as the query selects them."""

    first: int
    end: int
    rows: list[Row]

    @property
    def is_mixed(self) -> bool:
        """Whether it holds rows that differ, so that their order or choice can be seen."""
        return len({typed_row(row) for row in self.rows}) > 1


@dataclass(slots=True)
class Ties:
    """The rows that ORDER BY and LIMIT of a query see, in runs whose order is open.

    `SELECT name FROM ship ORDER BY weight LIMIT 1` over weights 5, 5, 9 -> runs [0, 2) and [2, 3),
    and a cut at 1 through the first of them.

    keys: the sort keys as text; none without ORDER BY.
    start, stop: the positions between which rows are returned; stop is None without LIMIT.
    has_open_keys: DISTINCT rows are sorted by what is not selected, and some have several keys.
    """

    keys: list[str]
    start: int
    stop: int | None
    runs: list[Run] = field(default_factory=list)
    has_open_keys: bool = False

    def cut_runs(self) -> list[Run]:
        """The mixed runs that a bound cuts through: another choice of rows is equally correct."""
        if self.stop == self.start:
            return []
        bounds = [self.start] if self.start else []
        bounds += [self.stop] if self.stop is not None else []
        return [
            run
            for run in self.runs
            if run.is_mixed and any(run.first < bound < run.end for bound in bounds)
        ]

    def open_runs(self, answer: list[Row]) -> list[tuple[int, list[Row]]]:
        """Neighbours in the answer that differ, and that no sort key puts in order: the place of
        the first in the answer, and the rows."""
        found = []
        for run in self.runs if self.keys else ():
            rows = rows_of_run(run, self, answer)
            if len({typed_row(row) for row in rows}) > 1:
                found.append((max(run.first - self.start, 0), rows))
        return found


def typed_row(row: Row) -> tuple[Any, ...]:
    """A row that equals another only if all values have the same types: 1 is not 1.0."""
    return tuple((type(value), value) for value in row)


def show_rows(rows: list[Row]) -> list[list[Any]]:
    """The first rows for a person to look at, long text cut short."""
    return [
        [value[:SHOWN_TEXT] if isinstance(value, str) else value for value in row]
        for row in rows[:SHOWN_ROWS]
    ]


def read_ties(inspection: Inspection) -> Ties | None:
    """Return the runs of the query; None if there are none, or if they are not known.

    There are none without ORDER BY and LIMIT. They are not known if a bound needs a row, if a key
    of a compound select is none of its columns, or if the rewritten query does not confirm the
    answer.
    """
    return inspection.once(_read_ties)


def _read_ties(inspection: Inspection) -> Ties | None:
    query, scopes = unwrap(inspection.tree), inspection.scopes
    order = query.args.get("order")
    if not isinstance(query, exp.Select | exp.SetOperation):
        return None
    if order is None and query.args.get("limit") is None:
        return None
    bounds = _read_bounds(query, inspection)
    if bounds is None:
        return None
    terms = order.expressions if order is not None else ()
    ties = Ties([to_sql(term)[:SHOWN_TEXT] for term in terms], *bounds)
    keys = find_sort_keys(query, inspection.rows, scopes)
    if keys is None or (ties.stop is None and len(inspection.rows) < 2):
        return None
    try:
        _fill(ties, inspection, query, keys, scopes)
    except QueryError:
        return None
    return ties if ties.has_open_keys or is_confirmed(ties, inspection.rows) else None


def _read_bounds(query: exp.Expression, inspection: Inspection) -> tuple[int, int | None] | None:
    values = []
    for name, default in (("offset", 0), ("limit", -1)):
        node = query.args.get(name)
        if node is None:
            values.append(default)
            continue
        expression = node.expression
        try:
            if expression.is_int:
                values.append(int(expression.to_py()))
            else:
                values.append(
                    int(inspection.database.execute(f"SELECT {to_sql(expression)}")[0][0])
                )
        except (QueryError, TypeError, ValueError):
            return None
    start = max(values[0], 0)  # a negative OFFSET is 0 and a negative LIMIT none, says the manual
    return start, None if values[1] < 0 else start + values[1]


def _fill(
    ties: Ties, inspection: Inspection, query: exp.Expression, keys: list[SortKey], scopes: Scopes
) -> None:
    added = [key for key in keys if key.place is None]
    if ties.stop is None and not added:
        _divide(ties, inspection.rows, keys, scopes)
        return
    is_open = bool(added) and bool(query.args.get("distinct"))
    if ties.stop is None or is_open:
        rows = _execute_wide(inspection, query, added, None)
        if is_open and _has_repeats(rows, len(added)):
            _divide_open(ties, rows, keys, scopes)
        else:
            _divide(ties, rows, keys, scopes)
    else:
        _fill_to_cut(ties, inspection, query, keys, scopes)


def _fill_to_cut(
    ties: Ties, inspection: Inspection, query: exp.Expression, keys: list[SortKey], scopes: Scopes
) -> None:
    """Divide the rows up to the last bound and beyond, as far as it takes to see whether the run
    that it cuts is mixed."""
    added = [key for key in keys if key.place is None]
    near = ties.stop + _LOOK_AHEAD_ROWS
    rows: list[Row] = []
    for limit in (near, max(near, inspection.database.limits.max_rows)):
        rows = _execute_wide(inspection, query, added, limit)
        _divide(ties, rows, keys, scopes)
        if len(rows) < limit:
            return
        last = ties.runs[-1]
        if last.first >= ties.stop:
            ties.runs.pop()
            return
        if last.is_mixed:
            return
    # A run of which so much is the same goes on: are there any others that tie with them?
    distinct = _execute_wide(inspection, query, added, near, distinct=exp.Distinct())
    width, values = take_keys([rows[-1], *distinct], keys, scopes)
    tied = [row[:width] for row, key in zip(distinct, values[1:], strict=True) if key == values[0]]
    ties.runs[-1] = Run(last.first, last.end, [*last.rows, *tied])


def complete_cut(ties: Ties, inspection: Inspection, *, max_rows: int) -> Ties | None:
    """Return the same runs, those that a bound cuts with all of their rows; None if rows that
    differ have several keys, or if more than `max_rows` rows stand in the runs of the answer.

    `_fill_to_cut` stops as soon as it sees that a run is mixed.
    """
    query, scopes = unwrap(inspection.tree), inspection.scopes
    keys = find_sort_keys(query, inspection.rows, scopes)
    if ties.has_open_keys or keys is None:
        return None
    whole = Ties(ties.keys, ties.start, ties.stop)
    limit = ties.start + max_rows + 1
    added = [key for key in keys if key.place is None]
    try:
        _divide(whole, _execute_wide(inspection, query, added, limit), keys, scopes)
    except QueryError:
        return None
    if whole.runs and whole.runs[-1].end == limit:  # it may go on
        last = whole.runs.pop()
        if ties.stop is None or last.first < ties.stop:
            return None
    return whole if is_confirmed(whole, inspection.rows) else None


def _execute_wide(
    inspection: Inspection,
    query: exp.Expression,
    added: list[SortKey],
    limit: int | None,
    **clauses: Any,
) -> list[Row]:
    """The rows without OFFSET and up to `limit`, with the sort keys as further columns."""
    if added:
        clauses["expressions"] = [*query.expressions, *(key.expression for key in added)]
    if query.args.get("limit") is not None:
        clauses["offset"] = None
        clauses["limit"] = None if limit is None else make_limit(limit)
    return inspection.database.execute(write_with(query, **clauses))


def _has_repeats(rows: list[Row], added: int) -> bool:
    return len({typed_row(row[: len(row) - added]) for row in rows}) < len(rows)


def _divide(ties: Ties, rows: list[Row], keys: list[SortKey], scopes: Scopes) -> None:
    width, values = take_keys(rows, keys, scopes)
    ties.runs = []
    first = 0
    for place in range(1, len(rows) + 1):
        if place == len(rows) or values[place] != values[first]:
            ties.runs.append(Run(first, place, [row[:width] for row in rows[first:place]]))
            first = place


def _divide_open(ties: Ties, rows: list[Row], keys: list[SortKey], scopes: Scopes) -> None:
    """Runs of DISTINCT rows of which some have several keys: SQLite sorts such a row by the key it
    meets first, so two rows whose keys overlap stand in one run."""
    width, values = take_keys(rows, keys, scopes)
    ranks = [0]
    for place in range(1, len(rows)):
        ranks.append(ranks[-1] + (values[place] != values[place - 1]))
    spans: dict[tuple[Any, ...], tuple[int, int, Row]] = {}
    for rank, row in zip(ranks, rows, strict=True):
        name = typed_row(row[:width])
        least = spans[name][0] if name in spans else rank
        spans[name] = (least, rank, row[:width])
    ties.has_open_keys = True
    ties.runs = []
    reach = -1
    for least, most, row in sorted(spans.values(), key=lambda span: span[:2]):
        if least > reach:
            end = ties.runs[-1].end if ties.runs else 0
            ties.runs.append(Run(end, end, []))
        reach = max(reach, most)
        run = ties.runs[-1]
        ties.runs[-1] = Run(run.first, run.end + 1, [*run.rows, row])


def is_confirmed(ties: Ties, answer: list[Row]) -> bool:
    """Whether every run holds the rows that the answer has at its positions."""
    for run in ties.runs:
        returned = rows_of_run(run, ties, answer)
        if Counter(map(typed_row, returned)) - Counter(map(typed_row, run.rows)):
            return False
    return True


def rows_of_run(run: Run, ties: Ties, answer: list[Row]) -> list[Row]:
    """The rows of the answer that stand in a run."""
    return answer[max(run.first - ties.start, 0) : max(run.end - ties.start, 0)]

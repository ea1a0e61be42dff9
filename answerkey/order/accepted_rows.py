"""Proves that a sum or mean is the same in whatever order its numbers come.

Whole numbers are added without rounding, up to a size: then it is the same to its last digit, and
so is all that is computed of it or decided by it. Of numbers of one sign it is the same but for its
last digits, which makes no other answer.

`SELECT sum(price) FROM item` -> 0.6 or 0.6000000000000001: one answer. `SELECT sum(price) > 0.6` ->
0 or 1: two. A sum of -0.3, 0.1 and 0.2 -> 0.0 or 5.6e-17: two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sqlglot import exp

from answerkey.order.cuts import list_cuts, read_row_order
from answerkey.order.inspection import Inspection
from answerkey.order.ties import complete_cut, read_ties, rows_of_run
from answerkey.records import encode_json
from answerkey.sql.equal_values import column_has_one_spelling, has_one_spelling
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_parts import find_operand, members_of_from, read_integer, selects_of
from answerkey.sql.query_rewrites import to_sql, unwrap
from answerkey.sql.scopes import Output, Scopes
from answerkey.sqlite.answers import Order, answers_match, shape_answer
from answerkey.sqlite.column_values import ColumnValues
from answerkey.sqlite.guard import QueryError
from answerkey.sqlite.schema import ROWID_NAMES, fold_name, has_collation, quote_name

_ROUNDED = (exp.Sum, exp.Avg)
# 2**53, up to which floats hold whole numbers, by the rows that a query can add up in its steps.
_GREATEST = 2**53 // 10**8


class Rounding:
    """The sums and means of one query, with the values that its tables hold."""

    def __init__(self, scopes: Scopes, values: ColumnValues) -> None:
        self._scopes = scopes
        self.values = values
        self._has_sums = bool(scopes.nodes.find_all(*_ROUNDED))

    def is_exact(self, node: exp.Expression) -> bool:
        """Whether every sum and mean in an expression is the same to its last digit."""
        return not self._has_sums or all(
            self._adds_whole_numbers(found.this, is_mean=isinstance(found, exp.Avg))
            for found in node.find_all(*_ROUNDED)
        )

    def is_close(self, output: exp.Expression) -> bool:
        """Whether a result column is the same but for the last digits of floats: it is exact, or
        nothing more than a sum or mean of numbers of one sign."""
        output = output.unnest()
        return self.is_exact(output) or (
            isinstance(output, _ROUNDED) and self._adds_one_sign(output.this)
        )

    def _adds_whole_numbers(self, added: exp.Expression, *, is_mean: bool) -> bool:
        added = added.unnest()
        if isinstance(added, exp.Literal):
            return added.is_int and abs(int(added.this)) <= _GREATEST
        if isinstance(added, exp.Case | exp.If):
            return all(
                self._adds_whole_numbers(result, is_mean=is_mean) for result in _results_of(added)
            )
        facts = self._read_facts(added)
        if facts is None:
            return False
        others, fractions, least, greatest = facts
        return not fractions and (
            (not others and not is_mean)  # SQLite adds integers as such, not as floats
            or max(abs(least), abs(greatest)) <= _GREATEST
        )

    def _adds_one_sign(self, added: exp.Expression) -> bool:
        facts = self._read_facts(added.unnest())
        return facts is not None and (facts[2] >= 0 or facts[3] <= 0)

    def _read_facts(self, added: exp.Expression) -> tuple[float, float, float, float] | None:
        """Of a column: how many values are no integers, how many have a fraction (or are text), the
        least and the greatest value."""
        found = self._scopes.resolve(added) if isinstance(added, exp.Column) else None
        if found is None or not found.is_direct or found.column is None:
            return None
        name = quote_name(found.column.name)
        is_other = f"typeof({name}) NOT IN ('integer', 'null')"
        has_fraction = f"(typeof({name}) <> 'real' OR {name} <> CAST({name} AS INTEGER))"
        number = f"CAST({name} AS REAL)"
        rows = self.values.ask(
            f"SELECT total({is_other}), total({is_other} AND {has_fraction}),"
            f" ifnull(min({number}), 0), ifnull(max({number}), 0)"
            f" FROM {quote_name(found.table.name)}"
        )
        return rows[0] if rows else None


def _results_of(choice: exp.Expression) -> list[exp.Expression]:
    """The values that CASE or iif() may give. NULL, where there is no ELSE, adds nothing."""
    branches = choice.args["ifs"] if isinstance(choice, exp.Case) else [choice]
    results = [branch.args["true"] for branch in branches]
    default = choice.args.get("default" if isinstance(choice, exp.Case) else "false")
    return results if default is None else [*results, default]


# Proves that a query has the same rows in whatever order its tables are stored: it need not be
# executed on reordered copies.
#
# `SELECT kind, count(*) FROM ship GROUP BY kind` has the same rows however those of ship are
# stored;
# `SELECT kind, name FROM ship GROUP BY kind` need not. Where text, schema and numbers are not plain
# enough to tell, there is no proof.
#
# Three things can make rows depend on storage:
# - Equal values that are not the same (1 and 1.0): GROUP BY or DISTINCT keeps the one it reads
#   first.
# - Sums and means of floats, whose last digits depend on the order of their terms: that is no other
#   answer, but decides comparisons and sorts rows.
# - Queries of several rows where one is taken, as LIMIT and a subquery that is a value do.


_PLAIN_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_NOT_PLAIN = (exp.With, exp.Values, exp.Window, exp.Filter, exp.Anonymous, exp.Collate)


def has_fixed_rows(scopes: Scopes, values: ColumnValues, *, is_cut_settled: bool = False) -> bool:
    """Whether the rows of a query, in whatever sequence, cannot depend on how tables are stored.

    The last digits of floats are left out, as they are wherever answers are compared.

    `is_cut_settled` says that its own LIMIT, if it has one, was seen to cut through no tie.
    """
    rounding = Rounding(scopes, values)
    return _is_plain(scopes) and _is_fixed(
        unwrap(scopes.tree), scopes, rounding, is_cut_settled=is_cut_settled
    )


def _is_plain(scopes: Scopes) -> bool:
    nodes = scopes.nodes
    return (
        not nodes.find_all(*_NOT_PLAIN)
        and all(_is_plain_aggregate(node, scopes) for node in nodes.find_all(exp.AggFunc))
        and not any(fold_name(column.name) in ROWID_NAMES for column in nodes.find_all(exp.Column))
        # USING then takes values from either side.
        and all(join.side not in ("RIGHT", "FULL") for join in nodes.find_all(exp.Join))
    )


def _is_plain_aggregate(node: exp.Expression, scopes: Scopes) -> bool:
    if not isinstance(node, _PLAIN_AGGREGATES) or node.expressions:
        return False
    if isinstance(node, exp.Count):
        return True
    return not isinstance(node.this, exp.Distinct) and (
        isinstance(node, exp.Sum | exp.Avg) or has_one_spelling(node.this, scopes)
    )


def _is_fixed(
    query: exp.Expression, scopes: Scopes, rounding: Rounding, *, is_cut_settled: bool = False
) -> bool:
    limit = query.args.get("limit")
    if limit is not None and (not is_cut_settled or limit.find(exp.Query)):
        return False
    if isinstance(query, exp.SetOperation):
        sides = (query.this, query.expression)
        return all(_is_fixed(side, scopes, rounding) for side in sides) and all(
            _are_equal_rows_the_same(select, scopes) for select in selects_of(query)
        )
    return (
        isinstance(query, exp.Select)
        and _reads_tables_alone(query, scopes)
        and _has_fixed_sums(query, scopes, rounding)
        and all(
            _is_same_for_each_row(nested, scopes, rounding)
            for nested in _nested_queries(query, scopes)
        )
        and _has_fixed_groups(query, scopes, rounding.values)
        and (query.args.get("distinct") is None or _are_equal_rows_the_same(query, scopes))
    )


def _has_fixed_sums(select: exp.Select, scopes: Scopes, rounding: Rounding) -> bool:
    """Whether the last digits of sums and means decide nothing, and are all that may differ."""
    return all(map(rounding.is_exact, _deciding_expressions(select, scopes))) and all(
        rounding.is_close(output.expression)
        for output in scopes.outputs(select)
        if output.expression is not None
    )


def _deciding_expressions(select: exp.Select, scopes: Scopes) -> Iterator[exp.Expression]:
    """HAVING and ORDER BY, and the result columns that they name or number."""
    for clause in filter(None, map(select.args.get, ("having", "order"))):
        yield clause
        for column in clause.find_all(exp.Column):
            found = scopes.resolve(column)
            if found is not None and found.is_alias:
                yield found.expression
        for term in clause.expressions:
            place = read_integer(term.this) if isinstance(term, exp.Ordered) else None
            if place is not None:
                output = scopes.outputs(select)[place - 1]
                if output.expression is not None:
                    yield output.expression


def _reads_tables_alone(select: exp.Select, scopes: Scopes) -> bool:
    """Whether FROM holds tables and nothing else, whose texts are equal only if the same."""
    for member in members_of_from(select):
        table = scopes.schema.find_table(member.name) if isinstance(member, exp.Table) else None
        if table is None or table.is_view or has_collation(table.sql):
            return False
    return True


def _are_equal_rows_the_same(select: exp.Select, scopes: Scopes) -> bool:
    """Whether it makes no difference which of several equal rows SQLite keeps."""
    outputs = scopes.outputs(select)
    return bool(outputs) and all(_are_equal_values_the_same(output, scopes) for output in outputs)


def _are_equal_values_the_same(output: Output, scopes: Scopes) -> bool:
    if output.expression is not None:
        return has_one_spelling(output.expression, scopes)
    found = output.resolution  # of a `*`
    return bool(found and found.column and column_has_one_spelling(found.column))


def _has_fixed_groups(select: exp.Select, scopes: Scopes, values: ColumnValues) -> bool:
    grouping = read_grouping(select, scopes, values=values)
    if grouping is None:
        return True
    is_determined = not grouping.columns and not grouping.stars
    return is_determined and all(has_one_spelling(key, scopes) for key in grouping.keys)


def _nested_queries(select: exp.Select, scopes: Scopes) -> Iterator[exp.Query]:
    """The queries that stand in a SELECT, without those that stand in them."""
    if len(scopes.nodes.find_all(exp.Select, exp.SetOperation)) == 1:
        return
    waiting = list(select.iter_expressions())
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Select | exp.SetOperation):
            yield node
        else:
            waiting += node.iter_expressions()


def _is_same_for_each_row(query: exp.Query, scopes: Scopes, rounding: Rounding) -> bool:
    """Whether a subquery in WHERE gives the same for each row that the SELECT reads, however tables
    are stored: a set after IN, whether there is a row (EXISTS), or the value of one aggregate."""
    operand = find_operand(query)
    user = operand.parent
    place = user if isinstance(user, exp.Where) else user.find_ancestor(exp.Where, exp.Select)
    if not isinstance(place, exp.Where) or not _is_fixed(query, scopes, rounding):
        return False
    if isinstance(user, exp.Exists):
        return True
    if not all(map(rounding.is_exact, query.selects)):
        return False
    if isinstance(user, exp.In) and operand.arg_key == "query":
        return True
    return (
        isinstance(query, exp.Select)
        and query.args.get("group") is None
        and len(query.selects) == 1
        and isinstance(query.selects[0].unalias(), exp.AggFunc)
    )


# Accepted rows: what every right answer has where rows tie.
#
# `SELECT name FROM ship ORDER BY weight` over Sun 4, Tern 5 and Kite 5: a right answer has Sun, and
# then Kite and Tern in any order. With LIMIT 2 it has Sun, and then one of Kite and Tern.


Segment = int | dict[str, Any]


def find_row_order(inspection: Inspection) -> tuple[bool, list[Segment] | None]:
    """Whether a correct answer must keep the sequence of the rows, and the segments of every right
    answer where rows tie, one after the other; the rows of a segment may come in any order.

    `[1, 2]`: the first row of the gold answer, and then the two behind it.
    `[1, {"rows": [["Kite"], ["Tern"]], "take": 1}]`: the first one, and then `take` of `rows`.

    No segments where none is needed, and where they are not known: see `_find_choice`; or a copy
    of the database has rows in another sequence.
    """
    order = read_row_order(inspection)
    choice = _find_choice(inspection)
    if choice is not None:
        segments = [part["take"] if len(part["rows"]) == part["take"] else part for part in choice]
        return order is True or len(segments) > 1, segments
    if isinstance(order, bool):
        return order, None
    return (True, order) if _holds_on_copies(inspection, order) else (False, None)


def _find_choice(inspection: Inspection) -> list[dict[str, Any]] | None:
    """The segments where a bound of the query itself cuts through a tie.

    None where none does, and where its right answers are not all known: a subquery cuts, too;
    DISTINCT rows are sorted by what is not selected; the segments are larger than an answer may be;
    a copy of the database has others.
    """
    ties = read_ties(inspection)
    if ties is None or not ties.cut_runs():
        return None
    segments = _read_segments(inspection)
    if segments is None or _may_cut_in_subquery(inspection):
        return None
    return segments if _is_same_on_copies(inspection, segments) else None


def _read_segments(inspection: Inspection) -> list[dict[str, Any]] | None:
    """A segment for each run of the answer; None where they are not known, or too large."""
    ties, thresholds = read_ties(inspection), inspection.thresholds
    whole = ties and complete_cut(ties, inspection, max_rows=thresholds.max_rows)
    if whole is None:
        return None
    segments: list[dict[str, Any]] = []
    for run in whole.runs:
        taken = rows_of_run(run, whole, inspection.rows)
        is_open = len(taken) < len(run.rows) and run.is_mixed
        if taken:
            rows = sorted(run.rows if is_open else taken, key=encode_json)
            segments.append({"rows": [list(row) for row in rows], "take": len(taken)})
    is_small = (
        sum(len(segment["rows"]) for segment in segments) <= thresholds.max_rows
        and len(encode_json(segments)) <= thresholds.max_bytes
    )
    return segments if is_small else None


def _may_cut_in_subquery(inspection: Inspection) -> bool:
    """Whether a cut in a subquery decides which rows there are before the query's own LIMIT."""
    nodes = inspection.scopes.nodes.find_all(exp.Select, exp.SetOperation)
    if all(node is unwrap(inspection.tree) for node in nodes):
        return False
    tree = inspection.tree.copy()
    for bound in ("limit", "offset"):
        unwrap(tree).set(bound, None)
    sql = to_sql(tree)
    try:
        rows = inspection.database.execute(sql)
    except QueryError:
        return True
    return bool(list_cuts(replace(inspection, sql=sql, tree=tree, rows=rows)))


def _is_same_on_copies(inspection: Inspection, segments: list[dict[str, Any]]) -> bool:
    """Whether all copies of the database have these segments, so that nothing but the tie depends
    on the order in which rows are stored. A copy on which the query fails says nothing."""
    if inspection.copies is None:
        return True
    for _, database in inspection.copies.storages_for(inspection.sql, is_thorough=True):
        try:
            rows = database.execute(inspection.sql)
        except QueryError:
            continue
        others = _read_segments(replace(inspection, database=database, rows=rows))
        if others is None or len(others) != len(segments):
            return False
        for segment, other in zip(segments, others, strict=True):
            here, there = shape_answer(segment["rows"]), shape_answer(other["rows"])
            rel_tol = inspection.thresholds.rel_tol
            is_same = answers_match(here, there, ordered=False, rel_tol=rel_tol)
            if segment["take"] != other["take"] or not is_same:
                return False
    return True


def _holds_on_copies(inspection: Inspection, order: Order) -> bool:
    """Whether rows that do not tie come in one sequence however the tables are stored: sums of
    floats, whose last digits are open, may sort them otherwise. A copy on which the query fails
    says nothing."""
    ties, values = read_ties(inspection), ColumnValues(inspection.database)
    if inspection.copies is None or has_fixed_rows(
        inspection.scopes, values, is_cut_settled=not ties.cut_runs()
    ):
        return True
    answer, rel_tol = shape_answer(inspection.rows), inspection.thresholds.rel_tol
    for _, database in inspection.copies.storages_for(inspection.sql):
        try:
            other = shape_answer(database.execute(inspection.sql))
        except QueryError:
            continue
        if not answers_match(answer, other, ordered=order, rel_tol=rel_tol):
            return False
    return True

"""Proves that a query has the same rows in whatever order its tables are stored: it need not be
executed on reordered copies.

`SELECT kind, count(*) FROM ship GROUP BY kind` has the same rows however those of ship are stored;
`SELECT kind, name FROM ship GROUP BY kind` need not. Where text, schema and numbers are not plain
enough to tell, there is no proof.

Three things can make rows depend on storage:
- Equal values that are not the same (1 and 1.0): GROUP BY or DISTINCT keeps the one it reads first.
- Sums and means of floats, whose last digits depend on the order of their terms: that is no other
  answer, but decides comparisons and sorts rows.
- Queries of several rows where one is taken, as LIMIT and a subquery that is a value do.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues
from answerkey.audit.groupings import read_grouping
from answerkey.audit.proofs.equal_values import column_has_one_spelling, has_one_spelling
from answerkey.audit.proofs.rounding import Rounding
from answerkey.sql.operands import read_integer
from answerkey.sql.query_parts import find_operand, members_of_from, selects_of
from answerkey.sql.query_rewrites import unwrap
from answerkey.sql.resolutions import Output
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import ROWID_NAMES, fold_name, has_collation

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

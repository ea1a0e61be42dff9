"""Row independence: proofs that the rows of a query cannot depend on storage, from its text and
schema, and from the numbers that it adds up.

`SELECT kind, count(*) FROM ship GROUP BY kind` has the same rows however those of ship are stored;
`SELECT kind, name FROM ship GROUP BY kind` need not. Whatever is not plain enough for a proof may
depend: such a query is executed on other storages to see.

Three things are watched throughout. Equal values may be spelt differently (1 and 1.0; 'a' and 'A'
under NOCASE), and which of them stands for a group is open. A sum or mean of floats has other last
digits in another order, which is no other answer, but decides comparisons, sorts rows, and is all
that is left where numbers cancel out. And a query that returns several rows where one is taken, as
a scalar subquery or LIMIT does, takes whichever comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues
from answerkey.audit.groupings import read_grouping
from answerkey.audit.rounding import Rounding
from answerkey.audit.spellings import column_has_one_spelling, has_one_spelling
from answerkey.sql.operators import read_integer
from answerkey.sql.query_parts import find_operand, members_of_from, selects_of
from answerkey.sql.query_rewrites import unwrap
from answerkey.sql.resolutions import Output
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import ROWID_NAMES, fold_name, has_collation

_PLAIN_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_NOT_PLAIN = (exp.With, exp.Values, exp.Window, exp.Filter, exp.Anonymous, exp.Collate)


def has_fixed_rows(scopes: Scopes, values: ColumnValues, *, is_cut_settled: bool = False) -> bool:
    """Whether the rows of the query that `scopes` are of are proven to be the same, in whatever
    sequence, however its tables are stored.

    `is_cut_settled` says that its own LIMIT, if it has one, was seen to cut through no tie.
    """
    rounding = Rounding(scopes, values)
    return (
        _is_plain(scopes)
        and all(
            has_one_spelling(node.this, scopes) for node in scopes.nodes.find_all(exp.Min, exp.Max)
        )
        and _is_fixed(unwrap(scopes.tree), scopes, rounding, is_cut_settled=is_cut_settled)
    )


def _is_plain(scopes: Scopes) -> bool:
    return (
        not scopes.nodes.find_all(*_NOT_PLAIN)
        and all(map(_is_plain_aggregate, scopes.nodes.find_all(exp.AggFunc)))
        and not any(map(_is_rowid, scopes.nodes.find_all(exp.Column)))
        # USING then takes values from either side.
        and all(join.side not in ("RIGHT", "FULL") for join in scopes.nodes.find_all(exp.Join))
    )


def _is_rowid(column: exp.Column) -> bool:
    return fold_name(column.name) in ROWID_NAMES


def _is_plain_aggregate(node: exp.Expression) -> bool:
    is_known = isinstance(node, _PLAIN_AGGREGATES) and not node.expressions
    return is_known and (isinstance(node, exp.Count) or not isinstance(node.this, exp.Distinct))


def _is_fixed(
    query: exp.Expression, scopes: Scopes, rounding: Rounding, *, is_cut_settled: bool = False
) -> bool:
    limit = query.args.get("limit")
    if limit is not None and (not is_cut_settled or limit.find(exp.Query)):
        return False
    if isinstance(query, exp.SetOperation):
        return all(
            _is_fixed(side, scopes, rounding) for side in (query.this, query.expression)
        ) and all(_has_sharp_rows(select, scopes) for select in selects_of(query))
    if not isinstance(query, exp.Select):
        return False
    return (
        _reads_tables_alone(query, scopes)
        and all(map(rounding.is_exact, _deciding_expressions(query, scopes)))
        and all(
            rounding.is_close(output.expression)
            for output in scopes.outputs(query)
            if output.expression is not None
        )
        and all(_is_steady(nested, scopes, rounding) for nested in _nested_queries(query, scopes))
        and _has_fixed_groups(query, scopes)
        and (query.args.get("distinct") is None or _has_sharp_rows(query, scopes))
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
    """Whether FROM holds base tables and nothing else, whose texts are equal only if the same."""
    for member in members_of_from(select):
        table = scopes.schema.find_table(member.name) if isinstance(member, exp.Table) else None
        if table is None or table.is_view or has_collation(table.sql):
            return False
    return True


def _has_sharp_rows(select: exp.Select, scopes: Scopes) -> bool:
    """Whether rows that are equal to SQLite are the same to us: nothing is lost where it keeps one
    of them."""
    outputs = scopes.outputs(select)
    return bool(outputs) and all(_is_sharp(output, scopes) for output in outputs)


def _is_sharp(output: Output, scopes: Scopes) -> bool:
    if output.expression is not None:
        return has_one_spelling(output.expression, scopes)
    found = output.resolution  # of a `*`
    return bool(found and found.column and column_has_one_spelling(found.column))


def _has_fixed_groups(select: exp.Select, scopes: Scopes) -> bool:
    grouping = read_grouping(select, scopes, strictly=True)
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


def _is_steady(query: exp.Query, scopes: Scopes, rounding: Rounding) -> bool:
    """Whether a subquery says the same of each row that a SELECT reads, however tables are stored:
    a set to be in, whether there is a row, or one count or extreme."""
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
        and isinstance(query.selects[0].unalias(), exp.Count | exp.Min | exp.Max)
    )

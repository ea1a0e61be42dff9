"""join_repeats_rows: a join returns one thing several times, and nothing drops the repeats.

`SELECT T1.name FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id WHERE T2.year = 2014` -> a
singer of two songs of that year comes twice, where singers are asked for.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues, shorten
from answerkey.audit.entities import (
    find_key,
    list_equalities,
    list_references,
    list_terms,
    name_column,
    resolve_direct,
    write_rows,
)
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_parts import find_with
from answerkey.sql.query_rewrites import unwrap
from answerkey.sql.resolutions import Resolution, Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema, fold_name

_CLAUSES = ("group", "limit", "distinct")
_KEYS_SHOWN = 3


def find_join_repeats_rows(inspection: Inspection) -> list[Finding]:
    """A finding where all columns that a query with joins returns are of one table, whose rows the
    joins repeat.

    Kinds: `in_data` where a row comes twice; `possible` where none does yet, and the query has a
    condition on a table that may have several rows for one; `referred` where the one column refers
    to things of another table, and may name one twice.
    """
    select = unwrap(inspection.tree)
    if not isinstance(select, exp.Select) or find_with(select) is not None:
        return []
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    scope = scopes.scope_of(select)
    shown = [resolve_direct(column, scopes) for column in select.expressions]
    is_cut = any(select.args.get(clause) for clause in _CLAUSES)
    if is_cut or len(scope.sources) < 2 or None in shown or not shown:
        return []
    source = shown[0].source
    key, kind = find_key(source.table, values), "possible"
    if len(shown) == 1 and _refers(shown[0], key, inspection.schema):
        key, kind = shown[0].column.name, "referred"
    if key is None or any(found.source is not source for found in shown):
        return []
    column = name_column(source, key, scope)
    rows = values.ask(_write_repeats(select, column)) or []
    is_referred = kind == "referred" and _has_condition(select)
    if not (rows or is_referred or _has_condition_on_many(select, source, scopes, values)):
        return []
    evidence = {
        "kind": "in_data" if rows and kind == "possible" else kind,
        "key": f"{source.table.name}.{key}",
        "repeated": [[shorten(value) for value in row] for row in rows],
    }
    return [Finding(Flag.JOIN_REPEATS_ROWS, evidence)]


def _refers(shown: Resolution, key: str | None, schema: Schema) -> bool:
    """Whether a column that is no key of its table refers to another table."""
    name = fold_name(shown.column.name)
    references = {fold_name(column) for column, _, _ in list_references(shown.table, schema)}
    return name in references and (key is None or fold_name(key) != name)


def _write_repeats(select: exp.Select, column: exp.Column) -> str:
    count = exp.Count(this=column.copy())
    return write_rows(
        select,
        column,
        count,
        group=exp.Group(expressions=[column.copy()]),
        having=exp.Having(this=exp.GT(this=count.copy(), expression=exp.Literal.number(1))),
        limit=exp.Limit(expression=exp.Literal.number(_KEYS_SHOWN)),
    )


def _has_condition(select: exp.Select) -> bool:
    """Whether WHERE chooses rows, and no outer join or order says that each of them is meant."""
    is_outer = any(join.side for join in select.args.get("joins") or ())
    is_ordered = select.args.get("order") is not None
    return select.args.get("where") is not None and not (is_outer or is_ordered)


def _has_condition_on_many(
    select: exp.Select, shown: Source, scopes: Scopes, values: ColumnValues
) -> bool:
    """Whether WHERE tests a column of another table, and some table is not joined by its key."""
    if not _has_condition(select):
        return False
    tested = [
        found.source
        for term in list_terms(select.args["where"].this)
        for column in term.find_all(exp.Column)
        if (found := resolve_direct(column, scopes)) is not None
    ]
    if all(source is shown for source in tested):
        return False
    ends = {end for pair in list_equalities(select, scopes) for end in pair if end[0] is not shown}
    keys = {(source, fold_name(find_key(source.table, values) or "")) for source, _ in ends}
    return not ends <= keys

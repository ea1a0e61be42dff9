"""not_in_on_rows: the question asks for things that have none, the query for those with another.

"Which singers have no song in French?" with `singer JOIN song ... WHERE song.language <> 'French'`
-> singers with a song in another language, also those who have one in French.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues, shorten
from answerkey.audit.entities import (
    find_key,
    list_equalities,
    list_terms,
    name_column,
    resolve_direct,
    write_rows,
)
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.english.question import Question
from answerkey.sql.query_parts import find_with
from answerkey.sql.query_rewrites import to_sql, unwrap
from answerkey.sql.resolutions import Resolution, Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import fold_name

_THINGS_SHOWN = 3
_NEGATIONS = {"not", "never", "without", "no", "none", "neither", "nor", "except", "cannot"}


def find_not_in_on_rows(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the question denies something, the query returns columns of one table, and
    denies a value on the rows of another, of which one row of the first may meet several.

    Kinds: `in_data` where a thing is returned that has a row with the value; `possible`.
    """
    words = {word.text for word in question.words}
    select = unwrap(inspection.tree)
    if not (words & _NEGATIONS or any(word.endswith("n't") for word in words)):
        return []
    if not isinstance(select, exp.Select) or not select.args.get("where") or find_with(select):
        return []
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    shown = [resolve_direct(column, scopes) for column in select.expressions]
    if select.args.get("group") or None in shown or len({id(f.source) for f in shown}) != 1:
        return []
    terms = list(list_terms(select.args["where"].this))
    for term in terms:
        column, asserted = _assert(term) or (None, None)
        denied = resolve_direct(column, scopes) if column is not None else None
        if denied is None or denied.source is shown[0].source:
            continue
        if _has_other_denial(inspection, denied.source):
            continue
        if _is_on_one_row(select, denied.source, scopes, values):
            continue
        others = [other.copy() for other in terms if other is not term]
        rows = _find_both(select, shown[0], exp.and_(*others, asserted), values)
        evidence = {
            "kind": "in_data" if rows else "possible",
            "denied": to_sql(term)[:200],
            "returned": rows,
        }
        return [Finding(Flag.NOT_IN_ON_ROWS, evidence)]
    return []


def _assert(term: exp.Expression) -> tuple[exp.Expression, exp.Expression] | None:
    """The left side of a term that denies, and what it denies; None where it denies nothing."""
    if isinstance(term, exp.NEQ):
        return term.this, exp.EQ(this=term.this.copy(), expression=term.expression.copy())
    inner = term.this.unnest() if isinstance(term, exp.Not) else None
    return (inner.this, inner.copy()) if isinstance(inner, exp.In | exp.Like | exp.EQ) else None


def _has_other_denial(inspection: Inspection, source: Source) -> bool:
    """Whether the query denies something else, which the question may mean."""
    scopes = inspection.scopes
    for node in scopes.nodes.find_all(exp.NEQ, exp.Not, exp.Except, exp.Is):
        columns = list(node.find_all(exp.Column))
        found = [resolve_direct(column, scopes) for column in columns]
        if not columns or any(what is not None and what.source is not source for what in found):
            return True
    return False


def _is_on_one_row(
    select: exp.Select, source: Source, scopes: Scopes, values: ColumnValues
) -> bool:
    """Whether a table is joined by its key, so that the rows of others meet one of its rows."""
    key = find_key(source.table, values)
    places = [place for pair in list_equalities(select, scopes) for place in pair]
    return not places or (key is not None and (source, fold_name(key)) in places)


def _find_both(
    select: exp.Select, shown: Resolution, asserted: exp.Expression, values: ColumnValues
) -> list[list[object]]:
    """Keys of things that are returned, and have a row with what is denied."""
    key = find_key(shown.table, values)
    if key is None:
        return []
    column = name_column(shown.source, key, shown.scope)
    returned = write_rows(select, column)
    having = write_rows(select, column, where=exp.Where(this=asserted))
    sql = f"{returned} INTERSECT {having} LIMIT {_THINGS_SHOWN}"
    return [[shorten(value) for value in row] for row in values.ask(sql) or ()]

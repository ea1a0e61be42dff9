"""Probes of denials: only one of question and query says what must not be."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.english.question import Question
from answerkey.english.support import find_denied_clauses, may_deny
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues, shorten
from answerkey.probes.compared_values import Comparison, read_query
from answerkey.probes.entities import (
    find_key,
    list_equalities,
    list_references,
    list_terms,
    name_column,
    resolve_direct,
    write_rows,
)
from answerkey.records import Finding
from answerkey.sql.query_parts import find_with
from answerkey.sql.query_rewrites import to_sql, unwrap
from answerkey.sql.scopes import Resolution, Scopes, Source
from answerkey.sqlite.schema import fold_name

_EMPTY = frozenset({"", "null", "none", "nan", "n/a", "-"})
_PATTERNS = (exp.Like, exp.Glob, exp.RegexpLike)
_DENIALS = (exp.Not, exp.NEQ, exp.Except, exp.NullSafeNEQ)
_PREFIXES = ("un", "non", "in", "dis")
_SHORTEST = 3  # letters of a value that is no code


def find_negation_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if only one of question and query denies.

    The evidence has `kind`: not_denied (the question denies a value, and the query wants it),
    denied (only the query denies, and neither the question nor its evidence has a word for it). A
    code may deny by itself: `label = '-'`; so may what the evidence names.
    """
    nodes = inspection.scopes.nodes
    denials = [*nodes.find_all(*_DENIALS)]
    denials += [node for node in nodes.find_all(*_PATTERNS) if node.args.get("negate")]
    if not denials:
        evidence = _find_denied_value(inspection, question)
        return [] if evidence is None else [Finding("negation_mismatch", evidence)]
    denials = [node for node in denials if _is_condition(node) and not _is_guard(node)]
    if denials and not may_deny(question):
        evidence = {"kind": "denied", "sql": to_sql(denials[0])[:200]}
        return [Finding("negation_mismatch", evidence)]
    return []


def _find_denied_value(inspection: Inspection, question: Question) -> dict[str, Any] | None:
    """The evidence of a value that stands behind a negation, in its clause, and in the query."""
    denied = find_denied_clauses(question)
    comparisons = read_query(inspection).comparisons if denied else []
    if any(map(_may_be_denial, comparisons)) or _may_deny_rows(inspection):
        return None
    for comparison in comparisons:
        value = _read_value(comparison)
        for clause in denied if value and not question.explains(value) else ():
            if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", clause):
                return {"kind": "not_denied", "asked": clause[:40], "sql": comparison.text}
    return None


def _read_value(comparison: Comparison) -> str:
    """The literal of a comparison in small letters, without wildcards; empty if it has none."""
    right = comparison.right
    return right.name.strip("% ").lower() if isinstance(right, exp.Literal | exp.Column) else ""


def _may_be_denial(comparison: Comparison) -> bool:
    """Tell whether a comparison may deny by its value: 0, 'no', 'unpaid', a code, what is below."""
    value = _read_value(comparison)
    is_text = not value.isdigit() and isinstance(comparison.right, exp.Literal | exp.Column)
    is_code = value == "0" or value in _EMPTY or (is_text and len(value) < _SHORTEST)
    is_opposite = len(value.split()) == 1 and value.startswith(_PREFIXES)
    return is_code or is_opposite or comparison.operator in ("<", "<=")


def _may_deny_rows(inspection: Inspection) -> bool:
    nodes = inspection.scopes.nodes
    return bool(nodes.find_all(exp.Is, exp.Coalesce, exp.Boolean)) or any(
        join.side for join in nodes.find_all(exp.Join)
    )


def _is_condition(node: exp.Expression) -> bool:
    """Whether a denial chooses rows: not one inside of a CASE, by which something is computed."""
    return node.find_ancestor(exp.Case, exp.If) is None


def _is_guard(node: exp.Expression) -> bool:
    """Return whether a denial only leaves out what is empty, or the row itself."""
    if isinstance(node, exp.Not):
        return isinstance(node.this.unnest(), exp.Is)
    if isinstance(node, exp.NEQ):
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Literal | exp.Column) and isinstance(left, exp.Column):
            if right.name.lower() in _EMPTY:
                return True
            return isinstance(right, exp.Column) and bool(right.args.get("table"))
    return False


# not_in_on_rows: the question asks for things that have none, the query for those with another.
#
# "Which singers have no song in French?" with `singer JOIN song ... WHERE song.language <>
# 'French'`
# -> singers with a song in another language, also those who have one in French.


_THINGS_SHOWN = 3
_NEGATIONS = {"not", "never", "without", "no", "none", "neither", "nor", "except", "cannot"}


def find_not_in_on_rows(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question denies something, and the query denies a value on rows of
    which a thing that it returns may have several.

    Things are the rows of one table, or what a column refers to. Kinds: `in_data` where a thing is
    returned that has a row with the value; `possible`.
    """
    asked = next((word.text for word in question.words if _denies(word.text)), None)
    select = unwrap(inspection.tree)
    if asked is None:
        return []
    if not isinstance(select, exp.Select) or not select.args.get("where") or find_with(select):
        return []
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    shown = [resolve_direct(_look_into_count(column), scopes) for column in select.expressions]
    if select.args.get("group") or None in shown or len({id(f.source) for f in shown}) != 1:
        return []
    terms = list(list_terms(select.args["where"].this))
    for term in terms:
        column, asserted = _assert(term) or (None, None)
        denied = resolve_direct(column, scopes) if column is not None else None
        if denied is None or _has_other_denial(inspection, denied.source, terms):
            continue
        things = _name_things(inspection, select, shown, denied)
        if not things:
            continue
        others = [other.copy() for other in terms if other is not term]
        returned = write_rows(select, *things)
        having = write_rows(select, *things, where=exp.Where(this=exp.and_(*others, asserted)))
        rows = values.ask(f"{returned} INTERSECT {having} LIMIT {_THINGS_SHOWN}") or []
        evidence = {
            "kind": "in_data" if rows else "possible",
            "asked": asked,
            "denied": to_sql(term)[:200],
            "returned": [[shorten(value) for value in row] for row in rows],
        }
        return [Finding("not_in_on_rows", evidence)]
    return []


def _denies(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _look_into_count(column: exp.Expression) -> exp.Expression:
    """Return what count(DISTINCT ...) counts; any other column as it is."""
    call = column.unalias()
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct):
        return call.this.expressions[0]
    return column


def _assert(term: exp.Expression) -> tuple[exp.Expression, exp.Expression] | None:
    """The left side of a term that denies, and what it denies; None if it denies nothing."""
    if isinstance(term, exp.NEQ):
        return term.this, exp.EQ(this=term.this.copy(), expression=term.expression.copy())
    inner = term.this.unnest() if isinstance(term, exp.Not) else None
    return (inner.this, inner.copy()) if isinstance(inner, exp.In | exp.Like | exp.EQ) else None


def _has_other_denial(inspection: Inspection, source: Source, terms: list[exp.Expression]) -> bool:
    """Tell whether the query denies something else than values of one table, which the question may
    mean."""
    own = set()
    for term in terms:
        column, _ = _assert(term) or (None, None)
        found = resolve_direct(column, inspection.scopes) if column is not None else None
        if found is not None and found.source is source:
            own |= {id(node) for node in term.walk()}
    denials = inspection.scopes.nodes.find_all(exp.NEQ, exp.Not, exp.Except, exp.Is)
    return any(id(node) not in own for node in denials)


def _name_things(
    inspection: Inspection, select: exp.Select, shown: list[Resolution], denied: Resolution
) -> list[exp.Column]:
    """Columns that tell the things apart that are returned; none if each has one row with the
    column that is denied."""
    values = ColumnValues(inspection.database)
    source, scope = shown[0].source, shown[0].scope
    names = [found.column.name for found in shown]
    if denied.source is source:
        references = {fold_name(n) for n, _, _ in list_references(source.table, inspection.schema)}
        is_reference = len(names) == 1 and fold_name(names[0]) in references
        names = names if is_reference and denied.column is not shown[0].column else []
    elif _is_on_one_row(select, denied.source, inspection.scopes, values):
        names = []
    elif find_key(source.table, values) is not None:
        names = [find_key(source.table, values)]
    return [name_column(source, name, scope) for name in names]


def _is_on_one_row(
    select: exp.Select, source: Source, scopes: Scopes, values: ColumnValues
) -> bool:
    """Whether a table is joined by its key, so that the rows of others meet one of its rows."""
    key = find_key(source.table, values)
    places = [place for pair in list_equalities(select, scopes) for place in pair]
    return not places or (key is not None and (source, fold_name(key)) in places)


QUESTION_PROBES = (
    find_negation_mismatch,
    find_not_in_on_rows,
)

"""Probes of denials: only one of question and query says what must not be."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.english.question import Question
from answerkey.english.support import CLAUSE, find_negations, may_deny
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import read_query
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
from answerkey.sqlite.column_values import ColumnValues, shorten
from answerkey.sqlite.schema import fold_name

# negation_mismatch: the question denies what the query does not, or the other way round.


_EMPTY = frozenset({"", "null", "none", "nan", "n/a", "-"})
_FALSE = frozenset({"no", "n", "f", "false", "0", "never", "not", ""})
_PREFIXES = ("un", "non", "in", "dis")
_PATTERNS = (exp.Like, exp.Glob, exp.RegexpLike)
_DENIALS = (exp.Not, exp.NEQ, exp.Except, exp.NullSafeNEQ)


def find_negation_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where only one of question and query denies.

    The evidence has `kind`: not_denied (the question has a verb with not or never), null_text (it
    denies in any way, and the query compares with the text "null"), denied (only the query denies).
    Without, no and except alone say too little: "without changing" asks for one line.
    """
    asked = find_negations(question)
    if asked and question.evidence and find_negations(Question(question.evidence)):
        return []  # which says how the query denies
    nodes = inspection.scopes.nodes
    denials = list(nodes.find_all(*_DENIALS))
    denials += [node for node in nodes.find_all(*_PATTERNS) if node.args.get("negate")]
    if asked and not denials and not _denies_otherwise(inspection):
        evidence = _describe(asked[0], inspection)
        return [] if evidence is None else [Finding("negation_mismatch", evidence)]
    denials = [node for node in denials if not _is_guard(node)]
    if denials and not asked and not may_deny(question):
        evidence = {"kind": "denied", "sql": to_sql(denials[0])[:200]}
        return [Finding("negation_mismatch", evidence)]
    return []


def _describe(asked: tuple[str, str], inspection: Inspection) -> dict[str, Any] | None:
    form, text = asked
    for comparison in read_query(inspection).comparisons:
        right = comparison.right
        if isinstance(right, exp.Literal | exp.Column) and right.name.lower() in _EMPTY:
            return {"kind": "null_text", "asked": text, "sql": comparison.text}
    return {"kind": "not_denied", "asked": text} if form == CLAUSE else None


def _is_guard(node: exp.Expression) -> bool:
    """Whether a denial only leaves out what is empty, or the row itself."""
    if isinstance(node, exp.Not):
        return isinstance(node.this.unnest(), exp.Is)
    if isinstance(node, exp.NEQ):
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Literal | exp.Column) and isinstance(left, exp.Column):
            if right.name.lower() in _EMPTY:
                return True
            return isinstance(right, exp.Column) and bool(right.args.get("table"))
    return False


def _denies_otherwise(inspection: Inspection) -> bool:
    """Whether a query denies by a value: 'no', 0, NULL, a number below a bound, an outer join."""
    nodes = inspection.scopes.nodes
    if nodes.find_all(exp.Is, exp.LT, exp.LTE, exp.Coalesce) or any(
        join.side for join in nodes.find_all(exp.Join)
    ):
        return True
    for comparison in read_query(inspection).comparisons:
        right = comparison.right
        if isinstance(right, exp.Literal | exp.Column):
            words = right.name.lower().replace("%", " ").split() or [""]
            is_opposite = len(words) == 1 and words[0].startswith(_PREFIXES)  # unpaid
            if is_opposite or not _FALSE.isdisjoint(words):
                return True
        if isinstance(right, exp.Boolean):
            return True
    return False


# not_in_on_rows: the question asks for things that have none, the query for those with another.
#
# "Which singers have no song in French?" with `singer JOIN song ... WHERE song.language <>
# 'French'`
# -> singers with a song in another language, also those who have one in French.


_THINGS_SHOWN = 3
_NEGATIONS = {"not", "never", "without", "no", "none", "neither", "nor", "except", "cannot"}


def find_not_in_on_rows(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the question denies something, and the query denies a value on rows of which
    a thing that it returns may have several.

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
    """What count(DISTINCT ...) counts; any other column as it is."""
    call = column.unalias()
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct):
        return call.this.expressions[0]
    return column


def _assert(term: exp.Expression) -> tuple[exp.Expression, exp.Expression] | None:
    """The left side of a term that denies, and what it denies; None where it denies nothing."""
    if isinstance(term, exp.NEQ):
        return term.this, exp.EQ(this=term.this.copy(), expression=term.expression.copy())
    inner = term.this.unnest() if isinstance(term, exp.Not) else None
    return (inner.this, inner.copy()) if isinstance(inner, exp.In | exp.Like | exp.EQ) else None


def _has_other_denial(inspection: Inspection, source: Source, terms: list[exp.Expression]) -> bool:
    """Whether the query denies something else than values of one table, which the question may
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
    """Columns that tell the things apart that are returned; none where each has one row with the
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

"""Probes of denials: the query denies what the question does not, or on other rows."""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.query import Query, read_query
from answerkey.sql.conditions import list_terms
from answerkey.sql.query_tree import show_sql
from answerkey.sql.scopes import DirectColumn, Source

_NEGATIONS = {"not", "never", "without", "no", "none", "neither", "nor", "except", "cannot"}
_EMPTY = frozenset({"", "null", "none", "nan", "n/a", "-"})
_PATTERNS = (exp.Like, exp.Glob, exp.RegexpLike)
_DENIALS = (exp.Not, exp.NEQ, exp.Except, exp.NullSafeNEQ)
_DENYING_WORD = re.compile(
    r"n't\b|nt'(?= )|!=|<>|\b(?:not|no|nor|none|neither|never|cannot|nothing|nobody|non\w*|un\w+"
    r"|without|except|exclu\w*|but|other|others?|another|else|than|rather|instead|besides|aside"
    r"|apart|outside|differ\w*|only|lack\w*|miss\w*|fail\w*|empty|null|blank|still|free|yet"
    r"|remain\w*|leav\w*|omit\w*|skip\w*|avoid\w*|spar\w*|escap\w*|drop\w*|ignor\w*|bar"
    r"|barring|abnormal\w*|abs(?:ent|ence)\w*|in(?:active|valid|complete)\w*|irregular\w*"
    r"|dis(?:abled|continued|qualified))\b"
)


def find_negation_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the query denies something, and neither the question nor its evidence
    has a word that may deny, even a weak one or a quoted one. A CASE denies nothing: it computes.
    """
    nodes = inspection.scopes.nodes
    denials: list[exp.Expr] = [*nodes.find_all(*_DENIALS)]
    denials += [node for node in nodes.find_all(*_PATTERNS) if node.args.get("negate")]
    text = f"{question.text} {question.evidence}".lower().replace("’", "'")
    for node in denials:
        if node.find_ancestor(exp.Case, exp.If) is None and not _is_guard(node):
            found = Finding("negation_mismatch", {"sql": show_sql(node)})
            return [] if _DENYING_WORD.search(text) else [found]
    return []


def _is_guard(node: exp.Expr) -> bool:
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


def find_not_in_on_rows(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question denies something, and the query denies a value on rows of
    which a thing that it returns may have several: singers with `song.language <> 'French'` also
    have a French song.

    Things are the rows of one table, or what a column refers to.
    """
    words = (word.text for word in question.words)
    asked = next((word for word in words if word in _NEGATIONS or word.endswith("n't")), None)
    query = read_query(inspection)
    select = query.select
    if asked is None or select is None or select.args.get("group"):
        return []
    shown = query.scopes.find_all_direct(map(_look_into_count, select.expressions))
    if len({column.source for column in shown}) != 1:
        return []
    terms = list_terms(select.args.get("where"))
    for term in terms:
        denied = _find_denied(term, query)
        if denied is None or _has_other_denial(query, denied.source, terms):
            continue
        if _may_have_several(query, select, shown, denied):
            return [Finding("not_in_on_rows", {"asked": asked, "denied": show_sql(term)})]
    return []


def _look_into_count(column: exp.Expr) -> exp.Expr:
    """Return what count(DISTINCT ...) counts; any other column as it is."""
    call = column.unalias()
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct):
        counted: exp.Expr = call.this.expressions[0]
        return counted
    return column


def _find_denied(term: exp.Expr, query: Query) -> DirectColumn | None:
    """The column of which a term denies a value."""
    inner = term.this.unnest() if isinstance(term, exp.Not) else term
    is_denial = isinstance(term, exp.NEQ) or (
        inner is not term and isinstance(inner, exp.In | exp.Like | exp.EQ)
    )
    return query.scopes.find_direct(inner.this) if is_denial else None


def _has_other_denial(query: Query, source: Source, terms: list[exp.Expr]) -> bool:
    """Whether the query denies something else than values of one table, which the question may
    mean."""
    own = {
        id(node)
        for term in terms
        if (found := _find_denied(term, query)) is not None and found.source is source
        for node in term.walk()
    }
    denials = query.scopes.nodes.find_all(exp.NEQ, exp.Not, exp.Except, exp.Is)
    return any(id(node) not in own for node in denials)


def _may_have_several(
    query: Query, select: exp.Select, shown: list[DirectColumn], denied: DirectColumn
) -> bool:
    """Whether a thing that is returned may have several rows with the column that is denied."""
    if denied.source is shown[0].source:
        is_thing = len(shown) == 1 and query.scopes.refers(shown[0])
        return is_thing and denied.column is not shown[0].column
    places = [place for pair in query.list_equalities(select) for place in pair]
    return bool(places) and query.key_of(denied.source) not in places


QUESTION_PROBES = (find_negation_mismatch, find_not_in_on_rows)

"""Probes of denials: the query denies what the question does not, or on other rows."""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues
from answerkey.probes.entities import (
    find_key,
    list_equalities,
    list_references,
    list_terms,
    resolve_direct,
)
from answerkey.sql.query_tree import find_with, show_sql, unwrap
from answerkey.sql.scopes import Resolution, Scopes, Source
from answerkey.sqlite.schema import fold_name

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
    has a word that may deny, even a weak one or a quoted one."""
    nodes = inspection.scopes.nodes
    denials = [*nodes.find_all(*_DENIALS)]
    denials += [node for node in nodes.find_all(*_PATTERNS) if node.args.get("negate")]
    denials = [node for node in denials if _is_condition(node) and not _is_guard(node)]
    if denials and not _may_deny(question):
        return [Finding("negation_mismatch", {"sql": show_sql(denials[0])})]
    return []


def _may_deny(question: Question) -> bool:
    text = f"{question.text} {question.evidence}".lower().replace("’", "'")
    return _DENYING_WORD.search(text) is not None


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
# 'French'` -> singers with a song in another language, also those who have one in French.


_NEGATIONS = {"not", "never", "without", "no", "none", "neither", "nor", "except", "cannot"}


def find_not_in_on_rows(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question denies something, and the query denies a value on rows of
    which a thing that it returns may have several.

    Things are the rows of one table, or what a column refers to.
    """
    asked = next((word.text for word in question.words if _denies(word.text)), None)
    select, scopes = unwrap(inspection.tree), inspection.scopes
    if asked is None:
        return []
    if not isinstance(select, exp.Select) or not select.args.get("where") or find_with(select):
        return []
    shown = [resolve_direct(_look_into_count(column), scopes) for column in select.expressions]
    if select.args.get("group") or None in shown or len({id(f.source) for f in shown}) != 1:
        return []
    terms = list(list_terms(select.args["where"].this))
    for term in terms:
        denied = _find_denied(term, scopes)
        if denied is None or _has_other_denial(scopes, denied.source, terms):
            continue
        if _may_have_several(inspection, select, shown, denied):
            return [Finding("not_in_on_rows", {"asked": asked, "denied": show_sql(term)})]
    return []


def _denies(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _look_into_count(column: exp.Expression) -> exp.Expression:
    """Return what count(DISTINCT ...) counts; any other column as it is."""
    call = column.unalias()
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct):
        return call.this.expressions[0]
    return column


def _find_denied(term: exp.Expression, scopes: Scopes) -> Resolution | None:
    """The column of which a term denies a value."""
    inner = term.this.unnest() if isinstance(term, exp.Not) else term
    is_denial = isinstance(term, exp.NEQ) or (
        inner is not term and isinstance(inner, exp.In | exp.Like | exp.EQ)
    )
    return resolve_direct(inner.this, scopes) if is_denial else None


def _has_other_denial(scopes: Scopes, source: Source, terms: list[exp.Expression]) -> bool:
    """Whether the query denies something else than values of one table, which the question may
    mean."""
    own = {
        id(node)
        for term in terms
        if (found := _find_denied(term, scopes)) is not None and found.source is source
        for node in term.walk()
    }
    return any(
        id(n) not in own for n in scopes.nodes.find_all(exp.NEQ, exp.Not, exp.Except, exp.Is)
    )


def _may_have_several(
    inspection: Inspection, select: exp.Select, shown: list[Resolution], denied: Resolution
) -> bool:
    """Whether a thing that is returned may have several rows with the column that is denied."""
    values, source = ColumnValues(inspection.database), shown[0].source
    if denied.source is source:
        references = {fold_name(n) for n, _, _ in list_references(source.table, inspection.schema)}
        names = [fold_name(found.column.name) for found in shown]
        return len(names) == 1 and names[0] in references and denied.column is not shown[0].column
    key = find_key(denied.source.table, values)
    places = [place for pair in list_equalities(select, inspection.scopes) for place in pair]
    is_on_one_row = key is not None and (denied.source, fold_name(key)) in places
    return bool(places) and not is_on_one_row


QUESTION_PROBES = (find_negation_mismatch, find_not_in_on_rows)

"""negation_mismatch: the question denies what the query does not, or the other way round."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.negations import CLAUSE, find_negations, may_deny
from answerkey.english.question import Question
from answerkey.sql.query_rewrites import to_sql

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
        return [] if evidence is None else [Finding(Flag.NEGATION_MISMATCH, evidence)]
    denials = [node for node in denials if not _is_guard(node)]
    if denials and not asked and not may_deny(question):
        evidence = {"kind": "denied", "sql": to_sql(denials[0])[:200]}
        return [Finding(Flag.NEGATION_MISMATCH, evidence)]
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

"""connective_mismatch: the question says both, either or or, and the query joins its conditions
otherwise.

"Ships that visited both Alda and Brno" ... WHERE port = 'Alda' OR port = 'Brno' -> a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.english.question import Question
from answerkey.sql.query_parts import selects_of
from answerkey.sql.query_rewrites import to_sql

_SHARED = re.compile(r"\b(?:shared?|common)\b")
_SHOWN = 200
_MOST_OPERANDS = 20  # of one AND or OR, whose pairs are looked at
_MOST_WORDS = 5  # between two values that one word joins


def find_connective_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where conditions are joined in a way that the question does not say.

    The evidence has `kind`: impossible (x = 1 AND x = 2 on one row), tautology (x != 1 OR x != 2),
    precedence (x = 1 OR x = 2 AND y = 3, which SQL reads as x = 1 OR (x = 2 AND y = 3)),
    or_for_and, and_for_or.
    """
    found = next(_find_mismatches(inspection, question), None)
    return [Finding(Flag.CONNECTIVE_MISMATCH, found)] if found else []


def _find_mismatches(inspection: Inspection, question: Question) -> Iterator[dict[str, Any]]:
    for node in inspection.scopes.nodes.find_all(exp.And, exp.Or):
        if isinstance(node.parent, type(node)):
            continue  # the outermost of a chain has them all
        kind = _judge_alone(node, inspection)
        if kind is not None:
            yield {"kind": kind, "sql": to_sql(node)[:_SHOWN]}
        elif _is_precedence(node):
            yield {"kind": "precedence", "sql": to_sql(node)[:_SHOWN]}
    text = question.text.lower()
    for values, node, kind in _list_pairs(inspection):
        asked = _find_joined(text, *values)
        if asked is None:
            continue
        words = set(re.findall(r"[a-z]+", asked))
        if isinstance(node, exp.Intersect) and _SHARED.search(text):
            continue
        said = words & {"and", "or"}
        if said == ({"or"} if kind == "and_for_or" else {"and"}):
            yield {"kind": kind, "asked": asked.strip(), "sql": to_sql(node)[:_SHOWN]}


def _judge_alone(node: exp.Expression, inspection: Inspection) -> str | None:
    """Whether two equalities of one column with two values are never, or always, met together."""
    wanted = exp.EQ if isinstance(node, exp.And) else exp.NEQ
    operands = [part.unnest() for part in node.flatten() if isinstance(part.unnest(), wanted)]
    operands = operands[:_MOST_OPERANDS]
    for one, other in combinations(operands, 2):
        values = {_value(part, inspection) for part in (one, other)}
        if _key(one) == _key(other) is not None and len(values) == 2 and None not in values:
            return "impossible" if wanted is exp.EQ else "tautology"
    return None


def _is_precedence(node: exp.Expression) -> bool:
    """Whether AND binds one of two neighbours that compare the same column, and OR stands between
    them, without parentheses."""
    if not isinstance(node, exp.Or):
        return False
    parts = list(node.flatten(unnest=False))
    for left, right in pairwise(parts):
        if isinstance(left, exp.And) == isinstance(right, exp.And):
            continue
        one = list(left.flatten())[-1] if isinstance(left, exp.And) else left
        other = next(right.flatten()) if isinstance(right, exp.And) else right
        if isinstance(one, exp.EQ) and isinstance(other, exp.EQ) and _key(one) == _key(other):
            return True
    return False


def _key(node: exp.Expression) -> str | None:
    left = node.this.unnest()
    return to_sql(left).lower() if isinstance(left, exp.Column) else None


def _value(node: exp.Expression, inspection: Inspection) -> str | None:
    right = node.expression.unnest()
    return right.name.lower() if read_query(inspection).is_literal(right) else None


def _list_pairs(
    inspection: Inspection,
) -> Iterator[tuple[tuple[str, str], exp.Expression, str]]:
    """Pairs of values that a query joins: by AND or INTERSECT, or by OR over rows of another table
    than that of the answer."""
    nodes = inspection.scopes.nodes
    for node in nodes.find_all(exp.And, exp.Or):
        if isinstance(node.parent, type(node)):
            continue
        operands = [part.unnest() for part in node.flatten()][:_MOST_OPERANDS]
        values = [
            (_key(part), _value(part, inspection)) for part in operands
            if isinstance(part, exp.EQ) and _key(part) is not None
        ]  # fmt: skip
        for (one, first), (other, second) in combinations(values, 2):
            if not first or not second or first == second:
                continue
            if isinstance(node, exp.And):
                yield (first, second), node, "and_for_or"
            elif one == other and _is_of_other_table(operands[0], inspection):
                yield (first, second), node, "or_for_and"
    for node in nodes.find_all(exp.Intersect):
        sides = [_list_values(side, inspection) for side in (node.this, node.expression)]
        for first in sides[0] - sides[1]:
            for second in sides[1] - sides[0]:
                yield (first, second), node, "and_for_or"


def _list_values(query: exp.Expression, inspection: Inspection) -> set[str]:
    return {
        value for select in selects_of(query) for node in select.find_all(exp.EQ)
        if _key(node) is not None and (value := _value(node, inspection))
    }  # fmt: skip


def _is_of_other_table(condition: exp.Expression, inspection: Inspection) -> bool:
    """Whether a condition tests a table of FROM that no selected column comes from."""
    scopes = inspection.scopes
    scope = scopes.scope_of(condition)
    tested = scopes.resolve(condition.this.unnest())
    if scope is None or tested is None or tested.source is None:
        return False
    selected = [
        scopes.resolve(column)
        for expression in scope.select.expressions for column in expression.find_all(exp.Column)
    ]  # fmt: skip
    if any(expression.find(exp.AggFunc) for expression in scope.select.expressions):
        return False
    return bool(selected) and all(
        found is not None and found.source is not tested.source for found in selected
    )


def _find_joined(text: str, first: str, second: str) -> str | None:
    """The part of a text from one value to another near to it; None where they are not in it."""
    places = _find_word(text, first), _find_word(text, second)
    if min(places) < 0:
        return None
    (start, one), (end, _) = sorted(zip(places, (first, second), strict=True))
    between = text[start + len(one) : end]
    return between if len(between.split()) <= _MOST_WORDS else None


def _find_word(text: str, word: str) -> int:
    match = re.search(rf"(?<!\w){re.escape(word)}(?:e?s)?(?!\w)", text)
    return match.start() if match is not None else -1

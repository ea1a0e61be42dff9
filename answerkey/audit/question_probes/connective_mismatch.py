"""connective_mismatch: the question says both, either or or, and the query joins its conditions
otherwise.

"Ships that visited both Alda and Brno" ... WHERE port = 'Alda' OR port = 'Brno' -> a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise, product
from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.comparatives import read_number
from answerkey.english.question import Question
from answerkey.sql.query_parts import selects_of
from answerkey.sql.query_rewrites import show_sql, to_sql

_SHARED = re.compile(r"\b(?:both|shared?|common)\b")
_OR_MORE = re.compile(
    r"\bor (?:more|less|fewer|above|below|over|under|older|younger|later|earlier|before|after)\b"
    r"(?!\s*$)"  # 3 or more, not: or more than 3
)
_COMPARED = (exp.EQ, exp.Like, exp.GT, exp.GTE, exp.LT, exp.LTE)
_MOST_OPERANDS = 20  # of one AND or OR, whose pairs are looked at
_MOST_WORDS = 8  # between two values that one word joins


def find_connective_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where conditions are joined in a way that the question does not say.

    The evidence has `kind`: impossible (x = 1 AND x = 2, or x < 1 AND x > 2, on one row),
    tautology (x != 1 OR x != 2), precedence (x = 1 OR x = 2 AND y = 3, which SQL reads as
    x = 1 OR (x = 2 AND y = 3)), or_for_and, and_for_or.
    """
    found = next(_find_mismatches(inspection, question), None)
    return [Finding(Flag.CONNECTIVE_MISMATCH, found)] if found else []


def _find_mismatches(inspection: Inspection, question: Question) -> Iterator[dict[str, Any]]:
    for node in inspection.scopes.nodes.find_all(exp.And, exp.Or):
        if isinstance(node.parent, type(node)):
            continue  # the outermost of a chain has them all
        kind = _judge_alone(node, inspection)
        if kind is not None:
            yield {"kind": kind, "sql": show_sql(node)}
        elif _is_precedence(node):
            yield {"kind": "precedence", "sql": show_sql(node)}
    text = question.text.lower()
    for values, node, kind in _list_pairs(inspection, is_shared=_SHARED.search(text) is not None):
        asked = _find_joined(text, *values)
        said = set(re.findall(r"[a-z]+", asked or "")) & {"and", "or"}
        if said == ({"or"} if kind == "and_for_or" else {"and"}):
            yield {"kind": kind, "asked": asked.strip(), "sql": show_sql(node)}


def _judge_alone(node: exp.Expression, inspection: Inspection) -> str | None:
    """Whether two conditions on one column are never, or always, met together."""
    is_and = isinstance(node, exp.And)
    operands = [part.unnest() for part in node.flatten()][:_MOST_OPERANDS]
    wanted = exp.EQ if is_and else exp.NEQ
    equalities = [part for part in operands if isinstance(part, wanted)]
    for one, other in combinations(equalities, 2):
        values = {_value(part, inspection) for part in (one, other)}
        if _key(one) == _key(other) is not None and len(values) == 2 and None not in values:
            return "impossible" if is_and else "tautology"
    lower = [part for part in operands if isinstance(part, exp.GT | exp.GTE)]
    upper = [part for part in operands if isinstance(part, exp.LT | exp.LTE)]
    for one, other in product(lower, upper) if is_and else ():
        if _key(one) == _key(other) is not None:
            least, most = (read_number(part.expression.name) for part in (one, other))
            if least is not None and most is not None and least > most:
                return "impossible"
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
    if not read_query(inspection).is_literal(right):
        return None
    return right.name.lower().strip("%") or None


def _list_pairs(
    inspection: Inspection, *, is_shared: bool
) -> Iterator[tuple[tuple[str, str], exp.Expression, str]]:
    """Pairs of values that a query joins: by AND or INTERSECT, or by OR. One column has one
    value in a row, so that OR is right for "and" there, unless the question says both, or the
    column is of another table than the answer, with several rows."""
    nodes = inspection.scopes.nodes
    for node in nodes.find_all(exp.And, exp.Or):
        if isinstance(node.parent, type(node)):
            continue
        operands = [part.unnest() for part in node.flatten()][:_MOST_OPERANDS]
        operands = [part for part in operands if isinstance(part, _COMPARED) and _key(part)]
        for one, other in combinations(operands, 2):
            values = _value(one, inspection), _value(other, inspection)
            if None in values or values[0] == values[1]:
                continue
            if isinstance(node, exp.And):
                yield values, node, "and_for_or"
            elif _key(one) != _key(other) or is_shared or _is_of_other_table(one, inspection):
                yield values, node, "or_for_and"
    for node in nodes.find_all(exp.Intersect) if not is_shared else ():
        sides = [_list_values(side, inspection) for side in (node.this, node.expression)]
        for values in product(sides[0] - sides[1], sides[1] - sides[0]):
            yield values, node, "and_for_or"


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
    """The few words of a text from one value to another; None where they are not in it."""
    spans = [_find_word(text, word) for word in (first, second)]
    if None in spans:
        return None
    (_, start), (end, _) = sorted(spans)
    between = _OR_MORE.sub(" ", text[start : max(start, end)])
    return between if len(between.split()) <= _MOST_WORDS and "(" not in between else None


def _find_word(text: str, word: str) -> tuple[int, int] | None:
    match = re.search(rf"(?<!\w){re.escape(word)}(?:e?s)?(?!\w)", text)
    return match.span() if match is not None else None

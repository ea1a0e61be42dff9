"""Probes of comparisons: the query compares otherwise than its question does."""

from __future__ import annotations

from sqlglot import exp

from answerkey.english import measures
from answerkey.english.measures import Comparative, find_comparatives
from answerkey.english.numbers import read_number
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import (
    RANGES,
    Comparison,
    read_query,
)
from answerkey.probes.order import read_expression
from answerkey.records import Finding

# comparison_mismatch: the question compares otherwise than the query does.
#
# "Ports with at least 3 berths" ... WHERE berths > 3 -> a finding.


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def find_comparison_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the query compares a number that the question compares, and otherwise.

    The evidence has `kind`: opposite (less for more), bound (at least for more than). What the
    evidence of the corpus compares as the query does is right.
    """
    comparisons = read_query(inspection).comparisons
    asked = find_comparatives(question)
    for value in dict.fromkeys(one.value for one in asked):
        here = [one for one in asked if one.value == value]
        there = [one for one in comparisons if _holds_number(one, value)]
        if any(one.is_negated for one in here) or any(_is_denied(one.node) for one in there):
            continue
        kinds = [_judge_operator(one, other, inspection) for one in here for other in there]
        if kinds and all(kinds) and not any(_is_explained(one, question) for one in there):
            kind = "bound" if "bound" in kinds else "opposite"
            evidence = {"kind": kind, "asked": here[0].text, "sql": there[0].text}
            return [Finding("comparison_mismatch", evidence)]
    return []


def _is_explained(comparison: Comparison, question: Question) -> bool:
    return question.explains(f"{comparison.operator} {comparison.right.name}")


def _judge_operator(
    asked: Comparative, comparison: Comparison, inspection: Inspection
) -> str | None:
    """Return what is wrong with a comparison; None if it is as asked, or if nobody can tell."""
    operator, wanted = comparison.operator, asked.operator
    if operator not in RANGES:
        return None
    measure = read_expression(comparison.left, inspection)[1]
    if measure == measures.RANK:
        return None
    if asked.measure == measures.AGE and measure != measures.AGE:
        if measure != measures.DATE:
            return None
        wanted = _MIRRORED[wanted]
    if operator[0] != wanted[0]:
        return "opposite"
    return None if operator == wanted or _is_text(comparison) else "bound"


def _is_text(comparison: Comparison) -> bool:
    right = comparison.right
    return isinstance(right, exp.Literal | exp.Column) and read_number(right.name) is None


def _holds_number(comparison: Comparison, value: float | None) -> bool:
    right = comparison.right
    if not isinstance(right, exp.Literal | exp.Column):
        return False
    number = read_number(right.name)
    if number is not None:
        return number == value
    year, rest = right.name[:4], right.name[4:5]
    return read_number(year) == value and rest in ("-", "/")


def _is_denied(node: exp.Expression) -> bool:
    """Return whether a condition stands below a NOT, or in what EXCEPT takes away."""
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.Not):
            return True
        if isinstance(parent, exp.Except) and node.arg_key == "expression":
            return True
        node = parent
    return False


QUESTION_PROBES = (find_comparison_mismatch,)

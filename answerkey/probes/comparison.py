"""A probe of comparisons: at least is not more than."""

from __future__ import annotations

from sqlglot import exp

from answerkey.english.measures import find_comparatives
from answerkey.english.numbers import read_number
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import RANGES, Comparison, read_query
from answerkey.records import Finding


def find_comparison_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question leaves out a number that it compares with, and the query
    takes it in, or the other way round: "ports with at least 3 berths" and `berths > 3`.

    What the evidence of the corpus compares as the query does is right.
    """
    comparisons = [c for c in read_query(inspection).comparisons if c.operator in RANGES]
    asked = find_comparatives(question) if comparisons else []
    for value in dict.fromkeys(one.value for one in asked):
        here = [one for one in asked if one.value == value]
        there = [one for one in comparisons if _holds_number(one, value)]
        if any(one.is_negated for one in here) or any(_is_denied(one) for one in there):
            continue
        if any(question.explains(f"{one.operator} {one.right.name}") for one in there):
            continue
        wanted, taken = {one.is_strict for one in here}, {"=" not in one.operator for one in there}
        if taken and wanted.isdisjoint(taken):
            evidence = {"asked": here[0].text, "sql": there[0].text}
            return [Finding("comparison_mismatch", evidence)]
    return []


def _holds_number(comparison: Comparison, value: float) -> bool:
    right = comparison.right
    return isinstance(right, exp.Literal | exp.Column) and read_number(right.name) == value


def _is_denied(comparison: Comparison) -> bool:
    """Whether a condition stands below a NOT, or beside what EXCEPT takes away."""
    return comparison.node.find_ancestor(exp.Not, exp.Except) is not None


QUESTION_PROBES = (find_comparison_mismatch,)

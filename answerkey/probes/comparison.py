"""A probe of comparisons: at least is not more than."""

from __future__ import annotations

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.measures import Comparative, find_comparatives, read_measure
from answerkey.english.numbers import read_number
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import RANGES, Comparison, read_query


def find_comparison_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question leaves out a number that it compares with, and the query
    takes it in, or the other way round: "ports with at least 3 berths" and `berths > 3`; or if the
    query wants less, and the question more.

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
        pairs = [(one, other) for one in here for other in there]
        if pairs and not any(_is_as_asked(*pair) for pair in pairs):
            evidence = {"asked": here[0].text, "sql": there[0].text}
            return [Finding("comparison_mismatch", evidence)]
    return []


def _is_as_asked(asked: Comparative, taken: Comparison) -> bool:
    """Whether a query takes a number in as asked, and not the other side of it; of ages, dates and
    ranks nobody can tell which side is more."""
    name = taken.left.name if isinstance(taken.left, exp.Column) else ""
    is_other_way = asked.way not in (None, taken.operator[0]) and read_measure(name) is None
    return asked.is_strict == ("=" not in taken.operator) and not is_other_way


def _holds_number(comparison: Comparison, value: float) -> bool:
    right = comparison.right
    return isinstance(right, exp.Literal | exp.Column) and read_number(right.name) == value


def _is_denied(comparison: Comparison) -> bool:
    """Whether a condition stands below a NOT, or beside what EXCEPT takes away."""
    return comparison.node.find_ancestor(exp.Not, exp.Except) is not None


QUESTION_PROBES = (find_comparison_mismatch,)

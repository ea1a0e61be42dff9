"""Probes of comparisons: the query compares otherwise than its question does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from answerkey.english import measures
from answerkey.english.measures import (
    Comparative,
    find_average_comparatives,
    find_comparatives,
    find_plain_comparatives,
    find_quantified_comparatives,
    read_number,
)
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import (
    EQUALITIES,
    PATTERNS,
    RANGES,
    Comparison,
    read_query,
)
from answerkey.probes.conditions import find_named_sibling
from answerkey.probes.order import read_expression
from answerkey.records import Finding

# comparison_mismatch: the question compares otherwise than the query does.
#
# "Ports with at least 3 berths" ... WHERE berths > 3 -> a finding.


_KINDS = ("bound", "equal", "opposite")  # where comparisons differ, the least that is wrong
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def find_comparison_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the query compares a number, the average or several things otherwise than
    asked.

    The evidence has `kind`: opposite (less for more), bound (at least for more than), equal (= for
    a range), quantifier (more than some for more than all), column (another column is compared than
    the one that is named).
    """
    found = next(_find_mismatches(inspection, question), None)
    return [Finding("comparison_mismatch", found)] if found else []


def _find_mismatches(inspection: Inspection, question: Question) -> Iterator[dict[str, Any]]:
    comparisons = read_query(inspection).comparisons
    asked = find_comparatives(question)
    for value in dict.fromkeys(one.value for one in asked):
        here = [one for one in asked if one.value == value]
        there = [one for one in comparisons if _holds_number(one, value)]
        yield from _compare(here, there, inspection, question)
    averages = find_average_comparatives(question)
    there = [one for one in comparisons if _holds_average(one)]
    yield from _compare(averages, there, inspection, question)
    yield from _compare_quantifiers(comparisons, question)
    plain = find_plain_comparatives(question)
    there = [one for one in comparisons if one.operator in RANGES]
    is_single = len(plain) == len(there) == 1 and isinstance(there[0].right, exp.Select)
    if is_single and _judge_comparison_mismatch(plain[0], there[0], inspection) == "opposite":
        yield from _compare(plain, there, inspection, question)
    for one in comparisons:
        sibling = None
        if one.operator in RANGES:
            sibling = find_named_sibling(one.left, inspection, question)
        if sibling is not None:
            yield {"kind": "column", "asked": sibling, "sql": one.text}


def _compare(
    asked: list[Comparative],
    comparisons: list[Comparison],
    inspection: Inspection,
    question: Question,
) -> Iterator[dict[str, Any]]:
    """A mismatch where none of the comparisons is as any of what is asked of the same number."""
    if any(one.is_negated for one in asked) or any(_is_denied(one.node) for one in comparisons):
        return
    kinds = [
        _judge_comparison_mismatch(one, other, inspection) for one in asked for other in comparisons
    ]
    if kinds and all(kinds) and not _explains(question.evidence, comparisons):
        kind = next(kind for kind in _KINDS if kind in kinds)
        yield {"kind": kind, "asked": asked[0].text, "sql": comparisons[0].text}


def _explains(evidence: str | None, comparisons: list[Comparison]) -> bool:
    """Whether the evidence has a comparison as it stands in the query, such as `>= 3`."""
    text = (evidence or "").replace(" ", "")
    return any(one.operator + one.right.name in text for one in comparisons if one.right.name)


def _compare_quantifiers(
    comparisons: list[Comparison], question: Question
) -> Iterator[dict[str, Any]]:
    """More than all is more than the greatest, more than some is more than the least."""
    asked = find_quantified_comparatives(question)
    against = [one for one in comparisons if _is_of_extreme(one)]
    if len(asked) != 1 or len(against) != 1 or _is_denied(against[0].node):
        return
    (text, is_all), comparison = asked[0], against[0]
    is_greatest = isinstance(comparison.right.expressions[0].unalias(), exp.Max)
    if is_all != ((comparison.operator[0] == ">") == is_greatest):
        yield {"kind": "quantifier", "asked": text, "sql": comparison.text}


def _is_of_extreme(comparison: Comparison) -> bool:
    right = comparison.right
    if comparison.operator not in RANGES or not isinstance(right, exp.Select):
        return False
    return isinstance(right.expressions[0].unalias(), exp.Min | exp.Max)


def _judge_comparison_mismatch(
    asked: Comparative, comparison: Comparison, inspection: Inspection
) -> str | None:
    """What is wrong with a comparison; None where it is as asked, or where nobody can tell."""
    operator, wanted = comparison.operator, asked.operator
    if operator not in RANGES:
        is_equality = operator in EQUALITIES | PATTERNS and asked.value not in (0, 1)  # codes
        return "equal" if is_equality else None
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


def _holds_average(comparison: Comparison) -> bool:
    right = comparison.right
    return isinstance(right, exp.Select) and any(
        isinstance(output.unalias(), exp.Avg) for output in right.expressions
    )


def _is_denied(node: exp.Expression) -> bool:
    """Whether a condition stands below a NOT, or in what EXCEPT takes away."""
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.Not):
            return True
        if isinstance(parent, exp.Except) and node.arg_key == "expression":
            return True
        node = parent
    return False


QUESTION_PROBES = (find_comparison_mismatch,)

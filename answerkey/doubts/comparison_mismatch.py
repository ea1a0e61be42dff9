"""comparison_mismatch: the query compares with a number by another operator than the question.

Doubted: "ships with at least 5 crew" and `SELECT name FROM ship WHERE crew > 5`
Not doubted: "ships ranked above 2" and `SELECT name FROM ship WHERE rank < 2`, since the first rank
is the best

The rows that have the number itself are missing, or the rows of the other side are returned. What
the evidence of the corpus compares as the query does is right. There are no kinds. The repair has
the operator of the question.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import read_query, with_repair
from answerkey.english.comparatives import Comparative, find_comparatives
from answerkey.english.measures import read_measure
from answerkey.english.question import Question
from answerkey.english.stated_numbers import read_number
from answerkey.order.inspection import Inspection
from answerkey.rewrites.compared_values import Operator, compare_by_operators
from answerkey.rewrites.trees import write_change
from answerkey.sql.conditions import RANGES, Comparison

_OPERATORS: dict[str, Operator] = {"<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}


class _Mismatch(NamedTuple):
    """A comparison of the question, and those of the query with the same number."""

    asked: Comparative
    comparisons: list[Comparison]


def find_comparison_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if no comparison of the query with a number is one that the question states
    for that number."""
    comparisons = [c for c in read_query(inspection).comparisons if c.operator in RANGES]
    asked = find_comparatives(question) if comparisons else []
    mismatches: list[_Mismatch] = []
    for value in dict.fromkeys(comparative.value for comparative in asked):
        said = [comparative for comparative in asked if comparative.value == value]
        own = [comparison for comparison in comparisons if _has_number(comparison, value)]
        if any(comparative.is_negated for comparative in said):
            # "not over 5" may be `<= 5`, or NOT around `> 5`; it is not `> 5` alone
            if _is_affirmed(inspection, said, own):
                mismatches.append(_Mismatch(_deny(said[0]), own))
            continue
        if any(comparison.node.find_ancestor(exp.Not, exp.Except) for comparison in own):
            continue  # what the query denies is the opposite of what is asked for
        if any(question.explains(f"{c.operator} {c.right.name}") for c in own):
            continue
        pairs = [(comparative, comparison) for comparative in said for comparison in own]
        if pairs and not any(_is_as_asked(*pair) for pair in pairs):
            mismatches.append(_Mismatch(said[0], own))
    if not mismatches:
        return []
    first = mismatches[0]
    evidence = {"asked": first.asked.text, "sql": first.comparisons[0].text}
    repair = _repair(inspection, mismatches)
    return [Finding("comparison_mismatch", with_repair(evidence, repair))]


def _has_number(comparison: Comparison, value: float) -> bool:
    right = comparison.right
    return isinstance(right, exp.Literal | exp.Column) and read_number(right.name) == value


def _is_affirmed(inspection: Inspection, said: list[Comparative], own: list[Comparison]) -> bool:
    """Return whether a query compares by the words that the question denies, and denies nothing."""
    if inspection.scopes.nodes.find_all(exp.Not, exp.Except, exp.NEQ):
        return False
    return bool(own) and all(
        asked.is_negated
        and asked.way is not None
        and not _is_either_way(comparison)
        and _is_as_asked(asked, comparison)
        for asked in said
        for comparison in own
    )


def _deny(asked: Comparative) -> Comparative:
    """Return the opposite of a comparison: "over 5" -> "at most 5"."""
    strict, loose = ("less than", "at most") if asked.way == ">" else ("more than", "at least")
    text = f"{loose if asked.is_strict else strict} {asked.value}"
    return asked._replace(text=text, is_strict=not asked.is_strict)


def _is_as_asked(asked: Comparative, comparison: Comparison) -> bool:
    """Return whether a query includes the number as the question does, and asks for the same
    side."""
    is_other_way = asked.way not in (None, comparison.operator[0])
    is_other_way = is_other_way and not _is_either_way(comparison)
    return asked.is_strict == ("=" not in comparison.operator) and not is_other_way


def _is_either_way(comparison: Comparison) -> bool:
    """Return whether a greater value of a column may mean less: of ages, dates and ranks."""
    left = comparison.left
    return isinstance(left, exp.Column) and read_measure(left.name) is not None


def _repair(inspection: Inspection, mismatches: list[_Mismatch]) -> str | None:
    """Return the query with the operators of the question; None if the ends of one BETWEEN would
    change sides: two ranges are probably meant."""
    operators = []
    for asked, comparisons in mismatches:
        for comparison in comparisons:
            own_way = comparison.operator[0]
            is_free = asked.way is None or _is_either_way(comparison)
            way = own_way if is_free else asked.way
            if isinstance(comparison.node, exp.Between) and way != own_way:
                return None
            operator = _OPERATORS[f"{way}{'' if asked.is_strict else '='}"]
            operators.append((comparison, operator))
    return write_change(inspection.scopes, compare_by_operators(operators))


DOUBT = Doubt("comparison_mismatch", find_in_question=find_comparison_mismatch)

"""Difficulty by a rule, or by complexity: a number per query, and the cuts that divide it into
easy, medium and hard.

Equal SQL has an equal number, so no cut separates equal queries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.records import EASY, HARD, HARDNESS_LEVELS, MEDIUM, read_share
from answerkey.sections.classify_difficulty import DifficultyRule

_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_WORDS = re.compile(r"\w+")
_JOIN_OR_SET_OPERATION = re.compile(r"\b(?:JOIN|UNION|INTERSECT|EXCEPT)\b")
_QUERY = re.compile(r"\bSELECT\b")
_AGGREGATE = re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX|TOTAL|GROUP_CONCAT)\(")
_MAX_WORDS = 999  # more words would count as a point


def measure_complexity(tables: int, hardness: str, canonical_sql: str) -> float:
    """Return the complexity of a query. The whole part is a number of points. The decimals are the
    number of words of its canonical SQL in thousandths, so of two queries with equal points the
    longer one is harder. Each table, JOIN, aggregate and set operation is one point, and each
    nested query two; the official hardness adds none to three, from easy to extra.

    >>> measure_complexity(1, "easy", 'SELECT COUNT(*) FROM "ship"')
    2.004
    >>> measure_complexity(2, "hard", 'SELECT "id" FROM "a" EXCEPT SELECT "a_id" FROM "b"')
    7.009
    """
    sql = _QUOTED.sub("x", canonical_sql)
    operations = len(_JOIN_OR_SET_OPERATION.findall(sql)) + len(_AGGREGATE.findall(sql))
    nested = 2 * (len(_QUERY.findall(sql)) - 1)
    points = tables + operations + nested + HARDNESS_LEVELS.index(hardness)
    return points + min(len(_WORDS.findall(sql)), _MAX_WORDS) / (_MAX_WORDS + 1)


class Cuts(NamedTuple):
    """The highest complexity of an easy question, and of a medium one."""

    easy: float
    medium: float

    def classify(self, complexity: float) -> str:
        if complexity <= self.easy:
            return EASY
        return MEDIUM if complexity <= self.medium else HARD


def find_cuts(questions: Iterable[Any], shares: Mapping[str, float] | None) -> Cuts:
    """Return the cuts whose shares of difficulties are nearest to the wanted shares.

    questions: the usable questions, or rows with their fields.
    """
    if shares is None:
        raise InputError(
            "classify_difficulty.method: rank cuts at select_questions.targets.difficulty_shares:"
            " expected such shares, found null"
        )
    return cut(Counter(map(read_complexity, questions)), shares)


def cut(complexities: Mapping[float, int], shares: Mapping[str, float]) -> Cuts:
    """Return the cuts, given the number of questions of each complexity.

    >>> counts = {1.004: 2, 2.005: 1, 2.006: 3, 3.009: 1, 5.012: 3}
    >>> cut(counts, {"easy": 0.3, "medium": 0.4, "hard": 0.3})
    Cuts(easy=2.005, medium=3.009)
    """
    counts = sorted(complexities.items())
    sums = [0, *accumulate(count for _, count in counts)]
    values = [0.0, *(value for value, _ in counts)]
    easy, medium = read_share(shares[EASY]), read_share(shares[MEDIUM])
    low, high = (
        min(range(len(sums)), key=lambda cut_index: abs(sums[cut_index] - share * sums[-1]))
        for share in (easy, easy + medium)
    )
    return Cuts(values[low], values[high])


def read_complexity(question: Any) -> float:
    return measure_complexity(
        len(question.tables_involved), question.hardness, question.canonical_sql
    )


def classify(question: Any, rule: DifficultyRule, cuts: Cuts | None) -> str:
    """Return the difficulty of a question, or of a row with its fields. cuts: for the rule rank."""
    if cuts is not None:
        return cuts.classify(read_complexity(question))
    return rule.classify(
        len(question.tables_involved),
        question.hardness,
        question.source_difficulty,
        question.solved_share,
    )

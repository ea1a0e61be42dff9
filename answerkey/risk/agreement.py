"""How far two readers of the same questions agree, beyond what chance would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from answerkey.base.log import spell_count
from answerkey.risk.verdicts import WRONG


class Agreement(NamedTuple):
    """questions: how many both have read; same: on how many they give one verdict.

    kappa, kappa_of_wrong: Cohen's kappa over all verdicts, and over wrong or not; None where both
        readers say one thing of every question, so that chance alone agrees as well.
    """

    questions: int
    same: int
    kappa: float | None
    kappa_of_wrong: float | None


def find_agreement(pairs: Sequence[tuple[str, str]]) -> Agreement:
    """The agreement of two readers; pairs: the two verdicts on each question.

    >>> find_agreement([("right", "right"), ("wrong", "ambiguous"), ("wrong", "wrong")])
    Agreement(questions=3, same=2, kappa=0.5, kappa_of_wrong=0.4)
    """
    return Agreement(
        len(pairs),
        sum(left == right for left, right in pairs),
        find_kappa(pairs),
        find_kappa([(left == WRONG, right == WRONG) for left, right in pairs]),
    )


def find_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa (1960): 1 where two readers always agree, 0 where they agree as often as two
    would who know nothing and say each verdict as often as these; to four digits.

    >>> find_kappa([("a", "a"), ("b", "b"), ("a", "b"), ("b", "b")])
    0.5
    >>> find_kappa([("a", "a")]) is None
    True
    """
    firsts, seconds = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    # Whole numbers: agreement and that of chance, times the square of the number of pairs.
    agreed = len(pairs) * sum(left == right for left, right in pairs)
    by_chance = sum(count * seconds[verdict] for verdict, count in firsts.items())
    most = len(pairs) ** 2
    return None if by_chance == most else round((agreed - by_chance) / (most - by_chance), 4)


def describe_agreement(agreement: Agreement) -> str:
    """
    >>> describe_agreement(Agreement(3, 2, 0.5, None))
    '3 questions read twice, 2 alike: kappa 0.50, of wrong or not none'
    """
    kappas = (
        "none" if kappa is None else f"{kappa:.2f}"
        for kappa in (agreement.kappa, agreement.kappa_of_wrong)
    )
    questions = spell_count(agreement.questions, "question", ",")
    words = ", of wrong or not ".join(kappas)
    return f"{questions} read twice, {agreement.same:,} alike: kappa {words}"

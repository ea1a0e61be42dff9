"""Gold risk: the probability that the gold SQL of a question is wrong, from its flags.

    risk = 1 - (1 - base) * product of (1 - precision) / (1 - base) over its flags

- base: the share of wrong gold among all judged questions. A question without flags has this risk.
- precision of a flag: (wrong + 2 * base) / (flagged + 2), so that one that was seen seldom stays
  near the base. Where its evidence has a kind: (wrong + 2 * precision of the flag) / (flagged + 2),
  by the counts of that kind. The counts are those of `answerkey.risk.flag_precision`.
- A flag that was never measured, or whose precision is not above the base, counts nothing.

So a question with one flag has the risk that was measured for that flag, and each further flag
takes a share of what is left.

This is a noisy-or with a leak (Henrion: Some practical issues in constructing belief networks,
1989), each of its probabilities an m-estimate (Cestnik: Estimating probabilities, 1990).
`benchmarks/gold_flags.py` compares it with naive Bayes on databases that it was not counted on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from answerkey.risk.flag_precision import Count, FlagPrecision, Sign

_PRIOR = 2  # questions that the prior counts for
_DIGITS = 4


class Weighed(NamedTuple):
    """A sign, and its precision drawn to the prior."""

    sign: Sign
    precision: float


def find_base(table: FlagPrecision) -> float:
    """The share of wrong gold among all judged questions."""
    return table.judged.wrong / table.judged.questions


def estimate_precision(table: FlagPrecision, sign: Sign) -> float | None:
    """The precision of a sign, drawn to the prior; None where its flag was never measured."""
    count = table.flags.get(sign.code)
    if count is None:
        return None
    precision = _draw(count, find_base(table))
    of_kind = table.signs.get(sign)
    return precision if of_kind is None else _draw(of_kind, precision)


def _draw(count: Count, prior: float) -> float:
    return (count.wrong + _PRIOR * prior) / (count.questions + _PRIOR)


def weigh_signs(table: FlagPrecision, signs: Iterable[Sign]) -> list[Weighed]:
    """The signs that speak against gold, the strongest first."""
    base = find_base(table)
    weighed = [
        Weighed(sign, precision)
        for sign in signs
        if (precision := estimate_precision(table, sign)) is not None and precision > base
    ]
    return sorted(weighed, key=lambda each: (-each.precision, each.sign.code))


def estimate_risk(table: FlagPrecision, weighed: Iterable[Weighed]) -> float:
    """The gold risk of a question with these signs, from 0 to 1.

    >>> from answerkey.core.flags import Flag
    >>> table = FlagPrecision(Count(1000, 100), {Flag.CROSS_JOIN: Count(8, 7)}, {})
    >>> estimate_risk(table, [])
    0.1
    >>> estimate_risk(table, weigh_signs(table, [Sign(Flag.CROSS_JOIN, None)]))
    0.72
    """
    right = 1 - find_base(table)
    left = right
    for each in weighed:
        left *= (1 - each.precision) / right
    return round(1 - left, _DIGITS)


def describe_risk(risk: float, weighed: Iterable[Weighed]) -> dict[str, Any]:
    """The evidence of a gold risk: the flags that made it, the strongest first."""
    flags = [
        {
            "code": str(each.sign.code),
            **({} if each.sign.kind is None else {"kind": each.sign.kind}),
            "precision": round(each.precision, _DIGITS),
        }
        for each in weighed
    ]
    return {"risk": risk, "flags": flags}

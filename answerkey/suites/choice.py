"""The choice: which variants are kept, and which of them each question gets.

A prediction can win with a rival behind a guard: a condition that tells the real database from the
databases of the suite. So a rival that survives on the suite has to be killed, though the real
database kills it: it is *guarded*, and counts in the next choice. The choice is final when no
further rival is guarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sqlite.executions import are_same
from answerkey.suites.asked import AskedVariants, Guarded
from answerkey.suites.cover import (
    BY_HEART_WEIGHT,
    GUARDED_WEIGHT,
    Kills,
    choose_databases,
    choose_suite,
)
from answerkey.suites.rivals import (
    GUESS,
    Case,
    OnReal,
    RealDatabase,
    Rival,
    make_guess,
)

# Share of the neighbors of a database that may survive if this saves variants.
_MAX_SPARED_SHARE = 0.005


class Choice(NamedTuple):
    """What is chosen.

    kept: the numbers of the variants that are kept.
    suites: the numbers of the variants of each question.
    kills: what each variant that counts for a question kills.
    guarded: the rivals of each question that are guarded.
    """

    kept: list[int]
    suites: dict[Case, list[int]]
    kills: dict[Case, Kills[Rival]]
    guarded: dict[Case, tuple[Rival, ...]]


def choose(
    cases: Sequence[Case],
    asked: AskedVariants,
    real: RealDatabase,
    settings: SuiteSettings,
    *,
    guarded: Guarded,
) -> Choice:
    """The variants that are kept, and those of each question.

    guarded: the rivals that earlier choices found.
    """
    known, is_final = {case: tuple(rivals) for case, rivals in guarded.items()}, False
    while not is_final:
        kills = asked.list_kills(cases, known)
        kept, suites = _cover(kills, known, settings)
        new = _find_guarded(suites, asked, real, known)
        is_final = not new
        known |= {case: (*known.get(case, ()), *rivals) for case, rivals in new.items()}
    return Choice(kept, suites, kills, known)


def _cover(
    kills: Mapping[Case, Kills[Rival]], guarded: Guarded, settings: SuiteSettings
) -> tuple[list[int], dict[Case, list[int]]]:
    count, required = 0, {}
    heavy: dict[tuple[int, Rival], int] = {}
    for index, (case, own) in enumerate(kills.items()):
        count += len(case.gold.list_by_fate(OnReal.KILLED)) + len(unite(own))
        weights = dict.fromkeys((*guarded.get(case, ()), *case.weighty), GUARDED_WEIGHT)
        weights |= dict.fromkeys(case.memorized, BY_HEART_WEIGHT)
        heavy |= {(index, rival): weight for rival, weight in weights.items()}
        required[case] = weights.keys()
    kept = choose_databases(
        [*kills.values()],
        most=settings.max_databases,
        heavy=heavy,
        spare=int(count * _MAX_SPARED_SHARE),
    )
    most = settings.max_databases_per_question
    return kept, {
        case: choose_suite(own, kept, most=most, heavy=required[case])
        for case, own in kills.items()
    }


def unite(kills: Kills[Rival]) -> frozenset[Rival]:
    """The rivals of a question that some variant kills."""
    return frozenset[Rival]().union(*kills.values())


def _find_guarded(
    suites: Mapping[Case, Sequence[int]],
    asked: AskedVariants,
    real: RealDatabase,
    guarded: Guarded,
) -> dict[Case, list[Rival]]:
    """The rivals of each question that survive on its suite and not on the real database, and were
    not known so far. Each variant is stored once for all questions."""
    waiting = {
        case: [rival for rival in case.others if rival not in guarded.get(case, ())]
        for case, suite in suites.items()
        if suite
    }
    for number in asked.answers:
        for case in waiting:
            if number in suites[case]:
                waiting[case] = [
                    rival for rival in waiting[case] if not asked.is_killed(number, case, rival)
                ]
    found = {}
    for case, rivals in waiting.items():
        alive = [rival for rival in rivals if real.is_killed(case.gold, rival)]
        alive += _make_guess(case, suites[case], asked, guarded.get(case, ()))
        if alive:
            found[case] = alive
    return found


def _make_guess(
    case: Case, suite: Sequence[int], asked: AskedVariants, guarded: Sequence[Rival]
) -> list[Rival]:
    """The one answer that gold gives on all databases of a suite, as a rival, if there is one that
    is new; those that a guard may take for the real database are left out."""
    answers = [answer for number in suite if (answer := asked.find_answer(number, case))]
    rows = [answer.gold.rows for answer in answers if not answer.passes]
    known = [rival.rows for rival in guarded if rival.name == GUESS]
    abs_tol = case.gold.abs_tol
    if not rows or rows[0] in known:
        return []
    is_one = all(are_same(rows[0], other, ordered=False, abs_tol=abs_tol) for other in rows)
    return [make_guess(rows[0])] if is_one else []

"""The choice: which variants are kept, and which of them each question gets.

A prediction can win with a rival behind a guard: a condition that tells the real database from the
databases of the suite. So a rival that survives on the suite has to be killed, though the real
database kills it: it is *guarded*, and counts in the next choice. The choice is final when no
further rival is guarded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from answerkey.engines.executions import are_same
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.suites.asked import Answer, Answers, AskedVariants, Guarded
from answerkey.suites.cover import (
    BY_HEART_WEIGHT,
    GUARDED_WEIGHT,
    choose_databases,
    choose_suite,
)
from answerkey.suites.rivals import GUESS, Case, RealDatabase, Rival, make_guess

# Share of the neighbors of a database that may survive if this saves variants.
_MAX_SPARED_SHARE = 0.005


class Suite(NamedTuple):
    """The suite of a question.

    answers: what its variants say, by their numbers; no suite if there are none.
    killed: the rivals that these kill.
    counted: the numbers of all variants that count for the question.
    killable: the rivals that any of these kills.
    guarded: the rivals that the suite alone must kill.
    """

    answers: dict[int, Answer]
    killed: frozenset[Rival]
    counted: Collection[int]
    killable: frozenset[Rival]
    guarded: tuple[Rival, ...]


class Choice(NamedTuple):
    """The numbers of the variants that are kept, and the suite of each question."""

    kept: list[int]
    suites: dict[Case, Suite]


def choose(
    cases: Sequence[Case],
    asked: AskedVariants,
    real: RealDatabase,
    settings: SuiteSettings,
    *,
    guarded: Guarded,
) -> Choice:
    """The variants that are kept, and the suite of each question.

    guarded: the rivals that earlier choices found.
    """
    known = {case: tuple(rivals) for case, rivals in guarded.items()}
    is_final = False
    while not is_final:
        answers = asked.list_answers(cases, known)
        kept, numbers = _cover(answers, known, settings)
        suites = {
            case: _make_suite(own, numbers[case], known.get(case, ()))
            for case, own in answers.items()
        }
        new = _find_guarded(suites, asked, real)
        known |= {case: (*known.get(case, ()), *rivals) for case, rivals in new.items()}
        is_final = not new
    return Choice(kept, suites)


def _make_suite(
    answers: Mapping[int, Answer], numbers: Sequence[int], guarded: tuple[Rival, ...]
) -> Suite:
    own = {number: answers[number] for number in numbers}
    return Suite(own, list_killed(own), answers.keys(), list_killed(answers), guarded)


def list_killed(answers: Mapping[int, Answer]) -> frozenset[Rival]:
    """The rivals of a question that some variant kills."""
    return frozenset[Rival]().union(*(answer.killed for answer in answers.values()))


def _cover(
    answers: Answers, guarded: Guarded, settings: SuiteSettings
) -> tuple[list[int], dict[Case, list[int]]]:
    """The numbers of the variants that are kept, and of those of each question."""
    kills = {
        case: {number: answer.killed for number, answer in own.items()}
        for case, own in answers.items()
    }
    count, required = 0, {}
    heavy: dict[tuple[int, Rival], int] = {}
    for index, (case, own) in enumerate(answers.items()):
        count += len(case.killed) + len(list_killed(own))
        weights = dict.fromkeys((*guarded.get(case, ()), *case.weighty), GUARDED_WEIGHT)
        weights |= dict.fromkeys(case.memorized, BY_HEART_WEIGHT)
        heavy |= {(index, rival): weight for rival, weight in weights.items()}
        required[case] = weights.keys()
    spare, most = int(count * _MAX_SPARED_SHARE), settings.max_databases_per_question
    kept = choose_databases(
        [*kills.values()], most=settings.max_databases, heavy=heavy, spare=spare
    )
    return kept, {
        case: choose_suite(kills[case], kept, most=most, heavy=rivals)
        for case, rivals in required.items()
    }


def _find_guarded(
    suites: Mapping[Case, Suite], asked: AskedVariants, real: RealDatabase
) -> dict[Case, list[Rival]]:
    """The rivals of each question that survive on its suite and not on the real database, and were
    not known so far."""
    waiting = {
        case: [rival for rival in case.others if rival not in suite.guarded]
        for case, suite in suites.items()
        if suite.answers
    }
    alive = asked.list_survivors(waiting, {case: suites[case].answers for case in waiting})
    found = {
        case: [rival for rival in rivals if real.is_killed(case.gold, rival)]
        + _list_guesses(suites[case], abs_tol=case.gold.stored.abs_tol)
        for case, rivals in alive.items()
    }
    return {case: rivals for case, rivals in found.items() if rivals}


def _list_guesses(suite: Suite, *, abs_tol: float) -> list[Rival]:
    """The one answer that gold gives on all databases of a suite, as a rival, if there is one that
    is new; those that a guard may take for the real database are left out."""
    rows = [answer.gold.rows for answer in suite.answers.values() if not answer.passes]
    known = [rival.rows for rival in suite.guarded if rival.name == GUESS]
    is_one = all(are_same(rows[0], other, ordered=False, abs_tol=abs_tol) for other in rows)
    return [make_guess(rows[0])] if rows and is_one and rows[0] not in known else []

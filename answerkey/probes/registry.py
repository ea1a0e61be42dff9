"""All probes, family by family."""

from __future__ import annotations

from collections.abc import Callable

from answerkey.base.records import Finding
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes import (
    answers,
    comparison,
    distinct,
    groups,
    joins,
    literals,
    negation,
    order,
    projection,
    sets,
    types,
)

Probe = Callable[[Inspection], list[Finding]]
QuestionProbe = Callable[[Inspection, Question], list[Finding]]

# These look at a query and its answer, once for all questions that have them.
PROBES: tuple[Probe, ...] = (
    *answers.PROBES,
    *joins.PROBES,
    *literals.PROBES,
    *order.PROBES,
    *sets.PROBES,
    *types.PROBES,
)

# These look at the question, too.
QUESTION_PROBES: tuple[QuestionProbe, ...] = (
    *comparison.QUESTION_PROBES,
    *distinct.QUESTION_PROBES,
    *groups.QUESTION_PROBES,
    *joins.QUESTION_PROBES,
    *literals.QUESTION_PROBES,
    *negation.QUESTION_PROBES,
    *order.QUESTION_PROBES,
    *projection.QUESTION_PROBES,
)


def ask_probes(inspection: Inspection) -> list[Finding]:
    """Return what all probes of the query find."""
    return [finding for probe in PROBES for finding in probe(inspection)]


def ask_question_probes(inspection: Inspection, question: Question) -> list[Finding]:
    """Return what all probes of the query against its question find; nothing if it has no word."""
    if not question.words:
        return []
    return [finding for probe in QUESTION_PROBES for finding in probe(inspection, question)]

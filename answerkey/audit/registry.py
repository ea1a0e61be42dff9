"""Registry: all probes, found by the names of their files.

`probes` look at a query and its answer, once for all questions that have them:
`probes/empty_answer.py` -> Flag.EMPTY_ANSWER: find_empty_answer(inspection)

`question_probes` look at the question, too:
`question_probes/order_missing.py` -> Flag.ORDER_MISSING: find_order_missing(inspection, question)
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from answerkey.audit import probes, question_probes
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.question import Question

Probe = Callable[[Inspection], list[Finding]]
QuestionProbe = Callable[[Inspection, Question], list[Finding]]


def load_probes(package: ModuleType) -> dict[Flag, Callable[..., Any]]:
    """The probe of each flag that has one in a package, by the names of its files.

    Raises:
        ValueError: where a file is not named after a flag.
        AttributeError: where a file has no function `find_` and its name.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return {Flag(name): _load_probe(f"{package.__name__}.{name}", name) for name in names}


def _load_probe(module: str, name: str) -> Callable[..., Any]:
    return getattr(import_module(module), f"find_{name}")


PROBES: dict[Flag, Probe] = load_probes(probes)
QUESTION_PROBES: dict[Flag, QuestionProbe] = load_probes(question_probes)


def ask_probes(inspection: Inspection) -> list[Finding]:
    """What all probes of the query find."""
    return [finding for probe in PROBES.values() for finding in probe(inspection)]


def ask_question_probes(inspection: Inspection, question: Question) -> list[Finding]:
    """What all probes of the query against its question find; nothing where it has no word."""
    if not question.words:
        return []
    return [
        finding for probe in QUESTION_PROBES.values() for finding in probe(inspection, question)
    ]

"""A doubt: one reason why gold may be wrong or of little use, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from answerkey.base.records import Finding
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection

FindInQuery = Callable[[Inspection], list[Finding]]
FindInQuestion = Callable[[Inspection, Question], list[Finding]]
Answers = Literal["same", "other"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to doubt gold SQL, its answer or its question. It raises the flag of its name.

    `answerkey.flags` has the sentence and the default policy of the flag, so that changing them
    executes nothing.

    name: the flag.
    find_in_query: looks at the query and its answer, once for all questions that have them.
    find_in_question: looks at the question, too. A doubt has exactly one of the two.
    is_sign: whether the flag is a sign that gold is wrong, which counts for `answer_risk`. It is
        not where the flag says something else of the answer, or where too few questions of
        databases that the rule was not made with have it.
    readings: the readings that repair the query if a finding has no SQL of its own
        (`evidence["repair"]`). Of several, the first one with another answer counts.
    answers_of_kinds: what a repair would answer, by the kind of the evidence, if a finding has
        none.

    Raises:
        ValueError: if it has no way to find anything, or two.
    """

    name: str
    find_in_query: FindInQuery | None = None
    find_in_question: FindInQuestion | None = None
    is_sign: bool = True
    readings: tuple[str, ...] = ()
    answers_of_kinds: Mapping[str, Answers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.find_in_query is None) is (self.find_in_question is None):
            raise ValueError(f"doubt {self.name}: expected one of find_in_query, find_in_question")

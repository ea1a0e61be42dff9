"""Facts: what the record of a question is held against, wherever they are from."""

from __future__ import annotations

from typing import Any, NamedTuple

from answerkey.sqlite.answers import answers_match, classify_answer_type

Record = dict[str, Any]

_SHOWN_CHARACTERS = 200


class Facts(NamedTuple):
    """What a record is held against.

    answer: what its gold SQL returns, None where that is a single NULL.
    order_matters: whether the rows of the answer come in an order that belongs to it.
    tables_involved, difficulty: what follows from gold SQL and the schema.
    corpus: that of the question, '' where none is known.
    """

    answer: Any
    order_matters: bool
    tables_involved: list[str]
    difficulty: str
    corpus: str


class UnknownFactsError(Exception):
    """There is nothing to hold a record against; the message says why. Its corpus may be known."""

    def __init__(self, message: str, *, corpus: str = "") -> None:
        super().__init__(message)
        self.corpus = corpus


class MissingDatabaseError(UnknownFactsError):
    """There is no database of that name, which is one error however many questions ask it."""


def check_facts(question: Record, facts: Facts, *, rel_tol: float) -> list[str]:
    """Where a record is not what its gold SQL makes it."""
    stored, answer = question["gold_answer"], facts.answer
    # One row of one column matches the same value in a list, so shapes are compared as well.
    is_same = (
        answer is not None
        and classify_answer_type(answer) == question["answer_type"]
        and answers_match(stored, answer, ordered=facts.order_matters, rel_tol=rel_tol)
    )
    errors = []
    if not is_same:
        errors.append(
            f"gold_answer: expected what gold SQL returns, {shorten(answer)},"
            f" found {shorten(stored)}"
        )
    if question["tables_involved"] != facts.tables_involved:
        errors.append(
            f"tables_involved: expected what gold SQL reads, {facts.tables_involved}, found"
            f" {question['tables_involved']}"
        )
    if question["difficulty"] != facts.difficulty:
        errors.append(
            f"difficulty: expected {facts.difficulty}, by the rule of difficulty, found"
            f" {question['difficulty']}"
        )
    return errors


def shorten(value: Any) -> str:
    """What a message shows of a value."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."

"""Facts: what the record of a question is held against, wherever they are from."""

from __future__ import annotations

from typing import Any, NamedTuple

from answerkey.sqlite.answers import (
    Order,
    answer_rows,
    answers_match,
    classify_answer_type,
    list_takes,
)

Record = dict[str, Any]

_SHOWN_CHARACTERS = 200


class Facts(NamedTuple):
    """What a record is held against.

    answer: what its gold SQL returns, None where that is a single NULL.
    order_matters: how far the order of the rows of the answer belongs to it.
    tables_involved, difficulty: what follows from gold SQL and the schema.
    corpus: that of the question, '' where none is known.
    """

    answer: Any
    order_matters: Order
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


def are_segments(value: Any, gold_answer: Any) -> bool:
    """Whether a value is a list of segments of a gold answer, which `rows_match` explains: numbers
    of rows, and {rows, take} with as many rows as it takes, or more."""
    return (
        isinstance(value, list)
        and all(map(_is_segment, value))
        and sum(list_takes(value)) == len(answer_rows(gold_answer))
    )


def _is_segment(value: Any) -> bool:
    if not isinstance(value, dict):
        return type(value) is int and value >= 1
    return (
        value.keys() == {"rows", "take"}
        and isinstance(value["rows"], list)
        and all(isinstance(row, list) for row in value["rows"])
        and type(value["take"]) is int
        and 1 <= value["take"] <= len(value["rows"])
    )

"""Wrong predictions for their page: each is a card beside gold, with filters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from answerkey.base.records import DIFFICULTIES, HARDNESS_LEVELS

if TYPE_CHECKING:
    from answerkey.evaluation.scoring import Score
    from answerkey.evaluation.summary import QuestionResult

_MAX_CHARACTERS = 2000  # of a text

# Filters: a key, a name, and the order of the values if they have one.
_FILTERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("reason", "Error", ()),
    ("wrong_on", "Wrong on", ("the database", "the test suite only")),
    ("database", "Database", ()),
    ("split", "Split", ()),
    ("difficulty", "Difficulty", DIFFICULTIES),
    ("hardness", "Hardness", HARDNESS_LEVELS),
    ("answer_type", "Answer type", ()),
)


class Cell(TypedDict):
    """A value of a row: its text, and its kind: text, numeric or null, which are styled
    differently."""

    kind: str
    text: str


class TitledRows(TypedDict):
    """Rows under a title, and the total number of rows."""

    title: str
    rows: list[list[Cell]]
    count: int


class Wrong(TypedDict):
    """A wrong prediction.

    values: its value for the key of each filter.
    gold, predicted: SQL in colored pieces, and rows below it.
    """

    id: str
    name: str
    question: str
    reason: str
    detail: str
    values: dict[str, str]
    gold: str
    gold_rows: list[TitledRows]
    predicted: str
    predicted_rows: list[TitledRows]


def show_wrong(result: QuestionResult, score: Score, *, most_rows: int) -> Wrong:
    """Return the card of a wrong prediction, beside the gold of its question."""
    question = result.question
    answer = question.gold_answer
    gold = answer if isinstance(answer, list) else [answer]
    gold_rows = [_show_rows("Gold answer", gold[:most_rows], len(gold))]
    predicted_rows = []
    if score.rows is not None:
        predicted_rows.append(_show_rows("Predicted answer", score.rows, score.row_count or 0))
    if score.missing:
        gold_rows.append(_show_rows("Rows that the prediction lacks", score.missing, 0))
    if score.unexpected:
        predicted_rows.append(_show_rows("Rows that gold lacks", score.unexpected, 0))
    is_one_of_several = len(result.scores) > 1
    suffix = f"-{score.sample}" if is_one_of_several else ""
    where = f" On {score.database}; the real database accepts it." if score.database else ""
    values = {
        "reason": score.reason,
        "wrong_on": "the test suite only" if score.on_database else "the database",
        "database": question.database_name,
        "split": question.split,
        "difficulty": question.difficulty,
        "hardness": question.hardness,
        "answer_type": question.answer_type,
    }
    return {
        "id": f"{question.question_id}{suffix}",
        "name": question.question_id + (f", sample {score.sample}" if is_one_of_several else ""),
        "question": _cut(question.question_text),
        "reason": score.reason or "",
        "detail": f"{_cut(score.detail)}{where}",
        "values": {key: value for key, value in values.items() if value is not None},
        "gold": _cut(question.gold_sql or "no SQL"),
        "gold_rows": gold_rows,
        "predicted": _cut(score.sql or "no SQL"),
        "predicted_rows": predicted_rows,
    }


def make_wrong_filters(wrong: Sequence[Wrong]) -> list[tuple[str, str, list[str]]]:
    """Return the filters that separate some of these cards: a key, a name, and values."""
    filters = []
    for key, name, order in _FILTERS:
        values = {card["values"][key] for card in wrong if key in card["values"]}
        if len(values) > 1:
            known = [value for value in order if value in values]
            filters.append((key, name, [*known, *sorted(values - set(order))]))
    return filters


def _show_rows(title: str, rows: Iterable[Any], count: int) -> TitledRows:
    cells = [row if isinstance(row, list) else [row] for row in rows]
    shown = [[_show_cell(cell) for cell in row] for row in cells]
    return {"title": title, "rows": shown, "count": max(count, len(shown))}


def _show_cell(value: Any) -> Cell:
    if value is None:
        return {"kind": "null", "text": "NULL"}
    if isinstance(value, str):
        return {"kind": "text", "text": _cut(value)}
    return {"kind": "numeric", "text": json.dumps(value)}


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"

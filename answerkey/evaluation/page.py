"""The page of an evaluation, in the look of the dataset's report; it needs jinja2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from answerkey.evaluation.scoring import Score
from answerkey.evaluation.summary import Result
from answerkey.report.page import TEMPLATES, read_template
from answerkey.scoring.worker import SUMMARY_ROWS

_MOST_SHOWN = 500  # wrong predictions
_MOST_CHARACTERS = 2000

# Of the picture of systems, in pixels.
_LABEL_WIDTH, _AXIS_WIDTH, _MARGIN, _ROW_HEIGHT, _AXIS_HEIGHT = 220, 440, 24, 24, 24
_LABEL_CHARACTERS = 28

Record = dict[str, Any]


def render_evaluation(results: list[Result], summary: Record) -> bytes:
    """The page as UTF-8: the numbers, and wrong predictions with what parts them from gold."""
    wrong = [_show(result, score) for result in results for score in result.scores if score.reason]
    page = read_template("evaluation.html.j2").render(
        summary,
        title=Path(summary["run"]["predictions"][0]).name,
        wrong=wrong[:_MOST_SHOWN],
        wrong_count=len(wrong),
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
    )
    return page.encode(errors="backslashreplace")


def render_comparison(summary: Record) -> bytes:
    """The page of several systems as UTF-8: a picture and a table of them, and of each pair."""
    page = read_template("systems.html.j2").render(
        summary,
        chart=place_systems(
            summary["systems"], "suite" if summary["run"]["suites"] else "database"
        ),
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
    )
    return page.encode(errors="backslashreplace")


def place_systems(systems: list[Record], on: str) -> Record:
    """Where each system stands in the picture, in pixels: its accuracy as a dot, its interval as a
    line, on an axis from 0 to 100 %."""

    def find_x(share: float) -> float:
        return round(_LABEL_WIDTH + share * _AXIS_WIDTH, 1)

    rows = []
    for row, one in enumerate(systems):
        accuracy = one["accuracy"]
        low, high = accuracy[f"{on}_interval"]
        rows.append(
            {
                "name": _cut(one["name"], _LABEL_CHARACTERS),
                "y": (row + 0.5) * _ROW_HEIGHT,
                "dot": find_x(accuracy[on]),
                "low": find_x(low),
                "high": find_x(high),
            }
        )
    return {
        "width": _LABEL_WIDTH + _AXIS_WIDTH + _MARGIN,
        "height": len(rows) * _ROW_HEIGHT + _AXIS_HEIGHT,
        "axis_y": len(rows) * _ROW_HEIGHT,
        "ticks": [{"x": find_x(share / 100), "percent": share} for share in range(0, 101, 25)],
        "rows": rows,
    }


def _show(result: Result, score: Score) -> Record:
    question = result.question
    gold = question.gold_answer
    rows = gold if isinstance(gold, list) else [gold]
    return {
        "id": question.question_id,
        "sample": score.sample if len(result.scores) > 1 else None,
        "question": _cut(question.question_text),
        "gold_sql": _cut(question.gold_sql or "no SQL"),
        "sql": _cut(score.sql or "no SQL"),
        "reason": score.reason,
        "detail": _cut(score.detail),
        "database": score.database,
        "gold_rows": [_spell(row) for row in rows[:SUMMARY_ROWS]],
        "gold_count": len(rows),
        "rows": None if score.rows is None else [_spell(row) for row in score.rows],
        "count": score.row_count,
        "missing": [_spell(row) for row in score.missing],
        "unexpected": [_spell(row) for row in score.unexpected],
    }


def _spell(row: Any) -> str:
    cells = row if isinstance(row, list) else [row]
    return _cut(", ".join(json.dumps(cell, ensure_ascii=False) for cell in cells))


def _cut(text: str, most: int = _MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[:most]}…"

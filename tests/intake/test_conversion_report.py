"""What the terminal is told of losses: each is counted, and the lines are few."""

from __future__ import annotations

from pathlib import Path

from answerkey.intake.conversion import ConvertedTable
from answerkey.intake.conversion_report import MadeDatabase, tell_made
from answerkey.intake.dialects import Translated
from answerkey.intake.questions import GivenQuestion, GivenQuestions
from answerkey.intake.sources import GivenDatabase


def tell(lost: list[str], errors: list[str]) -> list[str]:
    asked = [GivenQuestion(f"Q{n}?", ("SELECT 1",), None, "train", {}) for n in range(len(errors))]
    given = GivenQuestions(Path("q.json"), {"question": "question"}, asked)
    source = GivenDatabase("shop", "shop.duckdb", "a file of DuckDB", "duckdb")
    tables = [ConvertedTable(("", "sale"), "sale", [], lost=lost)]
    differing = [
        (question, Translated("SELECT 1", {"error": error}))
        for question, error in zip(asked, errors, strict=True)
    ]
    made = MadeDatabase(source, "duckdb", True, tables, [], differing)
    return tell_made(Path("d"), given, [made]).splitlines()


def test_losses_are_counted_by_kind() -> None:
    lost = [f"{n} of c{n}: rounded" for n in range(2, 7)] + ["its SQL: it is a table"]
    told = tell(lost, [])
    assert "  lost: 20 of sale.c2, sale.c3, sale.c4 and 2 more: rounded" in told
    assert "  lost: 1 of sale: its SQL: it is a table" in told


def test_questions_set_aside_are_counted_by_kind() -> None:
    told = tell([], ["fails in SQLite: a"] * 30 + ["cannot be translated: b", "fails in duckdb: c"])
    assert told[3:6] == [
        "    30 fails in SQLite, as Q0?: a",
        "    1 cannot be translated, as Q30?: b",
        "    1 fails in duckdb, as Q31?: c",
    ]


def test_lines_are_few_and_the_rest_is_counted() -> None:
    told = tell([f"thing {n}" for n in range(500)], [f"kind {n}: x" for n in range(500)])
    assert len(told) < 40
    assert "  and 488 more kinds of losses" in told
    assert told[-1] == "What was kept and lost: d/conversion.md"


def test_question_cannot_command_the_terminal() -> None:
    assert not any("\x1b" in line for line in tell(["a\x1b[2J"], ["fails in SQLite: \x1b]0;x"]))

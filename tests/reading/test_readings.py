"""What the readings of a question come to."""

from __future__ import annotations

import pytest

from answerkey.reading.readings import Reading, settle


def make_readings(*said: str) -> list[Reading]:
    """Readings of one question: their verdicts, behind a colon the rows of their query."""
    readings = []
    for number, words in enumerate(said, start=1):
        verdict, _, rows = words.partition(":")
        others = {"sql": f"SELECT {number}", "rows_sha256": rows or "x", "kind": "column"}
        readings.append(
            Reading(
                corpus="x",
                db_id="d",
                database_name="d",
                question_text="How many?",
                gold_sql="SELECT 0",
                number=number,
                verdict=verdict,
                reason=f"Because {number}.",
                source="model:m",
                date="2026-03-01",
                **({} if verdict == "right" else others),
            )
        )
    return readings


@pytest.mark.parametrize(
    ("said", "verdict", "sql"),
    [
        (("right", "right"), "right", None),
        (("wrong:a", "wrong:a"), "wrong", "SELECT 1"),
        (("ambiguous:a", "ambiguous:b"), "ambiguous", "SELECT 1"),
        (("right", "wrong:a", "right"), "right", None),
        (("right", "wrong:a", "wrong:a"), "wrong", "SELECT 2"),
        (("wrong:a", "wrong:b", "wrong:b"), "wrong", "SELECT 2"),
        (("wrong:a", "wrong:b", "right"), "wrong", None),
        (("wrong:a", "wrong:b", "wrong:c"), "wrong", None),
        (("right", "wrong:a", "ambiguous:a"), "ambiguous", "SELECT 2"),
    ],
)
def test_majority_of_readings_holds(said: tuple[str, ...], verdict: str, sql: str | None) -> None:
    settled = settle(make_readings(*said))
    assert settled is not None
    assert (settled.verdict, settled.sql) == (verdict, sql)


@pytest.mark.parametrize(
    "said", [(), ("right",), ("right", "wrong:a"), ("wrong:a", "wrong:b"), ("right", "ambiguous:a")]
)
def test_question_needs_another_reading(said: tuple[str, ...]) -> None:
    assert settle(make_readings(*said)) is None


def test_reasons_of_readings_that_part_are_told() -> None:
    settled = settle(make_readings("right", "wrong:a", "ambiguous:a"))
    assert settled is not None
    assert settled.reason == ("No two readings agree: (1) Because 1. (2) Because 2. (3) Because 3.")

"""What --explain says of the gold risk of usable questions."""

from __future__ import annotations

import pandas as pd

from answerkey.selection.supply import describe_risks


def tabulate(*rows: tuple[str, str | None, float | None]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["question_id", "reason", "gold_risk"], dtype=object)


def test_usable_questions_are_counted_by_risk_and_the_riskiest_are_named():
    table = tabulate(
        ("a", None, 0.25),
        ("b", None, 0.9),
        ("c", "tie_at_limit", 0.95),
        ("d", "sql_error", None),
        ("e", None, 0.5),
        ("f", None, 0.9),
        *((f"g{number}", None, 0.1) for number in range(4)),
    )
    assert describe_risks(table) == (
        "gold_risk 0.75 or more: 2 of 8 usable questions\n"
        "gold_risk 0.5 or more: 3 of 8 usable questions\n"
        "gold_risk 0.25 or more: 4 of 8 usable questions\n"
        "riskiest: b 0.90, f 0.90, e 0.50, a 0.25, g0 0.10"
    )


def test_there_may_be_no_usable_question():
    assert describe_risks(tabulate(("d", "sql_error", None))).endswith("\nriskiest: none")

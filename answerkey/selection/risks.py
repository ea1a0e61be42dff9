"""The gold risk of the usable questions, in words: how many have how much, and which have most."""

from __future__ import annotations

import pandas as pd

_STEPS = (0.75, 0.5, 0.25)
_NAMED = 5


def describe_risks(table: pd.DataFrame) -> str:
    """The lines on gold risk of `python -m stages.select_questions --explain`, from the table of
    `survey_questions`:

        gold_risk 0.75 or more: 0 of 385 usable questions
        gold_risk 0.5 or more: 2 of 385 usable questions
        gold_risk 0.25 or more: 11 of 385 usable questions
        riskiest: fleet_train_003 0.61, zoo_eval_012 0.55
    """
    usable = table[table["reason"].isna() & table["gold_risk"].notna()]
    risks = usable["gold_risk"].astype(float)
    lines = [
        f"gold_risk {step:g} or more: {(risks >= step).sum()} of {len(usable)} usable questions"
        for step in _STEPS
    ]
    ranked = usable.assign(gold_risk=-risks).sort_values(["gold_risk", "question_id"])[:_NAMED]
    named = zip(ranked["question_id"], ranked["gold_risk"], strict=True)
    riskiest = ", ".join(f"{question_id} {-risk:.2f}" for question_id, risk in named)
    return "\n".join([*lines, f"riskiest: {riskiest or 'none'}"])

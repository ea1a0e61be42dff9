"""The section compare_questions: when questions are similar, and when gold is in doubt."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.base.kinds import Ratio, Text


@dataclass(frozen=True, slots=True)
class CompareQuestions:
    """Bounds from which a question gets a flag.

    min_similarity: the least similarity of two similar texts.
    min_answer_risk: raises answer_risk.
    min_mutation_score: a lower score of the test suite raises weak_answer.
    flag_precision: the file that says how often gold with each flag is wrong.
    """

    min_similarity: Ratio = 0.9
    min_answer_risk: Ratio = 0.65
    min_mutation_score: Ratio = 0.5
    flag_precision: Text = "data/flag_precision.json"

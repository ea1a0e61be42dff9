"""The section report_dataset: how much the page shows."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.kinds import From0, From1


@dataclass(frozen=True, slots=True)
class ReportDataset:
    """max_rows: questions in the page's table, a sample if there are more.
    max_answer_characters: of a question, its SQL, its answer, a piece of evidence.
    """

    max_rows: From0 = 5000
    max_answer_characters: From1 = 2000

"""The whole of params.yaml: a mistake in any section is told before a stage starts.

No stage has this among its deps: it stops a run, or changes nothing.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Annotated, Any

from answerkey.flags import FLAGS
from answerkey.kinds import Kind
from answerkey.scoring.rules import read_rule
from answerkey.sections.audit_gold_answers import Thresholds
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.compare_questions import CompareQuestions
from answerkey.sections.corpora import (
    Corpora,
    Download,
    LoadQuestions,
    check_held_out,
    describe_wrong_owners,
)
from answerkey.sections.execution import Execution
from answerkey.sections.exports import HubSettings, PromptSettings
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sections.report_dataset import ReportDataset
from answerkey.sections.score_rollouts import Reward, ScoreRollouts
from answerkey.sections.select_questions import SelectQuestions
from answerkey.sqlite.guard import Limits


def _is_corpus(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) for name in names)


@dataclass(frozen=True, slots=True)
class Params:
    """The sections by their names."""

    corpus: Annotated[str | list[str], Kind("a name, or a list of names", _is_corpus)]
    corpora: Corpora
    export_huggingface: HubSettings
    download: Download = field(default_factory=Download)
    execution: Execution = field(default_factory=Execution)
    load_questions: LoadQuestions = field(default_factory=LoadQuestions)
    compute_gold_answers: Limits = field(default_factory=Limits)
    audit_gold_answers: Thresholds = field(default_factory=Thresholds)
    generate_test_suites: SuiteSettings = field(default_factory=SuiteSettings)
    score_rollouts: ScoreRollouts = field(default_factory=ScoreRollouts)
    compare_questions: CompareQuestions = field(default_factory=CompareQuestions)
    classify_difficulty: DifficultyRule = field(default_factory=DifficultyRule)
    select_questions: SelectQuestions = field(default_factory=SelectQuestions)
    reward: Reward = field(default_factory=Reward)
    export_trainers: PromptSettings = field(default_factory=PromptSettings)
    report_dataset: ReportDataset = field(default_factory=ReportDataset)

    def __post_init__(self) -> None:
        self.select_questions.targets.check_corpora(self.corpus)
        check_held_out(self.load_questions.held_out or (), self.corpora)
        if mistakes := describe_wrong_owners(self.corpora):
            raise ValueError(mistakes[0])
        try:
            read_rule(self.reward.rule)
        except ValueError as error:
            raise ValueError(f"reward.rule: {error}") from error
        for name in self.select_questions.policies:
            if name not in FLAGS:
                close = difflib.get_close_matches(name, FLAGS, n=1)
                expected = close[0] if close else "a flag of docs/probes.md"
                raise ValueError(f"select_questions.policies: unknown {name}: expected {expected}")

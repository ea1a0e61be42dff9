"""The whole of params.yaml: a mistake in any section is reported before a stage starts.

No stage has this file among its deps: it stops a run, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from answerkey.base.errors import InputError
from answerkey.base.kinds import From0, Kind, Text, check_value
from answerkey.base.paths import name_page
from answerkey.base.yaml_files import load_yaml
from answerkey.engines.database import Limits
from answerkey.flags import FLAGS
from answerkey.scoring.rules import read_rule
from answerkey.sections.audit_gold_answers import Thresholds
from answerkey.sections.classify_difficulty import RANK, DifficultyRule
from answerkey.sections.compare_questions import CompareQuestions
from answerkey.sections.corpora import Corpora, Download, LoadQuestions
from answerkey.sections.exports import HubSettings, ReportDataset, TrainerSettings
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sections.score_rollouts import Reward, ScoreRollouts
from answerkey.sections.select_questions import SelectQuestions

PARAMS_PATH = Path("params.yaml")
# Keys that have another name now, as SECTION.OLD: SECTION.NEW. A change that renames one adds it.
RENAMED: Mapping[str, str] = {"execution.engine": "execution.runner"}


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """How shards are made, which changes no result.

    runner: local, processes of this machine; ray, the cluster at RAY_ADDRESS, or one here.
    workers: processes, or concurrent tasks on a cluster; 0: one per core.
    databases_url: workers download NAME/NAME.sqlite from there; None: they share data/databases.
    max_warnings: how many failed gold queries are logged one by one; null: all; 0: none.
    """

    runner: Literal["local", "ray"] = "local"
    workers: From0 = 0
    databases_url: Text | None = None
    max_warnings: From0 | None = None


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
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    load_questions: LoadQuestions = field(default_factory=LoadQuestions)
    compute_gold_answers: Limits = field(default_factory=Limits)
    audit_gold_answers: Thresholds = field(default_factory=Thresholds)
    generate_test_suites: SuiteSettings = field(default_factory=SuiteSettings)
    score_rollouts: ScoreRollouts = field(default_factory=ScoreRollouts)
    compare_questions: CompareQuestions = field(default_factory=CompareQuestions)
    classify_difficulty: DifficultyRule = field(default_factory=DifficultyRule)
    select_questions: SelectQuestions = field(default_factory=SelectQuestions)
    reward: Reward = field(default_factory=Reward)
    export_trainers: TrainerSettings = field(default_factory=TrainerSettings)
    report_dataset: ReportDataset = field(default_factory=ReportDataset)

    def __post_init__(self) -> None:
        if mistakes := list(self._list_mistakes()):
            raise ValueError("\n".join(mistakes))

    def _list_mistakes(self) -> Iterator[str]:
        """Yield the requirements between sections that are not met."""
        targets = self.select_questions.targets
        try:
            targets.check_corpora(self.corpus)
        except ValueError as error:
            yield str(error)
        if self.classify_difficulty.method == RANK and targets.difficulty_shares is None:
            yield (
                "classify_difficulty.method: rank cuts where difficulty_shares of the targets hold:"
                " expected such shares, and no preset that lifts them, or another method"
            )
        for name in self.load_questions.held_out or ():
            if name not in self.corpora:
                known = ", ".join(self.corpora)
                yield f"load_questions.held_out: expected some of {known}, found {name!r}"
        try:
            read_rule(self.reward.rule)
        except ValueError as error:
            yield f"reward.rule: {error}"
        for name in self.select_questions.policies:
            if name not in FLAGS:
                yield (
                    f"select_questions.policies: unknown {name}: expected a flag of"
                    f" {name_page('docs/doubts.md')}"
                )


def read_params(path: Path = PARAMS_PATH) -> Params:
    """Return the whole of params.yaml, checked.

    >>> params = read_params()
    >>> params.audit_gold_answers.max_rows, params.select_questions.targets.eval_share
    (1000, 0.3)

    A stage names what it reads as such attributes, and dvc.yaml lists the same keys. A test
    compares the two, since DVC would not rerun a stage for a param that is not declared.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: as `load_yaml` and `check_value`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path.absolute()}: expected the root of the project")
    values = load_yaml(path)
    if renamed := list(_list_renamed(values)):
        raise InputError("\n".join(f"{path}: {words}" for words in renamed))
    params: Params = check_value(Params, values, where=str(path))
    return params


def _list_renamed(values: Any) -> Iterator[str]:
    for old, name in RENAMED.items():
        section, _, key = old.partition(".")
        keys = values.get(section) if isinstance(values, dict) else None
        if isinstance(keys, dict) and key in keys:
            yield f"{old} is called {name} now: rename it, or run `answerkey upgrade` in a project"

"""The sections of params.yaml, and the keys of each. A new key is added here.

A wrong value, or a key that no stage reads, is an error. Otherwise it would be seen in the dataset,
or not at all. What an entry of `corpora` may hold stands in `answerkey.core.param_corpora`.
"""

from __future__ import annotations

from pydantic import ConfigDict, model_validator
from pydantic.dataclasses import dataclass

from answerkey.core.errors import InputError
from answerkey.core.param_types import (
    DATASET,
    Corpora,
    Corpus,
    CorpusShares,
    Date,
    DifficultyShares,
    Engine,
    From0,
    From1,
    FromMillion,
    HardnessLevels,
    Method,
    Names,
    NumberFrom0,
    OptionalText,
    Policies,
    Ratio,
    RepoId,
    Scope,
    Share,
    SourceLevels,
    Text,
    Version,
    Whole,
)

_section = dataclass(config=ConfigDict(extra="forbid"), frozen=True, slots=True)


@_section
class Download:
    attempts: From1
    backoff_s: NumberFrom0
    deadline_s: NumberFrom0


@_section
class Execution:
    engine: Engine
    workers: From0
    databases_url: OptionalText
    max_warnings: From0


@_section
class ComputeGoldAnswers:
    max_steps: From1
    max_rows: From1
    max_value_bytes: From1
    max_answer_bytes: From1
    max_heap_bytes: From1
    max_seconds: From1


@_section
class AuditGoldAnswers:
    max_rows: From0
    max_bytes: From0
    min_guess_score: Ratio
    rel_tol: NumberFrom0
    reordered_copies: From0
    max_copied_bytes: From0


@_section
class GenerateTestSuites:
    seed: Whole
    max_rows: From1
    pool: From1
    max_databases: From1
    max_databases_per_question: From1
    max_neighbors: From1
    min_mutation_score: Ratio


@_section
class ScoreRollouts:
    min_rollouts: From1


@_section
class CompareQuestions:
    min_similarity: Ratio
    held_out: Names
    min_gold_risk: Ratio
    flag_precision: Text


@_section
class ClassifyDifficulty:
    """How questions are classified.

    method: tables, by the thresholds; spider, by the official hardness; source, by what the corpus
        itself says of a question; pass_rate, by the share of its rollouts that are right. Where
        nothing is known of that, by the thresholds of tables.
    hardness_levels: a difficulty for each level of hardness.
    source_levels: a difficulty for each word of a corpus.
    easy_min_pass_rate, medium_min_pass_rate: from which share on a question is easy, and medium.
    """

    method: Method
    easy_max_tables: From0
    medium_max_tables: From0
    hardness_levels: HardnessLevels
    source_levels: SourceLevels
    easy_min_pass_rate: Ratio = 0.75
    medium_min_pass_rate: Ratio = 0.25

    @model_validator(mode="after")
    def _check_thresholds(self) -> ClassifyDifficulty:
        if self.easy_max_tables > self.medium_max_tables:
            raise ValueError(
                "expected easy_max_tables <= medium_max_tables, found"
                f" {self.easy_max_tables} and {self.medium_max_tables}"
            )
        if self.easy_min_pass_rate < self.medium_min_pass_rate:
            raise ValueError(
                "expected easy_min_pass_rate >= medium_min_pass_rate, found"
                f" {self.easy_min_pass_rate} and {self.medium_min_pass_rate}"
            )
        return self


@_section
class Targets:
    """What a selection must meet; None: no such constraint.

    difficulty_shares: share of each difficulty; they add up to 1.
    difficulty_shares_of: dataset, of train and eval together; split, of each of them.
    corpus_shares: share of each corpus in each split; they add up to 1.
    eval_share: share of eval among all.
    tolerance: how far a share may be off (0.02: two points).
    """

    difficulty_shares: DifficultyShares | None = None
    difficulty_shares_of: Scope = DATASET
    corpus_shares: CorpusShares | None = None
    eval_share: Share | None = None
    tolerance: Share = 0.0
    min_questions: From0 | None = None
    max_questions: From0 | None = None
    max_per_database: From0 | None = None
    max_answer_type_share: Share | None = None

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpora that have a share, sorted: their order in params changes nothing."""
        return tuple(sorted(self.corpus_shares or ()))

    def check_corpora(self, corpus: str | list[str]) -> None:
        """Make sure that each corpus of params has a share, if any has, and no other one does.

        Raises:
            InputError: with both lists.
        """
        expected = sorted({corpus} if isinstance(corpus, str) else set(corpus))
        if self.corpus_shares is not None and list(self.corpora) != expected:
            raise InputError(
                "select_questions.targets.corpus_shares: expected a share for each of the corpora"
                f" {', '.join(expected)}, found {', '.join(self.corpora)}:"
                " every corpus of `corpus` needs one, which may be 0"
            )


@_section
class SelectQuestions:
    seed: Whole
    policies: Policies
    targets: Targets
    max_per_canonical_sql: From1 | None


@_section
class Reward:
    """What the reward is told of every question.

    max_steps: the most virtual machine steps of a prediction, however many gold SQL takes.
    rule: by which answers are compared, where the corpus names no rule.
    """

    max_steps: FromMillion
    rule: Text


@_section
class ValidateDataset:
    rel_tol: NumberFrom0


@_section
class ExportTrainers:
    prompt_template: Text
    example_rows: From0
    max_schema_characters: From0


@_section
class ExportHuggingface:
    """What the dataset card says beside what the run found.

    repo_id: the repository on the hub that the card's snippets name.
    version, date_published: of this dataset, for Croissant.
    max_packed_bytes: databases, or those of test suites, that together are larger stay out.
    """

    repo_id: RepoId
    version: Version
    date_published: Date
    max_packed_bytes: From0


@_section
class ReportDataset:
    max_rows: From0
    max_answer_characters: From1


@_section
class Params:
    """The whole file."""

    corpus: Corpus
    corpora: Corpora
    download: Download
    execution: Execution
    compute_gold_answers: ComputeGoldAnswers
    audit_gold_answers: AuditGoldAnswers
    generate_test_suites: GenerateTestSuites
    score_rollouts: ScoreRollouts
    compare_questions: CompareQuestions
    classify_difficulty: ClassifyDifficulty
    select_questions: SelectQuestions
    reward: Reward
    validate_dataset: ValidateDataset
    export_trainers: ExportTrainers
    export_huggingface: ExportHuggingface
    report_dataset: ReportDataset

    @model_validator(mode="after")
    def _check_corpus_shares(self) -> Params:
        self.select_questions.targets.check_corpora(self.corpus)
        return self

    @model_validator(mode="after")
    def _check_held_out(self) -> Params:
        for name in self.compare_questions.held_out or ():
            if name not in self.corpora:
                raise ValueError(
                    f"compare_questions.held_out: expected some of {', '.join(self.corpora)},"
                    f" found {name!r}"
                )
        return self

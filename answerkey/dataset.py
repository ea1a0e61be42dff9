"""A question of the product: its nine fields in their order, and the words that they may hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.errors import InputError
from answerkey.records import read_jsonl
from answerkey.sqlite.bounds import QueryReason

FIELDS = (
    "question_id",
    "question_text",
    "database_name",
    "gold_sql",
    "gold_answer",
    "answer_type",
    "difficulty",
    "tables_involved",
    "split",
)
SPLITS = TRAIN, EVAL = ("train", "eval")
# Beside the questions.
SIDECARS = AUDIT, EXCLUDED, SUITES, PASS_RATES = (
    "audit.jsonl",
    "excluded.jsonl",
    "test_suites.jsonl",
    "pass_rates.jsonl",
)
DIFFICULTIES = EASY, MEDIUM, HARD = ("easy", "medium", "hard")
HARDNESS_LEVELS = ("easy", "medium", "hard", "extra")  # Spider's own; in the sidecar


def read_curated_exclusion(source: Mapping[str, Any]) -> str | None:
    """Why a curator excluded a question, with the link; None where none did."""
    correction = source["source"].get("correction")
    if correction is None or correction["action"] != "exclude":
        return None
    return " ".join(filter(None, (correction["reason"], correction["link"])))


# Reasons: the closed vocabulary of why a question is set aside, whatever policies say.
#
# A code is a reason or a flag (`answerkey.flags`), never both. A reason is recorded with the
# stage that set the question aside; a flag only where a policy says so.


class Reason(StrEnum):
    """Why a question is set aside: those of queries come first."""

    SQL_ERROR = QueryReason.SQL_ERROR
    NOT_A_SELECT = QueryReason.NOT_A_SELECT
    MULTIPLE_STATEMENTS = QueryReason.MULTIPLE_STATEMENTS
    FORBIDDEN_FUNCTION = QueryReason.FORBIDDEN_FUNCTION
    NONDETERMINISTIC_FUNCTION = QueryReason.NONDETERMINISTIC_FUNCTION
    STEP_BUDGET_EXCEEDED = QueryReason.STEP_BUDGET_EXCEEDED
    TIME_EXCEEDED = QueryReason.TIME_EXCEEDED
    TOO_MANY_ROWS = QueryReason.TOO_MANY_ROWS
    VALUE_TOO_LARGE = QueryReason.VALUE_TOO_LARGE
    ANSWER_TOO_LARGE = QueryReason.ANSWER_TOO_LARGE
    HEAP_EXCEEDED = QueryReason.HEAP_EXCEEDED
    UNDECODABLE_TEXT = QueryReason.UNDECODABLE_TEXT
    BLOB = QueryReason.BLOB
    NOT_FINITE = QueryReason.NOT_FINITE
    NULL_ANSWER = QueryReason.NULL_ANSWER
    UNPARSABLE_SQL = "unparsable_sql"
    TOO_COMPLEX = "too_complex"
    EMPTY_QUESTION = "empty_question"
    EXCLUDED_BY_CURATOR = "excluded_by_curator"
    NOT_SELECTED = "not_selected"


# Cells: a selection is counted by split and difficulty, and a share is a share of such counts.


Cell = tuple[str, str]  # split, difficulty
CorpusCell = tuple[str, str]  # split, corpus
Part = tuple[str, str, str]  # split, difficulty, corpus ("": any)
CELLS: tuple[Cell, ...] = tuple((split, level) for split in SPLITS for level in DIFFICULTIES)
_SHARE_STEPS = 1_000_000


class Group(NamedTuple):
    """Questions that no target tells apart."""

    split: str
    difficulty: str
    database_name: str
    answer_type: str
    corpus: str = ""


@dataclass(frozen=True, slots=True)
class Solution:
    """The largest size, how many questions of each cell, and where corpora have shares, how many
    questions of each corpus in each split."""

    size: int
    counts: dict[Cell, int]
    corpora: dict[CorpusCell, int] = field(default_factory=dict)


def count_cells(supply: Mapping[Group, int]) -> dict[Cell, int]:
    """How many questions each cell holds, empty cells included."""
    counts = dict.fromkeys(CELLS, 0)
    for group, count in supply.items():
        counts[group.split, group.difficulty] += count
    return counts


def list_corpus_cells(corpora: Iterable[str]) -> list[CorpusCell]:
    """Each corpus in each split, in order.

    >>> list_corpus_cells(["bird", "spider"])
    [('train', 'bird'), ('train', 'spider'), ('eval', 'bird'), ('eval', 'spider')]
    """
    corpora = list(corpora)
    return [(split, corpus) for split in SPLITS for corpus in corpora]


def count_corpora(supply: Mapping[Group, int], corpora: Iterable[str]) -> dict[CorpusCell, int]:
    """How many questions each of these corpora holds in each split."""
    counts = dict.fromkeys(list_corpus_cells(corpora), 0)
    for group, count in supply.items():
        if (group.split, group.corpus) in counts:
            counts[group.split, group.corpus] += count
    return counts


def read_share(value: float) -> Fraction:
    """A share of params as it is written there, to the millionth: 0.3 is three tenths.

    >>> read_share(0.3), read_share(0.1 + 0.2)
    (Fraction(3, 10), Fraction(3, 10))
    """
    return Fraction(round(Fraction(str(value)) * _SHARE_STEPS), _SHARE_STEPS)


# Joined questions: one table that holds everything the stages know of each question.
#
# compare_questions writes it as `data/interim/joined.jsonl`, one record a question in the order
# of the corpus, and later stages read it. The difficulty is in a file of its own,
# `difficulty.jsonl`, so that a changed threshold does not write the table again.


INTERIM = Path("data/interim")
JOINED = "joined.jsonl"
DIFFICULTY = "difficulty.jsonl"

NEXT_STEP = "data/interim is of several runs; run `dvc repro`, which brings it in step"

Record = dict[str, Any]


class JoinedQuestion(NamedTuple):
    """One source question.

    source: where it comes from, as load_questions recorded it.
    stage, reason, detail: which stage set it aside and why, whatever policies say; None where none.
    gold_answer, answer_type, steps, order_matters: None where it has no answer; steps are those of
        SQLite's virtual machine.
    accepted_rows: the segments of every right answer, where rows tie and they are known
        (answerkey.order.accepted_rows); else None.
    mutation_score: {database, suite}, the shares of neighbors of gold SQL that the database tells
        from it, and that its test suite does; None where no neighbor counts.
    pass_rate: {total, database, suite, models}: how many rollouts there are, how many of them are
        right on the database, and on the test suite as well, and the same of each model; None
        where there are none.
    flags: [{code, evidence}], those of the question and those that it has through others.
    gold_risk: the probability that its gold SQL is wrong, by its flags and by verdicts
        (answerkey.risk.gold_risk); None where it has no answer.
    tables_involved ... template: None where its SQL was not parsed.
    difficulty: None where its SQL was not parsed, and before classify_difficulty.
    """

    question_id: str
    database_name: str
    split: str
    question_text: str
    evidence: str | None
    gold_sql: str
    source: Record
    stage: str | None
    reason: str | None
    detail: str | None
    gold_answer: Any
    answer_type: str | None
    steps: int | None
    order_matters: bool | None
    accepted_rows: list[Any] | None
    mutation_score: Record | None
    pass_rate: Record | None
    flags: list[Record]
    gold_risk: float | None
    tables_involved: list[str] | None
    columns_involved: list[str] | None
    features: list[str] | None
    hardness: str | None
    canonical_sql: str | None
    template: str | None
    difficulty: str | None = None

    @property
    def corpus(self) -> str:
        """The corpus that it comes from."""
        return self.source["corpus"]

    @property
    def source_difficulty(self) -> str | None:
        """What its corpus says of its difficulty."""
        return self.source.get("difficulty")

    @property
    def solved_share(self) -> float | None:
        """The share of its rollouts that are right on its test suite, from 0 to 1."""
        rate = self.pass_rate
        return None if rate is None else rate["suite"] / rate["total"]

    @property
    def grading_method(self) -> str | None:
        """The rule of comparison that its corpus names."""
        return self.source.get("grading_method")

    @property
    def suite_score(self) -> float | None:
        """The mutation score of its test suite."""
        return None if self.mutation_score is None else self.mutation_score["suite"]


def read_joined(interim: Path = INTERIM) -> Iterator[JoinedQuestion]:
    """The questions in order, without their difficulty.

    Raises:
        FileNotFoundError: where the table is missing.
    """
    for record in read_jsonl(interim / JOINED):
        yield JoinedQuestion(**record)


def read_classified(interim: Path = INTERIM) -> Iterator[JoinedQuestion]:
    """The questions in order, each with its difficulty.

    Raises:
        FileNotFoundError: where the table or the difficulties are missing.
        InputError: where a question that was parsed has no difficulty, or one that is none has.
    """
    difficulties = read_jsonl(interim / DIFFICULTY)
    for question in read_joined(interim):
        if question.hardness is None:
            yield question
            continue
        record = next(difficulties, None)
        if record is None or record["question_id"] != question.question_id:
            raise InputError(
                f"{interim / DIFFICULTY}: no difficulty of {question.question_id}: {NEXT_STEP}"
            )
        yield question._replace(difficulty=record["difficulty"])
    if (record := next(difficulties, None)) is not None:
        raise InputError(
            f"{interim / DIFFICULTY}: {record['question_id']} is no question that was parsed:"
            f" {NEXT_STEP}"
        )

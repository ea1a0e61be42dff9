"""Joined questions: one table that holds everything the stages know of each question.

compare_questions writes it as `data/interim/joined.jsonl`, one record a question in the order of
the corpus, and later stages read it. The difficulty is in a file of its own, `difficulty.jsonl`, so
that a changed threshold does not write the table again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.core.errors import InputError
from answerkey.core.records import read_jsonl

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
        (answerkey.audit.accepted_rows); else None.
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

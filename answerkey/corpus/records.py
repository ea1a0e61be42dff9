"""The records of questions, before anything runs: as a corpus has them, and with id and split."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from answerkey.dataset import QuestionSource


class SourceQuestion(TypedDict):
    """A question as its corpus has it.

    spider_split: train or validation, as the Hugging Face hub calls the splits of Spider.
    other_sql: further right queries.
    evidence: there if the corpus has some.
    id_prefix: what its ids begin with, if its corpus asks the databases of another one.
    now: what the clock says in queries on its database, if its corpus says so.
    """

    question_text: str
    database_name: str
    gold_sql: str
    spider_split: str
    source: QuestionSource
    other_sql: NotRequired[list[str]]
    evidence: NotRequired[str]
    id_prefix: NotRequired[str]
    now: NotRequired[str]


class SplitQuestion(SourceQuestion):
    """A question with its id, and its split of the dataset."""

    question_id: str
    split: str


class HeldOutQuestion(TypedDict):
    """A question that a model is evaluated by, and that should not be among those it trains on."""

    question_text: str
    gold_sql: str
    source: QuestionSource

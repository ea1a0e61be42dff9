"""The records of questions before anything is executed: from the corpus, and with id and split."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from answerkey.dataset import QuestionSource


class SourceQuestion(TypedDict):
    """A question as it is in its corpus.

    spider_split: train or validation, as the Hugging Face hub calls the splits of Spider.
    other_sql: further right queries.
    evidence: present if the corpus has some.
    id_prefix: a prefix of its ids, if its corpus uses the databases of another one.
    now: the time of the clock in queries on its database, if its corpus has one.
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
    """A question with which a model is evaluated, and which should not be in its training data."""

    question_text: str
    gold_sql: str
    source: QuestionSource

"""Questions of corpora by database, one at a time: none of them is held."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from answerkey.core.errors import InputError
from answerkey.core.records import encode_text
from answerkey.corpus.corpora import SOURCE_SPLITS, Corpus
from answerkey.corpus.disk_sort import DiskSort
from answerkey.corpus.hub import Limits
from answerkey.corpus.source_questions import choose_db_ids, read_source_questions

Record = dict[str, Any]


class Sorted(NamedTuple):
    """The questions of a corpus, by database and split: the ids of the databases, and the records
    one at a time, of which none is held."""

    db_ids: list[str]
    records: Iterator[Record]


def sort_questions(db_ids: Iterable[str] | str, *, corpus: Corpus, limits: Limits) -> Sorted:
    """As `load_spider_questions`, but for splits that are not checked."""
    names: dict[str, str] = {}
    questions = DiskSort()
    for question in read_source_questions(corpus, limits=limits):
        name = names.setdefault(question.db_id, question.db_id)
        # No name holds the byte 0, so that `a` comes before `a_1`.
        key = encode_text(name) + bytes([0, SOURCE_SPLITS.index(question.split)])
        record = {
            "question_text": question.question,
            "database_name": name,
            "gold_sql": question.query,
            **({"evidence": question.evidence} if question.evidence else {}),
            "spider_split": question.split,
            "source": question.source,
        }
        questions.add(key, record)
    chosen = choose_db_ids(corpus, db_ids, set(names))
    kept = set(chosen)
    return Sorted(chosen, (record for record in questions if record["database_name"] in kept))


def name_for_dataset(questions: Iterable[Record], corpus: Corpus) -> Iterator[Record]:
    """The questions of a corpus with names of databases as the dataset has them; `source` keeps a
    db_id that is another, and `id_prefix` is what ids must start with."""
    for question in questions:
        db_id = question["database_name"]
        name = corpus.name_database(db_id)
        if name != db_id:
            source = question["source"] | {"db_id": db_id}
            question = question | {"database_name": name, "source": source}
        yield question | ({"id_prefix": corpus.id_prefix} if corpus.id_prefix else {})


def merge_corpora(corpora: Iterable[Iterable[Record]]) -> Iterator[Record]:
    """The questions of several corpora by database; of a database that several have, in the order
    of the corpora.

    Raises:
        InputError: on a database with questions in both source splits, in whichever corpora.
    """
    by_name = heapq.merge(*corpora, key=lambda record: encode_text(record["database_name"]))
    return check_splits(by_name)


def check_splits(questions: Iterable[Record]) -> Iterator[Record]:
    """The questions as they are, one database after the other.

    Raises:
        InputError: as `check_split`.
    """
    for name, of_database in groupby(questions, key=itemgetter("database_name")):
        yield from check_split(name, of_database)


def check_split(db_id: str, questions: Iterable[Record]) -> Iterator[Record]:
    """The questions of one database, as they are.

    Raises:
        InputError: with the first one that is of another source split than those before.
    """
    split = None
    for question in questions:
        if split not in (None, question["spider_split"]):
            source = question["source"]
            raise InputError(
                f"Database {db_id} has questions in both train and validation (see row"
                f" {source['index']} of {source['file']} of corpus {source['corpus']}): expected"
                " one split for each database"
            )
        split = question["spider_split"]
        yield question

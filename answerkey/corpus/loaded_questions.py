"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from answerkey.corpus.corpora import Corpus, read_spider
from answerkey.corpus.corrections import CORRECTIONS_DIR, correct_questions, read_corrections
from answerkey.corpus.database_names import name_databases
from answerkey.corpus.hub import Limits
from answerkey.corpus.question_streams import (
    Record,
    check_splits,
    merge_corpora,
    name_for_dataset,
    sort_questions,
)


def load_spider_questions(
    db_ids: Iterable[str] | str, *, corpus: Corpus | None = None, limits: Limits | None = None
) -> list[Record]:
    """One record a source question of these databases (`all`: of every one with questions), sorted
    by database, then train before validation, then as the files have them. Spider from the hub,
    where no corpus is given.

    Raises:
        ConnectionError: "Failed to download Spider dataset: ...".
        ValueError: on a database without questions, or with questions in both source splits.
    """
    if corpus is None or limits is None:
        spider, spider_limits = read_spider()
        corpus, limits = corpus or spider, limits or spider_limits
    return list(check_splits(sort_questions(db_ids, corpus=corpus, limits=limits).records))


def load_corpora(
    corpora: Iterable[Corpus], *, limits: Limits, counts: Counter[str]
) -> Iterator[Record]:
    """The questions of some corpora, corrected and named, by database. `counts` is filled as by
    `correct_questions`.

    Raises:
        as `load_spider_questions`, `correct_questions`, `name_databases` and `merge_corpora`.
    """
    chosen: list[tuple[Corpus, list[str]]] = []
    streams: list[Iterator[Record]] = []
    for corpus in corpora:
        db_ids, questions = sort_questions(corpus.db_list, corpus=corpus, limits=limits)
        if corpus.corrections is not None:
            corrections = read_corrections(CORRECTIONS_DIR / f"{corpus.corrections}.yaml")
            questions = correct_questions(questions, corrections, counts)
        chosen.append((corpus, db_ids))
        streams.append(name_for_dataset(questions, corpus))
    name_databases(chosen)
    return merge_corpora(streams)


def describe_corpora(
    corpora: Iterable[Corpus], entries: Mapping[str, Mapping[str, Any]]
) -> dict[str, Record]:
    """What a dataset card says of each corpus: a part of its entry that names no machine."""
    return {
        corpus.name: {
            "license": entries[corpus.name].get("license"),
            "origin": entries[corpus.name]["origin"],
            "questions": entries[corpus.name]["questions"],
        }
        for corpus in corpora
    }

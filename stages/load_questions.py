"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says.

Text is not stripped or repaired here: what is wrong with a question is for later stages to say, or
for a person, whose corrections are applied on the record. None of them takes a question away.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from stages.corpus.corpora import SOURCE_SPLITS, Corpus, parse_corpora, parse_limits, read_spider
from stages.corpus.corrections import (
    CORRECTIONS_DIR,
    Correction,
    apply_corrections,
    read_corrections,
)
from stages.corpus.database_names import name_databases
from stages.corpus.disk_sort import DiskSort
from stages.corpus.hub import Limits
from stages.corpus.source_questions import choose_db_ids, read_source_questions
from stages.log import list_counts, start_log
from stages.params import read_params
from stages.records import encode_text, write_json, write_jsonl

QUESTIONS_PATH = Path("data/interim/questions.jsonl")
CORPORA_PATH = Path("data/interim/corpora.json")

Record = dict[str, Any]


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
        ValueError: on a database with questions in both source splits, in whichever corpora.
    """
    by_name = heapq.merge(*corpora, key=lambda record: encode_text(record["database_name"]))
    return check_splits(by_name)


def check_splits(questions: Iterable[Record]) -> Iterator[Record]:
    """The questions as they are, one database after the other.

    Raises:
        ValueError: as `check_split`.
    """
    for name, of_database in groupby(questions, key=itemgetter("database_name")):
        yield from check_split(name, of_database)


def check_split(db_id: str, questions: Iterable[Record]) -> Iterator[Record]:
    """The questions of one database, as they are.

    Raises:
        ValueError: with the first one that is of another source split than those before.
    """
    split = None
    for question in questions:
        if split not in (None, question["spider_split"]):
            raise ValueError(
                f"Database {db_id} has questions in both train and validation (see"
                f" {question['source']}): expected one split for each database"
            )
        split = question["spider_split"]
        yield question


def correct_questions(
    questions: Iterable[Record], corrections: Iterable[Correction], counts: Counter[str]
) -> Iterator[Record]:
    """The questions as curators want them, one database at a time. `counts` gets how many were
    corrected, by action, and as `not_chosen` how many decisions are about other databases.

    Raises:
        ValueError: as `apply_corrections`.
    """
    decisions: dict[str, list[Correction]] = defaultdict(list)
    for correction in corrections:
        decisions[correction.database].append(correction)
    for name, of_database in groupby(questions, key=itemgetter("database_name")):
        if name not in decisions:
            yield from of_database
            continue
        corrected = apply_corrections(of_database, decisions.pop(name))
        counts.update(corrected.counts)
        yield from corrected.questions
    counts["not_chosen"] += sum(map(len, decisions.values()))


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


def main() -> None:
    log = start_log("load_questions")
    chosen, entries, download = read_params("corpus", "corpora", "download")
    corpora = parse_corpora(chosen, entries)
    actions: Counter[str] = Counter()
    questions = load_corpora(corpora, limits=parse_limits(download), counts=actions)
    splits: Counter[str] = Counter()
    databases: set[str] = set()

    def count(questions: Iterable[Record]) -> Iterator[Record]:
        for question in questions:
            splits[question["spider_split"]] += 1
            databases.add(question["database_name"])
            yield question

    total = write_jsonl(QUESTIONS_PATH, count(questions))
    write_json(CORPORA_PATH, describe_corpora(corpora, entries))
    note = ""
    if any(corpus.corrections is not None for corpus in corpora):
        not_chosen = actions.pop("not_chosen")
        note = f"; {actions.total()} corrected{list_counts(actions)}"
        note += f", {not_chosen} corrections of other databases" if not_chosen else ""
    counts = [splits[split] for split in SOURCE_SPLITS]
    log.info(
        f"{total} questions of {len(databases)} databases"
        f" ({counts[0]} train, {counts[1]} validation){note}"
    )


if __name__ == "__main__":
    main()

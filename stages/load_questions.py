"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says.

Text is not stripped or repaired here: what is wrong with a question is for later stages to say, or
for a person, whose corrections are applied on the record. None of them takes a question away.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from stages.corpus.corpora import SOURCE_SPLITS, Corpus, parse_corpus, parse_limits, read_spider
from stages.corpus.corrections import (
    CORRECTIONS_DIR,
    Correction,
    apply_corrections,
    read_corrections,
)
from stages.corpus.disk_sort import DiskSort
from stages.corpus.hub import Limits
from stages.corpus.source_questions import choose_db_ids, read_source_questions
from stages.log import list_counts, start_log
from stages.params import read_params
from stages.records import write_jsonl

QUESTIONS_PATH = Path("data/interim/questions.jsonl")

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
    return list(sort_questions(db_ids, corpus=corpus, limits=limits))


def sort_questions(
    db_ids: Iterable[str] | str, *, corpus: Corpus, limits: Limits
) -> Iterator[Record]:
    """As `load_spider_questions`, one at a time: only the names of the databases are held."""
    names: dict[str, str] = {}
    questions = DiskSort()
    for question in read_source_questions(corpus, limits=limits):
        name = names.setdefault(question.db_id, question.db_id)
        # No name holds the byte 0, so that `a` comes before `a_1`.
        key = name.encode("utf-8", "surrogatepass") + bytes(
            [0, SOURCE_SPLITS.index(question.split)]
        )
        record = {
            "question_text": question.question,
            "database_name": name,
            "gold_sql": question.query,
            "spider_split": question.split,
            "source": question.source,
        }
        questions.add(key, record)
    chosen = set(choose_db_ids(corpus, db_ids, set(names)))
    for name, of_database in groupby(questions, key=itemgetter("database_name")):
        if name in chosen:
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
    counts["not_chosen"] = sum(map(len, decisions.values()))


def main() -> None:
    log = start_log("load_questions")
    name, entry, download = read_params("corpus", "corpora.${corpus}", "download")
    corpus = parse_corpus(name, entry)
    questions = sort_questions(corpus.db_list, corpus=corpus, limits=parse_limits(download))
    actions: Counter[str] = Counter()
    if corpus.corrections is not None:
        corrections = read_corrections(CORRECTIONS_DIR / f"{corpus.corrections}.yaml")
        questions = correct_questions(questions, corrections, actions)
    splits: Counter[str] = Counter()
    databases: set[str] = set()

    def count(questions: Iterable[Record]) -> Iterator[Record]:
        for question in questions:
            splits[question["spider_split"]] += 1
            databases.add(question["database_name"])
            yield question

    total = write_jsonl(QUESTIONS_PATH, count(questions))
    note = ""
    if corpus.corrections is not None:
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

"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says.

Text is not stripped or repaired here: what is wrong with a question is for later stages to say, or
for a person, whose corrections are applied on the record. None of them takes a question away.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import run_stage
from answerkey.core.log import list_counts, start_log
from answerkey.core.params import read_params
from answerkey.core.records import write_json, write_jsonl
from answerkey.corpus.corpora import SOURCE_SPLITS, Corpus, parse_corpora, parse_limits, read_spider
from answerkey.corpus.corrections import CORRECTIONS_DIR, correct_questions, read_corrections
from answerkey.corpus.database_names import name_databases
from answerkey.corpus.hub import Limits
from answerkey.corpus.pinned_revisions import list_unpinned_questions
from answerkey.corpus.question_streams import (
    Record,
    check_splits,
    merge_corpora,
    name_for_dataset,
    sort_questions,
)
from answerkey.corpus.tracked_roots import check_roots

QUESTIONS_PATH = Path("data/interim/questions.jsonl")
CORPORA_PATH = Path("data/interim/corpora.json")


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


def main() -> None:
    log = start_log("load_questions")
    chosen, entries, download = read_params("corpus", "corpora", "download")
    corpora = parse_corpora(chosen, entries)
    check_roots(corpora, entries, stage="load_questions")
    for warning in list_unpinned_questions(corpora):
        log.warning(warning)
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
    run_stage(main)

"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says.

Text is not stripped or repaired here: what is wrong with a question is for later stages to say, or
for a person, whose corrections are applied on the record. None of them takes a question away.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stages.corpus.corpora import SOURCE_SPLITS, Corpus, parse_corpus, parse_limits, read_spider
from stages.corpus.corrections import CORRECTIONS_DIR, apply_corrections, read_corrections
from stages.corpus.hub import Limits
from stages.corpus.source_questions import SourceQuestion, choose_db_ids, read_source_questions
from stages.log import list_counts, start_log
from stages.params import read_params
from stages.records import write_jsonl

QUESTIONS_PATH = Path("data/interim/questions.jsonl")


def load_spider_questions(
    db_ids: Iterable[str] | str, *, corpus: Corpus | None = None, limits: Limits | None = None
) -> list[dict[str, Any]]:
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
    questions = read_source_questions(corpus, limits=limits)
    chosen = choose_db_ids(corpus, db_ids, questions)
    return record_questions(questions, set(chosen))


def record_questions(questions: list[SourceQuestion], db_ids: set[str]) -> list[dict[str, Any]]:
    """The records of some databases' questions, sorted; the order within a split is kept."""
    chosen = [question for question in questions if question.db_id in db_ids]
    splits: dict[str, str] = {}
    for question in chosen:
        if splits.setdefault(question.db_id, question.split) != question.split:
            raise ValueError(
                f"Database {question.db_id} has questions in both train and validation (see"
                f" {question.source}): expected one split for each database"
            )
    chosen.sort(key=lambda question: (question.db_id, SOURCE_SPLITS.index(question.split)))
    return [
        {
            "question_text": question.question,
            "database_name": question.db_id,
            "gold_sql": question.query,
            "spider_split": question.split,
            "source": question.source,
        }
        for question in chosen
    ]


def main() -> None:
    log = start_log("load_questions")
    name, entry, download = read_params("corpus", "corpora.${corpus}", "download")
    corpus = parse_corpus(name, entry)
    questions = load_spider_questions(corpus.db_list, corpus=corpus, limits=parse_limits(download))
    note = ""
    if corpus.corrections is not None:
        corrections = read_corrections(CORRECTIONS_DIR / f"{corpus.corrections}.yaml")
        questions, actions, not_chosen = apply_corrections(questions, corrections)
        note = f"; {actions.total()} corrected{list_counts(actions)}"
        note += f", {not_chosen} corrections of other databases" if not_chosen else ""
    write_jsonl(QUESTIONS_PATH, questions)
    counts = [
        sum(question["spider_split"] == split for question in questions) for split in SOURCE_SPLITS
    ]
    databases = {question["database_name"] for question in questions}
    log.info(
        f"{len(questions)} questions of {len(databases)} databases"
        f" ({counts[0]} train, {counts[1]} validation){note}"
    )


if __name__ == "__main__":
    main()

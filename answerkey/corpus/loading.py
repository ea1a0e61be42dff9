"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import NamedTuple

from answerkey.base.errors import InputError
from answerkey.corpus.corpora import (
    CORRECTIONS_DIR,
    GRADING_METHOD,
    Corpus,
    name_databases,
    read_spider,
)
from answerkey.corpus.corrections import apply_corrections, read_corrections
from answerkey.corpus.source_questions import Record, choose_db_ids, read_source_questions
from answerkey.scoring.rules import read_rule
from answerkey.sections.corpora import ALL, SOURCE_SPLITS, VALIDATION, Download, Entry, HubQuestions
from answerkey.sqlite.files import check_db_ids


def load_spider_questions(
    db_ids: Iterable[str] | str, *, corpus: Corpus | None = None, limits: Download | None = None
) -> list[Record]:
    """One record a source question of these databases (`all`: of every one with questions), sorted
    by database, then train before validation, then as the files have them. Spider from the hub, if
    no corpus is given.

    Raises:
        ConnectionError: "Failed to download Spider dataset: ...".
        ValueError: on a database without questions, or with questions in both source splits.
    """
    chosen = db_ids if db_ids == ALL else check_db_ids(db_ids)
    if not chosen:
        return []
    if corpus is None or limits is None:
        spider, spider_limits = read_spider()
        corpus, limits = corpus or spider, limits or spider_limits
    _, records, _ = _read_chosen(corpus, chosen, limits)
    _check_splits(records)
    return records


class Loaded(NamedTuple):
    """The questions of some corpora, by database, and how many rows each of their files has."""

    records: list[Record]
    rows: dict[str, dict[str, int]]


def load_corpora(corpora: Iterable[Corpus], *, limits: Download) -> Loaded:
    """The questions of some corpora, corrected and named; of a database that several have, in the
    order of the corpora.

    Raises:
        as `load_spider_questions`, `apply_corrections` and `name_databases`.
    """
    chosen: list[tuple[Corpus, list[str]]] = []
    records: list[Record] = []
    rows: dict[str, dict[str, int]] = {}
    for corpus in corpora:
        db_ids, questions, rows[corpus.name] = _read_chosen(corpus, corpus.db_list, limits)
        if corpus.corrections is not None:
            corrections = read_corrections(CORRECTIONS_DIR / f"{corpus.corrections}.yaml")
            questions = apply_corrections(questions, corrections)
        chosen.append((corpus, db_ids))
        records += [_name_for_dataset(question, corpus) for question in questions]
    name_databases(chosen)
    records.sort(key=lambda record: record["database_name"])
    _check_splits(records)
    return Loaded(records, rows)


def describe_corpora(
    entries: Mapping[str, Entry], rows: Mapping[str, Mapping[str, int]]
) -> dict[str, Record]:
    """Facts of each loaded corpus for the dataset card: a part of its entry that names no machine,
    and how many rows each of its files of questions has."""
    described = {}
    for name in rows:
        entry = entries[name]
        facts = {key: getattr(entry, key) for key in ("license", "language", "citation", "origin")}
        if isinstance(entry.questions, HubQuestions):
            questions = asdict(entry.questions)
        else:
            questions = {split: files for split, files in entry.questions.items() if files}
        described[name] = {**facts, "questions": questions, "rows": rows[name]}
    return described


def _read_chosen(
    corpus: Corpus, db_ids: Iterable[str] | str, limits: Download
) -> tuple[list[str], list[Record], dict[str, int]]:
    """The ids of the chosen databases, their questions by database and split, and how many rows
    each file has, those of other databases too."""
    records = list(read_source_questions(corpus, limits=limits))
    _check_rules(records)
    rows = dict(Counter(record["source"]["file"] for record in records))
    chosen = choose_db_ids(corpus, db_ids, {record["database_name"] for record in records})
    kept = set(chosen)
    records = [record for record in records if record["database_name"] in kept]
    records.sort(
        key=lambda record: (record["database_name"], SOURCE_SPLITS.index(record["spider_split"]))
    )
    return chosen, records, rows


def _check_rules(records: Iterable[Record]) -> None:
    """Make sure that each row names a known rule of comparison, or none."""
    for source in (record["source"] for record in records):
        try:
            if (rule := source.get(GRADING_METHOD)) is not None:
                read_rule(str(rule))
        except ValueError as error:
            where = f"{source['file']}: row {source['index']}"
            raise InputError(f"{where}: {GRADING_METHOD}: {error}") from error


def _name_for_dataset(question: Record, corpus: Corpus) -> Record:
    """The question with the name of its database in the dataset. `source` keeps a db_id that is
    another; `id_prefix` is what its id must start with."""
    db_id = question["database_name"]
    name = corpus.name_database(db_id)
    if name != db_id:
        source = question["source"] | {"db_id": db_id}
        question = question | {"database_name": name, "source": source}
    return question | ({"id_prefix": corpus.id_prefix} if corpus.id_prefix else {})


def _check_splits(questions: Iterable[Record]) -> None:
    """Make sure that each database has questions of one source split.

    Raises:
        InputError: with the first question of another one.
    """
    splits: dict[str, str] = {}
    for question in questions:
        name, split = question["database_name"], question["spider_split"]
        if splits.setdefault(name, split) != split:
            source = question["source"]
            raise InputError(
                f"Database {name} has questions in both train and validation (see row"
                f" {source['index']} of {source['file']} of corpus {source['corpus']}): expected"
                " one split for each database"
            )


def read_held_out(corpora: Iterable[Corpus], *, limits: Download) -> Iterator[Record]:
    """The validation questions of some corpora, which compare_questions looks for in the dataset.
    Their databases are not looked at. Raises as `read_source_questions`."""
    for corpus in corpora:
        for question in read_source_questions(corpus, limits=limits):
            if question["spider_split"] == VALIDATION:
                yield {name: question[name] for name in ("question_text", "gold_sql", "source")}

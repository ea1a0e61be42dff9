"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from answerkey.corpus.corpora import (
    CORRECTIONS_DIR,
    GRADING_METHOD,
    Corpus,
    name_databases,
    read_spider,
)
from answerkey.corpus.corrections import apply_corrections, read_corrections
from answerkey.corpus.source_questions import (
    SourceQuestion,
    choose_db_ids,
    read_source_questions,
)
from answerkey.errors import InputError
from answerkey.scoring.rules import read_rule
from answerkey.sections.corpora import (
    ALL,
    SOURCE_SPLITS,
    VALIDATION,
    Download,
    Entry,
    HubQuestions,
)
from answerkey.sqlite.files import check_db_ids

Record = dict[str, Any]


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
    return check_splits(sort_questions(chosen, corpus=corpus, limits=limits).records)


class Loaded(NamedTuple):
    """The questions of some corpora, by database, and how many rows each of their files has."""

    records: list[Record]
    rows: dict[str, dict[str, int]]


def load_corpora(corpora: Iterable[Corpus], *, limits: Download, counts: Counter[str]) -> Loaded:
    """The questions of some corpora, corrected and named; of a database that several have, in the
    order of the corpora. `counts` gets how many were corrected, by action, and as `not_chosen` how
    many decisions are about other databases.

    Raises:
        as `load_spider_questions`, `apply_corrections` and `name_databases`.
    """
    chosen: list[tuple[Corpus, list[str]]] = []
    named: list[Iterator[Record]] = []
    rows: dict[str, dict[str, int]] = {}
    for corpus in corpora:
        db_ids, questions, rows[corpus.name] = sort_questions(
            corpus.db_list, corpus=corpus, limits=limits
        )
        if corpus.corrections is not None:
            corrections = read_corrections(CORRECTIONS_DIR / f"{corpus.corrections}.yaml")
            questions, actions, not_chosen = apply_corrections(questions, corrections)
            counts.update(actions, not_chosen=not_chosen)
        chosen.append((corpus, db_ids))
        named.append(_name_for_dataset(questions, corpus))
    name_databases(chosen)
    records = sorted(chain.from_iterable(named), key=itemgetter("database_name"))
    return Loaded(check_splits(records), rows)


def describe_corpora(
    corpora: Iterable[Corpus],
    entries: Mapping[str, Entry],
    rows: Mapping[str, Mapping[str, int]],
) -> dict[str, Record]:
    """Facts of each corpus for the dataset card: a part of its entry that names no machine, and how
    many rows each of its files of questions has."""
    return {
        corpus.name: {
            "license": entries[corpus.name].license,
            "language": entries[corpus.name].language,
            "citation": entries[corpus.name].citation,
            "origin": entries[corpus.name].origin,
            "questions": _describe_files(entries[corpus.name].questions),
            "rows": rows[corpus.name],
        }
        for corpus in corpora
    }


def _describe_files(questions: HubQuestions | dict[str, list[str]]) -> Record:
    if isinstance(questions, HubQuestions):
        return asdict(questions)
    return {split: files for split, files in questions.items() if files}


class Sorted(NamedTuple):
    """The ids of the chosen databases of a corpus, their questions by database and split, and how
    many rows each file has, those of other databases too."""

    db_ids: list[str]
    records: list[Record]
    rows: dict[str, int]


def sort_questions(db_ids: Iterable[str] | str, *, corpus: Corpus, limits: Download) -> Sorted:
    """The questions of these databases, as `load_spider_questions` sorts them. Splits are not
    checked.

    Raises:
        as `read_source_questions` and `choose_db_ids`; InputError on an unknown grading_method.
    """
    names: dict[str, str] = {}
    records = [
        _make_record(question, names.setdefault(question.db_id, question.db_id))  # held once
        for question in read_source_questions(corpus, limits=limits)
    ]
    rows = dict(Counter(record["source"]["file"] for record in records))
    chosen = choose_db_ids(corpus, db_ids, set(names))
    kept = set(chosen)
    records = [record for record in records if record["database_name"] in kept]
    records.sort(
        key=lambda record: (record["database_name"], SOURCE_SPLITS.index(record["spider_split"]))
    )
    return Sorted(chosen, records, rows)


def _make_record(question: SourceQuestion, name: str) -> Record:
    _check_rule(question.source)
    return {
        "question_text": question.question,
        "database_name": name,
        "gold_sql": question.query,
        **({"other_sql": list(question.other_queries)} if question.other_queries else {}),
        **({"evidence": question.evidence} if question.evidence else {}),
        "spider_split": question.split,
        "source": question.source,
    }


def _check_rule(source: Record) -> None:
    """Make sure that a row names a rule of comparison, or none.

    Raises:
        InputError: with file, row and what was expected.
    """
    rule = source.get(GRADING_METHOD)
    if rule is None:
        return
    try:
        if not isinstance(rule, str):
            raise ValueError(f"expected text, found {rule!r:.200}")
        read_rule(rule)
    except ValueError as error:
        where = f"{source['file']}: row {source['index']}"
        raise InputError(f"{where}: {GRADING_METHOD}: {error}") from error


def _name_for_dataset(questions: Iterable[Record], corpus: Corpus) -> Iterator[Record]:
    """The questions of a corpus with names of databases as the dataset has them. `source` keeps a
    db_id that is another; `id_prefix` is what ids must start with."""
    for question in questions:
        db_id = question["database_name"]
        name = corpus.name_database(db_id)
        if name != db_id:
            source = question["source"] | {"db_id": db_id}
            question = question | {"database_name": name, "source": source}
        yield question | ({"id_prefix": corpus.id_prefix} if corpus.id_prefix else {})


def check_splits(questions: list[Record]) -> list[Record]:
    """The questions as they are.

    Raises:
        InputError: with the first one of another source split than those of its database before.
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
    return questions


def read_held_out(corpora: Iterable[Corpus], *, limits: Download) -> Iterator[Record]:
    """The validation questions of some corpora, which compare_questions looks for in the dataset.
    Their databases are not looked at.

    Raises:
        as `read_source_questions`; InputError if a corpus has no validation question.
    """
    for corpus in corpora:
        found = False
        for question in read_source_questions(corpus, limits=limits):
            if question.split == VALIDATION:
                found = True
                yield {
                    "question_text": question.question,
                    "gold_sql": question.query,
                    "source": question.source,
                }
        if not found:
            raise InputError(
                f"Corpus {corpus.name} has no validation question: expected some, since"
                " load_questions.held_out in params.yaml names it"
            )

"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from answerkey.corpus.corpora import Corpus, name_databases, read_spider
from answerkey.corpus.corrections import CORRECTIONS_DIR, apply_corrections, read_corrections
from answerkey.corpus.hub import Limits
from answerkey.corpus.source_questions import choose_db_ids, read_source_questions
from answerkey.errors import InputError
from answerkey.params import ALL, SOURCE_SPLITS, VALIDATION
from answerkey.sqlite.files import check_db_ids

Record = dict[str, Any]


def load_spider_questions(
    db_ids: Iterable[str] | str, *, corpus: Corpus | None = None, limits: Limits | None = None
) -> list[Record]:
    """One record a source question of these databases (`all`: of every one with questions), sorted
    by database, then train before validation, then as the files have them; none of none. Spider
    from the hub, where no corpus is given.

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


def load_corpora(corpora: Iterable[Corpus], *, limits: Limits, counts: Counter[str]) -> Loaded:
    """The questions of some corpora, corrected and named. `counts` gets how many were corrected, by
    action, and as `not_chosen` how many decisions are about other databases.

    Raises:
        as `load_spider_questions`, `apply_corrections`, `name_databases` and `merge_corpora`.
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
        named.append(name_for_dataset(questions, corpus))
    name_databases(chosen)
    return Loaded(merge_corpora(named), rows)


def describe_corpora(
    corpora: Iterable[Corpus],
    entries: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, Mapping[str, int]],
) -> dict[str, Record]:
    """What a dataset says of each corpus: a part of its entry that names no machine, and how many
    rows each of its files of questions has."""
    return {
        corpus.name: {
            "license": entries[corpus.name].get("license"),
            "language": entries[corpus.name].get("language", "en"),
            "citation": entries[corpus.name].get("citation"),
            "origin": entries[corpus.name]["origin"],
            "questions": entries[corpus.name]["questions"],
            "rows": rows[corpus.name],
        }
        for corpus in corpora
    }


class Sorted(NamedTuple):
    """The questions of a corpus, by database and split, the ids of the databases, and how many rows
    each of its files has, those of other databases too."""

    db_ids: list[str]
    records: list[Record]
    rows: dict[str, int]


def sort_questions(db_ids: Iterable[str] | str, *, corpus: Corpus, limits: Limits) -> Sorted:
    """The questions of these databases (`all`: of every one with questions), sorted by database,
    then train before validation, then as the files have them. Splits are not checked.

    Raises:
        as `read_source_questions` and `choose_db_ids`.
    """
    names: dict[str, str] = {}
    records = [
        {
            "question_text": question.question,
            "database_name": names.setdefault(question.db_id, question.db_id),  # held once
            "gold_sql": question.query,
            **({"evidence": question.evidence} if question.evidence else {}),
            "spider_split": question.split,
            "source": question.source,
        }
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


def merge_corpora(corpora: Iterable[Iterable[Record]]) -> list[Record]:
    """The questions of several corpora by database; of a database that several have, in the order
    of the corpora.

    Raises:
        InputError: on a database with questions in both source splits, in whichever corpora.
    """
    return check_splits(sorted(chain.from_iterable(corpora), key=itemgetter("database_name")))


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


# Questions of dev and test sets that are looked for in the dataset, and are not in it.


def read_held_out(corpora: Iterable[Corpus], *, limits: Limits) -> Iterator[dict[str, Any]]:
    """The validation questions of some corpora, each with its text, its SQL and where it stands.
    Their databases are not looked at.

    Raises:
        as `read_source_questions`; InputError where a corpus has no validation question.
    """
    for corpus in corpora:
        found = False
        for question in read_source_questions(corpus, limits=limits):
            if question.split != VALIDATION:
                continue
            found = True
            yield {
                "question_text": question.question,
                "gold_sql": question.query,
                "source": question.source,
            }
        if not found:
            raise InputError(
                f"Corpus {corpus.name} has no validation question: expected some, since"
                " compare_questions.held_out in params.yaml names it"
            )


# Every question gets the split of its source and an id that no other question can change.


SPLIT_OF_SOURCE = {"train": "train", "validation": "eval"}


def assign_splits(questions: Iterable[Record]) -> list[Record]:
    """New records with `question_id` first and `split` last, in the order given.

    >>> [(question["question_id"], question["split"]) for question in assign_splits([
    ...     {"database_name": "car_1", "spider_split": "validation"},
    ...     {"database_name": "car_1", "spider_split": "validation"}])]
    [('car_1_eval_000', 'eval'), ('car_1_eval_001', 'eval')]

    The number is the position among all source questions of that database and split: an id stays
    what it is, whatever is excluded later. An `id_prefix` starts the ids of a corpus that asks
    another one's databases. Its questions are counted by themselves, so that their ids do not
    depend on whether the other corpus is there.

    No two questions share an id, since it can be taken apart again: neither a split nor a number
    holds an underscore, and no two corpora give a database the same name behind a prefix.

    Raises:
        InputError: on an unknown spider_split.
    """
    return list(assign_each(questions))


def assign_each(questions: Iterable[Record]) -> Iterator[Record]:
    """As `assign_splits`, one question at a time."""
    counts: Counter[tuple[str, str]] = Counter()
    for question in questions:
        database, source_split = question["database_name"], question["spider_split"]
        if source_split not in SPLIT_OF_SOURCE:
            raise InputError(
                f"spider_split is {source_split!r} for a question of {database}: expected one of"
                f" {tuple(SPLIT_OF_SOURCE)}"
            )
        split = SPLIT_OF_SOURCE[source_split]
        stem = f"{question.get('id_prefix', '')}{database}"
        question_id = f"{stem}_{split}_{counts[stem, split]:03d}"
        counts[stem, split] += 1
        first, last = {"question_id": question_id}, {"split": split}
        record = first | question | first | last
        record.pop("id_prefix", None)
        yield record

"""A dataset as a whole, wherever it is from: its records are held against gold SQL, executed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot.errors import SqlglotError

from answerkey.base.records import EASY, HARD, MEDIUM
from answerkey.dataset import Record
from answerkey.order.inspection import Inspection
from answerkey.order.row_order import read_row_order
from answerkey.sections.classify_difficulty import RANK, DifficultyRule
from answerkey.sections.select_questions import Targets
from answerkey.sql.hardness import classify_hardness
from answerkey.sql.parsed_query import TABLE_NODES, list_tables
from answerkey.sql.query_tree import parse_sql
from answerkey.sqlite.answers import (
    REL_TOL,
    Order,
    answers_match,
    classify_answer_type,
    shape_answer,
)
from answerkey.sqlite.files import open_database
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.sqlite.schema import read_schema
from answerkey.validation.checks import check_set, find_well_formed, shorten

SHARES = Targets(difficulty_shares={EASY: 0.4, MEDIUM: 0.4, HARD: 0.2}, tolerance=0.02)
RULE_OF_TABLES = DifficultyRule()  # 1 or 2 easy, 3 medium, 4 or more hard


class Facts(NamedTuple):
    """What gold SQL makes of a question.

    answer: what it returns; None: a single NULL.
    order_matters: how far the order of the rows of the answer belongs to it.
    """

    answer: Any
    order_matters: Order
    tables_involved: list[str]
    hardness: str


class UnknownFactsError(Exception):
    """There is nothing to hold a record against; the message says why."""


def validate_dataset(
    questions: Iterable[Record],
    db_paths: Mapping[str, str | os.PathLike[str]],
    *,
    targets: Targets | None = SHARES,
    rule: DifficultyRule = RULE_OF_TABLES,
    order_matters: Mapping[str, Order] | None = None,
    source_difficulties: Mapping[str, str] | None = None,
    corpora: Mapping[str, str] | None = None,
    solved_shares: Mapping[str, float] | None = None,
    has_unique_texts: bool = True,
    rel_tol: float = REL_TOL,
    limits: Limits | None = None,
) -> list[str]:
    """Every error of a dataset, in words; none: it is good.

    >>> validate_dataset([{"question_id": "a_train_000"}], {})  # doctest: +ELLIPSIS
    ['a_train_000: fields: expected question_id, question_text, ..., found question_id']
    >>> validate_dataset([], {})
    ['dataset: expected questions, found none']

    Fields and their order, types, vocabularies, ids and splits are checked. Gold SQL is executed on
    `db_paths`: its answer must be gold_answer, as a sequence if its order is certain, and its
    tables tables_involved. The number of tables makes the difficulty (1 or 2: easy, 3: medium), 40%
    of the dataset are easy, 40% medium and 20% hard, within two points, and no database is asked
    one text twice.

    A dataset that was made by other params needs their `targets` (None: no shares) and `rule`. What
    these ask for comes by question_id: what the corpus says of its difficulty
    (`source_difficulties`), its corpus (`corpora`), and the share of its rollouts that are right
    (`solved_shares`). `order_matters` says whose answers are sequences, or the lengths of segments
    of which each may come in any order. `has_unique_texts=False` lets texts come again.

    Raises:
        sqlite3.Error: if a file is no database, or a corrupt one.
    """

    def classify(question: Record, facts: Facts) -> str:
        if rule.method == RANK:  # which follows from all questions, also those left out
            return question["difficulty"]
        word = (source_difficulties or {}).get(question["question_id"])
        share = (solved_shares or {}).get(question["question_id"])
        return rule.classify(len(facts.tables_involved), facts.hardness, word, share)

    good, errors = find_well_formed(questions)
    errors += check_set(
        good, targets=targets, has_unique_texts=has_unique_texts, corpora=corpora or {}
    )
    of_name = itemgetter("database_name")
    for name, of_database in groupby(sorted(good, key=of_name), of_name):
        asked, path = list(of_database), db_paths.get(name)
        if path is None or not Path(path).is_file():
            errors.append(
                f"{name}: expected a database at {path}: run `dvc pull`; asked by {len(asked)} of"
                " the questions"
            )
            continue
        with derive_facts(path, limits=limits) as look_up:
            for question in asked:
                question_id = question["question_id"]
                try:
                    facts = look_up(question["gold_sql"])
                    difficulty = classify(question, facts)
                except (UnknownFactsError, ValueError) as error:
                    errors.append(f"{question_id}: gold_sql: {error}")
                    continue
                if order_matters is not None:
                    facts = facts._replace(order_matters=order_matters.get(question_id, False))
                found = _check_facts(question, facts, difficulty, rel_tol=rel_tol)
                errors += [f"{question_id}: {error}" for error in found]
    return errors


def _check_facts(
    question: Record, facts: Facts, difficulty: str, *, rel_tol: float
) -> Iterator[str]:
    """The fields of a record that are not what its gold SQL makes them."""
    stored, answer = question["gold_answer"], facts.answer
    # One row of one column matches the same value in a list, so shapes are compared as well.
    is_same = (
        answer is not None
        and classify_answer_type(answer) == question["answer_type"]
        and answers_match(stored, answer, ordered=facts.order_matters, rel_tol=rel_tol)
    )
    if not is_same:
        yield (
            f"gold_answer: expected what gold SQL returns, {shorten(answer)}, found"
            f" {shorten(stored)}"
        )
    if question["tables_involved"] != facts.tables_involved:
        yield (
            f"tables_involved: expected what gold SQL reads, {facts.tables_involved}, found"
            f" {question['tables_involved']}"
        )
    if question["difficulty"] != difficulty:
        yield (
            f"difficulty: expected {difficulty}, by the rule of difficulty, found"
            f" {question['difficulty']}"
        )


@contextlib.contextmanager
def derive_facts(
    path: str | os.PathLike[str], *, limits: Limits | None = None
) -> Iterator[Callable[[str], Facts]]:
    """A function that executes and parses gold SQL on a database, and gives its facts.

    Raises:
        UnknownFactsError: by the function, if gold SQL does not run, or does not parse.
        sqlite3.Error: if the file is no database, or a corrupt one.
    """
    with contextlib.closing(open_database(Path(path))) as connection:
        schema = read_schema(connection)
    with GuardedDatabase(Path(path), limits) as database:

        def look_up(gold_sql: str) -> Facts:
            try:
                rows = database.execute(gold_sql)
                tree = parse_sql(gold_sql)
                order = read_row_order(Inspection(gold_sql, tree, schema, rows, database))
                tables = list_tables(tree.find_all(*TABLE_NODES), schema)
                return Facts(shape_answer(rows), order, tables, classify_hardness(tree))
            except QueryError as error:
                raise UnknownFactsError(str(error)) from error
            except (SqlglotError, ValueError) as error:
                raise UnknownFactsError(str(error).partition("\n")[0]) from error
            except RecursionError:
                raise UnknownFactsError("nested too deeply to be parsed") from None

        yield look_up

"""Facts: what the record of a question is held against, wherever they are from."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot.errors import SqlglotError

from answerkey.dataset import read_classified
from answerkey.order.cuts import read_row_order
from answerkey.order.inspection import Inspection
from answerkey.records import EASY, HARD, MEDIUM, read_jsonl
from answerkey.selection.difficulty_rule import TABLES, DifficultyRule
from answerkey.sql.hardness import classify_hardness
from answerkey.sql.parsed_query import TABLE_NODES, list_tables
from answerkey.sql.parser import parse_sql
from answerkey.sqlite.answers import (
    Order,
    answer_rows,
    answers_match,
    classify_answer_type,
    list_takes,
    read_order,
    shape_answer,
)
from answerkey.sqlite.files import open_database
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.sqlite.schema import Schema, read_schema

Record = dict[str, Any]

_SHOWN_CHARACTERS = 200


class Facts(NamedTuple):
    """What a record is held against.

    answer: what its gold SQL returns, None where that is a single NULL.
    order_matters: how far the order of the rows of the answer belongs to it.
    tables_involved, difficulty: what follows from gold SQL and the schema.
    corpus: that of the question, '' where none is known.
    """

    answer: Any
    order_matters: Order
    tables_involved: list[str]
    difficulty: str
    corpus: str


class UnknownFactsError(Exception):
    """There is nothing to hold a record against; the message says why. Its corpus may be known."""

    def __init__(self, message: str, *, corpus: str = "") -> None:
        super().__init__(message)
        self.corpus = corpus


class MissingDatabaseError(UnknownFactsError):
    """There is no database of that name, which is one error however many questions ask it."""


def check_facts(question: Record, facts: Facts, *, rel_tol: float) -> list[str]:
    """Where a record is not what its gold SQL makes it."""
    stored, answer = question["gold_answer"], facts.answer
    # One row of one column matches the same value in a list, so shapes are compared as well.
    is_same = (
        answer is not None
        and classify_answer_type(answer) == question["answer_type"]
        and answers_match(stored, answer, ordered=facts.order_matters, rel_tol=rel_tol)
    )
    errors = []
    if not is_same:
        errors.append(
            f"gold_answer: expected what gold SQL returns, {shorten(answer)},"
            f" found {shorten(stored)}"
        )
    if question["tables_involved"] != facts.tables_involved:
        errors.append(
            f"tables_involved: expected what gold SQL reads, {facts.tables_involved}, found"
            f" {question['tables_involved']}"
        )
    if question["difficulty"] != facts.difficulty:
        errors.append(
            f"difficulty: expected {facts.difficulty}, by the rule of difficulty, found"
            f" {question['difficulty']}"
        )
    return errors


def shorten(value: Any) -> str:
    """What a message shows of a value."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def are_segments(value: Any, gold_answer: Any) -> bool:
    """Whether a value is a list of segments of a gold answer, which `rows_match` explains: numbers
    of rows, and {rows, take} with as many rows as it takes, or more."""
    return (
        isinstance(value, list)
        and all(map(_is_segment, value))
        and sum(list_takes(value)) == len(answer_rows(gold_answer))
    )


def _is_segment(value: Any) -> bool:
    if not isinstance(value, dict):
        return type(value) is int and value >= 1
    return (
        value.keys() == {"rows", "take"}
        and isinstance(value["rows"], list)
        and all(isinstance(row, list) for row in value["rows"])
        and type(value["take"]) is int
        and 1 <= value["take"] <= len(value["rows"])
    )


# Derived facts: what gold SQL says of a question, executed and parsed by the pipeline's own code.
#
# Validation compares questions with them where it has nothing but databases.


# By the number of tables: 1 or 2 easy, 3 medium, 4 or more hard.
RULE_OF_TABLES = DifficultyRule(
    method=TABLES,
    easy_max_tables=2,
    medium_max_tables=3,
    hardness_levels={"easy": EASY, "medium": MEDIUM, "hard": HARD, "extra": HARD},
    source_levels={},
)


@contextlib.contextmanager
def derive_facts(
    db_paths: Mapping[str, str | os.PathLike[str]],
    *,
    rule: DifficultyRule = RULE_OF_TABLES,
    order_matters: Mapping[str, Order] | None = None,
    source_difficulties: Mapping[str, str] | None = None,
    corpora: Mapping[str, str] | None = None,
    solved_shares: Mapping[str, float] | None = None,
    limits: Limits | None = None,
) -> Iterator[Callable[[Record], Facts]]:
    """Look the facts of a question up in its database, one of which is open at a time.

    By question_id, where it is known from elsewhere: `order_matters`, how far (where it is not
    given, gold SQL and its answer tell), `source_difficulties`, what the corpus says, `corpora`,
    and `solved_shares`, the share of its rollouts that are right.

    Raises:
        MissingDatabaseError: by the function, where there is no file.
        UnknownFactsError: by the function, where gold SQL does not run, or does not parse.
        sqlite3.Error: by the function, where a file is no database, or a corrupt one.
    """
    with contextlib.ExitStack() as stack:
        opened: dict[str, tuple[GuardedDatabase, Schema]] = {}

        def look_up(question: Record) -> Facts:
            name, question_id = question["database_name"], question["question_id"]
            corpus = (corpora or {}).get(question_id, "")
            if name not in opened:
                stack.close()
                opened.clear()
                path = _find_path(db_paths, name, corpus=corpus)
                database = stack.enter_context(GuardedDatabase(path, limits))
                opened[name] = database, _read_schema(path)
            database, schema = opened[name]
            try:
                rows = database.execute(question["gold_sql"])
                tree = parse_sql(question["gold_sql"])
                hardness = classify_hardness(tree)
                tables = list_tables(tree.find_all(*TABLE_NODES), schema)
                if order_matters is None:
                    inspection = Inspection(question["gold_sql"], tree, schema, rows, database)
                    order = read_row_order(inspection)
                else:
                    order = order_matters.get(question_id, False)
                difficulty = rule.classify(
                    len(tables),
                    hardness,
                    (source_difficulties or {}).get(question_id),
                    (solved_shares or {}).get(question_id),
                )
            except QueryError as error:
                raise UnknownFactsError(str(error), corpus=corpus) from error
            except (SqlglotError, ValueError) as error:
                words = str(error).partition("\n")[0]
                raise UnknownFactsError(words, corpus=corpus) from error
            except RecursionError:
                raise UnknownFactsError("nested too deeply to be parsed", corpus=corpus) from None
            return Facts(shape_answer(rows), order, tables, difficulty, corpus)

        yield look_up


def _find_path(db_paths: Mapping[str, str | os.PathLike[str]], name: str, *, corpus: str) -> Path:
    if name not in db_paths:
        words = f"{name}: expected its path, found none among {len(db_paths)} paths"
        raise MissingDatabaseError(words, corpus=corpus)
    path = Path(db_paths[name])
    if not path.is_file():
        raise MissingDatabaseError(
            f"{name}: expected a database at {path}: run `dvc pull`", corpus=corpus
        )
    return path


def _read_schema(path: Path) -> Schema:
    with contextlib.closing(open_database(path)) as connection:
        return read_schema(connection)


# Recorded facts: what earlier stages and sidecars wrote of each question.
#
# Validation compares questions with them where nothing is executed again.


def recorded_facts(interim: Path) -> Callable[[Record], Facts]:
    """Look the facts of a question up in what the stages wrote; questions come in their order."""
    recorded = read_classified(interim)

    def look_up(question: Record) -> Facts:
        for known in recorded:
            if known.question_id != question["question_id"]:
                continue
            if any(
                getattr(known, name) != question[name] for name in ("database_name", "gold_sql")
            ):
                raise UnknownFactsError("not the SQL or the database that was executed")
            if known.answer_type is None or known.difficulty is None:
                raise UnknownFactsError("no answer or no parse of it was recorded")
            return Facts(
                known.gold_answer,
                read_order(known.order_matters, known.accepted_rows),
                known.tables_involved,
                known.difficulty,
                known.corpus,
            )
        raise UnknownFactsError("never executed, or out of order")

    return look_up


class Reports(NamedTuple):
    """What sidecars say, by question_id.

    order_matters: how far, for the questions whose answers have rows in an order.
    source_difficulties: what the corpus says of it, where it does.
    corpora: the corpus.
    solved_shares: the share of its rollouts that are right, where it has some.
    """

    order_matters: dict[str, Order]
    source_difficulties: dict[str, str]
    corpora: dict[str, str]
    solved_shares: dict[str, float]


def read_reports(audit_path: Path, pass_rates_path: Path) -> Reports:
    """What audit.jsonl and pass_rates.jsonl say."""
    reports = Reports({}, {}, {}, {})
    for record in read_jsonl(audit_path):
        question_id, source = record["question_id"], record["source"]
        if record["order_matters"]:
            reports.order_matters[question_id] = read_order(True, record["accepted_rows"])
        if source.get("difficulty") is not None:
            reports.source_difficulties[question_id] = source["difficulty"]
        reports.corpora[question_id] = sys.intern(source["corpus"])
    for rate in read_jsonl(pass_rates_path):
        if rate["total"]:
            reports.solved_shares[rate["question_id"]] = rate["suite"] / rate["total"]
    return reports

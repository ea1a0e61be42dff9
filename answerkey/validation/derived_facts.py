"""Derived facts: what gold SQL says of a question, executed and parsed by the pipeline's own code.

Validation compares questions with them where it has nothing but databases.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from sqlglot.errors import SqlglotError

from answerkey.audit.inspection import Inspection
from answerkey.audit.order import read_row_order
from answerkey.core.question import EASY, HARD, MEDIUM
from answerkey.selection.difficulty_rule import TABLES, DifficultyRule
from answerkey.sql.hardness import classify_hardness
from answerkey.sql.parser import parse_sql
from answerkey.sql.tables import TABLE_NODES, list_tables
from answerkey.sqlite.answers import Order, shape_answer
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.sqlite.schema import Schema, read_schema
from answerkey.sqlite.uri import open_database
from answerkey.validation.facts import Facts, MissingDatabaseError, Record, UnknownFactsError

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

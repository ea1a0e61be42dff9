"""Facts that are derived: gold SQL is executed and parsed again, by the pipeline's own code."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from sqlglot.errors import SqlglotError

from answerkey.dataset import Record
from answerkey.order.cuts import read_row_order
from answerkey.order.inspection import Inspection
from answerkey.records import EASY, HARD, MEDIUM
from answerkey.sections.classify_difficulty import RANK, TABLES, DifficultyRule
from answerkey.sql.hardness import classify_hardness
from answerkey.sql.parsed_query import TABLE_NODES, list_tables
from answerkey.sql.parser import parse_sql
from answerkey.sqlite.answers import shape_answer
from answerkey.sqlite.files import open_database
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.sqlite.schema import Schema, read_schema
from answerkey.validation.checks import Facts, MissingDatabaseError, UnknownFactsError
from answerkey.validation.sidecars import NOTHING_KNOWN, Known

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
    known: Known = NOTHING_KNOWN,
    *,
    rule: DifficultyRule = RULE_OF_TABLES,
    limits: Limits | None = None,
) -> Iterator[Callable[[Record], Facts]]:
    """Look the facts of a question up in its database, one of which is open at a time.

    Raises:
        MissingDatabaseError: by the function, if there is no file.
        UnknownFactsError: by the function, if gold SQL does not run, or does not parse.
        sqlite3.Error: by the function, if a file is no database, or a corrupt one.
    """
    with contextlib.ExitStack() as stack:
        opened: dict[str, tuple[GuardedDatabase, Schema]] = {}

        def look_up(question: Record) -> Facts:
            name, question_id = question["database_name"], question["question_id"]
            if name not in opened:
                stack.close()
                opened.clear()
                path = _find_path(db_paths, name)
                database = stack.enter_context(GuardedDatabase(path, limits))
                opened[name] = database, _read_schema(path)
            database, schema = opened[name]
            try:
                rows = database.execute(question["gold_sql"])
                tree = parse_sql(question["gold_sql"])
                hardness = classify_hardness(tree)
                tables = list_tables(tree.find_all(*TABLE_NODES), schema)
                if known.order_matters is None:
                    inspection = Inspection(question["gold_sql"], tree, schema, rows, database)
                    order = read_row_order(inspection)
                else:
                    order = known.order_matters.get(question_id, False)
                if rule.method == RANK:  # which follows from all questions, also those left out
                    difficulty = question["difficulty"]
                else:
                    difficulty = rule.classify(
                        len(tables),
                        hardness,
                        known.source_difficulties.get(question_id),
                        known.solved_shares.get(question_id),
                    )
            except QueryError as error:
                raise UnknownFactsError(str(error)) from error
            except (SqlglotError, ValueError) as error:
                words = str(error).partition("\n")[0]
                raise UnknownFactsError(words) from error
            except RecursionError:
                raise UnknownFactsError("nested too deeply to be parsed") from None
            return Facts(shape_answer(rows), order, tables, difficulty)

        yield look_up


def _find_path(db_paths: Mapping[str, str | os.PathLike[str]], name: str) -> Path:
    if name not in db_paths:
        words = f"{name}: expected its path, found none among {len(db_paths)} paths"
        raise MissingDatabaseError(words)
    path = Path(db_paths[name])
    if not path.is_file():
        raise MissingDatabaseError(f"{name}: expected a database at {path}: run `dvc pull`")
    return path


def _read_schema(path: Path) -> Schema:
    with contextlib.closing(open_database(path)) as connection:
        return read_schema(connection)

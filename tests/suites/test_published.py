"""Suites of databases as benchmarks have them reject what is worse than gold, and nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.records import Shard
from answerkey.engines.answers import shape_answer
from answerkey.engines.database import Limits
from answerkey.engines.executions import Executions
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.reward import score
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.suites.pool import make_suites
from answerkey.suites.records import SuiteRecord
from tests.suites.asked import ask
from tests.suites.published import WORLDS, World

# That the most common value is not the greatest one, or the least, is so in few variants.
LIVES = {"chemistry": 1, "football": 1}


def store(world: World, path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(world.schema)
        for table, rows in world.rows.items():
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.commit()
    return path


def is_right(path: Path, sql: str, gold: Any, *, order: bool = False, accepted: Any = None) -> bool:
    with closing(open_database(path)) as connection:
        rows = connection.execute(sql).fetchall()
    return score(rows, gold, order_matters=order, accepted_rows=accepted) == 1.0


def is_rejected(folder: Path, record: SuiteRecord, sql: str) -> bool:
    return not all(
        is_right(
            folder / database["path"].rpartition("/")[2],
            sql,
            database["gold_answer"],
            order=database["order_matters"],
            accepted=database["accepted_rows"],
        )
        for database in record["databases"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_suite_rejects_what_is_worse_than_gold_and_nothing_else(tmp_path, name):
    world = WORLDS[name]()
    path = store(world, tmp_path / f"{name}.sqlite")
    with closing(open_database(path)) as connection:
        schema = read_schema(connection)
        answers = [connection.execute(case.gold).fetchall() for case in world.cases]
    with GuardedDatabase(path, Limits(max_steps=10**7)) as database:
        real = Executions(database)
        asked = [
            ask(f"q{number}", case.text, case.gold, schema, real)
            for number, case in enumerate(world.cases)
        ]
    limits = Limits(max_steps=10**7)
    shard, settings = Shard(name), SuiteSettings()
    made = make_suites(path, schema, asked, shard=shard, settings=settings, limits=limits)
    for number, content in enumerate(made.files, start=1):
        (tmp_path / f"{name}.{number:02}.sqlite").write_bytes(content)
    lost, passed = [], []
    for case, record, rows in zip(world.cases, made.records, answers, strict=True):
        assert record["databases"], case.text
        for sql in (*case.as_good, *case.worse):
            assert is_right(path, sql, shape_answer(rows)), sql
        lost += [sql for sql in case.as_good if is_rejected(tmp_path, record, sql)]
        passed += [sql for sql in case.worse if not is_rejected(tmp_path, record, sql)]
    assert lost == []
    assert len(passed) <= LIVES.get(name, 0)

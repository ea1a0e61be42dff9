"""A guarded database whose rows are exchanged: foreign SQL reads the rows it has, and no more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.sqlite.guard import RefilledDatabase

INSERT, DELETE = "INSERT INTO ship VALUES (?, ?);", "DELETE FROM ship;"
COUNT = "SELECT count(*), group_concat(name) FROM ship"


@pytest.fixture
def database() -> Iterator[RefilledDatabase]:
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=100)
    connection.execute("CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
    limits = Limits(max_steps=50_000, max_value_bytes=1000)
    with RefilledDatabase(connection, "fleet", limits) as refilled:
        yield refilled


def test_query_reads_the_rows_of_the_last_filling(database):
    for names in (["Sun", "Tern"], ["Kite"], []):
        database.fill([(DELETE, [()]), (INSERT, list(enumerate(names)))])
        assert database.execute(COUNT) == [(len(names), ",".join(names) or None)]


@pytest.mark.parametrize(
    "sql", [INSERT, DELETE, DELETE[:-1], "DROP TABLE ship", "PRAGMA user_version"]
)
def test_foreign_sql_changes_nothing_whatever_was_filled_before(database, sql):
    rows = [(1, "Sun")]
    database.fill([(DELETE, [()]), (INSERT, rows)])
    with pytest.raises(QueryError) as caught:
        database.execute(sql)
    assert caught.value.reason is Reason.NOT_A_SELECT
    assert database.execute("SELECT * FROM ship") == rows


def test_filling_that_fails_leaves_the_rows_as_they_were(database):
    database.fill([(INSERT, [(1, "Sun")])])
    with pytest.raises(sqlite3.IntegrityError):
        database.fill([(DELETE, [()]), (INSERT, [(1, "Tern"), (2, "Tern")])])
    assert database.execute(COUNT) == [(1, "Sun")]


def test_bounds_hold_queries_and_not_what_is_filled(database):
    """Also where a query was stopped before, and whose text is longer than a value may be."""
    forever = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    )
    reasons = []
    for sql in (forever, "SELECT name FROM ship"):
        database.fill([(DELETE, [()]), (INSERT, [(n, "S" * 900 + str(n)) for n in range(5000)])])
        database.fill([(DELETE, [()]), (INSERT, [(1, "S" * 2000)])])
        with pytest.raises(QueryError) as caught:
            database.execute(sql)
        reasons.append(caught.value.reason)
    assert reasons == [Reason.STEP_BUDGET_EXCEEDED, Reason.VALUE_TOO_LARGE]

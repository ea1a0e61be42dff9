"""What queries give on one database, asked for more than once."""

from pathlib import Path

import pytest

from answerkey.engines.database import Limits
from answerkey.engines.executions import Executions, is_void
from answerkey.engines.sqlite.guard import GuardedDatabase
from tests.shared.databases import make_database

_COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT {} FROM n"


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (_COUNT.format(3000, "count(*)"), [(3000,)]),
        (_COUNT.format(3000, "max(i)") + " WHERE i % 7 = 0", [(2996,)]),
        (f"SELECT x.* FROM ({_COUNT.format(2000, 'sum(i)')}) AS x", [(2001000,)]),
    ],
)
def test_query_that_was_stopped_early_is_executed_with_more_steps(
    tmp_path: Path, sql: str, rows: list[tuple[int]]
) -> None:
    with GuardedDatabase(make_database(tmp_path / "a.sqlite", "CREATE TABLE t (a);")) as database:
        executions = Executions(database)
        assert executions.find_rows(sql, max_steps=2000) is None
        assert executions.find_rows(sql, max_steps=1000) is None
        assert executions.find_rows(sql) == rows
        assert executions.find_rows(sql, max_steps=1000) == rows  # known by now


def test_query_that_fails_or_passes_its_last_bound_stays_failed(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.sqlite", "CREATE TABLE t (a);")
    with GuardedDatabase(path, Limits(max_steps=2000)) as database:
        executions = Executions(database)
        for sql in ("SELECT b FROM t", _COUNT.format(3000, "count(*)")):
            assert executions.find_rows(sql, max_steps=1000) is None
            assert executions.find_rows(sql) is None


def test_nobody_knows_whether_a_query_that_was_stopped_is_apart(tmp_path: Path) -> None:
    sql = _COUNT.format(3000, "count(*)")
    with GuardedDatabase(make_database(tmp_path / "a.sqlite", "CREATE TABLE t (a);")) as database:
        executions = Executions(database)
        for max_steps, is_apart in ((2000, None), (None, False), (2000, None)):
            assert is_apart is executions.tells_apart(
                [(3000,)], sql, ordered=False, max_steps=max_steps
            )
        assert executions.tells_apart([(3001,)], sql, ordered=False) is True
        assert executions.tells_apart([(1,)], "SELECT b FROM t", ordered=False) is True


def test_answers_are_apart_by_more_than_the_tolerance(tmp_path: Path) -> None:
    assert is_void([(1.2e-10, None)], abs_tol=1e-9)
    assert not is_void([(1.2e-10, None)])
    rows = [("a", 1.2e-10), ("b", 7.5)]
    near, far = "VALUES ('b', 7.5), ('a', 0.0)", "VALUES ('b', 7.5), ('a', 3e-9)"
    segments = [{"rows": [list(row) for row in rows], "take": 2}]
    with GuardedDatabase(make_database(tmp_path / "a.sqlite", "CREATE TABLE t (a);")) as database:
        executions = Executions(database)
        for accepted in (None, segments):
            for sql, abs_tol, is_apart in (
                (near, 0.0, True),
                (near, 1e-9, False),
                (far, 1e-9, True),
            ):
                assert is_apart == executions.tells_apart(
                    rows, sql, ordered=False, accepted_rows=accepted, abs_tol=abs_tol
                )

"""The audit of one query as a whole: what is executed again, and what the report says of it."""

import pytest

from stages.guard import GuardedDatabase
from stages.probes.query_audit import Thresholds, audit_query
from stages.probes.shuffles import Shuffles
from tests.probe_world import ProbeWorld

THRESHOLDS = Thresholds(
    max_rows=1000,
    max_bytes=65_536,
    min_guess_score=0.3,
    rel_tol=1e-6,
    shuffles=2,
    max_shuffled_bytes=200_000_000,
)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    sql = (
        "CREATE TABLE ship (name TEXT, built INT); INSERT INTO ship VALUES ('Sun', 1), ('Tern', 2);"
    )
    with ProbeWorld(tmp_path_factory.mktemp("audit"), sql) as opened:
        yield opened


def audit(world: ProbeWorld, sql: str, answer) -> dict:
    with Shuffles(world.database.path) as shuffles:
        return audit_query(
            world.database, shuffles, sql, answer, schema=world.schema, thresholds=THRESHOLDS
        )


@pytest.mark.parametrize(
    ("sql", "answer", "order_matters"),
    [
        ("SELECT name FROM ship", ["Sun", "Tern"], False),
        ("SELECT name FROM ship", ["Tern", "Sun"], False),
        ("SELECT name FROM ship ORDER BY built", ["Sun", "Tern"], True),
        ("SELECT name, max(built) FROM ship GROUP BY name", [["Tern", 2], ["Sun", 1]], False),
    ],
)
def test_repeated_answer_raises_nothing(world, sql, answer, order_matters):
    assert audit(world, sql, answer) == {"flags": [], "order_matters": order_matters}


@pytest.mark.parametrize(
    ("term", "flags"),
    [
        ("1", []),
        ("-(-1)", []),
        ("4294967296", ["order_underdetermined"]),  # a constant: no place has 33 bits
    ],
)
def test_number_in_order_by_is_a_place_where_sqlite_reads_one(world, term, flags):
    report = audit(world, f"SELECT name FROM ship ORDER BY {term}", ["Sun", "Tern"])
    assert [flag["code"] for flag in report["flags"]] == flags


@pytest.mark.parametrize(
    ("sql", "answer", "second"),
    [
        ("SELECT name FROM ship", ["Sun", "Gull"], "['Sun', 'Tern']"),
        ("SELECT name FROM ship ORDER BY built", ["Tern", "Sun"], "['Sun', 'Tern']"),
        ("SELECT max(built) FROM ship GROUP BY name", [1, 3], "[1, 2]"),
        ("SELECT name FROM fleet", "Sun", "SQL execution failed for world: no such table: fleet"),
    ],
)
def test_other_answer_is_not_reproducible_and_nothing_else(world, sql, answer, second):
    report = audit(world, sql, answer)
    assert report["flags"] == [{"code": "not_reproducible", "evidence": {"second_run": second}}]


@pytest.mark.parametrize(
    ("sql", "answer", "executions"),
    [
        ("SELECT name FROM ship WHERE built = 3", [], ["world"]),
        ("SELECT group_concat(name) FROM ship WHERE built = 3", None, list("01234567")),
    ],
)
def test_execution_elsewhere_stands_for_the_second_one(world, monkeypatch, sql, answer, executions):
    executed = []
    execute = GuardedDatabase.execute

    def record(database, statement):
        if statement == sql:
            executed.append(database.path.stem)
        return execute(database, statement)

    monkeypatch.setattr(GuardedDatabase, "execute", record)
    audit(world, sql, answer)
    assert executed == executions

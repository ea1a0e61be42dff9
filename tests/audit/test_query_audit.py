"""The audit of one query as a whole: what is executed again, and what the report says of it."""

from dataclasses import replace

import pytest

from answerkey.audit.query_audit import Thresholds, audit_query
from answerkey.audit.shuffles import Shuffles
from answerkey.sqlite.answers import shape_answer
from answerkey.sqlite.guard import GuardedDatabase
from tests.shared.probe_world import ProbeWorld

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
        "CREATE TABLE ship (name TEXT, built INT, number TEXT);"
        "INSERT INTO ship VALUES ('Sun', 1, '9'), ('Tern', 2, '10');"
    )
    with ProbeWorld(tmp_path_factory.mktemp("audit"), sql) as opened:
        yield opened


def audit(world: ProbeWorld, sql: str, answer, thresholds: Thresholds = THRESHOLDS) -> dict:
    with Shuffles(world.database.path) as shuffles:
        return audit_query(
            world.database, shuffles, sql, answer, schema=world.schema, thresholds=thresholds
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


def test_query_that_is_no_sql_has_an_empty_report(world):
    assert audit(world, "SELECT (", None) == {"flags": [], "order_matters": False}


@pytest.mark.parametrize(
    ("sql", "flags"),
    [
        ("SELECT built + 5 FROM ship LIMIT 1", ["limit_without_order", "row_order_dependent"]),
        ("SELECT name, count(*) FROM ship", ["bare_column", "row_order_dependent"]),
        ("SELECT name FROM ship ORDER BY number", ["numeric_text_order"]),
        (
            "SELECT name FROM ship WHERE built <> 'x' ORDER BY name",
            ["type_mismatch", "vacuous_condition"],
        ),
        ("SELECT count(*) FROM ship WHERE built = 1", ["boolean_answer", "guessable"]),
        ("SELECT value FROM json_each('[0,1,2,3,4,5,6,7,8,9]')", ["many_rows"]),
        ("SELECT length(hex(zeroblob(9))), hex(zeroblob(99)) || name FROM ship", ["too_large"]),
    ],
)
def test_report_has_what_each_probe_finds(world, sql, flags):
    answer = shape_answer(world.database.execute(sql))
    few = replace(THRESHOLDS, max_rows=9, max_bytes=300)
    found = [flag["code"] for flag in audit(world, sql, answer, thresholds=few)["flags"]]
    assert found == flags


def test_query_too_deep_for_the_probes_is_not_taken_for_a_clean_one(world):
    steps = "".join(f", a{n + 1} AS (SELECT name FROM a{n})" for n in range(600))
    sql = f"WITH a0 AS (SELECT name FROM ship){steps} SELECT name FROM a600 ORDER BY name"
    answer = shape_answer(world.database.execute(sql))
    assert answer == ["Sun", "Tern"]
    [flag] = audit(world, sql, answer)["flags"]
    assert flag["code"] == "not_reproducible"
    assert "too deeply" in flag["evidence"]["second_run"]


@pytest.mark.parametrize(
    ("sql", "answer", "executions"),
    [
        ("SELECT name FROM ship ORDER BY built", ["Sun", "Tern"], []),  # by its sort keys
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

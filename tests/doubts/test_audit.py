"""What all doubts have in common, and the report of the audit of one query."""

import json
import random
from unittest.mock import Mock

import pytest

from answerkey.base.reasons import Reason
from answerkey.doubts.audit import (
    audit_query,
    read_meanings,
    report_question,
)
from answerkey.doubts.catalogue import DOUBTS
from answerkey.doubts.literal_not_in_column import find_literal_not_in_column
from answerkey.engines.answers import shape_answer
from answerkey.engines.database import QueryError
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.english.question import Question
from answerkey.order.inspection import ReorderedCopy
from answerkey.sections.audit_gold_answers import Thresholds
from tests.shared.probe_world import ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    sql = (
        "CREATE TABLE ship (name TEXT, built INT, number TEXT);"
        "INSERT INTO ship VALUES ('Sun', 1, '9'), ('Tern', 2, '10');"
    )
    with ProbeWorld(tmp_path_factory.mktemp("audit"), sql) as opened:
        yield opened


def audit(world: ProbeWorld, sql: str, answer, **thresholds: int) -> dict:
    with ReorderedCopy(world.database.path) as copy:
        audited = audit_query(
            world.real,
            copy,
            sql,
            answer,
            schema=world.schema,
            thresholds=Thresholds(**thresholds),
        )
        return report_question(audited, Question(""))


@pytest.mark.parametrize(
    ("sql", "answer", "order_matters"),
    [
        ("SELECT name FROM ship", ["Sun", "Tern"], False),
        ("SELECT name FROM ship", ["Tern", "Sun"], False),
        ("SELECT name FROM ship ORDER BY built", ["Sun", "Tern"], True),
        ("SELECT name, max(built) FROM ship GROUP BY name", [["Tern", 2], ["Sun", 1]], False),
    ],
)
def test_sound_query_raises_nothing(world, sql, answer, order_matters):
    report = audit(world, sql, answer)
    assert (report["flags"], report["order_matters"]) == ([], order_matters)
    assert report["accepted_rows"] is None


def test_query_that_is_no_sql_has_an_empty_report(world):
    assert audit(world, "SELECT (", None) == {
        "flags": [],
        "order_matters": False,
        "accepted_rows": None,
        "repairs": [],
        "readings": [],
    }


def test_report_has_the_rows_of_every_right_answer_where_limit_cuts_a_tie(world):
    report = audit(world, "SELECT name FROM ship ORDER BY length(name) > 9 LIMIT 1", "Sun")
    assert report["accepted_rows"] == [{"rows": [["Sun"], ["Tern"]], "take": 1}]
    codes = [flag["code"] for flag in report["flags"]]
    assert {"tie_at_limit", "row_order_dependent"} <= set(codes)
    assert report["order_matters"]


@pytest.mark.parametrize(
    ("sql", "flags"),
    [
        ("SELECT built + 5 FROM ship LIMIT 1", ["limit_without_order", "row_order_dependent"]),
        ("SELECT name, count(*) FROM ship", ["bare_column", "row_order_dependent"]),
        ("SELECT name FROM ship ORDER BY number", ["numeric_text_order"]),
        (
            "SELECT name FROM ship WHERE built <> '' ORDER BY name",
            ["literal_not_in_column"],
        ),
        (
            "SELECT count(*) FROM ship WHERE substr(name, 1, 2) < 1",
            ["boolean_answer", "type_mismatch"],
        ),
        ("SELECT count(*) FROM ship WHERE built = 1", ["boolean_answer"]),
        ("SELECT value FROM json_each('[0,1,2,3,4,5,6,7,8,9]')", ["many_rows"]),
        ("SELECT length(hex(zeroblob(9))), hex(zeroblob(99)) || name FROM ship", ["too_large"]),
    ],
)
def test_report_has_what_each_probe_finds(world, sql, flags):
    answer = shape_answer(world.database.execute(sql))
    codes = [flag["code"] for flag in audit(world, sql, answer, max_rows=9, max_bytes=300)["flags"]]
    assert sorted(codes) == sorted(flags)


def test_query_too_deep_for_the_doubts_is_not_taken_for_a_clean_one(world):
    steps = "".join(f", a{n + 1} AS (SELECT name FROM a{n})" for n in range(200))
    sql = f"WITH a0 AS (SELECT name FROM ship){steps} SELECT name FROM a200 ORDER BY name"
    answer = shape_answer(world.database.execute(sql))
    assert answer == ["Sun", "Tern"]
    [flag] = audit(world, sql, answer)["flags"]
    assert flag["code"] == "not_reproducible"
    assert "too deeply" in flag["evidence"]["second_run"]


def test_stars_that_the_query_does_not_use_are_not_counted_out(world):
    steps = "".join(f", a{n + 1} AS (SELECT * FROM a{n}, a{n} AS b)" for n in range(11))
    sql = f"WITH a0 AS (SELECT * FROM ship){steps} SELECT name FROM ship ORDER BY name"
    answer = shape_answer(world.database.execute(sql))
    assert answer == ["Sun", "Tern"]
    [flag] = audit(world, sql, answer)["flags"]
    assert flag["evidence"]["second_run"] == "more than 1000 columns of one SELECT"


WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, port TEXT);
CREATE TABLE "old ship" (id INTEGER, name TEXT);
CREATE TABLE raw (bytes BLOB, odd TEXT);
CREATE VIEW unnamed AS SELECT id FROM ship WHERE name IS NULL;
CREATE VIEW unported AS SELECT id FROM ship WHERE port IS NULL;
INSERT INTO ship VALUES (1, 'old ship', NULL), (2, 'Tern', NULL);
INSERT INTO raw VALUES (x'00ff', CAST(x'fffe' AS TEXT));
"""


@pytest.fixture(scope="module")
def odd_world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("soundness"), WORLD) as world:
        yield world


FOUND_IN_QUERIES = [doubt for doubt in DOUBTS if doubt.find_in_query is not None]


@pytest.mark.parametrize(
    "sql",
    [
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT * FROM (VALUES (1), (2)) AS v, ship",
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "SELECT name, row_number() OVER (PARTITION BY port ORDER BY id) FROM ship WHERE id = '1'",
        "SELECT (SELECT name FROM ship AS t WHERE t.id = s.id + 1) AS n FROM ship AS s WHERE n = 5",
        "SELECT id FROM ship WHERE (id, name) = (1, 'x') OR (1, 2) IN (SELECT id, name FROM ship)",
        "SELECT id FROM ship WHERE id IN unnamed OR id IN ()",
        "SELECT s.id FROM ship s LEFT JOIN ship t USING (id) NATURAL JOIN ship WHERE t.name IS 'x'",
        "SELECT 1 FROM raw WHERE bytes = 'a' OR bytes > 5 OR odd = 'b' OR odd > 3 OR odd LIKE 'c'",
        "SELECT 1 FROM ship WHERE id = (SELECT id FROM ship UNION SELECT 5) OR 'a' IN (name, 'b')",
        "SELECT x'41' = name, TRUE = id, id IS NOT TRUE, CAST('5' AS BLOB) = id FROM ship",
        "SELECT max(id, 2) > '1', iif(id = 'a', 1, 2), id -> '$' IS NULL FROM ship",
    ],
)
def test_no_probe_crashes_on_unusual_sql(odd_world, sql):
    try:
        inspection = odd_world.inspect(sql)
    except QueryError as error:
        pytest.fail(f"a case that does not run proves nothing: {error.detail}")
    for doubt in FOUND_IN_QUERIES:
        for finding in doubt.find_in_query(inspection):
            assert finding.code == doubt.name
            json.dumps(finding.evidence, allow_nan=False)


def test_queries_of_one_database_share_what_was_looked_up(odd_world, monkeypatch):
    sql = "SELECT id FROM ship WHERE name = 'tern'"
    probe = find_literal_not_in_column
    probe(odd_world.inspect(sql))
    again = odd_world.inspect(sql)
    monkeypatch.setattr(GuardedDatabase, "execute", lambda *_: pytest.fail("asked again"))
    assert probe(again) != []


def test_evidence_that_the_guard_refuses_is_no_finding(tmp_path, monkeypatch):
    with ProbeWorld(tmp_path, WORLD) as world:
        inspection = world.inspect("SELECT id FROM ship WHERE name = 'Moon' AND port = \"id\"")
    refusal = QueryError(Reason.STEP_BUDGET_EXCEEDED, "too long", database_name="world")
    monkeypatch.setattr(GuardedDatabase, "execute", Mock(side_effect=refusal))
    flags = {doubt.name for doubt in FOUND_IN_QUERIES if doubt.find_in_query(inspection)}
    assert flags == {"empty_answer"}  # which asks the data nothing


def test_what_the_corpus_says_of_a_column_names_it(tmp_path):
    path = tmp_path / "descriptions.json"
    assert read_meanings(path) == {}
    texts = {
        "district": {"A11": {"name": "average salary", "description": "the salary of a month"}},
        "other": {"a11": {"values": "1: yes"}, "id": {}},
    }
    path.write_text(json.dumps(texts), encoding="utf-8")
    assert read_meanings(path) == {"a11": "average salary month", "id": ""}


def test_report_has_the_tolerance_of_what_cancels_and_no_flag_for_it(tmp_path):
    """The copy adds the rows in the reverse order, and gives other last bits."""
    numbers = random.Random(3)
    values = [numbers.randrange(10**9) / 100 for _ in range(300)]
    rows = ", ".join(map(str, zip(values, numbers.sample(values, 300), strict=True)))
    with ProbeWorld(tmp_path, f"CREATE TABLE t (a, b); INSERT INTO t VALUES {rows}") as world:
        gold_sql = "SELECT sum(a) - sum(b) FROM t"
        ((answer,),) = world.database.execute(gold_sql)
        ((other,),) = world.database.execute("SELECT sum(a - b) FROM t")
        assert abs(answer - other) > 1e-9
        report = audit(world, gold_sql, answer)
        assert 1e-9 < report["abs_tol"] < 0.001
        assert report["flags"] == []
        assert "abs_tol" not in audit(world, "SELECT sum(a) FROM t", sum(values))

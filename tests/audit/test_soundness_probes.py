"""The plain probes of soundness, what all probes have in common, and their counts on Spider."""

import contextlib
import json
import os
import sqlite3
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import pytest
import sqlglot

from answerkey.audit.inspection import Inspection
from answerkey.audit.soundness_probes import (
    SOUNDNESS_PROBES,
    find_all_null,
    find_duplicate_rows,
    find_empty_answer,
    find_empty_table,
)
from answerkey.audit.worth_probes import WORTH_PROBES
from answerkey.core.reasons import Flag, Reason
from answerkey.sqlite.guard import GuardedDatabase, QueryError
from answerkey.sqlite.schema import read_schema
from tests.shared.probe_world import ProbeWorld

ALL_PROBES = SOUNDNESS_PROBES | WORTH_PROBES
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
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("soundness"), WORLD) as world:
        yield world


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ('SELECT count(*) FROM "old ship"', ["old ship"]),
        ("SELECT count(*) FROM ship WHERE id NOT IN (SELECT id FROM [OLD SHIP])", ["old ship"]),
        ('SELECT name FROM ship UNION SELECT name FROM main."old ship"', ["old ship"]),
        ("WITH ship AS (SELECT * FROM `old ship`) SELECT id FROM ship", ["old ship"]),
        ("SELECT id FROM unnamed", ["unnamed"]),
        ("SELECT s.id FROM unnamed AS s, [old ship] AS ship", ["old ship", "unnamed"]),
        ("SELECT name FROM ship WHERE name = 'old ship'", None),
        ('WITH "old ship" AS (SELECT id FROM ship) SELECT id FROM "old ship"', None),
        ("SELECT id AS unnamed FROM ship", None),
        ("SELECT id FROM unported", None),
        ("SELECT 1", None),
    ],
)
def test_table_without_a_row_is_found(world, sql, tables):
    finding = world.find(find_empty_table, sql)
    assert (finding and finding.evidence) == (tables and {"tables": tables})


@pytest.mark.parametrize(
    ("sql", "evidence"),
    [
        ("SELECT 'a' FROM ship", {"rows": 2, "distinct": 1}),
        ("SELECT port FROM ship", {"rows": 2, "distinct": 1}),
        ("SELECT id, 1 FROM ship UNION ALL VALUES (1, 1.0)", {"rows": 3, "distinct": 2}),
        ("SELECT 1 UNION ALL SELECT '1' UNION ALL SELECT NULL", None),
        ("SELECT id, port FROM ship", None),
        ("SELECT DISTINCT port FROM ship", None),
        ("SELECT id FROM ship WHERE id > 2", None),
        ("SELECT 3", None),
    ],
)
def test_rows_that_are_equal_are_counted(world, sql, evidence):
    finding = world.find(find_duplicate_rows, sql)
    assert (finding and finding.evidence) == evidence


@pytest.mark.parametrize(
    ("sql", "empty", "null"),
    [
        ("SELECT id FROM ship WHERE id > 2", {"rows": 0}, None),
        ("SELECT port FROM ship", None, {"rows": 2, "columns": 1}),
        ("SELECT max(port), min(port) FROM ship", None, {"rows": 1, "columns": 2}),
        ("SELECT port, name FROM ship WHERE id = 2", None, None),
        ("SELECT 0", None, None),
        ("SELECT ''", None, None),
    ],
)
def test_answer_of_nothing_is_found(world, sql, empty, null):
    found = [world.find(probe, sql) for probe in (find_empty_answer, find_all_null)]
    assert [finding and finding.evidence for finding in found] == [empty, null]


@pytest.mark.parametrize(
    "sql",
    [
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT 1 UNION ALL VALUES (2)",
        "SELECT * FROM (VALUES (1), (2)) AS v, ship",
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "SELECT name, row_number() OVER (PARTITION BY port ORDER BY id) FROM ship WHERE id = '1'",
        "SELECT (SELECT name FROM ship AS t WHERE t.id = s.id + 1) AS n FROM ship AS s WHERE n = 5",
        "SELECT count(*) FILTER (WHERE name = 'x') FROM ship",
        "SELECT id FROM ship WHERE (id, name) = (1, 'x') OR (1, 2) IN (SELECT id, name FROM ship)",
        "SELECT id FROM ship WHERE (id, name) IN (VALUES (1, 'x'))",
        "SELECT id FROM ship WHERE rowid = 1 AND oid BETWEEN '0' AND 5",
        "SELECT id FROM ship WHERE id IN unnamed OR id IN ()",
        "SELECT s.id FROM ship s LEFT JOIN ship t USING (id) NATURAL JOIN ship WHERE t.name IS 'x'",
        "SELECT 1 FROM raw WHERE bytes = 'a' OR bytes > 5 OR odd = 'b' OR odd > 3 OR odd LIKE 'c'",
        "SELECT hex(odd) FROM raw ORDER BY odd LIMIT 1",
        "SELECT 1 FROM ship WHERE id = (SELECT id FROM ship UNION SELECT 5) OR 'a' IN (name, 'b')",
        "SELECT x'41' = name, TRUE = id, id IS NOT TRUE, CAST('5' AS BLOB) = id FROM ship",
        "SELECT max(id, 2) > '1', iif(id = 'a', 1, 2), id -> '$' IS NULL FROM ship",
    ],
)
def test_no_probe_crashes_on_unusual_sql(world, sql):
    try:
        inspection = world.inspect(sql)
    except QueryError as error:
        pytest.fail(f"a case that does not run proves nothing: {error.detail}")
    for flag, probe in ALL_PROBES.items():
        finding = probe(inspection)
        assert finding is None or finding.code is flag
        json.dumps(finding and finding.evidence, allow_nan=False)


def test_every_flag_of_soundness_and_worth_has_its_probe():
    names = {probe.__name__ for probe in ALL_PROBES.values()}
    assert names == {f"find_{flag}" for flag in ALL_PROBES}


def test_queries_of_one_database_share_what_was_looked_up(world, monkeypatch):
    sql = "SELECT id FROM ship WHERE name = 'Shared'"
    SOUNDNESS_PROBES[Flag.VACUOUS_CONDITION](world.inspect(sql))
    again = world.inspect(sql)
    monkeypatch.setattr(GuardedDatabase, "execute", lambda *_: pytest.fail("asked again"))
    assert SOUNDNESS_PROBES[Flag.VACUOUS_CONDITION](again) is not None


def test_evidence_that_the_guard_refuses_is_no_finding(tmp_path, monkeypatch):
    with ProbeWorld(tmp_path, WORLD) as world:
        inspection = world.inspect("SELECT id FROM ship WHERE name = 'Moon' AND port = \"id\"")
    refusal = QueryError(Reason.STEP_BUDGET_EXCEEDED, "too long", database_name="world")
    monkeypatch.setattr(GuardedDatabase, "execute", Mock(side_effect=refusal))
    found = [flag for flag, probe in SOUNDNESS_PROBES.items() if probe(inspection)]
    assert found == [Flag.DOUBLE_QUOTED_LITERAL, Flag.EMPTY_ANSWER]  # these ask the data nothing


SPIDER_ROOT = os.environ.get("SPIDER_ROOT")

# Every finding of the first seven kinds was looked at by hand. They are what the probes are for:
# numbers kept as text and compared as text, "null" in quotes where NULL was meant, names in the
# wrong case or order, T2.id = T2.id, the start of a booking again where its end is asked for. No
# double-quoted literal of Spider's 866 is a risk, every join is on a key or on shared values, and
# no table is empty. 61 of 4,382 answers are 0 or 1, two F.
SPIDER_COUNTS = {
    "double_quoted_literal": 0,
    "type_mismatch": 24,
    "cross_join": 8,
    "join_not_on_key": 0,
    "repeated_column": 12,
    "vacuous_condition": 102,
    "empty_table": 0,
    "duplicate_rows": 188,
    "empty_answer": 100,
    "all_null": 10,
    "boolean_answer": 63,
    "guessable": 246,
    "many_rows": 22,
    "too_large": 8,
}


@pytest.mark.slow
@pytest.mark.skipif(SPIDER_ROOT is None, reason="SPIDER_ROOT names no folder of a Spider release")
def test_counts_on_spider():
    root = Path(SPIDER_ROOT)
    questions = [
        question
        for name in ("train_spider.json", "dev.json")
        for question in json.loads((root / name).read_text())
    ]
    counts: Counter[str] = Counter()
    for database_name in sorted({question["db_id"] for question in questions}):
        path = root / "database" / database_name / f"{database_name}.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            schema = read_schema(connection)
        with GuardedDatabase(path) as database:
            for question in questions:
                if question["db_id"] == database_name:
                    counts.update(_find_all(question["query"], schema, database))
    assert {flag: counts[flag] for flag in SPIDER_COUNTS} == SPIDER_COUNTS


def _find_all(sql: str, schema, database) -> list[str]:
    try:
        rows = database.execute(sql)
    except QueryError:
        return []
    tree = sqlglot.parse_one(sql, read="sqlite")
    inspection = Inspection(sql, tree, schema, rows, database)
    return [flag.value for flag, probe in ALL_PROBES.items() if probe(inspection)]

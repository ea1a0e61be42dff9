"""What all probes have in common."""

import importlib
import json
import pkgutil
from unittest.mock import Mock

import pytest

from answerkey import probes
from answerkey.probes.literals import find_literal_not_in_column
from answerkey.probes.registry import PROBES, QUESTION_PROBES
from answerkey.records import Reason
from answerkey.sqlite.guard import GuardedDatabase, QueryError
from tests.shared.probe_world import ProbeWorld

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


def name_flag(probe):
    return probe.__name__.removeprefix("find_")


def test_no_probe_is_asked_twice():
    probes = [*PROBES, *QUESTION_PROBES]
    assert len(set(probes)) == len(probes) > 20


def test_every_family_is_joined():
    for module in pkgutil.iter_modules(probes.__path__):
        family = importlib.import_module(f"answerkey.probes.{module.name}")
        of_query = getattr(family, "PROBES", ())
        assert set(of_query) <= set(PROBES)
        assert set(getattr(family, "QUESTION_PROBES", ())) <= set(QUESTION_PROBES)


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
    for probe in PROBES:
        for finding in probe(inspection):
            assert finding.code == name_flag(probe)
            json.dumps(finding.evidence, allow_nan=False)


def test_queries_of_one_database_share_what_was_looked_up(world, monkeypatch):
    sql = "SELECT id FROM ship WHERE name = 'tern'"
    probe = find_literal_not_in_column
    probe(world.inspect(sql))
    again = world.inspect(sql)
    monkeypatch.setattr(GuardedDatabase, "execute", lambda *_: pytest.fail("asked again"))
    assert probe(again) != []


def test_evidence_that_the_guard_refuses_is_no_finding(tmp_path, monkeypatch):
    with ProbeWorld(tmp_path, WORLD) as world:
        inspection = world.inspect("SELECT id FROM ship WHERE name = 'Moon' AND port = \"id\"")
    refusal = QueryError(Reason.STEP_BUDGET_EXCEEDED, "too long", database_name="world")
    monkeypatch.setattr(GuardedDatabase, "execute", Mock(side_effect=refusal))
    found = {name_flag(probe) for probe in PROBES if probe(inspection)}
    assert found == {"empty_answer"}  # which asks the data nothing

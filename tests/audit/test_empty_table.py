"""empty_table: tables and views without a row, however the query names them."""

import pytest

from answerkey.probes.answers import find_empty_table
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, port TEXT);
CREATE TABLE "old ship" (id INTEGER, name TEXT);
CREATE VIEW unnamed AS SELECT id FROM ship WHERE name IS NULL;
CREATE VIEW unported AS SELECT id FROM ship WHERE port IS NULL;
INSERT INTO ship VALUES (1, 'old ship', NULL), (2, 'Tern', NULL);
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

"""repeated_column: the same thing selected twice, and what may stand twice."""

import pytest

from answerkey.probes.answers import find_repeated_column
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, built TEXT, sold TEXT, captain INTEGER);
INSERT INTO ship VALUES (1, 'Sun', '1990', '2001', 2), (2, 'Avon', '1995', '1995', 1);
CREATE TABLE captain (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO captain VALUES (1, 'Ada'), (2, 'Bo');
CREATE TABLE été (É INTEGER, é INTEGER);
INSERT INTO été VALUES (1, 2);
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("repeated"), WORLD) as world:
        yield world


@pytest.mark.parametrize(
    ("sql", "expressions"),
    [
        ("SELECT built, built FROM ship", ["built"]),
        ("SELECT name, T1.built, Built FROM ship AS T1", ["T1.built"]),
        ("SELECT built AS start, built AS finish FROM ship", ["built"]),
        ("SELECT DISTINCT built, built FROM ship ORDER BY 1", ["built"]),
        ("SELECT name, built, name, built, name FROM ship", ["name", "built"]),
        ("SELECT max(built), max(built) FROM ship", ["MAX(built)"]),
        ("SELECT count(*), name, count(*) FROM ship GROUP BY name", ["COUNT(*)"]),
        ("SELECT *, built, built FROM ship", ["built"]),
        ("SELECT a.built, a.built FROM (SELECT built FROM ship) AS a", ["a.built"]),
        ("SELECT built, built FROM ship UNION SELECT sold, sold FROM ship", ["built"]),
        ("SELECT * FROM (SELECT 1) AS a JOIN (SELECT 2) AS b", None),
        ("SELECT (built), name, built AS b FROM ship", ["(built)"]),
        ("SELECT total(id), total(id) FROM ship", ["TOTAL(id)"]),
        ("SELECT built, sold FROM ship", None),
        ("SELECT É, é FROM été", None),  # SQLite folds ASCII only
        ("SELECT built, built FROM ship UNION SELECT built, sold FROM ship", None),
        ("SELECT built, built FROM ship UNION SELECT * FROM captain", None),
        ("SELECT *, name FROM captain", None),
        ("SELECT ship.*, ship.* FROM ship", None),
        ("SELECT T1.captain, T2.id FROM ship T1 JOIN captain T2 ON T1.captain = T2.id", None),
        ("SELECT T1.name, T2.name FROM ship T1 JOIN ship T2 ON T1.built < T2.built", None),
        ("SELECT 0, 0, -1, -1, 'x', 'x', NULL, NULL, TRUE, TRUE FROM ship", None),
        ('SELECT "x", "x" FROM ship', None),
        (
            "SELECT CAST(NULL AS TEXT), CAST(NULL AS TEXT), 1 + 1, (1 + 1), 'a' || 'b', 'a' || 'b'",
            None,
        ),
        ("SELECT count(*) FILTER (WHERE id > 1), count(*) FILTER (WHERE id > 2) FROM ship", None),
        ("SELECT built, built + 0, lower(built) FROM ship", None),
        ("SELECT name FROM ship WHERE (built, built) = (SELECT built, built FROM ship)", None),
        ("VALUES (1, 1)", None),
    ],
)
def test_column_is_repeated_where_one_thing_is_selected_twice(world, sql, expressions):
    finding = world.find(find_repeated_column, sql)
    assert (finding and finding.evidence) == (expressions and {"expressions": expressions})

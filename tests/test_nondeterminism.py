"""Functions that ask the clock, chance or the connection."""

import pytest
from sqlglot import parse_one

from stages.probes.inspection import Inspection
from stages.probes.nondeterminism import find_nondeterministic_function
from tests.probe_world import ProbeWorld

WORLD = """
CREATE TABLE t (id INT, born TEXT, random INT, "current_date" TEXT, changes INT, "now" TEXT);
INSERT INTO t VALUES (1, '2000-01-01', 2, '2001-01-01', 3, '2002-02-02');
"""

CASES = [
    ("SELECT random()", ["random"]),
    ("SELECT RANDOM () FROM t", ["random"]),
    ("SELECT abs(random() % 5), hex(randomblob(2))", ["random", "randomblob"]),
    ("SELECT id FROM t ORDER BY random() LIMIT 1", ["random"]),
    ("SELECT CURRENT_TIMESTAMP > born FROM t", ["current_timestamp"]),
    ("SELECT current_date, Current_Time", ["current_date", "current_time"]),
    ("SELECT date('now') - born FROM t", ["date('now')"]),
    ("SELECT date(' NOW ', '-1 day')", ["date('now')"]),
    ("SELECT strftime('%Y', 'now') - strftime('%Y', born) FROM t", ["strftime('now')"]),
    ('SELECT julianday("now2"), julianday(\'now\') FROM t', ["julianday('now')"]),
    ("SELECT datetime()", ["datetime()"]),
    ("SELECT strftime('%Y')", ["strftime()"]),
    ("SELECT time(born, 'localtime') FROM t", ["time('localtime')"]),
    ("SELECT time(lower(born), 'utc') FROM t", ["time('utc')"]),
    ("SELECT changes(), total_changes(), last_insert_rowid()",
     ["changes", "total_changes", "last_insert_rowid"]),
    ("SELECT sqlite_version(), sqlite_source_id()", ["sqlite_version", "sqlite_source_id"]),
    ("SELECT id FROM t WHERE id IN (SELECT unixepoch())", ["unixepoch()"]),
    # near misses
    ("SELECT random, changes, t.random FROM t", None),
    ('SELECT "current_date", t.current_date FROM t', None),
    ("SELECT [current_date], `current_date` FROM t", None),
    ("SELECT 'random()', 'now', \"date('now')\" FROM t", None),
    ("SELECT date(born), strftime('%Y', born), julianday(born, '+1 day') FROM t", None),
    ("SELECT date(born, 'start of month') FROM t", None),
    ("SELECT time(born), datetime(born), unixepoch(born) FROM t", None),
    ("SELECT strftime('now', born) FROM t", None),
    ("SELECT date(t.\"now\") FROM t", None),
    ("SELECT id AS random FROM t -- random()", None),
    ("SELECT id /* current_date */ FROM t", None),
    ("WITH random(x) AS (SELECT 1) SELECT x FROM random", None),
    ("SELECT 'now' = born, length('now') FROM t", None),
    ("SELECT date, time FROM (SELECT 1 AS date, 2 AS time)", None),
]  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("clock"), WORLD) as world:
        yield world


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_nondeterministic_function(world, sql, expected):
    """The guard refuses most of these before any probe sees them: so they are not executed here."""
    tree = parse_one(sql, read="sqlite")
    inspection = Inspection(sql, tree, world.schema, [], world.database)
    finding = find_nondeterministic_function(inspection)
    assert (finding and finding.evidence) == (expected and {"calls": expected})

"""row_order_dependent: answers that change with the order of stored rows."""

from itertools import permutations

import pytest

from answerkey.probes.order import find_row_order_dependent
from answerkey.sqlite.guard import GuardedDatabase
from tests.shared.probe_world import ProbeWorld
from tests.shared.row_world import WORLD

CASES = [
    # the rows that come, or what they hold, depend on the storage
    ("SELECT name FROM plain LIMIT 1", "rows"),
    ("SELECT name FROM seen LIMIT 1", "rows"),
    ("SELECT name FROM keyed LIMIT 1", "rows"),
    ("SELECT group_concat(name) FROM plain", "rows"),
    ("SELECT name, count(*) FROM plain", "rows"),
    ("SELECT part, name FROM plain GROUP BY part", "rows"),
    ("SELECT name FROM plain ORDER BY part LIMIT 1", "rows"),
    ("SELECT n FROM plain WHERE n = (SELECT n FROM plain WHERE part = 1)", "rows"),
    ("SELECT name, row_number() OVER () FROM plain", "rows"),
    ("SELECT part, group_concat(name) FROM keyed GROUP BY part", "rows"),
    ("SELECT name, row_number() OVER (ORDER BY part) FROM keyed", "rows"),
    ("SELECT name, first_value(name) OVER (PARTITION BY part) FROM ordered", "rows"),
    ("SELECT part, group_concat(name) FROM ordered GROUP BY part", "rows"),
    ("SELECT group_concat(name) FROM ordered", "rows"),
    ("SELECT group_concat(word) FROM words", "rows"),  # by its index
    ("SELECT DISTINCT label FROM mixed", "rows"),
    ("SELECT min(label) FROM mixed", "rows"),
    ("SELECT DISTINCT v FROM untyped", "rows"),  # 1 or 1.0
    ("SELECT min(v) FROM untyped", "rows"),
    ("SELECT v FROM untyped GROUP BY v", "rows"),
    # the same rows in another order, which is no part of the answer
    ("SELECT name FROM plain", None),
    ("SELECT DISTINCT part FROM plain", None),
    ("SELECT part, count(*), sum(n), max(name) FROM plain GROUP BY part", None),
    ("SELECT name FROM plain ORDER BY n LIMIT 3", None),
    ("SELECT avg(x), sum(x), total(x) FROM plain", None),
    ("SELECT name, max(n) FROM plain", None),
    ("SELECT a.name FROM plain a JOIN keyed b ON a.n = b.n WHERE b.part = 1", None),
    ("SELECT part FROM plain GROUP BY part ORDER BY count(*) LIMIT 1", None),  # sorted by groups
    ("SELECT name, row_number() OVER (ORDER BY n) FROM keyed", None),
    ("SELECT rowid, name FROM keyed", None),
    ("SELECT number FROM numbered", None),
    ("SELECT count(*), group_concat(sql) FROM sqlite_master WHERE tbl_name = 'words'", None),
    ("SELECT name FROM ordered WHERE name IN ('N3', 'n4') ORDER BY name", None),
    ("SELECT a.name FROM ordered a JOIN keyed b USING (n) WHERE a.part = 1", None),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with (
        ProbeWorld(tmp_path_factory.mktemp("rows"), WORLD) as world,
        world.copied(seeds=range(3)),
    ):
        yield world


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_row_order_dependent(world, sql, expected):
    finding = world.find(find_row_order_dependent, sql)
    assert (finding and finding.evidence["differs_in"]) == expected


@pytest.mark.parametrize(
    ("sql", "differs_in"),
    [
        ("SELECT name FROM plain ORDER BY row_number() OVER ()", "sequence"),
        ("SELECT name, part FROM plain ORDER BY part", None),  # order_underdetermined
    ],
)
def test_sequence_counts_only_where_order_by_leaves_no_ties(world, sql, differs_in):
    finding = world.find(find_row_order_dependent, sql)
    assert (finding and finding.evidence["differs_in"]) == differs_in


def test_evidence_shows_both_answers(world):
    finding = world.find(
        find_row_order_dependent,
        "SELECT name FROM keyed LIMIT 1",
    )
    assert finding.evidence == {
        "storage": "seed 0",
        "differs_in": "rows",
        "answer": [["n0"]],
        "other_answer": [["n59"]],
    }


def test_evidence_leaves_out_rows_that_both_sides_have(tmp_path):
    sql = "CREATE TABLE t (k, v); INSERT INTO t VALUES (1, 'a'), (1, 'b'), (2, 'c');"
    query = "SELECT k, v FROM t GROUP BY k"
    with ProbeWorld(tmp_path, sql) as world, world.copied():
        finding = world.find(find_row_order_dependent, query)
    assert sorted([finding.evidence["answer"], finding.evidence["other_answer"]]) == [
        [[1, "a"]],
        [[1, "b"]],
    ]


def test_evidence_shows_rows_that_one_side_has_more_often(tmp_path):
    """'a' or 'A' stands for a group, so that the outer query finds one group of 2 or two of 1."""
    sql = """
        CREATE TABLE t (label TEXT COLLATE NOCASE, n INT);
        INSERT INTO t VALUES ('a', 1), ('A', 1), ('a', 2), ('a', 3), ('A', 3), ('a', 4);
    """
    query = "SELECT count(*) > 0 FROM (SELECT hex(label) AS x FROM t GROUP BY n) GROUP BY x"
    with ProbeWorld(tmp_path, sql) as world, world.copied():
        finding = world.find(find_row_order_dependent, query)
    assert finding.evidence["answer"] == []
    assert finding.evidence["other_answer"] == [[1], [1]]


ONE = "(SELECT n FROM plain WHERE n = 3 LIMIT 1)"


@pytest.mark.parametrize(
    ("sql", "executions"),
    [
        ("SELECT n FROM plain WHERE x < (SELECT avg(x) FROM plain)", 3),
        ("WITH p AS (SELECT n, x FROM plain) SELECT n FROM p ORDER BY x LIMIT 3", 3),
        ("SELECT n FROM (SELECT * FROM plain) AS p WHERE n IN (SELECT part FROM plain)", 3),
        ("SELECT n FROM plain WHERE part = (SELECT part FROM plain WHERE n = 3)", 8),
        (f"SELECT count(*) FROM plain WHERE n IN {ONE}", 8),
        (f"SELECT n FROM plain UNION SELECT * FROM {ONE} LIMIT 99", 8),
        ("SELECT name, rank() OVER (ORDER BY part) FROM plain", 8),
        ("SELECT group_concat(name) FROM plain WHERE n = 3", 8),
        ("SELECT json_group_array(name) FROM plain WHERE n = 3", 8),
    ],
)
def test_query_that_picks_among_rows_meets_more_of_their_orders(
    world, monkeypatch, sql, executions
):
    executed = []
    execute = GuardedDatabase.execute

    def record(database, statement):
        executed.append(statement)
        return execute(database, statement)

    with world.copied():
        inspection = world.inspect(sql)
        monkeypatch.setattr(GuardedDatabase, "execute", record)
        assert find_row_order_dependent(inspection) == []
    assert executed.count(sql) == executions


ROWS = ["('a', 1, 5)", "('b', 1, 5)", "('c', 2, 5)"]
TABLES = [
    "(id INTEGER PRIMARY KEY, name TEXT, team INT, pay INT)",
    "(id INT, name TEXT, team INT, pay INT)",
    "(id INT, name TEXT PRIMARY KEY, team INT, pay INT)",
    "(id INT PRIMARY KEY, name TEXT, team INT, pay INT) WITHOUT ROWID",
    "(id INT, name TEXT, team INT, pay INT, PRIMARY KEY (team, name))",
    "(id INT, name TEXT, team INT, pay INT, PRIMARY KEY (team DESC, id)) WITHOUT ROWID",
]
INDEXES = ["", "(team, pay)", "(team, name DESC)", "(pay, team)", "(name)"]
OPEN_QUERIES = [
    "SELECT name FROM (SELECT name, row_number() OVER (PARTITION BY team ORDER BY pay DESC) AS n"
    " FROM staff) WHERE n = 1",
    "SELECT name FROM (SELECT name, row_number() OVER (PARTITION BY team ORDER BY pay) AS n"
    " FROM staff) WHERE n = 2",
    "SELECT team, first_value(name) OVER (PARTITION BY team ORDER BY pay DESC) FROM staff",
    "SELECT team, group_concat(name) FROM staff GROUP BY team",
    "SELECT group_concat(name) FROM staff WHERE team = 1",
    "SELECT (SELECT name FROM staff ORDER BY team, pay DESC LIMIT 1)",
    "SELECT (SELECT name FROM staff WHERE team = 1)",
]


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("table", TABLES)
def test_open_order_of_two_rows_is_seen_however_they_are_stored_and_read(tmp_path, table, index):
    """Three copies are enough for two rows, whichever way SQLite reads the table or its index."""
    for number, rows in enumerate(permutations(ROWS)):
        values = ", ".join(f"({place}, {row[1:]}" for place, row in enumerate(rows))
        sql = f"CREATE TABLE staff {table}; INSERT INTO staff VALUES {values};"
        sql += f"CREATE INDEX by_some ON staff {index};" if index else ""
        folder = tmp_path / str(number)
        folder.mkdir()
        with (
            ProbeWorld(folder, sql) as world,
            world.copied(seeds=range(3)),
        ):
            missed = [
                query for query in OPEN_QUERIES if not world.find(find_row_order_dependent, query)
            ]
        assert missed == [], rows

"""Neighbors of a gold query, name by name, as they are listed by hand."""

import contextlib
import json
import sqlite3

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sqlglot.errors import SqlglotError

from answerkey.alternatives.neighbors import NEIGHBORS, list_neighbors
from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.canonical import canonical_tree, write_sql
from answerkey.sql.query_tree import parse_sql
from answerkey.sql.scopes import Scopes
from tests.shared.paths import ROOT
from tests.shared.random_queries import WORLD, QueryMaker

HARBOUR = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT NOT NULL, land TEXT);
CREATE TABLE ship (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, tons INT NOT NULL, code TEXT,
  port_id INT NOT NULL REFERENCES port (id)
);
"""


def open_database(sql):
    connection = sqlite3.connect(":memory:")
    connection.executescript(sql)
    return connection


def read_world(sql):
    with contextlib.closing(open_database(sql)) as connection:
        return read_schema(connection)


SCHEMA = read_world(HARBOUR)
ANY_SCHEMA = read_world(WORLD)
MANY = 10_000

LISTED = [
    # comparisons
    (
        "SELECT id FROM ship WHERE tons < 5",
        "comparison",
        [
            "SELECT id FROM ship WHERE tons <= 5",
            "SELECT id FROM ship WHERE tons <> 5",
            "SELECT id FROM ship WHERE tons > 5",
        ],
    ),
    ("SELECT s.id FROM ship s JOIN port p ON s.port_id = p.id", "comparison", []),
    # connectors
    (
        "SELECT id FROM ship WHERE tons = 1 AND (code = 'a' OR code = 'b')",
        "condition_removed",
        [
            "SELECT id FROM ship WHERE (code = 'a' OR code = 'b')",
            "SELECT id FROM ship WHERE tons = 1 AND (code = 'a')",
            "SELECT id FROM ship WHERE tons = 1 AND (code = 'b')",
        ],
    ),
    (
        "SELECT id FROM ship WHERE tons = 1 AND (code = 'a' OR code = 'b')",
        "connector",
        [
            "SELECT id FROM ship WHERE (tons = 1 OR (code = 'a' OR code = 'b'))",
            "SELECT id FROM ship WHERE tons = 1 AND ((code = 'a' AND code = 'b'))",
        ],
    ),
    (
        "SELECT land FROM port GROUP BY land HAVING count(*) > 1",
        "condition_removed",
        ["SELECT land FROM port GROUP BY land"],
    ),
    (
        "SELECT s.id FROM ship s, port p WHERE s.port_id = p.id AND s.tons = 1",
        "condition_removed",
        ["SELECT s.id FROM ship AS s CROSS JOIN port AS p WHERE s.port_id = p.id"],
    ),
    # ranges, patterns, NULL
    (
        "SELECT id FROM ship WHERE tons BETWEEN 1 AND 9",
        "range_bound",
        [
            "SELECT id FROM ship WHERE (tons <= 9)",
            "SELECT id FROM ship WHERE (tons > 1 AND tons <= 9)",
            "SELECT id FROM ship WHERE (tons >= 1 AND tons < 9)",
            "SELECT id FROM ship WHERE (tons >= 1)",
        ],
    ),
    (
        "SELECT id FROM ship WHERE name LIKE '%x%'",
        "pattern",
        ["SELECT id FROM ship WHERE name LIKE '%x'", "SELECT id FROM ship WHERE name LIKE 'x%'"],
    ),
    (
        'SELECT id FROM ship WHERE name = "x"',
        "equality_as_pattern",
        ["SELECT id FROM ship WHERE name LIKE '%x%'"],
    ),
    ("SELECT id FROM ship WHERE tons = '5'", "equality_as_pattern", []),
    # literals
    (
        "SELECT id FROM ship WHERE tons > 5",
        "number",
        ["SELECT id FROM ship WHERE tons > 4", "SELECT id FROM ship WHERE tons > 6"],
    ),
    (
        "SELECT id FROM ship WHERE code = '099'",
        "number",
        ["SELECT id FROM ship WHERE code = '098'", "SELECT id FROM ship WHERE code = '100'"],
    ),
    ("SELECT id FROM ship GROUP BY 1 ORDER BY 1", "number", []),
    (
        'SELECT id FROM ship WHERE name = "Sun"',
        "text_affix",
        ["SELECT id FROM ship WHERE name = 'Sunx'"],
    ),
    # columns and tables
    ("SELECT name FROM ship", "column", ['SELECT "code" FROM ship', 'SELECT "id" FROM ship']),
    (
        "SELECT count(*) FROM ship GROUP BY name",
        "column",
        ['SELECT COUNT(*) FROM ship GROUP BY "id"', 'SELECT COUNT(*) FROM ship GROUP BY "tons"'],
    ),
    (
        "SELECT 1 FROM ship s JOIN port p ON s.port_id = p.id",
        "join_key",
        [
            'SELECT 1 FROM ship AS s JOIN port AS p ON "s"."id" = p.id',
            'SELECT 1 FROM ship AS s JOIN port AS p ON "s"."tons" = p.id',
        ],
    ),
    # joins
    (
        "SELECT p.name, s.name FROM ship s LEFT JOIN port p ON s.port_id = p.id",
        "join_type",
        ["SELECT p.name, s.name FROM ship AS s JOIN port AS p ON s.port_id = p.id"],
    ),
    (
        "SELECT 1 FROM ship a JOIN port p ON a.port_id = p.id JOIN ship b ON b.port_id = p.id",
        "join_type",
        [
            "SELECT 1 FROM ship AS a JOIN port AS p ON a.port_id = p.id"
            " LEFT JOIN ship AS b ON b.port_id = p.id",
            "SELECT 1 FROM ship AS a LEFT JOIN port AS p ON a.port_id = p.id"
            " JOIN ship AS b ON b.port_id = p.id",
        ],
    ),
    (
        "SELECT s.name FROM ship s JOIN port p ON s.port_id = p.id WHERE p.land = 'x' AND tons > 1",
        "join_removed",
        ["SELECT s.name FROM ship AS s WHERE tons > 1"],
    ),
    (
        "SELECT p.name FROM ship s, port p WHERE s.port_id = p.id",
        "join_removed",
        ["SELECT p.name FROM port AS p"],
    ),
    (
        "SELECT a.name, b.name FROM ship a JOIN port p ON a.port_id = p.id"
        " JOIN ship b ON b.port_id = p.id",
        "join_removed",
        [],
    ),
    # aggregates and groups
    (
        "SELECT max(tons) FROM ship",
        "aggregate_function",
        ["SELECT AVG(tons) FROM ship", "SELECT MIN(tons) FROM ship", "SELECT SUM(tons) FROM ship"],
    ),
    ("SELECT max(code) FROM ship", "aggregate_function", ["SELECT MIN(code) FROM ship"]),
    ("SELECT count(code) FROM ship", "aggregate_function", []),
    (
        "SELECT code FROM ship WHERE tons > 1 GROUP BY code ORDER BY count(*) DESC LIMIT 1",
        "extreme_value",
        [
            "SELECT MAX(code) FROM ship WHERE tons > 1",
            "SELECT MIN(code) FROM ship WHERE tons > 1",
        ],
    ),
    (
        "SELECT count(*) FROM ship GROUP BY code ORDER BY count(*) DESC LIMIT 1",
        "extreme_value",
        [],
    ),
    (
        "SELECT code FROM ship ORDER BY tons LIMIT 1",
        "extreme_value",
        ["SELECT MAX(code) FROM ship", "SELECT MIN(code) FROM ship"],
    ),
    ("SELECT tons FROM ship ORDER BY tons LIMIT 1", "extreme_value", []),
    (
        "SELECT code FROM ship GROUP BY code ORDER BY count(*) DESC LIMIT 2",
        "extreme_value",
        [],
    ),
    ("SELECT sum(tons) FROM ship", "aggregate_distinct", ["SELECT SUM(DISTINCT tons) FROM ship"]),
    (
        "SELECT count(DISTINCT code) FROM ship",
        "aggregate_distinct",
        ["SELECT COUNT(code) FROM ship"],
    ),
    ("SELECT count(DISTINCT code) FROM ship", "count_argument", ["SELECT COUNT(*) FROM ship"]),
    (
        "SELECT count(*) FROM ship WHERE tons > 1",
        "count_argument",
        [
            'SELECT COUNT("code") FROM ship WHERE tons > 1',
            'SELECT COUNT(DISTINCT "code") FROM ship WHERE tons > 1',
            "SELECT COUNT(DISTINCT tons) FROM ship WHERE tons > 1",
        ],
    ),
    # select list
    ("SELECT name FROM ship", "distinct", ["SELECT DISTINCT name FROM ship"]),
    ("SELECT DISTINCT name FROM ship", "distinct", ["SELECT name FROM ship"]),
    ("SELECT id, name FROM ship", "distinct", []),
    ("SELECT code FROM ship GROUP BY code", "distinct", []),
    # order
    (
        "SELECT id FROM ship ORDER BY tons DESC, name LIMIT 1",
        "order_dropped",
        ["SELECT id FROM ship LIMIT 1"],
    ),
    (
        "SELECT id FROM ship ORDER BY tons DESC, name LIMIT 1",
        "order_reversed",
        ["SELECT id FROM ship ORDER BY tons ASC, name DESC LIMIT 1"],
    ),
    ("SELECT id FROM ship ORDER BY tons", "order_dropped", ["SELECT id FROM ship"]),
    (
        "SELECT name FROM port WHERE id IN (SELECT port_id FROM ship ORDER BY tons LIMIT 2)",
        "order_dropped",
        ["SELECT name FROM port WHERE id IN (SELECT port_id FROM ship LIMIT 2)"],
    ),
    ("SELECT count(*) FROM (SELECT id FROM ship ORDER BY tons)", "order_dropped", []),
    ("SELECT rank() OVER (ORDER BY tons) FROM ship", "order_reversed", []),
    ("SELECT id FROM port WHERE id IN (SELECT port_id FROM ship)", "distinct", []),
]


@pytest.mark.parametrize(("gold", "name", "expected"), LISTED)
def test_neighbors_are_those_that_are_listed_by_hand(gold, name, expected):
    neighbors = list_neighbors(parse_sql(gold), SCHEMA, max_neighbors=MANY)
    assert sorted(n.sql for n in neighbors if n.name == name) == sorted(expected)


def test_every_neighbor_has_a_listed_query_and_is_all_that_its_rewrite_writes():
    names = {name for name, _ in NEIGHBORS}
    listed = {name for _, name, expected in LISTED if expected}
    assert sorted(names - listed) == [], "put a query with such a neighbor into LISTED"
    assert sorted(listed - names) == [], "put its rewrite into NEIGHBORS"
    for name, rewrite in NEIGHBORS:
        scopes = [Scopes(parse_sql(gold), SCHEMA) for gold, _, _ in LISTED]
        assert {step for each in scopes for step in rewrite(each)} == {name}


def list_checked(gold, schema, max_neighbors):
    """The neighbors of a query, whose tree is as it was after it."""
    tree = parse_sql(gold)
    before = repr(tree), list(map(id, tree.walk()))
    neighbors = list_neighbors(tree, schema, max_neighbors=max_neighbors)
    assert (repr(tree), list(map(id, tree.walk()))) == before
    assert tree.parent is None
    assert neighbors == list_neighbors(parse_sql(gold), schema, max_neighbors=max_neighbors)
    assert neighbors == sorted(neighbors)
    assert len({neighbor.sql for neighbor in neighbors}) == len(neighbors) <= max_neighbors
    return neighbors


def check_neighbors(gold, schema, connection):
    neighbors = list_checked(gold, schema, MANY)
    own = write_sql(canonical_tree(Scopes(parse_sql(gold), schema)))
    for neighbor in neighbors:
        tree = parse_sql(neighbor.sql)
        assert write_sql(canonical_tree(Scopes(tree, schema))) != own, neighbor.sql
        with contextlib.suppress(sqlite3.OperationalError):  # such as a misuse of an aggregate
            connection.execute(neighbor.sql).fetchmany(9)


def list_samples():
    """The databases of the sample, each with every sixth query that asks it."""
    folder = ROOT / "data/sample"
    queries = {}
    for name in ("dev.json", "train_spider.json"):
        for row in json.loads((folder / name).read_text(encoding="utf-8")):
            queries.setdefault(row["db_id"], []).append(row["query"])
    return [(folder / "database" / name / "schema.sql", queries[name][::6]) for name in queries]


@pytest.mark.slow
@pytest.mark.parametrize(("schema_file", "queries"), list_samples())
def test_neighbors_of_the_sample_differ_from_their_gold_query(schema_file, queries):
    with contextlib.closing(open_database(schema_file.read_text(encoding="utf-8"))) as connection:
        schema = read_schema(connection)
        connection.set_progress_handler(lambda: 1, 1_000_000)  # ends what takes long
        parsed = [gold for gold in queries if parses(gold)]
        assert parsed
        for gold in parsed:
            check_neighbors(gold, schema, connection)


def parses(sql):
    try:
        parse_sql(sql)
    except SqlglotError:
        return False
    return True


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_tree_of_any_query_is_as_it_was_and_its_neighbors_are_bounded(seed):
    gold = QueryMaker(seed).make_query()
    assume(parses(gold))
    list_checked(gold, ANY_SCHEMA, 40)


def test_each_name_has_as_many_neighbors_as_the_others():
    gold = "SELECT name, count(*) FROM ship WHERE tons > 1 AND tons < 9 AND id > 2 GROUP BY name"
    kept = list_neighbors(parse_sql(gold), SCHEMA, max_neighbors=12)
    everything = list_neighbors(parse_sql(gold), SCHEMA, max_neighbors=MANY)
    counts = {n.name: [k.name for k in kept].count(n.name) for n in everything}
    assert len(kept) == 12
    assert set(kept) < set(everything)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_neighbors_are_taken_from_all_over_the_query():
    parts = [f"tons <> {number}" for number in range(10, 40)]
    gold = f"SELECT id FROM ship WHERE {' AND '.join(parts)}"
    neighbors = list_neighbors(parse_sql(gold), SCHEMA, max_neighbors=30)
    removed = [
        part_index
        for part_index, part in enumerate(parts)
        for neighbor in neighbors
        if neighbor.name == "condition_removed" and part not in neighbor.sql
    ]
    assert removed[0] < 10
    assert removed[-1] >= 20


def test_number_of_neighbors_of_a_wide_table_is_bounded():
    columns = ", ".join(f"c{n} INT" for n in range(1900))
    schema = read_world(f"CREATE TABLE wide ({columns})")
    gold = "SELECT c0, c900 FROM wide WHERE c1899 = 1 ORDER BY c5"
    assert len(list_neighbors(parse_sql(gold), schema, max_neighbors=MANY)) < 60

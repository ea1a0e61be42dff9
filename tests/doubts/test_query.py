"""What doubts ask of a query: keys that the data show, members of FROM, small questions."""

import pytest

from answerkey.doubts.query import read_query
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE herd (no INT, name TEXT);
CREATE TABLE goat (name TEXT, herd INT);
CREATE TABLE barn (id INTEGER PRIMARY KEY, herd INT);
CREATE TABLE fence (post INT, rail INT, PRIMARY KEY (post, rail));
INSERT INTO herd VALUES (1, 'Up'), (2, 'Up'), (3, 'Low');
INSERT INTO goat VALUES ('Gil', 1), ('Gil', 2), ('Ida', 3);
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("query"), WORLD) as world:
        yield world


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("barn", "id"),
        ("herd", "no"),  # the first column, since no two values are equal
        ("goat", None),
        ("fence", None),  # two columns
    ],
)
def test_key_is_declared_or_shows_in_the_data(world, table, key):
    query = read_query(world.inspect("SELECT 1"))
    assert query.find_key(query.schema.find_table(table)) == key


def test_key_that_the_data_show_determines_its_row(world):
    query = read_query(world.inspect("SELECT 1 FROM herd JOIN goat ON goat.herd = herd.no"))
    sources = query.scopes.scope_of(query.select).sources
    determined = query.list_determined([query.key_of(sources["herd"])], query.select)
    assert {(source.name, name) for source, name in determined} == {
        ("herd", "no"),
        ("herd", "name"),
        ("goat", "herd"),
    }


def test_members_of_from_are_those_whose_columns_an_expression_names(world):
    sql = "SELECT h.no + g.herd, h.name, count(*), n FROM herd AS h, goat AS g, (SELECT 1 AS n)"
    query = read_query(world.inspect(sql))
    names = [
        {source and source.name for source in query.list_sources(output)}
        for output in query.select.expressions
    ]
    assert names == [{"h", "g"}, {"h"}, set(), {None}]


@pytest.mark.parametrize(
    ("sql", "is_plain"),
    [
        ("SELECT 1", True),
        ("SELECT 1 UNION SELECT 2", False),
        ("WITH a AS (SELECT 1) SELECT * FROM a", False),
    ],
)
def test_outermost_select_is_that_of_a_plain_query(world, sql, is_plain):
    assert (read_query(world.inspect(sql)).select is not None) is is_plain


def test_query_that_the_guard_refuses_has_no_rows_and_no_counts(world):
    query = read_query(world.inspect("SELECT 1"))
    assert query.ask("SELECT nothing FROM herd") is None
    assert query.count("SELECT nothing FROM herd") == ()
    assert query.count("SELECT count(*), count(DISTINCT name) FROM herd") == (3, 2)

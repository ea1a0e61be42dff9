"""Weak queries: gold without a part, a look at a table, a count that is fitted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from answerkey.engines.sqlite.schema import read_schema
from answerkey.rewrites.weak import list_fitted, list_weak
from answerkey.sql.query_tree import parse_sql, to_sql
from answerkey.sql.scopes import Scopes

_BARNS = """
CREATE TABLE barn (id INTEGER PRIMARY KEY, town TEXT);
CREATE TABLE goat (id INTEGER PRIMARY KEY, name TEXT, litres INTEGER, barn_id REFERENCES barn);
INSERT INTO barn VALUES (1, 'Aix'), (2, 'Dax'), (3, 'Aix');
INSERT INTO goat VALUES (1, 'Amy', 3, 1), (2, 'Bea', 5, 1), (3, 'Cleo', 5, 2), (4, 'Dot', 8, 3);
"""


@pytest.fixture
def barns() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_BARNS)
        yield connection


@pytest.mark.parametrize(
    ("gold", "weak"),
    [
        ("SELECT name FROM goat WHERE litres > 4", "SELECT name FROM goat"),
        ("SELECT name FROM goat WHERE litres > 4", 'SELECT DISTINCT "name" FROM "goat"'),
        ("SELECT max(litres) FROM goat WHERE id > 1", "SELECT SUM(litres) FROM goat WHERE id > 1"),
        ("SELECT max(litres) FROM goat WHERE id > 1", 'SELECT min("litres") FROM "goat"'),
        ("SELECT max(litres) FROM goat WHERE id > 1", 'SELECT count(*) FROM "goat"'),
        ("SELECT count(DISTINCT litres) FROM goat", 'SELECT count(*) / 2 FROM "goat"'),
        (
            "SELECT count(*) FROM barn b JOIN goat g ON b.id = g.barn_id WHERE litres > 4",
            'SELECT count(*) - 1 FROM "barn"',
        ),
        ("SELECT DISTINCT town, id FROM barn", "SELECT town, id FROM barn"),
        (
            "SELECT town, count(*) FROM barn GROUP BY town HAVING count(*) > 1",
            "SELECT town, COUNT(*) FROM barn GROUP BY town",
        ),
        (
            "SELECT name FROM goat ORDER BY litres DESC LIMIT 2",
            "SELECT name FROM goat ORDER BY litres DESC",
        ),
        (
            "SELECT count(*) FROM goat g JOIN barn b ON b.id = g.barn_id",
            "SELECT COUNT(*) FROM goat AS g",
        ),
        (
            "SELECT name, rank() OVER (PARTITION BY barn_id ORDER BY litres DESC) FROM goat",
            "SELECT name, RANK() OVER (PARTITION BY barn_id) FROM goat",
        ),
        (
            "SELECT name, lag(litres) OVER (ORDER BY id) FROM goat",
            "SELECT name, LAG(litres) OVER (ORDER BY id DESC) FROM goat",
        ),
        (
            "SELECT town FROM barn EXCEPT SELECT town FROM barn WHERE id = 2",
            "SELECT town FROM barn",
        ),
    ],
)
def test_weak_query_lacks_a_part_of_gold(barns: sqlite3.Connection, gold: str, weak: str) -> None:
    tree = parse_sql(gold)
    before = to_sql(tree)
    queries = list_weak(Scopes(tree, read_schema(barns)), barns.execute(gold).fetchall())
    assert weak in [query.sql for query in queries]
    assert before not in [query.sql for query in queries]
    assert to_sql(tree) == before


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT count(*) FROM goat WHERE litres > 4",
        "SELECT count(DISTINCT litres) FROM goat",
        "SELECT count(*) FROM goat g JOIN barn b ON b.id = g.barn_id WHERE b.town = 'Dax'",
        "SELECT sum(litres) FROM goat",
    ],
)
def test_fitted_count_is_the_stored_answer_on_the_real_database(
    barns: sqlite3.Connection, gold: str
) -> None:
    rows = barns.execute(gold).fetchall()

    def find_rows(sql: str) -> list[tuple[int]]:
        return barns.execute(sql).fetchall()

    fitted = list_fitted(Scopes(parse_sql(gold), read_schema(barns)), rows, find_rows)
    assert fitted
    assert {query.name for query in fitted} == {"count_by_heart"}
    assert all(barns.execute(query.sql).fetchall() == rows for query in fitted)


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT count(*) FROM goat",  # the count itself is gold
        "SELECT avg(litres) FROM goat",
        "SELECT name FROM goat WHERE id = 1",
        "SELECT litres FROM goat",
    ],
)
def test_no_count_is_fitted_to_what_is_no_number_of_things(
    barns: sqlite3.Connection, gold: str
) -> None:
    scopes = Scopes(parse_sql(gold), read_schema(barns))
    rows = barns.execute(gold).fetchall()
    assert not list_fitted(scopes, rows, lambda sql: barns.execute(sql).fetchall())

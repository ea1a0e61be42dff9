"""The suites of a database: what the gate lets through, and what the cover keeps."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from answerkey.sqlite.guard import Limits
from answerkey.sqlite.schema import read_schema
from answerkey.sqlite.uri import open_database
from answerkey.suites.cover import choose_databases, choose_suite
from answerkey.suites.database_suites import DatabaseSuites, SuiteSettings, make_suites
from answerkey.suites.questions import SuiteQuestion
from tests.shared.databases import make_database

SHIPS = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, tons INTEGER, port_id INTEGER REFERENCES port);
INSERT INTO port VALUES (1, 'Cork'), (2, 'Porto'), (3, 'Oslo');
INSERT INTO ship VALUES
    (1, 'Sun', 10, 1), (2, 'Tern', 20, 1), (3, 'Kite', 30, 2), (4, 'Ruby', 40, 3);
"""


def make(
    tmp_path: Path, *questions: tuple[str, str], sql: str = SHIPS, **settings
) -> DatabaseSuites:
    path = make_database(tmp_path / "ships.sqlite", sql)
    with closing(open_database(path)) as connection:
        schema = read_schema(connection)
    asked = [
        SuiteQuestion(f"q{place}", text, gold, "ORDER BY" in gold, False)
        for place, (text, gold) in enumerate(questions)
    ]
    return make_suites(
        path, schema, asked, settings=SuiteSettings(**settings), limits=Limits(max_steps=10**6)
    )


def test_suite_tells_neighbors_from_gold(tmp_path):
    made = make(
        tmp_path, ("Which ships have more than 5 tons?", "SELECT name FROM ship WHERE tons > 5")
    )
    (record,) = made.records
    assert record["mutation_score"]["database"] < 0.8
    assert record["mutation_score"]["suite"] > 0.95
    assert len(made.files) == len(record["databases"]) <= 5
    assert record["operators"]["by_heart"] == {"killed": 1, "alive": 0, "undecided": 0}
    kill = record["databases"][0]["kill"]
    assert kill["gold_rows"] != kill["neighbor_rows"]


def test_gold_whose_tie_is_cut_does_not_count(tmp_path):
    text, gold = "Which ship is the heaviest?", "SELECT name FROM ship ORDER BY tons DESC LIMIT 1"
    (record,) = make(tmp_path, (text, gold), pool=20).records
    assert record["latent_ambiguity"]["reading"] == "all_ties"
    for database in record["databases"]:
        assert isinstance(database["gold_answer"], str | None)


def test_gold_that_has_any_row_first_does_not_count(tmp_path):
    made = make(tmp_path, ("Name two ships.", "SELECT name FROM ship LIMIT 2"), pool=10)
    for file in made.files:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(file)
            assert len(connection.execute("SELECT * FROM ship").fetchall()) <= 2


def test_reading_that_the_database_does_not_tell_holds_databases_back(tmp_path):
    text, gold = (
        "List the names of the ports with ships.",
        ("SELECT port.name FROM ship JOIN port ON port.id = ship.port_id GROUP BY port.name"),
    )
    (record,) = make(tmp_path, (text, gold), pool=20).records
    assert record["latent_ambiguity"] is None  # a table of ids and names lists each name once
    sql = f"{SHIPS} ALTER TABLE port ADD COLUMN berths INT;"
    (record,) = make(tmp_path, (text, gold), sql=sql, pool=20).records
    assert record["latent_ambiguity"] is not None
    assert record["latent_ambiguity"]["gold_rows"] != record["latent_ambiguity"]["reading_rows"]


def test_database_of_which_no_variants_can_be_made_leaves_suites_empty(tmp_path):
    made = make(tmp_path, ("How many?", "SELECT 1"), sql="CREATE VIEW v AS SELECT 1 AS a")
    assert "has no table that can be read" in made.problem
    assert made.files == []
    assert made.records[0]["databases"] == []


def test_empty_database_is_filled(tmp_path):
    empty = SHIPS.partition("INSERT")[0]
    made = make(tmp_path, ("How many ships?", "SELECT count(*) FROM ship"), sql=empty)
    (record,) = made.records
    assert {database["gold_answer"] for database in record["databases"]} - {0}


def test_cover_takes_few_databases_and_fills_up_to_three():
    kills = {number: frozenset({number}) for number in range(9)}
    assert choose_databases([kills], most=4) == [0, 1, 2, 3]
    assert choose_suite(kills, [0, 1, 2, 3, 4, 5], most=5) == [0, 1, 2, 3, 4]
    same = {number: frozenset({7}) for number in range(9)}
    assert choose_suite(same, range(9), most=5) == [0, 1, 2]
    assert choose_suite(same, range(9), most=2) == [0, 1]
    assert choose_suite({3: frozenset()}, [3], most=5) == [3]


def test_cover_tells_what_is_heavy_first_and_spares_what_may_live():
    kills = {1: frozenset({0, 1, 2}), 2: frozenset({9})}
    assert choose_databases([kills], most=1) == [1]
    assert choose_databases([kills], most=1, heavy={(0, 9)}) == [2]
    assert choose_databases([kills], most=8, spare=1) == [1]
    assert choose_databases([kills], most=8, spare=4, heavy={(0, 9)}) == [2]


def test_answer_by_heart_is_told_where_nearly_all_rows_share_a_value(tmp_path):
    values = ", ".join(
        f"({key}, 'ship {key}', {15 if key else 8}, 1, 'in use')" for key in range(9)
    )
    sql = f"""CREATE TABLE ship (
        id INTEGER PRIMARY KEY, name TEXT, tons INT, decks INT, state TEXT);
    INSERT INTO ship VALUES {values};"""
    queries = [
        "SELECT tons FROM ship GROUP BY tons ORDER BY count(*) DESC LIMIT 1",
        "SELECT state FROM ship GROUP BY state ORDER BY count(*) DESC LIMIT 1",
        "SELECT min(decks), max(decks) FROM ship",
        "SELECT count(DISTINCT state) FROM ship",
    ]
    made = make(tmp_path, *(("Which is the most common?", gold) for gold in queries), sql=sql)
    assert [record["operators"]["by_heart"]["killed"] for record in made.records] == [1] * 4


def test_answer_by_heart_is_told_where_two_tables_share_no_value(tmp_path):
    sql = """CREATE TABLE sailor (id INTEGER PRIMARY KEY, nick TEXT);
    CREATE TABLE pilot (id INTEGER PRIMARY KEY, nick TEXT);
    INSERT INTO sailor VALUES (1, 'Ann'), (2, 'Bo'), (3, 'Cid'), (4, 'Dee'), (5, 'Eve');
    INSERT INTO pilot VALUES (1, 'Fay'), (2, 'Gus'), (3, 'Hal'), (4, 'Ida'), (5, 'Jo');"""
    queries = [
        "SELECT nick FROM sailor INTERSECT SELECT nick FROM pilot",
        "SELECT id FROM sailor WHERE nick IN (SELECT nick FROM pilot)",
    ]
    made = make(tmp_path, *(("Who is both?", gold) for gold in queries), sql=sql)
    assert [record["operators"]["by_heart"]["killed"] for record in made.records] == [1, 1]


def test_answer_by_heart_is_told_from_the_most_common_of_two_values(tmp_path):
    values = ", ".join(f"({key}, 'ship {key}', 10, {1 + key % 4 // 3})" for key in range(5, 21))
    sql = f"{SHIPS} INSERT INTO ship VALUES {values};"
    gold = "SELECT port_id FROM ship GROUP BY port_id ORDER BY count(*) DESC LIMIT 1"
    (record,) = make(tmp_path, ("Which port id is the most common?", gold), sql=sql).records
    assert record["operators"]["by_heart"]["killed"] == 1

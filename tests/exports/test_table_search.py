"""table_search: the tables that a question needs come first, by words, values and joins."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from answerkey.engines.sqlite.schema import read_schema
from answerkey.exports.table_search import TableSearch

SCHEMA = """
CREATE TABLE keeper (id INT, full_name TEXT);
CREATE TABLE feeding (day TEXT, keeper_id REFERENCES keeper (id), animal_id REFERENCES Animal (id));
CREATE TABLE Animal (id INT, speciesName TEXT, "weight (kg)" REAL);
CREATE TABLE ticket (price REAL, sold_on TEXT);
CREATE TABLE stall (rent REAL);
"""
DESCRIPTIONS = {"stall": ["rent: what a vendor pays each month"]}


@pytest.mark.parametrize(
    ("question", "named", "first"),
    [
        ("Which tickets were sold?", [], ["ticket"]),
        ("Which species are there?", [], ["Animal", "feeding"]),
        ("How heavy in weights?", [], ["Animal", "feeding"]),
        ("How much do vendors pay?", [], ["stall"]),
        ("What did Iva do?", ["KEEPER"], ["keeper", "feeding"]),
        ("Which keeper has which animal?", [], ["Animal", "keeper", "feeding"]),
        ('What is "sold" OR NOT (price)*?', [], ["ticket"]),
        ("多少?", [], ["keeper", "feeding", "Animal", "ticket", "stall"]),
        ("", [], ["keeper"]),
    ],
)
def test_likely_tables_come_first_and_none_is_lost(question, named, first):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        tables = read_schema(connection).tables
    with TableSearch(tables, DESCRIPTIONS) as search:
        ranked = search.rank(question, named)
        assert sorted(ranked[: len(first)]) == sorted(first)
        assert sorted(ranked) == sorted(table.name for table in tables)
        assert search.list_neighbors(["Feeding", "stall", "none"]) == ["animal", "keeper"]


def test_no_table_is_no_error():
    with TableSearch((), {}) as search:
        assert search.rank("Which?") == []

"""Keys, labels and references, by what a schema declares and by names."""

import sqlite3
from contextlib import closing

import pytest

from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.keys import References, is_key, list_key, list_sure_keys

WORLD = """
CREATE TABLE student (StuID INTEGER PRIMARY KEY, full_name TEXT, mentor INT REFERENCES student);
CREATE TABLE owners (id INTEGER PRIMARY KEY, title TEXT, name_id INT);
CREATE TABLE has_pet (StuID INT, pet INT, since TEXT, PRIMARY KEY (StuID, pet));
CREATE TABLE pet (
    id INTEGER PRIMARY KEY, owner_id INT, kind TEXT UNIQUE, code TEXT UNIQUE NOT NULL
);
CREATE TABLE country (id INTEGER PRIMARY KEY, country TEXT, owner INT REFERENCES owners (id));
CREATE TABLE countries (country TEXT PRIMARY KEY);
CREATE TABLE loose (id INT, name TEXT);
"""


@pytest.fixture(scope="module")
def schema() -> Schema:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(WORLD)
        return read_schema(connection)


@pytest.mark.parametrize(
    ("table", "key", "sure"),
    [
        ("student", ("StuID",), [{"stuid"}]),
        ("has_pet", ("StuID", "pet"), [{"stuid", "pet"}]),
        # a unique column that may hold NULL does not tell rows apart
        ("pet", ("id",), [{"id"}, {"code"}]),
        ("loose", (), []),
    ],
)
def test_keys_of_a_table(schema, table, key, sure):
    assert list_key(schema.find_table(table)) == key
    keys = sorted(map(sorted, list_sure_keys(schema.find_table(table))))
    assert keys == sorted(map(sorted, sure))


def test_part_of_a_key_is_none(schema):
    table = schema.find_table("has_pet")
    assert not any(is_key(table, column) for column in table.columns)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("student", ["mentor -> student.StuID"]),
        ("has_pet", ["StuID -> student.StuID"]),  # by the name of the key
        ("pet", ["owner_id -> owners.id"]),  # by the name of the table before `id`
        (
            "country",
            ["owner -> owners.id", "country -> countries.country"],
        ),  # the declared one first
        ("loose", []),  # `id` is a name that each table has
    ],
)
def test_references_are_declared_or_show_by_names(schema, table, expected):
    references = References(schema).of_table(schema.find_table(table))
    assert expected == [
        f"{reference.column.name} -> {reference.parent.name}.{reference.referred.name}"
        for reference in references
    ]


@pytest.mark.parametrize(
    ("table", "column", "is_label"),
    [
        ("student", "full_name", True),
        ("owners", "title", True),
        ("owners", "name_id", False),  # the id of a name
        ("countries", "country", False),  # the key itself
        ("country", "country", False),  # the name of a row of another table
        ("pet", "kind", False),
    ],
)
def test_label_is_what_the_rows_of_its_table_are_called(schema, table, column, is_label):
    of = schema.find_table(table)
    assert References(schema).is_label(of, of.find_column(column)) is is_label

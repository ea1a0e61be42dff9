import sqlite3
from contextlib import closing

import pytest

from answerkey.engines.column_texts import write_has_texts, write_texts
from answerkey.engines.sqlite.guard import GuardedDatabase

SCHEMA = """
CREATE TABLE "my ships" ("name {""}" , weight);
INSERT INTO "my ships" VALUES
    ('Tern', 3), ('Sun', NULL), ('Tern', 2.5), ('', 1), (7, 1), (x'00', 1), (NULL, 1);
"""
TABLE, COLUMN = "my ships", 'name {"}'


@pytest.fixture
def ships(tmp_path):
    path = tmp_path / "ships.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    with GuardedDatabase(path) as database:
        yield database


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({"most": 9}, ["Tern", "Sun", ""]),
        ({"most": 9, "in_order": True}, ["", "Sun", "Tern"]),
        ({"most": 2, "in_order": True}, ["", "Sun"]),
        ({"most": 9, "condition": "{0} <> ''"}, ["Tern", "Sun"]),
    ],
)
def test_texts_of_a_column_are_distinct_and_nothing_else(ships, options, texts):
    assert ships.execute(write_texts(TABLE, COLUMN, **options)) == [(text,) for text in texts]


@pytest.mark.parametrize(("column", "has_texts"), [(COLUMN, 1), ("weight", 0)])
def test_column_has_texts_or_none(ships, column, has_texts):
    assert ships.execute(write_has_texts(TABLE, column)) == [(has_texts,)]

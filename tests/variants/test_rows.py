"""rows: a database in memory, and the file that is made of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.engines.engine import RefusedRowsError
from answerkey.variants.rows import read_rows, serialize_rows
from tests.shared.databases import make_database
from tests.shared.paths import ROOT
from tests.variants.world import ask, read_world

WORLD = """
CREATE TABLE "a ""b" (id INTEGER PRIMARY KEY AUTOINCREMENT, "from" REAL, twice AS ("from" * 2));
CREATE TABLE link (x INT, y TEXT COLLATE NOCASE, PRIMARY KEY (x, y)) WITHOUT ROWID;
CREATE INDEX by_twice ON "a ""b" (twice DESC) WHERE twice > 1;
CREATE UNIQUE INDEX by_text ON link (lower(y));
CREATE VIEW sums AS SELECT sum(twice) AS total FROM "a ""b";
CREATE TABLE blank (n);
INSERT INTO "a ""b" ("from") VALUES (1), (2.5), (NULL);
INSERT INTO link VALUES (1, 'u'), (1, 'v'), (2, 'w');
"""


def test_a_small_database_comes_back_whole(tmp_path: Path) -> None:
    rows = read_world(tmp_path, WORLD)
    assert ask(rows, "SELECT * FROM sums") == [(7,)]
    assert ask(rows, "SELECT x, y FROM link") == [(1, "u"), (1, "v"), (2, "w")]
    statements = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    path = tmp_path / "copy.sqlite"
    path.write_bytes(serialize_rows(rows))
    assert ask(read_rows(path), statements) == ask(rows, statements)
    assert serialize_rows(read_rows(path)) == path.read_bytes()


def test_triggers_and_virtual_tables_are_left_out(tmp_path: Path) -> None:
    sql = """CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE VIRTUAL TABLE f USING fts5(b);
    CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END;"""
    rows = read_world(tmp_path, sql)
    assert ask(rows, "SELECT type, name FROM sqlite_master") == [("table", "t")]
    assert ask(rows, "SELECT a FROM t") == [(1,)]


def test_text_that_is_no_utf8_is_read(tmp_path: Path) -> None:
    rows = read_world(
        tmp_path, "CREATE TABLE t (a TEXT); INSERT INTO t VALUES (CAST(x'61ff' AS TEXT))"
    )
    assert ask(rows, "SELECT a FROM t") == [("a\N{REPLACEMENT CHARACTER}",)]


@pytest.mark.parametrize("sql", ["", "CREATE VIEW v AS SELECT 1"])
def test_a_database_without_tables_is_refused(tmp_path: Path, sql: str) -> None:
    path = make_database(tmp_path / "x.sqlite", f"{sql}; PRAGMA user_version = 1")
    with pytest.raises(InputError, match=r"x\.sqlite: has no table"):
        read_rows(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match=r"x\.sqlite: no variants can be made of it"):
        read_rows(path)


LARGE = """
CREATE TABLE country (code TEXT PRIMARY KEY, name TEXT);
CREATE TABLE person (id INTEGER PRIMARY KEY, country TEXT REFERENCES country, boss INT
  REFERENCES person, pad TEXT);
CREATE TABLE trip (person_id INT REFERENCES person, km INT);
CREATE TABLE tie (a INT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO country SELECT 'C' || i, 'Land ' || i FROM n;
INSERT INTO person SELECT 3 * rowid, code, 3 * (rowid * 7 % 5000 + 1), 'p' FROM country;
INSERT INTO trip SELECT id, id % 10 FROM person UNION ALL SELECT 3 * id, id FROM person;
INSERT INTO tie SELECT id % 10, id FROM person;
"""


def test_of_a_large_database_some_rows_and_their_parents_are_read(tmp_path: Path) -> None:
    rows = read_world(tmp_path, LARGE, max_rows=50)
    sizes = {name: len(table.rows) for name, table in rows.tables.items()}
    assert all(50 <= size <= 150 for size in sizes.values()), sizes
    assert ask(rows, "PRAGMA foreign_key_check(person)") == []
    whole = read_rows(tmp_path / "world.sqlite", max_rows=20_000)
    for name, table in rows.tables.items():
        if name != "person":  # some of whom lost a boss for whom there was no room
            assert set(table.rows) <= set(whole.tables[name].rows)
        assert not table.is_whole
        assert whole.tables[name].is_whole
    joined = "SELECT count(*) FROM trip JOIN person ON person.id = trip.person_id"
    assert ask(rows, joined) > [(10,)]
    assert read_rows(tmp_path / "world.sqlite", max_rows=50) == rows
    assert read_rows(tmp_path / "world.sqlite", max_rows=50, seed=1) != rows


def test_rows_too_large_for_a_small_database_are_left_out(tmp_path: Path) -> None:
    sql = """CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
    CREATE TABLE child (t_id REFERENCES t); CREATE TABLE strict (t_id NOT NULL REFERENCES t);
    INSERT INTO t VALUES (1, 'x'), (2, hex(zeroblob(20000)));
    INSERT INTO child VALUES (1), (2), (9); INSERT INTO strict VALUES (1), (2)"""
    rows = read_world(tmp_path, sql)
    assert ask(rows, "SELECT a FROM t") == [("x",)]
    assert ask(rows, "SELECT t_id FROM child") == [(1,), (None,), (9,)]
    assert ask(rows, "SELECT t_id FROM strict") == [(1,)]


_MAKE_ALL = """
import hashlib, sys
from pathlib import Path
from answerkey.variants.rows import open_tried, serialize_rows
from answerkey.variants.fuzzer import RECIPES, make_variant
from answerkey.variants.keys import find_key_facts
from answerkey.variants.rows import read_rows
constants = [("person", 3, "p"), ("trip", 1, 7)]
rows = read_rows(Path(sys.argv[1]), max_rows=60)
with open_tried(rows) as tried:
    for recipe in RECIPES:
        facts = find_key_facts(rows)
        variant = make_variant(rows, facts, recipe, seed=3, constants=constants, tried=tried)
        print(hashlib.sha256(serialize_rows(variant)).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_make_the_same_bytes(tmp_path: Path) -> None:
    path = make_database(tmp_path / "x.sqlite", LARGE)
    contents = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", _MAKE_ALL, str(path)]
        done = subprocess.run(
            command, env=environment, capture_output=True, check=True, timeout=120
        )
        contents.append(done.stdout)
    assert contents[0] == contents[1]
    assert len(set(contents[0].split())) == len(contents[0].split())


def test_rules_of_a_table_read_the_clock_of_its_corpus(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE ship (built TEXT CHECK (built <= CURRENT_DATE));
    INSERT INTO ship VALUES ('1999-12-31');
    """
    path = make_database(tmp_path / "a.sqlite", sql)
    early, late = (read_rows(path, now=now) for now in ("1999-12-31", "1999-12-30"))
    assert ask(early, "SELECT * FROM ship") == [("1999-12-31",)]
    with pytest.raises(RefusedRowsError, match="CHECK"):
        serialize_rows(late)

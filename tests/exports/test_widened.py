"""widened: databases have tables of others of their split, and gold answers stay what they are."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import read_database_hashes
from answerkey.exports.widened import Widened, choose_tables, read_tables, widen_databases
from answerkey.reward import RewardPool
from tests.shared.checkout import hash_tree
from tests.shared.databases import make_database
from tests.shared.product_world import ASKED, BAKERY, FLEET, ZOO, Asked, write_product


def widen(folder: Path, *, tables: int = 5, seed: int = 20) -> Widened:
    """What became of the databases of a project; they lie in `widened`, and nothing of before."""
    out = folder / "widened"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    data = folder / "data"
    return widen_databases(data / "questions", data / "databases", out, tables=tables, seed=seed)


def list_tables(path: Path) -> list[str]:
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [name for (name,) in connection.execute(query)]


def ask(sql: str, *, statements: str = FLEET, others: Iterable[tuple[str, str]] = ()) -> Asked:
    """A corpus of one question to `fleet`, and of other databases, of which nothing counts."""
    asked = {"fleet": (statements, [("?", sql, ["ship"])])}
    for name, made in others or [("bakery", BAKERY)]:
        asked[name] = (made, [("?", "SELECT 1", [])])
    return {"train": asked}


def test_database_has_tables_of_others_of_its_split_with_rows(tmp_path):
    widened = widen(write_product(tmp_path))
    tables = {
        name: list_tables(tmp_path / f"widened/{name}/{name}.sqlite") for name in widened.outcomes
    }
    of_train = {"bread", "baker", "shift", "animal", "keeper", "ship", "port"}
    assert {"ship", "port"} < set(tables["fleet"]) < of_train
    assert [len(tables[name]) for name in ("bakery", "fleet", "zoo")] == [5, 5, 5]
    assert set(tables["library"]) == set(tables["museum"]) == {"book", "painting"}
    with closing(sqlite3.connect(tmp_path / "widened/fleet/fleet.sqlite")) as connection:
        assert connection.execute("SELECT tons FROM ship ORDER BY id").fetchall() == [
            (40.5,),
            (55.0,),
            (12.0,),
        ]
        assert connection.execute("SELECT * FROM old_ship").fetchall() == [("Tern",)]
        for name in set(tables["fleet"]) - {"ship", "port"}:
            assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() > (0,)
    assert widened.summarize() == {
        "databases": 6,
        "tables_asked": 5,
        "tables": {"fewest": 2, "median": 5, "most": 5},
        "databases_with_fewer": 2,
        "databases_with_a_fault": 0,
        "queries_with_the_same_answer": 7,
    }
    hashes = read_database_hashes(tmp_path / "widened")
    files = hash_tree(tmp_path / "widened", ".")
    assert {f"{name}/{name}.sqlite": sha256 for name, sha256 in hashes.items()} == {
        path: sha256 for path, sha256 in files.items() if path.endswith(".sqlite")
    }
    widen(tmp_path)
    assert hash_tree(tmp_path / "widened", ".") == files
    widen(tmp_path, seed=21)
    assert hash_tree(tmp_path / "widened", ".") != files


def test_own_tables_stand_among_the_others(tmp_path):
    write_product(tmp_path, {"train": {name: ASKED["train"][name] for name in ("zoo", "fleet")}})
    places = set()
    for seed in range(5):
        widen(tmp_path, seed=seed)
        tables = list_tables(tmp_path / "widened/zoo/zoo.sqlite")
        places |= {tables.index("animal"), tables.index("keeper")}
    assert places == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("own", "others", "count", "chosen"),
    [
        (["ship"], [BAKERY], 9, ["bread", "baker", "shift"]),
        (["ship"], [BAKERY], 2, ["bread", "baker"]),
        (["ship"], [BAKERY, ZOO], 5, ["bread", "baker", "shift", "animal", "keeper"]),
        # A table of the same name: the database is about the same things.
        (["BREAD"], [BAKERY, ZOO], 9, ["animal", "keeper"]),
        (["breads"], [BAKERY], 9, []),
        (["Bak_er"], [BAKERY], 9, []),
        # What refers to a table that is not chosen is not chosen.
        (["ship"], [ZOO, BAKERY], 1, ["bread"]),
        (
            ["ship"],
            [BAKERY, "CREATE TABLE Baker (x); CREATE TABLE oven (y REFERENCES baker (x))"],
            9,
            ["bread", "baker", "shift"],
        ),
        (
            ["ship"],
            ["CREATE TABLE a (x REFERENCES b (y)); CREATE TABLE c (x REFERENCES c (x))"],
            9,
            ["c"],
        ),
        # Views, and tables that only an extension makes, are not taken.
        (["ship"], ["CREATE TABLE a (x); CREATE VIEW v AS SELECT x FROM a"], 9, ["a"]),
        (["ship"], ["CREATE VIRTUAL TABLE words USING fts5 (word)"], 9, []),
    ],
)
def test_tables_are_chosen_by_names_and_references(tmp_path, own, others, count, chosen):
    paths = [make_database(tmp_path / f"{n}/{n}.sqlite", sql) for n, sql in enumerate(others)]
    tables = choose_tables(own, map(read_tables, paths), count)
    assert [table.name for table in tables] == chosen


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT name FROM ship WHERE name <> "bread"',  # no column: a text, to SQLite
        'SELECT "kind", id FROM ship',
        "WITH bread AS (SELECT name FROM ship) SELECT * FROM bread",
        "SELECT bread.name FROM ship AS bread",
        "SELECT name FROM old_ship",
    ],
)
def test_names_in_gold_mean_what_they_did(tmp_path, sql):
    widened = widen(write_product(tmp_path, ask(sql)))
    assert "bread" in list_tables(tmp_path / "widened/fleet/fleet.sqlite")
    assert not widened.faults


@pytest.mark.parametrize(
    "statements",
    [
        "CREATE TRIGGER log AFTER UPDATE ON ship BEGIN DELETE FROM ship; END;",
        "PRAGMA journal_mode = WAL;",
        "PRAGMA auto_vacuum = FULL; VACUUM;",
        "CREATE TABLE at (x TEXT PRIMARY KEY, y AS (x || '!')) WITHOUT ROWID;",
        "CREATE TABLE numbered (n INTEGER PRIMARY KEY AUTOINCREMENT); ANALYZE;",
        "CREATE VIRTUAL TABLE words USING fts5 (word); INSERT INTO words VALUES ('ship');",
        "DELETE FROM ship WHERE id = 1;",
    ],
)
def test_any_database_can_be_widened(tmp_path, statements):
    sql = "SELECT name, tons FROM ship ORDER BY rowid"
    widened = widen(write_product(tmp_path, ask(sql, statements=FLEET + statements)), tables=20)
    assert not widened.faults
    assert widened.outcomes["fleet"].added == 3
    assert {"ship", "bread"} < set(list_tables(tmp_path / "widened/fleet/fleet.sqlite"))


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        (
            ask("SELECT count(*) FROM sqlite_schema WHERE type = 'table'"),
            "fleet_train_000 has another answer there",
        ),
        (
            ask(
                "SELECT value FROM json_each('[7]')", others=[("x", "CREATE TABLE json_each (y);")]
            ),
            "fleet_train_000 has no answer there: 'json_each' is not a function",
        ),
    ],
)
def test_database_whose_gold_would_answer_otherwise_stays_as_it_is(tmp_path, asked, fault):
    widened = widen(write_product(tmp_path, asked))
    assert widened.faults == {"fleet": fault}
    assert widened.summarize()["databases_with_a_fault"] == 1
    assert widened.same_answers == 1  # of the other database
    paths = [tmp_path / folder / "fleet/fleet.sqlite" for folder in ("data/databases", "widened")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_gold_is_executed_by_the_clock_of_its_question(tmp_path):
    asked = ask("SELECT name, date('now') FROM ship")
    widened = widen(write_product(tmp_path, asked, now="2025-01-30"))
    assert not widened.faults


def test_other_right_query_is_executed_as_well(tmp_path):
    other = {"sql": "SELECT count(*) FROM sqlite_schema", "answer": 4}
    asked = ask("SELECT count(*) FROM ship")
    widened = widen(write_product(tmp_path, asked, other_answers=[other]))
    assert widened.faults["fleet"] == "fleet_train_000 has another answer there"


def test_database_that_sqlite_cannot_write_anew_stays_as_it_is(tmp_path):
    write_product(tmp_path, ask("SELECT name FROM ship"))
    path = tmp_path / "data/databases/fleet/fleet.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.create_collation("own", lambda left, right: (left > right) - (left < right))
        connection.execute("CREATE INDEX named ON ship (name COLLATE own)")
        connection.commit()
    widened = widen(tmp_path)
    assert widened.faults["fleet"].startswith("SQLite cannot write it anew: no such collation")
    assert (tmp_path / "widened/fleet/fleet.sqlite").read_bytes() == path.read_bytes()


def test_database_with_as_many_tables_stays_as_it_is(tmp_path):
    widened = widen(write_product(tmp_path), tables=2)
    assert {name: one.added for name, one in widened.outcomes.items()} == {
        **dict.fromkeys(("bakery", "fleet", "marina", "zoo"), 0),
        **dict.fromkeys(("library", "museum"), 1),
    }
    paths = [tmp_path / folder / "fleet/fleet.sqlite" for folder in ("data/databases", "widened")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    "names",
    [
        {"train": []},
        {"train": ["fleet"]},
        {"train": ["fleet", "marina"]},
        {"train": ["zoo"], "eval": ["museum"]},
    ],
)
def test_corpus_that_has_nothing_to_take_is_told_so(tmp_path, names):
    asked = {split: {name: ASKED[split][name] for name in names[split]} for split in names}
    write_product(tmp_path, asked)
    with pytest.raises(InputError, match=r"no database has one that can give any .*schema: own"):
        widen(tmp_path)


def test_database_of_both_splits_takes_nothing_that_one_of_them_may_not_see(tmp_path):
    train, held_out = ASKED["train"], ASKED["eval"]
    both = {"fleet": train["fleet"]}
    asked = {"train": both | {"zoo": train["zoo"]}, "eval": both | {"museum": held_out["museum"]}}
    with pytest.raises(InputError, match="no database has one that can give any"):
        widen(write_product(tmp_path, asked))


def test_descriptions_of_columns_come_with_their_tables(tmp_path):
    write_product(tmp_path)
    for name, table in (("fleet", "ship"), ("zoo", "keeper"), ("bakery", "bread")):
        words = {table: {"name": {"description": f"of the {table}"}}}
        path = tmp_path / f"data/databases/{name}/descriptions.json"
        path.write_text(json.dumps(words), encoding="utf-8")
    widen(tmp_path, tables=20)
    found = json.loads((tmp_path / "widened/fleet/descriptions.json").read_text(encoding="utf-8"))
    assert set(found) == {"ship", "keeper", "bread"}


def test_right_query_scores_on_both_databases_and_a_suite_has_no_other_table(tmp_path):
    widen(write_product(tmp_path))
    suite = make_database(tmp_path / "suites/fleet/fleet.00.sqlite", FLEET)
    of_suite = {"path": "fleet/fleet.00.sqlite", "gold_answer": 3, "order_matters": False}
    terms = {"database_name": "fleet", "order_matters": False, "test_suite": [of_suite]}
    (other,) = {*list_tables(tmp_path / "widened/fleet/fleet.sqlite")} & {"bread", "animal"}
    reads_other = f"SELECT count(*) FROM ship WHERE (SELECT count(*) FROM {other}) > 0"
    folders = {"widened": "widened", "original": "data/databases"}
    found = {}
    for name, folder in folders.items():
        options = {"databases": tmp_path / folder, "test_suites": suite.parents[1]}
        with RewardPool(workers=1, **options) as pool:
            assert pool.score_sql("SELECT count(id) FROM ship", 3, **terms) == 1.0
            found[name] = pool.explain_score(reads_other, 3, **terms)
    assert [one.reward for one in found.values()] == [0.0, 0.0]
    assert [one.database for one in found.values()] == ["fleet/fleet.00.sqlite", None]
    assert {one.detail for one in found.values()} == {f"no such table: {other}"}

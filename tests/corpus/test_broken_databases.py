"""One bad database costs its own questions, each with a reason, and not the run."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.corpus.databases import UnreadableDatabaseError, check_database
from answerkey.corpus.downloads import read_tables
from answerkey.engines.database import QueryError
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.variants.rows import read_rows
from tests.shared.paths import ROOT
from tests.shared.project_world import World, list_stages

NOTES = """
CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
INSERT INTO note VALUES (1, 'a'), (2, 'b');
"""
# What is asked of each: SQL in an application with a collation `unicase` and a function `slug`; the
# bytes that take the place of QQ; and how many of three questions, the first of which is about
# notes, have an answer.
E = b"\xe9\xe8"
NEEDS: dict[str, tuple[str, bytes, int]] = {
    "collation": (
        "CREATE TABLE tag (name TEXT COLLATE unicase PRIMARY KEY) WITHOUT ROWID;",
        b"",
        1,
    ),
    "collated_index": (
        "CREATE TABLE tag (name); CREATE INDEX i ON tag (name COLLATE unicase);",
        b"",
        3,
    ),
    "collated_view": (
        "CREATE VIEW tag AS SELECT body AS name FROM note ORDER BY 1 COLLATE unicase;",
        b"",
        1,
    ),
    "function_index": ("CREATE TABLE tag (name TEXT); CREATE INDEX i ON tag (slug(name));", b"", 3),
    "partial_index": (
        "CREATE TABLE tag (name); CREATE INDEX i ON tag (name) WHERE slug(name) = 'x';",
        b"",
        3,
    ),
    "generated": ("CREATE TABLE tag (name TEXT, low TEXT AS (slug(name)));", b"", 2),
    "check": ("CREATE TABLE tag (name TEXT CHECK (slug(name) <> ''));", b"", 3),
    "function_view": ("CREATE VIEW tag AS SELECT slug(body) AS name FROM note;", b"", 1),
    "full_text": ("CREATE VIRTUAL TABLE tag USING fts5(name);", b"", 1),
    "table_name": ("CREATE TABLE tagQQ (name TEXT);", E, 1),
    "column_name": ("CREATE TABLE tag (name TEXT, heightQQ REAL);", E, 2),
    "type_name": ("CREATE TABLE tag (name textQQ);", E, 3),
    "index_name": (
        "CREATE TABLE tag (name TEXT); CREATE UNIQUE INDEX placeQQ ON tag (name);",
        E,
        3,
    ),
    "comment": ("CREATE TABLE tag (name TEXT DEFAULT 'QQ' /* QQ */);", E, 3),
    "foreign_key": ("CREATE TABLE tag (name TEXT REFERENCES noteQQ (id));", E, 3),
}
QUERIES = (
    "SELECT count(*) FROM note",
    "SELECT name FROM tag WHERE name <> 'x'",
    "SELECT * FROM tag",
)


def write_database(path: Path, sql: str, replaced: bytes = b"QQ") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.create_collation("unicase", lambda one, other: (one > other) - (one < other))
        connection.create_function("slug", 1, str.lower, deterministic=True)
        connection.executescript(NOTES + sql)
        with contextlib.suppress(sqlite3.OperationalError):  # a view
            for column in ("name", "nameQQ"):
                connection.execute(f"INSERT INTO {sql.split()[2]} ({column}) VALUES ('Y')")
        connection.commit()
    path.write_bytes(path.read_bytes().replace(b"QQ", replaced))
    return path


def write_file(world: World, name: str, content: bytes) -> None:
    path = world.folder / f"corpus/database/{name}/{name}.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def ask(world: World, names: list[str]) -> None:
    rows = [
        {"db_id": name, "question": f"What is asked, of {number}?", "query": sql}
        for name in names
        for number, sql in enumerate(QUERIES)
    ]
    (world.folder / "corpus/train_spider.json").write_text(json.dumps(rows), encoding="utf-8")


@pytest.fixture
def world(here: Path) -> World:
    shutil.copytree(ROOT / "templates", here / "templates")
    world = World(here)
    world.drop_targets()
    return world


@pytest.mark.slow
def test_schema_that_needs_an_application_costs_the_queries_that_need_it(world: World) -> None:
    for name, (sql, replaced, _) in NEEDS.items():
        write_database(world.folder / f"corpus/database/{name}/{name}.sqlite", sql, replaced)
    ask(world, list(NEEDS))
    world.run(*list_stages(), "export_trainers", "export_huggingface", "report_dataset")
    for name, (*_, count) in NEEDS.items():
        outcomes = world.lines(f"data/interim/gold_answers/{name}.jsonl")
        assert (name, sum("reason" not in one for one in outcomes)) == (name, count)
        reasons = {one.get("reason") for one in outcomes} - {None}
        assert reasons <= {"sql_error", "not_a_select", "undecodable_text"}
        suites = world.lines(f"data/interim/test_suites/{name}.jsonl")
        assert suites[0]["mutation_score"] is not None  # of the notes, which need nothing
    assert world.json("data/interim/validation.json")["errors"] == []


@pytest.mark.slow
def test_file_that_cannot_be_read_costs_its_questions_and_is_told_of_once(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write_database(
        world.folder / "whole.sqlite", "CREATE TABLE tag (name TEXT);"
    ).read_bytes()
    write_file(world, "whole", good)
    write_file(world, "torn", good[:5000])
    write_file(world, "page", b"<html>not found</html>")
    write_file(world, "newer", good[:18] + b"\x09\x09" + good[20:])
    write_file(world, "schema", good.replace(b"CREATE TABLE tag", b"CRE\xd4TE TABLE tag"))
    world.write_database("text", "CREATE TABLE t (a); INSERT INTO u VALUES (1);")
    bad = ("newer", "page", "schema", "text", "torn")
    ask(world, ["whole", *bad])
    world.run(*list_stages(), "export_trainers", "export_huggingface", "report_dataset")
    told = capsys.readouterr().err.splitlines()
    warnings = [line for line in told if "are set aside" in line]
    assert [line.split()[5] for line in warnings] == list(bad)
    assert [line for line in told if "; 5 unreadable" in line]
    assert [line for line in told if "(unreadable_database 15" in line]
    assert not [line for line in told if "SQL execution failed" in line]
    excluded = world.lines("data/questions/excluded.jsonl")
    aside = [one for one in excluded if one["reason"] == "unreadable_database"]
    assert Counter(one["database_name"] for one in aside) == dict.fromkeys(bad, 3)
    for one in aside:
        assert one["stage"] == "compute_gold_answers"
        assert str(world.folder) not in one["detail"]
    page = (world.folder / "reports/dataset.html").read_text(encoding="utf-8")
    assert "The file of its database is corrupt" in page
    # Once it is mended, its questions are there, and its place has what the others have.
    write_file(world, "torn", good)
    world.run(*list_stages())
    answers = world.lines("data/interim/gold_answers/torn.jsonl")
    assert all("reason" not in one for one in answers)
    assert "torn" not in world.json("data/databases/manifest.json")["unreadable"]


def test_good_file_goes_when_its_corpus_has_a_broken_one(world: World) -> None:
    """Else rewards would run on what no manifest knows."""
    good = write_database(
        world.folder / "whole.sqlite", "CREATE TABLE tag (name TEXT);"
    ).read_bytes()
    for name in ("one", "two"):
        write_file(world, name, good)
    ask(world, ["one", "two"])
    world.run("download_databases")
    write_file(world, "two", good[:5000])
    world.run("download_databases")
    names = sorted(path.name for path in (world.folder / "data/databases").iterdir())
    assert names == ["library", "manifest.json", "one"]


def test_damage_that_no_check_saw_costs_the_query_that_meets_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerkey.corpus.databases._MAX_COMPARED_BYTES", 0)
    sql = "CREATE TABLE tag (name TEXT, n INTEGER); CREATE INDEX by_name ON tag (name);"
    sql += "INSERT INTO tag (rowid, name, n) VALUES (5, 'Q1', 3);"
    content = write_database(world.folder / "whole.sqlite", sql).read_bytes()
    entry = b"Q1\x05"  # of the index: the text, and the rowid
    assert content.count(entry) == 1
    write_file(world, "bent", content.replace(entry, b"Q1\x55"))
    asked = [QUERIES[0], "SELECT n FROM tag WHERE name = 'Q1'", "SELECT name FROM tag"]
    world.write_questions("train_spider.json", "bent", [(sql, sql) for sql in asked])
    world.run("download_databases", "load_questions", "assign_splits", "compute_gold_answers")
    outcomes = world.lines("data/interim/gold_answers/bent.jsonl")
    assert [one.get("reason") for one in outcomes] == [None, "unreadable_database", None]
    assert outcomes[1]["detail"] == "database disk image is malformed"


def test_run_ends_where_no_database_can_be_read(world: World) -> None:
    ask(world, ["one"])
    write_file(world, "one", b"nothing")
    world.write_questions("dev.json", "one", [])
    with pytest.raises(InputError, match=r"one\.sqlite: starts with b'nothing'"):
        world.run("download_databases")


SHOPS = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size REAL);
CREATE TABLE sale (shop_id INTEGER REFERENCES shop (id), day TEXT);
CREATE INDEX by_shop ON sale (shop_id, day);
CREATE VIEW sold AS SELECT * FROM sale;
INSERT INTO shop VALUES (1, 'a', 0.5), (2, 'b', 2), (3, 'c', NULL);
INSERT INTO sale VALUES (1, '2020'), (1, '2021'), (2, '2020');
"""
ASKED = (
    "SELECT * FROM shop ORDER BY name",
    "SELECT day FROM sale WHERE shop_id = 1",
    "SELECT shop_id FROM sale ORDER BY shop_id, day",
    "SELECT count(*) FROM sold JOIN shop ON shop.id = sold.shop_id",
)


@pytest.fixture(scope="module")
def shops() -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(f"PRAGMA page_size = 512; {SHOPS}")
        return connection.serialize()


@given(places=st.sets(st.integers(0, 512 * 9 - 1), min_size=1, max_size=3), bit=st.integers(0, 7))
@example(places={400}, bit=7)  # a letter of a statement in the schema
def test_flipped_bits_are_found_or_change_nothing_that_ends_a_run(
    shops: bytes, tmp_path_factory: pytest.TempPathFactory, places: set[int], bit: int
) -> None:
    content = bytearray(shops)
    for place in places:
        content[place % len(content)] ^= 1 << bit
    path = tmp_path_factory.mktemp("flipped") / "shops.sqlite"
    path.write_bytes(content)
    try:
        check_database(path)
    except UnreadableDatabaseError:
        return
    read_tables("shops", path)
    with contextlib.suppress(InputError):
        read_rows(path)
    with GuardedDatabase(path) as database:
        for sql in ASKED:
            with contextlib.suppress(QueryError):
                database.execute(sql)

"""prompts: CREATE statements and first rows, whatever stands in the tables; and their lengths."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from answerkey.exports.prompts import LIMITS, DatabaseTexts, PromptLengths, read_tokenizer


def describe(folder: Path, sql: str, *, rows: int = 3, most: int = 10_000) -> DatabaseTexts:
    path = folder / "a.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    return DatabaseTexts(path, example_rows=rows, max_characters=most)


SHIPS = (
    "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE voyage (ship_id INTEGER REFERENCES ship (id));"
    "INSERT INTO ship VALUES (3, 'Ruby'), (1, 'Tern'), (2, 'Sun');"
    "CREATE VIEW old AS SELECT name FROM ship WHERE id < 2;"
)


def test_statements_come_with_first_rows_and_keep_all_tables_where_it_is_long(tmp_path):
    whole = (
        "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT);\n"
        "-- (1, 'Tern')\n"
        "-- (2, 'Sun')\n"
        "CREATE TABLE voyage (ship_id INTEGER REFERENCES ship (id));\n"
        "CREATE VIEW old AS SELECT name FROM ship WHERE id < 2;"
    )
    assert describe(tmp_path, SHIPS, rows=2).schema == whole
    assert describe(tmp_path, SHIPS, rows=2, most=len(whole)).schema == whole
    shorter = describe(tmp_path, SHIPS, rows=2, most=len(whole) - 1).schema
    assert shorter == whole.replace("-- (2, 'Sun')\n", "")
    assert describe(tmp_path, SHIPS, rows=2, most=1).schema.count("CREATE") == 3
    texts = describe(tmp_path, SHIPS)
    assert texts.write_schema(["Voyage"]) == whole.splitlines()[3]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("NULL", "NULL"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("2.5", "2.5"),
        ("1e300", "1e+300"),
        ("'O''Neill'", "'O''Neill'"),
        ("'42'", "'42'"),
        ("'a' || char(13, 10) || '-- b'", "'a -- b'"),
        ("zeroblob(512)", "<512 bytes>"),
        ("replace(printf('%060d', 0), '0', 'å')", f"'{'å' * 60}'"),
        ("replace(printf('%061d', 0), '0', '😀')", f"'{'😀' * 60}…'"),
    ],
)
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_value_is_shown_as_a_literal_on_one_line(tmp_path, value, shown, encoding):
    sql = f"PRAGMA encoding = '{encoding}'; CREATE TABLE t (a); INSERT INTO t SELECT {value}"
    assert describe(tmp_path, sql).schema == f"CREATE TABLE t (a);\n-- ({shown})"


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("CREATE TABLE t (a TEXT, b); CREATE INDEX i ON t (a, b)", "('b', 1)"),
        ("CREATE TABLE t (a TEXT PRIMARY KEY, b) WITHOUT ROWID", "('a', 2)"),
        ("CREATE TABLE t (_rowid_ TEXT, rowid)", "('b', 1)"),
        ("CREATE TABLE t (rowid, oid)", "('b', 1)"),
        ('CREATE TABLE "two ""words""" ("a column", [select])', "('b', 1)"),
    ],
)
def test_rows_come_in_the_order_of_rowid_or_primary_key(tmp_path, sql, first):
    name = '"two ""words"""' if "words" in sql else "t"
    texts = describe(tmp_path, f"{sql}; INSERT INTO {name} VALUES ('b', 1), ('a', 2)", rows=1)
    assert texts.schema.endswith(f";\n-- {first}")


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("CREATE VIEW v AS SELECT 1 AS a -- it's", "CREATE VIEW v AS SELECT 1 AS a -- it's\n;"),
        ("CREATE VIEW v AS SELECT 1 AS a /* ; */", "CREATE VIEW v AS SELECT 1 AS a /* ; */;"),
    ],
)
def test_every_statement_is_ended(tmp_path, sql, shown):
    assert describe(tmp_path, sql).schema == shown


def test_table_that_the_guard_does_not_read_has_no_rows(tmp_path):
    columns = ", ".join(f"c{n}" for n in range(1100))
    text = describe(
        tmp_path,
        f"CREATE VIRTUAL TABLE words USING fts5 (word); CREATE TABLE wide ({columns});"
        f"INSERT INTO wide (c0) VALUES (1); INSERT INTO words VALUES ('ship')",
    ).schema
    assert text.startswith("CREATE VIRTUAL TABLE words USING fts5 (word);\n")
    assert text.endswith(f"CREATE TABLE wide ({columns});")


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            "CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);"
            "CREATE TABLE ship (name, port_id INTEGER REFERENCES port);",
            "port(id INTEGER primary key, name TEXT)\nship(name, port_id INTEGER -> port.id)",
        ),
        (
            "CREATE TABLE leg (ship INT, day TEXT, PRIMARY KEY (day, ship));"
            "CREATE TABLE stop (s INT, d TEXT, FOREIGN KEY (d, s) REFERENCES leg (day, ship));",
            "leg(ship INT, day TEXT, primary key (day, ship))\n"
            "stop(s INT, d TEXT, (d, s) -> leg(day, ship))",
        ),
        (
            'CREATE TABLE "old ship" ("a ""b""" TEXT); CREATE VIEW v AS SELECT 1 AS one;',
            '"old ship"("a ""b""" TEXT)\nv(one)',
        ),
    ],
)
def test_compact_schema_has_a_line_a_table(tmp_path, sql, text):
    assert describe(tmp_path, sql).compact_schema == text


def test_descriptions_of_columns_stand_below_their_table(tmp_path):
    texts = {
        "ship": {
            "id": {"name": "id"},
            "name": {"name": "title", "description": "as\npainted", "values": "'': not known"},
        }
    }
    (tmp_path / "descriptions.json").write_text(json.dumps(texts), encoding="utf-8")
    assert describe(tmp_path, SHIPS).schema.splitlines()[:3] == [
        "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT);",
        "-- name: title; as painted; values: '': not known",
        "-- (1, 'Tern')",
    ]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which ships lie in cape town?", ["port.name = 'Cape Town'"]),
        ("Is Cape Town or Rome in the US?", ["port.name = 'Cape Town'", "port.land = 'US'"]),
        ("Which of us has ferrys?", ["port.kind = 'Ferry'"]),
        ("What of O'Neill's?", ["port.owner = 'O''Neill'"]),
        ("Which is an island?", []),
        ("Who is a name1?", ["many.few = 'a name1'", "many.few = 'name1'"]),
    ],
)
def test_values_that_a_question_names_are_found_and_the_longest_come_first(
    tmp_path, question, values
):
    texts = describe(
        tmp_path,
        "CREATE TABLE port (name TEXT, land TEXT, kind TEXT, owner TEXT, note TEXT);"
        "INSERT INTO port VALUES ('Cape Town', 'US', 'Ferry', 'O''Neill', NULL);"
        "INSERT INTO port VALUES ('Oslo', 3, 'is', X'00', 'island of ' || hex(zeroblob(40)));"
        "CREATE VIEW v AS SELECT name FROM port; CREATE TABLE many (every TEXT, few TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2001)"
        " INSERT INTO many SELECT 'name' || i, CASE i % 2 WHEN 0 THEN 'name1' ELSE 'a name1' END"
        " FROM n",
    )
    assert [*map(str, texts.name_values(question, most=8))] == values
    assert texts.name_values(question, most=0) == []


@pytest.mark.parametrize(
    ("needed", "ranked", "most", "shown"),
    [
        ([], ["voyage", "SHIP"], 1000, {"voyage", "ship"}),
        ([], ["old", "ship"], 60, {"old"}),
        ([], ["voyage", "old"], 10, {"voyage"}),
        ([], ["ship", "voyage", "old"], 110, {"ship", "old"}),  # voyage finds no room
        (["Ship"], ["voyage"], 10, {"ship"}),  # what is needed is shown, whatever its length
        ([], [], 10, set()),
    ],
)
def test_tables_are_shown_as_long_as_they_find_room(tmp_path, needed, ranked, most, shown):
    texts = describe(tmp_path, SHIPS, rows=0, most=most)
    chosen = texts.choose_tables(needed, ranked)
    assert chosen == shown
    if most > 10:
        assert len(texts.write_schema(chosen)) <= most


# --- lengths


def test_characters_are_counted_where_there_is_no_tokenizer(tmp_path):
    lengths = PromptLengths(read_tokenizer(tmp_path))
    none = dict.fromkeys(("median", "p95", "longest"))
    assert lengths.summarize()["prompt"]["characters"] == none
    for size in range(1, 101):
        lengths.add("p" * size, "cc")
    found = lengths.summarize()
    assert found["prompt"]["characters"] == {"median": 50, "p95": 95, "longest": 100}
    assert found["chat"]["characters"] == {"median": 52, "p95": 97, "longest": 102}
    assert found["prompt"]["tokens"] == none
    assert found["chat"]["more_tokens_than"] == {str(limit): None for limit in LIMITS}


def test_tokens_are_counted_and_compared_with_what_trainers_take(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra `tokens`")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    lengths = PromptLengths(read_tokenizer(tmp_path))
    for words in (1, 512, 513, 1024):
        lengths.add("\ud800 " * words, "SELECT 1")
    found = lengths.summarize()
    assert found["prompt"]["tokens"] == {"median": 512, "p95": 1024, "longest": 1024}
    assert found["prompt"]["more_tokens_than"]["512"] == 2
    assert found["chat"]["tokens"]["longest"] == 1026
    assert found["chat"]["more_tokens_than"]["1024"] == 1

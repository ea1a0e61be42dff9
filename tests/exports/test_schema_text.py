"""schema_text: CREATE statements and first rows, whatever stands in the tables."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from answerkey.errors import InputError
from answerkey.exports.prompts import describe_database, read_links


def make_database(path: Path, sql: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.close()
    return path


def describe(path: Path, *, rows: int = 3, most: int = 10_000) -> str:
    return describe_database(path, example_rows=rows, max_characters=most).schema


def test_statements_come_with_first_rows(tmp_path):
    path = make_database(
        tmp_path / "a.sqlite",
        "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE voyage (ship_id INTEGER REFERENCES ship (id));"
        "INSERT INTO ship VALUES (3, 'Ruby'), (1, 'Tern'), (2, 'Sun');"
        "CREATE VIEW old AS SELECT name FROM ship WHERE id < 2;",
    )
    assert describe(path, rows=2) == (
        "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT);\n"
        "-- (1, 'Tern')\n"
        "-- (2, 'Sun')\n"
        "CREATE TABLE voyage (ship_id INTEGER REFERENCES ship (id));\n"
        "CREATE VIEW old AS SELECT name FROM ship WHERE id < 2;"
    )
    assert "--" not in describe(path, rows=0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("NULL", "NULL"),
        ("42", "42"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("2.5", "2.5"),
        ("1e300", "1e+300"),
        ("9e999", "9e999"),
        ("-9e999", "-9e999"),
        ("'O''Neill'", "'O''Neill'"),
        ("''", "''"),
        ("'42'", "'42'"),
        ("'two' || char(10) || 'lines'", "'two lines'"),
        ("'a' || char(13, 10) || '-- b'", "'a -- b'"),
        ("zeroblob(512)", "<512 bytes>"),
        ("'Göteborg'", "'Göteborg'"),
        ("replace(printf('%060d', 0), '0', 'å')", f"'{'å' * 60}'"),
        ("replace(printf('%061d', 0), '0', 'å')", f"'{'å' * 60}…'"),
        ("printf('%.2000c', 'x')", f"'{'x' * 60}…'"),
        ("replace(printf('%061d', 0), '0', '😀')", f"'{'😀' * 60}…'"),
        ("'a' || char(0) || 'b'", "'a\0b'"),
    ],
)
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_value_is_shown_as_a_literal_on_one_line(tmp_path, value, shown, encoding):
    path = make_database(
        tmp_path / "a.sqlite",
        f"PRAGMA encoding = '{encoding}'; CREATE TABLE t (a); INSERT INTO t SELECT {value}",
    )
    assert describe(path) == f"CREATE TABLE t (a);\n-- ({shown})"


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("CREATE TABLE t (a TEXT, b); CREATE INDEX i ON t (a, b)", "('b', 1)"),
        ("CREATE TABLE t (a TEXT PRIMARY KEY, b) WITHOUT ROWID", "('a', 2)"),
        ("CREATE TABLE t (a TEXT PRIMARY KEY, b ANY) STRICT, without  rowid", "('a', 2)"),
        ("CREATE TABLE t (a TEXT PRIMARY KEY, b)", "('b', 1)"),
        ("CREATE TABLE t (rowid TEXT, b)", "('b', 1)"),
        ("CREATE TABLE t (_rowid_ TEXT, rowid)", "('b', 1)"),
    ],
)
def test_rows_come_in_the_order_of_rowid_or_primary_key(tmp_path, sql, first):
    path = make_database(tmp_path / "a.sqlite", f"{sql}; INSERT INTO t VALUES ('b', 1), ('a', 2)")
    assert describe(path, rows=1).endswith(f";\n-- {first}")


def test_table_whose_rowid_has_no_name_shows_its_rows(tmp_path):
    sql = "CREATE TABLE t (rowid, oid, _rowid_)"
    path = make_database(tmp_path / "a.sqlite", f"{sql}; INSERT INTO t VALUES (1, 2, 3)")
    assert describe(path) == f"{sql};\n-- (1, 2, 3)"


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    path = make_database(
        tmp_path / "a.sqlite",
        "CREATE TABLE t (a); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))",
    )
    assert describe(path) == "CREATE TABLE t (a);\n-- ('\ufffdA')"


def test_rows_show_generated_columns_in_their_place(tmp_path):
    sql = "CREATE TABLE t (a INTEGER, b INTEGER AS (a * 2), c INTEGER AS (a + 9) STORED, d TEXT)"
    path = make_database(tmp_path / "a.sqlite", f"{sql}; INSERT INTO t VALUES (1, 'x')")
    assert describe(path) == f"{sql};\n-- (1, 2, 10, 'x')"


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("CREATE VIEW v AS SELECT 1 AS a -- one", "CREATE VIEW v AS SELECT 1 AS a -- one\n;"),
        ("CREATE VIEW v AS SELECT 1 AS a -- it's", "CREATE VIEW v AS SELECT 1 AS a -- it's\n;"),
        ("CREATE VIEW v AS SELECT 1 AS a /* ; */", "CREATE VIEW v AS SELECT 1 AS a /* ; */;"),
        ("CREATE VIEW v AS SELECT '-- ' AS a", "CREATE VIEW v AS SELECT '-- ' AS a;"),
    ],
)
def test_every_statement_is_ended(tmp_path, sql, shown):
    path = make_database(tmp_path / "a.sqlite", sql)
    assert describe(path) == shown
    make_database(tmp_path / "b.sqlite", describe(path) + "\nCREATE TABLE t (a);")
    assert describe(tmp_path / "b.sqlite") == f"{shown}\nCREATE TABLE t (a);"


def test_long_schema_loses_rows_and_no_statement(tmp_path):
    path = make_database(
        tmp_path / "a.sqlite",
        "CREATE TABLE t (a); CREATE TABLE u (b);"
        "INSERT INTO t VALUES ('first'), ('second'), ('third'); INSERT INTO u VALUES (1), (2), (3)",
    )
    statements = "CREATE TABLE t (a);\nCREATE TABLE u (b);"
    whole = describe(path)
    assert whole.count("--") == 6
    assert describe(path, most=len(whole)) == whole
    shorter = describe(path, most=len(whole) - 1)
    assert shorter.count("--") == 4
    assert "third" not in shorter
    assert describe(path, most=len(statements)) == statements
    assert describe(path, most=1) == statements


def test_names_need_no_care(tmp_path):
    sql = 'CREATE TABLE "two ""words""" ("a column", [select], `group`)'
    path = make_database(
        tmp_path / "a.sqlite", f'{sql}; INSERT INTO "two ""words""" VALUES (1, 2, 3)'
    )
    assert describe(path) == f"{sql};\n-- (1, 2, 3)"


def test_table_that_the_guard_does_not_read_has_no_rows(tmp_path):
    columns = ", ".join(f"c{n}" for n in range(1100))
    path = make_database(
        tmp_path / "a.sqlite",
        f"CREATE VIRTUAL TABLE words USING fts5 (word); CREATE TABLE wide ({columns});"
        f"INSERT INTO wide (c0) VALUES (1); INSERT INTO words VALUES ('ship')",
    )
    text = describe(path)
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
    path = make_database(tmp_path / "a.sqlite", sql)
    described = describe_database(path, example_rows=3, max_characters=99)
    assert described.compact_schema == text


def test_descriptions_of_columns_stand_below_their_table(tmp_path):
    path = make_database(
        tmp_path / "a.sqlite",
        "CREATE TABLE ship (id INTEGER, tons REAL); CREATE TABLE harbour (id INTEGER);"
        "INSERT INTO ship VALUES (1, 2.5);",
    )
    texts = {
        "ship": {
            "id": {"name": "id"},
            "tons": {"name": "weight", "description": "gross\ntonnage", "values": "0: not known"},
        }
    }
    (tmp_path / "descriptions.json").write_text(json.dumps(texts), encoding="utf-8")
    assert describe(path) == (
        "CREATE TABLE ship (id INTEGER, tons REAL);\n"
        "-- tons: weight; gross tonnage; values: 0: not known\n"
        "-- (1, 2.5)\n"
        "CREATE TABLE harbour (id INTEGER);"
    )


def test_linked_schema_has_only_the_tables_that_are_named(tmp_path):
    path = make_database(
        tmp_path / "a.sqlite", "CREATE TABLE ship (id INTEGER); CREATE TABLE harbour (id INTEGER);"
    )
    texts = describe_database(path, example_rows=3, max_characters=10_000)
    assert texts.link(["harbour"]) == "CREATE TABLE harbour (id INTEGER);"


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which ships lie in cape town?", ["port.name = 'Cape Town'"]),
        ("Is Cape Town or Rome in the US?", ["port.name = 'Cape Town'", "port.land = 'US'"]),
        ("Which of us has ferrys?", ["port.kind = 'Ferry'"]),
        ("What of O'Neill's?", ["port.owner = 'O''Neill'"]),
        ("Which is an island?", []),
        ("How many?", []),
    ],
)
def test_values_that_a_question_names_are_found(tmp_path, question, values):
    path = make_database(
        tmp_path / "a.sqlite",
        "CREATE TABLE port (name TEXT, land TEXT, kind TEXT, owner TEXT, note TEXT);"
        "INSERT INTO port VALUES ('Cape Town', 'US', 'Ferry', 'O''Neill', NULL);"
        "INSERT INTO port VALUES ('Oslo', 3, 'is', X'00', 'island of ' || hex(zeroblob(40)));"
        "CREATE VIEW v AS SELECT name FROM port;",
    )
    texts = describe_database(path, example_rows=0, max_characters=0, named_values=8)
    assert texts.name_values(question) == values


def test_columns_of_very_many_values_name_none_and_the_longest_come_first(tmp_path):
    path = make_database(
        tmp_path / "a.sqlite",
        "CREATE TABLE t (many TEXT, few TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2001)"
        " INSERT INTO t SELECT 'name' || i, CASE i % 2 WHEN 0 THEN 'name1' ELSE 'a name1' END"
        " FROM n",
    )
    texts = describe_database(path, example_rows=0, max_characters=0, named_values=1)
    assert texts.name_values("Who is a name1?") == ["t.few = 'a name1'"]
    none = describe_database(path, example_rows=0, max_characters=0)
    assert none.name_values("Who is a name1?") == []


def test_links_are_lists_of_tables_by_question(tmp_path):
    assert read_links(tmp_path) == {}
    (tmp_path / "tables.json").write_text('{"q": ["ship"]}', encoding="utf-8")
    assert read_links(tmp_path) == {"q": ["ship"]}
    for text in ("[]", '{"q": "ship"}'):
        (tmp_path / "tables.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"tables\.json: expected"):
            read_links(tmp_path)

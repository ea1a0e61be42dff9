"""Databases of DuckDB as files of SQLite: each kind of table, column, key and value."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from answerkey.engines.schema import ForeignKey, Schema
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.schema import read_schema
from answerkey.intake.conversion import (
    DIGITS,
    NO_NUMBER,
    NO_TIME,
    _store_time,
    _write_digits,
    name_columns,
)
from answerkey.intake.engines import DuckDB
from answerkey.intake.whole_database import convert

duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")

TABLES = """
CREATE SCHEMA sales;
CREATE TABLE ship (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, "Größe (m)" DOUBLE);
INSERT INTO ship VALUES (2, 'Zoë', NULL), (1, '✨', 12);
CREATE TABLE sales.ship (id INTEGER, "order" INTEGER, "select" VARCHAR, PRIMARY KEY (id, "order"));
INSERT INTO sales.ship VALUES (1, 2, 'b'), (1, 1, NULL);
CREATE TABLE leg (ship INTEGER REFERENCES ship (id), note VARCHAR);
CREATE TABLE sales.line (
    id INTEGER, number INTEGER, FOREIGN KEY (id, number) REFERENCES sales.ship (id, "order"));
INSERT INTO sales.line VALUES (1, 2), (1, NULL);
CREATE VIEW sales.last AS SELECT max("order") AS "order", year(DATE '2024-02-29') y FROM sales.ship;
CREATE VIEW second AS SELECT "order" + 1 AS n FROM sales.last;
CREATE VIEW letters AS SELECT unnest(['a', 'b']) AS letter;
CREATE VIEW third AS SELECT count(*) AS n FROM letters;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("converted")


def make(folder: Path, sql: str) -> DuckDB:
    connection = duckdb.connect(str(folder / "source.duckdb"))
    connection.execute(sql)
    connection.close()
    return DuckDB.open_file(folder / "source.duckdb")


@pytest.fixture(scope="module")
def converted(folder: Path) -> tuple[Path, dict[str, Any]]:
    with closing(make(folder, TABLES)) as engine:
        tables = convert(engine, folder / "made.sqlite")
    return folder / "made.sqlite", {table.name: table for table in tables}


def read(path: Path) -> Schema:
    with closing(open_database(path)) as connection:
        return read_schema(connection)


def fetch(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_rows_come_by_their_keys_whatever_names_are(converted: Any) -> None:
    path, made = converted
    assert fetch(path, 'SELECT *, typeof("Größe (m)") FROM ship') == [
        (1, "✨", 12.0, "real"),
        (2, "Zoë", None, "null"),
    ]
    assert fetch(path, 'SELECT "order", "select" FROM sales_ship') == [(1, None), (2, "b")]
    assert [made[name].rows for name in ("ship", "leg", "line")] == [2, 0, 2]


def test_table_of_a_name_that_is_taken_has_its_schema_before_it(converted: Any) -> None:
    _, made = converted
    assert made["sales_ship"].lost == ["its name sales.ship: a name stands once in SQLite"]
    assert made["line"].lost == made["ship"].lost == []


def test_keys_are_kept(converted: Any) -> None:
    schema = read(converted[0])
    ship, sales = schema.find_table("ship"), schema.find_table("sales_ship")
    assert ship is not None
    assert sales is not None
    assert ship.unique_keys == (("id",), ("name",))
    assert [column.is_not_null for column in ship.columns] == [True, True, False]
    assert sales.unique_keys == (("id", "order"),)
    references = {table.name: table.foreign_keys for table in schema.tables}
    assert references["leg"] == (ForeignKey(("ship",), "ship", ("id",)),)
    assert references["line"] == (ForeignKey(("id", "number"), "sales_ship", ("id", "order")),)


def test_view_is_one_where_sqlite_gives_its_rows_and_a_table_where_not(converted: Any) -> None:
    path, made = converted
    kinds = {name: made[name].kind for name in ("last", "second", "letters", "third")}
    assert kinds == dict.fromkeys(kinds, "view")
    schema = read(path)
    are_views = {name: (table := schema.find_table(name)) and table.is_view for name in kinds}
    assert are_views == {"last": True, "second": True, "letters": False, "third": True}
    assert made["letters"].lost == ["its SQL: it is a table with its rows here"]
    rows = [fetch(path, f"SELECT * FROM {name}") for name in kinds]
    assert rows == [[(2, 2024)], [(3,)], [("a",), ("b",)], [(2,)]]


UUID = "11111111-1111-1111-1111-111111111111"
VALUES = [
    ("TINYINT", "-5", "INTEGER", -5),
    ("BIGINT", "9223372036854775807", "INTEGER", 2**63 - 1),
    ("HUGEINT", "5", "INTEGER", 5),
    ("UBIGINT", "18446744073709551615", "TEXT", "18446744073709551615"),
    ("HUGEINT", f"-{2**127 - 1}", "TEXT", f"-{2**127 - 1}"),
    ("DECIMAL(10,2)", "12.00", "REAL", 12.0),
    ("DECIMAL(38,0)", "12", "INTEGER", 12),
    ("DECIMAL(38,10)", "1234567890123456789.5", "TEXT", "1234567890123456789.5000000000"),
    ("DECIMAL(38,10)", "1234567890123456.5", "REAL", 1234567890123456.5),
    ("DOUBLE", "'nan'", "REAL", None),
    ("DOUBLE", "'-inf'", "REAL", float("-inf")),
    ("BOOLEAN", "true", "BOOLEAN", 1),
    ("VARCHAR", "'a''b\\n\"✨'", "TEXT", "a'b\\n\"✨"),
    ("VARCHAR", "'007'", "TEXT", "007"),
    ("VARCHAR", "''", "TEXT", ""),
    ("DATE", "'2024-02-29'", "DATE", "2024-02-29"),
    ("DATE", "'infinity'", "DATE", "infinity"),
    ("TIMESTAMP", "'2024-02-29 10:00:00.50'", "DATETIME", "2024-02-29 10:00:00.5"),
    ("TIMESTAMP", "'2024-02-29'", "DATETIME", "2024-02-29 00:00:00"),
    (
        "TIMESTAMP_NS",
        "'2024-02-29 10:00:00.123456789'",
        "DATETIME",
        "2024-02-29 10:00:00.123456789",
    ),
    ("TIMESTAMPTZ", "'2024-02-29 10:00:00+02'", "DATETIME", "2024-02-29 08:00:00"),
    (
        "TIMESTAMPTZ_NS",
        "'2024-02-29 10:00:00.123456789+02'",
        "DATETIME",
        "2024-02-29 08:00:00.123456789",
    ),
    ("TIME", "'10:00:00'", "TIME", "10:00:00"),
    ("TIME_NS", "'10:00:00.000000001'", "TIME", "10:00:00.000000001"),
    ("DOUBLE", "'-0.0'", "REAL", 0.0),
    ("INTERVAL", "'3 days'", "TEXT", "3 days"),
    ("BLOB", "'\\xAA\\x00'", "BLOB", b"\xaa\x00"),
    ("BIT", "'101'", "TEXT", "101"),
    (
        "UUID",
        "'11111111-1111-1111-1111-111111111111'",
        "TEXT",
        "11111111-1111-1111-1111-111111111111",
    ),
    ("ENUM ('s', 'm')", "'m'", "TEXT", "m"),
    ("INTEGER[]", "[1, NULL]", "TEXT", "[1,null]"),
    ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", "TEXT", '{"a":1,"b":"x"}'),
    ("MAP(VARCHAR, INTEGER)", "MAP {'k': 1}", "TEXT", '{"k":1}'),
    ("JSON", "'{\"k\": 1}'", "TEXT", '{"k": 1}'),
]


def test_values_of_all_types_are_kept_or_counted_as_lost(tmp_path: Path) -> None:
    columns = ", ".join(f'"{number}" {kind}' for number, (kind, *_) in enumerate(VALUES))
    row = ", ".join(value for _, value, *_ in VALUES)
    nothing = ", ".join(["NULL"] * len(VALUES))
    sql = f"CREATE TABLE t ({columns}); INSERT INTO t VALUES ({row}), ({nothing})"
    with closing(make(tmp_path, sql)) as engine:
        (table,) = convert(engine, tmp_path / "made.sqlite")
    first, second = fetch(tmp_path / "made.sqlite", "SELECT * FROM t")
    assert list(first) == [value for *_, value in VALUES]
    assert set(second) == {None}
    assert [declared for _, _, declared in table.columns] == [kind for *_, kind, _ in VALUES]
    lost = [number for number in (3, 4, 7) if f"{number}: {DIGITS}" in table.lost]
    assert lost == [3, 4, 7]
    assert len(table.lost) == 6  # and a NaN, an infinite date, and a -0


def test_keys_that_rows_break_in_sqlite_are_left_out_and_told(tmp_path: Path) -> None:
    sql = (
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b DOUBLE NOT NULL);"
        " INSERT INTO t VALUES (1, 'nan'), (2, 0.5)"
    )
    with closing(make(tmp_path, sql)) as engine:
        (table,) = convert(engine, tmp_path / "made.sqlite")
    assert (table.rows, table.keys) == (2, [])
    assert any(words.startswith("its keys, which its rows break") for words in table.lost)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DECIMAL(38,20)", ["0.10000000000000000001", "0.10000000000000000002"]),
        ("HUGEINT", ["9223372036854775807", "9223372036854775808"]),
        ("DECIMAL(38,0)", ["10000000000000000001", "10000000000000000002"]),
    ],
)
def test_key_of_numbers_that_one_float_would_be_stays_a_key(
    tmp_path: Path, kind: str, values: list[str]
) -> None:
    first, second = values
    sql = (
        f"CREATE TABLE t (a {kind} PRIMARY KEY, b DOUBLE NOT NULL);"
        f" INSERT INTO t VALUES ({second}, 1), ({first}, 'nan')"
    )
    with closing(make(tmp_path, sql)) as engine:
        (table,) = convert(engine, tmp_path / "made.sqlite")
    assert fetch(tmp_path / "made.sqlite", "SELECT a FROM t") == [(first,), (second,)]
    assert table.digits == {"a"}
    assert f"a: {DIGITS}" in table.lost  # with the keys that the second column breaks
    assert table.keys == []


def test_columns_that_sqlite_takes_for_one_are_numbered() -> None:
    assert name_columns(["a", "A", "a_2", "Ä", "ä"]) == ["a", "A_2", "a_2_2", "Ä", "ä"]


def test_view_of_what_is_gone_is_left_out_and_told(tmp_path: Path) -> None:
    sql = (
        "CREATE TABLE t (a INTEGER); CREATE TABLE u (a INTEGER);"
        " CREATE VIEW of_u AS SELECT a FROM u; DROP TABLE u"
    )
    with closing(make(tmp_path, sql)) as engine:
        assert [table.name for table in convert(engine, tmp_path / "made.sqlite")] == ["t"]
    (note,) = engine.notes
    assert note.startswith("main.of_u is left out: ")


CSV = "id,zip,phone,ratio,born,left_on,vip,note\n"
ROWS = ["1,01234,+41 44,0.5,2024-02-29,,true,\n", "2,20095,,1,2023-01-01,,false,a b\n"]


def test_csv_has_types_and_what_begins_with_0_is_text(tmp_path: Path) -> None:
    (tmp_path / "my ships.csv").write_text(CSV + "".join(ROWS), encoding="utf-8")
    (tmp_path / "only text.csv").write_text("name,town\nSun,Kiel\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("a,b\n", encoding="utf-8")
    with closing(DuckDB.open_tables(sorted(tmp_path.glob("*.csv")))) as engine:
        tables = {table.name: table for table in convert(engine, tmp_path / "made.sqlite")}
    types = {name: declared for name, _, declared in tables["my ships"].columns}
    assert types == {
        **{"id": "INTEGER", "zip": "TEXT", "phone": "TEXT", "ratio": "REAL", "born": "DATE"},
        **{"left_on": "TEXT", "vip": "TEXT", "note": "TEXT"},
    }
    path = tmp_path / "made.sqlite"
    assert fetch(path, 'SELECT * FROM "my ships"') == [
        (1, "01234", "+41 44", 0.5, "2024-02-29", None, "true", None),
        (2, "20095", None, 1.0, "2023-01-01", None, "false", "a b"),
    ]
    assert fetch(path, 'SELECT * FROM "only text"') == [("Sun", "Kiel")]
    assert fetch(path, "SELECT a, b FROM empty") == []


def test_times_that_sqlite_does_not_read_are_counted() -> None:
    lost: list[str] = []
    days = ["2024-02-29", "0001-01-01", "0000-00-00", "2024-00-00", "2024-13-01", "2024-01-32"]
    days += ["2024-01-01 24:00:00", "0000-00-00 00:00:00", "infinity", "838:59:59"]
    assert [_store_time(day, lost.append) for day in days] == days
    assert lost == [NO_TIME] * 8


def test_infinite_number_among_long_ones_has_its_name() -> None:
    values = [Decimal("1.50"), Decimal("Infinity"), Decimal("-Infinity"), Decimal("NaN")]
    lost: list[str] = []
    assert [_write_digits(value, lost.append) for value in values] == [
        *("1.50", "Infinity", "-Infinity", None)
    ]
    assert lost == [NO_NUMBER]


def test_parquet_has_its_own_types(tmp_path: Path) -> None:
    target = tmp_path / "ship.parquet"
    duckdb.sql("SELECT 1::TINYINT AS id, [DATE '2024-02-29'] AS days").write_parquet(str(target))
    with closing(DuckDB.open_tables([target])) as engine:
        convert(engine, tmp_path / "made.sqlite")
    assert fetch(tmp_path / "made.sqlite", "SELECT * FROM ship") == [(1, '["2024-02-29"]')]

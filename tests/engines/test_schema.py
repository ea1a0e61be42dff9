import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from answerkey.base.records import write_jsonl
from answerkey.engines.schema import (
    Column,
    ForeignKey,
    Schema,
    SchemaFile,
    Table,
    decode_schema,
    encode_schema,
    quote_name,
)
from answerkey.engines.sqlite.schema import affinity, read_schema


def read(text):
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(text)
        return read_schema(connection)


def test_columns_are_as_declared():
    table = read("CREATE TABLE T (Id INTEGER PRIMARY KEY, 'two words' VARCHAR(9) NOT NULL, x)")
    assert table.tables[0].columns == (
        Column("Id", "INTEGER", False, 1),
        Column("two words", "VARCHAR(9)", True, 0),
        Column("x", "", False, 0),
    )


def test_generated_columns_are_columns_and_hidden_ones_are_not():
    schema = read(
        "CREATE TABLE t (a INTEGER, b INTEGER AS (a * 2), c TEXT NOT NULL AS (a || b) STORED, d);"
        "CREATE VIEW v AS SELECT * FROM t; CREATE VIRTUAL TABLE words USING fts5 (word)"
    )
    assert [[column.name for column in table.columns] for table in schema.tables[:3]] == [
        ["a", "b", "c", "d"],
        ["a", "b", "c", "d"],
        ["word"],
    ]
    assert schema.tables[0].columns[2] == Column("c", "TEXT", True, 0)


@pytest.mark.parametrize(
    ("text", "has_rowid"),
    [
        ("CREATE TABLE t (a INTEGER PRIMARY KEY)", True),
        ("CREATE TABLE t (a TEXT PRIMARY KEY) without  rowid", False),
        ("CREATE TABLE t (a TEXT PRIMARY KEY DEFAULT 'without rowid')", True),
        ("CREATE TABLE t (a TEXT PRIMARY KEY) STRICT, WITHOUT ROWID", False),
        ("CREATE VIEW t AS SELECT 1 AS without, 2 AS rowid", True),
    ],
)
def test_table_without_rowid_is_told_apart(text, has_rowid):
    assert read(text).find_table("t").has_rowid is has_rowid


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("CREATE TABLE t (a INTEGER PRIMARY KEY, b UNIQUE)", (("a",), ("b",))),
        ("CREATE TABLE t (a, b, c, PRIMARY KEY (c, a))", (("c", "a"),)),
        ("CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (b, a)", (("b", "a"),)),
        ("CREATE TABLE t (a, b); CREATE INDEX i ON t (a)", ()),
        ("CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (a) WHERE b > 0", ()),
        ("CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (lower(a))", ()),
        ("CREATE TABLE t (a PRIMARY KEY, UNIQUE (a))", (("a",),)),
    ],
)
def test_unique_keys_start_with_the_primary_one(text, keys):
    assert read(text).tables[0].unique_keys == keys


@pytest.mark.parametrize(
    ("references", "key"),
    [
        ("a REFERENCES p (y)", ForeignKey(("a",), "p", ("y",))),
        ("a REFERENCES p", ForeignKey(("a",), "p", ("x",))),
        ("a, b, FOREIGN KEY (b, a) REFERENCES q", ForeignKey(("b", "a"), "q", ("n", "m"))),
        ("a REFERENCES gone", ForeignKey(("a",), "gone", ())),
        ("a REFERENCES gone (z)", ForeignKey(("a",), "gone", ("z",))),
    ],
)
def test_foreign_key_says_what_it_refers_to(references, key):
    schema = read(
        "CREATE TABLE p (x PRIMARY KEY, y UNIQUE); CREATE TABLE q (m, n, PRIMARY KEY (n, m));"
        f"CREATE TABLE t ({references});"
    )
    assert schema.find_table("t").foreign_keys == (key,)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE b (x); CREATE VIEW v AS SELECT x FROM b; DROP TABLE b;",
        "CREATE VIEW v AS SELECT x FROM never;",
        "CREATE TABLE b (x); CREATE VIEW v AS SELECT y FROM b;",
        "CREATE TABLE b (x); CREATE VIEW v AS SELECT no_such_function(x) FROM b;",
    ],
)
def test_view_that_cannot_be_read_has_no_columns(text):
    schema = read(text + "CREATE TABLE good (a);")
    assert schema.find_table("v").is_view
    assert schema.find_table("v").columns == ()
    assert schema.find_table("v").sql.startswith("CREATE VIEW v")
    assert [column.name for column in schema.find_table("good").columns] == ["a"]


def test_virtual_table_of_an_unknown_module_has_no_columns():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            "CREATE TABLE good (a REFERENCES shape); CREATE TABLE shape_rows (b);"
            "PRAGMA writable_schema = ON;"
            "INSERT INTO sqlite_master VALUES"
            " ('table', 'shape', 'shape', 0, 'CREATE VIRTUAL TABLE shape USING unheard_of (c)');"
            "PRAGMA writable_schema = RESET;"
        )
        with pytest.raises(sqlite3.OperationalError, match="no such module: unheard_of"):
            connection.execute("SELECT * FROM shape")
        schema = read_schema(connection)
    assert [(table.name, len(table.columns)) for table in schema.tables] == [
        ("good", 1), ("shape_rows", 1), ("shape", 0),
    ]  # fmt: skip
    assert schema.find_table("good").foreign_keys == (ForeignKey(("a",), "shape", ()),)
    assert not schema.find_table("shape").is_view


def test_schema_survives_json():
    schema = read(
        "CREATE TABLE p (x INTEGER PRIMARY KEY, y TEXT NOT NULL UNIQUE);"
        'CREATE TABLE "odd ""name""" ("c\'1" REAL REFERENCES p (x)); CREATE VIEW v AS SELECT 1'
    )
    assert decode_schema(json.loads(json.dumps(encode_schema(schema)))) == schema
    assert schema.find_table('odd "name"').foreign_keys == (ForeignKey(("c'1",), "p", ("x",)),)


def test_tables_name_the_engine_of_their_database_unless_it_is_sqlite():
    tables = (Table("ship", False, ()),)
    assert "engine" not in encode_schema(Schema(tables))[0]
    encoded = encode_schema(Schema(tables, "postgres"))
    assert encoded[0]["engine"] == "postgres"
    assert decode_schema(encoded) == Schema(tables, "postgres")
    assert decode_schema([]).engine == "sqlite"


@pytest.mark.parametrize(
    "declared",
    ["INT", "bigint", "VARCHAR(9)", "CHARINT", "CLOB", "", "BLOB", "REAL", "DOUBLE PRECISION",
     "FLOATING POINT", "NUMERIC", "DECIMAL(10,5)", "BOOLEAN", "DATE", "STRING", "nonsense"],
)  # fmt: skip
def test_affinity_is_the_one_sqlite_applies(declared):
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t (a {declared})")
        connection.execute("INSERT INTO t VALUES ('1.0'), (1.0), (x'31'), ('x')")
        stored = [kind for (kind,) in connection.execute("SELECT typeof(a) FROM t")]
    expected = {
        "INTEGER": ["integer", "integer", "blob", "text"],
        "NUMERIC": ["integer", "integer", "blob", "text"],
        "REAL": ["real", "real", "blob", "text"],
        "TEXT": ["text", "text", "blob", "text"],
        "BLOB": ["text", "real", "blob", "text"],
    }
    assert stored == expected[affinity(declared)]


@pytest.mark.parametrize("name", ["a", 'a"b', "a b", "select", "", "é", "'", "--", "]"])
def test_quoted_name_is_that_name(name):
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({quote_name(name)} INT)")
        assert connection.execute("PRAGMA table_info(t)").fetchone()[1] == name


SCHEMAS = {
    name: Schema((Table(table, False, (Column("id", "INTEGER", True, 1),), (("id",),)),))
    for name, table in (("café", "ship"), ("mill", "größe"), ("zoo", "animal"))
}


@pytest.fixture
def schemas_path(tmp_path: Path) -> Path:
    path = tmp_path / "schemas.jsonl"
    tables = {name: encode_schema(schema) for name, schema in SCHEMAS.items()}
    write_jsonl(path, ({"database_name": name, "tables": found} for name, found in tables.items()))
    return path


def test_schemas_are_found_in_any_order(schemas_path: Path) -> None:
    schemas = SchemaFile(schemas_path)
    assert [schemas[name] for name in ("zoo", "café", "mill", "café")] == [
        SCHEMAS[name] for name in ("zoo", "café", "mill", "café")
    ]
    assert decode_schema(schemas.read_tables("mill")) == SCHEMAS["mill"]

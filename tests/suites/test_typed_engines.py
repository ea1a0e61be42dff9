"""Suites of databases whose columns have types, made and stored by DuckDB and PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from answerkey.base.records import Shard
from answerkey.engines.answers import answers_match, shape_answer
from answerkey.engines.cache import CACHE_VARIABLE
from answerkey.engines.database import Limits
from answerkey.engines.names import DUCKDB, POSTGRES, SUFFIXES
from answerkey.engines.opening import find_engine, open_database
from answerkey.engines.settings import write_head
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sql.query_tree import speaking
from answerkey.suites.pool import DatabaseSuites, make_suites
from answerkey.suites.questions import SuiteQuestion
from tests.shared.engine_world import require_engine

pytestmark = pytest.mark.timeout(240)

STATE = "CREATE TYPE state AS ENUM ('new', 'paid', 'sent');\n"
SHOP = {
    DUCKDB: """
CREATE TABLE customer (
    id INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, active BOOLEAN NOT NULL, born DATE,
    token UUID UNIQUE, tags VARCHAR[], boss_id INTEGER REFERENCES customer (id)
);
CREATE TABLE sale (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id),
    state state NOT NULL, placed TIMESTAMP NOT NULL, price DECIMAL(8, 2) CHECK (price > 0),
    pieces TINYINT NOT NULL CHECK (pieces BETWEEN 1 AND 9), twice INTEGER AS (pieces * 2),
    CHECK (price > pieces)
);
CREATE UNIQUE INDEX by_name ON customer (lower(name));
""",
    POSTGRES: """
CREATE DOMAIN pieces AS smallint NOT NULL CHECK (VALUE BETWEEN 1 AND 9);
CREATE TABLE customer (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(10) NOT NULL UNIQUE,
    active boolean NOT NULL, born date, token uuid UNIQUE, tags text[],
    boss_id integer REFERENCES customer (id)
);
CREATE TABLE sale (
    id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customer (id),
    state state NOT NULL, placed timestamptz NOT NULL, price numeric(8, 2) CHECK (price > 0),
    pieces pieces, twice integer GENERATED ALWAYS AS (pieces * 2) STORED, CHECK (price > pieces)
);
CREATE UNIQUE INDEX by_name ON customer (lower(name));
""",
}
QUESTIONS = (
    "SELECT name FROM customer WHERE active",
    "SELECT count(*) FILTER (WHERE state = 'paid') FROM sale",
    "SELECT sum(price) FROM sale WHERE EXTRACT(YEAR FROM placed) = 2024",
    "SELECT name FROM customer WHERE born >= DATE '1990-01-01' AND NOT active",
    # Postgres refuses DISTINCT where ORDER BY has a column that is not shown.
    "SELECT DISTINCT ON (customer_id) customer_id, id FROM sale ORDER BY customer_id, id",
)
ORPHANS = (
    "SELECT count(*) FROM sale WHERE customer_id NOT IN (SELECT id FROM customer)",
    "SELECT count(*) FROM customer WHERE boss_id NOT IN (SELECT id FROM customer)",
)


class Shop(NamedTuple):
    """The database of an engine, and its suites."""

    path: Path
    made: DatabaseSuites


@pytest.fixture(scope="module", params=[DUCKDB, POSTGRES])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """An engine with a cache, which the server of Postgres may enter as another user."""
    require_engine(request.param)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        Path(folder).chmod(0o711)
        patch.setenv(CACHE_VARIABLE, folder)
        yield request.param


def write_database(folder: Path, engine: str, sql: str) -> Path:
    path = folder / f"shop{SUFFIXES[engine]}"
    path.write_text(write_head(engine, {}) + sql, encoding="utf-8")
    return path


def make(path: Path, *queries: str) -> DatabaseSuites:
    engine = find_engine(path)
    questions = [SuiteQuestion(f"q{n}", sql, "ORDER BY" in sql) for n, sql in enumerate(queries)]
    with speaking(engine.name):
        return make_suites(
            path,
            engine.read_schema(path),
            questions,
            shard=Shard("shop"),
            settings=SuiteSettings(pool=20),
            limits=Limits(),
        )


@pytest.fixture(scope="module")
def shop(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    tags, always = ("'{a}'", "OVERRIDING SYSTEM VALUE ") if engine == POSTGRES else ("['a']", "")
    rows = [  # each by itself: DuckDB finds the boss in no row beside it
        f"INSERT INTO customer {always}VALUES ({n}, 'Name {n}', {n % 3 > 0}, '{1980 + n}-05-11',"
        f" '00000000-0000-4000-8000-0000000000{n:02}', {tags}, {n - 1 or 'NULL'});"
        for n in range(1, 21)
    ]
    rows += [
        "INSERT INTO sale (id, customer_id, state, placed, price, pieces) VALUES"
        f" ({n}, {1 + n % 17}, '{('new', 'paid', 'sent')[n % 3]}',"
        f" '{2023 + n % 3}-0{1 + n % 9}-1{n % 9} 10:00:00', {10 + n}.5, {1 + n % 9});"
        for n in range(1, 61)
    ]
    sql = STATE + SHOP[engine] + "\n".join(rows) + "\n"
    path = write_database(tmp_path_factory.mktemp("shop"), engine, sql)
    return Shop(path, make(path, *QUESTIONS))


def test_suites_of_typed_columns_kill_what_the_dialect_brings(shop: Shop) -> None:
    assert shop.made.problem is None
    for record in shop.made.records:
        assert record["mutation_score"] is not None, record
        assert record["mutation_score"]["suite"] >= 0.9, record
    names = {name for record in shop.made.records for name in record["operators"]}
    assert {"filter_dropped", "distinct_on", "date_part"} <= names


def test_variants_are_texts_that_keep_every_rule_and_give_the_stored_answers(
    shop: Shop, tmp_path: Path
) -> None:
    known = {}
    for number, file in enumerate(shop.made.files, start=1):
        path = tmp_path / f"shop.{number:02}{''.join(shop.path.suffixes)}"
        path.write_bytes(file)
        known[path.name] = path
        with open_database(path) as database:  # built of the text: the engine takes each row
            assert database.execute("SELECT count(*) FROM sale") > [(0,)]
            assert [database.execute(sql) for sql in ORPHANS] == [[(0,)], [(0,)]]
    assert known
    for sql, record in zip(QUESTIONS, shop.made.records, strict=True):
        assert record["databases"]
        for described in record["databases"]:
            with open_database(known[described["path"].rpartition("/")[2]]) as database:
                answer = shape_answer(database.execute(sql))
            assert answers_match(described["gold_answer"], answer, ordered=False)


def test_suites_are_the_same_when_they_are_made_again(shop: Shop) -> None:
    again = make(shop.path, *QUESTIONS)
    assert (again.records, again.files) == (shop.made.records, shop.made.files)


def test_database_whose_rules_allow_few_rows_has_suites(engine: str, tmp_path: Path) -> None:
    """A row that a CHECK refuses costs the change, and neither the variant nor the suites."""
    rows = ", ".join(f"({n}, {n % 4}, {10 - n % 4})" for n in range(30))
    path = write_database(
        tmp_path,
        engine,
        "CREATE TABLE part (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, CHECK (a + b = 10));\n"
        f"INSERT INTO part VALUES {rows};\n",
    )
    made = make(path, "SELECT count(*) FROM part WHERE a > 2")
    assert made.problem is None
    assert made.records[0]["databases"]

"""Suites of databases whose columns have types, made and stored by DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.base.records import Shard
from answerkey.engines.answers import answers_match, compute_gold_answer
from answerkey.engines.cache import CACHE_VARIABLE
from answerkey.engines.database import Limits
from answerkey.engines.opening import find_engine, open_database
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sql.query_tree import speaking
from answerkey.suites.pool import DatabaseSuites, make_suites
from answerkey.suites.questions import SuiteQuestion

pytest.importorskip("duckdb")

SHOP = """-- answerkey: {"engine": "duckdb"}
CREATE TYPE state AS ENUM ('new', 'paid', 'sent');
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
"""
QUESTIONS = (
    "SELECT name FROM customer WHERE active",
    "SELECT count(*) FILTER (WHERE state = 'paid') FROM sale",
    "SELECT sum(price) FROM sale WHERE EXTRACT(YEAR FROM placed) = 2024",
    "SELECT customer_id, id FROM sale"
    " QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY placed DESC, id) = 1",
    "SELECT name FROM customer WHERE born >= DATE '1990-01-01' AND NOT active",
)


def write_shop(folder: Path) -> Path:
    customers = "\n".join(  # each by itself: DuckDB sees the boss in no row beside it
        f"INSERT INTO customer VALUES ({n}, 'Name {n}', {n % 3 > 0}, '{1980 + n}-0{1 + n % 9}-11',"
        f" '00000000-0000-4000-8000-0000000000{n:02}', ['a'], {n - 1 or 'NULL'});"
        for n in range(1, 21)
    )
    sales = ", ".join(
        f"({n}, {1 + n % 17}, '{('new', 'paid', 'sent')[n % 3]}',"
        f" '{2023 + n % 3}-0{1 + n % 9}-1{n % 9} 10:00:00', {10 + n}.5, {1 + n % 9})"
        for n in range(1, 61)
    )
    path = folder / "shop.duckdb.sql"
    path.write_text(
        f"{SHOP}{customers}\n"
        "INSERT INTO sale (id, customer_id, state, placed, price, pieces)"
        f" VALUES {sales};\n"
    )
    return path


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def made(shop: Path) -> DatabaseSuites:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(shop.parent / "cache"))
        return make(shop)


def make(path: Path) -> DatabaseSuites:
    engine = find_engine(path)
    questions = [
        SuiteQuestion(f"q{number}", sql, order=False) for number, sql in enumerate(QUESTIONS)
    ]
    with speaking(engine.name):
        return make_suites(
            path,
            engine.read_schema(path),
            questions,
            shard=Shard("shop"),
            settings=SuiteSettings(pool=20),
            limits=Limits(),
        )


def test_suites_of_typed_columns_kill_what_the_dialect_brings(made: DatabaseSuites) -> None:
    assert made.problem is None
    for record in made.records:
        assert record["mutation_score"] is not None, record
        assert record["mutation_score"]["suite"] >= 0.9, record
    names = {name for record in made.records for name in record["operators"]}
    assert {"filter_dropped", "qualify_dropped", "date_part"} <= names


def test_variants_are_texts_that_keep_every_rule_and_give_the_stored_answers(
    made: DatabaseSuites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    assert made.files
    for number, file in enumerate(made.files, start=1):
        path = tmp_path / f"shop.{number:02}.duckdb.sql"
        path.write_bytes(file)
        with open_database(path) as database:  # built of the text: DuckDB takes each row
            assert database.execute("SELECT count(*) FROM sale") > [(0,)]
    for sql, record in zip(QUESTIONS, made.records, strict=True):
        assert record["databases"]
        for database in record["databases"]:
            answer = compute_gold_answer(sql, tmp_path / database["path"].rpartition("/")[2])
            assert answers_match(database["gold_answer"], answer, ordered=False)


def test_suites_are_the_same_when_they_are_made_again(
    made: DatabaseSuites, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    again = make(shop)
    assert (again.records, again.files) == (made.records, made.files)


def test_database_whose_rules_allow_few_rows_has_suites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that a CHECK refuses cost the change, and neither the variant nor the suites."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    rows = ", ".join(f"({n}, {n % 4}, {10 - n % 4})" for n in range(30))
    path = tmp_path / "shop.duckdb.sql"
    path.write_text(
        '-- answerkey: {"engine": "duckdb"}\n'
        "CREATE TABLE part (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, CHECK (a + b = 10));\n"
        f"INSERT INTO part VALUES {rows};\n"
    )
    engine = find_engine(path)
    question = SuiteQuestion("q", "SELECT count(*) FROM part WHERE a > 2", order=False)
    with speaking(engine.name):
        suites = make_suites(
            path,
            engine.read_schema(path),
            [question],
            shard=Shard("shop"),
            settings=SuiteSettings(pool=12),
            limits=Limits(),
        )
    assert suites.problem is None
    assert suites.records[0]["databases"]

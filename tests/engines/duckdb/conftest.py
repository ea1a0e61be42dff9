"""A small database of DuckDB, built in a cache of the test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.engines.cache import CACHE_VARIABLE

SHOP = """-- answerkey: {"engine": "duckdb"}
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE SCHEMA sales;
CREATE TABLE ship (
    id INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    built DATE,
    price DECIMAL(12, 2),
    mood mood,
    tags VARCHAR[],
    twice INTEGER GENERATED ALWAYS AS (id * 2),
    UNIQUE (name, built)
);
CREATE TABLE sales.trip (id INTEGER PRIMARY KEY, ship_id INTEGER, started TIMESTAMP);
CREATE TABLE crew (
    id INTEGER PRIMARY KEY,
    ship_id INTEGER REFERENCES ship (id),
    boss_id INTEGER REFERENCES crew (id),
    name VARCHAR CHECK (length(name) < 20)
);
CREATE UNIQUE INDEX crew_name ON crew (name);
INSERT INTO ship (id, name, built, price, mood, tags) VALUES
    (1, 'Ann', '1990-05-01', 10.50, 'happy', ['a', 'b, c']),
    (2, 'Bob', '2001-01-01', 1234567890.12, 'sad', NULL),
    (3, 'it''s; --', NULL, NULL, NULL, []);
INSERT INTO sales.trip VALUES (1, 1, '2020-01-01 10:00:00'), (2, 1, '2020-02-01 10:30:00.5');
INSERT INTO crew VALUES (1, 1, NULL, 'Xi');
INSERT INTO crew VALUES (2, 2, 1, 'Yo');
CREATE VIEW old_ship AS SELECT id, name FROM ship WHERE built < DATE '2000-01-01';
COMMENT ON TABLE ship IS 'all ships';
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def use_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(cache))


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.duckdb.sql"
    path.write_text(SHOP)
    return path

"""The names of engines, and how the files of their databases end."""

from __future__ import annotations

from pathlib import Path

SQLITE, DUCKDB, POSTGRES = ENGINES = ("sqlite", "duckdb", "postgres")
SUFFIXES = {SQLITE: ".sqlite", DUCKDB: ".duckdb.sql", POSTGRES: ".postgres.sql"}
# The engines as people, and prompts, write them.
TITLES = {SQLITE: "SQLite", DUCKDB: "DuckDB", POSTGRES: "PostgreSQL"}


def name_engine(path: str | Path) -> str:
    """Return the name of the engine of a database by the end of its file's name.

    >>> name_engine("shop/shop.duckdb.sql"), name_engine("shop/shop.sqlite"), name_engine("shop.db")
    ('duckdb', 'sqlite', 'sqlite')
    """
    name = str(path)
    if not name.endswith(".sql"):  # asked for every prediction
        return SQLITE
    ends = (engine for engine, suffix in SUFFIXES.items() if name.endswith(suffix))
    return next(ends, SQLITE)

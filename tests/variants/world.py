"""Worlds of the tests: a database of SQL text, its rows, and what SQLite says of a variant."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from answerkey.variants import fuzzer
from answerkey.variants.keys import find_key_facts
from answerkey.variants.rows import Rows, open_tried, read_rows, serialize_rows
from tests.shared.databases import make_database


def read_world(folder: Path, sql: str, **options: Any) -> Rows:
    return read_rows(make_database(folder / "world.sqlite", sql), **options)


def make_variant(rows: Rows, recipe: str, seed: int = 0, **options: Any) -> Rows:
    facts = find_key_facts(rows)
    with open_tried(rows) as tried:
        return fuzzer.make_variant(rows, facts, recipe, seed=seed, tried=tried, **options)


@contextlib.contextmanager
def open_rows(rows: Rows) -> Iterator[sqlite3.Connection]:
    """The database file of these rows, open."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(serialize_rows(rows))
        yield connection


def ask(rows: Rows, sql: str) -> list[tuple[Any, ...]]:
    with open_rows(rows) as connection:
        return connection.execute(sql).fetchall()

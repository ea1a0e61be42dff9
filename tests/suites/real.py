"""The real database of suites, from SQL text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from answerkey.engines.executions import Executions
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.suites.rivals import RealDatabase
from tests.shared.databases import make_database


@contextmanager
def open_real(path: Path, sql: str) -> Iterator[RealDatabase]:
    """Make a database file, and open it as the real database of a suite."""
    make_database(path, sql)
    with closing(open_database(path)) as connection:
        schema = read_schema(connection)
    with GuardedDatabase(path) as database:
        yield RealDatabase(Executions(database), schema)

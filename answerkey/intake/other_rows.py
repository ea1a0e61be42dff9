"""Translated gold on other rows than those of its database.

Test suites have variants of a database, so a translation that agrees on its rows alone is wrong
there. The database is taken apart in its own engine, and some variants are made of it. On each, the
query runs as it was written in that engine, and its translation in SQLite, on the same rows,
converted as those of the database are.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot.errors import SqlglotError

from answerkey.base.errors import InputError
from answerkey.engines.database import DatabaseError, Limits
from answerkey.engines.engine import RefusedRowsError
from answerkey.engines.names import SUFFIXES
from answerkey.engines.opening import find_engine, load_engine
from answerkey.intake.conversion import ConvertedTable
from answerkey.intake.dialects import Comparer
from answerkey.intake.engines import DuckDB, Engine, EngineError, Row, first_line
from answerkey.intake.keeping import keep_database
from answerkey.intake.postgres import Postgres
from answerkey.intake.postgres_text import dump_server
from answerkey.intake.whole_database import convert_alike
from answerkey.sql.query_tree import parse_sql, speaking
from answerkey.sql.scopes import Scopes
from answerkey.variants.constants import (
    Conditions,
    Constant,
    Spelling,
    list_conditions,
    list_constants,
)
from answerkey.variants.fuzzer import make_variant
from answerkey.variants.keys import find_key_facts
from answerkey.variants.rows import Rows, open_refilled, open_tried, read_rows, serialize_rows

VARIANTS = ("everything", "conditions", "plant", "nulls", "collide", "everything")  # recipes
_SEED = 20
_MAX_ROWS = 30  # of a table, about
_MAX_VALUES = 2_000_000  # of a database that is written in its own engine, and read again
# A query takes little on so few rows. What exceeds these bounds says nothing.
_LIMITS = Limits(max_steps=5_000_000)
_MAX_SECONDS = 5

OpenVariant = Callable[[Rows], AbstractContextManager[Engine]]


class TranslatedQuery(NamedTuple):
    """A query of the engine, and its translation."""

    there: str
    here: str


class Compared(NamedTuple):
    """By query, evidence that its translation gives other rows on a variant; and how many variants
    there were.

    problem: why there were none, if some were wanted.
    """

    differences: dict[TranslatedQuery, dict[str, Any]]
    variants: int = 0
    problem: str | None = None


def compare_on_variants(
    engine: Engine,
    made: Path,
    tables: Iterable[ConvertedTable],
    queries: Sequence[TranslatedQuery],
    *,
    now: str | None,
) -> Compared:
    """Compare each query with its translation on variants of their database.

    made: the file of SQLite that was made of the database; tables: what became of them.
    """
    found: dict[TranslatedQuery, dict[str, Any]] = {}
    count = 0
    if not queries:
        return Compared(found)
    with tempfile.TemporaryDirectory(prefix="answerkey-") as text, ExitStack() as stack:
        folder = Path(text)
        try:
            with _explain_faults(engine):
                _check_size(tables)
                rows = _take_apart(engine, folder, now)
                variants = _make_variants(rows, engine.dialect, queries)
                open_variant = stack.enter_context(_open_variants(engine, rows, now))
                for variant in variants:
                    with contextlib.suppress(RefusedRowsError):
                        asked = [query for query in queries if query not in found]
                        found |= _ask(variant, asked, open_variant, folder, made, now)
                        count += 1
        except (InputError, DatabaseError, EngineError, sqlite3.Error) as error:
            return Compared({}, problem=str(error).replace(f"{folder}/", ""))
    return Compared(found, count)


@contextlib.contextmanager
def _explain_faults(engine: Engine) -> Iterator[None]:
    """Turn what the driver of Postgres says into an error that others know."""
    if not isinstance(engine, Postgres):
        yield
        return
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise EngineError(first_line(error)) from error


def _check_size(tables: Iterable[ConvertedTable]) -> None:
    count = sum(table.rows * len(table.columns) for table in tables)
    if count > _MAX_VALUES:
        raise InputError(f"no variants are made of {count:,} values, more than {_MAX_VALUES:,}")


def _take_apart(engine: Engine, folder: Path, now: str | None) -> Rows:
    if not isinstance(engine, Postgres | DuckDB):
        raise InputError(f"no variants are made of a database of {engine.dialect}")
    load_engine(engine.dialect)  # or an error says which package is missing
    path, place = folder / f"variants{SUFFIXES[engine.dialect]}", "its text"
    given = dump_server(engine, place) if isinstance(engine, Postgres) else engine
    keep_database(engine.dialect, given, path, place, now=now)
    return read_rows(path, seed=_SEED, now=now)


def _make_variants(rows: Rows, dialect: str, queries: Sequence[TranslatedQuery]) -> Iterator[Rows]:
    constants, conditions = _list_wanted(rows, dialect, queries)
    facts = find_key_facts(rows)
    with open_tried(rows) as tried:
        for number, recipe in enumerate(VARIANTS):
            yield make_variant(
                rows,
                facts,
                recipe,
                seed=_SEED + number,
                max_rows=_MAX_ROWS,
                constants=constants,
                conditions=conditions,
                tried=tried,
            )


def _list_wanted(
    rows: Rows, dialect: str, queries: Sequence[TranslatedQuery]
) -> tuple[list[Constant], list[Conditions]]:
    """What the queries compare columns with, and the rows behind their answers."""
    constants: dict[Constant, None] = {}
    conditions: dict[Conditions, None] = {}
    schema, spelling = find_engine(rows.path).read_schema(rows.path), Spelling(rows)
    with speaking(dialect):
        for query in queries:
            with contextlib.suppress(SqlglotError, RecursionError):
                scopes = Scopes(parse_sql(query.there), schema)
                constants.update(dict.fromkeys(list_constants(scopes, spelling)))
                conditions.update(dict.fromkeys(list_conditions(scopes, rows.tables, spelling)))
    return [each for each in constants if each[0] in rows.tables], [*conditions]


@contextlib.contextmanager
def _open_variants(engine: Engine, rows: Rows, now: str | None) -> Iterator[OpenVariant]:
    """Yield what opens a variant as a database of the engine; one at a time."""
    if not isinstance(engine, Postgres):

        def open_text(variant: Rows) -> AbstractContextManager[Engine]:
            database = DuckDB.open_text(serialize_rows(variant).decode())
            database.max_seconds = _MAX_SECONDS
            return closing(database)

        yield open_text
        return
    from answerkey.engines.postgres.refilled import RefilledPostgres

    ((search_path,),) = engine.fetch("SHOW search_path")
    with open_refilled(rows, _LIMITS, now=now) as database:
        if not isinstance(database, RefilledPostgres):
            raise TypeError(f"expected a database of Postgres, found {database!r}")
        url = database.write_url({"search_path": search_path})

        def open_refilled_one(variant: Rows) -> AbstractContextManager[Engine]:
            database.fill_tables(variant.list_rows(), variant.now)
            return closing(Postgres(url, is_dump=True, max_seconds=_MAX_SECONDS))

        yield open_refilled_one


def _ask(
    variant: Rows,
    queries: Sequence[TranslatedQuery],
    open_variant: OpenVariant,
    folder: Path,
    made: Path,
    now: str | None,
) -> dict[TranslatedQuery, dict[str, Any]]:
    """The queries that a variant tells from their translations. What depends on how rows are stored
    there, as a row number of rows that tie, tells nothing."""
    found: dict[TranslatedQuery, dict[str, Any]] = {}
    answers: dict[TranslatedQuery, list[Row]] = {}
    with _open_comparer(variant, open_variant, folder, made, now) as comparer:
        for query in queries:
            difference = comparer.find_other_answer(query.here, query.there)
            if difference is not None:
                found[query] = difference
                answers[query] = comparer.fetch_there(query.there)
    if not found:
        return found
    turned = variant.with_rows({name: rows[::-1] for name, rows in variant.list_rows().items()})
    with _open_comparer(turned, open_variant, folder, made, now) as comparer:
        return {
            query: difference
            for query, difference in found.items()
            if comparer.gives_there(query.there, answers[query])
        }


@contextlib.contextmanager
def _open_comparer(
    variant: Rows, open_variant: OpenVariant, folder: Path, made: Path, now: str | None
) -> Iterator[Comparer]:
    path = folder / "variant.sqlite"
    path.unlink(missing_ok=True)
    with open_variant(variant) as engine:
        convert_alike(engine, path, made)
        with Comparer(path, engine, _LIMITS, now=now) as comparer:
            yield comparer

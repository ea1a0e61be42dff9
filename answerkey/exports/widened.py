"""Widen databases by tables of other databases: the same questions on 50, 100 or 500 tables.

The tables come, with a few rows each, from other databases of the same corpus and the same split,
so that training sees nothing of eval. Gold SQL and its answer do not change:

- If another database has a table of the same name ("Ship", "ships"), it is about the same things.
  None of its tables is used: the question might be about them as well.
- Gold SQL, and every other right query, is executed on the widened database and must give its
  stored answer there. Otherwise the database is not widened.

A seed decides the order of all tables, so that their positions reveal nothing.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.records import (
    DESCRIPTIONS,
    SPLITS,
    ManifestEntry,
    hash_file,
    read_database_paths,
    read_json,
    read_manifest,
    write_json,
    write_manifest,
)
from answerkey.dataset import Question, read_product, read_questions
from answerkey.engines.answers import Order, answer_rows, has_choice, read_order
from answerkey.engines.database import QueryError
from answerkey.engines.executions import are_same
from answerkey.engines.names import SQLITE, TITLES, name_engine
from answerkey.engines.schema import fold_name, quote_name
from answerkey.engines.sqlite.files import LAYOUT, find_inside, open_database, serialize_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.tables import write_insert
from answerkey.variants.rows import TableRows, read_rows

_ADDED_ROWS = 5  # about this many of an added table: enough to see its content
_PAGE_BYTES = 1024  # a table takes at least one page, and added ones are small
_KEPT_DONORS = 200  # in memory: adjacent databases of a circle use the same ones
_UNSAFE = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;"
_NOT_IN_WORDS = re.compile(r"[\W_]+")


class Added(NamedTuple):
    """A table for other databases, with some rows, and its corpus's descriptions of its columns."""

    rows: TableRows
    descriptions: Any

    @property
    def name(self) -> str:
        return self.rows.name


@dataclass
class Outcome:
    """The result for a database: the numbers of its own and of added tables.

    fault: why none was added although others have some; None: no fault.
    """

    own: int
    added: int = 0
    fault: str | None = None

    @property
    def tables(self) -> int:
        return self.own + self.added


@dataclass
class Widened:
    """The results for databases, by their names, with the wanted number of tables.

    same_answers: how many queries gave their stored answers on widened databases.
    """

    asked: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    same_answers: int = 0

    @property
    def faults(self) -> dict[str, str]:
        """Return why databases were not widened, by their names."""
        return {
            name: outcome.fault
            for name, outcome in self.outcomes.items()
            if outcome.fault is not None
        }

    def summarize(self) -> dict[str, Any]:
        """Return the counts for metrics."""
        counts = sorted(outcome.tables for outcome in self.outcomes.values())
        return {
            "databases": len(counts),
            "tables_asked": self.asked,
            "tables": {
                "fewest": counts[0],
                "median": counts[(len(counts) - 1) // 2],
                "most": counts[-1],
            },
            "databases_with_fewer": sum(count < self.asked for count in counts),
            "databases_with_a_fault": len(self.faults),
            "queries_with_the_same_answer": self.same_answers,
        }


def describe_shortfall(summary: Mapping[str, Any]) -> str | None:
    """Return a sentence about databases with fewer tables than wanted; None if there are none.

    summary: that of `Widened.summarize`.

    >>> tables = {"fewest": 24, "median": 40, "most": 56}
    >>> describe_shortfall({"databases": 16, "tables_asked": 500, "tables": tables,
    ...     "databases_with_fewer": 16})
    'widened_tables asks for 500 tables: 16 of 16 databases have fewer, 24 is the fewest, 40 the \
median and 56 the most, since others of the same corpus and split have no more to give'
    """
    if not summary["databases_with_fewer"]:
        return None
    tables = summary["tables"]
    return (
        f"widened_tables asks for {summary['tables_asked']:,} tables:"
        f" {summary['databases_with_fewer']:,} of {spell_count(summary['databases'], 'database')}"
        f" have fewer, {tables['fewest']:,} is the fewest, {tables['median']:,} the median and"
        f" {tables['most']:,} the most, since others of the same corpus and split have no more to"
        " give"
    )


def widen_databases(
    product: Path, databases: Path, out: Path, *, tables: int, seed: int
) -> Widened:
    """Fill the folder `out`, laid out as that of the databases, with each database that has
    questions. Each gets `tables` tables, or as many as others of its corpus and split have.

    Raises:
        InputError: no database can take tables from another one, or one is not of SQLite.
    """
    manifest = read_manifest(databases / "manifest.json")
    circles = _draw_circles(product, manifest, seed)
    paths = read_database_paths(databases)
    for name in sorted(chain.from_iterable(circles)):
        if (engine := name_engine(paths[name])) != SQLITE:
            raise InputError(
                "export_trainers.schema: widened is for databases of SQLite alone, and"
                f" {name} is one of {TITLES[engine]}: expected schema: own"
            )
    widened = Widened(tables)

    @lru_cache(_KEPT_DONORS)
    def read(name: str) -> list[Added]:
        return read_tables(_find(databases, name))

    for circle in circles:
        for position, name in enumerate(circle):
            others = map(read, circle[position + 1 :] + circle[:position])
            source, target = _find(databases, name), _find(out, name)
            widened.outcomes[name] = _widen(source, others, target, tables, seed)
    if not any(one.added or one.own >= tables for one in widened.outcomes.values()):
        raise InputError(_explain_nothing(widened))
    for split in SPLITS:
        for name, asked in groupby(read_product(product, split), attrgetter("database_name")):
            outcome, target = widened.outcomes[name], _find(out, name)
            if outcome.added:
                count, outcome.fault = _count_same(asked, target)
                if outcome.fault is None:
                    widened.same_answers += count
                else:
                    outcome.added = 0
                    _copy(_find(databases, name), target)
    names = sorted(widened.outcomes)
    entries = {name: _describe(_find(out, name), manifest[name]) for name in names}
    write_manifest(out / "manifest.json", entries)
    return widened


def _find(folder: Path, name: str) -> Path:
    return find_inside(folder, f"{name}/{name}.sqlite")


def _draw_circles(
    product: Path, manifest: Mapping[str, ManifestEntry], seed: int
) -> list[list[str]]:
    """Return the databases that may take tables from each other: of one corpus, with questions in
    the same splits. The seed orders each circle; a database takes tables from those that follow it.
    """
    splits = defaultdict(set)
    for split in SPLITS:
        for question in read_questions(product / f"questions_{split}.json"):
            splits[question["database_name"]].add(split)
    circles = defaultdict(list)
    for name in sorted(splits):
        circles[manifest[name]["origin"]["corpus"], *sorted(splits[name])].append(name)
    for circle in circles.values():
        Random(seed).shuffle(circle)
    return [*circles.values()]


def _explain_nothing(widened: Widened) -> str:
    names = ", ".join(sorted(widened.outcomes)[:3])
    fault = next(iter(widened.faults.values()), "")
    return (
        "export_trainers.schema: widened takes tables from other databases of the same corpus and"
        f" split, and no database has one that can give any (databases with questions: {names});"
        f" expected several, or schema: own{fault and f'; {fault}'}"
    )


def read_tables(path: Path) -> list[Added]:
    """Return the tables of a database with some rows each; [] if they cannot be copied."""
    try:
        tables = read_rows(path, max_rows=_ADDED_ROWS).tables
    except InputError:
        return []
    descriptions = _read_descriptions(path)
    return [Added(rows, descriptions.get(name)) for name, rows in tables.items()]


def _read_descriptions(path: Path) -> dict[str, Any]:
    described = path.with_name(DESCRIPTIONS)
    return read_json(described) if described.is_file() else {}


def choose_tables(own: Iterable[str], others: Iterable[Sequence[Added]], count: int) -> list[Added]:
    """Return `count` tables of other databases, or fewer if they have no more. They are taken from
    one database after the other, except from those with a table that is named as one of `own`.

    A table that refers to a table that is not chosen is left out: its reference would lead to
    nothing, or to another table.
    """
    names = {_loosen(name) for name in own}
    chosen: dict[str, Added] = {}
    for tables in others:
        if len(chosen) >= count:
            break
        if names.isdisjoint(_loosen(table.name) for table in tables):
            fresh = [table for table in tables if fold_name(table.name) not in chosen]
            whole = _drop_dangling(fresh[: count - len(chosen)])
            chosen |= {fold_name(table.name): table for table in whole}
    return [*chosen.values()]


def _drop_dangling(tables: Sequence[Added]) -> list[Added]:
    kept = list(tables)
    while True:
        names = {fold_name(table.name) for table in kept}
        whole = [
            table
            for table in kept
            if names.issuperset(fold_name(key.table) for key in table.rows.table.foreign_keys)
        ]
        if len(whole) == len(kept):
            return whole
        kept = whole


def _loosen(name: str) -> str:
    """Return a name without parts in which two names of one thing may differ.

    >>> _loosen("Ship_Owners"), _loosen("shipowner")
    ('shipowner', 'shipowner')
    """
    return _NOT_IN_WORDS.sub("", name).casefold().removesuffix("s")


def _widen(
    source: Path, others: Iterable[Sequence[Added]], target: Path, asked: int, seed: int
) -> Outcome:
    """Write a database with tables of others, or a copy of it. Return which of the two."""
    with closing(open_database(source)) as connection:
        named = connection.execute(
            "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ).fetchall()
    outcome = Outcome(sum(kind == "table" for kind, _ in named))
    added = choose_tables([name for _, name in named], others, asked - outcome.own)
    target.parent.mkdir(parents=True)
    if added:
        try:
            target.write_bytes(_build(source, added, target, seed))
        except sqlite3.Error as error:
            outcome.fault = f"SQLite cannot write it anew: {error}"
    if not added or outcome.fault:
        _copy(source, target)
        return outcome
    outcome.added = len(added)
    descriptions = _read_descriptions(source)
    descriptions |= {table.name: table.descriptions for table in added if table.descriptions}
    if descriptions:
        write_json(target.with_name(DESCRIPTIONS), descriptions)
    return outcome


def _copy(source: Path, target: Path) -> None:
    for name in (source.name, DESCRIPTIONS):
        target.with_name(name).unlink(missing_ok=True)
        if source.with_name(name).is_file():
            shutil.copyfile(source.with_name(name), target.with_name(name))


def _build(source: Path, added: Sequence[Added], target: Path, seed: int) -> bytes:
    """Return the bytes of a database with more tables, all in another order."""
    with TemporaryDirectory(dir=target.parent) as folder:
        path = Path(folder) / source.name
        shutil.copyfile(source, path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(f"{_UNSAFE} BEGIN")
            for (trigger,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():  # no query fires them, but the inserts here would
                connection.execute(f"DROP TRIGGER {quote_name(trigger)}")
            for rows in (table.rows for table in added):
                connection.execute(rows.table.sql)
                names = [rows.table.columns[index].name for index in rows.stored]
                insert = write_insert(rows.name, names).replace("INSERT", "INSERT OR IGNORE", 1)
                connection.executemany(insert, map(rows.take_stored, rows.rows))
            _shuffle_tables(connection, Random(f"{seed} {source.name}"))
            connection.execute("COMMIT")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(f"{_UNSAFE} {LAYOUT} PRAGMA page_size = {_PAGE_BYTES};")
            return serialize_database(connection)


def _shuffle_tables(connection: sqlite3.Connection, random: Random) -> None:
    """Reorder the tables in the schema, before all indexes and views. A VACUUM afterwards writes
    them in that order."""
    entries = connection.execute("SELECT type, rowid FROM sqlite_master ORDER BY rowid").fetchall()
    tables = [rowid for kind, rowid in entries if kind == "table"]
    random.shuffle(tables)
    tables += [rowid for kind, rowid in entries if kind != "table"]
    connection.execute("PRAGMA writable_schema = ON")
    connection.executemany(
        "UPDATE sqlite_master SET rowid = ? WHERE rowid = ?",
        ((max(tables) + position, rowid) for position, rowid in enumerate(tables, start=1)),
    )


def _count_same(questions: Iterable[Question], path: Path) -> tuple[int, str | None]:
    """Count the queries of questions that give their stored answers on a database. Stop at the
    first one with another answer, and return it."""
    count = 0
    with ExitStack() as stack:
        opened: dict[str | None, GuardedDatabase] = {}  # by the time of the clock
        for question in questions:
            if (database := opened.get(question.now)) is None:
                database = stack.enter_context(GuardedDatabase(path, now=question.now))
                opened[question.now] = database
            order = read_order(bool(question.order_matters), question.accepted_rows)
            cut = question.accepted_rows if has_choice(question.accepted_rows) else None
            abs_tol = question.abs_tol or 0.0
            right: list[tuple[str, Any, Order, Any]]
            right = [(question.gold_sql, question.gold_answer, order, cut)]
            right += [
                (other["sql"], other["answer"], False, None)
                for other in question.other_answers or ()
            ]
            for sql, answer, ordered, accepted in right:
                try:
                    rows = database.execute(sql, max_steps=question.max_steps)
                except QueryError as error:
                    return count, f"{question.question_id} has no answer there: {error.detail}"
                gold_rows = answer_rows(answer)
                if not are_same(
                    gold_rows, rows, ordered=ordered, accepted_rows=accepted, abs_tol=abs_tol
                ):
                    return count, f"{question.question_id} has another answer there"
                count += 1
    return count, None


def _describe(path: Path, entry: ManifestEntry) -> ManifestEntry:
    size_bytes = path.stat().st_size
    return {"sha256": hash_file(path), "size_bytes": size_bytes, "origin": entry["origin"]}

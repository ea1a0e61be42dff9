"""The suites of all databases: of each its variants, the few of them that tell nearly as many
neighbors from gold as all do, and what is told of the suite of each question."""

from __future__ import annotations

import hashlib
import logging
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sqlglot

from answerkey.base.errors import InputError
from answerkey.base.log import show_progress
from answerkey.base.records import hash_file, hash_value, replace_folder, write_json
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.shards.code import hash_code
from answerkey.shards.database_files import Database, local_path
from answerkey.shards.processes import Died, map_tasks
from answerkey.shards.runs import ShardDirectory, read_shards
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.answers import Order, shape_answer, write_order
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import GuardedDatabase, Limits, Row
from answerkey.sqlite.schema import Schema, decode_schema
from answerkey.suites.questions import (
    BY_HEART,
    Asked,
    Executions,
    NoSuite,
    Query,
    SuiteQuestion,
    are_same,
    find_majority,
    find_other_reading,
    find_stable_order,
    is_void,
    read_questions,
)
from answerkey.suites.trees import Change
from answerkey.variants.constants import (
    Conditions,
    Rowids,
    list_conditions,
    list_constants,
    list_witnesses,
)
from answerkey.variants.fuzzer import make_variant
from answerkey.variants.keys import find_key_facts
from answerkey.variants.rows import Rows, read_rows, serialize_rows

# Cover: few databases for many neighbors.

_FILLED = 3  # each database costs a prediction half of the time that the real one takes
SUITES = "data/test_suites"
# So many others count as much as what must be told: an answer by heart, and a neighbor that wins
# behind a guard.
_BY_HEART, _GUARDED = 100, 10

Kills = Mapping[int, frozenset[int]]  # by the number of a database, what it tells from gold


def choose_databases(
    questions: Sequence[Kills],
    *,
    most: int,
    heavy: Mapping[tuple[int, int], int] | None = None,
    spare: int = 0,
) -> list[int]:
    """The numbers of databases, at most so many, each the one that adds most to those before it.

    >>> one, other = {1: frozenset({0}), 2: frozenset({0, 1})}, {1: frozenset({0}), 3: frozenset()}
    >>> choose_databases([one, other], most=8)
    [1, 2]

    heavy: places of questions, each with a neighbor that must be told; as much as how many others
        it counts.
    spare: how many other neighbors may live, where that spares databases.

    Source: the greedy algorithm for set cover (Chvatal, "A greedy heuristic for the set-covering
    problem", Mathematics of Operations Research 4, 1979).
    """
    killed_by: dict[int, set[tuple[int, int]]] = {}
    for place, kills in enumerate(questions):
        for number, neighbors in kills.items():
            found = killed_by.setdefault(number, set())
            found.update((place, neighbor) for neighbor in neighbors)

    waiting = set().union(*killed_by.values())
    weights = heavy or {}

    def weigh(number: int) -> int:
        return sum(weights.get(pair, 1) for pair in killed_by[number])

    chosen: list[int] = []
    while len(chosen) < most and (len(waiting) > spare or waiting & weights.keys()):
        number = max(sorted(killed_by), key=weigh)
        killed = killed_by.pop(number)
        chosen.append(number)
        waiting -= killed
        for others in killed_by.values():
            others -= killed
    return chosen


def choose_suite(
    kills: Kills, databases: Sequence[int], *, most: int, heavy: Collection[int] = ()
) -> list[int]:
    """Which of the databases a question is tested on: those that it needs, and others until it
    has three, since wrong queries are more than neighbors. The ones that tell most come first.

    >>> choose_suite({1: frozenset({0}), 2: frozenset({0, 1})}, [1, 2], most=5)
    [2, 1]
    """
    own = {number: kills[number] for number in databases if number in kills}
    must = {(0, neighbor): _GUARDED for neighbor in heavy}
    needed = choose_databases([own], most=most, heavy=must)
    others = sorted(own.keys() - set(needed), key=lambda number: (-len(own[number]), number))
    return [*needed, *others[: max(0, min(_FILLED, most) - len(needed))]]


# The suites of a database: variants of it, and for each question those that test its gold answer.
#
# Every variant of a pool is asked every question that counts on it (the gate), and every neighbor
# that is alive. Few variants are chosen for the database, fewer for a question (the cover).

# How the variants of a pool are made, in turn: most neighbors are told from gold by databases that
# are changed in every way at once.
_RECIPES = (
    *("everything", "plant", "everything", "permute", "reassign", "everything", "collide"),
    *("skew", "everything", "childless", "copy", "skew"),
)
# About how many rows a table has in plain samples, every fifth variant: where there are few rows,
# fewer tie, and readings differ less often.
_SMALL = (2, 4, 1, 6, 3, 8)
_LAST = 6  # more variants for questions that have no suite by then
_LAST_RECIPES = ("families", "conditions", "renamed_conditions")
_MAX_STEPS_REAL = 20_000_000  # to find rows that gold finds, of which few are asked for
_SPARE = 0.005  # of the neighbors of a database may live, where that spares variants
# Of a query on a variant, which is small. Gold that takes more does not count on it.
_MAX_STEPS = 200_000


class DatabaseSuites(NamedTuple):
    """A record for each question, and the files of the databases, by their numbers from 1.

    problem: why no variants could be made of the database; None where they were.
    """

    records: list[dict[str, Any]]
    files: list[bytes]
    problem: str | None = None


def make_suites(
    path: Path,
    schema: Schema,
    questions: list[SuiteQuestion],
    *,
    settings: SuiteSettings,
    limits: Limits,
) -> DatabaseSuites:
    """The suites of the questions of a database: the same for the same input, on any machine.

    Where no variants can be made of the database, its questions have empty suites. Without a
    question it is not opened.
    """
    if not questions:
        return DatabaseSuites([], [])
    with GuardedDatabase(path, limits) as database:
        real = Executions(database)
        asked = read_questions(questions, real, schema, max_neighbors=settings.max_neighbors)
        with tempfile.TemporaryDirectory() as folder:
            pool = _Pool(Path(folder), schema, settings, limits)
            problem = None
            try:
                rows = read_rows(path, seed=settings.seed)
                pool.try_variants(rows, asked)
                pool.try_again(real, asked, tables=rows.tables)
            except (InputError, sqlite3.Error) as error:
                problem = str(error)
            return pool.choose(path.stem, questions, asked)._replace(problem=problem)


class _Pool:
    """Variants in files, by their numbers."""

    def __init__(
        self, folder: Path, schema: Schema, settings: SuiteSettings, limits: Limits
    ) -> None:
        self._folder = folder
        self._schema = schema
        self._settings = settings
        self._limits = replace(limits, max_steps=min(limits.max_steps, _MAX_STEPS))
        self._conditions: dict[int, list[Conditions]] = {}  # of each query, by its tree

    def _path(self, number: int, storage: int = 0) -> Path:
        return self._folder / f"{number}.{storage}.sqlite"

    def try_variants(self, rows: Rows, asked: list[Asked]) -> None:
        """Note in every question which of its neighbors each variant tells from gold. The last half
        of the variants is made for the neighbors that are still alive then, and for those that live
        on the suites that would be chosen."""
        settings, facts = self._settings, find_key_facts(rows)
        trees = {id(one.query): one.query.tree for one in asked}.values()
        found = {
            constant: None
            for scopes in (Scopes(tree, self._schema) for tree in trees)
            for constant in list_constants(scopes)
        }
        constants = [constant for constant in found if constant[0] in rows.tables]
        first = settings.pool - settings.pool // 2
        for number in range(settings.pool):
            recipe, max_rows = _RECIPES[(number - number // 5) % len(_RECIPES)], settings.max_rows
            conditions: list[Conditions] = []
            if number == first:
                with ExitStack() as stack:
                    self._choose_suites(asked, self._open_variants(asked, stack))
            if number >= first:
                recipe = "conditions" if number % 4 < 2 else "renamed_conditions"
                max_rows = settings.max_rows // 2
                conditions = self._list_conditions(rows, asked, is_for_all=number % 2 == 0)
                if not conditions:
                    break
            elif number % 5 == 4:
                recipe, max_rows = "subsample", _SMALL[number // 5 % len(_SMALL)]
            variant = make_variant(
                *(rows, facts, recipe),
                seed=int(hash_value([settings.seed, number]), 16),
                max_rows=max_rows,
                constants=constants,
                conditions=conditions,
            )
            self._try_variant(number, variant, asked)

    def try_again(self, real: Executions, asked: list[Asked], *, tables: Container[str]) -> None:
        """Try some variants more for the questions whose stored answer passes by heart so far. They
        have rows like those that gold finds in the real database, whatever it asks of them.

        tables: those that can be made again.
        """
        last = [one for one in asked if not one.is_proved()]
        if not last:
            return
        found: dict[Conditions, None] = {}
        wanted: Rowids = {}
        for tree in {id(one.query): one.query.tree for one in last}.values():
            conditions, rowids = list_witnesses(
                Scopes(tree, self._schema),
                tables,
                partial(real.find_rows, max_steps=_MAX_STEPS_REAL),
            )
            found.update(dict.fromkeys(conditions))
            for name, own in rowids.items():
                wanted.setdefault(name, set()).update(own)
        rows = read_rows(real.database.path, seed=self._settings.seed, wanted=wanted)
        facts, first = find_key_facts(rows), self._settings.pool
        constants = {
            (one.tables[row], place, value): None
            for one in found
            for (row, place), value, _ in one.values
            if value is not None
        }
        for number in range(first, first + _LAST):
            variant = make_variant(
                *(rows, facts, _LAST_RECIPES[number % len(_LAST_RECIPES)]),
                seed=int(hash_value([self._settings.seed, number]), 16),
                max_rows=self._settings.max_rows,
                constants=[*constants],
                conditions=[*found],
            )
            self._try_variant(number, variant, last)

    def _list_conditions(
        self, rows: Rows, asked: list[Asked], *, is_for_all: bool
    ) -> list[Conditions]:
        """Those of each query of which a neighbor is still alive; while answers by heart or guarded
        neighbors are, of their queries alone, unless it is for all."""
        alive = {
            id(one.query): (one.query.tree, bool(lives & one.list_by_heart()))
            for one in asked
            if (lives := (one.list_alive() | one.guarded) - one.list_told())
        }
        is_any = not is_for_all and any(is_must for _, is_must in alive.values())
        trees = [tree for tree, is_must in alive.values() if is_must or not is_any]
        for tree in trees:
            if id(tree) not in self._conditions:
                scopes = Scopes(tree, self._schema)
                self._conditions[id(tree)] = list_conditions(scopes, rows.tables)
        return list(dict.fromkeys(one for tree in trees for one in self._conditions[id(tree)]))

    def _try_variant(self, number: int, variant: Rows, asked: list[Asked]) -> None:
        with ExitStack() as stack:
            storages = []
            turned = {name: table.rows[::-1] for name, table in variant.tables.items()}
            for storage, stored in enumerate((variant, variant.with_rows(turned))):
                path = self._path(number, storage)
                path.write_bytes(serialize_rows(stored))
                database = GuardedDatabase(path, self._limits)
                storages.append(Executions(stack.enter_context(database)))
            self._ask(number, storages, asked)
        self._path(number, 1).unlink()

    def _ask(self, number: int, storages: list[Executions], asked: list[Asked]) -> None:
        variant = storages[0]
        kills: dict[int, frozenset[int]] = {}
        for query in {id(one.query): one.query for one in asked}.values():
            order = find_stable_order(query, storages, self._schema)
            if isinstance(order, NoSuite):
                query.refused.add(order)
            else:
                query.orders[number] = order
        for one in asked:
            query = one.query
            if number not in query.orders:
                continue
            order = query.orders[number]
            other = find_other_reading(query, one.readings, variant, order) or find_majority(
                query, one.question.model_queries, variant, order
            )
            if other is not None:
                rows, others = (variant.find_rows(sql) for sql in (query.sql, other.sql))
                one.latent = one.latent or show_latent(other, rows, others)
                one.refused.add(NoSuite.OTHER_READING)
                continue
            if id(query) not in kills:
                kills[id(query)] = frozenset(
                    place
                    for place, neighbor in enumerate(query.alive)
                    if _tells_apart(variant, query, neighbor, order)
                )
            guarded = [
                place for place in one.guarded if _tells_guarded(one, place, number, variant)
            ]
            one.kills[number] = kills[id(query)] & one.list_alive() | {*guarded}

    def choose(
        self, name: str, questions: list[SuiteQuestion], asked: list[Asked]
    ) -> DatabaseSuites:
        """The records of all questions, and the files that any of them needs."""
        with ExitStack() as stack:
            variants = self._open_variants(asked, stack)
            chosen, suites = self._choose_suites(asked, variants)
            used = [number for number in chosen if any(number in suite for suite in suites)]
            files = [self._path(number).read_bytes() for number in used]
            databases = {}
            for place, (number, content) in enumerate(zip(used, files, strict=True), start=1):
                path = f"{SUITES}/{name}/{name}.{place:02}.sqlite"
                known = {"path": path, "sha256": hashlib.sha256(content).hexdigest()}
                databases[number] = known, variants[number]
            found = {
                one.question.question_id: make_record(one, suite, databases)
                for one, suite in zip(asked, suites, strict=True)
            }
        records = [
            {
                "question_id": question.question_id,
                **(found.get(question.question_id) or make_empty_record(question)),
            }
            for question in questions
        ]
        return DatabaseSuites(records, files)

    def _open_variants(self, asked: list[Asked], stack: ExitStack) -> dict[int, Executions]:
        return {
            number: Executions(
                stack.enter_context(GuardedDatabase(self._path(number), self._limits))
            )
            for number in sorted({number for one in asked for number in one.kills})
        }

    def _choose_suites(
        self, asked: list[Asked], variants: Mapping[int, Executions]
    ) -> tuple[list[int], list[list[int]]]:
        """The variants that are kept, and those of each question.

        A suite tells nearly all neighbors that the real database tells from gold. So these are
        asked on the suites that were chosen alone, and those that live there count from then on.
        """
        found = self._cover(asked)
        while find_guarded(asked, found[1], variants):
            found = self._cover(asked)
        return found

    def _cover(self, asked: list[Asked]) -> tuple[list[int], list[list[int]]]:
        settings = self._settings
        count = sum(len(one.query.killed) + len(one.list_told()) for one in asked)
        heavy = {(place, one): _GUARDED for place, of in enumerate(asked) for one in of.guarded}
        heavy |= {
            (place, one): _BY_HEART for place, of in enumerate(asked) for one in of.list_by_heart()
        }
        chosen = choose_databases(
            [one.kills for one in asked],
            most=settings.max_databases,
            heavy=heavy,
            spare=int(count * _SPARE),
        )
        most = settings.max_databases_per_question
        return chosen, [
            choose_suite(one.kills, chosen, most=most, heavy=one.list_musts()) for one in asked
        ]


def _tells_apart(variant: Executions, query: Query, neighbor: Change, order: Order) -> bool:
    rows = variant.find_rows(query.sql)
    if neighbor.name == BY_HEART:
        return not is_void(rows) and not are_same(rows, query.rows, ordered=order)
    return variant.tells_apart(rows, neighbor.sql, ordered=order)


def find_guarded(
    asked: list[Asked], suites: list[list[int]], variants: Mapping[int, Executions]
) -> bool:
    """Note in every question what lives on its suite though the real database tells it from gold,
    and which variants tell it: whether there is anything new."""
    is_new = False
    for one, suite in zip(asked, suites, strict=True):
        for place in _list_guarded(one, suite, variants) if suite else ():
            is_new = True
            one.guarded.add(place)
            for number in one.kills:
                if _tells_guarded(one, place, number, variants[number]):
                    one.kills[number] |= {place}
    return is_new


def _list_guarded(
    one: Asked, suite: list[int], variants: Mapping[int, Executions]
) -> Iterator[int]:
    answers = [variants[number].find_rows(one.query.sql) for number in suite]
    if all(are_same(answers[0], other, ordered=False) for other in answers):
        one.add_guess(answers[0])
    for place in one.list_killed() - one.guarded:
        if not any(_tells_guarded(one, place, number, variants[number]) for number in suite):
            yield place


def _tells_guarded(one: Asked, place: int, number: int, variant: Executions) -> bool:
    query = one.query
    guess = place - len(query.alive) - len(query.killed)
    if guess >= 0:
        return not are_same(variant.find_rows(query.sql), one.guesses[guess], ordered=False)
    if (number, place) not in query.fates:
        neighbor = query.killed[place - len(query.alive)]
        query.fates[number, place] = _tells_apart(variant, query, neighbor, query.orders[number])
    return query.fates[number, place]


# Records: what is told of the suite of a question.

_MOST_ROWS = 3
_MOST_CHARACTERS = 200
_SHOWN_NEIGHBORS = 3

Record = dict[str, Any]
# By the number of a database: its path and checksum, and queries on it.
Databases = Mapping[int, tuple[Record, Executions]]


def show_rows(rows: list[Row], others: list[Row] | None) -> list[list[Any]]:
    """The first rows of an answer, those before all that the other answer lacks.

    >>> show_rows([(1,), (2,), (3,), (4,), (4,)], [(1,), (2,), (3,), (4,)])
    [[4], [1], [2]]

    Where both have the same rows, those from the first that stands elsewhere. Long texts are cut.
    `others` is None where the other query fails.

    >>> show_rows([(1,), (2,), (3,)], [(1,), (3,), (2,)])
    [[2], [3]]
    """
    lacking = Counter(rows) - Counter(others or ())
    if lacking or len(rows) < len(others or ()):
        shown = [*lacking.elements(), *(Counter(rows) - lacking).elements()]
    else:
        pairs = enumerate(zip(rows, others or (), strict=True))
        shown = rows[next((place for place, (row, other) in pairs if row != other), 0) :]
    return [
        [value[:_MOST_CHARACTERS] if isinstance(value, str) else value for value in row]
        for row in shown[:_MOST_ROWS]
    ]


def show_latent(reading: Change, rows: list[Row], others: list[Row] | None) -> Record:
    """What is told of a reading whose rows on a variant are not those of gold."""
    return {
        "reading": reading.name,
        "sql": reading.sql,
        "gold_rows": show_rows(rows, others),
        "reading_rows": None if others is None else show_rows(others, rows),
    }


def make_empty_record(question: SuiteQuestion) -> Record:
    """What is told of a question for which no suite was tried."""
    return {
        "mutation_score": None,
        "no_suite": NoSuite.PART_IS_ENOUGH if question.takes_part else NoSuite.GOLD_FAILS,
        "operators": {},
        "alive": [],
        "databases": [],
        "latent_ambiguity": None,
    }


def make_record(one: Asked, suite: Sequence[int], databases: Databases) -> Record:
    """What is told of the suite of a question: the mutation score, why it has no suite, the counts
    by operator, some neighbors that live, and the databases.

    A suite that does not tell the stored answer said by heart scores 0, as does none: this answer
    wins, and no policy needs another one.
    """
    fates = {}
    told = frozenset().union(*(one.kills[number] for number in suite))
    by_pool, by_database = one.list_told(), one.list_killed()
    neighbors = one.list_neighbors()
    for place in neighbors:
        if place in told or (suite and place in by_database - one.guarded):
            fates[place] = "killed"
        else:
            fates[place] = "alive" if place in by_database | by_pool else "undecided"
    operators: dict[str, Counter[str]] = {}
    for place, fate in fates.items():
        operators.setdefault(neighbors[place].name, Counter())[fate] += 1
    counts = Counter(fates.values())
    total = counts["killed"] + counts["alive"]
    lives = [place for place, fate in fates.items() if fate == "alive"]
    lives.sort(key=lambda place: place not in by_database)
    is_by_heart = any(
        neighbor.name == BY_HEART and fates[place] != "killed"
        for place, neighbor in neighbors.items()
    )
    return {
        "mutation_score": {
            "database": round(len(by_database) / total, 4),
            "suite": 0.0 if is_by_heart else round(counts["killed"] / total, 4),
        }
        if total
        else None,
        "no_suite": None if suite else one.tell_why_none(),
        "operators": {
            name: {fate: counts[fate] for fate in ("killed", "alive", "undecided")}
            for name, counts in sorted(operators.items())
        },
        "alive": [
            {
                "operator": neighbors[place].name,
                "sql": neighbors[place].sql[:2000],
                "killed_by_database": place in by_database,
            }
            for place in lives[:_SHOWN_NEIGHBORS]
        ],
        "databases": _list_databases(one, suite, databases),
        "latent_ambiguity": one.latent,
    }


def _list_databases(one: Asked, suite: Sequence[int], databases: Databases) -> list[Record]:
    found = []
    for number in suite:
        known, variant = databases[number]
        rows = variant.find_rows(one.query.sql) or []
        others = [(sql, variant.find_rows(sql)) for sql in one.question.other_sql]
        answers = [{"sql": sql, "answer": shape_answer(of)} for sql, of in others if of is not None]
        found.append(
            {
                **known,
                "gold_answer": shape_answer(rows),
                **write_order(one.query.orders[number]),
                **({"other_answers": answers} if answers else {}),
            }
        )
    return found


# The run over all databases: each has a shard of records and a folder of small databases, which are
# made again only when its database, its questions, the settings or the code change.

STAGE = "generate_test_suites"
MANIFEST = "manifest.json"

_LOG = logging.getLogger(STAGE)


class SuiteTask(NamedTuple):
    """A database with its questions, and its schema as it is recorded."""

    name: str
    database: Database
    tables: list[Any]
    questions: list[SuiteQuestion]


def run_suites(
    tasks: Iterable[SuiteTask],
    shards: ShardDirectory,
    folder: Path,
    *,
    settings: SuiteSettings,
    limits: Limits,
    databases: int,
    engine: str,
    workers: int,
) -> tuple[list[str], int]:
    """Bring the suites of all databases up to date, in `folder`, and remove those of others: the
    names of the databases, and of how many the suites were made.

    databases: how many there are, for the bar.

    Raises:
        InputError: naming the database whose process ended.
    """
    made_by = [hash_code(_work), sqlglot.__version__, sqlite3.sqlite_version]
    made_by += [asdict(settings), asdict(limits)]
    keys: dict[str, str] = {}

    def list_stale() -> Iterator[SuiteTask]:
        for task in tasks:
            key = hash_value([*made_by, task.database.sha256, task.tables, task.questions])
            keys[task.name] = key
            if not (shards.is_fresh(task.name, key) and _is_whole(shards, folder, task.name)):
                yield task
            else:
                advance()

    work = partial(_work, settings=settings, limits=limits)
    count = 0
    progress = show_progress("test_suites", total=databases, unit="databases")
    with (
        progress as advance,
        closing(map_tasks(work, list_stale(), engine=engine, workers=workers)) as results,
    ):
        for task, made in results:
            if isinstance(made, Died):
                raise InputError(f"{task.name}: the process that made its suites ended: {made}")
            if made.problem is not None:
                _LOG.warning("the questions of %s have no suites: %s", task.name, made.problem)
            _write_databases(find_inside(folder, task.name), made.files)
            shards.write_shard(task.name, keys[task.name], made.records)
            count += 1
            advance()
    shards.keep_only(keys)
    _keep_only(folder, keys)
    return list(keys), count


def _work(task: SuiteTask, *, settings: SuiteSettings, limits: Limits) -> DatabaseSuites:
    path, schema = local_path(task.database), decode_schema(task.tables)
    return make_suites(path, schema, task.questions, settings=settings, limits=limits)


def _is_whole(shards: ShardDirectory, folder: Path, name: str) -> bool:
    known = {
        database["path"].rpartition("/")[2]: database["sha256"]
        for record in read_shards(shards.directory, [name])
        for database in record["databases"]
    }
    return {path.name: hash_file(path) for path in (folder / name).glob("*.sqlite")} == known


def _write_databases(folder: Path, files: list[bytes]) -> None:
    with replace_folder(folder) as partial:
        for number, content in enumerate(files, start=1):
            (partial / f"{folder.name}.{number:02}.sqlite").write_bytes(content)


def _keep_only(folder: Path, names: Iterable[str]) -> None:
    """Remove the folders of other databases, and write the manifest of those that are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.name not in {*names, MANIFEST}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    files = sorted(folder.glob("*/*.sqlite"))
    hashes = {path.relative_to(folder).as_posix(): hash_file(path) for path in files}
    write_json(folder / MANIFEST, hashes)

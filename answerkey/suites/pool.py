"""The pool: variants of one database, what each tells of its questions, and the few that are kept.

Every variant of a pool is asked every question that counts on it (the gate), and every neighbor
that is alive. Few variants are chosen for the database, fewer for a question (the cover).
"""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
from collections.abc import Container, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from sqlglot import exp

from answerkey.base.errors import InputError
from answerkey.base.records import Shard, hash_value
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.executions import Executions
from answerkey.sqlite.guard import GuardedDatabase, Limits
from answerkey.sqlite.schema import Schema
from answerkey.suites.cover import BY_HEART_WEIGHT, GUARDED_WEIGHT, choose_databases, choose_suite
from answerkey.suites.gate import find_majority, find_other_reading, find_stable_order
from answerkey.suites.guarded import find_guarded, may_pass, note_guarded, tells_apart
from answerkey.suites.latent import show_latent
from answerkey.suites.questions import (
    AGGREGATES,
    CONDITION_REMOVED,
    NoSuite,
    SuiteQuestion,
    Trial,
    read_questions,
)
from answerkey.suites.records import (
    KeptVariant,
    SuiteRecord,
    make_empty_record,
    make_record,
)
from answerkey.variants.constants import (
    Conditions,
    Rowids,
    Spelling,
    fold_dates,
    list_conditions,
    list_constants,
    list_witnesses,
)
from answerkey.variants.fuzzer import make_variant
from answerkey.variants.keys import KeyFacts, find_key_facts
from answerkey.variants.rows import Rows, read_rows, serialize_rows

SUITES = "data/test_suites"
# How the variants of a pool are made, in turn: most neighbors are told from gold by databases that
# are changed in every way at once.
_RECIPES = (
    "everything",
    "plant",
    "everything",
    "permute",
    "reassign",
    "everything",
    "collide",
    "skew",
    "everything",
    "childless",
    "copy",
    "skew",
)
# About how many rows a table has in plain samples, every fifth variant: where there are few rows,
# fewer tie, and readings differ less often.
_SMALL_MAX_ROWS = (2, 4, 1, 6, 3, 8)
_LAST_VARIANTS = 6  # more for questions that have no suite by then
# For the questions of which a condition or an aggregate seems to say nothing: recipes, by the
# neighbors that they are to tell, and how many variants of each.
_NEAR_MISSES = {"near_misses": (CONDITION_REMOVED,), "namesakes": AGGREGATES}
_NEAR_VARIANTS = 3
_LAST_RECIPES = ("families", "conditions", "renamed_conditions")
_MAX_STEPS_OF_WITNESSES = 20_000_000  # to find rows that gold finds, of which few are asked for
_MAX_SPARED_SHARE = 0.005  # of the neighbors of a database may live, where that spares variants
# Of a query on a variant, which is small. Gold that takes more does not count on it.
_MAX_STEPS = 200_000


class DatabaseSuites(NamedTuple):
    """A record for each question, and the files of the variants, by their numbers from 1.

    problem: why no variants could be made of the database; None if they were.
    """

    records: list[SuiteRecord]
    files: list[bytes]
    problem: str | None = None


def make_suites(
    path: Path,
    schema: Schema,
    questions: list[SuiteQuestion],
    *,
    shard: Shard,
    settings: SuiteSettings,
    limits: Limits,
    now: str | None = None,
) -> DatabaseSuites:
    """The suites of questions of a database: the same for the same input, on any machine.

    Where no variants can be made of the database, its questions have empty suites. Without a
    question it is not opened.
    """
    if not questions:
        return DatabaseSuites([], [])
    with GuardedDatabase(path, limits, now=now) as database:
        real = Executions(database)
        trials = read_questions(questions, real, schema, max_neighbors=settings.max_neighbors)
        with tempfile.TemporaryDirectory() as folder:
            pool = _Pool(Path(folder), real, schema, settings, limits, now)
            if now is not None:
                pool.fold_dates(trials)
            problem = None
            try:
                rows = read_rows(path, seed=settings.seed, now=now)
                facts = find_key_facts(rows)
                pool.try_variants(rows, facts, trials)
                pool.try_again(trials, tables=rows.tables)
                pool.try_near_misses(rows, facts, trials)
            except (InputError, sqlite3.Error) as error:
                problem = str(error)
            return pool.choose(shard, questions, trials)._replace(problem=problem)


def name_files(shard: Shard) -> str:
    """How the names of a shard's variants begin.

    >>> name_files(Shard("shop")), name_files(Shard("shop", 2, of=3))
    ('shop', 'shop.0002')
    """
    return shard.name.replace("/", ".")


class _Pool:
    """Variants in files, by their numbers."""

    def __init__(
        self,
        folder: Path,
        real: Executions,
        schema: Schema,
        settings: SuiteSettings,
        limits: Limits,
        now: str | None,
    ) -> None:
        self._folder = folder
        self._real = real
        self._schema = schema
        self._settings = settings
        self._limits = replace(limits, max_steps=min(limits.max_steps, _MAX_STEPS))
        self._now = now
        self._dated: dict[int, exp.Expr] = {}  # of each query, by its id
        self._conditions: dict[int, list[Conditions]] = {}  # of each query, by its tree

    def fold_dates(self, trials: list[Trial]) -> None:
        """Read the constants of queries as they are at the instant of the corpus."""
        for query in {id(trial.query): trial.query for trial in trials}.values():
            self._dated[id(query)] = fold_dates(query.tree, self._real.find_rows)

    def _list_trees(self, trials: list[Trial]) -> list[exp.Expr]:
        """The queries of some questions, each once, as their constants are read."""
        trees = {id(trial.query): trial.query.tree for trial in trials}
        return [self._dated.get(key, tree) for key, tree in trees.items()]

    def _path(self, number: int, storage: int = 0) -> Path:
        return self._folder / f"{number}.{storage}.sqlite"

    def try_variants(self, rows: Rows, facts: KeyFacts, trials: list[Trial]) -> None:
        """Note in every question which of its neighbors each variant tells from gold. The last half
        of the variants is made for the neighbors that are still alive then, and for those that live
        on the suites that would be chosen."""
        settings, spelling = self._settings, Spelling(rows)
        trees = self._list_trees(trials)
        compared = {
            constant: None
            for scopes in (Scopes(tree, self._schema) for tree in trees)
            for constant in list_constants(scopes, spelling)
        }
        constants = [constant for constant in compared if constant[0] in rows.tables]
        first = settings.pool - settings.pool // 2
        for number in range(settings.pool):
            recipe, max_rows = _RECIPES[(number - number // 5) % len(_RECIPES)], settings.max_rows
            conditions: list[Conditions] = []
            if number == first:
                with ExitStack() as stack:
                    self._choose_suites(trials, self._open_variants(trials, stack))
            if number >= first:
                recipe = "conditions" if number % 4 < 2 else "renamed_conditions"
                max_rows = settings.max_rows // 2
                conditions = self._list_conditions(
                    rows, spelling, trials, is_for_all=number % 2 == 0
                )
                if not conditions:
                    break
            elif number % 5 == 4:
                recipe, max_rows = "subsample", _SMALL_MAX_ROWS[number // 5 % len(_SMALL_MAX_ROWS)]
            variant = make_variant(
                rows,
                facts,
                recipe,
                seed=int(hash_value([settings.seed, number]), 16),
                max_rows=max_rows,
                constants=constants,
                conditions=conditions,
            )
            self._try_variant(number, variant, trials)

    def try_again(self, trials: list[Trial], *, tables: Container[str]) -> None:
        """Try some variants more for the questions whose stored answer passes by heart so far. They
        have rows like those that gold finds in the real database, whatever it asks of them.

        tables: those that can be made again.
        """
        with ExitStack() as stack:
            self._choose_suites(trials, self._open_variants(trials, stack))
        last = [trial for trial in trials if not trial.is_proved() or trial.list_untold()]
        if not last:
            return
        witnesses: dict[Conditions, None] = {}
        wanted: Rowids = {}
        for tree in self._list_trees(last):
            conditions, rowids = list_witnesses(
                Scopes(tree, self._schema),
                tables,
                partial(self._real.find_rows, max_steps=_MAX_STEPS_OF_WITNESSES),
            )
            witnesses.update(dict.fromkeys(conditions))
            for name, own in rowids.items():
                wanted.setdefault(name, set()).update(own)
        path, seed = self._real.database.path, self._settings.seed
        rows = read_rows(path, seed=seed, wanted=wanted, now=self._now)
        facts, first = find_key_facts(rows), self._settings.pool
        constants = {
            (witness.tables[row_index], column_index, value): None
            for witness in witnesses
            for (row_index, column_index), value, _ in witness.values
            if value is not None
        }
        for number in range(first, first + _LAST_VARIANTS):
            variant = make_variant(
                rows,
                facts,
                _LAST_RECIPES[number % len(_LAST_RECIPES)],
                seed=int(hash_value([self._settings.seed, number]), 16),
                max_rows=self._settings.max_rows,
                constants=[*constants],
                conditions=[*witnesses],
            )
            self._try_variant(number, variant, last)

    def try_near_misses(self, rows: Rows, facts: KeyFacts, trials: list[Trial]) -> None:
        """Try some variants more for the questions that seem to need none of their conditions, or
        no aggregate: on the real database, and on all variants so far, the answer is the same
        without.

        One drake is in all there, and its name is a key. Still, who does not ask for the artist
        that the question names does not answer it: here, other drakes have other artists.
        """
        number, spelling = self._settings.pool + _LAST_VARIANTS, Spelling(rows)
        for recipe, operators in _NEAR_MISSES.items():
            missed = [trial for trial in trials if trial.misses(operators)]
            conditions: dict[Conditions, None] = {}
            for tree in self._list_trees(missed):
                scopes = Scopes(tree, self._schema)
                conditions.update(dict.fromkeys(list_conditions(scopes, rows.tables, spelling)))
            constants = {
                (condition_set.tables[row], column_index, meets): None
                for condition_set in conditions
                for (row, column_index), meets, _ in condition_set.values
            }
            if not constants:
                continue
            loose = facts.without_keys(rows, {constant[:2] for constant in constants})
            for _ in range(_NEAR_VARIANTS):
                variant = make_variant(
                    rows,
                    loose,
                    recipe,
                    seed=int(hash_value([self._settings.seed, number]), 16),
                    max_rows=self._settings.max_rows,
                    constants=[*constants],
                    conditions=[*conditions],
                )
                self._try_variant(number, variant, missed)
                number += 1

    def _list_conditions(
        self, rows: Rows, spelling: Spelling, trials: list[Trial], *, is_for_all: bool
    ) -> list[Conditions]:
        """Those of each query of which a neighbor is still alive; while answers by heart or guarded
        neighbors are, of their queries alone, unless it is for all."""
        alive = {
            id(trial.query): (self._list_trees([trial])[0], bool(lives & trial.list_by_heart()))
            for trial in trials
            if (lives := (trial.list_alive() | trial.guarded) - trial.list_told())
        }
        is_any = not is_for_all and any(is_must for _, is_must in alive.values())
        trees = [tree for tree, is_must in alive.values() if is_must or not is_any]
        for tree in trees:
            if id(tree) not in self._conditions:
                scopes = Scopes(tree, self._schema)
                self._conditions[id(tree)] = list_conditions(scopes, rows.tables, spelling)
        return list(
            dict.fromkeys(chain.from_iterable(self._conditions[id(tree)] for tree in trees))
        )

    def _try_variant(self, number: int, variant: Rows, trials: list[Trial]) -> None:
        with ExitStack() as stack:
            storages = []
            turned = {name: table.rows[::-1] for name, table in variant.tables.items()}
            for storage, stored in enumerate((variant, variant.with_rows(turned))):
                path = self._path(number, storage)
                path.write_bytes(serialize_rows(stored))
                database = GuardedDatabase(path, self._limits, now=self._now)
                storages.append(Executions(stack.enter_context(database)))
            self._ask(number, storages, trials)
        self._path(number, 1).unlink()

    def _ask(self, number: int, storages: list[Executions], trials: list[Trial]) -> None:
        variant = storages[0]
        kills: dict[int, frozenset[int]] = {}
        passes = may_pass(variant, self._real, self._schema)
        for query in {id(trial.query): trial.query for trial in trials}.values():
            order = find_stable_order(query, storages, self._schema)
            if isinstance(order, NoSuite):
                query.refused.add(order)
            else:
                query.orders[number] = order
        for trial in trials:
            query = trial.query
            if number not in query.orders:
                continue
            order = query.orders[number]
            other = find_other_reading(query, trial.readings, variant, order) or find_majority(
                query, trial.question.model_queries, variant, order
            )
            if other is not None:
                rows, others = variant.read_rows(query.sql), variant.find_rows(other.sql)
                trial.latent = trial.latent or show_latent(
                    other, rows, others, order=order, abs_tol=query.abs_tol
                )
                trial.refused.add(NoSuite.OTHER_READING)
                continue
            if id(query) not in kills:
                kills[id(query)] = frozenset(
                    neighbor_index
                    for neighbor_index, neighbor in enumerate(query.alive)
                    if tells_apart(variant, query, neighbor, order)
                )
            trial.kills[number] = kills[id(query)] & trial.list_alive()
            if passes and not trial.is_proved_by(number):
                trial.passing.add(number)
            note_guarded(trial, trial.guarded, number, variant)

    def choose(
        self, shard: Shard, questions: list[SuiteQuestion], trials: list[Trial]
    ) -> DatabaseSuites:
        """The records of all questions, and the files that any of them needs."""
        with ExitStack() as stack:
            variants = self._open_variants(trials, stack)
            chosen, suites = self._choose_suites(trials, variants)
            used = [number for number in chosen if any(number in suite for suite in suites)]
            files = [self._path(number).read_bytes() for number in used]
            databases = {}
            for position, (number, content) in enumerate(zip(used, files, strict=True), start=1):
                stem = f"{shard.database_name}/{name_files(shard)}"
                path = f"{SUITES}/{stem}.{position:02}.sqlite"
                sha256 = hashlib.sha256(content).hexdigest()
                databases[number] = KeptVariant(path, sha256, variants[number])
            records = {
                trial.question.question_id: make_record(trial, suite, databases)
                for trial, suite in zip(trials, suites, strict=True)
            }
        return DatabaseSuites(
            [
                records.get(question.question_id) or make_empty_record(question)
                for question in questions
            ],
            files,
        )

    def _open_variants(self, trials: list[Trial], stack: ExitStack) -> dict[int, Executions]:
        return {
            number: Executions(
                stack.enter_context(
                    GuardedDatabase(self._path(number), self._limits, now=self._now)
                )
            )
            for number in sorted({number for trial in trials for number in trial.kills})
        }

    def _choose_suites(
        self, trials: list[Trial], variants: Mapping[int, Executions]
    ) -> tuple[list[int], list[list[int]]]:
        """The variants that are kept, and those of each question.

        A suite tells nearly all neighbors that the real database tells from gold. So these are
        asked on the suites that were chosen alone, and those that live there count from then on.
        """
        chosen, suites = self._cover(trials)
        while find_guarded(trials, suites, variants, self._real):
            chosen, suites = self._cover(trials)
        return chosen, suites

    def _cover(self, trials: list[Trial]) -> tuple[list[int], list[list[int]]]:
        settings = self._settings
        count = sum(len(trial.query.killed) + len(trial.list_told()) for trial in trials)
        heavy = {
            (question_index, neighbor_index): GUARDED_WEIGHT
            for question_index, trial in enumerate(trials)
            for neighbor_index in trial.list_weighty()
        }
        heavy |= {
            (question_index, neighbor_index): BY_HEART_WEIGHT
            for question_index, trial in enumerate(trials)
            for neighbor_index in trial.list_by_heart()
        }
        chosen = choose_databases(
            [trial.kills for trial in trials],
            most=settings.max_databases,
            heavy=heavy,
            spare=int(count * _MAX_SPARED_SHARE),
        )
        most = settings.max_databases_per_question
        return chosen, [
            choose_suite(trial.kills, chosen, most=most, heavy=trial.list_musts())
            for trial in trials
        ]

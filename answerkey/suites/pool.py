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
from pathlib import Path
from typing import NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.records import hash_value
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.executions import Executions
from answerkey.sqlite.guard import GuardedDatabase, Limits
from answerkey.sqlite.schema import Schema
from answerkey.suites.cover import BY_HEART_WEIGHT, GUARDED_WEIGHT, choose_databases, choose_suite
from answerkey.suites.gate import find_majority, find_other_reading, find_stable_order
from answerkey.suites.guarded import find_guarded, tells_apart, tells_guarded
from answerkey.suites.latent import show_latent
from answerkey.suites.questions import (
    AGGREGATES,
    CONDITION_REMOVED,
    Asked,
    NoSuite,
    SuiteQuestion,
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
_SPARE = 0.005  # of the neighbors of a database may live, where that spares variants
# Of a query on a variant, which is small. Gold that takes more does not count on it.
_MAX_STEPS = 200_000


class DatabaseSuites(NamedTuple):
    """A record for each question, and the files of the databases, by their numbers from 1.

    problem: why no variants could be made of the database; None where they were.
    """

    records: list[SuiteRecord]
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
                facts = find_key_facts(rows)
                pool.try_variants(rows, facts, asked)
                pool.try_again(real, asked, tables=rows.tables)
                pool.try_near_misses(rows, facts, asked)
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

    def try_variants(self, rows: Rows, facts: KeyFacts, asked: list[Asked]) -> None:
        """Note in every question which of its neighbors each variant tells from gold. The last half
        of the variants is made for the neighbors that are still alive then, and for those that live
        on the suites that would be chosen."""
        settings, spelling = self._settings, Spelling(rows)
        trees = {id(one.query): one.query.tree for one in asked}.values()
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
                    self._choose_suites(asked, self._open_variants(asked, stack))
            if number >= first:
                recipe = "conditions" if number % 4 < 2 else "renamed_conditions"
                max_rows = settings.max_rows // 2
                conditions = self._list_conditions(
                    rows, spelling, asked, is_for_all=number % 2 == 0
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
            self._try_variant(number, variant, asked)

    def try_again(self, real: Executions, asked: list[Asked], *, tables: Container[str]) -> None:
        """Try some variants more for the questions whose stored answer passes by heart so far. They
        have rows like those that gold finds in the real database, whatever it asks of them.

        tables: those that can be made again.
        """
        last = [one for one in asked if not one.is_proved()]
        if not last:
            return
        witnesses: dict[Conditions, None] = {}
        wanted: Rowids = {}
        for tree in {id(one.query): one.query.tree for one in last}.values():
            conditions, rowids = list_witnesses(
                Scopes(tree, self._schema),
                tables,
                partial(real.find_rows, max_steps=_MAX_STEPS_OF_WITNESSES),
            )
            witnesses.update(dict.fromkeys(conditions))
            for name, own in rowids.items():
                wanted.setdefault(name, set()).update(own)
        rows = read_rows(real.database.path, seed=self._settings.seed, wanted=wanted)
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

    def try_near_misses(self, rows: Rows, facts: KeyFacts, asked: list[Asked]) -> None:
        """Try some variants more for the questions that seem to need none of their conditions, or
        no aggregate: on the real database, and on all variants so far, the answer is the same
        without.

        One drake is in all there, and its name is a key. Still, who does not ask for the artist
        that the question names does not answer it: here, other drakes have other artists.
        """
        number, spelling = self._settings.pool + _LAST_VARIANTS, Spelling(rows)
        for recipe, operators in _NEAR_MISSES.items():
            missed = [one for one in asked if one.misses(operators)]
            conditions: dict[Conditions, None] = {}
            for tree in {id(one.query): one.query.tree for one in missed}.values():
                scopes = Scopes(tree, self._schema)
                conditions.update(dict.fromkeys(list_conditions(scopes, rows.tables, spelling)))
            constants = {
                (one.tables[row], place, meets): None
                for one in conditions
                for (row, place), meets, _ in one.values
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
        self, rows: Rows, spelling: Spelling, asked: list[Asked], *, is_for_all: bool
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
                self._conditions[id(tree)] = list_conditions(scopes, rows.tables, spelling)
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
                rows, others = variant.read_rows(query.sql), variant.find_rows(other.sql)
                one.latent = one.latent or show_latent(other, rows, others)
                one.refused.add(NoSuite.OTHER_READING)
                continue
            if id(query) not in kills:
                kills[id(query)] = frozenset(
                    neighbor_index
                    for neighbor_index, neighbor in enumerate(query.alive)
                    if tells_apart(variant, query, neighbor, order)
                )
            guarded = [index for index in one.guarded if tells_guarded(one, index, number, variant)]
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
            for position, (number, content) in enumerate(zip(used, files, strict=True), start=1):
                path = f"{SUITES}/{name}/{name}.{position:02}.sqlite"
                sha256 = hashlib.sha256(content).hexdigest()
                databases[number] = KeptVariant(path, sha256, variants[number])
            records = {
                one.question.question_id: make_record(one, suite, databases)
                for one, suite in zip(asked, suites, strict=True)
            }
        return DatabaseSuites(
            [
                records.get(question.question_id) or make_empty_record(question)
                for question in questions
            ],
            files,
        )

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
        chosen, suites = self._cover(asked)
        while find_guarded(asked, suites, variants):
            chosen, suites = self._cover(asked)
        return chosen, suites

    def _cover(self, asked: list[Asked]) -> tuple[list[int], list[list[int]]]:
        settings = self._settings
        count = sum(len(one.query.killed) + len(one.list_told()) for one in asked)
        heavy = {
            (question_index, neighbor_index): GUARDED_WEIGHT
            for question_index, of in enumerate(asked)
            for neighbor_index in of.list_weighty()
        }
        heavy |= {
            (question_index, neighbor_index): BY_HEART_WEIGHT
            for question_index, of in enumerate(asked)
            for neighbor_index in of.list_by_heart()
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

"""The pool: variants of one database, each made for what those before it do not show, and the few
that are kept.

Every variant is asked every question that counts on it (`gate`), and every rival that the real
database does not kill (`asked`). Few variants are kept for the database, fewer for a question
(`choice`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.records import Shard, hash_value
from answerkey.engines.database import DatabaseError, Limits
from answerkey.engines.executions import Executions
from answerkey.engines.names import SUFFIXES
from answerkey.engines.opening import find_engine
from answerkey.engines.schema import Schema
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sql.scopes import Scopes
from answerkey.suites.asked import AskedVariants
from answerkey.suites.choice import Choice, choose, list_killed
from answerkey.suites.questions import SuiteQuestion
from answerkey.suites.records import KeptFile, SuiteRecord, make_empty_record, make_record
from answerkey.suites.rivals import (
    AGGREGATES,
    CONDITION_REMOVED,
    Case,
    GoldQuery,
    OnReal,
    RealDatabase,
    Rival,
    read_cases,
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
# Recipes of a pool, in turn. Variants that are changed in every way at once kill most neighbors.
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
_LAST_RECIPES = ("families", "conditions", "renamed_conditions")
# For the questions that seem to need none of their conditions, or no aggregate: recipes, by the
# neighbors that they are to kill, and how many variants of each.
_NEAR_MISSES = {"near_misses": (CONDITION_REMOVED,), "namesakes": AGGREGATES}
_NEAR_VARIANTS = 3
_MAX_STEPS_OF_WITNESSES = 20_000_000  # to find rows that gold finds, of which few are asked for
# What a rival may take on the real database, in place of steps, if its engine counts none.
_MAX_CPU_S_OF_RIVALS = 2


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

    If no variants can be made of the database, its questions have empty suites. Without a question
    it is not opened.
    """
    if not questions:
        return DatabaseSuites([], [])
    engine = find_engine(path)
    with ExitStack() as stack:
        executions = rivals = Executions(stack.enter_context(engine.open(path, limits, now=now)))
        if not engine.counts_steps:
            bounded = replace(limits, max_cpu_s=min(limits.max_cpu_s, _MAX_CPU_S_OF_RIVALS))
            rivals = Executions(stack.enter_context(engine.open(path, bounded, now=now)))
        real = RealDatabase(executions, schema, rivals=rivals)
        most = settings.max_neighbors
        cases = read_cases(questions, real, max_neighbors=most, has_clock=now is not None)
        with AskedVariants(real, limits, now=now) as asked:
            pool, problem = _Pool(real, cases, asked, settings, now), None
            try:
                rows = read_rows(path, seed=settings.seed, now=now)
                facts = find_key_facts(rows)
                pool.make_variants(rows, facts)
                pool.make_more(rows)
                pool.make_near_misses(rows, facts)
            except (InputError, DatabaseError) as error:
                problem = str(error)
            choice = pool.choose()
            files = {
                number: serialize_rows(asked.rows[number])
                for number in choice.kept
                if any(number in suite.answers for suite in choice.suites.values())
            }
            named = _name_files(shard, files, SUFFIXES[engine.name])
            made = {
                case.question.question_id: make_record(case, suite, asked, named)
                for case, suite in choice.suites.items()
            }
    records = [
        made.get(question.question_id) or make_empty_record(question) for question in questions
    ]
    return DatabaseSuites(records, [*files.values()], problem)


def name_files(shard: Shard) -> str:
    """How the names of a shard's variants begin.

    >>> name_files(Shard("shop")), name_files(Shard("shop", 2, of=3))
    ('shop', 'shop.0002')
    """
    return shard.name.replace("/", ".")


def _name_files(shard: Shard, files: dict[int, bytes], suffix: str) -> dict[int, KeptFile]:
    stem = f"{SUITES}/{shard.database_name}/{name_files(shard)}"
    return {
        number: KeptFile(f"{stem}.{position:02}{suffix}", hashlib.sha256(content).hexdigest())
        for position, (number, content) in enumerate(files.items(), start=1)
    }


class _Pool:
    """What the variants of one database are made for."""

    def __init__(
        self,
        real: RealDatabase,
        cases: Sequence[Case],
        asked: AskedVariants,
        settings: SuiteSettings,
        now: str | None,
    ) -> None:
        self._real = real
        self._cases = cases
        self._asked = asked
        self._settings = settings
        self._now = now
        self._guarded: dict[Case, tuple[Rival, ...]] = {}
        self._conditions: dict[GoldQuery, list[Conditions]] = {}

    def choose(self) -> Choice:
        """Choose of the variants that were made so far."""
        choice = choose(self._cases, self._asked, self._real, self._settings, guarded=self._guarded)
        suites = choice.suites.items()
        self._guarded = {case: suite.guarded for case, suite in suites if suite.guarded}
        return choice

    def _list_survivors(self) -> dict[Case, list[Rival]]:
        """The rivals of each question that no variant kills so far: those that the real database
        does not kill, and guarded ones."""
        listed = self._asked.list_answers(self._cases, self._guarded)
        survivors = {}
        for case, answers in listed.items():
            killed = list_killed(answers)
            rivals = (*case.survivors, *self._guarded.get(case, ()))
            survivors[case] = [rival for rival in rivals if rival not in killed]
        return survivors

    def make_variants(self, rows: Rows, facts: KeyFacts) -> None:
        """Make variants for all questions. The last half of them is made for the rivals that
        survive until then, and for those that survive on the suites that would be chosen."""
        settings, spelling = self._settings, Spelling(rows)
        compared = {
            constant: None
            for gold in _list_golds(self._cases)
            for constant in list_constants(Scopes(gold.dated_tree, self._real.schema), spelling)
        }
        constants = [constant for constant in compared if constant[0] in rows.tables]
        first = settings.pool - settings.pool // 2
        for number in range(settings.pool):
            recipe, max_rows = _RECIPES[(number - number // 5) % len(_RECIPES)], settings.max_rows
            conditions: list[Conditions] = []
            if number == first:
                self.choose()
            if number >= first:
                recipe = "conditions" if number % 4 < 2 else "renamed_conditions"
                max_rows = settings.max_rows // 2
                conditions = self._list_conditions(rows, spelling, is_for_all=number % 2 == 0)
                if not conditions:
                    break
            elif number % 5 == 4:
                recipe, max_rows = "subsample", _SMALL_MAX_ROWS[number // 5 % len(_SMALL_MAX_ROWS)]
            variant = make_variant(
                rows,
                facts,
                recipe,
                seed=self._seed(number),
                max_rows=max_rows,
                constants=constants,
                conditions=conditions,
                tried=self._asked.open_tried(rows),
            )
            self._asked.add(number, variant, self._cases)

    def _seed(self, number: int) -> int:
        return int(hash_value([self._settings.seed, number]), 16)

    def _list_conditions(
        self, rows: Rows, spelling: Spelling, *, is_for_all: bool
    ) -> list[Conditions]:
        """Those of each query of which a rival survives; while one with a constant or a guarded one
        does, of their queries alone, unless it is for all."""
        alive = {}
        for case, survivors in self._list_survivors().items():
            if survivors:
                alive[case.gold] = not case.memorized.isdisjoint(survivors)
        is_any = not is_for_all and any(alive.values())
        golds = [gold for gold, is_memorized in alive.items() if is_memorized or not is_any]
        for gold in golds:
            if gold not in self._conditions:
                scopes = Scopes(gold.dated_tree, self._real.schema)
                self._conditions[gold] = list_conditions(scopes, rows.tables, spelling)
        return list(dict.fromkeys(chain.from_iterable(self._conditions[gold] for gold in golds)))

    def make_more(self, rows: Rows) -> None:
        """Make some variants more for the questions whose stored answer is right as a constant so
        far, or that have a guarded rival which no variant kills. They have rows like those that
        gold finds in the real database, whatever it asks of them.
        """
        suites = self.choose().suites
        last = [
            case
            for case, suite in suites.items()
            if not suite.killable.issuperset((case.gold.by_heart, *suite.guarded))
        ]
        if not last:
            return
        witnesses: dict[Conditions, None] = {}
        wanted: Rowids = {}
        for gold in _list_golds(last):
            conditions, rowids = list_witnesses(
                Scopes(gold.dated_tree, self._real.schema),
                rows.tables,
                partial(self._real.executions.find_rows, max_steps=_MAX_STEPS_OF_WITNESSES),
                has_rowids=rows.stored.has_rowids,
            )
            witnesses.update(dict.fromkeys(conditions))
            for name, own in rowids.items():
                wanted.setdefault(name, set()).update(own)
        if wanted:
            seed = self._settings.seed
            rows = read_rows(rows.path, seed=seed, wanted=wanted, now=self._now)
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
                seed=self._seed(number),
                max_rows=self._settings.max_rows,
                constants=[*constants],
                conditions=[*witnesses],
                tried=self._asked.open_tried(rows),
            )
            self._asked.add(number, variant, last)

    def make_near_misses(self, rows: Rows, facts: KeyFacts) -> None:
        """Make some variants more for the questions that seem to need none of their conditions, or
        no aggregate: the answer is the same without, on the real database and on all variants.

        Example: there is one 'drake', and names are a key there, so a query that leaves out the
        artist finds it. In these variants, other drakes have other artists.
        """
        number, spelling = self._settings.pool + _LAST_VARIANTS, Spelling(rows)
        for recipe, operators in _NEAR_MISSES.items():
            missed = [
                case
                for case, survivors in self._list_survivors().items()
                if any(
                    rival.name in operators and rival.on_real is not OnReal.KILLED
                    for rival in survivors
                )
            ]
            conditions: dict[Conditions, None] = {}
            for gold in _list_golds(missed):
                scopes = Scopes(gold.dated_tree, self._real.schema)
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
                    seed=self._seed(number),
                    max_rows=self._settings.max_rows,
                    constants=[*constants],
                    conditions=[*conditions],
                    tried=self._asked.open_tried(rows),
                )
                self._asked.add(number, variant, missed)
                number += 1


def _list_golds(cases: Sequence[Case]) -> list[GoldQuery]:
    """The gold queries of some questions, each once."""
    return list(dict.fromkeys(case.gold for case in cases))

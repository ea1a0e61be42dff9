"""Variants of a database: its rows changed by a recipe, under the rules that hold in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from random import Random
from typing import Any, Self

from answerkey.records import hash_value
from answerkey.suites.constants import Conditions, Constant
from answerkey.suites.draft import Draft, choose_rows, mend
from answerkey.suites.facts import MANY
from answerkey.suites.keys import KeyFacts, find_key_facts
from answerkey.suites.rows import Rows, open_empty
from answerkey.suites.settling import settle
from answerkey.suites.steps import (
    collide_values,
    copy_rows,
    exchange_values,
    fill_tables,
    fill_tables_whole,
    permute_columns,
    plant_conditions,
    plant_constants,
    reassign_children,
    rename,
    set_nulls,
    skew_values,
    take_children,
)

RECIPES: dict[str, tuple[Callable[[Draft], None], ...]] = {
    "subsample": (),
    "permute": (permute_columns,),
    "reassign": (reassign_children,),
    "childless": (take_children,),
    "collide": (collide_values,),
    "plant": (plant_constants,),
    "conditions": (plant_conditions,),
    "renamed_conditions": (rename, plant_conditions),
    "skew": (exchange_values, skew_values),
    "nulls": (set_nulls,),
    "copy": (copy_rows,),
    "fill": (fill_tables,),
    "everything": (
        *(fill_tables, copy_rows, permute_columns, reassign_children, collide_values, set_nulls),
        *(plant_constants, take_children),
    ),
}
_ROUNDS = 4  # what is mended may have to be settled again


class Fuzzer:
    """Makes variants of a database; use it as a context manager.

    >>> constants = [("ship", 2, "Peru")]
    >>> with Fuzzer(read_rows(path), constants=constants) as fuzzer:         # doctest: +SKIP
    ...     write_rows(fuzzer.make_variant("collide", seed=1), target)

    constants: what the queries of the database compare columns with.
    conditions: what meets and misses the conditions of some queries, for the recipe of that name.
    max_rows: about how many rows a table of a variant has; at most twice as many from the database.
    facts: those of the rows, if they are known already.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        constants: Iterable[Constant] = (),
        conditions: Iterable[Conditions] = (),
        max_rows: int = 30,
        facts: KeyFacts | None = None,
    ) -> None:
        self._rows = rows
        self._facts = facts or find_key_facts(rows)
        self._constants = list(constants)
        self._conditions = list(conditions)
        self._wanted = _find_rows(rows, self._constants)
        self._single = _find_single(self._facts, self._constants, rows)
        self._max_rows = max_rows
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._connection = self._stack.enter_context(open_empty(self._rows))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def make_variant(self, recipe: str, *, seed: int) -> Rows:
        """A variant that keeps keys and references, declared and de facto, and whatever the schema
        demands: the same for the same rows, constants, recipe and seed.

        Raises:
            KeyError: where there is no such recipe.
        """
        steps = RECIPES[recipe]
        draft = self._draft(recipe, seed)
        choose_rows(draft, self._wanted)
        for step in steps:
            step(draft)
        for _ in range(_ROUNDS):
            if not settle(draft):
                break
            self._mend(draft)
        return self._finish(draft)

    def fill(self) -> Rows:
        """The database with all of its rows, and new ones where a table has less than `max_rows`;
        and rows that meet the conditions."""
        draft = self._draft("fill_tables_whole", 0)
        fill_tables_whole(draft)
        return self._finish(draft)

    def _draft(self, name: str, seed: int) -> Draft:
        random = Random(int(hash_value([name, seed]), 16))
        return Draft(
            *(self._rows, self._facts, self._constants, self._conditions, random, self._max_rows),
            single=self._single,
        )

    def _mend(self, draft: Draft) -> None:
        self._connection.execute("BEGIN")
        mend(draft, self._connection)
        self._connection.execute("ROLLBACK")

    def _finish(self, draft: Draft) -> Rows:
        self._mend(draft)
        return self._rows.with_rows(
            {name: [tuple(row.values) for row in rows] for name, rows in draft.rows.items()}
        )


def _find_single(facts: KeyFacts, constants: Iterable[Constant], rows: Rows) -> list[Constant]:
    """The texts in free columns of large tables that one row has."""
    return [
        (name, place, value)
        for name, place, value in constants
        if isinstance(value, str)
        and len(rows.tables[name].rows) >= MANY
        and place in facts.free[name]
        and sum(row[place] == value for row in rows.tables[name].rows) == 1
    ]


def _find_rows(rows: Rows, constants: Iterable[Constant]) -> list[tuple[str, int]]:
    """The rows that hold one of the constants, by table and place."""
    values: dict[tuple[str, int], set[Any]] = {}
    for name, column, value in constants:
        values.setdefault((name, column), set()).add(value)
    found = {
        (name, place): None
        for (name, column), wanted in values.items()
        for place, row in enumerate(rows.tables[name].rows)
        if row[column] in wanted
    }
    return list(found)

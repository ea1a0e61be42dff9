"""Variants of a database: its rows changed by a recipe, under the rules that hold in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from random import Random
from typing import Any, Self

from answerkey.records import hash_value
from answerkey.sqlite.schema import fold_name
from answerkey.suites.constants import Conditions
from answerkey.suites.draft import Constant, Draft, PlantedConditions, Slot, choose_rows, mend
from answerkey.suites.facts import MANY
from answerkey.suites.keys import KeyFacts, find_key_facts
from answerkey.suites.rows import Rows, find_positions, open_empty
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

    >>> constants = [("ship", "flag", "Peru")]
    >>> with Fuzzer(read_rows(path), constants=constants) as fuzzer:         # doctest: +SKIP
    ...     write_rows(fuzzer.make_variant("collide", seed=1), target)

    constants: tables, columns and values: what the queries of the database compare columns with.
    conditions: what meets and misses the conditions of some queries, for the recipe of that name.
    max_rows: about how many rows a table of a variant has; at most twice as many from the database.
    facts: those of the rows, if they are known already.

    Raises:
        ValueError: where a constant is of a table or a column that is not there.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        constants: Iterable[tuple[str, str, Any]] = (),
        conditions: Iterable[Conditions] = (),
        max_rows: int = 30,
        facts: KeyFacts | None = None,
    ) -> None:
        self._rows = rows
        self._facts = facts or find_key_facts(rows)
        self._constants = [_resolve(rows, *constant) for constant in constants]
        self._conditions = [_resolve_all(rows, self._facts, found) for found in conditions]
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
    found = []
    for constant in constants:
        table = rows.tables[constant.table]
        if len(table.rows) >= MANY and constant.column in facts.free[constant.table]:
            values = [row[constant.column] for row in table.rows]
            if isinstance(constant.value, str) and values.count(constant.value) == 1:
                found.append(constant)
    return found


def _resolve(rows: Rows, table: str, column: str, value: Any) -> Constant:
    for name, found in rows.tables.items():
        if fold_name(name) == fold_name(table):
            places = find_positions(found.table, [column])
            if places is not None:
                return Constant(name, places[0], value)
    raise ValueError(f"No column {table}.{column}: expected one of a table that was read")


def _resolve_all(rows: Rows, facts: KeyFacts, found: Conditions) -> PlantedConditions:
    by_name = {fold_name(name): name for name in rows.tables}
    tables = tuple(by_name[fold_name(name)] for name in found.tables)

    def find(row: int, column: str) -> Slot:
        return row, _resolve(rows, tables[row], column, None).column

    classes: list[frozenset[Slot]] = []
    alone = [(find(*slot),) * 2 for slot in found.shared]
    for pair in [tuple(find(*slot) for slot in pair) for pair in found.equal] + alone:
        same = [one for one in classes if one & {*pair}]
        classes = [one for one in classes if one not in same] + [frozenset(pair).union(*same)]
    shared = {slot for slot, _ in alone}
    grouped = {row for row, _ in shared}
    shared |= {  # the group is of the rows that others refer to by a key, as well
        (row, place)
        for one in classes
        for row, place in one
        if len(one) > 1 and row in grouped and (place,) in facts.keys[tables[row]]
    }
    return PlantedConditions(
        tables,
        tuple(
            (find(row, column), meets, misses) for row, column, meets, misses in found.conditions
        ),
        tuple(classes),
        frozenset(number for number, one in enumerate(classes) if one & shared),
        found.count,
    )


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

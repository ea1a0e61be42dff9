"""Variants of a database: its rows changed by a recipe, under the rules that hold in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from answerkey.base.records import hash_value
from answerkey.suites.constants import Conditions, Constant
from answerkey.suites.draft import Draft, choose_rows, mend
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


def make_variant(
    rows: Rows,
    facts: KeyFacts,
    recipe: str,
    *,
    seed: int,
    max_rows: int = 30,
    constants: Sequence[Constant] = (),
    conditions: Sequence[Conditions] = (),
) -> Rows:
    """A variant of a database that keeps keys and references, declared and de facto, and whatever
    the schema demands: the same for the same rows, constants, recipe and seed.

    >>> rows = read_rows(path)                                                    # doctest: +SKIP
    >>> make_variant(rows, find_key_facts(rows), "collide", seed=1)               # doctest: +SKIP

    max_rows: about how many rows a table has; at most twice as many from the database.
    constants: what the queries of the database compare columns with.
    conditions: what meets and misses the conditions of some queries, for the recipe of that name.
    """
    draft = Draft(rows, facts, _start(recipe, seed), max_rows, constants, conditions)
    choose_rows(draft)
    for step in RECIPES[recipe]:
        step(draft)
    with open_empty(rows) as connection:
        for _ in range(_ROUNDS):
            if not settle(draft):
                break
            mend(draft, connection)
        mend(draft, connection)
    return draft.take_rows()


def fill_rows(rows: Rows, conditions: Sequence[Conditions], *, max_rows: int) -> Rows:
    """The database with all of its rows, and new ones where a table has less than `max_rows`; and
    rows that meet the conditions."""
    random = _start("fill_tables_whole", 0)
    draft = Draft(rows, find_key_facts(rows), random, max_rows, (), conditions)
    fill_tables_whole(draft)
    with open_empty(rows) as connection:
        mend(draft, connection)
    return draft.take_rows()


def _start(name: str, seed: int) -> Random:
    return Random(int(hash_value([name, seed]), 16))

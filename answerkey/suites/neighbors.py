"""Neighbors of a gold query: all operators, and the queries one step away that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema
from answerkey.suites.operators.columns import (
    mutate_aggregates,
    mutate_columns,
    mutate_select_list,
)
from answerkey.suites.operators.conditions import (
    mutate_comparisons,
    mutate_connectors,
    mutate_literals,
    mutate_patterns,
    mutate_ranges,
)
from answerkey.suites.operators.sources import mutate_joins
from answerkey.suites.operators.trees import Steps, write_changes

Family = Callable[[Scopes], Steps]


class Neighbor(NamedTuple):
    """A query one step away from a gold query, and the name of the step."""

    operator: str
    sql: str


FAMILIES: tuple[Family, ...] = (
    mutate_aggregates,
    mutate_columns,
    mutate_comparisons,
    mutate_connectors,
    mutate_joins,
    mutate_literals,
    mutate_patterns,
    mutate_ranges,
    mutate_select_list,
)


def list_neighbors(tree: exp.Expression, schema: Schema, *, max_neighbors: int) -> list[Neighbor]:
    """The neighbors of a gold query, sorted, each text once, none of them the gold's own.

    `SELECT a FROM t WHERE b > 2` -> comparison: `SELECT a FROM t WHERE b >= 2`, number: `SELECT a
    FROM t WHERE b > 3`, distinct: `SELECT DISTINCT a FROM t WHERE b > 2`, ...

    Where there are more than `max_neighbors`, each operator gives the same number as far as it has
    so many, from all over the query. The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    found: dict[str, list[str]] = {}
    steps = [mutate(scopes) for mutate in FAMILIES]
    for operator, text in write_changes(scopes, steps, most=4 * max_neighbors):
        found.setdefault(operator, []).append(text)
    kept = _share_out({name: len(texts) for name, texts in sorted(found.items())}, max_neighbors)
    return sorted(
        Neighbor(name, text) for name, count in kept.items() for text in _spread(found[name], count)
    )


def _share_out(counts: dict[str, int], most: int) -> dict[str, int]:
    """How many neighbors of each operator are kept."""
    kept = dict.fromkeys(counts, 0)
    while sum(kept.values()) < most and kept != counts:
        for name in [name for name in counts if kept[name] < counts[name]]:
            if sum(kept.values()) < most:
                kept[name] += 1
    return kept


def _spread(texts: list[str], count: int) -> list[str]:
    """So many of the texts, evenly from the first to the last."""
    return [texts[place * len(texts) // count] for place in range(count)]

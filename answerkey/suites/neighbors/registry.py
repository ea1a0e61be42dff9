"""Registry: all operators, found by the names of their files, and the neighbors that they make.

`operators/ranges.py` -> ranges: mutate_ranges
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema
from answerkey.suites.neighbors import operators
from answerkey.suites.neighbors.changes import Steps, write_changes

Family = Callable[[Scopes], Steps]


class Neighbor(NamedTuple):
    """A query one step away from a gold query, and the name of the step."""

    operator: str
    sql: str


def load_families() -> dict[str, Family]:
    """The families of operators, by the names of the files in `neighbors/operators`.

    Raises:
        AttributeError: where a file has no function `mutate_` and its name.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(operators.__path__))
    return {name: _load_family(name) for name in names}


def _load_family(name: str) -> Family:
    return getattr(import_module(f"{operators.__name__}.{name}"), f"mutate_{name}")


FAMILIES = load_families()


def list_neighbors(tree: exp.Expression, schema: Schema, *, max_neighbors: int) -> list[Neighbor]:
    """The neighbors of a gold query, sorted, each text once, none of them the gold's own.

    `SELECT a FROM t LIMIT 2` -> limit: `SELECT a FROM t LIMIT 3`, limit: `SELECT a FROM t LIMIT 1`,
    limit_removed: `SELECT a FROM t`, distinct: `SELECT DISTINCT a FROM t LIMIT 2`, ...

    Where there are more than `max_neighbors`, each operator gives the same number as far as it has
    so many, from all over the query. The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    found: dict[str, list[str]] = {}
    steps = [mutate(scopes) for mutate in FAMILIES.values()]
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

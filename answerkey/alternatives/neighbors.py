"""Neighbors: wrong queries one step away from gold, each with the name of the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from answerkey.engines.schema import Schema
from answerkey.rewrites.aggregates import take_extreme_value, use_other_aggregate
from answerkey.rewrites.codes import mutate_codes
from answerkey.rewrites.columns import join_by_other_column, use_other_column
from answerkey.rewrites.comparisons import move_range_ends, use_other_operator
from answerkey.rewrites.conditions import drop_conditions, swap_connectors
from answerkey.rewrites.counts import count_other_values, toggle_distinct_values
from answerkey.rewrites.distinct_rows import toggle_distinct_rows
from answerkey.rewrites.literals import extend_texts, shift_numbers
from answerkey.rewrites.members import drop_members, toggle_outer_joins
from answerkey.rewrites.patterns import contain_texts, move_wildcards
from answerkey.rewrites.sorting import drop_orders, reverse_orders
from answerkey.rewrites.trees import Change, FindRows, Steps, write_changes
from answerkey.rewrites.typed_dialects import (
    divide_otherwise,
    drop_filters,
    drop_qualify,
    forget_nulls,
    keep_all_of_group,
    mind_case,
    shift_dates,
    take_other_part,
)
from answerkey.sql.query_tree import speaks_sqlite
from answerkey.sql.scopes import Scopes


class Neighbor(NamedTuple):
    """A kind of neighbor by its name, and the rewrite that writes it.

    A person or a model may write a neighbor by mistake. Nobody means it, so a suite has to kill it.
    """

    name: str
    rewrite: Callable[..., Steps]


# Two steps may write one text. It has the name of the first.
NEIGHBORS = (
    Neighbor("aggregate_distinct", toggle_distinct_values),
    Neighbor("count_argument", count_other_values),
    Neighbor("join_key", join_by_other_column),
    Neighbor("column", use_other_column),
    Neighbor("comparison", use_other_operator),
    Neighbor("condition_removed", drop_conditions),
    Neighbor("connector", swap_connectors),
    Neighbor("aggregate_function", use_other_aggregate),
    Neighbor("extreme_value", take_extreme_value),
    Neighbor("join_type", toggle_outer_joins),
    Neighbor("join_removed", drop_members),
    Neighbor("number", shift_numbers),
    Neighbor("text_affix", extend_texts),
    Neighbor("order_dropped", drop_orders),
    Neighbor("order_reversed", reverse_orders),
    Neighbor("pattern", move_wildcards),
    Neighbor("equality_as_pattern", contain_texts),
    Neighbor("range_bound", move_range_ends),
    Neighbor("distinct", toggle_distinct_rows),
)
# Those that the dialects of PostgreSQL and DuckDB have besides.
NEIGHBORS_OF_TYPED_DIALECTS = (
    Neighbor("pattern_case", mind_case),
    Neighbor("distinct_on", keep_all_of_group),
    Neighbor("nulls_order", forget_nulls),
    Neighbor("division", divide_otherwise),
    Neighbor("filter_dropped", drop_filters),
    Neighbor("qualify_dropped", drop_qualify),
    Neighbor("date_part", take_other_part),
    Neighbor("other_date", shift_dates),
)
# These rewrites ask the real rows, too, so that `list_neighbors` does not have them.
NEIGHBORS_OF_ROWS = (
    Neighbor("code_by_heart", mutate_codes),
    Neighbor("value_by_heart", mutate_codes),
)


def list_neighbors(tree: exp.Expr, schema: Schema, *, max_neighbors: int) -> list[Change]:
    """The neighbors of a gold query, sorted, each text once, none of them the gold's own.

    `SELECT a FROM t WHERE b > 2` -> comparison: `SELECT a FROM t WHERE b >= 2`, number: `SELECT a
    FROM t WHERE b > 3`, distinct: `SELECT DISTINCT a FROM t WHERE b > 2`, ...

    If there are more than `max_neighbors`, each name has an equal share of them, as far as it has
    that many, from all parts of the query. The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    texts_by_name: dict[str, list[str]] = {}
    known = NEIGHBORS if speaks_sqlite() else (*NEIGHBORS, *NEIGHBORS_OF_TYPED_DIALECTS)
    steps = [neighbor.rewrite(scopes) for neighbor in known]
    for name, text in write_changes(scopes, steps, most=4 * max_neighbors):
        texts_by_name.setdefault(name, []).append(text)
    counts = {name: len(texts) for name, texts in sorted(texts_by_name.items())}
    kept = _share_out(counts, max_neighbors)
    return sorted(
        Change(name, texts_by_name[name][index * counts[name] // count])
        for name, count in kept.items()
        for index in range(count)
    )


def list_neighbors_of_rows(
    scopes: Scopes, find_rows: FindRows, *, max_neighbors: int
) -> list[Change]:
    """The neighbors of a gold query that ask its real rows; each rewrite gives `max_neighbors` at
    most.

    `SELECT a FROM t WHERE name = 'x'` -> code_by_heart: `SELECT a FROM t WHERE "id" = 7`
    """
    rewrites = dict.fromkeys(neighbor.rewrite for neighbor in NEIGHBORS_OF_ROWS)
    steps = [rewrite(scopes, find_rows) for rewrite in rewrites]
    return write_changes(scopes, steps, most=max_neighbors)


def _share_out(counts: dict[str, int], most: int) -> dict[str, int]:
    """Return how many of each name are kept, `most` of all together.

    `{"column": 9, "number": 1}`, 5 -> `{"column": 4, "number": 1}`
    """
    kept = dict.fromkeys(counts, 0)
    while sum(kept.values()) < most and kept != counts:
        for name in [name for name in counts if kept[name] < counts[name]]:
            if sum(kept.values()) < most:
                kept[name] += 1
    return kept

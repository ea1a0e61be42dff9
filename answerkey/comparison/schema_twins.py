"""Schema twins: databases of different splits that are one schema under two names, or nearly.

A model that is trained on one of them has seen the other's tables before it is evaluated.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sqlite.schema import Schema

MIN_SHARE = 0.9

Column = tuple[str, str]  # table, column


class SchemaColumns(NamedTuple):
    """A schema without its name: its (table, column) pairs, and the type of each."""

    database_name: str
    types: Mapping[Column, str]


def list_columns(database_name: str, schema: Schema) -> SchemaColumns:
    """The columns of a database's tables, whatever their order and case; views are left out."""
    types = {
        (table.name.lower(), column.name.lower()): column.type.upper()
        for table in schema.tables
        if not table.is_view
        for column in table.columns
    }
    return SchemaColumns(database_name, types)


def find_schema_twins(
    train: Iterable[SchemaColumns],
    held_out: Iterable[SchemaColumns],
    *,
    min_share: float = MIN_SHARE,
) -> dict[str, Finding]:
    """{database_name: Finding} for each database that has a twin in the other split.

    Twins share at least `min_share` of all (table, column) pairs that either has. The evidence
    names the most alike, the first by name of several, and says whether even its types are the
    same.
    """
    train, held_out = ([one for one in side if one.types] for side in (train, held_out))
    frequency = Counter(pair for one in held_out for pair in one.types)
    by_rare_pair: dict[Column, list[SchemaColumns]] = defaultdict(list)
    for one in held_out:
        for pair in _list_rarest(one.types, frequency, min_share):
            by_rare_pair[pair].append(one)
    twins: dict[str, list[tuple[float, str, bool]]] = defaultdict(list)
    for one in train:
        candidates = {
            other.database_name: other
            for pair in _list_rarest(one.types, frequency, min_share)
            for other in by_rare_pair.get(pair, ())
        }
        for other in candidates.values():
            shared = len(one.types.keys() & other.types.keys())
            share = shared / (len(one.types) + len(other.types) - shared)
            if share >= min_share:
                has_same_types = one.types == other.types
                twins[one.database_name].append((-share, other.database_name, has_same_types))
                twins[other.database_name].append((-share, one.database_name, has_same_types))
    return {name: _make_finding(found) for name, found in sorted(twins.items())}


def _make_finding(twins: list[tuple[float, str, bool]]) -> Finding:
    share, database_name, has_same_types = min(twins)
    evidence = {
        "database": database_name,
        "share": round(-share, 3),
        "same_types": has_same_types,
        "count": len(twins),
    }
    return Finding(Flag.SCHEMA_IN_BOTH_SPLITS, evidence)


def _list_rarest(
    columns: Collection[Column], frequency: Mapping[Column, int], min_share: float
) -> list[Column]:
    """The rarest pairs of a schema: so many that any twin has one of its own rarest pairs among
    them.

    Source: Chaudhuri, Ganti, Kaushik: A primitive operator for similarity joins (2006), prefix
    filter.
    """
    ordered = sorted(columns, key=lambda pair: (frequency[pair], pair))
    return ordered[: len(ordered) - math.ceil(min_share * len(ordered) - 1e-9) + 1]

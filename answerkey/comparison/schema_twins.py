"""Schema twins: databases of different splits that are one schema under two names, or nearly.

A model that is trained on one of them has seen the other's tables before it is evaluated.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.core.records import digest_text
from answerkey.sqlite.schema import Schema

MIN_SHARE = 0.9
_BUCKETS = 1 << 16  # by which the pairs of all databases are counted


class SchemaPrint(NamedTuple):
    """A schema without its name: hashes of its (table, column) pairs; one of all, with types."""

    database_name: str
    columns: frozenset[int]
    types: str


def print_schema(database_name: str, schema: Schema) -> SchemaPrint:
    """The print of a database's tables, whatever their order and case; views are left out."""
    columns = sorted(
        (table.name.lower(), column.name.lower(), column.type.upper())
        for table in schema.tables
        if not table.is_view
        for column in table.columns
    )
    pairs = frozenset(
        int.from_bytes(digest_text(f"{table}\n{column}"), "big") for table, column, _ in columns
    )
    return SchemaPrint(database_name, pairs, digest_text(repr(columns)).hex())


def find_schema_twins(
    train_prints: Iterable[SchemaPrint],
    eval_prints: Iterable[SchemaPrint],
    *,
    min_share: float = MIN_SHARE,
) -> dict[str, Finding]:
    """{database_name: Finding} for each database that has a twin in the other split.

    Twins share at least `min_share` of all (table, column) pairs that either has. The evidence
    names the most alike, and says whether even its types are the same. The prints of the eval split
    are held.
    """
    held = [_Held.hold(one) for one in eval_prints if one.columns]
    frequency = array("L", [0]) * _BUCKETS
    for one in held:
        for pair in one.columns:
            frequency[pair % _BUCKETS] += 1
    by_rare_pair: dict[int, list[_Held]] = defaultdict(list)
    for one in held:
        for pair in _rarest(one.columns, frequency, min_share):
            by_rare_pair[pair].append(one)
    twins: dict[str, _Twins] = defaultdict(_Twins)
    for one in train_prints:
        rare = _rarest(one.columns, frequency, min_share) if one.columns else ()
        candidates = {
            other.database_name: other for pair in rare for other in by_rare_pair.get(pair, ())
        }
        for other in candidates.values():
            shared = len(one.columns.intersection(other.columns))
            share = shared / (len(one.columns) + len(other.columns) - shared)
            if share >= min_share:
                has_same_types = one.types == other.types
                twins[one.database_name].add(share, other.database_name, has_same_types)
                twins[other.database_name].add(share, one.database_name, has_same_types)
    return {name: found.make_finding() for name, found in sorted(twins.items())}


class _Held(NamedTuple):
    """A print in little memory."""

    database_name: str
    columns: array[int]
    types: str

    @classmethod
    def hold(cls, one: SchemaPrint) -> _Held:
        return cls(one.database_name, array("Q", sorted(one.columns)), one.types)


@dataclass(slots=True)
class _Twins:
    """The twins of one database: how many, and the most alike, the first by name of several."""

    count: int = 0
    nearest: tuple[float, str, bool] | None = None  # the share negated, the name, whether its types

    def add(self, share: float, database_name: str, has_same_types: bool) -> None:
        self.count += 1
        found = (-share, database_name, has_same_types)
        self.nearest = found if self.nearest is None else min(self.nearest, found)

    def make_finding(self) -> Finding:
        share, database_name, has_same_types = self.nearest
        evidence = {
            "database": database_name,
            "share": round(-share, 3),
            "same_types": has_same_types,
            "count": self.count,
        }
        return Finding(Flag.SCHEMA_IN_BOTH_SPLITS, evidence)


def _rarest(columns: Collection[int], frequency: array[int], min_share: float) -> list[int]:
    """So many of the rarest pairs that any twin has one of its own rarest among them.

    Whatever order of all pairs does, as long as it is one; how often they occur is counted only
    roughly. Source: Chaudhuri, Ganti, Kaushik: A primitive operator for similarity joins (2006),
    prefix filter.
    """
    ordered = sorted(columns, key=lambda pair: (frequency[pair % _BUCKETS], pair))
    return ordered[: len(ordered) - math.ceil(min_share * len(ordered) - 1e-9) + 1]

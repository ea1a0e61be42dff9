"""Schema twins: databases of different splits that are one schema under two names, or nearly.

A model that is trained on one of them has seen the other's tables before it is evaluated.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from stages.probes.findings import Finding
from stages.reasons import Flag
from stages.schema import Schema

MIN_SHARE = 0.9


class SchemaPrint(NamedTuple):
    """A schema without its name: hashes of its (table, column) pairs; one of all, with types."""

    database_name: str
    split: str
    columns: frozenset[int]
    types: str


def print_schema(database_name: str, split: str, schema: Schema) -> SchemaPrint:
    """The print of a database's tables, whatever their order and case; views are left out."""
    columns = sorted(
        (table.name.lower(), column.name.lower(), column.type.upper())
        for table in schema.tables
        if not table.is_view
        for column in table.columns
    )
    pairs = frozenset(
        int.from_bytes(_digest(f"{table}\n{column}"), "big") for table, column, _ in columns
    )
    return SchemaPrint(database_name, split, pairs, _digest(repr(columns)).hex())


def find_schema_twins(
    prints: Iterable[SchemaPrint], *, min_share: float = MIN_SHARE
) -> dict[str, Finding]:
    """{database_name: Finding} for each database that has a twin in another split.

    Twins share at least `min_share` of all (table, column) pairs that either has. The evidence
    names the most alike, and says whether even its types are the same.
    """
    ordered = sorted((p for p in prints if p.columns), key=lambda p: p.database_name)
    frequency = Counter(pair for p in ordered for pair in p.columns)
    by_rare_pair: dict[tuple[str, int], list[SchemaPrint]] = defaultdict(list)
    twins: dict[str, list[tuple[float, SchemaPrint]]] = defaultdict(list)
    splits = sorted({p.split for p in ordered})
    for one in ordered:
        rare = _rarest(one, frequency, min_share)
        candidates = {
            p.database_name: p
            for split in splits
            if split != one.split
            for pair in rare
            for p in by_rare_pair.get((split, pair), ())
        }
        for other in candidates.values():
            share = len(one.columns & other.columns) / len(one.columns | other.columns)
            if share >= min_share:
                twins[one.database_name].append((share, other))
                twins[other.database_name].append((share, one))
        for pair in rare:
            by_rare_pair[one.split, pair].append(one)
    by_name = {p.database_name: p for p in ordered}
    return {name: _make_finding(by_name[name], found) for name, found in sorted(twins.items())}


def _rarest(one: SchemaPrint, frequency: Counter[int], min_share: float) -> list[int]:
    """So many of the rarest pairs that any twin has one of its own rarest among them.

    Source: Chaudhuri, Ganti, Kaushik: A primitive operator for similarity joins (2006), prefix
    filter.
    """
    ordered = sorted(one.columns, key=lambda pair: (frequency[pair], pair))
    return ordered[: len(ordered) - math.ceil(min_share * len(ordered) - 1e-9) + 1]


def _make_finding(one: SchemaPrint, twins: list[tuple[float, SchemaPrint]]) -> Finding:
    share, twin = min(twins, key=lambda pair: (-pair[0], pair[1].database_name))
    evidence = {
        "database": twin.database_name,
        "share": round(share, 3),
        "same_types": twin.types == one.types,
        "count": len(twins),
    }
    return Finding(Flag.SCHEMA_IN_BOTH_SPLITS, evidence)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()

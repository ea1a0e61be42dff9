"""join_not_on_key: tables are joined on columns that neither the schema nor the data relate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import EQUALITIES, Comparison, Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.joins import merged_columns
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sqlite.schema import Column, Schema, Table, fold_name

_JOINS_SHOWN = 3
_MOST_SHARED = 0.05
_BaseColumn = tuple[Table, Column]


def find_join_not_on_key(inspection: Inspection) -> list[Finding]:
    """A finding where columns are equated that are no foreign key and share hardly any value.

    Hardly any: of the distinct values of the column that has fewer, at most one in twenty is in the
    other. A column without a value says nothing.
    Columns that refer to the same key, or to each other over several foreign keys, are related.
    """
    reading = read_query(inspection)
    related: dict[str, str] | None = None
    joins: list[dict[str, Any]] = []
    for origin, left, right in _find_pairs(reading):
        names = _full_name(left), _full_name(right)
        folded = fold_name(names[0]), fold_name(names[1])
        if folded[0] == folded[1]:
            continue
        related = _group_keys(inspection.schema) if related is None else related
        if related.get(folded[0], folded[0]) == related.get(folded[1], folded[1]):
            continue
        share = reading.values.share_in_common(_names(left), _names(right))
        if share is not None and share <= _MOST_SHARED:
            text = origin.text if isinstance(origin, Comparison) else f"USING ({origin})"
            joins.append({"condition": text, "columns": list(names), "share": round(share, 4)})
    return [Finding(Flag.JOIN_NOT_ON_KEY, {"joins": joins[:_JOINS_SHOWN]})] if joins else []


def _find_pairs(reading: Reading) -> Iterator[tuple[Comparison | str, _BaseColumn, _BaseColumn]]:
    """The two columns with what equates them: a comparison, or the name that is merged."""
    for comparison in reading.comparisons:
        if comparison.operator not in EQUALITIES:
            continue
        left = reading.base_column(comparison.left)
        right = reading.returned_column(comparison.right) if left is not None else None
        if left is not None and right is not None:
            yield comparison, left, right
    for join in reading.scopes.nodes.find_all(exp.Join):
        if join.args.get("using") or join.args.get("method") == "NATURAL":
            for name, source, joined in merged_columns(join, reading.scopes.scope_of(join)):
                if source.table is not None and joined.table is not None:
                    columns = source.table.find_column(name), joined.table.find_column(name)
                    yield name, (source.table, columns[0]), (joined.table, columns[1])


def _group_keys(schema: Schema) -> dict[str, str]:
    """For each column of a foreign key, in lower case: one name for all columns that it is tied to
    by foreign keys, over any number of them."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for table in schema.tables:
        for key in table.foreign_keys:
            for column, referred in zip(key.columns, key.referred, strict=False):
                ends = fold_name(f"{table.name}.{column}"), fold_name(f"{key.table}.{referred}")
                leader[find(ends[0])] = find(ends[1])
    return {name: find(name) for name in list(leader)}


def _full_name(column: _BaseColumn) -> str:
    return f"{column[0].name}.{column[1].name}"


def _names(column: _BaseColumn) -> tuple[str, str]:
    return column[0].name, column[1].name

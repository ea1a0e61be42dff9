"""Choose rows of a database that was read whole: of a large table some, and their parents.

A row whose parent found no room is left out, or refers to nothing, so that references hold in the
rows as they hold in the database.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from random import Random

from answerkey.engines.engine import Row, RowSample, StoredTable, StoredTables
from answerkey.engines.references import Family, Reference, list_declared
from answerkey.engines.schema import Table

_RUN_ROWS = 10  # of neighbors, which are often alike
_MAX_TIMES_WITH_PARENTS = 3  # times as many rows as asked for, with the parents of others


def choose_sample(
    stored: StoredTables, tables: Mapping[str, Table], sample: RowSample
) -> StoredTables:
    """Return the tables with about `max_rows` rows each, and at most three times as many with the
    parents of others."""
    rows = {own.name: own.rows for own in stored.tables}
    references = list_declared([tables[name] for name in rows])
    indexes = {reference: _index(rows[reference.parent], reference) for reference in references}
    random = Random(sample.seed)
    chosen = {name: _choose_rows(own, sample.max_rows, random) for name, own in rows.items()}
    waiting = deque((name, index) for name, own in chosen.items() for index in sorted(own))
    while waiting:
        name, row_index = waiting.popleft()
        for reference in references:
            if reference.table == name:
                parent = indexes[reference].get(_take(rows[name][row_index], reference.columns))
                held = chosen[reference.parent]
                has_room = len(held) < _MAX_TIMES_WITH_PARENTS * sample.max_rows
                if parent is not None and parent not in held and has_room:
                    held.add(parent)
                    waiting.append((reference.parent, parent))
    kept = {
        name: {index: rows[name][index] for index in sorted(own)} for name, own in chosen.items()
    }
    while any(_drop_dangling(kept, tables, reference, indexes) for reference in references):
        pass
    return replace(
        stored,
        tables=tuple(_with_rows(own, [*kept[own.name].values()]) for own in stored.tables),
        families={
            reference: _count_family(rows, reference, indexes[reference])
            for reference in references
            if len(reference.columns) == 1 and reference.table != reference.parent
        },
    )


def _with_rows(own: StoredTable, rows: list[Row]) -> StoredTable:
    return replace(own, rows=rows, is_whole=own.is_whole and len(rows) == len(own.rows))


def _take(row: Row, columns: tuple[int, ...]) -> Row:
    return tuple(row[index] for index in columns)


def _index(rows: list[Row], reference: Reference) -> dict[Row, int]:
    return {_take(row, reference.referred): index for index, row in enumerate(rows)}


def _choose_rows(rows: list[Row], most: int, random: Random) -> set[int]:
    if len(rows) <= most:
        return {*range(len(rows))}
    chosen: set[int] = set()
    while len(chosen) < most:
        start = random.randrange(len(rows))
        chosen |= {*range(start, min(start + _RUN_ROWS, len(rows)))}
    return chosen


def _drop_dangling(
    kept: dict[str, dict[int, Row]],
    tables: Mapping[str, Table],
    reference: Reference,
    indexes: Mapping[Reference, Mapping[Row, int]],
) -> bool:
    """Leave out the rows whose parents are in the database and not kept, or make them refer to
    nothing; return whether there were any."""
    own, parents = kept[reference.table], kept[reference.parent]
    first = reference.columns[0]
    column = tables[reference.table].columns[first]
    may_be_null = not (column.is_not_null or column.primary_key)
    dangling = [
        index
        for index, row in own.items()
        if (at := indexes[reference].get(_take(row, reference.columns))) is not None
        and at not in parents
    ]
    for index in dangling:
        row = own.pop(index)
        if may_be_null:
            own[index] = (*row[:first], None, *row[first + 1 :])
    kept[reference.table] = dict(sorted(own.items()))
    return bool(dangling)


def _count_family(
    rows: Mapping[str, list[Row]], reference: Reference, index: Mapping[Row, int]
) -> Family:
    values = [_take(row, reference.columns) for row in rows[reference.table]]
    referring = [value for value in values if value in index]
    return Family(len(referring), len({*referring}), len(rows[reference.parent]))

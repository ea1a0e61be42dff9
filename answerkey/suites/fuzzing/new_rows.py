"""New rows of a table: copies under new keys, and rows that nobody has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerkey.suites.fuzzing.draft import Draft, DraftRow
from answerkey.suites.fuzzing.values import invent_value, make_new
from answerkey.suites.references import Reference

_TRIES = 10
_FEW = 5  # values that are invented for a column: some rows share one


def make_row(draft: Draft, name: str, pattern: Sequence[Any] | None) -> DraftRow | None:
    """A row like another, under new keys; without a pattern, one whose values each come from any
    row of the table in the database, or are invented where it has none. None where all keys are
    taken."""
    table = draft.source.tables[name]
    row = DraftRow(pattern if pattern is not None else _draw_values(draft, name))
    lost = draft.facts.lost[name]
    row.put(lost, (None,) * len(lost))
    references = draft.list_references(name)
    if pattern is None:
        for reference in references:
            _refer(draft, row, reference)
    for key in draft.facts.keys[name]:
        own = [place for place in key if place in table.stored and not _refers(place, references)]
        if own and row.values[own[-1]] is None and own[-1] in draft.facts.nullable[name]:
            continue
        if own:
            numbers = [place for place in own if isinstance(row.values[place], int)]
            place = numbers[0] if numbers else own[-1]
            if row.values[place] is None:
                row.values[place] = invent_value(table.table.columns[place], 0)
            taken = {other.values[place] for other in draft.rows[name]}
            taken |= {other[place] for other in table.rows}
            row.values[place] = make_new(row.values[place], taken)
        elif not _find_parents(draft, name, row, key, references):
            return None
    for reference in references:
        if reference.parent == name and not draft.rows[name]:  # its first row refers to itself
            row.put(reference.columns, row.take(reference.referred))
    return row


def _refers(place: int, references: Sequence[Reference]) -> bool:
    return any(place in reference.columns for reference in references)


def _refer(draft: Draft, row: DraftRow, reference: Reference) -> None:
    parents = draft.list_parents(reference)
    if parents:
        row.put(reference.columns, draft.random.choice(parents))


def _find_parents(
    draft: Draft, name: str, row: DraftRow, key: tuple[int, ...], references: Sequence[Reference]
) -> bool:
    """Whether the row has found parents that no other row has together."""
    taken = {other.take(key) for other in draft.rows[name]}
    own = [reference for reference in references if set(reference.columns) & set(key)]
    for _ in range(_TRIES):
        if row.take(key) not in taken:
            return True
        for reference in own:
            _refer(draft, row, reference)
    return row.take(key) not in taken


def _draw_values(draft: Draft, name: str) -> list[Any]:
    table = draft.source.tables[name]
    if table.rows:
        return [draft.random.choice(table.rows)[place] for place in range(len(table.table.columns))]
    return [invent_value(column, draft.random.randint(1, _FEW)) for column in table.table.columns]

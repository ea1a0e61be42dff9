"""Settling: the rows of a draft brought back to the facts of its database (`facts`)."""

from __future__ import annotations

from typing import Any

from answerkey.suites.draft import Draft, DraftRow
from answerkey.suites.facts import Copied, Derived, Totalled, Way, compute, mirror_row
from answerkey.suites.rows import Reference, Row


def settle(draft: Draft) -> bool:
    """Change, add and leave out rows so that all facts hold; return whether that took anything.

    A row that breaks a key or a reference is left to `mend`.
    """
    facts = draft.facts.kept
    before = _read(draft)
    for name, column, value in draft.single:
        _keep_single(draft, name, column, value)
    for ways in facts.meetings:
        _drop_apart(draft, *ways)
    for reference, count in facts.quotas.items():
        _keep_quota(draft, reference, count)
    for name, places in facts.mirrored.items():
        _add_mirrors(draft, name, *places)
    for copied in facts.copied:
        _copy(draft, copied)
    for totalled in facts.totalled:
        _total(draft, totalled)
    for name, found in facts.derived.items():
        for one in found:
            _derive(draft.rows[name], one)
    return _read(draft) != before


def _read(draft: Draft) -> dict[str, list[Row]]:
    return {name: [tuple(row.values) for row in rows] for name, rows in draft.rows.items()}


def _keep_single(draft: Draft, name: str, column: int, value: Any) -> None:
    """Leave a value that one row of the database has to one row: the first of the new ones, which
    may have been made for a query."""
    known = draft.source.tables[name].rows
    holders = [row for row in draft.rows[name] if row.values[column] == value]
    holders.sort(key=lambda row: row.place is not None)
    for row in holders[1:]:
        others = [other[column] for other in known if other[column] != value]
        own = known[row.place][column] if row.place is not None else value
        row.values[column] = own if own != value else draft.random.choice(others)


def _index(draft: Draft, reference: Reference) -> dict[Row, DraftRow]:
    """The rows that a reference may mean, by what refers to them."""
    return {row.take(reference.referred): row for row in reversed(draft.rows[reference.parent])}


def _drop_apart(draft: Draft, left: Way, right: Way) -> None:
    """Leave out the rows from which two ways that must meet lead to different rows."""
    parents = {one: _index(draft, one) for one in (*left, *right)}

    def follow(way: Way, row: DraftRow | None) -> DraftRow | None:
        for one in way:
            row = parents[one].get(row.take(one.columns)) if row is not None else None
        return row

    def is_apart(row: DraftRow) -> bool:
        ends = follow(left, row), follow(right, row)
        return None not in ends and ends[0] is not ends[1]

    rows = draft.rows[left[0].table]
    draft.rows[left[0].table] = [row for row in rows if not is_apart(row)]


def _keep_quota(draft: Draft, reference: Reference, count: int) -> None:
    """Leave out the rows that a parent has beyond its number, new ones first."""
    left: dict[Row, int] = {}
    rows = draft.rows[reference.table]
    gone = set()
    for row in sorted(rows, key=lambda row: row.place is None):
        values = row.take(reference.columns)
        left[values] = left.get(values, count) - 1
        if left[values] < 0 and None not in values:
            gone.add(id(row))
    draft.rows[reference.table] = [row for row in rows if id(row) not in gone]


def _add_mirrors(draft: Draft, name: str, left: int, right: int) -> None:
    known = {tuple(row.values) for row in draft.rows[name]}
    places = {row: place for place, row in enumerate(draft.source.tables[name].rows)}
    for row in list(draft.rows[name]):
        mirrored = mirror_row(row.values, left, right)
        if mirrored not in known:
            known.add(mirrored)
            draft.rows[name].append(DraftRow(mirrored, places.get(mirrored)))


def _copy(draft: Draft, copied: Copied) -> None:
    parents = _index(draft, copied.reference)
    for row in draft.rows[copied.reference.table]:
        parent = parents.get(row.take(copied.reference.columns))
        if parent is not None:
            row.values[copied.place] = parent.values[copied.parent_place]


def _total(draft: Draft, totalled: Totalled) -> None:
    children: dict[Row, list[DraftRow]] = {}
    for row in draft.rows[totalled.reference.table]:
        children.setdefault(row.take(totalled.reference.columns), []).append(row)
    for parent in draft.rows[totalled.reference.parent]:
        own = children.get(parent.take(totalled.reference.referred), [])
        if own:
            values = [1 if totalled.place is None else row.values[totalled.place] for row in own]
            total = sum(value or 0 for value in values)
            parent.values[totalled.parent_place] = (
                round(total, 6) if isinstance(total, float) else total
            )
        elif len(totalled.empty) == 1:
            [parent.values[totalled.parent_place]] = totalled.empty


def _derive(rows: list[DraftRow], derived: Derived) -> None:
    known = dict(derived.known)
    for row in rows:
        values = row.take(derived.sources)
        if derived.kind == "equal":
            row.values[derived.place] = values[0]
        elif derived.kind == "known":
            row.values[derived.place] = known.setdefault(values[0], row.values[derived.place])
        elif derived.kind == "order":
            if None not in values and type(values[0]) is type(values[1]) and values[0] > values[1]:
                row.put(derived.sources, values[::-1])
        else:
            row.values[derived.place] = compute(derived.kind, *values)

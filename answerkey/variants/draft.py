"""A draft of a variant: rows that recipes change as they like, and `mend` brings back to the rules.

A changed row that breaks a rule becomes again the row of the database that it was, and where that
breaks one too, it goes, with all rows that refer to it. The engine says what NOT NULL, CHECK,
types, generated columns and unique indexes allow; keys and references are checked here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from answerkey.engines.engine import TriedRows
from answerkey.engines.references import Reference
from answerkey.variants.constants import Conditions, Constant, invent_value, make_new
from answerkey.variants.facts import (
    DANGLING,
    MIN_ROWS_OF_RULE,
    Copied,
    Derived,
    Totalled,
    Way,
    compute,
    mirror_row,
)
from answerkey.variants.keys import KeyFacts, Link, make_fold
from answerkey.variants.rows import Row, Rows


class DraftRow:
    """The values of a row, the index of the row of the database that it was (None for a new row),
    and whether it was made that row again."""

    __slots__ = ("is_restored", "source_index", "values")

    def __init__(self, values: Sequence[Any], source_index: int | None = None) -> None:
        self.values = list(values)
        self.source_index = source_index
        self.is_restored = False

    def take(self, columns: tuple[int, ...]) -> Row:
        return tuple(self.values[column_index] for column_index in columns)

    def put(self, columns: tuple[int, ...], values: Row) -> None:
        for column_index, value in zip(columns, values, strict=True):
            self.values[column_index] = value


@dataclass
class Draft:
    """Rows by table, and what the steps of a recipe need to change them.

    source: the rows of the database, and `facts` what holds of them.
    max_rows: about how many rows a table should have.
    constants: what queries compare columns with, and `conditions` the same query by query.
    single: the constants that one row of the database has: a name that the questions use for one
        thing stays the name of one.
    """

    source: Rows
    facts: KeyFacts
    random: Random
    max_rows: int
    constants: Sequence[Constant]
    conditions: Sequence[Conditions]

    def __post_init__(self) -> None:
        tables = self.source.tables
        self.single = [
            (name, index, value)
            for name, index, value in self.constants
            if isinstance(value, str)
            and len(tables[name].rows) >= MIN_ROWS_OF_RULE
            and index in self.facts.free[name]
            and sum(row[index] == value for row in tables[name].rows) == 1
        ]
        self.rows: dict[str, list[DraftRow]] = {name: [] for name in tables}
        self._children: dict[Reference, dict[Row, list[int]]] = {}

    def take_rows(self) -> Rows:
        return self.source.with_rows(
            {name: [tuple(row.values) for row in rows] for name, rows in self.rows.items()}
        )

    def list_references(self, table: str) -> list[Reference]:
        return [reference for reference in self.facts.references if reference.table == table]

    def is_fixed(self, reference: Reference) -> bool:
        """Whether rows would go if a reference changed: other rows refer to its columns, another
        way leads to the same row, a key spells it, or each parent has its number of rows."""
        kept = self.facts.kept
        return (
            reference in {**kept.spelled, **kept.quotas}
            or any(reference in (*left, *right) for left, right in kept.meetings)
            or any(
                other.parent == reference.table and set(other.referred) & set(reference.columns)
                for other in self.facts.references
            )
        )

    def children(self, reference: Reference) -> dict[Row, list[int]]:
        """The indexes of the rows of the database by what they refer to."""
        if reference not in self._children:
            children = self._children[reference] = {}
            for row_index, row in enumerate(self.source.tables[reference.table].rows):
                key = tuple(row[column] for column in reference.columns)
                children.setdefault(key, []).append(row_index)
        return self._children[reference]

    def list_parents(self, reference: Reference) -> list[Row]:
        """The values by which a row may refer to others, each once."""
        rows = self.rows[reference.parent]
        parents = dict.fromkeys(row.take(reference.referred) for row in rows)
        return [values for values in parents if None not in values]


def mend(draft: Draft, tried: TriedRows) -> None:
    """Bring the rows of a draft back to the rules of its database, whose engine tries them."""
    tried.clear()
    waiting = set(draft.rows)
    while waiting:
        for name in list(draft.rows):
            if name in waiting:
                _store(tried, draft, name)
        waiting = set()
        for name in draft.rows:
            if _remove(draft, name, _find_repeated(draft, name)):
                waiting.add(name)
        for number, reference in enumerate(draft.facts.references):
            if _remove(draft, reference.table, _find_dangling(draft, number, reference)):
                waiting.add(reference.table)
        if not waiting:
            waiting = _remove_refused(tried, draft)


def _is_unchanged(draft: Draft, name: str, row: DraftRow) -> bool:
    known = draft.source.tables[name].rows
    return row.source_index is not None and tuple(row.values) == known[row.source_index]


def _remove(draft: Draft, name: str, refused: list[DraftRow]) -> bool:
    """Make refused rows again what they were, or drop them; whether there were any."""
    dropped = set()
    for row in refused:
        if row.source_index is None or row.is_restored or _is_unchanged(draft, name, row):
            dropped.add(id(row))
        else:
            row.values = list(draft.source.tables[name].rows[row.source_index])
            row.is_restored = True
    draft.rows[name] = [row for row in draft.rows[name] if id(row) not in dropped]
    return bool(refused)


def _store(tried: TriedRows, draft: Draft, name: str) -> None:
    """Store the rows of a table, those first that are as they were, and take back what is stored.
    What the engine refuses is what it was, or gone."""
    refused: list[DraftRow] = draft.rows[name]
    while refused:
        rows = sorted(draft.rows[name], key=lambda row: not _is_unchanged(draft, name, row))
        refused = []
        values = [row.values for row in rows]
        for row, stored in zip(rows, tried.store_rows(name, values), strict=True):
            if stored is None:
                refused.append(row)
            else:
                row.values = list(stored)
        _remove(draft, name, refused)


def _remove_refused(tried: TriedRows, draft: Draft) -> set[str]:
    """Make the rows that the database refuses again what they were, or drop them; the tables that
    had any."""
    values = {name: [row.values for row in rows] for name, rows in draft.rows.items()}
    refused = {
        name: [draft.rows[name][index] for index in indexes]
        for name, indexes in tried.list_refused(values).items()
    }
    return {name for name, rows in refused.items() if _remove(draft, name, rows)}


def _find_repeated(draft: Draft, name: str) -> list[DraftRow]:
    """Rows whose key another row has; of two, the one that was changed."""
    keys = draft.facts.keys[name]
    held: set[tuple[tuple[int, ...], Row]] = set()
    repeated = []
    for row in sorted(draft.rows[name], key=lambda row: not _is_unchanged(draft, name, row)):
        values = [(key, row.take(key)) for key in keys]
        values = [pair for pair in values if None not in pair[1]]
        if any(pair in held for pair in values):
            repeated.append(row)
        else:
            held.update(values)
    return repeated


def _find_dangling(draft: Draft, number: int, reference: Reference) -> list[DraftRow]:
    """Rows that refer to nothing; those that do so in the database may go on."""
    fold = make_fold(draft.source, reference)
    parents = {fold(row.values, reference.referred) for row in draft.rows[reference.parent]}
    parent_indexes = draft.facts.parents[number]
    dangling = []
    for row in draft.rows[reference.table]:
        values = fold(row.values, reference.columns)
        if None in values or values in parents:
            continue
        if row.source_index is not None and parent_indexes[row.source_index] == DANGLING:
            source = draft.source.tables[reference.table].rows[row.source_index]
            if values == fold(source, reference.columns):
                continue
        dangling.append(row)
    return dangling


# Subsample: some rows of each table, with the rows that they refer to.
#
# Half of the rows are any. The others are those whose parents are there already, so that parents
# have several children: with rows drawn one by one, no group would have two.


def choose_rows(draft: Draft) -> None:
    """Fill a draft with about `max_rows` rows a table, at most twice as many; first, up to a third,
    those that hold a constant."""
    links = draft.facts.links
    chosen: dict[str, set[int]] = {name: set() for name in draft.rows}

    def take(link: Link, *, most_new: int) -> None:
        """Take a row and what it refers to, if there is room for all and not more is new."""
        new, waiting = {link}, [link]
        while waiting and len(new) <= most_new:
            for parent in links.get(waiting.pop(), ()):
                if parent[1] not in chosen[parent[0]] and parent not in new:
                    new.add(parent)
                    waiting.append(parent)
        counts = Counter(name for name, _ in new)
        if len(new) <= most_new and all(
            len(chosen[name]) + count <= 2 * draft.max_rows for name, count in counts.items()
        ):
            for name, row_index in new:
                chosen[name].add(row_index)

    everything = 1 + sum(len(table.rows) for table in draft.source.tables.values())
    for name in sort_children_first(draft):
        wanted = _list_wanted(draft, name)
        for row_index in draft.random.sample(wanted, len(wanted))[: draft.max_rows // 3]:
            take((name, row_index), most_new=everything)
        row_indexes = list(range(len(draft.source.tables[name].rows)))
        draft.random.shuffle(row_indexes)
        half, full = draft.max_rows // 2, draft.max_rows
        for most, most_new in ((half, everything), (full, 1), (full, everything)):
            for row_index in row_indexes:
                if len(chosen[name]) >= most:
                    break
                if row_index not in chosen[name]:
                    take((name, row_index), most_new=most_new)
    for name, rows in chosen.items():
        source = draft.source.tables[name].rows
        draft.rows[name] = [DraftRow(source[index], index) for index in sorted(rows)]


def _list_wanted(draft: Draft, table: str) -> list[int]:
    values: dict[int, set[Any]] = {}
    for name, column, value in draft.constants:
        if name == table:
            values.setdefault(column, set()).add(value)
    wanted_rows = {
        index: None
        for column, wanted in values.items()
        for index, row in enumerate(draft.source.tables[table].rows)
        if row[column] in wanted
    }
    return list(wanted_rows)


def sort_children_first(draft: Draft) -> list[str]:
    """The tables so that each stands before those it refers to, as far as no circle forbids it."""
    parents: dict[str, set[str]] = {name: set() for name in draft.rows}
    for reference in draft.facts.references:
        parents[reference.table].add(reference.parent)
    reached = {}
    for name in parents:
        ancestors, waiting = {name}, [name]
        while waiting:
            new = parents[waiting.pop()] - ancestors
            ancestors |= new
            waiting.extend(new)
        reached[name] = len(ancestors)
    return sorted(reached, key=lambda name: -reached[name])


# New rows of a table: copies under new keys, and rows that nobody has seen.

_MAX_TRIES = 10  # draws of parents: few pairs of them may be left
_MAX_INVENTED_VALUES = 5  # values that are invented for a column: some rows share one


def make_row(draft: Draft, name: str, pattern: Sequence[Any] | None) -> DraftRow | None:
    """A row like another, under new keys; without a pattern, one whose values each come from any
    row of the table in the database, or are invented where it has none. None if all keys are
    taken."""
    table = draft.source.tables[name]
    row = DraftRow(pattern if pattern is not None else _draw_values(draft, name))
    references = draft.list_references(name)
    referring = {index for reference in references for index in reference.columns}
    if pattern is None:
        for reference in references:
            _refer(draft, row, reference)
    for key in draft.facts.keys[name]:
        own = [index for index in key if index in table.stored and index not in referring]
        if own and row.values[own[-1]] is None and own[-1] in draft.facts.nullable[name]:
            continue
        if own:
            numbers = (index for index in own if isinstance(row.values[index], int))
            column_index = next(numbers, own[-1])
            if row.values[column_index] is None:
                row.values[column_index] = invent_value(
                    table.table.columns[column_index], table.types[column_index], 0
                )
            taken = {other.values[column_index] for other in draft.rows[name]}
            taken |= {other[column_index] for other in table.rows}
            row.values[column_index] = make_new(
                row.values[column_index], taken, table.types[column_index]
            )
        elif not _find_parents(draft, name, row, key, references):
            return None
    for reference in references:
        if reference.parent == name and not draft.rows[name]:  # its first row refers to itself
            row.put(reference.columns, row.take(reference.referred))
    return row


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
    for _ in range(_MAX_TRIES):
        if row.take(key) not in taken:
            return True
        for reference in own:
            _refer(draft, row, reference)
    return row.take(key) not in taken


def _draw_values(draft: Draft, name: str) -> list[Any]:
    table = draft.source.tables[name]
    if table.rows:
        return [draft.random.choice(table.rows)[index] for index in range(len(table.table.columns))]
    return [
        invent_value(column, column_type, draft.random.randint(1, _MAX_INVENTED_VALUES))
        for column, column_type in zip(table.table.columns, table.types, strict=True)
    ]


# Settling: the rows of a draft brought back to the facts of its database.


def settle(draft: Draft) -> bool:
    """Change, add and leave out rows so that all facts hold; return whether that took anything.

    A row that breaks a key or a reference is left to `mend`.
    """
    facts = draft.facts.kept
    before = draft.take_rows()
    for name, column, value in draft.single:
        keep_single(draft, name, column, value)
    for ways in facts.meetings:
        _drop_apart(draft, *ways)
    for reference, count in facts.quotas.items():
        _keep_quota(draft, reference, count)
    for name, columns in facts.mirrored.items():
        _add_mirrors(draft, name, *columns)
    for reference in facts.served:
        _serve(draft, reference)
    for copied in facts.copied:
        _copy(draft, copied)
    for totalled in facts.totalled:
        _total(draft, totalled)
    for name, of_table in facts.derived.items():
        for derived in of_table:
            _derive(draft.rows[name], derived)
    return draft.take_rows() != before


def keep_single(draft: Draft, name: str, column: int, value: Any) -> None:
    """Leave a value that one row of the database has to one row: the first of the new ones, which
    may have been made for a query."""
    known = draft.source.tables[name].rows
    holders = [row for row in draft.rows[name] if row.values[column] == value]
    holders.sort(key=lambda row: row.source_index is not None)
    for row in holders[1:]:
        others = [other[column] for other in known if other[column] != value]
        own = known[row.source_index][column] if row.source_index is not None else value
        row.values[column] = own if own != value else draft.random.choice(others)


def _index(draft: Draft, reference: Reference) -> dict[Row, DraftRow]:
    return {row.take(reference.referred): row for row in reversed(draft.rows[reference.parent])}


def _drop_apart(draft: Draft, left: Way, right: Way) -> None:
    """Leave out the rows from which two ways that must meet lead to different rows."""
    parents = {reference: _index(draft, reference) for reference in (*left, *right)}

    def follow(way: Way, row: DraftRow | None) -> DraftRow | None:
        for reference in way:
            row = parents[reference].get(row.take(reference.columns)) if row is not None else None
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
    for row in sorted(rows, key=lambda row: row.source_index is None):
        values = row.take(reference.columns)
        left[values] = left.get(values, count) - 1
        if left[values] < 0 and None not in values:
            gone.add(id(row))
    draft.rows[reference.table] = [row for row in rows if id(row) not in gone]


def _serve(draft: Draft, reference: Reference) -> None:
    """Give the parents without a row rows that they have in the database; leave out others."""
    row_indexes = {
        row.source_index for row in draft.rows[reference.table] if row.source_index is not None
    }
    used = {row.take(reference.columns) for row in draft.rows[reference.table]}
    source = draft.source.tables[reference.table].rows
    count, idle = draft.facts.kept.quotas.get(reference, 1), set()
    for parent in draft.rows[reference.parent]:
        wanted = parent.take(reference.referred)
        if wanted in used:
            continue
        own = [
            index for index in draft.children(reference).get(wanted, ()) if index not in row_indexes
        ]
        for row_index in own[:count]:
            child = DraftRow(source[row_index], row_index)
            draft.rows[reference.table].append(child)
            for other in draft.list_references(reference.table):
                bring_parent(draft, other, child)
        if not own:
            idle.add(id(parent))
    rows = draft.rows[reference.parent]
    draft.rows[reference.parent] = [row for row in rows if id(row) not in idle]


def bring_parent(draft: Draft, reference: Reference, row: DraftRow) -> None:
    """Add the row of the database that a row refers to, and those that this one refers to."""
    name, wanted = reference.parent, row.take(reference.columns)
    if any(other.take(reference.referred) == wanted for other in reversed(draft.rows[name])):
        return
    for row_index, values in enumerate(draft.source.tables[name].rows):
        parent = DraftRow(values, row_index)
        if parent.take(reference.referred) == wanted:
            draft.rows[name].append(parent)
            for other in draft.list_references(name):
                bring_parent(draft, other, parent)
            return


def _add_mirrors(draft: Draft, name: str, left: int, right: int) -> None:
    known = {tuple(row.values) for row in draft.rows[name]}
    row_indexes = {row: index for index, row in enumerate(draft.source.tables[name].rows)}
    for row in list(draft.rows[name]):
        mirrored = mirror_row(row.values, left, right)
        if mirrored not in known:
            known.add(mirrored)
            draft.rows[name].append(DraftRow(mirrored, row_indexes.get(mirrored)))


def _copy(draft: Draft, copied: Copied) -> None:
    """Write what a parent has to its children; first, the name of one that a query asks for, to the
    parent."""
    name, column_index = copied.reference.table, copied.column_index
    is_name = (column_index,) in draft.facts.keys[name]
    asked = [
        constant[2]
        for constant in draft.constants
        if is_name and constant[:2] == (name, column_index)
    ]
    parents = _index(draft, copied.reference)
    pairs = [(row, parents.get(row.take(copied.reference.columns))) for row in draft.rows[name]]
    for row, parent in pairs:
        if parent is not None and row.values[column_index] in asked:
            parent.values[copied.parent_column_index] = row.values[column_index]
    for row, parent in pairs:
        if parent is not None:
            row.values[column_index] = parent.values[copied.parent_column_index]


def _total(draft: Draft, totalled: Totalled) -> None:
    children: dict[Row, list[DraftRow]] = {}
    for row in draft.rows[totalled.reference.table]:
        children.setdefault(row.take(totalled.reference.columns), []).append(row)
    for parent in draft.rows[totalled.reference.parent]:
        own = children.get(parent.take(totalled.reference.referred), [])
        if own:
            values = [
                1 if totalled.column_index is None else row.values[totalled.column_index]
                for row in own
            ]
            total = sum(value or 0 for value in values)
            parent.values[totalled.parent_column_index] = (
                round(total, 6) if isinstance(total, float) else total
            )
        elif len(totalled.empty) == 1:
            [parent.values[totalled.parent_column_index]] = totalled.empty


def _derive(rows: list[DraftRow], derived: Derived) -> None:
    known = dict(derived.known)
    for row in rows:
        values = row.take(derived.sources)
        if derived.kind == "equal":
            row.values[derived.column_index] = values[0]
        elif derived.kind == "known":
            row.values[derived.column_index] = known.setdefault(
                values[0], row.values[derived.column_index]
            )
        elif derived.kind == "order":
            if None not in values and type(values[0]) is type(values[1]) and values[0] > values[1]:
                row.put(derived.sources, values[::-1])
        else:
            row.values[derived.column_index] = compute(derived.kind, *values)

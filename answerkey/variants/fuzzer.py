"""Variants of a database: its rows changed by a recipe, under the rules that hold in it.

A recipe is a list of steps. Each step changes the rows of a draft in one way; what breaks a rule is
mended afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from random import Random
from typing import Any

from answerkey.base.records import hash_value
from answerkey.engines.engine import TriedRows
from answerkey.variants.constants import Conditions, Constant, Slot, list_near, make_new, move_day
from answerkey.variants.draft import (
    Draft,
    DraftRow,
    bring_parent,
    choose_rows,
    keep_single,
    make_row,
    mend,
    settle,
    sort_children_first,
)
from answerkey.variants.keys import KeyFacts, find_key_facts
from answerkey.variants.rows import Rows, open_tried

_GREATEST_GROUP = _NAMESAKES = 3  # rows: enough for one that is more than two
_MAX_SKEWED_VALUES = 4  # values of a skewed column

# A new row of a table, given those that were made for the same member of FROM.
RowMaker = Callable[[Draft, str, list[DraftRow]], DraftRow | None]


def permute_columns(draft: Draft) -> None:
    """Put the values of each free column on other rows, and of each that is a key alone."""
    for name in draft.rows:
        _permute(draft, name, draft.facts.free[name])
    rename(draft)


def rename(draft: Draft) -> None:
    """Put the values of each column that is a key alone on other rows: names get other codes."""
    spelling = {(reference.table, index) for reference, index in draft.facts.kept.spelled.items()}
    for name in draft.rows:
        columns = [index for index in draft.facts.alone[name] if (name, index) not in spelling]
        _permute(draft, name, columns)


def _permute(draft: Draft, name: str, columns: Sequence[int]) -> None:
    rows = draft.rows[name]
    for column_index in columns:
        values = [row.values[column_index] for row in rows]
        draft.random.shuffle(values)
        for row, value in zip(rows, values, strict=True):
            row.values[column_index] = value


def reassign_children(draft: Draft) -> None:
    """Give half of the rows that refer to another row any parent."""
    for reference in draft.facts.references:
        parents = [] if draft.is_fixed(reference) else draft.list_parents(reference)
        for row in draft.rows[reference.table] if parents else ():
            if draft.random.random() < 0.5:
                row.put(reference.columns, draft.random.choice(parents))


def skew_values(draft: Draft) -> None:
    """Give more than half of the rows one value, more than half of the others another one, and so
    on: in half of the columns whose values repeat in the database, and of the references. Then
    groups have sizes that differ, and one of them the most rows."""
    for name, rows in draft.rows.items():
        references = [
            reference for reference in draft.list_references(name) if not draft.is_fixed(reference)
        ]
        table = draft.source.tables[name]
        for columns in (
            *((column_index,) for column_index in draft.facts.free[name]),
            *(reference.columns for reference in references),
        ):
            known = [tuple(row[index] for index in columns) for row in table.rows]
            if draft.random.random() < 0.5 or len(set(known)) == len(known):
                continue
            values = list(dict.fromkeys(row.take(columns) for row in rows))
            values = draft.random.sample(values, min(_MAX_SKEWED_VALUES, len(values)))
            waiting = draft.random.sample(rows, len(rows))
            for number, value in enumerate(values, start=1):
                count = len(waiting) if number == len(values) else len(waiting) // 2 + 1
                for row in waiting[:count]:
                    row.put(columns, value)
                waiting = waiting[count:]


def exchange_values(draft: Draft) -> None:
    """Exchange each value for another one of its column, in all rows: in the columns whose
    values repeat in the database. Then another value is the most common. A value that is alone in
    its column is changed in most rows, to one near it."""
    for name, rows in draft.rows.items():
        table_types = draft.source.tables[name].types
        for column_index in draft.facts.free[name]:
            known = list(draft.source.tables[name].values(column_index))
            values = list(dict.fromkeys(known))
            if len(values) == len(known):
                continue
            if len(values) == 1:
                if draft.facts.kept.columns[name][column_index].closed is not None:
                    continue
                others = dict(
                    zip(values, list_near(values[0], table_types[column_index])[-1:], strict=False)
                )
                changed = draft.random.sample(rows, len(rows) - len(rows) // 3)
            else:
                start = draft.random.randrange(1, len(values))
                others = dict(zip(values, [*values[start:], *values[:start]], strict=True))
                changed = rows
            for row in changed:
                value = row.values[column_index]
                row.values[column_index] = others.get(value, value)


def take_children(draft: Draft) -> None:
    """Leave some rows that others refer to without any: a quarter of those which have some, or one.

    Their children get another parent; where the parent is part of a key, they are dropped.
    """
    for reference in draft.facts.references:
        rows = draft.rows[reference.table]
        parents = list(dict.fromkeys(row.take(reference.columns) for row in rows))
        parents = [values for values in parents if None not in values]
        if len(parents) > 1:
            draft.random.shuffle(parents)
            most = max(1, len(parents) // 4)
            childless, others = set(parents[:most]), parents[most:]
            children = [row for row in rows if row.take(reference.columns) in childless]
            keys = draft.facts.keys[reference.table]
            is_in_key = any(set(reference.columns) & set(key) for key in keys)
            if is_in_key or draft.is_fixed(reference):
                dropped = set(map(id, children))
                draft.rows[reference.table] = [row for row in rows if id(row) not in dropped]
                continue
            for row in children:
                row.put(reference.columns, draft.random.choice(others))


def drop_childless(draft: Draft) -> None:
    """Drop the rows that no other refers to by a reference though, in the database, one does."""
    for reference, parent_indexes in zip(draft.facts.references, draft.facts.parents, strict=True):
        has_child = {index for index in parent_indexes if index is not None}
        referred = {row.take(reference.columns) for row in draft.rows[reference.table]}
        draft.rows[reference.parent] = [
            row
            for row in draft.rows[reference.parent]
            if row.source_index not in has_child or row.take(reference.referred) in referred
        ]


def collide_values(draft: Draft) -> None:
    """Give a third of the rows a value that another row has, in each free column, and one row all
    the free values of another."""
    for name, rows in draft.rows.items():
        if len(rows) < 2:
            continue
        free = draft.facts.free[name]
        for column_index in free:
            for row in draft.random.sample(rows, max(1, len(rows) // 3)):
                row.values[column_index] = draft.random.choice(rows).values[column_index]
        row, other = draft.random.sample(rows, 2)
        row.put(free, other.take(free))


def set_nulls(draft: Draft) -> None:
    """Empty some values of half of the columns that may be NULL."""
    for name, rows in draft.rows.items():
        for column_index in draft.facts.nullable[name]:
            if rows and draft.random.random() < 0.5:
                for row in draft.random.sample(rows, max(1, len(rows) // 5)):
                    row.values[column_index] = None


def copy_rows(draft: Draft) -> None:
    """Add a copy of a third of the rows, under new keys."""
    for name in reversed(sort_children_first(draft)):
        rows = draft.rows[name]
        for row in draft.random.sample(rows, -(-len(rows) // 3)):
            add_row(draft, name, make_row(draft, name, row.values))


def fill_tables(draft: Draft) -> None:
    """Add rows to each table that has less than half of what it should have."""
    for name in reversed(sort_children_first(draft)):
        for _ in range(draft.max_rows // 2 - len(draft.rows[name])):
            add_row(draft, name, make_row(draft, name, None))


def add_row(draft: Draft, name: str, row: DraftRow | None) -> None:
    """Add a row to a table, if there is one."""
    if row is not None:
        draft.rows[name].append(row)


def plant_constants(draft: Draft) -> None:
    """Put constants and the values near them into rows; into a new row where the column is part of
    a key or a reference."""
    counts: dict[tuple[str, int], int] = {}
    for name, column_index, constant in draft.random.sample(draft.constants, len(draft.constants)):
        facts = draft.facts.kept.columns[name][column_index]
        fit = facts.fit
        value, rows = fit(constant), draft.rows[name]
        is_stored = column_index in draft.source.tables[name].stored
        if value is None or not rows or not is_stored:
            continue
        values = (
            value,
            *(near for near in map(fit, list_near(value, facts.column_type)) if near is not None),
        )
        for planted in values:
            counts[name, column_index] = counts.get((name, column_index), 0) + 1
            if counts[name, column_index] > max(3, draft.max_rows // 2):
                break
            row: DraftRow | None = draft.random.choice(rows)
            if row is not None and column_index not in draft.facts.free[name]:
                row = make_row(draft, name, row.values)
                add_row(draft, name, row)
            if row is not None:
                row.values[column_index] = planted


def plant_conditions(draft: Draft) -> None:
    """Add rows that meet all conditions of each query, until a table has three times as many new
    rows as it should have rows, or one for each condition set; and then rows that meet all but one,
    and one alone, until it has as many more as it should have."""
    for is_whole, times in ((True, 3), (False, 1)):
        new = max(times * draft.max_rows, len(draft.conditions) if is_whole else 0)
        most = {name: len(rows) + new for name, rows in draft.rows.items()}
        for planted in draft.random.sample(draft.conditions, len(draft.conditions)):
            count = len(planted.values)
            wanted = [{*range(count)} - {missed} for missed in range(count)]
            wanted += [{alone} for alone in range(count)] if count > 2 else []
            for met in [{*range(count)}] if is_whole else wanted:
                if all(len(draft.rows[name]) < most[name] for name in planted.tables):
                    is_alike = draft.random.random() < 0.5
                    make = partial(_copy_row, is_alike=is_alike)
                    if is_whole and planted.is_ranked:  # a group, and smaller ones
                        size = max(_GREATEST_GROUP, planted.group_size)
                        plant_rows(draft, planted._replace(group_size=size), met, make)
                        plant_rows(draft, planted, met, make)
                    plant_rows(draft, planted, met, make)


def plant_near_misses(draft: Draft) -> None:
    """Add one row that meets all conditions of each query, and rows that meet all but one. From
    here on, a value that one row of the database has may come again."""
    for planted in draft.conditions:
        plant_rows(draft, planted, range(len(planted.values)), partial(_copy_row, is_alike=True))
    for name, column_index, value in draft.single:
        keep_single(draft, name, column_index, value)
    draft.single = []
    for planted in draft.conditions:
        for missed in range(len(planted.values)):
            met = {*range(len(planted.values))} - {missed}
            plant_rows(draft, planted, met, partial(_copy_row, is_alike=False))


def plant_namesakes(draft: Draft) -> None:
    """Add some rows that meet all conditions of each query, though in the database one does."""
    draft.single = []
    for planted in [*draft.conditions] * _NAMESAKES:
        plant_rows(draft, planted, range(len(planted.values)), partial(_copy_row, is_alike=False))


def _copy_row(draft: Draft, name: str, known: list[DraftRow], *, is_alike: bool) -> DraftRow | None:
    rows = known if known and is_alike else draft.rows[name]
    pattern = draft.random.choice(rows).values if rows else None
    row = make_row(draft, name, pattern)
    return DraftRow(pattern) if row is None and pattern is not None else row


def plant_rows(draft: Draft, planted: Conditions, met: Collection[int], make: RowMaker) -> None:
    """Add the rows behind a row that a query gives, where only the conditions at some indexes are
    `met`; as often as the query asks for rows of a group, if all are."""
    classes, shared_classes = _join_classes(draft, planted)
    class_of = {slot: number for number, slots in enumerate(classes) for slot in slots}
    constants = {
        slot: meets if condition_index in met else misses
        for condition_index, (slot, meets, misses) in enumerate(planted.values)
    }
    ranks = {name: rank for rank, name in enumerate(sort_children_first(draft))}
    order = sorted(range(len(planted.tables)), key=lambda row: -ranks[planted.tables[row]])
    made: dict[int, list[DraftRow]] = {row: [] for row in order}
    shared: dict[int, Any] = {}
    for _ in range(planted.group_size if len(met) == len(planted.values) else 1):
        values = {class_of[slot]: value for slot, value in constants.items() if slot in class_of}
        values |= shared
        for number in order:
            row = make(draft, planted.tables[number], made[number])
            if row is None:
                continue
            slots = [slot for slot in class_of if slot[0] == number]
            own = {slot[1]: values[class_of[slot]] for slot in slots if class_of[slot] in values}
            own |= {
                column: value for (member, column), value in constants.items() if member == number
            }
            row = _put_row(draft, planted.tables[number], row, own)
            made[number].append(row)
            for slot in slots:
                if row.values[slot[1]] is not None:
                    values.setdefault(class_of[slot], row.values[slot[1]])
        shared = {number: values[number] for number in shared_classes if number in values}


def _join_classes(draft: Draft, planted: Conditions) -> tuple[list[frozenset[Slot]], set[int]]:
    """The columns that must be equal together, and the indexes of those that a group shares."""
    classes: list[frozenset[Slot]] = []
    for pair in [*planted.equal, *((slot, slot) for slot in planted.shared)]:
        same = [slots for slots in classes if slots & {*pair}]
        classes = [slots for slots in classes if slots not in same] + [frozenset(pair).union(*same)]
    grouped = {row for row, _ in planted.shared}
    shared = {*planted.shared}
    shared |= {  # the group is of the rows that others refer to by a key, as well
        (row, index)
        for slots in classes
        for row, index in slots
        if len(slots) > 1 and row in grouped and (index,) in draft.facts.keys[planted.tables[row]]
    }
    return classes, {number for number, slots in enumerate(classes) if slots & shared}


def _put_row(draft: Draft, name: str, row: DraftRow, values: dict[int, Any]) -> DraftRow:
    """The row with these values, added to its table, or another one that has its key by then."""
    table = draft.source.tables[name]
    for column_index, constant in values.items():
        value = draft.facts.kept.columns[name][column_index].fit(constant)
        is_null = constant is None and column_index in draft.facts.nullable[name]
        if (value is not None or is_null) and column_index in table.stored:
            row.values[column_index] = value
    keys = [key for key in draft.facts.keys[name] if None not in row.take(key)]
    own = [row.take(key) for key in keys]
    for other in draft.rows[name]:
        if any(other.take(key) == taken for key, taken in zip(keys, own, strict=True)):
            return other
    add_row(draft, name, row)
    for reference in draft.list_references(name):
        if values.keys() & {*reference.columns}:
            bring_parent(draft, reference, row)
    return row


# Filling: the rows of the database stay, and new ones are added where a table has few. A new row
# has values of other rows, but numbers, dates and names of its own, so that few rows tie.


_MAX_TIMES_FILLED = 4  # as many rows as asked for, with those that meet conditions
_NAMES = ("name", "title", "label", "email", "phone", "address", "description")
_MIN_SPREAD = 60  # of numbers at least
_MAX_DAYS_BEFORE = 400  # more than a year, so that years differ, too
_MAX_EXACT = 1 << 53
_ROWS_PER_QUERY = 5  # rows for each query: it may ask for one above the mean


def fill_tables_whole(draft: Draft) -> None:
    """Put all rows of the database into a draft, and new ones until each table has `max_rows`; then
    rows that meet all conditions of each query, as long as there is room."""
    for name, table in draft.source.tables.items():
        draft.rows[name] = [DraftRow(row, index) for index, row in enumerate(table.rows)]
    for name in reversed(sort_children_first(draft)):
        for _ in range(draft.max_rows - len(draft.rows[name])):
            add_row(draft, name, _make_other_row(draft, name, []))
    for planted in [*draft.conditions] * _ROWS_PER_QUERY:
        if all(
            len(draft.rows[name]) < _MAX_TIMES_FILLED * draft.max_rows for name in planted.tables
        ):
            plant_rows(draft, planted, range(len(planted.values)), _make_other_row)


def _make_other_row(draft: Draft, name: str, _: list[DraftRow]) -> DraftRow | None:
    row = make_row(draft, name, None)
    if row is None:
        return None
    for column_index in draft.facts.free[name]:
        column = draft.source.tables[name].table.columns[column_index]
        value = row.values[column_index]
        known = {other.values[column_index] for other in draft.rows[name]} | {value}
        row.values[column_index] = _vary(draft.random, column.name.lower(), known, value)
    return row


def _vary(random: Random, name: str, known: set[Any], value: Any) -> Any:
    """A number or a date between those that are known of a column, or a new name. A column may hold
    whole numbers, floats and text together, whatever its type says."""
    if _is_exact(value) and not known <= {0, 1, None}:
        numbers = [other for other in known if _is_exact(other)]
        low, high = min(numbers), max(numbers)
        if isinstance(value, int):
            low = math.ceil(low)
            return random.randint(low, max(math.floor(high), low + _MIN_SPREAD))
        high = max(high, low + _MIN_SPREAD)
        return round(random.uniform(low, high), 2)
    if not isinstance(value, str):
        return value
    moved = move_day(value, random.randint(-_MAX_DAYS_BEFORE, 0))
    if moved is not None:
        return moved
    return make_new(value, known) if name.endswith(_NAMES) else value


def _is_exact(value: Any) -> bool:
    """Whether a value is a number that integers and floats hold alike: not 1e300, not infinity."""
    return isinstance(value, int | float) and abs(value) <= _MAX_EXACT


# Recipes, and the variants that they make.

RECIPES: dict[str, tuple[Callable[[Draft], None], ...]] = {
    "subsample": (),
    "permute": (permute_columns,),
    "reassign": (reassign_children,),
    "childless": (take_children,),
    "collide": (collide_values,),
    "plant": (plant_constants,),
    "conditions": (plant_conditions,),
    "renamed_conditions": (rename, plant_conditions),
    "namesakes": (plant_namesakes,),
    "near_misses": (plant_near_misses,),
    "families": (plant_conditions, drop_childless),
    "skew": (exchange_values, skew_values),
    "nulls": (set_nulls,),
    "copy": (copy_rows,),
    "fill": (fill_tables,),
    "everything": (
        fill_tables,
        copy_rows,
        permute_columns,
        reassign_children,
        collide_values,
        set_nulls,
        plant_constants,
        take_children,
    ),
}
_MAX_ROUNDS = 4  # what is mended may have to be settled again


def make_variant(
    rows: Rows,
    facts: KeyFacts,
    recipe: str,
    *,
    seed: int,
    max_rows: int = 30,
    constants: Sequence[Constant] = (),
    conditions: Sequence[Conditions] = (),
    tried: TriedRows,
) -> Rows:
    """A variant of a database that keeps keys and references, declared and de facto, and whatever
    the schema demands: the same for the same rows, constants, recipe and seed.

    >>> rows = read_rows(path)                                                    # doctest: +SKIP
    >>> with open_tried(rows) as tried:                                           # doctest: +SKIP
    ...     make_variant(rows, find_key_facts(rows), "collide", seed=1, tried=tried)

    max_rows: about how many rows a table has; at most twice as many from the database.
    constants: what the queries of the database compare columns with.
    conditions: what meets and misses the conditions of some queries, for the recipe of that name.
    tried: the tables of the database, in which the rows are tried.
    """
    draft = Draft(rows, facts, _start(recipe, seed), max_rows, constants, conditions)
    choose_rows(draft)
    for step in RECIPES[recipe]:
        step(draft)
    for _ in range(_MAX_ROUNDS):
        if not settle(draft):
            break
        mend(draft, tried)
    mend(draft, tried)
    return draft.take_rows()


def fill_rows(rows: Rows, conditions: Sequence[Conditions], *, max_rows: int) -> Rows:
    """The database with all of its rows, and new ones where a table has less than `max_rows`; and
    rows that meet the conditions."""
    random = _start("fill_tables_whole", 0)
    draft = Draft(rows, find_key_facts(rows), random, max_rows, (), conditions)
    fill_tables_whole(draft)
    with open_tried(rows) as tried:
        mend(draft, tried)
    return draft.take_rows()


def _start(name: str, seed: int) -> Random:
    return Random(int(hash_value([name, seed]), 16))

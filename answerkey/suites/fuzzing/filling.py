"""Filling: new rows for tables that have few, under the rules that hold in the database.

The rows of the database stay as they are. A new row has values of other rows of its table where
these may be categories; its numbers and dates lie between theirs, and its names are new, so that
few rows tie. Where a table has no row, half of its texts are those that queries ask for. More rows
are added that meet the conditions of queries, which would find nothing otherwise.
"""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

from answerkey.sqlite.schema import Column
from answerkey.suites.fuzzing.draft import Draft, DraftRow
from answerkey.suites.fuzzing.new_rows import make_row
from answerkey.suites.fuzzing.steps import add_row, plant_rows
from answerkey.suites.fuzzing.subsample import sort_children_first
from answerkey.suites.fuzzing.values import make_new

_MOST = 4  # times as many rows as asked for, with those that meet conditions
_NAMES = ("name", "title", "label", "email", "phone", "address", "description")
_FLAGS = ("is_", "has_")
_GUESSED = (1, 100)  # where no value of a column of numbers is known
_GUESSED_YEARS = (2001, 2024)
_DATE_CHARACTERS = 10
_DAYS = 400


def fill_tables_whole(draft: Draft) -> None:
    """Put all rows of the database into a draft, and new ones until each table has `max_rows`; then
    for each query rows that meet all of its conditions, as long as there is room."""
    for name, table in draft.source.tables.items():
        draft.rows[name] = [DraftRow(row, place) for place, row in enumerate(table.rows)]
    names = sort_children_first(draft)[::-1]
    texts: dict[tuple[str, int], list[str]] = {}
    for planted in draft.conditions:
        for (row, place), value, _ in planted.values:
            name = planted.tables[row]
            if isinstance(value, str) and value not in texts.setdefault((name, place), []):
                texts[name, place].append(value)
    for name in names:
        for _ in range(draft.max_rows - len(draft.rows[name])):
            add_row(draft, name, _make_row(draft, name, texts))
    for planted in draft.conditions:
        if all(len(draft.rows[name]) < _MOST * draft.max_rows for name in planted.tables):
            everything = range(len(planted.values))
            plant_rows(
                draft, planted, everything, lambda draft, name, _: _make_row(draft, name, texts)
            )


def _make_row(draft: Draft, name: str, texts: dict[tuple[str, int], list[str]]) -> DraftRow | None:
    """A new row; texts: those that queries compare a column with."""
    row = make_row(draft, name, None)
    if row is not None:
        table = draft.source.tables[name]
        for place in draft.facts.free[name]:
            column, known = table.table.columns[place], list(table.values(place))
            value = _vary(draft.random, column, known, row.values[place])
            if not known and (name, place) in texts and draft.random.random() < 0.5:
                value = draft.random.choice(texts[name, place])
            if isinstance(value, str) and column.name.lower().endswith(_NAMES):
                value = make_new(value, {other.values[place] for other in draft.rows[name]})
            row.values[place] = value
    return row


def _vary(random: Random, column: Column, known: list[Any], value: Any) -> Any:
    """A number or a date between those that are known of a column; another value as it is."""
    name = column.name.lower()
    is_flag = "BOOL" in column.type.upper() or name.startswith(_FLAGS)
    if is_flag or (known and set(known) <= {0, 1}):
        return value
    if isinstance(value, int | float):
        numbers = [other for other in known if isinstance(other, int | float)]
        low, high = _find_bounds(numbers, is_year="year" in name)
        if isinstance(value, int) and not any(isinstance(other, float) for other in numbers):
            return random.randint(int(low), int(high))
        return round(random.uniform(low, high), 2)
    if (day := _read_date(value)) is not None:
        days = [found for other in known if (found := _read_date(other)) is not None] or [day]
        low, high = min(days).toordinal(), max(days).toordinal()
        last = date.max.toordinal()
        high = min(high if high > low else low + _DAYS, last)
        moved = date.fromordinal(random.randint(low, high))
        return moved.isoformat() + value[_DATE_CHARACTERS:]
    return value


def _find_bounds(numbers: list[float], *, is_year: bool) -> tuple[float, float]:
    if not numbers:
        return _GUESSED_YEARS if is_year else _GUESSED
    low, high = min(numbers), max(numbers)
    if low < high:
        return low, high
    if is_year:
        return low - 5, high + 5
    low, high = sorted((low / 2, 2 * low))
    return (low, high) if low < high else _GUESSED


def _read_date(value: Any) -> date | None:
    try:
        return date.fromisoformat(value[:_DATE_CHARACTERS])
    except (TypeError, ValueError):
        return None

"""Orders of columns under which predicted rows may equal those of a gold answer.

    gold [("a", 1), ("b", 2)], predicted [(1, "a"), (2, "b")] -> the order (1, 0): the first gold
    column is the second predicted one

A gold column can only be a predicted column that holds the same values, each as often. Among those
a backtracking search goes on, column by column, as long as the rows of the columns chosen so far
are the same on both sides. Predicted columns that are equal count as one. Floats that a chain of
close ones joins count as equal here, so an order that is found must still be tried. No right one is
left out, unless `MAX_LOOKED_AT` ends the search.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from answerkey.scoring.rules import Column, Rule, has_float
from answerkey.sqlite.answers import are_close

MAX_LOOKED_AT = 4_000_000  # values: about a second. Counted, so that a verdict depends on no clock.


class ColumnSearch:
    """The search for orders of columns, for gold and predicted columns as the rule reads them.

    gold_places, predicted_places: for each row where it stands, as far as that counts: all the
        same if the order of rows does not count, and counted from 0 if it does.
    is_choice: predicted rows may be some of the gold rows.
    """

    def __init__(
        self,
        gold: list[Column],
        predicted: list[Column],
        *,
        rule: Rule,
        gold_places: Sequence[int],
        predicted_places: Sequence[int],
        is_choice: bool,
    ) -> None:
        self._sides = (gold, predicted)
        self._places = (gold_places, predicted_places)
        self._is_placed = any(map(any, self._places))
        self._rule = rule
        self._is_choice = is_choice
        self._floats = tuple([has_float(column) for column in side] for side in self._sides)
        self._close = self._join_close_numbers()
        self._codes: dict[tuple[int, int, bool], Column] = {}
        self._contents: dict[tuple[int, int, bool], Any] = {}

    def list_orders(self) -> Iterator[tuple[int, ...]]:
        """Orders that may be right: for each gold column the number of a predicted one."""
        twins: dict[Hashable, list[int]] = defaultdict(list)
        for number, column in enumerate(self._sides[1]):
            twins[column, tuple(map(type, column))].append(number)
        classes = list(twins.values())
        candidates = []
        for number in range(len(self._sides[0])):
            candidates.append([twin for twin in classes if self._columns_fit(number, twin[0])])
            if not candidates[-1]:
                return
        order = sorted(
            range(len(candidates)),
            key=lambda number: (len(candidates[number]), -len(set(self._sides[0][number]))),
        )
        looked_at = 0
        chosen: list[list[int]] = []  # by depth, the class of the predicted column
        used: Counter[int] = Counter()  # by the first column of a class
        levels = [(iter(candidates[order[0]]), self._places)]
        while levels:
            untried, places = levels[-1]
            depth = len(levels) - 1
            if len(chosen) > depth:
                used[chosen.pop()[0]] -= 1
            extended = None
            for twin in untried:
                if used[twin[0]] == len(twin):
                    continue
                looked_at += len(places[0]) + len(places[1])
                if looked_at > MAX_LOOKED_AT:
                    return
                extended = self._extend(places, order[depth], twin[0])
                if extended is not None:
                    break
            if extended is None:
                levels.pop()
                continue
            chosen.append(twin)
            used[twin[0]] += 1
            if len(chosen) < len(order):
                levels.append((iter(candidates[order[len(chosen)]]), extended))
                continue
            looked_at += len(order) * (len(places[0]) + len(places[1]))
            yield self._name_columns(order, chosen)

    def _name_columns(self, order: list[int], chosen: list[list[int]]) -> tuple[int, ...]:
        taken: Counter[int] = Counter()
        columns = {}
        for number, twin in zip(order, chosen, strict=True):
            columns[number] = twin[taken[twin[0]]]
            taken[twin[0]] += 1
        return tuple(columns[number] for number in range(len(order)))

    def _join_close_numbers(self) -> dict[float, tuple[float]]:
        """Return, for each number, the smallest that a chain of close numbers joins to it."""
        if not any(map(any, self._floats)):
            return {}
        kinds = (int, float) if self._rule.numbers_by_value else (float,)
        columns = (column for side in self._sides for column in side)
        numbers = sorted(
            {float(value) for column in columns for value in column if type(value) in kinds}
        )
        joined: dict[float, tuple[float]] = {}
        last = first = (math.nan,)
        for number in numbers:
            if not are_close(last, (number,), self._rule.rel_tol, self._rule.abs_tol):
                first = (number,)
            joined[number] = first
            last = (number,)
        return joined

    def _code(self, side: int, number: int, loose: bool) -> Column:
        """A column whose values are equal if the rule may take them for equal. `loose` is for a
        column that is compared with one of floats."""
        key = (side, number, loose)
        if key not in self._codes:
            column = self._sides[side][number]
            if loose or self._floats[side][number]:
                kinds = (int, float) if loose else (float,)
                column = tuple(
                    self._close[float(value)] if type(value) in kinds else value for value in column
                )
            self._codes[key] = column
        return self._codes[key]

    def _is_loose(self, gold: int, predicted: int) -> bool:
        holds_float = self._floats[0][gold] or self._floats[1][predicted]
        return self._rule.numbers_by_value and holds_float

    def _content(self, side: int, number: int, loose: bool) -> Any:
        key = (side, number, loose)
        if key not in self._contents:
            column: Any = self._code(side, number, loose)
            if self._is_placed:
                column = zip(self._places[side], column, strict=True)
            self._contents[key] = Counter(column) if self._rule.rows == "multiset" else set(column)
        return self._contents[key]

    def _columns_fit(self, gold: int, predicted: int) -> bool:
        loose = self._is_loose(gold, predicted)
        left, right = self._content(0, gold, loose), self._content(1, predicted, loose)
        return right <= left if self._is_choice else left == right

    def _extend(
        self, places: tuple[Sequence[int], Sequence[int]], gold: int, predicted: int
    ) -> tuple[list[int], list[int]] | None:
        """The places, told apart by one more column; None if the two sides then differ."""
        loose = self._is_loose(gold, predicted)
        pairs = zip(places[0], self._code(0, gold, loose), strict=True)
        numbers: dict[Hashable, int] = {}
        left = [numbers.setdefault(pair, len(numbers)) for pair in pairs]
        pairs = zip(places[1], self._code(1, predicted, loose), strict=True)
        right = [numbers.get(pair, -1) for pair in pairs]
        if -1 in right:
            return None
        if self._rule.rows == "multiset":
            counts = Counter(left), Counter(right)
            is_same = counts[1] <= counts[0] if self._is_choice else counts[0] == counts[1]
        else:
            is_same = self._is_choice or len(set(right)) == len(numbers)
        return (left, right) if is_same else None

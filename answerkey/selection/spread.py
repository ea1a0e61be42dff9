"""Spread: how many questions of each difficulty each corpus gives, once both totals are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.core.cells import Part, Solution
from answerkey.core.question import DIFFICULTIES, SPLITS


def spread(usable: Mapping[Part, int], solution: Solution) -> dict[Part, int]:
    """How many questions of each part make up the solution.

    >>> spread({("train", "easy", ""): 9}, Solution(4, {("train", "easy"): 4}))
    {('train', 'easy', ''): 4}

    Where corpora have shares, each corpus gives as much of each difficulty as its own part of all
    questions is, as far as it has them: a difficulty says little about the corpus then.
    """
    if not solution.corpora:
        return {part: solution.counts[part[:2]] for part in usable}
    counts = {}
    for split in SPLITS:
        corpora = [corpus for name, corpus in solution.corpora if name == split]
        columns = spread_table(
            [[usable.get((split, level, name), 0) for level in DIFFICULTIES] for name in corpora],
            [solution.counts[split, level] for level in DIFFICULTIES],
            [solution.corpora[split, corpus] for corpus in corpora],
        )
        for corpus, column in zip(corpora, columns, strict=True):
            for level, count in zip(DIFFICULTIES, column, strict=True):
                counts[split, level, corpus] = count
    return counts


def spread_table(
    limits: Sequence[Sequence[int]], of_rows: Sequence[int], of_columns: Sequence[int]
) -> list[list[int]]:
    """The columns of a table of three rows with these totals, of which no number exceeds its limit.

    >>> spread_table([[9, 9, 9], [9, 9, 9]], [4, 4, 2], [5, 5])
    [[2, 2, 1], [2, 2, 1]]
    >>> spread_table([[9, 9, 0], [9, 9, 9]], [4, 4, 2], [5, 5])
    [[2, 3, 0], [2, 1, 2]]

    Numbers are fixed one by one, each as near as it can be to its proportional part of what is
    left. Such a table must exist.
    """
    left = list(of_rows)
    table = []
    for place, total in enumerate(of_columns):
        least, most = _bound_column(limits[place:], left, of_columns[place:])
        column: list[int] = []
        for row in range(len(left)):
            rest, size = total - sum(column), sum(left[row:])
            wish = (2 * left[row] * rest + size) // (2 * size) if size else 0
            low = max(least[row], rest - sum(most[row + 1 :]))
            high = min(most[row], rest - sum(least[row + 1 :]))
            column.append(min(max(wish, low), high))
        left = [row - count for row, count in zip(left, column, strict=True)]
        table.append(column)
    return table


def _bound_column(
    limits: Sequence[Sequence[int]], of_rows: Sequence[int], of_columns: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The least and the most of each number of the first column, so that the other columns can hold
    what is left of the rows.

    Of three rows, any set is one row, all but one, or all.
    """

    def hold(rows: list[int]) -> int:
        return sum(
            min(total, sum(column[row] for row in rows))
            for column, total in zip(limits[1:], of_columns[1:], strict=True)
        )

    least, most = [], []
    for row, total in enumerate(of_rows):
        others = [other for other in range(len(of_rows)) if other != row]
        of_others = sum(of_rows[other] for other in others) - hold(others)
        least.append(max(0, total - hold([row])))
        most.append(min(limits[0][row], total, of_columns[0] - max(0, of_others)))
    return least, most

"""Where and how rows differ from a gold answer: for logs, and for a model that may try again.

    >>> from answerkey.scoring.rules import read_rule
    >>> found = find_difference([("b",)], ["a"], rule=read_rule("strict"), order_matters=False)
    >>> found.kind, found.missing, found.unexpected
    (<DifferenceKind.WRONG_ROWS: 'wrong_rows'>, [('a',)], [('b',)])

The first of these that is true is said: another number of columns; right but for the order of the
columns, the types of values or the order of the rows; too few rows, too many rows, wrong rows.
Whether rows are right is decided in `scoring.comparison` alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple

from answerkey.scoring.comparison import Expected, is_right, pair_columns, read_expected
from answerkey.scoring.rules import Rule, read_columns
from answerkey.sqlite.answers import Row, code_row, join_close

SHOWN_ROWS = 5
SHOWN_CHARACTERS = 200
# Of the prediction and the gold answer together; of more, only the number of rows is said, since to
# find in what they differ takes about ten times as long as to find that they do.
MAX_EXPLAINED_VALUES = 5_000


class DifferenceKind(StrEnum):
    COLUMN_COUNT = "column_count"
    COLUMN_ORDER = "column_order"
    TYPES = "types"
    ROW_ORDER = "row_order"
    TOO_FEW_ROWS = "too_few_rows"
    TOO_MANY_ROWS = "too_many_rows"
    WRONG_ROWS = "wrong_rows"


class Difference(NamedTuple):
    """How rows differ, as a sentence, with some rows: missing ones are those of the gold answer,
    unexpected ones those of the prediction. Long texts in them are cut."""

    kind: DifferenceKind
    detail: str
    missing: list[Row]
    unexpected: list[Row]


# What a prediction may be right but for, and how the rule would be then.
_BUT_FOR = (
    (DifferenceKind.COLUMN_ORDER, "The columns stand in another order.", {"columns": "any_order"}),
    (
        DifferenceKind.TYPES,
        "The values are right, but of another type.",
        {"numbers_by_value": True, "numeric_text": True},
    ),
    (
        DifferenceKind.ROW_ORDER,
        "The rows are right, but stand in another order.",
        {"order": "never"},
    ),
)


def find_difference(
    rows: list[Row],
    gold_answer: Any,
    *,
    rule: Rule,
    order_matters: bool,
    accepted_rows: Sequence[Any] | None = None,
) -> Difference | None:
    """Return how the rows differ from a right answer; None if and only if `rows_match` is true.

    >>> from answerkey.scoring.rules import read_rule
    >>> strict = read_rule("strict")
    >>> find_difference([("1",)], 1, rule=strict, order_matters=False).detail
    'The values are right, but of another type.'
    """
    expected = read_expected(gold_answer, accepted_rows)
    if is_right(rows, expected, rule=rule, order_matters=order_matters):
        return None
    if rows and expected.rows and not rule.allows_width(len(rows[0]), len(expected.rows[0])):
        return _compare_widths(len(rows[0]), len(expected.rows[0]), rule)
    if sum(map(len, rows)) + sum(map(len, expected.rows)) > MAX_EXPLAINED_VALUES:
        return _compare_rows(rows, expected, rule, [], [])
    missing, unexpected = _list_leftovers(rows, expected, rule)
    for kind, detail, changes in _BUT_FOR:
        changed = replace(rule, **changes)
        is_stricter = kind is DifferenceKind.COLUMN_ORDER and rule.columns != "same"
        if not is_stricter and is_right(rows, expected, rule=changed, order_matters=order_matters):
            return Difference(kind, detail, _show(missing), _show(unexpected))
    return _compare_rows(rows, expected, rule, missing, unexpected)


def _compare_widths(found: int, wanted: int, rule: Rule) -> Difference:
    most = f" to {wanted + rule.extra_columns}" if rule.columns == "superset" else ""
    detail = f"{_count(found, 'column')}, expected {wanted}{most}."
    return Difference(DifferenceKind.COLUMN_COUNT, detail, [], [])


def _compare_rows(
    rows: list[Row], expected: Expected, rule: Rule, missing: list[Row], unexpected: list[Row]
) -> Difference:
    found, wanted = _count_rows(rows, expected, rule)
    if not rows or (found < wanted and not unexpected):
        kind = DifferenceKind.TOO_FEW_ROWS
    elif not expected.row_count or (found > wanted and not missing):
        kind = DifferenceKind.TOO_MANY_ROWS
    else:
        kind = DifferenceKind.WRONG_ROWS
    least = "at least " if rule.row_count is not None and rule.row_count[0] == ">=" else ""
    detail = f"{_count(found, 'row')}, expected {least}{wanted}"
    if unexpected:
        detail += f"; {_count(len(unexpected), 'row')} not among the expected"
    if missing:
        detail += f"; {_count(len(missing), 'expected row')} missing"
    return Difference(kind, f"{detail}.", _show(missing), _show(unexpected))


def _count_rows(rows: list[Row], expected: Expected, rule: Rule) -> tuple[int, int]:
    if rule.rows == "multiset":
        return len(rows), expected.row_count
    found = len(set(rows))
    if rule.row_count is not None:
        return found, rule.row_count[1]
    if rule.rows == "subset":
        return found, max(1, found)
    return found, min(len(set(expected.rows)), expected.row_count)


def _list_leftovers(rows: list[Row], expected: Expected, rule: Rule) -> tuple[list[Row], list[Row]]:
    """The gold rows that the prediction lacks, if a right answer has them all, and its rows that
    the gold answer lacks; columns are taken in the order in which they stand."""
    if not rows or not expected.rows:
        return expected.rows, rows
    gold, predicted = read_columns(expected.rows, rule), read_columns(rows, rule)
    sides = pair_columns(gold, predicted[: len(gold)], rule)
    values = (value for side in sides for row in side for value in row)
    joined = join_close(values, rule.rel_tol, rule.abs_tol)
    gold_codes, codes = ([code_row(row, joined) for row in side] for side in sides)
    needs_all = expected.places is None and rule.rows != "subset"
    missing = _list_other_rows(expected.rows, gold_codes, codes, rule) if needs_all else []
    return missing, _list_other_rows(rows, codes, gold_codes, rule)


def _list_other_rows(rows: list[Row], codes: list[Row], others: list[Row], rule: Rule) -> list[Row]:
    known, left = Counter(others), []
    for row, code in zip(rows, codes, strict=True):
        if not known[code]:
            left.append(row)
        elif rule.rows == "multiset":
            known[code] -= 1
    return left


def _show(rows: list[Row]) -> list[Row]:
    return [cut_texts(row) for row in rows[:SHOWN_ROWS]]


def cut_texts(row: Row) -> Row:
    """The row with the beginning of its long texts."""
    return tuple(
        f"{value[:SHOWN_CHARACTERS]}…"
        if type(value) is str and len(value) > SHOWN_CHARACTERS
        else value
        for value in row
    )


def _count(number: int, noun: str) -> str:
    """
    >>> _count(1, "row"), _count(0, "row")
    ('1 row', '0 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

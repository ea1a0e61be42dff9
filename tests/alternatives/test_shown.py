"""What is told of two answers that differ."""

from __future__ import annotations

import pytest

from answerkey.alternatives.shown import show_difference

A, B, C, D, E = (("a",), ("b",), ("c",), ("d",), ("e",))


@pytest.mark.parametrize(
    ("rows", "others", "differs", "shown"),
    [
        ([A, B, C], [A, C, B], "order", ([["b"], ["c"]], [["c"], ["b"]])),
        ([A, A, B], [A, B], "repeats", ([["a"]], [])),
        ([A, B], [A, A, A, B, B], "repeats", ([], [["a"], ["b"]])),
        ([A, B, C, D, E], [E], "rows", ([["a"], ["b"], ["c"]], [])),
        ([(1,)], [("1",)], "rows", ([[1]], [["1"]])),
        ([(1,)], [(1.0,)], "rows", ([[1]], [[1.0]])),
        ([(None,)], [("NULL",)], "rows", ([[None]], [["NULL"]])),
        ([], [(0,)], "rows", ([], [[0]])),
        ([(0.1 + 0.2,), (1,)], [(0.3,), (2,)], "rows", ([[1]], [[2]])),
    ],
)
def test_rows_that_part_two_answers_are_shown_with_their_kind(rows, others, differs, shown):
    *sides, difference = show_difference(rows, others)
    assert (difference["differs"], tuple(sides)) == (differs, shown)
    assert difference["counts"] == [len(rows), len(others)]


def test_rows_that_are_not_shown_are_counted():
    _, _, difference = show_difference([A, B, C, D, E, E], [A])
    assert difference["lacking"] == [4, 0]


def test_how_often_a_row_stands_is_told_where_it_stands_more_than_once():
    _, _, difference = show_difference([A, A, A, B], [A, C])
    assert difference["times"] == [[[3, 1], [1, 0]], [[0, 1]]]
    assert "times" not in show_difference([A], [B])[2]


def test_order_is_told_from_where_it_counts():
    """Rows that tie may stand in any order: they are not where the answers part."""
    *_, difference = show_difference([A, B, C, D], [B, A, D, C], order=[2, 1, 1])
    assert difference["from_row"] == 3
    *_, difference = show_difference([A, B, C, D], [B, A, D, C], order=True)
    assert difference["from_row"] == 1


def test_long_text_says_how_long_it_is():
    (row,), _, _ = show_difference([("x" * 1234,)], [])
    assert row == ["x" * 200 + "… (1,234 characters in all)"]

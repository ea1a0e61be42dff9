"""Where and how rows differ from a gold answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.scoring.comparison import SHOWN_CHARACTERS, SHOWN_ROWS, find_difference, rows_match
from answerkey.scoring.rules import RULES, read_rule
from answerkey.sqlite.answers import shape_answer
from tests.scoring.test_comparison import choices, table_pairs


def differ(rows, gold, rule="strict", *, ordered=False, accepted=None):
    options = {
        "rule": RULES.get(rule) or read_rule(rule),
        "order_matters": ordered,
        "accepted_rows": accepted,
    }
    found = find_difference(rows, shape_answer(gold), **options)
    assert (found is None) is rows_match(rows, shape_answer(gold), **options)
    if found is not None:
        assert found.detail.endswith(".")
        assert len(found.missing) <= SHOWN_ROWS
        assert len(found.unexpected) <= SHOWN_ROWS
    return found


@given(table_pairs(max_rows=8), st.sampled_from([*RULES, "subset,=,2"]), st.booleans())
def test_there_is_a_difference_exactly_where_rows_do_not_match(pair, rule, ordered):
    rows, gold = pair
    found = differ(rows, gold, rule, ordered=ordered)
    assert found is None or set(found.missing) <= set(gold)
    assert found is None or set(found.unexpected) <= set(rows)


@given(choices(), st.sampled_from(list(RULES)), st.booleans())
def test_the_same_holds_for_choices_among_ties(drawn, rule, ordered):
    accepted, rows = drawn
    differ(rows, [], rule, ordered=ordered, accepted=accepted)


AB = [("a", 1), ("b", 2)]
ORDER = "The rows are right, but stand in another order."


@pytest.mark.parametrize(
    ("rows", "gold", "rule", "kind", "detail"),
    [
        ([("a",)], AB, "strict", "column_count", "1 column, expected 2."),
        ([("a",)], AB, "spider2", "column_count", "1 column, expected 2 to 3."),
        (
            [(1, "a"), (2, "b")],
            AB,
            "strict",
            "column_order",
            "The columns stand in another order.",
        ),
        (
            [("2", "b"), (1, "a")],
            AB,
            "spider",
            "types",
            "The values are right, but of another type.",
        ),
        (AB[::-1], AB, "list", "row_order", ORDER),
        ([], AB, "strict", "too_few_rows", "0 rows, expected 2; 2 expected rows missing."),
        (AB[:1], AB, "strict", "too_few_rows", "1 row, expected 2; 1 expected row missing."),
        (
            [*AB, ("b", 2)],
            AB,
            "strict",
            "too_many_rows",
            "3 rows, expected 2; 1 row not among the expected.",
        ),
        (AB, [], "strict", "too_many_rows", "2 rows, expected 0; 2 rows not among the expected."),
        (
            [("x", 7), ("a", 1)],
            AB,
            "strict",
            "wrong_rows",
            "2 rows, expected 2; 1 row not among the expected; 1 expected row missing.",
        ),
        (
            [(1, 2), (2, 1)],
            [(1, 2), (1, 2)],
            "bird",
            "too_many_rows",
            "2 rows, expected 1; 1 row not among the expected.",
        ),
        (AB[:1], AB, "subset,>=,2", "too_few_rows", "1 row, expected at least 2."),
        (
            [("c", 1)],
            AB,
            "subset",
            "wrong_rows",
            "1 row, expected 1; 1 row not among the expected.",
        ),
    ],
)
def test_difference_is_named(rows, gold, rule, kind, detail):
    found = differ(rows, gold, rule)
    assert (found.kind, found.detail) == (kind, detail)


def test_only_a_few_rows_and_the_beginning_of_long_texts_are_shown():
    found = differ([("y" * 5000,)] * 9, [("x" * 5000,), *[(n,) for n in range(8)]])
    assert len(found.missing) == len(found.unexpected) == SHOWN_ROWS
    assert found.missing[0] == ("x" * SHOWN_CHARACTERS + "…",)


def test_of_a_large_prediction_or_answer_only_the_number_of_rows_is_said():
    gold = [(n, n) for n in range(1300)]
    found = differ([*gold, (0, 0)], gold)
    assert (found.kind, found.detail) == ("too_many_rows", "1301 rows, expected 1300.")
    assert (found.missing, found.unexpected) == ([], [])

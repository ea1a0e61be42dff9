"""Rows against gold answers, by each rule."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.scoring.comparison import rows_match
from answerkey.scoring.rules import RULES, read_number, read_rule
from answerkey.sqlite.answers import answers_match, shape_answer

ANY_ORDER = [name for name, rule in RULES.items() if rule.columns != "same"]
FEW_VALUES = st.sampled_from([None, 0, 1, 2, 1.0, 2.5, "1", "a"])
VALUES = (
    FEW_VALUES
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.sampled_from(["1e5", " 3", "0x10", "inf", "١", "9" * 5000, 2**53, 2**53 + 1, 2.0**53])
)


@st.composite
def tables(draw, values=VALUES, *, max_rows=5, max_width=3):
    width = draw(st.integers(1, max_width))
    return draw(st.lists(st.tuples(*[values] * width), max_size=max_rows))


@st.composite
def table_pairs(draw, values=FEW_VALUES, *, max_rows=4):
    """A table, and one that is often the same with rows and columns in another order."""
    left = draw(tables(values, max_rows=max_rows))
    if not left or draw(st.integers(0, 4)) == 0:
        return left, draw(tables(values, max_rows=max_rows))
    order = draw(st.permutations(range(len(left[0]))))
    right = [tuple(row[n] for n in order) for row in draw(st.permutations(left))]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(right) - 1))
        right[place] = draw(st.tuples(*[values] * len(order)) | st.sampled_from(right))
    return left, right


def match(rows, gold, rule, *, ordered=False, accepted=None):
    return rows_match(
        rows,
        shape_answer(gold),
        rule=RULES.get(rule) or read_rule(rule),
        order_matters=ordered,
        accepted_rows=accepted,
    )


# --- laws


@given(tables(), st.booleans(), st.sampled_from(list(RULES)))
def test_every_rule_accepts_the_gold_rows_themselves(rows, ordered, rule):
    assert match(rows, rows, rule, ordered=ordered)


@given(table_pairs(VALUES), st.booleans())
def test_strict_is_what_answers_match_says(pair, ordered):
    rows, gold = pair
    expected = answers_match(shape_answer(gold), shape_answer(rows), ordered=ordered)
    assert match(rows, gold, "strict", ordered=ordered) is expected
    assert match(rows, gold, "strict,abs_tol=0.0", ordered=ordered) is expected


@given(table_pairs(), st.sampled_from(list(RULES)))
def test_what_strict_accepts_in_order_every_rule_accepts(pair, rule):
    rows, gold = pair
    assert not match(rows, gold, "strict", ordered=True) or match(rows, gold, rule, ordered=True)
    unordered = match(rows, gold, "strict") and rule != "list"
    assert not unordered or match(rows, gold, rule)


@given(tables(), st.sampled_from(ANY_ORDER), st.randoms(use_true_random=False))
def test_columns_may_stand_in_another_order(gold, rule, random):
    order = random.sample(range(len(gold[0])), len(gold[0])) if gold else []
    rows = [tuple(row[n] for n in order) for row in gold]
    assert match(rows, gold, rule, ordered=True)


@given(tables(FEW_VALUES, max_width=2), FEW_VALUES)
def test_one_more_column_is_accepted_only_where_others_may_be(gold, value):
    rows = [(value, *row) for row in gold]
    for rule in RULES:
        assert match(rows, gold, rule) is (not gold or rule == "spider2")


# --- every rule against a search of all orders


def by_value(rows):
    return [tuple(("n", float(v)) if type(v) in (int, float) else v for v in row) for row in rows]


def list_projections(rows, width):
    for order in itertools.permutations(range(len(rows[0])), width):
        yield [tuple(row[n] for n in order) for row in rows]


def match_by_search(rows, gold, rule, ordered):
    if not rows or not gold:
        return not rows and not gold
    reads_text = rule in ("multiset", "set", "list", "subset")
    if reads_text:
        rows, gold = (
            [tuple(1 if value == "1" else value for value in row) for row in side]
            for side in (rows, gold)
        )
    rows, gold = by_value(rows), by_value(gold)
    width = len(gold[0])
    if len(rows[0]) < width or (len(rows[0]) > width and rule != "spider2"):
        return False
    sides = [rows] if rule == "bird" else list_projections(rows, width)
    return any(are_equal(side, gold, rule, ordered) for side in sides)


def are_equal(rows, gold, rule, ordered):
    if rule == "subset":
        return set(rows) <= set(gold)
    if rule in ("bird", "set"):
        return set(rows) == set(gold)
    if rule == "list" or (ordered and rule != "multiset"):
        return rows == gold
    return Counter(rows) == Counter(gold)


@settings(max_examples=400)
@given(table_pairs(), st.booleans(), st.sampled_from(sorted(set(RULES) - {"strict"})))
def test_rule_says_what_a_search_of_all_orders_says(pair, ordered, rule):
    rows, gold = pair
    assert match(rows, gold, rule, ordered=ordered) is match_by_search(rows, gold, rule, ordered)


# --- cases


@pytest.mark.parametrize(
    ("rows", "gold", "right"),
    [
        # which rules accept them
        ([(1,)], [(1.0,)], "spider bird spider2 multiset set list subset"),
        ([("1",)], [(1,)], "multiset set list subset"),
        ([("1e5",)], [(100000,)], "multiset set list subset"),
        ([(" 3",)], [(3,)], ""),
        ([("0x10",)], [(16,)], ""),
        ([("inf",)], [(1e999,)], ""),
        ([("nan",)], [("nan",)], "strict spider bird spider2 multiset set list subset"),
        ([("١",)], [(1,)], ""),
        ([("9" * 5000,)], [(10**18,)], ""),
        ([(2**53 + 1,)], [(2**53,)], ""),
        ([(1_000_001,)], [(1_000_000,)], ""),
        ([(1.004,)], [(1,)], "spider2"),
        ([(1,), (1,)], [(1,)], "bird set subset"),
        ([(1,)], [(1,), (2,)], "subset"),
        ([(1, "a")], [("a", 1), ("b", 2)], "subset"),
        ([(2,), (1,)], [(1,), (2,)], "strict spider bird spider2 multiset set subset"),
        ([(1, "a")], [("a", 1)], "spider spider2 multiset set list subset"),
        ([(1, 2), (2, 1)], [(2, 1), (2, 1)], ""),
        ([(1, 1, 2)], [(1, 2, 2)], ""),
        ([("a", 1), (2, "b")], [("a", 1), ("b", 2)], ""),
        ([(None,)], [], ""),
        ([], [(None,)], ""),
        ([("",)], [(None,)], ""),
        ([], [], "strict spider bird spider2 multiset set list subset"),
    ],
)
def test_rules_differ_as_their_table_says(rows, gold, right):
    assert " ".join(rule for rule in RULES if match(rows, gold, rule)) == right


@pytest.mark.parametrize(
    ("rule", "rows", "gold", "is_right"),
    [
        ("subset,=,2", [(1,), (1,), (2,)], [(1,), (2,), (3,)], True),
        ("subset,=,2", [(1,), (1,)], [(1,), (2,), (3,)], False),
        ("subset,=,2", [(1,), (2,), (3,)], [(1,), (2,), (3,)], False),
        ("subset,>=,2", [(1,), (2,), (3,)], [(1,), (2,), (3,)], True),
        ("strict,rel_tol=0.01", [(1.005,)], [(1.0,)], True),
        ("strict,rel_tol=0", [(1.0000001,)], [(1.0,)], False),
        ("strict,digits=2", [(1.004,)], [(1.0,)], True),
        ("strict,digits=2", [(1.006,)], [(1.0,)], False),
        ("strict,columns=any_order", [(1, "a")], [("a", 1)], True),
        ("strict,columns=any_order", [(1.0, "a")], [("a", 1)], False),
        ("strict,columns=superset", [(1, 1.0)], [(1.0,)], True),
        ("strict,numbers_by_value", [(1.0,)], [(1,)], True),
        ("strict,abs_tol=0.1", [(1.05, "a")], [(1.0, "a")], True),
        ("bird,abs_tol=0.1", [(1.05,), (1.0,)], [(1.0,)], True),
        ("bird,abs_tol=0.1", [(1.2,), (1.0,)], [(1.0,)], False),
        ("bird,rel_tol=0.4", [(1.6,)], [(1.0,)], True),
        ("spider,abs_tol=0.1", [(2, 1.05), (1, 1.0)], [(1.0, 2), (1.0, 1)], True),
    ],
)
def test_options_change_what_is_right(rule, rows, gold, is_right):
    assert match(rows, gold, rule) is is_right


def test_list_counts_the_order_of_rows_whatever_the_question_says():
    assert not match([(2,), (1,)], [(1,), (2,)], "list")
    assert match([("a", 2), ("b", 1)], [(2, "a"), (1, "b")], "list")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("+7", 7),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1E-2", 0.01),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2.0**63),
        ("1" * 5000, None),
        ("0." + "1" * 5000, 1 / 9),
        *[(text, None) for text in ["", ".", "+", "1e", "1_000", "1 ", "٣", "1\n", "--1", "e5"]],
    ],
)
def test_numbers_are_plain_decimal_literals(text, number):
    assert repr(read_number(text)) == repr(number)


# --- rows that are hard to compare: these tests end at once, or the search is not bounded


def test_columns_that_hold_the_same_values_in_other_rows_are_told_apart():
    columns = [[n * k % 2003 for n in range(1, 2003)] for k in range(1, 11)]
    gold = list(zip(*columns, strict=True))
    rows = [row[3:] + row[:3] for row in reversed(gold)]
    others = list(zip(*[column[k:] + column[:k] for k, column in enumerate(columns)], strict=True))
    for rule in ("spider", "spider2", "set", "subset"):
        assert match(rows, gold, rule)
        assert not match(others, gold, rule)


def test_rows_that_are_all_close_are_compared():
    gold, rows = [(1.0, 2.0, "a")] * 5000, [(2.0, "a", 1.0000001)] * 5000
    for rule in ANY_ORDER:
        assert match(rows, gold, rule)
        assert not match([*rows[1:], (2.0, "b", 1.0)], gold, rule)


def test_search_for_columns_ends_where_no_column_tells_rows_apart():
    """Two graphs that are hard to tell apart: 16 nodes, each with 6 neighbours, of which each two
    have 2 in common (Shrikhande's graph, and the rook's)."""
    nodes = list(itertools.product(range(4), repeat=2))
    pairs = list(itertools.combinations(nodes, 2))
    rook = [(a, b) for a, b in pairs if a[0] == b[0] or a[1] == b[1]]
    steps = [(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)]
    other = [(a, b) for a, b in pairs if ((a[0] - b[0]) % 4, (a[1] - b[1]) % 4) in steps]
    tables = [[tuple(int(n in edge) for n in nodes) for edge in edges] for edges in (rook, other)]
    assert len(tables[0]) == len(tables[1]) == 48
    for rule in ANY_ORDER:
        assert not match(*tables, rule)
        assert match(tables[0][::-1], tables[0], rule) is (rule != "list")


def test_column_is_found_among_a_thousand():
    gold = [(n, f"name {n}") for n in range(100)]
    rows = [(*[n * k % 101 for k in range(2, 999)], f"name {n}", n) for n in range(100)]
    rule = "spider2,extra_columns=997"
    assert match(rows, gold, rule)
    assert not match(rows, [*gold[1:], (0, "other")], rule)
    assert not match([(0, *row) for row in rows], gold, rule)

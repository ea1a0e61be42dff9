"""Rows against gold answers, by each rule, also if rows tie; how they differ; rules as texts."""

import contextlib
import itertools
import math
import sqlite3
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.engines.answers import shape_answer
from answerkey.scoring.comparison import SHOWN_CHARACTERS, SHOWN_ROWS, find_difference, rows_match
from answerkey.scoring.rules import RULES, read_number, read_rule

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


@settings(max_examples=200)
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
        ([("nan",)], [("nan",)], "strict spider bird spider2 multiset set list subset"),
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
        ([("a", 1), (2, "b")], [("a", 1), ("b", 2)], ""),
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
        ("subset,>=,2", [(1,), (2,), (3,)], [(1,), (2,), (3,)], True),
        ("strict,rel_tol=0", [(1.0000001,)], [(1.0,)], False),
        ("strict,digits=2", [(1.004,)], [(1.0,)], True),
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


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("+7", 7), ("-0.5", -0.5), (".5", 0.5), ("5.", 5.0), ("1E-2", 0.01)],
        *[("9223372036854775807", 2**63 - 1), ("9223372036854775808", 2.0**63)],
        *[("1" * 5000, None), ("0." + "1" * 5000, 1 / 9)],
        *[(text, None) for text in ["", ".", "+", "1e", "1_000", "1 ", "٣", "1\n", "--1", "e5"]],
    ],
)
def test_numbers_are_plain_decimal_literals(text, number):
    assert repr(read_number(text)) == repr(number)


# --- rows that are hard to compare: these tests end at once, or the search is not bounded


@pytest.mark.slow
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


# --- right choices where LIMIT cuts through rows that tie


TIES_VALUES = st.sampled_from(["a", "b", 1, 1.5, None])


@st.composite
def choices(draw):
    """Segments of rows, and rows that often are a choice of them."""
    width = draw(st.integers(1, 2))
    row = st.tuples(*[TIES_VALUES] * width)
    segments = draw(st.lists(st.lists(row, min_size=1, max_size=3), min_size=1, max_size=4))
    accepted = [{"rows": [list(row) for row in rows], "take": len(rows)} for rows in segments]
    for part in (accepted[0], accepted[-1]):  # those that OFFSET and LIMIT cut
        part["take"] = draw(st.integers(1, len(part["rows"])))
    rows = [row for part in list_answers(accepted)[0] for row in part]
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    if rows and draw(st.integers(0, 2)) == 0:
        rows[draw(st.integers(0, len(rows) - 1))] = draw(row)
    order = draw(st.permutations(range(width))) if draw(st.booleans()) else range(width)
    return accepted, [tuple(row[n] for n in order) for row in rows]


def list_answers(accepted):
    """All right answers, each as the rows of its segments."""
    parts = [
        list(itertools.combinations([tuple(row) for row in part["rows"]], part["take"]))
        for part in accepted
    ]
    return list(itertools.product(*parts))


def is_answer(answer, rows, rule, ordered):
    everything = [row for part in answer for row in part]
    if rule.rows == "subset":
        return set(rows) <= set(everything) and bool(rows) is bool(everything)
    if rule.rows == "set":
        return set(rows) == set(everything)
    if not ordered:
        return Counter(rows) == Counter(everything)
    if len(rows) != len(everything):
        return False
    start = 0
    for part in answer:
        if Counter(rows[start : start + len(part)]) != Counter(part):
            return False
        start += len(part)
    return True


@settings(max_examples=200)
@given(choices(), st.sampled_from(list(RULES)), st.booleans())
def test_each_right_choice_is_accepted_and_no_other(drawn, name, order_matters):
    accepted, rows = drawn
    rule = RULES.get(name) or read_rule(name)
    width = len(accepted[0]["rows"][0])
    orders = itertools.permutations(range(width)) if rule.columns != "same" else [range(width)]
    ordered = order_matters if rule.order == "gold" else rule.order == "always"
    expected = any(
        is_answer(answer, side, rule, ordered)
        for side in [[tuple(row[n] for n in order) for row in rows] for order in orders]
        for answer in list_answers(accepted)
    )
    assert choose(rows, accepted, name, order_matters) is expected


def choose(rows, accepted, rule="strict", order_matters=False):
    options = {"rule": RULES.get(rule) or read_rule(rule), "order_matters": order_matters}
    return rows_match(rows, [], accepted_rows=accepted, **options)


@pytest.mark.parametrize(
    ("rows", "segments", "is_right"),
    [
        # OFFSET and LIMIT each cut a run, and a row stands in both
        (["a", "b"], [(["a", "b"], 1), (["b", "c"], 1)], True),
        (["b", "b"], [(["a", "b"], 1), (["b", "c"], 1)], True),
        (["a", "a"], [(["a", "b"], 1), (["b", "c"], 1)], False),
        (["a", "b", "c"], [(["a", "b", "c"], 2), (["a"], 1)], True),
        (["b", "b", "b"], [(["a", "b", "b"], 2), (["b"], 1)], True),
        (["c", "c"], [(["c", "a"], 2)], False),
        # floats within the tolerance
        ([1.0, 1.0000005], [([1.0000009, 1.0], 2)], True),
        ([1.0000005, 1.0], [([1.0000004, 1.0], 1), ([1.0, 2.0], 1)], True),
        ([1.0, 1.0], [([1.0, 3.0], 1), ([2.0, 3.0], 1)], False),
    ],
)
def test_choices_of_one_column(rows, segments, is_right):
    accepted = [{"rows": [[value] for value in values], "take": n} for values, n in segments]
    assert choose([(value,) for value in rows], accepted) is is_right


# --- rules of comparison as texts


@pytest.mark.parametrize(
    ("text", "option", "value"),
    [
        ("strict,columns=any_order", "columns", "any_order"),
        ("spider,numbers_by_value=false", "numbers_by_value", False),
        ("strict,abs_tol=1e-2,digits=2", "digits", 2),
        ("subset,=,3", "row_count", ("=", 3)),
        ("subset,>=,2,numeric_text=false", "row_count", (">=", 2)),
        ("multiset,order=gold", "order", "gold"),
        ("spider2,extra_columns=3", "extra_columns", 3),
    ],
)
def test_options_follow_the_name(text, option, value):
    rule = read_rule(text)
    assert getattr(rule, option) == value
    assert rule.name == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *[("", "No rule ''.*strict, spider"), ("Spider", "No rule 'Spider'")],
        ("spider,colour=red", "colour cannot be 'red', expected a value of .*columns"),
        ("strict,rel_tol=much", "rel_tol cannot be 'much'"),
        ("strict,numeric_text=maybe", "numeric_text cannot be 'maybe'"),
        ("subset,>=,some", "row_count cannot be 'some'"),
        ("subset", "rule 'subset': expected how many rows it needs, as in subset,=,3"),
        ("bird,rows=subset", "expected how many rows it needs"),
        *[
            (text, "expected values as `Rule` says, found .*")
            for text in (
                *(
                    "spider,columns=some",
                    "strict,columns",
                    "strict,rel_tol=nan",
                    "strict,digits=-1",
                ),
                *("strict,rel_tol=1", "strict,abs_tol=inf", "subset,>=,-1", "subset,=,0"),
                *("spider2,extra_columns=0", "set,=,3", "bird,order=always"),
            )
        ],
        *[("strict,name=x", "name cannot be"), ("strict,,", " cannot be 'true'")],
    ],
)
def test_what_is_no_rule_is_refused_by_name(text, message):
    with pytest.raises(ValueError, match=message):
        read_rule(text)


# --- where and how rows differ


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


HALVES = [
    (0.25, 1),
    (2.5, 0),
    (0.125, 2),
    (-85.25, 1),
    (2.675, 2),
    (1.005, 2),
    (-0.5, 0),
    (4.35, 1),
]
SIX_RULES = ("strict", "spider", "bird", "spider2,abs_tol=0", "multiset", "set")


@pytest.mark.parametrize(("number", "digits"), HALVES)
def test_half_of_the_last_digit_is_rounded_as_sqlite_does(number, digits):
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        gold, inexact = connection.execute(
            "SELECT round(?1, ?2), (?1 * 3 + 0.3 - 0.1 - 0.2) / 3", (number, digits)
        ).fetchone()
    for name in SIX_RULES:
        rule = f"{name},digits={digits}"
        assert match([(number,)], [(gold,)], rule)
        assert match([(inexact,)], [(gold,)], rule)
        assert match([(gold,)], [(number,)], rule)
        step = 10.0**-digits
        assert not match([(gold + step,)], [(gold,)], rule)


@given(st.integers(-(10**7), 10**7), st.integers(0, 5))
def test_number_is_its_own_rounding(whole, digits):
    number = whole * 5 / 10 ** (digits + 1)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        (gold,) = connection.execute("SELECT round(?, ?)", (number, digits)).fetchone()
    assert match([(number,)], [(gold,)], f"strict,digits={digits}")


@pytest.mark.parametrize("number", [math.inf, -math.inf, 1e300, -1e15, 5e-324, 0.0])
def test_number_without_digits_to_round_is_itself(number):
    assert match([(number,)], [(number,)], "strict,digits=3")
    assert not match([(number,)], [(1.5,)], "strict,digits=3")

"""Answers: their shapes, their types, when two are the same, and those of gold SQL."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import sqlite3
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.base.records import encode_json
from answerkey.engines.answers import (
    ANSWER_TYPES,
    answer_rows,
    answers_match,
    check_answer,
    classify_answer_type,
    drop_residue,
    shape_answer,
)
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.gold_answers import answer_query, compute_gold_answer
from answerkey.engines.sqlite.guard import GuardedDatabase
from tests.shared.fleet_world import make_fleet
from tests.shared.project_world import ROOT

INT64 = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.none() | INT64 | FLOATS | st.text()


@st.composite
def rows_of(draw, values=VALUES, *, max_rows=6):
    """Rows of one width, as a query gives them."""
    width = draw(st.integers(1, 3))
    return draw(st.lists(st.tuples(*[values] * width), max_size=max_rows))


ANSWERS = rows_of().map(shape_answer)


def match(left, right, **options):
    """The verdict on two answers, the same from both sides."""
    verdict = answers_match(left, right, **options)
    assert answers_match(right, left, **options) is verdict
    return verdict


# --- shape and type


@pytest.mark.parametrize(
    ("rows", "answer", "answer_type"),
    [
        ([], [], "list"),
        ([(3,)], 3, "integer"),
        ([(-(2**63),)], -(2**63), "integer"),
        ([(2.5,)], 2.5, "float"),
        ([(2.0,)], 2.0, "float"),
        ([("00123",)], "00123", "string"),
        ([("",)], "", "string"),
        ([(1,), (2,)], [1, 2], "list"),
        ([(1,), (None,)], [1, None], "list"),
        ([(None,), ("x",)], [None, "x"], "list"),
        ([(1, 2)], [[1, 2]], "table"),
        ([(None, None)], [[None, None]], "table"),
        ([("a", 1), ("b", 2.0)], [["a", 1], ["b", 2.0]], "table"),
    ],
)
def test_answer_has_the_shape_and_type_of_its_rows(rows, answer, answer_type):
    shaped = shape_answer(rows)
    assert shaped == answer
    assert type(shaped) is type(answer)
    assert classify_answer_type(shaped) == answer_type
    assert answer_type in ANSWER_TYPES


def test_single_null_is_an_answer_without_type():
    assert shape_answer([(None,)]) is None


@pytest.mark.parametrize("value", [None, True, False, b"bytes", (1, 2), {"a": 1}, {1}, object])
def test_what_sqlite_never_gives_has_no_type(value):
    with pytest.raises(ValueError, match="No answer type"):
        classify_answer_type(value)


@given(rows_of())
def test_rows_of_an_answer_are_what_it_was_shaped_from(rows):
    assert repr(answer_rows(shape_answer(rows))) == repr(rows)


# --- when two answers are the same


@given(ANSWERS, st.booleans())
def test_answer_matches_itself_and_its_json(answer, ordered):
    assert match(answer, answer, ordered=ordered)
    assert match(answer, json.loads(encode_json(answer)), ordered=ordered)


@pytest.mark.parametrize(
    ("left", "right", "is_match"),
    [
        (["a", "a", "b"], ["a", "b", "b"], False),
        ([[1, 2], [3, 4]], [[3, 4], [1, 2]], True),
        ([[1, 2], [3, 4]], [[1, 4], [3, 2]], False),
        ([[1, 2]], [[2, 1]], False),
        ([[1, 2]], [1, 2], False),
        ([], None, False),
        ([], "", False),
        (None, 0, False),
        (1, True, False),
        (1, 1.0, False),
        ("a", "A", False),
        ("é", "e\u0301", False),
        ("00123", "123", False),
        (2**53, 2**53 + 1, False),
        (0.0, -0.0, True),
        (0.0, 5e-324, False),
        (1e-12, 1.0000005e-12, True),
        (1e-12, 1.1e-12, False),
        (1e300, 1.0000005e300, True),
        (1e300, -1e300, False),
        (0.1 + 0.2, 0.3, True),
        ([["a", 1.0], ["b", 2.0]], [["b", 1.0], ["a", 2.0]], False),
        ([["a", 0.3], ["b", 2.0]], [["b", 2.0], ["a", 0.1 + 0.2]], True),
    ],
)
def test_answers_match_as_typed_multisets(left, right, is_match):
    assert match(left, right, ordered=False) is is_match


def test_matching_is_found_where_sorted_pairing_fails():
    near = 1.0 + 1e-9
    left = [[1.0, 5.0], [near, 1.0]]
    assert match(left, [[near, 5.0], [1.0, 1.0]], ordered=False)
    assert not match(left, [[near, 5.0], [1.0, 2.0]], ordered=False)


GRID = st.sampled_from([1.0, 1.0 - 4e-7, 1.0 + 5e-7, 2.0, 2.0 + 1e-6, -1.0, 0.0])


@given(st.lists(st.tuples(GRID, GRID), max_size=5), st.lists(st.tuples(GRID, GRID), max_size=5))
def test_floats_match_exactly_where_some_pairing_does(left, right):
    def is_close(a, b):
        return all(math.isclose(x, y, rel_tol=1e-6) for x, y in zip(a, b, strict=True))

    expected = len(left) == len(right) and any(
        all(is_close(a, b) for a, b in zip(left, order, strict=True))
        for order in itertools.permutations(right)
    )
    found = match([list(row) for row in left], [list(row) for row in right], ordered=False)
    assert found is expected


# --- from the database to the file


@settings(max_examples=40)
@given(st.lists(VALUES, min_size=1, max_size=30))
def test_every_value_of_sqlite_survives_the_way_into_json(values):
    values = [
        *values,
        "00123",
        "",
        "🚢 naïve",
        "a\0b",
        2**63 - 1,
        -(2**63),
        -0.0,
        1e300,
        5e-324,
        2.0,
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE v (id INTEGER PRIMARY KEY, value)")
            connection.executemany("INSERT INTO v (value) VALUES (?)", [(v,) for v in values])
        column = compute_gold_answer("SELECT value FROM v ORDER BY id", path)
        table = compute_gold_answer("SELECT id, value FROM v ORDER BY id", path)
        single = compute_gold_answer("SELECT value FROM v WHERE id = 1", path)
    assert repr(json.loads(encode_json(column))) == repr(values)
    assert repr(json.loads(encode_json(table))) == repr(
        [[number, value] for number, value in enumerate(values, start=1)]
    )
    assert repr(json.loads(encode_json(single))) == repr(values[0])


# --- gold_answers: the JSON value of what gold SQL returns, or the reason why there is none


ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"
OUTCOMES = [  # gold SQL, and what becomes of it
    ("SELECT count(*) FROM ship;", (2, "integer")),
    ("SELECT tonnage FROM ship WHERE id = 2", (7.0, "float")),
    ("SELECT code FROM ship WHERE id = 1", ("00123", "string")),
    ("SELECT code FROM ship ORDER BY id", (["00123", None], "list")),
    ("SELECT id, code FROM ship WHERE id = 2", ([[2, None]], "table")),
    ("SELECT name FROM ship WHERE id = 9", ([], "list")),
    ("SELECT 'a' || char(0)", ("a\0", "string")),
    ("SELECT max(id) FROM ship WHERE id > 9", "null_answer"),
    ("SELECT absent FROM ship", "sql_error"),
    ("DELETE FROM ship", "not_a_select"),
    (ENDLESS.format("count(*)"), "step_budget_exceeded"),
    ("SELECT photo FROM ship", "blob"),
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    return make_fleet(tmp_path_factory.mktemp("fleet") / "fleet.sqlite")


@pytest.mark.parametrize(("sql", "outcome"), OUTCOMES, ids=lambda value: str(value)[:40])
def test_gold_answer_is_the_json_value_of_the_rows(fleet, sql, outcome):
    limits = Limits(max_steps=1_000_000)
    with GuardedDatabase(fleet, limits) as database:
        recorded = answer_query(database, sql)
    if isinstance(outcome, tuple):
        answer = compute_gold_answer(sql, fleet, limits=limits)
        assert answer == outcome[0]
        assert type(answer) is type(outcome[0])
        steps = recorded.pop("steps")
        assert recorded == {"gold_answer": answer, "answer_type": outcome[1]}
        assert (steps % 50_000, steps > 0) == (0, True)
        return
    assert (recorded["reason"], list(recorded)) == (outcome, ["reason", "detail"])
    assert recorded["detail"]
    if outcome == "null_answer":
        assert compute_gold_answer(sql, fleet) is None
        return
    with pytest.raises(sqlite3.Error, match="SQL execution failed for fleet: ") as caught:
        compute_gold_answer(sql, fleet, limits=limits)
    assert isinstance(caught.value, QueryError)
    assert caught.value.reason == outcome


def test_steps_are_those_of_the_query_rounded_up(fleet):
    rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {})"
    sql = f"{rows} SELECT max(i) FROM n"
    with GuardedDatabase(fleet) as database:
        many, few = (answer_query(database, sql.format(most))["steps"] for most in (50_000, 9))
        assert database.steps == 1000
        assert few == 50_000 < many
        database.execute(sql.format(50_000))
        exact = database.steps
    assert many - 50_000 < exact <= many
    compute_gold_answer(sql.format(50_000), fleet, limits=Limits(max_steps=exact))
    with pytest.raises(QueryError, match="virtual machine steps"):
        compute_gold_answer(sql.format(50_000), fleet, limits=Limits(max_steps=exact - 2000))


def test_gold_answer_without_limits_uses_those_of_the_project(fleet):
    assert compute_gold_answer("SELECT count(*) FROM ship", str(fleet)) == 2  # as text, too
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert Limits(**params["compute_gold_answers"]) == Limits()


# What rounding leaves of 0.

LEFT = ("sum(a) - sum(b)", "avg(a) - avg(b)", "total(a) - total(b)", "sum(a - b)")


def subtract(left: list[float], right: list[float], *forms: str) -> tuple[float, ...]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE entry (a REAL, b REAL)")
        connection.executemany("INSERT INTO entry VALUES (?, ?)", zip(left, right, strict=True))
        return connection.execute(f"SELECT {', '.join(forms)} FROM entry").fetchone()


@given(
    st.lists(st.integers(10**3, 10**6), min_size=2, max_size=20),
    st.sampled_from([10**4, 10**5, 10**6]),
    st.randoms(use_true_random=False),
)
def test_what_rounding_leaves_of_0_is_0(whole, parts, random):
    """Two columns with the same values in another order, whose sums differ by rounding alone. All
    that is added on the way is below 2,048, whose last bit is 2 ** -42."""
    left = [number / parts for number in whole]
    found = subtract(left, random.sample(left, len(left)), *LEFT)
    for one, other in itertools.product((*found, 0.0), repeat=2):
        assert answers_match(one, other, ordered=False), (one, other)


@pytest.mark.parametrize("count", range(1, 12))
def test_average_of_what_rounding_leaves_is_0(count):
    same = [0.7] * count
    found = subtract([0.1, 0.2, *same], [0.3, 0.0, *same], "avg(a - b)", "avg(a) - avg(b)")
    assert found[0] != 0
    assert answers_match(*found, ordered=False)
    assert answers_match(found[0], 0.0, ordered=False)


SMALL = [1e-7, 1e-9, 2.5e-9, 1e-12, 1.6e-19, 9.109e-31, 6.62607015e-34, 1e-300, 5e-324]
SMALL += [value / 3 for value in SMALL[:-1]] + [1e-9 * 7, 0.1 * 1e-9, 1e-7 / 86400]


@pytest.mark.parametrize("value", SMALL)
def test_small_value_is_not_0_and_no_other_one(value):
    rest = 0.1 + 0.2 - 0.3
    for sign in (1, -1):
        assert drop_residue(sign * value) == sign * value
        for other in (0.0, rest, 2 * value, -sign * value):
            assert not answers_match(sign * value, other, ordered=False)
        assert answers_match(sign * value, sign * value * (1 + 1e-9), ordered=False)


@given(st.integers(1, 9999), st.integers(6, 40))
def test_decimal_is_not_0(digits, places):
    value = float(f"{digits}e-{places}")
    assert drop_residue(value) == value


def test_rest_of_0_is_0_in_rows_of_any_order():
    rest, other = 0.1 + 0.2 - 0.3, 1.1 - 1.0 - 0.1
    gold = [["a", rest], ["b", 1e-9], ["c", 12.5], ["d", -rest]]
    rows = [["d", other], ["c", 12.5], ["b", 1e-9], ["a", 0.0]]
    assert answers_match(gold, rows, ordered=False)
    assert answers_match(gold, rows[::-1], ordered=True)
    assert not answers_match(gold, rows, ordered=True)
    assert answers_match(gold, rows, ordered=[4])
    assert not answers_match(gold, [*rows[:2], ["b", rest], rows[3]], ordered=False)
    assert not answers_match(0, rest, ordered=False)  # an integer is no float
    for value in (math.nan, math.inf, -math.inf, 0.5, 2.0**-10, 3.0):
        assert drop_residue(value) == value or math.isnan(value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "expected a value"),
        ({"a": 1}, "expected a value"),
        ([{}], "expected a value"),
        ([[1], 2], "expected a value"),
        ([[[1]]], "expected a value"),
        ([[1, 2], [3]], "expected rows of one length"),
    ],
)
def test_answer_of_another_shape_is_refused(answer, words):
    with pytest.raises(ValueError, match=rf"gold_answer: {words}.*, found "):
        check_answer("gold_answer", answer)


@given(st.lists(st.tuples(st.none() | st.integers(), st.text()), max_size=4))
def test_every_answer_of_sqlite_has_its_shape(rows):
    for answer in (shape_answer(rows), shape_answer([row[:1] for row in rows])):
        assert check_answer("gold_answer", answer) == answer


@given(st.integers(1, 10**5), st.integers(1, 10**5), st.sampled_from([30, 40]))
def test_bytes_as_gigabytes_or_terabytes_are_numbers_of_their_own(count, other, unit):
    """Whole numbers times a power of two, as are residues."""
    value = count / 2**unit
    assert drop_residue(value) == value
    assert not answers_match([value, 1.0], [0.0, 1.0], ordered=False)
    assert answers_match(value, other / 2**unit, ordered=False) is (count == other)

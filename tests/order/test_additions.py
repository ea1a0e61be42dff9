"""The tolerance of a query that adds: other orders of its additions are right, other values not."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.engines.answers import shape_answer
from answerkey.engines.database import Limits, Row
from answerkey.engines.executions import Executions
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.order.additions import find_abs_tol
from answerkey.order.inspection import Inspection
from answerkey.reward import score
from answerkey.sql.query_tree import parse_sql

RULES = ("strict", "spider", "bird", "multiset", "set", "list")
ENTRY = "CREATE TABLE entry (id INTEGER PRIMARY KEY, a, b, part INTEGER)"


class Book:
    """A database of one table of entries, whose sides a and b are numbers or texts."""

    def __init__(self, folder: str | Path, sides: Iterable[tuple[Any, Any]]) -> None:
        path = Path(folder) / "book.sqlite"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(ENTRY)
            rows = ((a, b, number % 3) for number, (a, b) in enumerate(sides))
            connection.executemany("INSERT INTO entry (a, b, part) VALUES (?, ?, ?)", rows)
            self.schema = read_schema(connection)
        self.database = GuardedDatabase(path)
        self.real = Executions(self.database)
        self._found: dict[str, float] = {}

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def ask(self, sql: str) -> list[Row]:
        return self.database.execute(sql)

    def find(self, sql: str) -> float:
        if sql not in self._found:
            inspection = Inspection(sql, parse_sql(sql), self.schema, self.ask(sql), self.real)
            self._found[sql] = find_abs_tol(inspection)
        return self._found[sql]

    def judge(self, gold_sql: str, rows: list[Row]) -> set[float]:
        """The rewards of rows by each rule, with the tolerance that gold needs."""
        gold_answer, abs_tol = shape_answer(self.ask(gold_sql)), self.find(gold_sql)
        terms = [f"{rule},abs_tol={abs_tol}" if abs_tol else rule for rule in RULES]
        return {score(rows, gold_answer, order_matters=False, rule=rule) for rule in terms}


def shuffle(values: list[float], seed: int) -> list[float]:
    return random.Random(seed).sample(values, len(values))


# Each group says one thing, added in other orders.
SAME = (
    (
        "SELECT sum(a) - sum(b) FROM entry",
        "SELECT sum(a - b) FROM entry",
        "SELECT -(sum(b) - sum(a)) FROM entry",
        "SELECT total(a) - (SELECT total(b) FROM entry) FROM entry",
        "SELECT sum(x) FROM (SELECT a AS x FROM entry UNION ALL SELECT -b FROM entry)",
        "SELECT sum(d) FROM (SELECT part, sum(a) - sum(b) AS d FROM entry GROUP BY part)",
        "WITH d AS (SELECT a - b AS d FROM entry ORDER BY b) SELECT total(d) FROM d",
        "SELECT sum(CASE side WHEN 'a' THEN x ELSE -x END) FROM"
        " (SELECT 'a' AS side, a AS x FROM entry UNION ALL SELECT 'b', b FROM entry ORDER BY x)",
        "SELECT DISTINCT sum(a - b) OVER () FROM entry",
    ),
    (
        "SELECT avg(a) - avg(b) FROM entry",
        "SELECT avg(a - b) FROM entry",
        "SELECT (sum(a) - sum(b)) / count(*) FROM entry",
        "SELECT CAST(sum(a) AS REAL) / count(a) - CAST(sum(b) AS REAL) / count(b) FROM entry",
    ),
    (
        "SELECT (sum(a) - sum(b)) * 100.0 / sum(a) FROM entry",
        "SELECT 100.0 * sum(a - b) / sum(a) FROM entry",
        "SELECT 100.0 - sum(b) / sum(a) * 100 FROM entry",
    ),
    (
        "SELECT part, sum(a) - avg(a) * count(a) FROM entry GROUP BY part",
        "SELECT part, total(a - (SELECT avg(c.a) FROM entry AS c WHERE c.part = entry.part))"
        " FROM entry GROUP BY part",
    ),
)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 10**9), min_size=2, max_size=120),
    st.sampled_from([1e-3, 1.0, 3.0, 7e3, 100.0, 1e6, 1e12]),
    st.integers(0, 10**6),
)
def test_sums_that_cancel_are_the_same_in_any_order(whole, parts, seed):
    """Sums of cents, of millions and of 10 ** -12, with the same values on both sides."""
    values = [number / parts for number in whole]
    sides = zip(values, shuffle(values, seed), strict=True)
    with TemporaryDirectory() as folder, Book(folder, sides) as book:
        for group in SAME:
            answers = [book.ask(sql) for sql in group]
            for gold_sql in group:
                for rows in answers:
                    assert book.judge(gold_sql, rows) == {1.0}, (gold_sql, rows)


@pytest.mark.parametrize(("count", "unit"), [(1000, 0.01), (20_000, 0.1)])
def test_sums_of_many_millions_are_the_same_in_any_order(tmp_path, count, unit):
    numbers = random.Random(7)
    values = [numbers.randrange(10**10) / 100 for _ in range(count)]
    with Book(tmp_path, zip(values, shuffle(values, 1), strict=True)) as book:
        gold_sql, *others = SAME[0]
        assert any(abs(book.ask(sql)[0][0]) > 1e-6 for sql in SAME[0])
        for sql in others:
            assert book.judge(gold_sql, book.ask(sql)) == {1.0}
            assert book.judge(sql, book.ask(gold_sql)) == {1.0}
        for wrong in (unit, -unit, 1.0):
            assert book.judge(gold_sql, [(wrong,)]) == {0.0}


TIMES = [
    ("2024-02-01 10:00:00", "2024-02-01 10:00:00"),
    ("2024-02-03 23:59:59.250", "2024-02-03 23:59:58.750"),
    ("1999-12-31 07:07:07", "2001-01-01 00:00:01"),
    ("2024-02-01", "2024-02-01 00:00:01"),
]
SECONDS = "CAST(strftime('%s', {0}) AS REAL) + strftime('%f', {0}) - strftime('%S', {0})"
IN_DAYS = f"(({SECONDS.format('a')}) - ({SECONDS.format('b')})) / 86400"


@pytest.mark.parametrize("form", ["{}", "avg({})", "sum({})", "min({})", "max({})"])
def test_times_differ_as_their_seconds_do(tmp_path, form):
    gold = form.format("julianday(a) - julianday(b)")
    with Book(tmp_path, TIMES) as book:
        rows = book.ask(f"SELECT {form.format(IN_DAYS)} FROM entry")
        gold_sql = f"SELECT {gold} FROM entry"
        assert book.judge(gold_sql, rows) == {1.0}
        others = [(value + 0.1 / 86400,) for (value,) in book.ask(f"{gold_sql} WHERE id = 1")]
        assert book.judge(f"{gold_sql} WHERE id = 1", others) == {0.0}  # a tenth of a second


# Values that are small themselves: nothing is added, or nothing that is large beside them.
SMALL = (
    ("SELECT a / 1099511627776.0 FROM entry", [(4096, 0), (100_000, 0)]),
    ("SELECT sum(a) / 1099511627776.0 FROM entry", [(4096, 0), (200, 0)]),
    ("SELECT sum(a / 1073741824.0) FROM entry", [(800, 0), (1000, 0)]),
    ("SELECT (sum(a) - sum(b)) / 1099511627776.0 FROM entry", [(4096, 4000), (100, 99)]),
    ("SELECT sum(a - b) / 1073741824.0, max(b) FROM entry", [(8e9, 7999999999), (100, 99)]),
    ("SELECT avg(a - b) / 1099511627776.0 FROM entry", [(4096, 4000), (100, 99)]),
    ("SELECT part, a FROM entry", [(1e-9, 0), (2.5e-9, 0)]),
    ("SELECT min(a) FROM entry", [(1e-9, 0), (2.5e-9, 0)]),
    ("SELECT sum(a) FROM entry", [(1e-9, 0), (2.5e-9, 0)]),
    ("SELECT sum(a) - sum(b) FROM entry", [(1e-9, 4e-10), (2.5e-9, 1e-9)]),
    ("SELECT max(a - b) FROM entry", [(1e-9, 4e-10), (2.5e-9, 1e-9)]),
    ("SELECT a * b FROM entry", [(1e-5, 1e-6), (3e-7, 0.01)]),
    ("SELECT (a - b) / 1e9 FROM entry", [(1_700_000_000_123_456_789, 1_700_000_000_123_456_780)]),
    ("SELECT avg(a - b) / 1000000000.0 FROM entry", [(120.5, 7.25), (80.25, 1.5)]),
    ("SELECT total(a) * 1e-9, count(*) FROM entry", [(12.5, 0), (0.25, 0)]),
)


@pytest.mark.parametrize(("gold_sql", "sides"), SMALL)
def test_small_values_are_none_but_themselves(tmp_path, gold_sql, sides):
    with Book(tmp_path, sides) as book:
        rows = book.ask(gold_sql)
        assert book.judge(gold_sql, rows) == {1.0}
        for factor in (0.0, 0.5, 1.001, -1.0):
            others = [
                tuple(value * factor if type(value) is float else value for value in row)
                for row in rows
            ]
            assert book.judge(gold_sql, others) == {0.0}, (rows, others)


# What stores nothing: the questions of a corpus keep their bytes.
NOTHING = (
    "SELECT a FROM entry",
    "SELECT sum(a) FROM entry",
    "SELECT avg(a) FROM entry GROUP BY part",
    "SELECT sum(a) + sum(b) FROM entry",
    "SELECT max(a) - min(a) FROM entry",
    "SELECT sum(part) - sum(part), avg(a) FROM entry",
    "SELECT total(part - id) FROM entry",
    "SELECT round(sum(a) - sum(b), 2) FROM entry",
    "SELECT a FROM entry WHERE a - b < 1",
    "SELECT part, avg(a) FROM entry GROUP BY part HAVING sum(a) - sum(b) < 1",
    "SELECT avg(a) FROM entry WHERE a > (SELECT sum(a) - sum(b) FROM entry)",
    "SELECT a FROM entry ORDER BY a - b",
    "SELECT CASE WHEN sum(a) - sum(b) > 0 THEN 1.0 ELSE 0.0 END FROM entry",
    "SELECT count(*) FROM (SELECT a - b AS d FROM entry) WHERE d <> 0",
    "SELECT CAST(sum(a) - sum(b) AS INTEGER) / 2.0 FROM entry",
    "SELECT sum(a) - sum(b) FROM entry WHERE 0",
    "SELECT '2024' - '2023', b FROM entry",
    "VALUES (0.1)",
)


@pytest.fixture
def book(tmp_path):
    values = [1.1, 2.2, 300.3, 4000.4, 0.7]
    with Book(tmp_path, zip(values, values[::-1], strict=True)) as book:
        yield book


@pytest.mark.parametrize("sql", NOTHING)
def test_query_in_whose_answer_nothing_cancels_has_no_tolerance(book, sql):
    assert book.find(sql) == 0.0


def test_whole_numbers_are_exact_as_floats_too(tmp_path):
    values = [float(2**40 + number) for number in range(9)]
    with Book(tmp_path, zip(values, shuffle(values, 3), strict=True)) as book:
        assert book.find("SELECT sum(a) - sum(b) FROM entry") == 0.0
        assert book.find("SELECT avg(a - b) FROM entry") == 0.0
        assert book.find("SELECT sum(a * 0.1) - sum(b * 0.1) FROM entry") > 0.0


def test_tolerance_is_scaled_by_what_follows(book):
    one = book.find("SELECT sum(a) - sum(b) FROM entry")
    assert 0 < one < 1e-9
    for scaled, factor in (
        ("(sum(a) - sum(b)) / 1e6", 1e-6),
        ("1000 * (sum(a) - sum(b))", 1e3),
        ("sum(a) / 1e6 - sum(b) / 1e6", 1e-6),
        ("sum(a / 1024) - sum(b / 1024)", 1 / 1024),
    ):
        found = book.find(f"SELECT {scaled} FROM entry")
        assert 0.5 < found / (one * factor) < 2


def test_tolerance_stays_small_beside_other_columns(book):
    assert book.find("SELECT sum(a) - sum(b), 1e-9 FROM entry") <= 1e-15


def test_sum_that_moves_along_has_the_tolerance_of_what_it_has_left(tmp_path):
    with Book(tmp_path, [(1e9 + 0.1, 0.0), (0.3, 0.0), (-0.3, 0.0), (0.1, 0.0)]) as book:
        moving = "sum(a) OVER (ORDER BY id ROWS 1 PRECEDING)"
        plain = "a + coalesce(lag(a) OVER (ORDER BY id), 0)"
        assert book.judge(
            f"SELECT {moving} FROM entry", book.ask(f"SELECT {plain} FROM entry")
        ) == {1.0}


def test_jump_of_a_subquery_is_no_tolerance(tmp_path):
    """Whether a sum is below 0 hangs on its last bit, and by it the answer, which moves by 1.5."""
    values = [0.1, 0.2, 0.7, 1e6, 12.3]
    with Book(tmp_path, zip(values, values[::-1], strict=True)) as book:
        jumps = (
            "SELECT sum(y) - 1.5 FROM (SELECT CASE WHEN d > 1e-300 THEN 1.5 ELSE 0.25 END AS y"
            " FROM (SELECT sum(a) - sum(b) AS d FROM entry))"
        )
        assert book.find(jumps) < 1e-9
        picks = (
            "SELECT sum(b) * 0.1 - 7 FROM entry WHERE a > (SELECT avg(a) FROM entry) OR"
            " (SELECT d > 0 FROM (SELECT sum(a) - sum(b) AS d FROM entry))"
        )
        assert book.find(picks) < 1e-6


def test_query_that_takes_too_much_has_no_tolerance(tmp_path):
    values = [number / 7 for number in range(1, 3000)]
    gold_sql = "SELECT sum(a) - sum(b) FROM entry"
    with Book(tmp_path, zip(values, shuffle(values, 5), strict=True)) as book:
        assert book.find(gold_sql) > 0
        steps = book.ask(gold_sql) and book.database.steps
        limits = Limits(max_steps=steps + 2000)
        with GuardedDatabase(book.database.path, limits) as bounded:
            rows = bounded.execute(gold_sql)
            tree = parse_sql(gold_sql)
            assert (
                find_abs_tol(Inspection(gold_sql, tree, book.schema, rows, Executions(bounded)))
                == 0.0
            )


def test_tree_of_a_query_is_not_changed(book):
    for sql in itertools.chain(NOTHING, *SAME):
        tree = parse_sql(sql)
        before = tree.sql("sqlite")
        rows = book.ask(sql)
        find_abs_tol(Inspection(sql, tree, book.schema, rows, book.real))
        assert tree.sql("sqlite") == before

"""What the audit does not execute: the verdict is the one that executing it gives."""

import itertools
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from answerkey.audit.bare_choices import find_at_once
from answerkey.audit.bare_columns import bare_expressions, find_bare_column, find_step_by_step
from answerkey.audit.column_values import ColumnValues
from answerkey.audit.comparisons import read_query
from answerkey.audit.groupings import read_grouping
from answerkey.audit.guesses import list_guesses
from answerkey.audit.mismatches import applied_affinity, has_common_class, judge_by_storage
from answerkey.audit.operands import find_affinity
from answerkey.audit.order_probes import is_order_certain, read_order
from answerkey.audit.query_audit import find_not_reproducible
from answerkey.audit.row_independence import has_fixed_rows
from answerkey.audit.worth_probes import find_guessable
from answerkey.sql.parser import parse_sql
from answerkey.sql.query_rewrites import make_limit, write_with
from answerkey.sqlite.answers import answers_match, shape_answer
from tests.audit.test_bare_columns import FIRE, HOLD
from tests.audit.test_bare_columns import WORLD as BARE_WORLD
from tests.audit.test_row_independence import FIXED
from tests.audit.test_row_independence import WORLD as PROVEN_WORLD
from tests.shared.probe_world import ProbeWorld

VALUES = ["NULL", "0", "1", "7", "1.5", "'7'", "'007'", "'a'", "'A'", "'a '", "''", "x'61'"]
COLUMNS = {"i": "INTEGER", "r": "REAL", "n": "NUMERIC", "t": "TEXT", "c": "TEXT COLLATE NOCASE"}
SCHEMA = f"CREATE TABLE t ({', '.join(f'{n} {kind}' for n, kind in COLUMNS.items())}, u)"
NAMES = st.sampled_from([*COLUMNS, "u"])
ROWS = st.lists(st.tuples(*[st.sampled_from(VALUES)] * 6), max_size=6)


def open_world(rows, schema: str = SCHEMA) -> ProbeWorld:
    """A world of one table, in a folder that is gone with its name: SQLite has the file open."""
    with tempfile.TemporaryDirectory() as folder:
        inserts = [f"INSERT INTO t VALUES ({', '.join(row)})" for row in rows]
        return ProbeWorld(Path(folder), "; ".join([schema, *inserts]))


def without_blobs(rows) -> list[tuple[str, ...]]:
    return [tuple("2" if value.startswith("x") else value for value in row) for row in rows]


# A value of a common class, seen at first glance


@settings(deadline=None, max_examples=100)
@given(
    ROWS,
    NAMES,
    st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS", "IN"]),
    st.one_of(
        st.sampled_from(["0", "7", "-1", "1.5", "'7'", "'007'", "'a'", '"a"', "(1)"]),
        NAMES,
        NAMES.map("(SELECT {0} FROM t)".format),
        NAMES.map("(SELECT max({0}) FROM t)".format),
        st.just("(SELECT * FROM (SELECT t AS i FROM t))"),
    ),
)
def test_common_class_means_that_types_decide_nothing(rows, column, operator, right):
    if operator == "IN" and not right.startswith("(S"):
        right = f"({right}, 'a')"
    with open_world(rows) as world:
        reading = read_query(world.inspect(f"SELECT 1 FROM t WHERE {column} {operator} {right}"))
        for comparison in reading.comparisons:
            sides = comparison.left, comparison.right
            affinities = tuple(find_affinity(side, reading) for side in sides)
            read = comparison, affinities, applied_affinity(*affinities), reading
            if has_common_class(*read):
                assert judge_by_storage(*read) is None


def test_common_class_is_seen_where_there_is_one():
    with open_world([("1", "1", "1", "'a'", "'a'", "1")]) as world:
        for condition, expected in (
            ("i = 1", True), ("i = '1'", True), ("t = 'a'", True), ("i = r", True),
            ("i IN (SELECT n FROM t)", True), ("i < 5", True),
            ("i > 5", False), ("t = 1", False), ("i = 'a'", False), ("i = t", False),
        ):  # fmt: skip
            reading = read_query(world.inspect(f"SELECT 1 FROM t WHERE {condition}"))
            (comparison,) = reading.comparisons
            sides = comparison.left, comparison.right
            affinities = tuple(find_affinity(side, reading) for side in sides)
            applied = applied_affinity(*affinities)
            assert has_common_class(comparison, affinities, applied, reading) is expected, condition


# Bare columns by one execution


def check_at_once(world: ProbeWorld, sql: str) -> bool:
    """Whether the SELECT at the top is decided at once; then it must be as step by step."""
    inspection = world.inspect(sql)
    grouping = read_grouping(inspection.tree, inspection.scopes)
    if grouping is None or not (grouping.columns or grouping.stars):
        return False
    bare = bare_expressions(grouping, inspection.scopes)
    at_once = find_at_once(inspection, grouping, bare, 1e-6)
    if at_once is None:
        return False
    assert at_once[:1] == find_step_by_step(inspection, grouping, bare, 1e-6)[:1]
    return True


@pytest.mark.parametrize("sql", [sql for sql in FIRE + HOLD if sql.startswith("SELECT")])
def test_bare_column_is_found_at_once_as_it_is_step_by_step(tmp_path, sql):
    with ProbeWorld(tmp_path, BARE_WORLD) as world:
        if world.inspect(sql).tree.key == "select":
            check_at_once(world, sql)


@settings(deadline=None, max_examples=100)
@given(
    ROWS,
    st.sampled_from(
        [
            "SELECT {0} FROM t GROUP BY {1}",
            "SELECT {0}, count(*) FROM t GROUP BY {1} HAVING count(*) > 1",
            "SELECT {0} FROM t GROUP BY {1} HAVING max({2}) > 1 ORDER BY min({2}), 1",
            "SELECT lower({0}), {2} FROM t GROUP BY {1}, {2} ORDER BY {1}",
            "SELECT {0} AS x, {1} FROM t GROUP BY {1} HAVING x <> ''",
            "SELECT a.{0} FROM t a JOIN t b ON a.{1} = b.{1} WHERE b.{2} IS NOT NULL"
            " GROUP BY b.{1} HAVING sum(b.{2}) IS NOT NULL",
        ]
    ),
    st.tuples(NAMES, NAMES, NAMES),
)
def test_groups_of_any_rows_are_judged_at_once_as_step_by_step(rows, template, names):
    with open_world(without_blobs(rows), SCHEMA.replace("COLLATE NOCASE", "")) as world:
        check_at_once(world, template.format(*names))


def test_groups_are_judged_at_once_where_they_are_the_answer(tmp_path):
    with ProbeWorld(tmp_path, BARE_WORLD) as world:
        for sql, expected in (
            ("SELECT name, count(*) FROM ship GROUP BY harbour_id", True),
            ("SELECT name FROM ship GROUP BY harbour_id HAVING count(*) = 1", True),
            ("SELECT name, count(*) FROM ship WHERE harbour_id = 3 GROUP BY weight", True),
            ("SELECT name, count(*) FROM ship", False),
            ("SELECT name AS n FROM ship GROUP BY harbour_id HAVING n > 'S'", False),
            ("SELECT name FROM ship GROUP BY harbour_id HAVING name > 'S'", False),
            ("SELECT name FROM ship GROUP BY harbour_id LIMIT 1", False),
            ("SELECT DISTINCT name FROM ship GROUP BY harbour_id", False),
            ("SELECT name, max(weight) FROM ship GROUP BY harbour_id", False),
            ("SELECT *, count(*) FROM ship GROUP BY harbour_id", False),
            ("SELECT name FROM ship GROUP BY weight + 0", False),
        ):
            assert check_at_once(world, sql) is expected, sql


@pytest.mark.parametrize("sql", FIXED)
def test_rows_that_are_proven_to_be_fixed_have_no_bare_column(tmp_path, sql):
    with ProbeWorld(tmp_path, PROVEN_WORLD) as world:
        assert has_fixed_rows(world.inspect(sql).scopes, ColumnValues(world.database))
        assert world.find(find_bare_column, sql) is None


# Rows that are proven to be fixed

FRACTIONS = st.sampled_from(["0.1", "0.2", "0.3"])
SIGNED = st.sampled_from(["0.1", "0.2", "-0.3"])
WHOLE = st.sampled_from(["NULL", "-3", "1", "2.0"])
ADDED = st.lists(
    st.tuples(st.sampled_from("01"), FRACTIONS, WHOLE, st.just("'a'"), st.just("'a'"), SIGNED),
    min_size=4,
    max_size=6,
)


@settings(deadline=None, max_examples=120)
@given(
    ADDED,
    st.sampled_from(
        [
            "SELECT {0} FROM t",
            "SELECT i, {0} FROM t GROUP BY i",
            "SELECT i, {0} AS s FROM t GROUP BY i HAVING s > 0.6",
            "SELECT i, {0} FROM t GROUP BY 1 ORDER BY 2",
            "SELECT i, {0} AS s FROM t GROUP BY i ORDER BY s DESC LIMIT 1",
            "SELECT i FROM t GROUP BY i HAVING {0} >= 0.6 ORDER BY {0}, i",
            "SELECT r FROM t WHERE r >= (SELECT {0} FROM t)",
            "SELECT DISTINCT {0} FROM t GROUP BY i",
        ]
    ),
    st.sampled_from(["sum", "avg"]),
    st.sampled_from(["r", "u", "n", "CASE WHEN r > 0.1 THEN 1 ELSE 0 END"]),
    st.sampled_from(["{0}", "round({0}, 1)", "CAST({0} AS INTEGER)", "{0} > 0.6", "{0} - 0.6"]),
)
def test_proven_rows_are_the_same_in_any_order_of_what_is_added(rows, query, function, of, around):
    sql = query.format(around.format(f"{function}({of})"))
    schema = SCHEMA.replace("COLLATE NOCASE", "")
    with open_world(rows, schema) as world:
        inspection = world.inspect(sql)
        order = read_order(inspection)
        is_ordered = is_order_certain(inspection.tree, order.findings)
        values = ColumnValues(world.database)
        if (is_ordered and not order.is_settled) or not has_fixed_rows(
            inspection.scopes, values, is_cut_settled=order.is_settled
        ):
            return
        answer = shape_answer(inspection.rows)
        for mixed in itertools.islice(itertools.permutations(rows), 1, None, 47):
            inserts = ", ".join(f"({', '.join(row)})" for row in mixed)
            with closing(sqlite3.connect(":memory:")) as connection:
                connection.executescript(f"{schema}; INSERT INTO t VALUES {inserts}")
                other = shape_answer(connection.execute(sql).fetchall())
            assert answers_match(answer, other, ordered=is_ordered), (sql, mixed)


# Guesses up to where the score is out of reach


def score_all_guesses(inspection) -> tuple[int, list[str]]:
    """How many guesses there are, and those that are right, every one of them asked for."""
    reading, answer = read_query(inspection), inspection.rows[0][0]
    valued = [(guess, guess.read(reading.values)) for guess in list_guesses(reading)]
    kept = [
        (guess, value)
        for guess, value in valued
        if value is not None and isinstance(value, str) == isinstance(answer, str)
    ]
    right = [
        guess.sql
        for guess, value in kept
        if not guess.is_asked and answers_match(answer, value, ordered=False)
    ]
    return len(kept), right


@settings(deadline=None, max_examples=100)
@given(
    ROWS,
    st.sampled_from(
        [
            "SELECT max({0}) FROM t",
            "SELECT count({0}) FROM t WHERE {1} > 0",
            "SELECT {0} FROM t WHERE {1} IS NOT NULL AND {0} IS NOT NULL LIMIT 1",
            "SELECT {0} || {1} FROM t ORDER BY {0} DESC LIMIT 1",
        ]
    ),
    st.tuples(NAMES, NAMES),
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.9, 1.0]),
)
def test_score_is_that_of_all_guesses(rows, template, names, min_score):
    with open_world(without_blobs(rows)) as world:
        inspection = world.inspect(template.format(*names))
        if not inspection.rows or inspection.rows[0][0] is None:
            return
        count, right = score_all_guesses(inspection)
        finding = find_guessable(inspection, min_score=min_score)
        if not right or len(right) / count < min_score:
            assert finding is None
        else:
            assert finding.evidence["guesses"] == count
            assert finding.evidence["right"] == right[:5]


# An execution with more columns that repeats the answer


@settings(deadline=None, max_examples=100)
@given(
    ROWS,
    st.sampled_from(["", "DISTINCT "]),
    st.tuples(NAMES, NAMES),
    st.sampled_from(["", " LIMIT 2", " LIMIT 2 OFFSET 1", " LIMIT 0", " LIMIT -1"]),
)
def test_answer_that_is_repeated_with_its_sort_keys_is_reproducible(rows, distinct, names, limit):
    sql = f"SELECT {distinct}{names[0]} FROM t ORDER BY {names[1]}{limit}"
    with open_world(without_blobs(rows)) as world:
        inspection = world.inspect(sql)
        if read_order(inspection).is_repeated:
            assert find_not_reproducible(inspection, is_ordered=True) is None


def test_other_answer_is_never_repeated():
    rows = [("1", "1", "1", "'a'", "'a'", "1"), ("2", "2", "2", "'b'", "'b'", "2")]
    with open_world(rows) as world:
        for sql, changed in (
            ("SELECT t FROM t ORDER BY i", [("b",), ("a",)]),
            ("SELECT t FROM t ORDER BY i LIMIT 1", [("b",)]),
            ("SELECT i FROM t ORDER BY t LIMIT 1", [(1.0,)]),
            ("SELECT i FROM t ORDER BY t LIMIT 1 OFFSET 1", [(1,)]),
            ("SELECT i FROM t ORDER BY t DESC", [(2,)]),
        ):
            inspection = world.inspect(sql)
            assert read_order(inspection).is_repeated, sql
            inspection.rows = changed
            assert not read_order(inspection).is_repeated, sql


@pytest.mark.parametrize(
    ("sql", "clauses", "expected"),
    [
        (
            "SELECT i FROM t ORDER BY r LIMIT 2 OFFSET 1",
            {"limit": None, "offset": None},
            "SELECT i FROM t ORDER BY r",
        ),
        ("SELECT i FROM t LIMIT 2", {"limit": make_limit(9)}, "SELECT i FROM t LIMIT 9"),
        ("SELECT i FROM t", {"expressions": [exp.column("r")]}, "SELECT r FROM t"),
        (
            "SELECT i FROM t UNION SELECT r FROM t LIMIT 1",
            {"limit": None},
            "SELECT i FROM t UNION SELECT r FROM t",
        ),
    ],
)
def test_query_has_its_own_clauses_again_after_it_was_written_with_others(sql, clauses, expected):
    query = parse_sql(sql)
    before = repr(query), list(map(id, query.walk())), list(query.args)
    assert write_with(query, **clauses) == expected
    assert (repr(query), list(map(id, query.walk())), list(query.args)) == before
    assert all(node.parent is query for node in query.iter_expressions())

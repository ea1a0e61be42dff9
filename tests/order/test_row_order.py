"""Row order and accepted rows: what every right answer has where rows tie, and no other answer."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.engines.answers import has_choice, shape_answer
from answerkey.order.row_order import find_row_order
from answerkey.scoring.comparison import rows_match
from answerkey.scoring.rules import read_rule
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, weight INT, port TEXT);
INSERT INTO ship VALUES
    (1, 'Sun', 4, 'Cork'), (2, 'Tern', 5, 'Cork'), (3, 'Kite', 5, 'Porto'), (4, 'Alda', 5, NULL),
    (5, 'Wren', 9, 'Porto');
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    opened = ProbeWorld(tmp_path_factory.mktemp("accepted"), WORLD)
    with opened, opened.copied():
        yield opened


def segment(take: int, *rows: object) -> dict:
    return {"rows": [list(row) if isinstance(row, tuple) else [row] for row in rows], "take": take}


THREE = ("Alda", "Kite", "Tern")


def find_accepted_rows(inspection):
    return find_row_order(inspection)[1]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT name FROM ship", (False, None)),
        ("SELECT name FROM ship ORDER BY id DESC", (True, None)),
        ("SELECT name FROM ship ORDER BY weight", (True, [1, 3, 1])),
        ("SELECT name FROM ship ORDER BY port", (True, [1, 2, 2])),  # NULL comes first
        ("SELECT name FROM ship ORDER BY port DESC NULLS FIRST, weight", (True, None)),
        ("SELECT name, weight * 2 AS n FROM ship ORDER BY n", (True, [1, 3, 1])),
        ("SELECT name FROM ship ORDER BY weight LIMIT 4", (True, [1, 3])),  # LIMIT cuts no tie
        ("SELECT name FROM ship ORDER BY weight LIMIT 4 OFFSET 1", (True, [3, 1])),
        ("SELECT lower(name) FROM ship UNION ALL SELECT 'SUN' ORDER BY 1 COLLATE NOCASE",
         (True, [1, 1, 2, 1, 1])),
        ("SELECT port, sum(weight) FROM ship GROUP BY port ORDER BY count(*)", (True, [1, 2])),
        # each port has ships of weight 5
        ("SELECT DISTINCT port FROM ship ORDER BY weight", (False, None)),
        # the ships in Porto stand before and after the one without a port
        ("SELECT DISTINCT port FROM ship WHERE id <> 1 ORDER BY id", (True, [1, 2])),
        ("SELECT DISTINCT port FROM ship WHERE port <> '' OR id = 4 ORDER BY port IS NULL",
         (True, [2, 1])),
        ("SELECT name FROM ship ORDER BY weight > 0", (False, None)),  # all of them tie
        ("SELECT name FROM (SELECT name FROM ship ORDER BY weight)", (False, None)),
        ("SELECT weight FROM ship ORDER BY weight", (True, None)),  # those that tie are the same
    ],
)  # fmt: skip
def test_rows_that_do_not_tie_have_an_order(world, sql, expected):
    assert find_row_order(world.inspect(sql)) == expected


def test_sequence_that_depends_on_how_rows_are_stored_has_no_segments(tmp_path):
    # Sums of floats: 'a' and 'b' have the same terms, but not in the same order.
    content = """
        CREATE TABLE t (k TEXT, v REAL, n INT);
        INSERT INTO t VALUES ('a', 1e16, 1), ('a', 1.0, 1), ('a', 1.0, 1), ('a', 1.0, 1),
            ('b', 1.0, 1), ('b', 1.0, 1), ('b', 1.0, 1), ('b', 1e16, 1), ('c', 0.5, 1),
            ('d', 0.5, 1);
    """
    sql = "SELECT k FROM t GROUP BY k ORDER BY sum(v), n"
    with ProbeWorld(tmp_path, content) as world:
        assert find_row_order(world.inspect(sql)) == (True, [2, 1, 1])
        with world.copied():
            assert find_row_order(world.inspect(sql)) == (False, None)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT name FROM ship ORDER BY weight LIMIT 3", [1, segment(2, *THREE)]),
        ("SELECT name FROM ship ORDER BY weight LIMIT 9 OFFSET 2", [segment(2, *THREE), 1]),
        ("SELECT name FROM ship ORDER BY weight LIMIT 1 OFFSET 2", [segment(1, *THREE)]),
        (
            "SELECT name, weight FROM ship LIMIT 2",
            [segment(2, ("Alda", 5), ("Kite", 5), ("Sun", 4), ("Tern", 5), ("Wren", 9))],
        ),
        ("SELECT port FROM ship WHERE weight = 5 LIMIT 1", [segment(1, "Cork", "Porto", None)]),
        ("SELECT port, count(*) FROM ship WHERE port <> '' GROUP BY port ORDER BY 2 LIMIT 1",
         [segment(1, ("Cork", 2), ("Porto", 2))]),
        (
            "SELECT name FROM ship WHERE weight < (SELECT max(weight) FROM ship) ORDER BY weight"
            " LIMIT 2",
            [1, segment(1, *THREE)],
        ),
    ],
)  # fmt: skip
def test_segments_hold_all_that_tie(world, sql, expected):
    assert find_accepted_rows(world.inspect(sql)) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM ship ORDER BY weight LIMIT 1",  # no tie
        "SELECT name FROM ship ORDER BY weight LIMIT 4",  # no tie at the cut
        "SELECT weight FROM ship WHERE weight = 5 ORDER BY weight LIMIT 1",  # all look the same
        "SELECT name FROM ship WHERE id = (SELECT id FROM ship WHERE weight = 5 LIMIT 1)",
        # each port has a weight of 4 or 5: by which is it sorted?
        "SELECT DISTINCT port FROM ship WHERE weight < 9 ORDER BY weight LIMIT 1",
        # the rows that tie depend on the order in which rows are read
        "SELECT group_concat(name), port FROM ship WHERE port <> '' GROUP BY port"
        " ORDER BY count(*) LIMIT 1",
    ],
)
def test_nothing_is_accepted_where_right_answers_are_not_all_known(world, sql):
    assert not has_choice(find_accepted_rows(world.inspect(sql)))


def test_cut_in_a_subquery_that_only_other_tied_rows_would_show_is_found(tmp_path):
    content = """
        CREATE TABLE t (name TEXT, kind INT, n INT);
        INSERT INTO t VALUES ('a', 1, 1), ('b', 1, 1), ('c', 2, 1);
        CREATE TABLE kinds (kind INT); INSERT INTO kinds VALUES (1), (2);
    """
    sql = (
        "SELECT name FROM t WHERE kind <= (SELECT kind FROM kinds LIMIT 1)"
        " ORDER BY n, name LIKE 'c' LIMIT 1"
    )
    with ProbeWorld(tmp_path, content) as world:
        assert world.inspect(sql).rows == [("a",)]
        assert find_accepted_rows(world.inspect(sql)) is None


@pytest.mark.parametrize(("max_rows", "is_known"), [(300, False), (301, True)])
def test_too_many_rows_that_tie_are_not_held(tmp_path, max_rows, is_known):
    content = """
        CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (-1, 0);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300)
        INSERT INTO t SELECT i, 1 FROM n; INSERT INTO t VALUES (-2, 2);
    """
    with ProbeWorld(tmp_path, content) as world:
        sql = "SELECT a FROM t ORDER BY b LIMIT 2"
        accepted_rows = find_accepted_rows(world.inspect(sql, max_rows=max_rows))
        assert (accepted_rows is not None) is is_known
        assert find_accepted_rows(world.inspect(sql, max_bytes=500)) is None


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xyz")), max_size=5),
    st.sampled_from([None, 0, 1, 2, 3]),
    st.integers(0, 3),
    st.booleans(),
)
def test_what_another_sort_may_give_is_right_and_nothing_else(rows, limit, offset, ordered):
    """The law: over all ways to sort the rows that ORDER BY leaves open, the answers that are
    possible are those that are right."""
    keys = sorted(key for key, _ in rows)
    bounds = slice(None) if limit is None else slice(offset, offset + limit)
    possible = {
        tuple(label for _, label in order[bounds])
        for order in permutations(rows)
        if not ordered or [key for key, _ in order] == keys
    }
    clauses = "ORDER BY k" if ordered else ""
    clauses += "" if limit is None else f" LIMIT {limit} OFFSET {offset}"
    with TemporaryDirectory() as folder:
        values = "".join(f"INSERT INTO t VALUES ({key}, '{label}');" for key, label in rows)
        with ProbeWorld(Path(folder), f"CREATE TABLE t (k INT, label TEXT); {values}") as world:
            inspection = world.inspect(f"SELECT label FROM t {clauses}")
            order_matters, accepted = find_row_order(inspection)
    terms = {"rule": read_rule("strict"), "accepted_rows": accepted, "order_matters": order_matters}
    gold = shape_answer(inspection.rows)
    for answer in product("xyz", repeat=len(inspection.rows)):
        is_right = rows_match([(label,) for label in answer], gold, **terms)
        assert is_right == (answer in possible), (answer, terms)

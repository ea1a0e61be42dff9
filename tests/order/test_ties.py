"""LIMIT through ties, LIMIT without ORDER BY, and ties inside an ordered answer."""

from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerkey.base.records import Finding
from answerkey.doubts.limit_without_order import find_limit_without_order
from answerkey.doubts.tie_at_limit import find_tie_at_limit
from answerkey.engines.database import Limits
from answerkey.engines.executions import Executions
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.order.inspection import Inspection
from answerkey.order.ties import read_ties
from answerkey.sql.query_tree import parse_sql
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, weight INT, flag TEXT, "order" INT, code TEXT COLLATE NOCASE
);
INSERT INTO ship VALUES
    (1, 'Sun', 5, 'NL', 1, 'a'), (2, 'Tern', 5, 'NL', 2, 'A'), (3, 'Ull', 9, 'BE', 3, 'b'),
    (4, 'Vik', 7, NULL, 4, 'c'), (5, 'Wal', NULL, NULL, 5, 'd'), (6, 'Yar', 9, 'BE', 6, 'e');
CREATE TABLE visit (ship_id INT, port TEXT, days REAL);
INSERT INTO visit VALUES
    (1, 'Alda', 1.5), (1, 'Bree', 2.5), (2, 'Alda', 1.5), (3, 'Alda', 4.0), (3, 'Cley', 9.0);
CREATE TABLE twin (label TEXT, n INT);
INSERT INTO twin VALUES ('x', 1), ('x', 1), ('y', 2), ('limit 1 order by', 3);
CREATE VIEW heavy AS SELECT * FROM ship WHERE weight > 6;
"""

TIE, FREE, OPEN = "tie_at_limit", "limit_without_order", "open order"


def find_order_findings(inspection: Inspection) -> list[Finding]:
    """What two doubts find, and whether rows of the answer differ and tie."""
    ties = read_ties(inspection)
    is_open = ties is not None and ties.has_open_order(inspection.rows)
    findings = [*find_tie_at_limit(inspection), *find_limit_without_order(inspection)]
    return [*findings, Finding(OPEN, {})] if is_open else findings


CASES = [
    # a cut through rows that tie
    ("SELECT name FROM ship ORDER BY weight DESC LIMIT 1", [TIE]),
    ("SELECT name FROM heavy ORDER BY weight DESC LIMIT 1", [TIE]),
    ("SELECT name FROM ship WHERE weight > 0 ORDER BY weight LIMIT 4", [OPEN, TIE]),
    ("SELECT name FROM ship WHERE weight > 0 ORDER BY weight LIMIT 1 OFFSET 1", [TIE]),
    ("SELECT name FROM ship WHERE weight > 0 ORDER BY weight LIMIT -1 OFFSET 1", [OPEN, TIE]),
    ("SELECT name FROM ship ORDER BY flag LIMIT 1", [TIE]),  # two NULLs
    ("SELECT name, weight AS w FROM ship ORDER BY w DESC LIMIT 1", [TIE]),
    ("SELECT weight AS name, * FROM ship ORDER BY name DESC LIMIT 1", [TIE]),
    ("SELECT name FROM ship ORDER BY 'weight' LIMIT 1", [TIE]),  # a string sorts nothing
    ("SELECT name FROM ship ORDER BY code LIMIT 1", [TIE]),  # NOCASE by the column
    ("SELECT code, name FROM ship ORDER BY 1 LIMIT 1", [TIE]),
    ("SELECT name AS n FROM ship ORDER BY 1 COLLATE NOCASE LIMIT 1", []),
    ("SELECT DISTINCT code FROM ship ORDER BY 1 LIMIT 1", []),  # one of them is left
    ("SELECT id FROM ship ORDER BY CASE WHEN id < 3 THEN code END COLLATE NOCASE LIMIT 1", [TIE]),
    ("SELECT port, count(*) FROM visit GROUP BY port ORDER BY count(*) LIMIT 1", [TIE]),
    ("SELECT T1.name, count(*) AS n FROM ship AS T1 JOIN visit AS T2 ON T1.id = T2.ship_id"
     " GROUP BY T1.id ORDER BY n DESC LIMIT 1", [TIE]),
    ("SELECT DISTINCT weight, flag FROM ship ORDER BY flag LIMIT 1", [TIE]),
    ("SELECT DISTINCT port FROM visit ORDER BY days LIMIT 1", [TIE]),  # Alda: by 1.5 or by 4?
    ("SELECT DISTINCT port FROM visit ORDER BY days DESC LIMIT 1", []),
    ("SELECT name, 1 AS k FROM ship UNION SELECT port, 1 FROM visit ORDER BY k LIMIT 1", [TIE]),
    ("WITH s AS (SELECT * FROM ship) SELECT name FROM s ORDER BY weight DESC LIMIT 1", [TIE]),
    # a cut that is certain, or that nobody can see
    ("SELECT name FROM ship ORDER BY weight DESC, name LIMIT 1", []),
    ("SELECT name FROM ship ORDER BY \"order\" LIMIT 3", []),
    ("SELECT weight FROM ship ORDER BY weight DESC LIMIT 1", []),
    ("SELECT *, weight AS name FROM ship ORDER BY name DESC LIMIT 1", []),  # * has a name, first
    ("SELECT DISTINCT * FROM twin ORDER BY upper(label) LIMIT 1", []),
    ("SELECT name FROM ship WHERE weight > 0 ORDER BY weight LIMIT 2", [OPEN]),
    ("SELECT name FROM ship ORDER BY weight DESC LIMIT 0", []),
    ("SELECT DISTINCT weight FROM ship ORDER BY weight DESC LIMIT 1", []),
    ("SELECT count(*) FROM ship ORDER BY weight LIMIT 1", []),
    ("SELECT name FROM ship UNION SELECT port FROM visit ORDER BY name LIMIT 2", []),
    # LIMIT without ORDER BY
    ("SELECT name FROM ship LIMIT 1", [FREE]),
    ("SELECT port FROM visit GROUP BY port LIMIT 1", [FREE]),
    ("SELECT name FROM ship UNION SELECT port FROM visit LIMIT 1", [FREE]),
    ("SELECT name FROM ship LIMIT 6", []),
    ("SELECT count(*) FROM ship LIMIT 1", []),
    ("SELECT label FROM twin WHERE n = 1 LIMIT 1", []),
    # subqueries that decide
    ("SELECT port FROM visit WHERE ship_id = (SELECT id FROM ship ORDER BY weight DESC LIMIT 1)",
     [TIE]),
    ("SELECT count(*) FROM visit WHERE ship_id IN (SELECT id FROM ship LIMIT 1)", [FREE]),
    ("SELECT count(*) FROM visit WHERE ship_id IN"
     " (SELECT id FROM ship WHERE weight > 5 ORDER BY weight LIMIT 2)", [TIE]),
    ("WITH t AS (SELECT id FROM ship ORDER BY weight DESC LIMIT 1) SELECT count(*) FROM visit, t"
     " WHERE id = ship_id", [TIE]),
    ("SELECT name FROM (SELECT name, id FROM ship WHERE weight > 0 ORDER BY weight LIMIT 1)",
     [TIE]),
    ("SELECT sum((SELECT id FROM ship WHERE flag = s.flag ORDER BY weight LIMIT 1)) FROM ship s",
     [TIE]),
    # subqueries of several rows that stand for a value
    ("SELECT port FROM visit WHERE ship_id = (SELECT id FROM ship WHERE flag = 'NL')", [FREE]),
    ("SELECT port FROM visit WHERE ship_id = (SELECT id FROM ship ORDER BY weight DESC)", [TIE]),
    ("SELECT count(*) FROM visit WHERE ship_id IN ((SELECT id FROM ship), 77)", [FREE]),
    ("SELECT port FROM visit WHERE days > (SELECT avg(days) FROM visit GROUP BY port)", [FREE]),
    ("SELECT length((SELECT label FROM twin WHERE n > 1))", [FREE]),  # the greatest comes first
    ("SELECT port FROM visit WHERE ship_id IN (SELECT id FROM ship)", []),
    ("SELECT port FROM visit WHERE days > (SELECT max(days) FROM visit)", []),
    ("SELECT port FROM visit WHERE ship_id = (SELECT id FROM ship ORDER BY id)", []),
    ("SELECT port FROM visit WHERE ship_id < (SELECT id + 9 FROM ship)", []),  # whichever
    ("SELECT count(*) FROM ((SELECT name FROM ship))", []),
    # subqueries that do not
    ("SELECT count(*) FROM (SELECT name FROM ship ORDER BY weight LIMIT 1)", []),
    ("SELECT name FROM ship WHERE weight = (SELECT weight FROM ship ORDER BY weight DESC LIMIT 1)",
     []),
    ("SELECT name FROM ship WHERE EXISTS (SELECT 1 FROM visit WHERE ship_id = id LIMIT 1)", []),
    ("SELECT name FROM ship s WHERE (SELECT port FROM visit WHERE ship_id = s.id ORDER BY days"
     " LIMIT 1) = 'Alda'", []),
    # ties inside the answer
    ("SELECT name FROM ship ORDER BY weight", [OPEN]),
    ("SELECT name FROM ship WHERE weight > 5 ORDER BY flag, weight", [OPEN]),
    ("SELECT DISTINCT port FROM visit ORDER BY days", [OPEN]),
    ("SELECT name FROM ship ORDER BY weight, name", []),
    ("SELECT weight FROM ship ORDER BY weight", []),
    ("SELECT name FROM ship", []),
    ("SELECT name FROM (SELECT name FROM ship ORDER BY weight)", []),
]  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("order"), WORLD) as world:
        yield world


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_order_flags(world, sql, expected):
    codes = [finding.code for finding in world.find_all(find_order_findings, sql)]
    assert sorted(codes) == sorted(expected)


def test_evidence_of_a_tie_shows_both_sides_of_the_cut(world):
    (finding,) = world.find_all(
        find_order_findings, "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"
    )
    evidence = finding.evidence
    assert sorted(evidence.pop("returned") + evidence.pop("as_good")) == [["Ull"], ["Yar"]]
    terms = {"keys": ["weight DESC"], "offset": 0, "limit": 1}
    assert evidence == {**terms, "tied_positions": [0, 1]}


def test_evidence_of_a_tie_goes_beyond_what_is_fetched_first(tmp_path):
    numbers = ", ".join(f"({n}, 1)" for n in range(500))
    content = f"""
        CREATE TABLE t (a, b); INSERT INTO t SELECT 'same', 1 FROM (VALUES {numbers});
        INSERT INTO t VALUES ('other', 1), ('last', 2)
    """
    with ProbeWorld(tmp_path, content) as world:
        (tie,) = world.find_all(find_order_findings, "SELECT a FROM t ORDER BY b LIMIT 1")
        (open_order,) = world.find_all(find_order_findings, "SELECT a FROM t ORDER BY b LIMIT 501")
    assert (tie.code, open_order.code) == (TIE, OPEN)
    assert tie.evidence["tied_positions"] == [0, 500]
    assert tie.evidence["as_good"][0] == ["other"]


def test_tie_is_found_in_more_rows_than_an_answer_may_have(world):
    sql = "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"
    with GuardedDatabase(world.database.path, Limits(max_rows=3)) as limited:
        rows = limited.execute(sql)
        inspection = Inspection(sql, parse_sql(sql), world.schema, rows, Executions(limited))
        (finding,) = find_order_findings(inspection)
    assert finding.code is TIE


def test_evidence_of_a_subquery_shows_the_answer_that_is_as_right(world):
    sql = (
        "SELECT count(*) FROM visit WHERE ship_id >"
        " (SELECT id FROM ship WHERE weight > 0 ORDER BY weight LIMIT 1)"
    )
    (finding,) = world.find_all(find_order_findings, sql)
    assert finding.code is TIE
    answers = [finding.evidence["answer"], finding.evidence["other_answer"]]
    assert sorted(answers) == [[[2]], [[3]]]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xy")), max_size=5),
    st.integers(0, 3),
    st.integers(0, 3),
)
@example([(0, "x"), (0, "y")], 0, 1)  # no row is returned
def test_tie_is_flagged_exactly_where_another_order_gives_other_rows(rows, limit, offset):
    """The law behind tie_at_limit: over all ways to sort the rows, the rows that are returned, as
    a multiset, are one and the same, or the flag is raised."""
    possible = {
        tuple(sorted(label for _, label in order[offset : offset + limit]))
        for order in permutations(rows)
        if [key for key, _ in order] == sorted(key for key, _ in rows)
    }
    with TemporaryDirectory() as folder:
        values = "".join(f"INSERT INTO t VALUES ({key}, '{label}');" for key, label in rows)
        sql = f"SELECT label FROM t ORDER BY k LIMIT {limit} OFFSET {offset}"
        with ProbeWorld(Path(folder), f"CREATE TABLE t (k INT, label TEXT); {values}") as world:
            codes = [finding.code for finding in world.find_all(find_order_findings, sql)]
    assert (TIE in codes) == (len(possible) > 1)

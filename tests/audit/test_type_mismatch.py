"""type_mismatch: what SQLite's coercion decides, and what it only tidies up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.probes.compared_values import find_affinity, read_query
from answerkey.probes.types import (
    applied_affinity,
    find_type_mismatch,
    has_common_class,
    judge_by_storage,
)
from tests.shared.probe_world import ProbeWorld
from tests.shared.random_tables import NAMES, ROWS, open_world

WORLD = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, hull_code TEXT, year INTEGER, built DATE, crew TEXT,
    weight REAL, power NUMERIC, deck
);
INSERT INTO ship VALUES
    (1, 'Sun', '007', 1990, '1990-03-01', '9', 12.5, 100, 1),
    (2, 'Tern', '8', 2001, '2001-07-09', '10', 8.0, 'null', 2),
    (3, 'Wren', '9', 2010, '2010-01-31', '110', 7.25, 30, 3);
CREATE TABLE berth (code INTEGER, word TEXT, ship_text TEXT, number TEXT);
INSERT INTO berth VALUES (7, 'Alda', '1', '1'), (8, 'Bree', '2', '7'), (9, 'Cove', '3', '8');
CREATE TABLE empty (n INTEGER, t TEXT);
CREATE VIEW sorted AS SELECT year, count(*) AS n FROM ship GROUP BY year;
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("types"), WORLD) as world:
        yield world


MISMATCHES = [
    ("SELECT name FROM ship WHERE year = 'old'", "never"),
    ('SELECT name FROM ship WHERE year <> "null"', "always"),
    ("SELECT name FROM ship WHERE NOT year = 'old'", "never"),
    ("SELECT name FROM ship WHERE 'old' > year", "always"),
    ("SELECT name FROM ship WHERE year > 'old'", "never"),
    ("SELECT name FROM ship WHERE year IN (1990, 'old')", "never"),
    ("SELECT name FROM ship WHERE year BETWEEN 'a' AND 'b'", "never"),
    ("SELECT CASE year WHEN 'old' THEN 1 END FROM ship", "never"),
    ("SELECT name FROM ship WHERE deck = '1'", "never"),  # a column without a type coerces nothing
    ("SELECT name FROM ship WHERE strftime('%Y', built) = 2010", "never"),
    ("SELECT name FROM ship WHERE substr(built, 1, 4) > 2000", "always"),
    ("SELECT name FROM ship WHERE strftime('%Y', built) BETWEEN 2000 AND 2010", "always"),
    ("SELECT name FROM ship WHERE built = 2010", "never"),
    ("SELECT name FROM ship WHERE date(built) < 2010", "never"),
    ("SELECT name FROM ship WHERE built = year", "never"),
    ("SELECT year FROM ship GROUP BY year HAVING count(*) > '1'", "never"),
    ("SELECT year, count(*) AS n FROM ship GROUP BY year HAVING n = '1'", "never"),
    ("SELECT name FROM ship WHERE (SELECT max(year) FROM ship) = '2010'", "never"),
    ("SELECT name FROM ship WHERE length(name) = '3'", "never"),
    ("SELECT name FROM ship WHERE crew > 50", "text_order"),
    ("SELECT name FROM ship WHERE 50 < crew", "text_order"),
    ("SELECT name FROM ship WHERE crew BETWEEN 50 AND 200", "text_order"),
    ("SELECT name FROM ship WHERE hull_code = 7", "text_order"),
    ("SELECT name FROM ship WHERE crew = 9.0", "text_order"),
    ("SELECT c FROM (SELECT crew AS c FROM ship) WHERE c > 50", "text_order"),
    ("WITH c AS (SELECT crew AS c FROM ship) SELECT c FROM c WHERE c > 50", "text_order"),
    ("SELECT name FROM ship WHERE name = 5", "no_number"),
    ("SELECT name FROM ship WHERE power > 50", "met_by_text"),
    ("SELECT name FROM ship WHERE power BETWEEN 50 AND 99", "met_by_text"),
    ("SELECT 1 FROM ship JOIN berth ON ship.hull_code = berth.code", "spelling"),
    ("SELECT 1 FROM ship JOIN berth ON berth.code = ship.hull_code", "spelling"),
    ("SELECT 1 FROM berth WHERE code IN (SELECT hull_code FROM ship)", "spelling"),
    ("SELECT 1 FROM ship JOIN berth ON ship.id = berth.word", "never"),
    ("SELECT 1 FROM ship WHERE id NOT IN (SELECT word FROM berth)", "never"),
    ("SELECT 1 FROM ship WHERE id = (SELECT word FROM berth)", "never"),
    ("SELECT year FROM ship UNION SELECT code FROM berth WHERE code = 'x'", "never"),
]

HARMLESS = [
    "SELECT name FROM ship WHERE year = '1990'",
    "SELECT name FROM ship WHERE year > '1990' AND weight <= '8.0'",
    "SELECT name FROM ship WHERE year IN ('1990', \"2001\")",
    "SELECT name FROM ship WHERE built > '2000-01-01'",  # NUMERIC affinity that holds text
    "SELECT name FROM ship WHERE built BETWEEN '2000-01-01' AND \"2010-01-01\"",
    "SELECT name FROM ship WHERE hull_code = '7'",
    "SELECT name FROM ship WHERE crew = 9",  # the text is spelt as SQLite spells the number
    "SELECT name FROM ship WHERE crew != 10",
    "SELECT name FROM ship WHERE crew > '5'",  # text with text is another probe's affair
    "SELECT name FROM ship WHERE CAST(crew AS INTEGER) > 50",
    "SELECT name FROM ship WHERE CAST(crew AS INTEGER) > '50'",
    "SELECT name FROM ship WHERE strftime('%Y', built) = '2010'",
    "SELECT name FROM ship WHERE CAST(strftime('%Y', built) AS INT) = 2010",
    "SELECT name FROM ship WHERE strftime('%Y', built) = year",
    "SELECT name FROM ship WHERE year = strftime('%Y', built)",
    "SELECT name FROM ship WHERE power < 50",  # text is not less than a number: nobody is surprised
    "SELECT name FROM ship WHERE power = 'null' OR power <> 100",
    "SELECT name FROM ship WHERE year LIKE '19%'",
    "SELECT name FROM ship WHERE deck = 1",
    "SELECT name FROM ship WHERE year IS NULL OR year = NULL",
    "SELECT 1 FROM ship JOIN berth ON ship.id = berth.ship_text",
    "SELECT 1 FROM ship JOIN berth ON ship.id = berth.number",
    "SELECT 1 FROM ship JOIN berth ON ship.year = berth.code AND ship.weight > berth.code",
    "SELECT year FROM ship GROUP BY year HAVING count(*) > 1",
    "SELECT name FROM ship WHERE weight > (SELECT avg(year) FROM ship)",
    "SELECT n FROM empty WHERE n = 'old' OR t = 5",  # no value, no judgement
    "SELECT 'year = old' FROM ship WHERE name = 'year > ''old'''",
    "SELECT 1 FROM ship WHERE 1 = 1 AND 'a' = 'b'",
    "SELECT n FROM sorted WHERE n > 1",
    "SELECT word FROM berth WHERE rowid = '1'",
    "SELECT 1 FROM ship JOIN berth ON ship.hull_code > berth.code",  # '007' is as great as 7
]


@pytest.mark.parametrize(("sql", "effect"), MISMATCHES)
def test_comparison_decided_by_types_is_found(world, sql, effect):
    finding = world.find(find_type_mismatch, sql)
    assert finding is not None
    assert finding.evidence["conditions"][0]["effect"] == effect


@pytest.mark.parametrize("sql", HARMLESS)
def test_harmless_coercion_is_no_finding(world, sql):
    assert world.find(find_type_mismatch, sql) is None


def test_evidence_names_affinities_and_the_rows_that_differ(world):
    finding = world.find(find_type_mismatch, "SELECT name FROM ship AS s WHERE s.crew > 50")
    assert finding.evidence == {
        "conditions": [
            {
                "condition": "s.crew > 50",
                "affinities": ["TEXT", None],
                "effect": "text_order",
                "rows": 2,
                "values": ["110", "9"],
            }
        ]
    }


def test_evidence_has_at_most_three_conditions(world):
    sql = "SELECT name FROM ship WHERE year IN ('a', 'b', 'c', 'd')"
    assert len(world.find(find_type_mismatch, sql).evidence["conditions"]) == 3


@pytest.mark.parametrize(
    ("condition", "effect"),
    [
        (c.split(" WHERE ", 1)[1], e)
        for c, e in MISMATCHES
        if e in ("never", "always")
        and "FROM ship WHERE" in c
        and " IN " not in c
        and "NOT" not in c
        and "BETWEEN" not in c
    ],
)
def test_never_and_always_are_true_of_sqlite(world, condition, effect):
    met, rows = world.database.execute(
        f"SELECT count(CASE WHEN {condition} THEN 1 END), count(*) FROM ship"
    )[0]
    assert met == (0 if effect == "never" else rows)


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

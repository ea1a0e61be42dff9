"""What other engines than SQLite order otherwise, asked of the engines themselves: where NULL
comes, DISTINCT ON, WITH TIES, OFFSET alone, aggregates of rows in an order, exact decimals."""

import pytest

from answerkey.alternatives.readings import list_readings
from answerkey.doubts.bare_column import find_bare_column
from answerkey.doubts.date_text_order import find_date_text_order
from answerkey.doubts.literal_not_in_column import find_literal_not_in_column
from answerkey.doubts.numeric_text_order import find_numeric_text_order
from answerkey.doubts.row_order_dependent import find_row_order_dependent
from answerkey.doubts.type_mismatch import find_type_mismatch
from answerkey.engines.names import DUCKDB, POSTGRES
from answerkey.order.additions import find_abs_tol
from answerkey.order.row_order import find_other_order, find_row_order, list_cuts
from tests.shared.engine_world import open_world

WORLD = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, kind TEXT, weight INTEGER, mass TEXT, built TEXT
);
INSERT INTO ship VALUES (1, 'Sun', 'tug', 4, '95', '12/31/2013');
INSERT INTO ship VALUES (2, 'Tern', 'tug', 5, '1,200', '11/30/2014');
INSERT INTO ship VALUES (3, 'Kite', 'bark', NULL, '300', '01/15/2015');
INSERT INTO ship VALUES (4, 'Crow', 'bark', NULL, '400', '02/20/2012');
CREATE TABLE entry (debit DOUBLE PRECISION, credit DOUBLE PRECISION, exact NUMERIC(12, 2));
INSERT INTO entry VALUES (1000000.1, 1000000.2, 1000000.10);
INSERT INTO entry VALUES (2000000.3, 2000000.2, -1000000.10);
CREATE TABLE trip (
    ship_id INTEGER REFERENCES ship (id), sold BOOLEAN, out_at TIMESTAMP, back_at TIMESTAMP
);
INSERT INTO trip VALUES (1, TRUE, '2024-01-01 08:00:00', '2024-01-01 10:00:00');
INSERT INTO trip VALUES (1, FALSE, '2024-01-02 08:00:00', '2024-01-02 09:00:00');
INSERT INTO trip VALUES (2, TRUE, '2024-01-03 08:00:00', NULL);
"""


@pytest.fixture(scope="module", params=[DUCKDB, POSTGRES])
def world(request, tmp_path_factory):
    with open_world(request.param, tmp_path_factory.mktemp("world"), WORLD) as world:
        yield world


@pytest.mark.parametrize(
    ("order", "segments"),
    [
        ("weight", {DUCKDB: [1, 1, 2], POSTGRES: [1, 1, 2]}),
        ("weight DESC", {DUCKDB: [1, 1, 2], POSTGRES: [2, 1, 1]}),
        ("weight NULLS FIRST", {DUCKDB: [2, 1, 1], POSTGRES: [2, 1, 1]}),
        ("weight DESC NULLS LAST, 1", {DUCKDB: None, POSTGRES: None}),
    ],
)
def test_null_comes_where_the_engine_puts_it(world, order, segments):
    inspection = world.inspect(f"SELECT name FROM ship ORDER BY {order}")
    assert find_row_order(inspection) == (True, segments[world.engine])


@pytest.mark.parametrize(
    ("sql", "engines", "codes"),
    [
        ("SELECT name FROM ship ORDER BY weight LIMIT 2", {DUCKDB, POSTGRES}, []),
        ("SELECT name FROM ship ORDER BY weight LIMIT 3", {DUCKDB, POSTGRES}, ["tie_at_limit"]),
        ("SELECT name FROM ship ORDER BY weight DESC LIMIT 1", {POSTGRES}, ["tie_at_limit"]),
        ("SELECT name FROM ship ORDER BY weight DESC LIMIT 1", {DUCKDB}, []),
        ("SELECT name FROM ship ORDER BY weight OFFSET 3", {DUCKDB, POSTGRES}, ["tie_at_limit"]),
        ("SELECT name FROM ship OFFSET 3", {DUCKDB, POSTGRES}, ["limit_without_order"]),
        ("SELECT name FROM ship ORDER BY weight LIMIT ALL", {DUCKDB, POSTGRES}, []),
        (
            "SELECT name FROM ship ORDER BY weight FETCH FIRST 3 ROWS ONLY",
            {POSTGRES},
            ["tie_at_limit"],
        ),
        ("SELECT name FROM ship ORDER BY weight FETCH FIRST 3 ROWS WITH TIES", {POSTGRES}, []),
        (
            "SELECT DISTINCT ON (kind) kind, name FROM ship ORDER BY kind, weight",
            {DUCKDB, POSTGRES},
            ["tie_at_limit"],
        ),
        (
            "SELECT DISTINCT ON (kind) kind, name FROM ship ORDER BY kind, name",
            {DUCKDB, POSTGRES},
            [],
        ),
        (
            "SELECT max(name) FROM (SELECT DISTINCT ON (kind) kind, name FROM ship) AS first",
            {DUCKDB, POSTGRES},
            ["limit_without_order"],
        ),
        ("SELECT kind, count(*) FROM ship GROUP BY ALL ORDER BY ALL LIMIT 1", {DUCKDB}, []),
    ],
)
def test_cuts(world, sql, engines, codes):
    if world.engine not in engines:
        pytest.skip("syntax or rules of the other engine")
    assert [cut.code for cut in list_cuts(world.inspect(sql))] == codes


def test_rows_that_tie_with_the_last_one_come_in_any_order(world):
    if world.engine == DUCKDB:
        pytest.skip("DuckDB has no WITH TIES")
    sql = "SELECT name FROM ship ORDER BY weight FETCH FIRST 3 ROWS WITH TIES"
    assert find_row_order(world.inspect(sql)) == (True, [1, 1, 2])


@pytest.mark.parametrize(
    ("aggregate", "engines", "is_open"),
    [
        ("string_agg(name, ',')", {DUCKDB, POSTGRES}, True),
        ("string_agg(name, ',' ORDER BY name)", {DUCKDB, POSTGRES}, False),
        ("array_agg(name)", {DUCKDB, POSTGRES}, True),
        ("array_agg(name ORDER BY name)", {DUCKDB, POSTGRES}, False),
        ("list(name)", {DUCKDB}, True),
        ("first(name)", {DUCKDB}, True),
        ("any_value(name)", {DUCKDB, POSTGRES}, True),
        ("json_agg(name)", {POSTGRES}, True),
        ("json_group_array(name)", {DUCKDB}, True),
        ("max(name)", {DUCKDB, POSTGRES}, False),
    ],
)
def test_aggregates_of_rows_in_the_order_of_storage(world, aggregate, engines, is_open):
    if world.engine not in engines:
        pytest.skip("a function of the other engine")
    inspection = world.inspect(f"SELECT {aggregate} FROM ship")
    assert bool(find_row_order_dependent(inspection)) is is_open
    assert find_bare_column(inspection) == []


def test_first_rows_of_a_window_depend_on_the_order_of_storage(world):
    ranked = "SELECT name, row_number() OVER (PARTITION BY kind ORDER BY weight) AS r FROM ship"
    sql = f"SELECT name FROM ({ranked}) AS ranked WHERE r = 1"
    if world.engine == DUCKDB:
        sql = f"{ranked} QUALIFY r = 1"
    assert find_row_order_dependent(world.inspect(sql))


def test_floats_have_a_tolerance_and_decimals_none(world):
    assert find_abs_tol(world.inspect("SELECT sum(debit) - sum(credit) FROM entry")) > 0
    assert find_abs_tol(world.inspect("SELECT sum(exact) + 0.05 FROM entry")) == 0.0


def test_numbers_as_text_are_sorted_as_numbers(world):
    inspection = world.inspect("SELECT name FROM ship ORDER BY mass LIMIT 1")
    (finding,) = find_numeric_text_order(inspection)
    assert world.database.execute(finding.evidence["repair"]) == [("Sun",)]
    (finding,) = find_numeric_text_order(world.inspect("SELECT max(mass) FROM ship"))
    assert world.database.execute(finding.evidence["repair"]) == [("1,200",)]


def test_dates_as_text_are_sorted_by_time(world):
    inspection = world.inspect("SELECT name FROM ship ORDER BY built DESC LIMIT 1")
    (finding,) = find_date_text_order(inspection)
    assert world.database.execute(finding.evidence["repair"]) == [("Kite",)]
    (finding,) = find_date_text_order(world.inspect("SELECT max(built) FROM ship"))
    assert world.database.execute(finding.evidence["repair"]) == [("01/15/2015",)]


def test_spelling_that_no_row_has(world):
    inspection = world.inspect("SELECT id FROM ship WHERE name = 'SUN'")
    (finding,) = find_literal_not_in_column(inspection)
    assert world.database.execute(finding.evidence["repair"]) == [(1,)]
    inspection = world.inspect("SELECT id FROM ship WHERE kind = 'sun'")
    (finding,) = find_literal_not_in_column(inspection)
    assert world.database.execute(finding.evidence["repair"]) == [(1,)]


def test_loose_types_are_no_doubt(world):
    assert find_type_mismatch(world.inspect("SELECT id FROM ship WHERE mass = '95'")) == []


def test_readings_ignore_case_by_ilike(world):
    sql = "SELECT id FROM ship WHERE name = 'Sun'"
    tree = world.inspect(sql).tree
    readings = list_readings(tree, world.schema, "Which ship is Sun?", world.real.find_rows)
    changed = {change.name: change.sql for change in readings}
    assert changed["any_case"] == "SELECT id FROM ship WHERE name ILIKE 'Sun'"
    assert world.database.execute(changed["any_case"]) == [(1,)]


ENTRIES = [(1000000.1, 1000000.2, 1000000.1), (2000000.3, 2000000.2, -1000000.1)]
JOINED = "ship AS s JOIN trip AS t ON t.ship_id = s.id"


@pytest.mark.parametrize(
    ("sql", "name", "rows"),
    [
        # PostgreSQL refuses SELECT DISTINCT with ORDER BY of what is not shown
        ("SELECT kind FROM ship ORDER BY name", "distinct_rows", [("bark",), ("tug",)]),
        ("SELECT kind FROM ship ORDER BY name DESC", "distinct_rows", [("tug",), ("bark",)]),
        ("SELECT kind AS a FROM ship ORDER BY a", "distinct_rows", [("bark",), ("tug",)]),
        # both refuse to sort groups by what is not grouped
        (
            f"SELECT s.name FROM {JOINED} WHERE NOT t.back_at IS NULL ORDER BY t.out_at DESC",
            "each_thing_once",
            [("Sun",)],
        ),
        ("SELECT weight FROM ship ORDER BY weight", "summed_value", [(9,)]),
        # a subquery that shows nothing has no names and numbers of outputs
        (
            "SELECT kind AS month, count(*) AS n FROM ship GROUP BY month ORDER BY n LIMIT 1",
            "all_ties",
            [("bark", 2), ("tug", 2)],
        ),
        (
            "SELECT kind, count(*) AS n FROM ship GROUP BY 1 ORDER BY n LIMIT 1",
            "all_ties",
            [("bark", 2), ("tug", 2)],
        ),
        # a star shows all by which rows are sorted
        ("SELECT * FROM entry ORDER BY debit", "distinct_rows", ENTRIES),
        # no interval is a float
        ("SELECT avg(back_at - out_at) FROM trip", "average", [("01:00:00",)]),
        ("SELECT avg(weight) FROM ship", "average", [(2.25,)]),
        # nobody says false
        ("SELECT ship_id FROM trip WHERE sold = FALSE", "unnamed_condition", [(1,), (1,), (2,)]),
        ("SELECT ship_id FROM trip WHERE NOT sold", "unnamed_condition", [(1,), (1,), (2,)]),
        ("SELECT ship_id FROM trip WHERE sold", "unnamed_condition", [(1,), (1,), (2,)]),
    ],
)
def test_readings_are_written_as_the_engine_takes_them(world, sql, name, rows):
    tree = world.inspect(sql).tree
    readings = list_readings(tree, world.schema, "What is asked for?", world.real.find_rows)
    answer = world.database.execute(dict(readings)[name])
    assert answer == rows if name == "distinct_rows" else sorted(answer) == rows


@pytest.mark.parametrize(
    ("sql", "order"),
    [
        ("SELECT name FROM ship", {"order_matters": False}),
        ("SELECT name FROM ship ORDER BY kind", {"accepted_rows": [2, 2]}),
        ("SELECT name FROM ship ORDER BY id", {}),
    ],
)
def test_other_right_queries_have_an_order_of_their_own(world, sql, order):
    assert find_other_order(world.inspect(sql)) == order

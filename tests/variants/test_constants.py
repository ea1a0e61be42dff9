"""constants: what queries compare columns with, and what meets and misses each comparison."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from answerkey.engines.executions import Executions
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.query_tree import parse_sql, to_sql
from answerkey.sql.scopes import Scopes
from answerkey.variants.constants import (
    Conditions,
    Spelling,
    fold_dates,
    list_conditions,
    list_constants,
    list_near,
    list_witnesses,
    make_new,
    move_day,
)
from tests.shared.databases import make_database
from tests.variants.world import read_world

SHIPS = """
CREATE TABLE port (name TEXT PRIMARY KEY, mayor TEXT);
CREATE TABLE ship (name TEXT, flag TEXT, tons INT, port TEXT REFERENCES port);
"""

TABLES = {"port", "ship"}


def read_query(sql: str) -> Scopes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SHIPS)
        schema = read_schema(connection)
    return Scopes(parse_sql(sql), schema)


def read_scopes(condition: str) -> Scopes:
    return read_query(f"SELECT name FROM ship WHERE {condition}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM ship WHERE tons = 7",
        "WITH own AS (SELECT name, port FROM ship WHERE tons = 7) SELECT name FROM own",
        "WITH own AS (SELECT mayor FROM port), heavy AS (SELECT name FROM ship JOIN own"
        " ON flag <> mayor WHERE tons = 7) SELECT name FROM heavy",
        "WITH own AS (SELECT name FROM (SELECT name FROM ship WHERE tons = 7)) SELECT * FROM own",
        "WITH RECURSIVE own (name) AS (SELECT name FROM ship WHERE tons = 7 UNION"
        " SELECT mayor FROM port JOIN own ON own.name = port.name) SELECT name FROM own",
        "SELECT mayor FROM port WHERE name IN (WITH own AS (SELECT port FROM ship WHERE tons = 7)"
        " SELECT port FROM own)",
    ],
)
def test_rows_that_a_query_finds_are_found_wherever_it_asks_for_them(
    sql: str, tmp_path: Path
) -> None:
    rows = "INSERT INTO port VALUES ('Ilo', 'Ada');"
    rows += "INSERT INTO ship VALUES ('Sun', 'Peru', 3, 'Callao'), ('Tern', 'Peru', 7, 'Ilo');"
    path = make_database(tmp_path / "ships.sqlite", SHIPS + rows)
    tree = read_query(sql)
    before = to_sql(tree.tree)
    with GuardedDatabase(path) as database:
        find_rows = Executions(database).find_rows
        witnesses, rowids = list_witnesses(tree, TABLES, find_rows, has_rowids=True)
    assert rowids["ship"] == {2}
    assert 7 in {meets for witness in witnesses for _, meets, _ in witness.values}
    assert to_sql(tree.tree) == before


def test_text_in_double_quotes_is_a_constant_where_no_column_has_its_name() -> None:
    scopes = read_scopes('flag = "Peru" AND name LIKE "%Sun%" AND flag <> "name"')
    assert list_constants(scopes) == [("ship", 1, "Peru"), ("ship", 0, "Sun")]


@pytest.mark.parametrize(
    ("condition", "meets", "misses"),
    [
        ("tons > 9", 10, 9),
        ("tons >= 9", 9, 8),
        ("9 < tons", 10, 9),
        ("9 = (tons)", 9, 8),
        ("tons IS 9", 9, 8),
        ("tons IS NOT 9", 10, 9),
        ("tons <= 9", 9, 10),
        ("tons = 9", 9, 8),
        ("tons <> 9", 10, 9),
        ("tons = '0'", "0", "1"),
        ("tons BETWEEN 9 AND 20", 9, 8),
        ("NOT tons = 9", 8, 9),
        ("tons NOT IN (9, 10)", 8, 9),
        ("tons LIKE '%10%'", "10", "1"),
        ("tons NOT LIKE '%10%'", "1", "10"),
        ("tons LIKE 10", 10, 9),
        ("tons < 9223372036854775807", (1 << 63) - 2, (1 << 63) - 1),
        ("tons = 9007199254740993", 9007199254740993, 9007199254740992),
        ("tons < 1e300", 1e300, 1e300),
        ("tons > 100000000000000000000", 1e20, 1e20),
        ("tons BETWEEN -9223372036854775808 AND 1e300", -(2.0**63), -(2.0**63)),
    ],
)
def test_conditions_have_what_meets_and_what_misses(condition, meets, misses) -> None:
    [conditions] = list_conditions(read_scopes(condition), TABLES)
    assert conditions == Conditions(("ship",), (((0, 2), meets, misses),))


def test_conditions_of_each_select_that_a_set_operation_joins() -> None:
    sql = "SELECT name FROM ship WHERE {} EXCEPT SELECT name FROM ship WHERE {}"
    query = read_query(sql.format("tons = 4", "tons = 7 AND flag = 'Peru'"))
    conditions = list_conditions(query, TABLES)
    assert [[meets for _, meets, _ in each.values] for each in conditions] == [[4], [7, "Peru"]]
    assert list_conditions(query, {"port"}) == []
    query = read_query("SELECT name FROM ship UNION SELECT name FROM port")
    assert list_conditions(query, TABLES) == []


def ask_for_rows(sql: str) -> Conditions:
    """What the last SELECTs of a query that are read together ask for."""
    return list_conditions(read_query(sql), TABLES)[-1]


@pytest.mark.parametrize(
    ("sql", "tables", "equal"),
    [
        ("SELECT 1 FROM port AS p JOIN ship AS s ON p.name = s.port", "port ship",
         [((0, 0), (1, 3))]),
        ("SELECT 1 FROM port, ship WHERE mayor = port.name AND port = mayor", "port ship",
         [((0, 1), (0, 0)), ((1, 3), (0, 1))]),
        ("SELECT 1 FROM port WHERE name IN (SELECT port FROM ship)", "port ship",
         [((0, 0), (1, 3))]),
        ("SELECT 1 FROM port WHERE name = (SELECT port FROM ship)", "port ship",
         [((0, 0), (1, 3))]),
        ("SELECT 1 FROM port WHERE EXISTS (SELECT 1 FROM ship WHERE port = port.name)",
         "port ship", [((1, 3), (0, 0))]),
        ("WITH a AS (SELECT port AS p FROM ship) SELECT 1 FROM port JOIN a ON name = p",
         "port ship", [((0, 0), (1, 3))]),
    ],
)  # fmt: skip
def test_columns_that_must_be_equal(sql, tables, equal) -> None:
    conditions = ask_for_rows(sql)
    assert (conditions.tables, list(conditions.equal)) == (tuple(tables.split()), equal)


@pytest.mark.parametrize(
    "condition",
    [
        "name NOT IN (SELECT port FROM ship WHERE tons = 1)",
        "NOT EXISTS (SELECT 1 FROM ship WHERE port = port.name AND tons = 1)",
        "1 IN (SELECT 1 FROM ship WHERE tons = 1 UNION SELECT 2 ORDER BY 1 = 2)",
    ],
)
def test_what_a_query_denies_is_not_made_equal(condition) -> None:
    conditions = ask_for_rows(f"SELECT 1 FROM port WHERE {condition}")
    assert conditions == Conditions(("port", "ship"), (((1, 2), 1, 0),))


def test_sides_of_an_intersection_show_one_row_where_it_can_meet_both() -> None:
    sql = (
        "SELECT port.name FROM port JOIN ship ON port = port.name WHERE tons = 1 INTERSECT"
        " SELECT port.name FROM port JOIN ship ON port = port.name WHERE tons = 2"
    )
    conditions = ask_for_rows(sql)
    assert conditions.tables == ("port", "ship") * 2
    assert ((0, 0), (2, 0)) in conditions.equal
    sql = "SELECT mayor FROM port WHERE name = {} INTERSECT SELECT mayor FROM port WHERE name = {}"
    mayors = ((0, 1), (1, 1))
    assert ask_for_rows(sql.format("'a'", "'b'")).equal == (mayors,)
    assert ask_for_rows(sql.format("'a'", "'a'")).equal == (mayors, ((0, 0), (1, 0)))


@pytest.mark.parametrize(
    ("having", "count"),
    [
        ("count(*) >= 4", 4),
        ("count(name) > 4", 5),
        ("4 < count(name)", 5),
        ("count(*) BETWEEN 4 AND 6", 4),
        ("count(*) = 2 AND sum(tons) > 9", 2),
        ("count(*) > 1000", 1),
        ("sum(tons) > 9", 1),
    ],
)
def test_groups_have_as_many_rows_as_having_asks_for(having, count) -> None:
    sql = f"SELECT flag AS f FROM ship WHERE tons > 9 GROUP BY f HAVING {having}"
    conditions = ask_for_rows(sql)
    assert (conditions.shared, conditions.group_size) == (((0, 1),), count)


def test_like_looks_for_a_text_as_its_column_spells_it(tmp_path: Path) -> None:
    ships = "INSERT INTO ship VALUES ('Sun', '', 1, ''), ('TERN', '', 2, ''), ('Tern', '', 3, '');"
    spelling = Spelling(read_world(tmp_path, f"{SHIPS}{ships}"))
    spelled = [spelling.spell("ship", 0, text) for text in ("sun", "Sun", "tern", "Tern", "Kite")]
    assert spelled == ["Sun", "Sun", "tern", "Tern", "Kite"]
    for operator, spelled in (("LIKE", "Sun"), ("=", "sun"), ("<>", "sun")):
        scopes = read_scopes(f"name {operator} 'sun'")
        assert list_constants(scopes, spelling) == [("ship", 0, spelled)]
    [conditions] = list_conditions(read_scopes("name LIKE 'sun'"), TABLES, spelling)
    assert conditions.values == (((0, 0), "Sun", "su"),)


@pytest.mark.parametrize(
    ("condition", "folded"),
    [
        ("flag >= date('now', '-30 days')", "flag >= '2024-12-31'"),
        ("date('now') > flag", "'2025-01-30' > flag"),
        (
            "flag = CURRENT_DATE OR flag < CURRENT_TIMESTAMP",
            "flag = '2025-01-30' OR flag < '2025-01-30 00:00:00'",
        ),
        (
            "flag BETWEEN date('now', 'start of year') AND date()",
            "flag BETWEEN '2025-01-01' AND '2025-01-30'",
        ),
        ("tons IN (strftime('%Y', 'now') - 1, 7)", "tons IN (2024, 7)"),
        ("flag LIKE strftime('%Y', 'now') || '%'", "flag LIKE '2025%'"),
        (
            "tons > -unixepoch() AND tons < julianday('now') - 0.5",
            "tons > -1738195200 AND tons < 2460705.0",
        ),
        (
            "date(flag) = date('now', '-' || ((strftime('%w', 'now') + 6) % 7) || ' days')",
            "DATE(flag) = '2025-01-27'",
        ),
        # What reads rows, or fails, stays.
        (
            "flag > date('now', '-' || tons || ' days') AND tons > random()",
            "flag > DATE('now', '-' || tons || ' days') AND tons > RANDOM()",
        ),
        (
            "tons > (SELECT count(*) FROM port WHERE mayor > CURRENT_DATE)",
            "tons > (SELECT COUNT(*) FROM port WHERE mayor > '2025-01-30')",
        ),
        ("tons > 9 AND flag = 'now'", "tons > 9 AND flag = 'now'"),
    ],
)
def test_dates_of_the_clock_are_constants_at_an_instant(tmp_path, condition, folded) -> None:
    path = make_database(tmp_path / "a.sqlite", SHIPS)
    with GuardedDatabase(path, now="2025-01-30") as database:
        tree = parse_sql(f"SELECT name FROM ship WHERE {condition} GROUP BY 1 HAVING count(1) > 2")
        before = to_sql(tree)
        after = to_sql(fold_dates(tree, Executions(database).find_rows))
    assert after == f"SELECT name FROM ship WHERE {folded} GROUP BY 1 HAVING COUNT(1) > 2"
    assert to_sql(tree) == before


@pytest.mark.parametrize(
    ("value", "near", "new"),
    [
        ("0001-01-01", ["0001-01-02"], "0001-01-02"),
        ("0001-01-01 00:00:00", ["0001-01-02 00:00:00"], "0001-01-02 00:00:00"),
        ("9999-12-31", ["9999-12-30"], "9999-12-30"),
        ("9999-12-31T23:59:59Z", ["9999-12-30T23:59:59Z"], "9999-12-30T23:59:59Z"),
        ("2023-12-31", ["2023-12-30", "2024-01-01"], "2024-01-01"),
    ],
)
def test_days_near_one_are_days_of_the_calendar(value: str, near: list[str], new: str) -> None:
    assert list_near(value) == near
    assert make_new(value, {value}) == new


def test_new_day_is_one_that_is_not_taken() -> None:
    assert make_new("9999-12-30", {"9999-12-30", "9999-12-31"}) == "9999-12-29"
    assert make_new("2024-02-28", {"2024-02-28", "2024-02-29"}) == "2024-03-01"


@pytest.mark.parametrize("value", ["0000-00-00", "2023-02-30", "2023-13-01 08:00"])
def test_text_that_only_looks_like_a_day_has_no_day_near_it(value: str) -> None:
    assert list_near(value) == []
    assert move_day(value, 1) is None
    assert make_new(value, {value}) != value

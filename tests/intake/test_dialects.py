"""Gold SQL of other dialects: what it becomes, and when its rows differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from answerkey.intake.dialects import Comparer, Renaming, TranslationError, read_renaming, translate
from answerkey.intake.engines import DuckDB
from answerkey.intake.whole_database import convert

NAMES = {("main", "ship"): "ship", ("sales", "ship"): "sales_ship", ("sales", "Leg"): "Leg"}
KINDS = {
    **dict.fromkeys(("a", "b", "id"), "integer"),
    **{"name": "text", "word": "text", "born": "date", "t": "moment", "u": "moment"},
    **{"price": "decimal", "share": "float", "ok": "boolean", "mood": "label", "net": "other"},
}
RENAMING = Renaming(NAMES, ("main", "sales"), {"ship": KINDS})


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        # What SQLite reads as it is stays as it was written.
        ("duckdb", "select  name from ship where id NOT IN (1)", None),
        ("mysql", "select `name` from ship", None),
        (
            "duckdb",
            "SELECT a / b FROM ship",
            "SELECT (IIF(b = 0, a * 9e999, CAST(a AS REAL) / b)) FROM ship",
        ),
        ("duckdb", "SELECT a / 2 FROM ship", "SELECT CAST(a AS REAL) / 2 FROM ship"),
        ("postgres", "SELECT a / b FROM ship", None),
        ("postgres", "SELECT price / 2 FROM ship", "SELECT CAST(price AS REAL) / 2 FROM ship"),
        ("postgres", "SELECT a FROM ship ORDER BY a", "SELECT a FROM ship ORDER BY a NULLS LAST"),
        # Tables of schemas, and what columns call them.
        (
            "postgres",
            "SELECT sales.ship.a FROM sales.ship",
            "SELECT ship.a FROM sales_ship AS ship",
        ),
        ("postgres", "SELECT s.a FROM SALES.Ship s", "SELECT s.a FROM sales_ship AS s"),
        ("duckdb", "SELECT a FROM leg", None),
        ("postgres", "SELECT a FROM other.ship", None),
        (
            "postgres",
            "WITH ship AS (SELECT 1 AS a) SELECT a FROM ship, sales.ship AS s",
            "WITH ship AS (SELECT 1 AS a) SELECT a FROM ship, sales_ship AS s",
        ),
        # Dates.
        (
            "postgres",
            "SELECT EXTRACT(YEAR FROM born), date_trunc('month', t) FROM ship",
            "SELECT CAST(STRFTIME('%Y', born) AS INTEGER), DATE(t, 'start of month') FROM ship",
        ),
        (
            "postgres",
            "SELECT born + interval '1 month', t - interval '2 weeks' FROM ship",
            "SELECT MIN(DATE(born, '+1 months'),"
            " DATE(born, 'start of month', '+2 months', '-1 days')),"
            " DATE(t, '-14 days') || SUBSTR(t, 11) FROM ship",
        ),
        (
            "mysql",
            "SELECT QUARTER(born), DATE_ADD(born, INTERVAL 1 DAY) FROM ship",
            "SELECT CAST(CAST((CAST(STRFTIME('%m', born) AS INTEGER) + 2) AS REAL) / 3 AS INTEGER),"
            " DATE(born, '+1 days') FROM ship",
        ),
        (
            "duckdb",
            "SELECT born - DATE '2024-01-01' FROM ship",
            "SELECT CAST((JULIANDAY(born) - JULIANDAY(DATE('2024-01-01'))) AS INTEGER) FROM ship",
        ),
        ("postgres", "SELECT born + 7 FROM ship", "SELECT DATE(born, '+7 days') FROM ship"),
        (
            "postgres",
            "SELECT EXTRACT(EPOCH FROM (t - born)) FROM ship",
            "SELECT ((CAST(STRFTIME('%s', t) AS REAL) - CAST(STRFTIME('%s', born) AS REAL))"
            " + (CAST('0' || SUBSTR(t, 20) AS REAL) - 0)) FROM ship",
        ),
        (
            "duckdb",
            "SELECT date_trunc('quarter', t) FROM ship",
            "SELECT DATE(t, 'start of month',"
            " '-' || ((CAST(STRFTIME('%m', t) AS INTEGER) - 1) % 3) || ' months') FROM ship",
        ),
        # Numbers, texts, and groups.
        (
            "duckdb",
            "SELECT round(share), round(price, 1) FROM ship",
            "SELECT ROUND(share), ROUND(IIF((price * 10.0) IS NULL, NULL,"
            " CAST(PRINTF('%.14e', price * 10.0) AS REAL))) / 10.0 FROM ship",
        ),
        (
            "duckdb",
            "SELECT round(a, -2) FROM ship",
            "SELECT CAST(ROUND(a / 100.0) * 100.0 AS INTEGER) FROM ship",
        ),
        (
            "postgres",
            "SELECT concat(name, '-', a) FROM ship",
            "SELECT (COALESCE(name, '') || '-' || COALESCE(a, '')) FROM ship",
        ),
        ("mysql", "SELECT concat(name, a) FROM ship", "SELECT name || a FROM ship"),
        ("postgres", "SELECT LEFT(name, 2) FROM ship", "SELECT SUBSTRING(name, 1, 2) FROM ship"),
        (
            "duckdb",
            "SELECT a, count(*), b FROM ship GROUP BY ALL",
            "SELECT a, COUNT(*), b FROM ship GROUP BY 1, 3",
        ),
        ("duckdb", "SELECT sum(a) FROM ship GROUP BY ALL", "SELECT SUM(a) FROM ship"),
        ("mysql", "SELECT IF(a, 1, 2) FROM ship", "SELECT IIF(a, 1, 2) FROM ship"),
        # Days, joins and clauses that SQLite has not.
        (
            "duckdb",
            "SELECT date_diff('day', t, born), dayofweek(t) FROM ship",
            "SELECT CAST((JULIANDAY(born) - JULIANDAY(DATE(t))) AS INTEGER),"
            " CAST(STRFTIME('%w', t) AS INTEGER) FROM ship",
        ),
        (
            "duckdb",
            "SELECT name FROM ship ANTI JOIN sales.ship AS s USING (id)",
            "SELECT name FROM ship WHERE NOT EXISTS(SELECT 1 FROM sales_ship AS s"
            " WHERE s.id = ship.id)",
        ),
        (
            "duckdb",
            "SELECT x.a, y.a FROM ship x JOIN ship y USING (id)"
            " QUALIFY row_number() OVER (ORDER BY id) = 1",
            "SELECT a, a_2 FROM (SELECT x.a, y.a AS a_2, ROW_NUMBER() OVER (ORDER BY id NULLS LAST)"
            " AS _w FROM ship AS x JOIN ship AS y USING (id)) AS _t WHERE _w = 1",
        ),
        (
            "postgres",
            "SELECT a FROM ship WHERE EXISTS (SELECT FROM sales.ship)",
            "SELECT a FROM ship WHERE EXISTS(SELECT 1 FROM sales_ship AS ship)",
        ),
    ],
)
def test_query_is_written_for_sqlite(dialect: str, sql: str, expected: str | None) -> None:
    written = translate(sql, dialect, RENAMING)
    assert written[0] == (expected or sql)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT a FROM", "Expected table name"),
        ("SELECT (", "keyword"),
        ("DELETE FROM ship", "expected one query"),
        ("SELECT 1; SELECT 2", "expected one query"),
        ("", "expected one query"),
    ],
)
def test_what_is_no_query_is_told(sql: str, words: str) -> None:
    with pytest.raises(TranslationError, match=words):
        translate(sql, "postgres", RENAMING)


ROWS = """
CREATE SCHEMA sales;
CREATE TABLE ship (id INTEGER, name VARCHAR, weight DECIMAL(6,2), born DATE, seen TIMESTAMP,
                   ok BOOLEAN, tags VARCHAR[], "index" INTEGER);
INSERT INTO ship VALUES (1, 'Sun', 5.50, '2024-01-31', '2024-01-31 10:00:00', true, ['a'], 1),
    (2, 'Tern', 5.50, '2023-05-01', '2023-05-01', false, ['a', 'b'], 2),
    (3, 'Ant', NULL, NULL, NULL, NULL, NULL, 3);
CREATE TABLE sales.ship (id INTEGER);
INSERT INTO sales.ship VALUES (7);
"""


World = tuple[Comparer, Comparer, Renaming]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A comparer with the engine, one without, and what queries must know of the tables."""
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")
    folder: Path = tmp_path_factory.mktemp("dialects")
    connection = duckdb.connect(str(folder / "a.duckdb"))
    connection.execute(ROWS)
    connection.close()
    with closing(DuckDB.open_file(folder / "a.duckdb")) as engine:
        renaming = read_renaming(engine, convert(engine, folder / "a.sqlite"))
        with (
            Comparer(folder / "a.sqlite", engine) as one,
            Comparer(folder / "a.sqlite", None) as two,
        ):
            yield one, two, renaming


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(weight), avg(weight) / 3 FROM ship",
        "SELECT ok, born, seen FROM ship",
        "SELECT date_trunc('year', seen) FROM ship",  # midnight there, a date here
        "SELECT tags FROM ship",
        "SELECT name FROM ship WHERE name LIKE 'S%'",
        "SELECT born + INTERVAL 1 MONTH FROM ship",
        "SELECT CAST(weight AS INTEGER), round(weight, -1), id / (id - 1) FROM ship WHERE id > 1",
        "SELECT id FROM sales.ship",
        'SELECT "index" FROM ship',  # SQLite reserves the word
        "SELECT name FROM ship ORDER BY weight DESC NULLS LAST",  # two tie
        "SELECT name FROM ship ORDER BY name",
        "SELECT name FROM ship WHERE year(born) = 2024 GROUP BY ALL",
        "SELECT if(ok, 'a', 'b') FROM ship WHERE ok IS NOT NULL",
    ],
)
def test_same_rows_are_no_difference(world: World, sql: str) -> None:
    assert world[0].check(sql, "duckdb", world[2]).differs is None


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT tags[1] FROM ship WHERE id = 1", "cannot be translated: tags[0]: no rule says"),
        ("SELECT nothing FROM ship", "fails in duckdb: Binder Error"),
        ("SELECT unnest(tags) FROM ship", "cannot be translated"),
        ("SELECT current_date", "reads the clock, and nothing says which day it is: --now"),
        ("SELECT id % (id - id) FROM ship", "fails in duckdb: Invalid Input Error: Division by"),
        ("FROM", "cannot be translated: "),
        ("SELECT * FROM read_csv('/etc/passwd')", "cannot be translated"),
    ],
)
def test_difference_has_both_queries_and_rows_or_a_message(
    world: World, sql: str, words: str
) -> None:
    differs = world[0].check(sql, "duckdb", world[2]).differs
    assert differs is not None
    assert (differs["dialect"], differs["source_sql"]) == ("duckdb", sql)
    assert words in (differs.get("error") or differs["detail"])


def test_difference_shows_the_rows_that_the_other_side_lacks(
    world: World,
) -> None:
    sql = "SELECT id, CASE WHEN 0.1 + 0.2 = 0.3 THEN 1 ELSE 2 END FROM ship"  # of decimals
    differs = world[0].check(sql, "duckdb", world[2]).differs
    assert differs is not None
    assert (differs["there"], differs["here"]) == (
        [[1, 1], [2, 1], [3, 1]],
        [[1, 2], [2, 2], [3, 2]],
    )
    assert differs["detail"] == "3 rows there, 3 here"


def test_order_counts_where_no_rows_tie(world: World) -> None:
    sql = "SELECT name FROM ship ORDER BY CASE WHEN 0.1 + 0.2 = 0.3 THEN id ELSE -id END"
    differs = world[0].check(sql, "duckdb", world[2]).differs
    assert differs is not None
    assert differs["detail"] == "3 rows there, 3 here, in another order"


def test_without_its_engine_nothing_is_held(world: World) -> None:
    _, alone, renaming = world
    for sql, words in (
        ("SELECT name FROM ship", "was not compared: no engine of snowflake is at hand"),
        ("SELECT DATEDIFF(month, born, seen) FROM ship", "was not compared"),
        ("SELECT name FROM ship SAMPLE (10)", "cannot be translated"),
    ):
        differs = alone.check(sql, "snowflake", renaming).differs
        assert differs is not None
        assert words in differs["error"]

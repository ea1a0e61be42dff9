"""What SQLite passes over round one statement is passed over by whatever reads queries."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from answerkey.engines.database import QueryError
from answerkey.engines.gold_answers import answer_query
from answerkey.engines.schema import Column, Schema, Table
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.statement import trim_statement
from answerkey.reward import score_sql
from answerkey.sql.parsed_query import parse_query
from answerkey.sql.query_tree import parse_sql

SQL = "SELECT name /* ; */ FROM ship -- ;\nWHERE name <> ';--/*'"
BEFORE = ["", ";", " ;\n; ", "\ufeff", "\ufeff; ", "-- it's\n", "/* ; */", "/**/;/*/ */\n", "--\n"]
AFTER = [
    *("", ";", ";;", "; ;\n;", "; /* x */", " -- x", "; -- it's", "; /* it's */ ; --"),
    *("/* no end", "; /* no end ;", "\ufeff", "; \ufeff", "/*/", "--", ";\n\n-- a\n-- b\n;"),
]


@pytest.mark.parametrize(("before", "after"), [*product(BEFORE, AFTER)])
def test_what_stands_round_a_statement_is_passed_over(before: str, after: str) -> None:
    assert trim_statement(f"{before}{SQL}{after}") == SQL


@pytest.mark.parametrize(
    "sql",
    [
        *("SELECT 1; SELECT 2", "SELECT 1 /*", "SELECT 1 -", "SELECT 1 /", "SELECT 'a", "SELECT ["),
        *(
            "SELECT 1\v",
            "SELECT 1;\v",
            "SELECT 1;\xa0",
            "SELECT '--';'",
            "SELECT 1; /* x */ SELECT 2",
        ),
    ],
)
def test_what_sqlite_refuses_stays_for_sqlite_to_refuse(ships: Path, sql: str) -> None:
    assert trim_statement(sql) == sql
    with GuardedDatabase(ships / "ships/ships.sqlite") as database, pytest.raises(QueryError):
        database.execute(sql)


@pytest.mark.parametrize("sql", ["", ";", "-- x", "/* x", " \n;\ufeff"])
def test_text_without_a_statement_is_none(sql: str) -> None:
    assert trim_statement(sql) == ""


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["'", '"', "`", "[", "/*", "-", "/", "; ", "'[\"`"])
def test_time_grows_with_the_length_alone(mark: str) -> None:
    """Quadratic, it would take hours."""
    trim_statement(f"SELECT 1;{mark * 1_000_000}")


@pytest.mark.parametrize(("before", "after"), [*product(BEFORE[1:], [""]), *product([""], AFTER)])
def test_query_is_the_same_to_whatever_reads_it(ships: Path, before: str, after: str) -> None:
    sql = f"{before}{SQL}{after}"
    assert parse_sql(sql) == parse_sql(SQL)
    schema = Schema((Table("ship", False, (Column("name", "TEXT", False, 0),)),))
    assert parse_query(sql, schema) == parse_query(SQL, schema)
    path = ships / "ships/ships.sqlite"
    with GuardedDatabase(path) as database:
        answer = answer_query(database, sql)
        assert answer == answer_query(database, SQL)
        assert answer["gold_answer"] == ["Sun", "Tern"]
        assert database.list_reads(sql) == {("ship", "name")}
    assert score_sql(sql, ["Sun", "Tern"], database_name="ships", order_matters=False) == 1.0

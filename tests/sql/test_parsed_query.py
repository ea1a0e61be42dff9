"""parsed_query: what is known of a query, or the reason why nothing is."""

from __future__ import annotations

import pytest

from answerkey.dataset import Reason
from answerkey.sql.parsed_query import parse_query
from answerkey.sqlite.schema import Column, Schema, Table


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT FROM WHERE",
        "SELECT 'never ends",
        "DELETE FROM ship",
        "SELECT 1; SELECT 2",
        "SELECT 1 IN (1) COLLATE nocase",
        'SELECT char("")',
        "SELECT 1 WHERE 0 = +id",
    ],
)
def test_query_that_the_parser_does_not_know_gets_a_reason(sql):
    parsed = parse_query(sql, Schema(()))
    assert parsed["reason"] == Reason.UNPARSABLE_SQL
    assert parsed["detail"]
    assert "\n" not in parsed["detail"]
    assert set(parsed) == {"reason", "detail"}


SHIP = Table("ship", False, tuple(Column(name, "INT", False, 0) for name in "abcde"))


def chain(start: str, step: str, steps: int) -> str:
    """WITH of so many tables, each of which reads the one before."""
    tables = [f"t0 AS ({start})", *(f"t{n + 1} AS ({step.format(f't{n}')})" for n in range(steps))]
    return "WITH " + ", ".join(tables)


def nest(before: str, inner: str, after: str, times: int) -> str:
    return before * times + inner + after * times


@pytest.mark.parametrize(
    ("sql", "detail"),
    [
        ("SELECT '" + "x" * 100_000 + "'", "more than 100000 bytes"),
        ("SELECT a FROM ship WHERE " + " OR ".join(["a = 1"] * 4000), "more than 2000 tokens"),
        (" UNION ".join(["SELECT a FROM ship"] * 600), "more than 2000 tokens"),
        ("SELECT a FROM ship WHERE a IN (" + ", ".join("1" * 9000) + ")", "more than 2000 tokens"),
        ("SELECT " + "NOT " * 20_000 + "1", "more than 2000 tokens"),
        (
            chain("SELECT * FROM ship", "SELECT * FROM {0}, {0} AS u", 9) + " SELECT a FROM ship",
            "more than 1000 columns of one SELECT",
        ),
        ("SELECT " + ", ".join("*" * 300) + " FROM ship", "more than 1000 columns of one SELECT"),
        ("SELECT " + "NOT " * 1900 + "1", "nested too deeply for the parser"),
        ("SELECT " + nest("(", "1", ")", 900), "nested too deeply for the parser"),
        ("SELECT " + " + 1 - ".join("1" * 490), "nested too deeply for the parser"),
        ("SELECT " + nest("abs(", "a", ")", 600), "nested too deeply for the parser"),
        (
            chain("SELECT 1", "SELECT * FROM {0}", 210) + " SELECT * FROM t210",
            "nested too deeply for the parser",
        ),
    ],
)
def test_query_that_no_stage_could_read_in_time_is_too_complex(sql, detail):
    parsed = parse_query(sql, Schema((SHIP,)))
    assert parsed == {"reason": Reason.TOO_COMPLEX, "detail": detail}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM ship WHERE " + " OR ".join(f"a = {n}" for n in range(490)),
        "SELECT a FROM ship WHERE a IN (" + ", ".join(map(str, range(990))) + ")",
        chain("SELECT * FROM ship", "SELECT * FROM {0}, {0} AS u", 7) + " SELECT * FROM t7",
        "SELECT " + ", ".join("*" * 200) + " FROM ship",
        "SELECT " + " || ".join("a" * 480) + " AS z FROM ship ORDER BY " + ", ".join("z" * 480),
    ],
)
def test_query_of_any_use_is_within_the_bounds_and_its_forms_are_not_much_longer(sql):
    parsed = parse_query(sql, Schema((SHIP,)))
    assert max(len(parsed["canonical_sql"]), len(parsed["template"])) < 5 * len(sql) + 1000


def test_parsed_query_has_all_that_later_stages_take():
    schema = Schema((Table("Ship", False, ()),))
    parsed = parse_query("SELECT name FROM ship WHERE id > 3", schema)
    assert list(parsed) == [
        "tables_involved",
        "columns_involved",
        "features",
        "hardness",
        "canonical_sql",
        "template",
    ]
    assert parsed["tables_involved"] == ["Ship"]
    assert parsed["features"] == ["where"]
    assert parsed["hardness"] == "easy"

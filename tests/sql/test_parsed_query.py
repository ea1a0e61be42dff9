"""parsed_query: what is known of a query, or the reason why nothing is."""

from __future__ import annotations

import pytest

from answerkey.core.reasons import Reason
from answerkey.sql.parsed_query import parse_query
from answerkey.sqlite.schema import Schema, Table


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
        "SELECT " + "NOT " * 50_000 + "1",
        "WITH a0 AS (SELECT 1)"
        + "".join(f", a{n + 1} AS (SELECT * FROM a{n})" for n in range(2000))
        + " SELECT * FROM a2000",
    ],
)
def test_query_that_the_parser_does_not_know_gets_a_reason(sql):
    parsed = parse_query(sql, Schema(()))
    assert parsed["reason"] == Reason.UNPARSABLE_SQL
    assert parsed["detail"]
    assert "\n" not in parsed["detail"]
    assert set(parsed) == {"reason", "detail"}


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

"""Rewrites of a query leave its tree as it is."""

import pytest
from sqlglot import exp

from answerkey.sql.parser import parse_sql
from answerkey.sql.query_rewrites import make_limit, write_with


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

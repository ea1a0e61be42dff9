"""sql_features: which parts of SQL a query uses."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from answerkey.sql.parsed_query import FEATURES, has_top_level_order, list_features

CASES = [
    ("SELECT a FROM t", []),
    ("SELECT a FROM t WHERE b = 1 OR c = 2", ["or", "where"]),
    ("SELECT a FROM t, u", ["join"]),
    ("SELECT a FROM t NATURAL LEFT JOIN u", ["join", "left_join"]),
    ("SELECT a FROM t RIGHT JOIN u USING (a)", ["join"]),
    ("SELECT a FROM (t JOIN u ON 1)", ["join"]),
    ("SELECT DISTINCT a FROM t", ["distinct"]),
    ("SELECT count(DISTINCT a) FROM t", ["aggregate", "distinct"]),
    ("SELECT total(a) FROM t", ["aggregate"]),
    ("SELECT group_concat(a) FROM t GROUP BY b HAVING 1", ["aggregate", "group_by", "having"]),
    ("SELECT max(a, b) FROM t", []),
    ("SELECT sum(a) FILTER (WHERE b) FROM t", ["aggregate", "where"]),
    ("SELECT sum(a) OVER () FROM t", ["window"]),
    ("SELECT sum(a) FILTER (WHERE b) OVER () FROM t", ["where", "window"]),
    ("SELECT row_number() OVER (ORDER BY a) FROM t", ["order_by", "window"]),
    ("SELECT sum(sum(a)) OVER () FROM t", ["aggregate", "window"]),
    ("SELECT a FROM t ORDER BY a LIMIT 3", ["limit", "order_by"]),
    ("SELECT a FROM t LIMIT 2, 3", ["limit", "offset"]),
    ("SELECT a FROM t LIMIT 3 OFFSET 2", ["limit", "offset"]),
    ("SELECT a IS NULL FROM t", ["null_test"]),
    ("SELECT a NOTNULL FROM t", ["null_test"]),
    ("SELECT a IS 3 FROM t", []),
    ("SELECT a FROM t WHERE a NOT LIKE 'x%'", ["like", "where"]),
    ("SELECT a NOT BETWEEN 1 AND 2 FROM t", ["between"]),
    ("SELECT a IN (1, 2) FROM t", ["in"]),
    ("SELECT a IN t FROM t", ["in"]),
    ("SELECT CASE WHEN a THEN 1 END FROM t", ["case"]),
    ("SELECT a FROM t UNION ALL SELECT a FROM u", ["union"]),
    ("SELECT a FROM t INTERSECT SELECT a FROM u EXCEPT SELECT 1", ["except", "intersect"]),
    ("WITH c AS (SELECT a FROM t) SELECT a FROM c", ["cte"]),
    ("WITH c AS (SELECT 1 UNION SELECT 2) SELECT * FROM c", ["cte", "union"]),
    ("SELECT a FROM t WHERE a IN (SELECT b FROM u)", ["in", "nested_query", "where"]),
    ("SELECT EXISTS (SELECT 1)", ["exists", "nested_query"]),
    ("SELECT a FROM (SELECT a FROM t UNION SELECT 1)", ["nested_query", "union"]),
    ("SELECT (SELECT 1)", ["nested_query"]),
    ("VALUES ((SELECT 1))", ["nested_query"]),
    ("SELECT 'WHERE a LIKE b OR c' FROM t", []),
]


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_features_are_what_the_query_uses(sql, expected):
    assert list_features(parse_one(sql, read="sqlite")) == expected


def test_every_feature_has_a_case_and_no_other_is_named():
    assert {feature for _, expected in CASES for feature in expected} == set(FEATURES)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t", False),
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM t UNION SELECT a FROM u ORDER BY 1", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a)", False),
        ("WITH c AS (SELECT a FROM t ORDER BY a) SELECT a FROM c", False),
        ("SELECT row_number() OVER (ORDER BY a) FROM t", False),
        ("SELECT (SELECT a FROM t ORDER BY a LIMIT 1)", False),
    ],
)
def test_rows_come_as_a_sequence_only_by_the_outermost_order(sql, expected):
    assert has_top_level_order(parse_one(sql, read="sqlite")) is expected

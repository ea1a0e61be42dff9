"""The parser that is set up once gives the trees of one that is set up for each query."""

import pytest
import sqlglot
from sqlglot.errors import SqlglotError

from stages.sql.parser import parse_sql, tokenize_sql

QUERIES = [
    "SELECT name, count(*) FROM ship AS T1 WHERE id IN (SELECT 1) GROUP BY 1 ORDER BY 2 LIMIT 3",
    'WITH c(a) AS (VALUES (1), (2)) SELECT a FROM c UNION SELECT "b" FROM [t] -- done',
    "SELECT json_extract(a, '$.b[0]'), CAST(x AS REAL) FROM t;",
    "SELECT 1; SELECT 2",
]
BROKEN = ["", "SELECT FROM WHERE", "SELECT 'no end", "SELECT (1", "/* no end"]


def describe(parse, sql: str) -> str:
    """The tree in full; or the error, where there is none."""
    try:
        return repr(parse(sql))
    except SqlglotError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("before", [*QUERIES, *BROKEN])
@pytest.mark.parametrize("sql", [*QUERIES, *BROKEN])
def test_tree_does_not_depend_on_what_was_parsed_before(before, sql):
    describe(parse_sql, before)
    expected = describe(lambda text: sqlglot.parse_one(text, read="sqlite"), sql)
    assert describe(parse_sql, sql) == expected


@pytest.mark.parametrize("sql", QUERIES)
def test_tokens_are_those_of_sqlglot(sql):
    assert repr(tokenize_sql(sql)) == repr(sqlglot.tokenize(sql, read="sqlite"))

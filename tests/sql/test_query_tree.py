"""Trees of queries, and their rewrites, which leave the tree as it is."""

import sqlite3
from contextlib import closing

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from answerkey.engines.sqlite.statement import trim_statement
from answerkey.sql.query_tree import make_limit, parse_sql, sql_dialect, to_sql, write_with

QUERIES = [
    "SELECT name, count(*) FROM ship AS T1 WHERE id IN (SELECT 1) GROUP BY 1 ORDER BY 2 LIMIT 3",
    'WITH c(a) AS (VALUES (1), (2)) SELECT a FROM c UNION SELECT "b" FROM [t] -- done',
    "SELECT json_extract(a, '$.b[0]'), CAST(x AS INTEGER), a - -1, (a) + b, NOT a GLOB 1 FROM t;",
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
    dialect = sql_dialect()
    expected = describe(lambda text: sqlglot.parse_one(trim_statement(text), read=dialect), sql)
    assert describe(parse_sql, sql) == expected


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        ("STRING", "NUM"),
        ("DECIMAL(5, 2)", "NUM"),
        ("unsigned big int", "INTEGER"),
        ("DOUBLE PRECISION", "REAL"),
        ('"my blob"', "BLOB"),
    ],
)
def test_type_of_a_cast_is_its_affinity(declared, kept):
    shown = "SELECT typeof(CAST('1.50' AS {})), CAST(7 AS {}) = '7'"
    tree = parse_sql(f"SELECT CAST(CAST(a AS {declared}) AS {declared}) FROM t")
    assert to_sql(tree) == f"SELECT CAST(CAST(a AS {kept}) AS {kept}) FROM t"
    with closing(sqlite3.connect(":memory:")) as connection:
        answers = [connection.execute(shown.format(t, t)).fetchall() for t in (declared, kept)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("sql", ["SELECT a -> FROM t", "SELECT ->>", 'SELECT char("")'])
def test_failure_inside_the_parser_is_an_error_of_the_text(sql):
    with pytest.raises(ParseError, match="parser fails"):
        parse_sql(sql)


# --- rewrites of a query leave its tree as it is


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
    ],
)
def test_query_has_its_own_clauses_again_after_it_was_written_with_others(sql, clauses, expected):
    query = parse_sql(sql)
    before = repr(query), list(map(id, query.walk())), list(query.args)
    assert write_with(query, **clauses) == expected
    assert (repr(query), list(map(id, query.walk())), list(query.args)) == before
    assert all(node.parent is query for node in query.iter_expressions())


SPELLINGS_THAT_DIFFER = [
    ("mod(tons, 2)", "tons % 2"),
    ("MOD(tons + 1, crew) * 2", "(tons + 1) % crew * 2"),
    ("Mod (tons, 2)", "CAST(tons AS INTEGER) % CAST(2 AS INTEGER)"),
    ("log10(crew)", "log(10, crew)"),
    ("log2(crew)", "log(2, crew)"),
    ("papers -> 'a.b'", "papers -> '$.a.b'"),
    ("papers ->> 'a.b'", "papers ->> '$.a.b'"),
    ("'tons' 'name'", "'tons' || 'name'"),
    ("tons / 2", "tons / 2.0"),
    ("CAST(tons AS INTEGER)", "round(tons)"),
    ("name LIKE 'a%'", "name GLOB 'a*'"),
    ("name || note", "name || coalesce(note, '')"),
    ("total(crew)", "sum(crew)"),
    ("max(tons, crew)", "max(tons)"),
    ("substr(name, 0, 2)", "substr(name, 1, 2)"),
    ("round(tons)", "round(tons, 1)"),
    ("strftime('%Y', day)", "date(day)"),
    ("tons IS NOT 2.5", "tons <> 2.5"),
]


@pytest.mark.parametrize(("left", "right"), SPELLINGS_THAT_DIFFER)
def test_what_sqlite_computes_otherwise_is_another_query(left, right):
    texts = [to_sql(parse_sql(f"SELECT {shown} FROM ship")) for shown in (left, right)]
    assert texts[0] != texts[1]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(FLEET)
        for shown, text in zip((left, right), texts, strict=True):
            try:
                rows = connection.execute(f"SELECT {shown} FROM ship").fetchall()
            except sqlite3.OperationalError:  # an SQLite without mathematical functions
                continue
            assert connection.execute(text).fetchall() == rows


FLEET = """
CREATE TABLE ship (name TEXT, note TEXT, tons REAL, crew INTEGER, day TEXT, papers TEXT);
INSERT INTO ship VALUES ('Ada', NULL, 5.5, 1000, '2020-01-31', '{"a.b": 1, "a": {"b": 2}}');
INSERT INTO ship VALUES ('bo', 'x', -2.5, 7, '0001-01-01', '{"a": {"b": [3]}}');
INSERT INTO ship VALUES ('', '', NULL, 0, NULL, NULL);
"""


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("crew <> 7", "crew != 7"),
        ("crew == 7", "crew = 7"),
        ("ifnull(tons, 0)", "coalesce(tons, 0)"),
        ("substr(name, 2)", "substring(name, 2)"),
        ("note ISNULL", "note IS NULL"),
        ("pow(crew, 2)", "power(crew, 2)"),
        ("CAST(tons AS INT)", "CAST(tons AS BIGINT)"),
    ],
)
def test_what_sqlite_computes_alike_is_one_query(left, right):
    texts = [to_sql(parse_sql(f"SELECT {shown} FROM ship")) for shown in (left, right)]
    assert texts[0] == texts[1]

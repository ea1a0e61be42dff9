"""SQL on the page: its lines, its colours, and what differs between two queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from answerkey.report.page import read_scripts

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    page = context.new_page()
    page.add_script_tag(content=read_scripts(("elements.js", "sql.js")))
    yield page
    context.close()


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT a, 'from b' FROM t", "SELECT a, 'from b'\nFROM t"),
        ("SELECT a FROM t LEFT OUTER JOIN u", "SELECT a\nFROM t\nLEFT OUTER JOIN u"),
        (
            "SELECT a FROM t WHERE b = (SELECT max(b) FROM u) ORDER BY a",
            "SELECT a\nFROM t\nWHERE b = (\n  SELECT max(b)\n  FROM u\n)\nORDER BY a",
        ),
        (
            "SELECT a FROM t WHERE b = 1 AND (c OR d) OR e BETWEEN 1 AND (2) AND f",
            "SELECT a\nFROM t\nWHERE b = 1\n  AND (c OR d)\n  OR e BETWEEN 1 AND (2)\n  AND f",
        ),
        (
            "SELECT CASE WHEN a AND b THEN 1 END FROM t JOIN u ON c AND d",
            "SELECT CASE WHEN a AND b THEN 1 END\nFROM t\nJOIN u ON c\n  AND d",
        ),
        (
            "SELECT a WHERE b IN (SELECT c WHERE d AND e)",
            "SELECT a\nWHERE b IN (\n  SELECT c\n  WHERE d\n    AND e\n)",
        ),
        (
            "SELECT a WHERE (b > (SELECT max(c) FROM u) AND d)",
            "SELECT a\nWHERE (b > (\n    SELECT max(c)\n    FROM u\n  ) AND d)",
        ),
        ("SELECT substr(a FROM 2)", "SELECT substr(a FROM 2)"),
        (
            "SELECT a WHERE b = 'case' AND c = \"between\" AND d",
            "SELECT a\nWHERE b = 'case'\n  AND c = \"between\"\n  AND d",
        ),
        ("SELECT a -- of b\nFROM t", "SELECT a -- of b\nFROM t"),
        ("SELECT a /* FROM b */ FROM t", "SELECT a /* FROM b */\nFROM t"),
        ("SELECT count ( * )", "SELECT count ( * )"),
        ("SELECT ')", "SELECT ')"),
        ("SELECT a) FROM t", "SELECT a)\nFROM t"),
        ("SELECT größe FROM `a b` WHERE [c d] = .5", "SELECT größe\nFROM `a b`\nWHERE [c d] = .5"),
        ("", ""),
    ],
)
def test_sql_has_a_line_for_each_clause_and_differs_in_white_space_alone(
    page: Any, sql: str, shown: str
) -> None:
    assert page.evaluate("laidOut", sql) == shown
    assert "".join(shown.split()) == "".join(sql.split())
    assert page.evaluate("(sql) => showSql(sql).textContent", sql) == shown


def test_keywords_text_and_numbers_have_colours(page: Any) -> None:
    spans = "[...showSql(sql).querySelectorAll('span')]"
    show = f"(sql) => {spans}.map((span) => [span.textContent, span.className])"
    assert dict(page.evaluate(show, "SELECT 'from', 4.5 AS \"and\" FROM t")) == {
        **{"SELECT": "sql-k", "AS": "sql-k", "FROM": "sql-k"},
        **{"'from'": "sql-s", "4.5": "sql-n"},
    }


JOINED = "SELECT T1.name FROM ship AS T1 JOIN crew AS T2 ON T1.id = T2.ship"


@pytest.mark.parametrize(
    ("sql", "other", "marked"),
    [
        # Spelling, quotes, aliases and names of columns say the same.
        ("SELECT name FROM ship", 'select "name" from `ship`;', ([], [])),
        (JOINED, "SELECT a.name FROM ship a INNER JOIN crew b ON a.id = b.ship", ([], [])),
        ("SELECT count(*) FROM ship", "SELECT COUNT(*) AS n FROM ship AS s", ([], [])),
        ("SELECT kg FROM ship WHERE kg <> 7", "SELECT s.kg FROM ship s WHERE s.kg != 7", ([], [])),
        ("SELECT a FROM t, u", "SELECT a FROM t AS x CROSS JOIN u AS y", ([], [])),
        ("SELECT name FROM ship ORDER BY kg ASC", "SELECT name FROM ship ORDER BY kg", ([], [])),
        # A value, a clause, a column, a table and one of two uses of a table do not.
        (
            "SELECT name FROM ship WHERE flag = 'USA'",
            "SELECT name FROM ship WHERE flag = 'us'",
            (["'USA'"], ["'us'"]),
        ),
        ("SELECT name FROM ship", "SELECT DISTINCT name FROM ship", ([], ["DISTINCT"])),
        (
            f"{JOINED} GROUP BY T1.name",
            f"{JOINED} GROUP BY T1.id",
            (["name"], ["id"]),
        ),
        (JOINED, JOINED.replace("SELECT T1", "SELECT T2"), (["name"], ["name"])),
        (
            "SELECT T1.name FROM ship AS T1 JOIN ship AS T2 ON T1.id = T2.next",
            "SELECT T2.name FROM ship AS T1 JOIN ship AS T2 ON T1.id = T2.next",
            (["name"], ["name"]),
        ),
        (
            "SELECT name FROM ship",
            "SELECT name FROM ship WHERE kg = 7",
            ([], ["WHERE kg = 7"]),
        ),
    ],
)
def test_what_differs_is_marked_and_spelling_is_not(
    page: Any, sql: str, other: str, marked: tuple[list[str], list[str]]
) -> None:
    marks = "[...showSql(sql, other).querySelectorAll('mark')]"
    show = f"([sql, other]) => {marks}.map((mark) => mark.textContent)"
    found = tuple(page.evaluate(show, pair) for pair in ([sql, other], [other, sql]))
    assert found == marked


def test_queries_of_any_length_are_shown(page: Any) -> None:
    long = "SELECT " + ", ".join(f"c{number}" for number in range(3000)) + " FROM t"
    show = "([sql, other]) => showSql(sql, other).querySelectorAll('mark').length"
    assert page.evaluate(show, [long, long.replace("c1,", "d,")]) == 0, "too long to compare"

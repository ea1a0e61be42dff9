"""answerkey.scoring.completions: the text of any completion, and its query, in little time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.exports.prompts import make_completion
from answerkey.scoring.completions import (
    explain_fence,
    explain_no_query,
    extract_sql,
    read_completion,
)

ASSISTANT = {"role": "assistant"}


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("a", "a"),
        (None, ""),
        ([], ""),
        ({**ASSISTANT, "content": "a"}, "a"),
        ([{**ASSISTANT, "content": "a"}, {**ASSISTANT, "content": "b"}], "b"),
        ([{**ASSISTANT, "content": None}], ""),
        ([{**ASSISTANT, "tool_calls": []}], ""),
        ([{**ASSISTANT, "content": ["a", {"type": "text", "text": "b"}]}], "ab"),
        ([{**ASSISTANT, "content": [{"type": "image"}, {"type": "text", "text": None}]}], ""),
        ([{**ASSISTANT, "content": [None, 3, ["c"], b"d", "a"]}], "a"),
        ([{**ASSISTANT, "content": [{"type": "text", "text": 3}, {"type": []}]}], ""),
        ({"content": object()}, ""),
        (3, ""),
    ],
)
def test_completion_of_any_shape_is_read(completion, text):
    assert read_completion(completion) == text


@pytest.mark.parametrize(
    ("completion", "sql"),
    [
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("```SQL\r\nSELECT 1\r\n```", "SELECT 1"),
        ("```\nSELECT 1,\n       2\n```", "SELECT 1,\n       2"),
        ("```python\nrun()\n```\nor ```sql\nSELECT 1\n```", "SELECT 1"),
        ("```sql\nSELECT 1\n```\n```python\nrun()\n```", "SELECT 1"),
        ("```sql\nSELECT 0\n```\nno: ```\n```SQLite\nSELECT 1\n```", "SELECT 1"),
        ("```sql\nSELECT 1\n```SQLAlchemy runs it.", "SELECT 1"),
        ("```sql\nDELETE FROM a\n```\n```sql\nDROP b\n```\n```\nc\n```", "DROP b"),
        ("```sql-server\nSELECT 1\n```", None),
        ("SELECT 1", None),
        ("```sql\n```", None),
        ("", None),
        ("````sql\nSELECT '```' -- ```sql\n````", "SELECT '```' -- ```sql"),
        ("A fence ```` alone, then\n```sql\nSELECT 1\n```", "SELECT 1"),
    ],
)
def test_query_is_the_last_fenced_block(completion, sql):
    assert extract_sql(completion) == sql


@pytest.mark.parametrize(
    ("completion", "sql"),
    [
        ("<think>```sql\nSELECT 0\n```</think>", None),
        ("```sql\nSELECT 0\n```</think>```sql\nSELECT 1\n```", "SELECT 1"),
        ("<think>```sql\nSELECT 0\n```", None),
        ("```sql\nSELECT 1\n```<think>```sql\nSELECT 2\n```", "SELECT 1"),
        ("<think>in a ``` block</think>\n```sql\nSELECT 1\n```", "SELECT 1"),
    ],
)
def test_thinking_is_no_answer(completion, sql):
    assert extract_sql(completion) == sql


@pytest.mark.parametrize(
    "completion",
    [
        "~~~\nSELECT 1\n~~~~",
        "~~~~sql SELECT 1~~~~",
        "```MySQL\nSELECT 1\n```",
        "``` sqlite3 \r\nSELECT 1\r\n```",
        "```SELECT 1```",
        "Approximately ~~~ 5 rows.\n```sql\nSELECT 1\n```",
    ],
)
def test_fence_may_be_written_in_many_ways(completion):
    assert extract_sql(completion) == "SELECT 1"


@pytest.mark.parametrize(
    ("completion", "sql"),
    [
        ("```sql SELECT 1", "SELECT 1"),
        ("```\nSELECT 1", "SELECT 1"),
        ("```sql\nSELECT 0\n```\nBetter:\n```sql\nSELECT 1", "SELECT 1"),
        ("```sql\nSELECT 1\n```\nIt gives\n```\n1", "SELECT 1"),
        ("```sql\nSELECT 1\n```\n```sql\n-- The", "SELECT 1"),
        ("````sql\nSELECT '```', 1", "SELECT '```', 1"),
        ("```sql\nDELETE FROM ship", "DELETE FROM ship"),
        ("```\nNo query", None),
        ("```sql", None),
    ],
)
def test_fence_that_is_cut_off_counts(completion, sql):
    assert extract_sql(completion) == sql


@pytest.mark.parametrize(
    "other",
    [
        "~~~\nError: no such column: selected\n~~~",
        "```sql\n| n |\n| 1 |\n```",
        "```\n\n```",
        "```text\nSELECT 2\n```",
        "Use ```sql for such a block.",
    ],
)
def test_what_is_no_query_replaces_none(other):
    assert extract_sql(f"```sql\nSELECT 1\n```\n{other}") == "SELECT 1"
    assert extract_sql(f"```\nSELECT 1\n```\n{other}") == "SELECT 1"


@pytest.mark.parametrize(
    "sql",
    [
        "with n AS (SELECT 1) SELECT * FROM n",
        "VALUES (1)",
        "-- one\n-- and one\n((SELECT 1))",
        "/* `a` */SELECT 1",
        "\ufeffSELECT 1",
    ],
)
def test_block_without_a_label_counts_if_it_begins_like_a_query(sql):
    assert extract_sql(f"```sql\nSELECT 0\n```\n```\n{sql}\n```\n```sql\nno query\n```") == sql


PIECES = st.sampled_from(
    ["`", "``", "```", "~~~", "sql", "```sql", " ", "\n", "\r\n", "'", "--", "/*", "*/", "(", "é"]
)


@given(
    begin=st.sampled_from(["SELECT ", "(select ", "-- a\nWITH ", "/* ``` */ VALUES "]),
    rest=st.lists(PIECES, max_size=12).map("".join),
)
def test_completion_of_any_query_has_that_query(begin, rest):
    gold_sql = f"{begin}{rest}1"
    (message,) = make_completion(gold_sql)
    assert extract_sql(message["content"]) == gold_sql


MEGABYTE = 1_000_000


def repeat(unit: str) -> str:
    return unit * (MEGABYTE // len(unit))


def shorten_fences(unit: str) -> str:
    """Fences of which none is closed, for each is longer than those behind it."""
    return "".join("`" * length + unit for length in range(1200, 3, -1))


@pytest.mark.parametrize(
    "text",
    [
        *map(repeat, ("`", "~", "`x", "```", "```sql", "```sql\n", "``` ", "```~~~", "<think>")),
        *map(repeat, ("/**/", "</think>", "```/*", "```sql--", "```(", "```sql\nSELECT 1\n```")),
        *("```" + repeat(unit) for unit in ("x", " ", "\n", "/**/", "--\n", "/*", "(", "~~")),
        *("```sql" + repeat(unit) for unit in ("x", " ", "\n", "/**/", "--\n", "/*", "(", "~~")),
        *(f"```{repeat(' ')}sql{end}" for end in ("", "\n")),
        *map(shorten_fences, ("x", "sql\n", "sql--", "/*", "sql/*", "sql-- */ /*\n")),
        shorten_fences("/*")[: MEGABYTE // 3] + repeat("*//*"),
        shorten_fences("sql -- */ /*\n")[: MEGABYTE // 3] + repeat("-- */ /*\n"),
        shorten_fences("x")[: MEGABYTE // 3] + "``` " * 15_000 + "`" * 1201 + "sql",
    ],
    ids=lambda text: f"{text[:12]!r}-{text[-12:]!r}",
)
def test_hostile_text_takes_no_time(text):
    started = time.process_time()
    extract_sql(text)
    assert time.process_time() - started < 2  # some hundredths; quadratic, it would be minutes


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "no SQL: the prediction is null"),
        ("", "the text is empty"),
        (" \n", "the text is empty"),
        ("SELECT 1", "the text begins as SQL does, without a fence"),
        ("-- the ships\n(with a AS (SELECT 1) SELECT * FROM a)", "begins as SQL does, without a"),
        ("<think>No.</think>SELECT 1", "the text begins as SQL does, without a fence"),
        ("I do not know.", "there is no fence (```sql) in 'I do not know.'"),
        ("No. " * 1000, f"there is no fence (```sql) in '{'No. ' * 20}…'"),
        ("<think>```sql\nSELECT 1\n```", "nothing stands outside of <think>"),
        ("<think>```sql\nSELECT 1\n```</think>", "nothing stands outside of <think>"),
        ("```python\nprint(1)\n```", "no block begins with SELECT, WITH or VALUES, or is labelled"),
        ("```sql\n```", "no block begins with SELECT, WITH or VALUES, or is labelled as SQL"),
        ("``` " * 2000, "there are more than 1,000 fences"),
    ],
)
def test_text_without_a_query_says_what_it_lacks(text, why):
    assert text is None or extract_sql(text) is None
    assert why in explain_no_query(text)


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_sql_in_a_fence_is_said_to_be_a_completion(fence):
    assert "is a `completion`" in explain_fence(f"{fence}sql\nSELECT 1\n{fence}")
    assert "is a `completion`" in explain_fence(f"Here:\n{fence}\nSELECT 1")
    assert explain_fence("SELECT '```'") == explain_fence(f"{fence}") == ""

"""The clock in gold SQL of another engine: the same instant there and here, or no comparison."""

from __future__ import annotations

import re

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

# What is read without parentheses, too, and what with them alone.
_WORDS = {TokenType.CURRENT_DATE: "DATE", TokenType.CURRENT_TIMESTAMP: "TIMESTAMP"}
_WORDS |= {TokenType.LOCALTIMESTAMP: "TIMESTAMP", TokenType.CURRENT_DATETIME: "TIMESTAMP"}
_CALLS = {
    **dict.fromkeys(("current_date", "today", "curdate"), "DATE"),
    **dict.fromkeys(("current_timestamp", "now", "localtimestamp"), "TIMESTAMP"),
    **dict.fromkeys(("transaction_timestamp", "statement_timestamp"), "TIMESTAMP"),
    **dict.fromkeys(("get_current_timestamp", "current_localtimestamp"), "TIMESTAMP"),
}
_NAMES = {"DATE": "CURRENT_DATE", "TIMESTAMP": "CURRENT_TIMESTAMP"}


def name_clock(sql: str, dialect: str) -> tuple[str, bool]:
    """Return a query with the two names that SQLite has for the clock, and whether it reads it.

    >>> name_clock("SELECT now() - x, today() FROM t -- now()", "duckdb")
    ('SELECT CURRENT_TIMESTAMP - x, CURRENT_DATE FROM t -- now()', True)
    """
    places = _find_clock(sql, dialect)
    return _replace(sql, places, _NAMES), bool(places)


def hint_at_now(sql: str, dialect: str) -> str:
    """Return which option sets the clock, for a query that reads it; else an empty text."""
    return "; --now 2025-01-30 says which day it is" if name_clock(sql, dialect)[1] else ""


def set_clock(sql: str, dialect: str, now: str) -> str:
    """Return a query that has an instant in the place of the clock. `now` is as
    `answerkey.engines.sqlite.clock.read_instant` writes it; SQLite's clock shows whole seconds.

    >>> set_clock("SELECT a FROM t WHERE d > CURRENT_DATE - 7", "postgres", "2025-01-30 09:30:00")
    "SELECT a FROM t WHERE d > (DATE '2025-01-30') - 7"
    """
    day, _, time = now.partition(" ")
    time = re.sub(r"\..*", "", time) or "00:00:00"
    values = {"DATE": f"(DATE '{day}')", "TIMESTAMP": f"(TIMESTAMP '{day} {time}')"}
    return _replace(sql, _find_clock(sql, dialect), values)


def _find_clock(sql: str, dialect: str) -> list[tuple[int, int, str]]:
    """Where a query reads the clock: the first character, the one behind the last, and a type."""
    try:
        tokens = sqlglot.tokenize(sql, read=dialect)
    except SqlglotError:
        return []
    places = []
    for index, token in enumerate(tokens):
        kind = _WORDS.get(token.token_type)
        after = _find_call_end(tokens, index + 1)
        if kind is None and after is not None:
            kind = _CALLS.get(token.text.lower())
        is_name = index > 0 and tokens[index - 1].token_type == TokenType.DOT
        if kind is None or is_name or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            continue
        end = token.end if after is None else tokens[after].end
        places.append((token.start, end + 1, kind))
    return places


def _find_call_end(tokens: list[Token], start: int) -> int | None:
    """The place of `)` in `()` and `(6)`, a precision."""
    kinds = [token.token_type for token in tokens[start : start + 3]]
    if kinds[:2] == [TokenType.L_PAREN, TokenType.R_PAREN]:
        return start + 1
    return start + 2 if kinds == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN] else None


def _replace(sql: str, places: list[tuple[int, int, str]], words: dict[str, str]) -> str:
    for start, end, kind in reversed(places):
        sql = sql[:start] + words[kind] + sql[end:]
    return sql

"""Trim a text of SQL to its one statement."""

from __future__ import annotations

import re

_BLANKS = " \t\r\n\f;\ufeff"  # SQLite reads a byte order mark as a blank, wherever it is
_MARKS = ("--", "/*", ";", "\ufeff")
_PIECE = re.compile(
    r"""(?P<passed>[ \t\r\n\f;\ufeff]+ | --[^\n]* | /\*(?=[^\0])(?:.*?\*/|.*))
    | '[^']*'? | "[^"]*"? | `[^`]*`? | \[[^]]*]? | [^ \t\r\n\f;\ufeff'"`[/-]+ | .""",
    re.DOTALL | re.VERBOSE,
)


def trim_statement(sql: str) -> str:
    """Return a statement without blanks, semicolons, comments and byte order marks around it. The
    last comment may lack its end. A second statement is kept: SQLite will refuse it.

    >>> trim_statement("; SELECT 1 /* one */ AS a; ; -- done"), trim_statement("SELECT 1 /* x")
    ('SELECT 1 /* one */ AS a', 'SELECT 1')

    Source: the tokenizer of SQLite (tokenize.c).
    """
    sql = sql.strip(_BLANKS)
    if not any(mark in sql for mark in _MARKS):
        return sql
    pieces = [piece.span() for piece in _PIECE.finditer(sql) if piece["passed"] is None]
    return sql[pieces[0][0] : pieces[-1][1]] if pieces else ""

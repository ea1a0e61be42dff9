"""SQL tokens: the words, names, texts and marks of a text, cut where SQLite cuts them.

The time grows with the length of the text alone: nothing is read twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """The kind of a token. DOUBLE_QUOTED is a text for SQLite if no column is called so."""

    WORD = auto()  # a keyword, a name without quotes, a number
    TEXT = auto()
    DOUBLE_QUOTED = auto()
    NAME = auto()  # in backticks or brackets
    MARK = auto()  # any other character


class Token(NamedTuple):
    kind: Kind
    text: str


# Every quantifier is possessive, or stops at the first end that it finds. A quote or a comment
# without an end, which SQLite refuses or skips, goes on to the end of the text.
# Source: sqlite3GetToken in SQLite's tokenize.c.
_TOKEN = re.compile(
    r"""(?:[ \t\n\v\f\r\ufeff]|--[^\n]*+|/\*.*?(?:\*/|\Z))++"""
    r"""|(?P<WORD>[0-9A-Za-z_$\x80-\U0010ffff]++)"""
    r"""|'(?P<TEXT>(?:[^']++|'')*+)(?:'|\Z)"""
    r"""|"(?P<DOUBLE_QUOTED>(?:[^"]++|"")*+)(?:"|\Z)"""
    r"""|`(?P<NAME>(?:[^`]++|``)*+)(?:`|\Z)|\[(?P<BRACKETED>[^\]]*+)(?:\]|\Z)"""
    r"""|(?P<MARK>.)""",
    re.DOTALL,
)
_QUOTES = {"TEXT": "'", "DOUBLE_QUOTED": '"', "NAME": "`"}


def read_tokens(sql: str) -> Iterator[Token]:
    """The tokens of a text, spaces and comments left out.

    >>> [token.text for token in read_tokens("SELECT 'it''s', [a b]--c")]
    ['SELECT', "it's", ',', 'a b']
    """
    for found in _TOKEN.finditer(sql):
        group = found.lastgroup
        if group is None:
            continue
        text = found[group]
        if group in _QUOTES:
            text = text.replace(2 * _QUOTES[group], _QUOTES[group])
        yield Token(Kind.NAME if group == "BRACKETED" else Kind[group], text)

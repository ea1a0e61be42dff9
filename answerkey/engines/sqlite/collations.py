"""Collations of SQLite: which columns of a table have one, and what texts each holds equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from answerkey.engines.schema import fold_case, fold_name

# SQLite holds texts equal that a collation folds: 'Sun' and 'SUN' under NOCASE.
BINARY = "BINARY"
FOLDS: dict[str, Callable[[str], str]] = {
    BINARY: str,
    "NOCASE": fold_case,
    "RTRIM": lambda text: text.rstrip(" "),
}

_TOKEN = re.compile(
    r"""(?P<passed>\s+ | --[^\n]* | /\*.*?(?:\*/|\Z)) | (?P<word>\w+)
    | '(?P<text>(?:[^']|'')*)' | "(?P<quoted>(?:[^"]|"")*)" | `(?P<ticked>(?:[^`]|``)*)`
    | \[(?P<bracketed>[^]]*)] | (?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_QUOTES = {"text": "'", "quoted": '"', "ticked": "`"}


@lru_cache(maxsize=4096)
def list_collations(table_sql: str) -> dict[str, str]:
    """Return the collations that a CREATE TABLE gives columns, by column name in lower case.

    >>> list_collations("CREATE TABLE t (a TEXT COLLATE nocase, b CHECK (b COLLATE RTRIM > ''))")
    {'a': 'NOCASE'}
    """
    collations: dict[str, str] = {}
    name, depth = "", 0
    for (kind, text), (_, following) in pairwise(_list_tokens(table_sql)):
        sign = text if kind == "sign" else ""
        depth += (sign == "(") - (sign == ")")
        if depth != 1:
            continue
        if sign in ("(", ","):
            name = fold_name(following)
        elif kind == "word" and text.upper() == "COLLATE" and following.upper() in FOLDS:
            collations[name] = following.upper()
    return collations


def _list_tokens(sql: str) -> Iterator[tuple[str, str]]:
    """Yield the kind of each token, and its text without quotes."""
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or "sign"
        quote = _QUOTES.get(kind, "")
        if kind != "passed":
            yield kind, match[kind].replace(quote * 2, quote) if quote else match[kind]

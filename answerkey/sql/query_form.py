"""Detect queries that differ only in their constants."""

from __future__ import annotations

import re

# As sqlglot writes it: a name in quotes, which is kept; or a text, a blob or a number.
_NAME_OR_CONSTANT = re.compile(
    r"""("(?:[^"]|"")*") | -?(?: x?'(?:[^']|'')*' | \b[0-9][0-9a-z_.]*(?:(?<=e)[+-][0-9]+)? )""",
    re.VERBOSE | re.IGNORECASE,
)
_LIST = re.compile(r"\(\?(?:, \?)+\)")


def strip_constants(canonical_sql: str) -> str:
    """Return canonical SQL with `?` for each constant, and for a list of constants.

    >>> strip_constants('SELECT "ship"."t2" FROM "ship" WHERE "ship"."id" IN (3, -4e+5)')
    'SELECT "ship"."t2" FROM "ship" WHERE "ship"."id" IN (?)'
    >>> strip_constants('SELECT 1 FROM "o\\'neill" WHERE "name" = \\'O\\'\\'Neill\\' LIMIT 3')
    'SELECT ? FROM "o\\'neill" WHERE "name" = ? LIMIT ?'

    Names are kept, unlike in a template (`answerkey.sql.canonical.write_template`). So all queries
    that filter one table by one column have the same form, whatever value they compare it with.
    """
    return _LIST.sub("(?)", _NAME_OR_CONSTANT.sub(lambda match: match[1] or "?", canonical_sql))

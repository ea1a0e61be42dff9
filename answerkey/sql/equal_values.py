"""Equal values: which values SQLite takes for equal although they are not the same.

Texts, by their collation: 'Sun' and 'SUN' are equal under NOCASE, 'Sun' and 'Sun ' under RTRIM, and
none of them under BINARY. Numbers, of two types: 1 and 1.0 are equal. A column of INTEGER affinity
holds 1 and never 1.0; a column without a type may hold both.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from answerkey.sql.query_tree import tokenize_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import fold_case, fold_name

BINARY = "BINARY"
FOLDS = {BINARY: str, "NOCASE": fold_case, "RTRIM": lambda text: text.rstrip(" ")}


def may_be_folded(left: Value, right: Value) -> bool:
    """Whether two values are texts that differ, but not under every collation."""
    if not (isinstance(left, str) and isinstance(right, str)) or left == right:
        return False
    return fold_case(left).rstrip(" ") == fold_case(right).rstrip(" ")


def collation_of(expression: exp.Expression, scopes: Scopes) -> str:
    """BINARY, NOCASE or RTRIM: how SQLite compares the text of an expression. A column of a view
    counts as BINARY.

    Source: section 7.1 of the SQLite manual's page on datatypes.
    """
    while isinstance(expression, exp.Paren | exp.Cast):
        expression = expression.this
    if isinstance(expression, exp.Collate):
        return _known(expression.expression.name)
    found = scopes.resolve(expression) if isinstance(expression, exp.Column) else None
    if found is not None and found.is_alias:
        return collation_of(found.expression, scopes)
    if found is None or found.table is None or found.column is None:
        return BINARY
    return list_collations(found.table.sql).get(fold_name(found.column.name), BINARY)


@lru_cache(maxsize=4096)
def list_collations(table_sql: str) -> dict[str, str]:
    """The collations that a CREATE TABLE gives columns, by name in lower case.

    >>> list_collations("CREATE TABLE t (a TEXT COLLATE nocase, b CHECK (b COLLATE RTRIM > ''))")
    {'a': 'NOCASE'}
    """
    try:
        tokens = tokenize_sql(table_sql)
    except TokenError:
        return {}
    found: dict[str, str] = {}
    name, depth = "", 0
    for token, following in pairwise(tokens):
        kind = token.token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth != 1:
            continue
        if kind in (TokenType.L_PAREN, TokenType.COMMA):
            name = fold_name(following.text)
        elif kind is TokenType.COLLATE:
            found[name] = _known(following.text)
    return found


def _known(name: str) -> str:
    return name.upper() if name.upper() in FOLDS else BINARY

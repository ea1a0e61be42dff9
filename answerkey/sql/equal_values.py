"""Equal values: which values SQLite takes for equal although they are not the same.

Texts, by their collation: 'Sun' and 'SUN' are equal under NOCASE, 'Sun' and 'Sun ' under RTRIM, and
none of them under BINARY. Numbers, of two types: 1 and 1.0 are equal. A column of INTEGER affinity
holds 1 and never 1.0; a column without a type may hold both.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokens import TokenType

from answerkey.sql.parser import parse_sql, tokenize_sql
from answerkey.sql.scopes import Output, Resolution, Scopes
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
    """BINARY, NOCASE or RTRIM: how SQLite compares the text of an expression.

    Source: section 7.1 of the SQLite manual's page on datatypes.
    """
    while isinstance(expression, exp.Paren | exp.Cast):
        expression = expression.this
    if isinstance(expression, exp.Collate):
        return _known(expression.expression.name)
    found = scopes.resolve(expression) if isinstance(expression, exp.Column) else None
    if found is None:
        return BINARY
    return collation_of(found.expression, scopes) if found.is_alias else _read(found, scopes)


def collation_of_output(output: Output, scopes: Scopes) -> str:
    """Return the collation of a result column."""
    if output.expression is not None:
        return collation_of(output.expression, scopes)
    return _read(output.resolution, scopes) if output.resolution is not None else BINARY


def _read(found: Resolution, scopes: Scopes) -> str:
    """The collation of a column of a table, or of what a view passes on."""
    table, column = found.table, found.column
    if table is None or column is None:
        return BINARY
    if not table.is_view:
        return list_collations(table.sql).get(fold_name(column.name), BINARY)
    try:
        query = parse_sql(table.sql).args.get("expression")
        if not isinstance(query, exp.Query):
            return BINARY
        inside = Scopes(query, scopes.schema)
        outputs = inside.outputs(query)
    except SqlglotError:
        return BINARY
    place = table.columns.index(column)
    return collation_of_output(outputs[place], inside) if place < len(outputs) else BINARY


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

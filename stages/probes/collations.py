"""Collations: which texts SQLite takes for equal when it sorts and compares.

'Sun' and 'SUN' are equal under NOCASE, 'Sun' and 'Sun ' under RTRIM; under BINARY none of them are.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from stages.guard import Value
from stages.sql.scopes import Scopes


def fold_case(text: str) -> str:
    """Text with the letters A to Z in lower case, and no others: what NOCASE compares."""
    return "".join(chr(ord(sign) + 32) if "A" <= sign <= "Z" else sign for sign in text)


FOLDS = {"BINARY": str, "NOCASE": fold_case, "RTRIM": lambda text: text.rstrip(" ")}


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
        name = expression.expression.name.upper()
        return name if name in FOLDS else "BINARY"
    if not isinstance(expression, exp.Column):
        return "BINARY"
    found = scopes.resolve(expression)
    if found is None:
        return "BINARY"
    if found.is_alias:
        return collation_of(found.expression, scopes)
    if found.column is None or found.table.is_view:
        return "BINARY"
    try:
        definition = sqlglot.parse_one(found.table.sql, read="sqlite")
    except sqlglot.ParseError:
        return "BINARY"
    for column in definition.find_all(exp.ColumnDef):
        if column.name.lower() == found.column.name.lower():
            collate = column.find(exp.CollateColumnConstraint)
            name = collate.this.name.upper() if collate is not None else "BINARY"
            return name if name in FOLDS else "BINARY"
    return "BINARY"

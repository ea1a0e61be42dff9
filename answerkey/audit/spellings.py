"""Spellings: where values that are equal to SQLite are the same value, and where they may not be.

A column of INTEGER affinity holds 1 and never 1.0; one without a type may hold both, and GROUP BY
or DISTINCT then keeps whichever comes first. Collations, by which texts of different spelling are
equal, are for the caller to rule out.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Column, affinity


def has_one_spelling(expression: exp.Expression, scopes: Scopes) -> bool:
    """Whether equal values of an expression are the same, types included: columns of tables whose
    affinity sees to it, their extremes, counts and constants. False where that is not known."""
    expression = expression.unnest()
    if isinstance(expression, exp.Min | exp.Max):
        return has_one_spelling(expression.this, scopes)
    if isinstance(expression, exp.Column):
        found = scopes.resolve(expression)
        return bool(
            found and found.is_direct and found.column and column_has_one_spelling(found.column)
        )
    return isinstance(expression, exp.Count | exp.Literal)


def column_has_one_spelling(column: Column) -> bool:
    """Whether equal values that a column holds are the same value.

    >>> columns = [Column("c", declared, False, 0) for declared in ("INT", "TEXT", "", "ANY")]
    >>> [column_has_one_spelling(column) for column in columns]
    [True, True, False, False]

    Source: section 3 of the SQLite manual's page on datatypes; ANY is what a STRICT table has for a
    column without affinity.
    """
    return affinity(column.type) != "BLOB" and column.type.upper() != "ANY"

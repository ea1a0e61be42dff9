"""Operators of SQLite as sqlglot's trees name them, and how each is written."""

from __future__ import annotations

from sqlglot import exp

ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
VALUE_OPERATORS = {
    **ARITHMETIC,
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
COMPARISONS = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Is: "IS",
    exp.NullSafeEQ: "IS",
    exp.NullSafeNEQ: "IS NOT",
}
MIRRORED = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: ">",
    exp.LTE: ">=",
    exp.GT: "<",
    exp.GTE: "<=",
}
CONNECTORS = {exp.And: "AND", exp.Or: "OR"}
AGGREGATES = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
}
LITERALS = (exp.Literal, exp.Null, exp.Boolean)
RIGHT_HAND_STARTS = frozenset("'0123456789.-(")  # literals and subqueries
CONSTANTS = (*LITERALS, exp.Star)
ATOMS = (*LITERALS, exp.Column, exp.Subquery, exp.Tuple, exp.Window, exp.Filter)
FACTORS = (exp.Mul, exp.Div, exp.Mod)
# What a CAST makes of a value depends on the affinity alone (SQLite manual, "CAST expressions").
CAST_TYPES = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "UBIGINT"), "INTEGER"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "REAL"),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR"), "TEXT"),
    **dict.fromkeys(("DECIMAL", "DATE", "DATETIME", "TIMESTAMP", "BOOLEAN"), "NUMERIC"),
    "VARBINARY": "BLOB",
}


def is_atom(node: exp.Expression) -> bool:
    """Whether a node needs no parentheses wherever it stands."""
    if isinstance(node, exp.Func):
        return not isinstance(node, exp.Connector | exp.Binary)
    return isinstance(node, ATOMS)


def is_star(expression: exp.Expression) -> bool:
    """Whether a selected column is `*` or `t.*`."""
    return isinstance(expression, exp.Star) or (
        isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
    )


def is_whole_number(node: exp.Expression) -> bool:
    """Whether a node is a literal like 3."""
    return isinstance(node, exp.Literal) and node.is_int

"""Write queries that look up values in a column, in the dialect spoken."""

from __future__ import annotations

from answerkey.engines.schema import Column, Table, quote_name
from answerkey.sql.column_types import OTHER, TEXT, find_kind
from answerkey.sql.query_tree import speaks_sqlite


def write_texts(
    table: Table, column: Column, *, most: int, condition: str = "", in_order: bool = False
) -> str:
    """Return the query for the distinct texts of a column; it skips numbers, BLOBs and NULL.

    `SELECT DISTINCT "name" FROM "ship" WHERE typeof("name") = 'text' ORDER BY 1 LIMIT 9`

    A column of SQLite may hold texts beside other values. Elsewhere, its declared type says whether
    it has any.

    most: the LIMIT.
    condition: a condition for the texts, with {0} in place of the column.
    in_order: sort the texts, so that the first ones do not depend on the order of rows. Without
        it, LIMIT takes a sample that does not prefer texts that start with digits.
    """
    name = quote_name(column.name)
    conditions = f"{write_is_text(column)}" + (condition and f" AND {condition.format(name)}")
    order = " ORDER BY 1" if in_order else ""
    source = quote_name(table.name)
    return f"SELECT DISTINCT {name} FROM {source} WHERE {conditions}{order} LIMIT {most}"


def write_is_text(column: Column) -> str:
    """Return the condition that a value of a column is a text."""
    name = quote_name(column.name)
    if speaks_sqlite():
        return f"typeof({name}) = 'text'"
    # OTHER may be the name of an enum.
    return f"{name} IS NOT NULL" if find_kind(column.type) in (TEXT, OTHER) else "FALSE"


def write_has_texts(table: Table, column: Column) -> str:
    """Return the query whose one value is 1 if the column holds a text, else 0.

    `SELECT EXISTS (SELECT DISTINCT "name" FROM "ship" WHERE typeof("name") = 'text' LIMIT 1)`
    """
    return f"SELECT EXISTS ({write_texts(table, column, most=1)})"


def write_is_same_in_any_case(column: Column, text: str) -> str:
    """Return the condition that a column has a text, a literal of SQL, in any case.

    `"name" = 'sun' COLLATE NOCASE`
    """
    name = quote_name(column.name)
    if speaks_sqlite():
        return f"{name} = {text} COLLATE NOCASE"
    return f"lower(CAST({name} AS TEXT)) = lower({text})"


def write_holds(table: str, column: str, value: str) -> str:
    """Return the query that has a row if a row of the table has this value, a literal of SQL.

    >>> write_holds("ship", "name", "'Sun'")
    'SELECT 1 FROM "ship" WHERE "name" = \\'Sun\\' LIMIT 1'
    """
    return f"SELECT 1 FROM {quote_name(table)} WHERE {quote_name(column)} = {value} LIMIT 1"

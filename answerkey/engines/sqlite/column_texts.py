"""Write queries that look up values in a column."""

from __future__ import annotations

from answerkey.engines.schema import quote_name


def write_texts(
    table: str, column: str, *, most: int, condition: str = "", in_order: bool = False
) -> str:
    """Return the query for the distinct texts of a column; it skips numbers, BLOBs and NULL.

    >>> write_texts("ship", "name", most=9, in_order=True)
    'SELECT DISTINCT "name" FROM "ship" WHERE typeof("name") = \\'text\\' ORDER BY 1 LIMIT 9'

    most: the LIMIT.
    condition: a condition for the texts, with {0} in place of the column.
    in_order: sort the texts, so that the first ones do not depend on the order of rows. Without
        it, LIMIT takes a sample that does not prefer texts that start with digits.
    """
    name = quote_name(column)
    conditions = f"typeof({name}) = 'text'" + (condition and f" AND {condition.format(name)}")
    order = " ORDER BY 1" if in_order else ""
    return f"SELECT DISTINCT {name} FROM {quote_name(table)} WHERE {conditions}{order} LIMIT {most}"


def write_has_texts(table: str, column: str) -> str:
    """Return the query whose one value is 1 if the column holds a text, else 0.

    >>> write_has_texts("ship", "name")
    'SELECT EXISTS (SELECT DISTINCT "name" FROM "ship" WHERE typeof("name") = \\'text\\' LIMIT 1)'
    """
    return f"SELECT EXISTS ({write_texts(table, column, most=1)})"


def write_holds(table: str, column: str, value: str) -> str:
    """Return the query that has a row if a row of the table has this value, a literal of SQL.

    >>> write_holds("ship", "name", "'Sun'")
    'SELECT 1 FROM "ship" WHERE "name" = \\'Sun\\' LIMIT 1'
    """
    return f"SELECT 1 FROM {quote_name(table)} WHERE {quote_name(column)} = {value} LIMIT 1"

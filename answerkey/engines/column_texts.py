"""Write queries that look up values in a column, for each engine."""

from __future__ import annotations

from answerkey.engines.column_types import OTHER, TEXT, find_kind
from answerkey.engines.names import SQLITE
from answerkey.engines.schema import quote_name, quote_table


def write_texts(
    table: str,
    column: str,
    *,
    most: int,
    condition: str = "",
    in_order: bool = False,
    declared_type: str = "",
    engine: str = SQLITE,
) -> str:
    """Return the query for the distinct texts of a column; it skips numbers, BLOBs and NULL.

    >>> write_texts("ship", "name", most=9, in_order=True)
    'SELECT DISTINCT "name" FROM "ship" WHERE typeof("name") = \\'text\\' ORDER BY 1 LIMIT 9'

    most: the LIMIT.
    condition: a condition for the texts, with {0} in place of the column.
    in_order: sort the texts, so that the first ones do not depend on the order of rows. Without
        it, LIMIT takes a sample that does not prefer texts that start with digits.
    declared_type: that of the column. Off SQLite it says whether the column holds texts.
    """
    name = quote_name(column)
    conditions = write_is_text(column, declared_type=declared_type, engine=engine)
    conditions += condition and f" AND {condition.format(name)}"
    order = " ORDER BY 1" if in_order else ""
    source = quote_table(table, engine)
    return f"SELECT DISTINCT {name} FROM {source} WHERE {conditions}{order} LIMIT {most}"


def write_is_text(column: str, *, declared_type: str = "", engine: str = SQLITE) -> str:
    """Return the condition that a value of a column is a text.

    >>> write_is_text("name"), write_is_text("age", declared_type="bigint", engine="postgres")
    ('typeof("name") = \\'text\\'', 'FALSE')
    """
    name = quote_name(column)
    if engine == SQLITE:
        return f"typeof({name}) = 'text'"
    # OTHER may be the name of an enum.
    holds_texts = find_kind(declared_type, engine) in (TEXT, OTHER)
    return f"{name} IS NOT NULL" if holds_texts else "FALSE"


def write_has_texts(
    table: str, column: str, *, declared_type: str = "", engine: str = SQLITE
) -> str:
    """Return the query whose one value is 1 if the column holds a text, else 0.

    >>> write_has_texts("ship", "name")
    'SELECT EXISTS (SELECT DISTINCT "name" FROM "ship" WHERE typeof("name") = \\'text\\' LIMIT 1)'
    """
    texts = write_texts(table, column, most=1, declared_type=declared_type, engine=engine)
    return f"SELECT EXISTS ({texts})"


def write_is_same_in_any_case(column: str, text: str, *, engine: str = SQLITE) -> str:
    """Return the condition that a column has a text, a literal of SQL, in any case.

    >>> write_is_same_in_any_case("name", "'sun'")
    '"name" = \\'sun\\' COLLATE NOCASE'
    """
    name = quote_name(column)
    if engine == SQLITE:
        return f"{name} = {text} COLLATE NOCASE"
    return f"lower(CAST({name} AS TEXT)) = lower({text})"


def write_holds(table: str, column: str, value: str, *, engine: str = SQLITE) -> str:
    """Return the query that has a row if a row of the table has this value, a literal of SQL.

    >>> write_holds("ship", "name", "'Sun'")
    'SELECT 1 FROM "ship" WHERE "name" = \\'Sun\\' LIMIT 1'
    """
    source, name = quote_table(table, engine), quote_name(column)
    return f"SELECT 1 FROM {source} WHERE {name} = {value} LIMIT 1"

"""Describe the columns of a database in words, so that a reader of gold need not query for it."""

from __future__ import annotations

from typing import TypedDict

from answerkey.engines.database import Database, QueryError
from answerkey.engines.names import SQLITE, name_engine
from answerkey.engines.schema import Column, Table, quote_name
from answerkey.engines.shown import count_rows, describe_column

_FREQUENT = 6  # values of a column
_NUMBERS = {"integer", "real"}
# Queries of SQLite; those of other engines are in answerkey.engines.shown.
_SUMMARY = (
    "SELECT group_concat(DISTINCT typeof({0})), count(DISTINCT {0}), count(*) - count({0}),"
    " quote(min({0})), quote(max({0})) FROM {1}"
)
# Texts are cut before they are quoted, so that the closing quote remains.
_VALUES = (
    "SELECT CASE typeof({0}) WHEN 'blob' THEN '<' || length({0}) || ' bytes>'"
    " ELSE quote(CASE WHEN typeof({0}) = 'text' AND length({0}) > 40"
    " THEN substr({0}, 1, 40) || '…' ELSE {0} END) END"
    " FROM {1} WHERE {0} IS NOT NULL GROUP BY {0} ORDER BY count(*) DESC, {0} LIMIT {2}"
)


class TableSummary(TypedDict):
    """The number of rows of a table, and the name and description of each column."""

    rows: str
    columns: list[tuple[str, str]]


def summarize_table(
    database: Database, table: Table, *, max_steps: int | None = None
) -> TableSummary:
    """Describe each column in words, such as "integer, 6 different, 1 NULL, from 12 to 90". For
    text and for few values, it lists the most frequent values first, as SQL writes them. A column
    that needs more steps is not described.
    """
    source = quote_name(table.name)
    try:
        if name_engine(database.path) == SQLITE:
            query = f"SELECT count(*) FROM {source}"
            ((count,),) = database.execute(query, max_steps=max_steps)
        else:
            count = count_rows(database, table.name)
        rows = f"{count} row" if count == 1 else f"{count} rows"
    except QueryError as error:
        rows = f"not counted ({error.reason})"
    return {
        "rows": rows,
        "columns": [
            (column.name, _summarize_column(database, table, column, max_steps=max_steps))
            for column in table.columns
        ],
    }


def _summarize_column(
    database: Database, table: Table, column: Column, *, max_steps: int | None
) -> str:
    name, source = quote_name(column.name), quote_name(table.name)
    try:
        if name_engine(database.path) != SQLITE:
            return describe_column(database, table.name, column, most=_FREQUENT)
        (facts,) = database.execute(_SUMMARY.format(name, source), max_steps=max_steps)
        query = _VALUES.format(name, source, _FREQUENT)
        values = database.execute(query, max_steps=max_steps)
    except QueryError as error:
        return f"not counted ({error.reason})"
    types, different, nulls, least, most = map(str, facts)
    kinds = {*types.split(",")} - {"null", "None"}
    words = [" and ".join(sorted(kinds)) or "no value", f"{different} different"]
    if nulls != "0":
        words.append(f"{nulls} NULL")
    has_more = int(different) > _FREQUENT
    if has_more and kinds <= _NUMBERS:
        words.append(f"from {least} to {most}")
    elif values:
        shown = ", ".join(" ".join(str(value).split()) for (value,) in values)
        words.append(f"such as {shown}" if has_more else shown)
    return ", ".join(words)

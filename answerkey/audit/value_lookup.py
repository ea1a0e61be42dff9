"""Value lookup: which columns of a database hold a value, and which values a column holds."""

from __future__ import annotations

from collections.abc import Iterable

from answerkey.audit.column_values import ColumnValues
from answerkey.audit.comparisons import quote_text
from answerkey.sqlite.schema import Table, affinity, quote_name

_TEXT_AFFINITIES = frozenset({"TEXT", "BLOB", "NUMERIC"})
_LONGEST = 100
MOST_VALUES = 500


def list_text_values(values: ColumnValues, table: str, column: str) -> list[str]:
    """The different short texts of a column, in order; none where it has more than 500."""
    name = quote_name(column)
    rows = values.ask(
        f"SELECT DISTINCT {name} FROM {quote_name(table)}"
        f" WHERE typeof({name}) = 'text' AND length({name}) <= {_LONGEST}"
        f" LIMIT {MOST_VALUES + 1}"
    )
    if rows is None or len(rows) > MOST_VALUES:
        return []
    return sorted(row[0] for row in rows)


def find_holder(values: ColumnValues, tables: Iterable[Table], value: str) -> list[str] | None:
    """The first table and column that hold a text, whatever its case; None where none does."""
    for table in tables:
        names = [
            quote_name(column.name)
            for column in table.columns
            if affinity(column.type) in _TEXT_AFFINITIES
        ]
        if not names:
            continue
        meets = [f"max({name} = {quote_text(value)} COLLATE NOCASE)" for name in names]
        rows = values.ask(f"SELECT {', '.join(meets)} FROM {quote_name(table.name)}")
        for name, is_met in zip(names, rows[0] if rows else (), strict=False):
            if is_met:
                return [table.name, name[1:-1].replace('""', '"')]
    return None

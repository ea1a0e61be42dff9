"""Coverage: how much of the schemas the selected questions touch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from answerkey.sqlite.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


def measure_coverage(questions: pd.DataFrame, schemas: Mapping[str, Schema]) -> dict[str, int]:
    """How many tables and columns the databases of the questions have, and how many of them some
    question touches; views are left out.

    The columns of `questions` are database_name, tables_involved and columns_involved, each column
    as `table.column`.
    """
    touched: dict[str, set[str]] = defaultdict(set)
    for name, tables, columns in questions.itertuples(index=False, name=None):
        touched[name].update(tables, columns)
    counts = dict.fromkeys(("tables", "tables_touched", "columns", "columns_touched"), 0)
    for name, names in touched.items():
        for table in schemas[name].tables:
            if table.is_view:
                continue
            columns = [f"{table.name}.{column.name}" for column in table.columns]
            counts["tables"] += 1
            counts["tables_touched"] += table.name in names
            counts["columns"] += len(columns)
            counts["columns_touched"] += len(names.intersection(columns))
    return counts

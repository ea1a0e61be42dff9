"""Codes by heart: the key of the row that a name stands for, the value that a subquery gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.engines.schema import quote_name
from answerkey.rewrites.trees import FindRows, Steps, replaced
from answerkey.sql.conditions import COMPARISONS, read_text
from answerkey.sql.keys import find_one_key
from answerkey.sql.query_tree import to_sql, write_table
from answerkey.sql.scopes import Scopes

# Step limits of queries of the real rows: one that takes more says nothing.
_MAX_STEPS = 200_000
_MAX_STEPS_OF_VALUES = 500_000


class Code(NamedTuple):
    """A comparison with a name that exactly one row has, and the one with the key of that row.

    `colour.colour = 'Blue'`, `colour.id = 7`, "id", 7
    """

    by_name: exp.EQ
    by_key: exp.EQ
    key: str
    value: int | str


def list_codes(scopes: Scopes, find_rows: FindRows) -> Iterator[Code]:
    """Yield each comparison with a name as one with a code."""
    for node in list(scopes.nodes.find_all(exp.EQ)):
        named, text = scopes.find_direct(node.this), read_text(node.expression, scopes)
        key = find_one_key(named.table) if named is not None else None
        if named is None or text is None or key is None or key is named.column:
            continue
        codes = find_values(find_rows, named.table.name, key.name, named.column.name, text)
        if len(codes) == 1 and isinstance(codes[0], int | str):
            by_key = exp.EQ(this=named.beside(key).write(), expression=exp.convert(codes[0]))
            yield Code(node, by_key, key.name, codes[0])


def find_values(find_rows: FindRows, table: str, column: str, known: str, value: str) -> list[Any]:
    """Return up to two values of a column in the rows that have a value in another column."""
    names = [write_table(table), quote_name(column), quote_name(known)]
    literal = "'" + value.replace("'", "''") + "'"
    sql = f"SELECT DISTINCT {names[1]} FROM {names[0]} WHERE {names[2]} = {literal} LIMIT 2"
    return [value for (value,) in find_rows(sql, max_steps=_MAX_STEPS_OF_VALUES) or []]


def mutate_codes(scopes: Scopes, find_rows: FindRows) -> Steps:
    """Yield `code_by_heart`: `port.name = 'Oban'` -> `port.id = 3`; and `value_by_heart`:
    `weight = (SELECT max(weight) FROM ship)` -> `weight = 5`.

    A code is a reading, too, if the question states it.
    """
    for code in list_codes(scopes, find_rows):
        with replaced(code.by_name, code.by_key):
            yield "code_by_heart"
    for subquery in list(scopes.nodes.find_all(exp.Subquery)):
        if isinstance(subquery.parent, COMPARISONS):
            rows = find_rows(to_sql(subquery.this), max_steps=_MAX_STEPS) or []
            if [len(row) for row in rows] == [1] and isinstance(rows[0][0], int | float | str):
                with replaced(subquery, exp.convert(rows[0][0])):
                    yield "value_by_heart"

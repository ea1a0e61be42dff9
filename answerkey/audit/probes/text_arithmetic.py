"""text_arithmetic: text that is no number is added, averaged or calculated with.

SQLite takes the digits that a text starts with, or 0: `arrival - departure` of two dates is a
number of years, and the average of '4:32' and '3:05' is 3.5.
Source: sections 4.3 and 5 of the SQLite manual's page on datatypes.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.operands import TEXT, count_numbers, is_number_sql
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql
from answerkey.sqlite.schema import quote_name

_CALCULATIONS = (exp.Sum, exp.Avg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg)


def find_text_arithmetic(inspection: Inspection) -> list[Finding]:
    """A finding where a column holds text that is no number, and the query calculates with it.

    Kinds: `no_number` where no value of the column is a number; `some_text` where others are.
    """
    reading = read_query(inspection)
    found = []
    for node in reading.scopes.nodes.find_all(*_CALCULATIONS):
        for column in _list_operands(node):
            base = reading.base_column(column)
            text = _find_text(reading, base[0].name, base[1].name) if base is not None else []
            if text:
                is_number = count_numbers(reading, base[0].name, base[1].name) > 0
                found.append(
                    {
                        "kind": "some_text" if is_number else "no_number",
                        "sql": show_sql(node),
                        "column": [base[0].name, base[1].name],
                        "values": text,
                    }
                )
    found.sort(key=lambda evidence: evidence["kind"])
    return [Finding(Flag.TEXT_ARITHMETIC, found[0])] if found else []


def _list_operands(node: exp.Expression) -> Iterator[exp.Expression]:
    operands = [node.this, node.expression] if isinstance(node, exp.Binary) else [node.this]
    for operand in operands:
        yield from operand.expressions if isinstance(operand, exp.Distinct) else [operand.unnest()]


def _find_text(reading: Reading, table: str, column: str) -> list[object]:
    """Some of the texts of a column that are no numbers."""
    if not reading.values.holds_any(table, column, {TEXT}):
        return []
    name = quote_name(column)
    return reading.values.ask_column(
        f"SELECT DISTINCT {name} FROM {quote_name(table)} WHERE typeof({name}) = 'text'"
        f" AND NOT {is_number_sql(name)} ORDER BY 1 LIMIT 3"
    )

"""Operands: the affinity that SQLite gives to each side of a comparison, and what it may hold.

Source: sections 3.2 and 4.2 of the SQLite manual's page on datatypes.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import Reading
from answerkey.sql.query_rewrites import to_sql
from answerkey.sqlite.schema import affinity, quote_name

INTEGER, REAL, TEXT, BLOB = "integer", "real", "text", "blob"
NUMBERS = frozenset({INTEGER, REAL})
NUMERIC_AFFINITIES = frozenset({"INTEGER", "REAL", "NUMERIC"})

_NUMBER_EXPRESSIONS = (
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Length,
    exp.Abs,
    exp.Round,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.StrPosition,
    exp.Unicode,
    exp.RowNumber,
    exp.Rank,
    exp.DenseRank,
)
_TEXT_EXPRESSIONS = (
    exp.TimeToStr,
    exp.Date,
    exp.Substring,
    exp.Lower,
    exp.Upper,
    exp.Trim,
    exp.Replace,
    exp.DPipe,
    exp.GroupConcat,
    exp.Hex,
)
_TEXT_FUNCTIONS = frozenset({"TIME", "DATETIME", "PRINTF", "FORMAT", "QUOTE", "TYPEOF"})


def find_affinity(expression: exp.Expression, reading: Reading) -> str | None:
    """INTEGER, TEXT, BLOB, REAL or NUMERIC for a column, a CAST or a subquery that returns one of
    them; None for everything else, which has no affinity."""
    if isinstance(expression, exp.Collate):
        return find_affinity(expression.this.unnest(), reading)
    if isinstance(expression, exp.Cast):
        return affinity(to_sql(expression.to))
    if isinstance(expression, exp.Query):
        output = _first_output(expression, reading)
        return find_affinity(output, reading) if output is not None else None
    base = reading.base_column(expression)
    if base is None:
        return None
    table, column = base
    if table.is_view and not column.type:
        return None  # an expression of the view, as a rule
    return affinity(column.type)


def find_storage(expression: exp.Expression, reading: Reading) -> frozenset[str]:
    """The storage classes that the values of an expression have, NULL left out; empty where they
    are not known. A column has those of the data."""
    if isinstance(expression, exp.Collate | exp.Neg):
        return find_storage(expression.this.unnest(), reading)
    if reading.is_string(expression):
        return frozenset({TEXT})
    if isinstance(expression, exp.Boolean):
        return frozenset({INTEGER})
    if isinstance(expression, exp.Literal):
        return frozenset({INTEGER if expression.name.isdigit() else REAL})
    if isinstance(expression, exp.Max | exp.Min) and not expression.expressions:
        return find_storage(expression.this.unnest(), reading)
    if isinstance(expression, exp.Window):
        return find_storage(expression.this, reading)
    if isinstance(expression, _NUMBER_EXPRESSIONS):
        return NUMBERS
    if isinstance(expression, _TEXT_EXPRESSIONS):
        return frozenset({TEXT})
    if isinstance(expression, exp.Anonymous):
        return frozenset({TEXT} if expression.name.upper() in _TEXT_FUNCTIONS else ())
    if isinstance(expression, exp.Cast):
        kind = affinity(to_sql(expression.to))
        if kind == "BLOB":
            return frozenset()
        return frozenset({TEXT}) if kind == "TEXT" else NUMBERS
    if isinstance(expression, exp.Query):
        output = _first_output(expression, reading)
        return find_storage(output, reading) if output is not None else frozenset()
    base = reading.base_column(expression)
    if base is None:
        return frozenset()
    return frozenset(reading.values.storage(base[0].name, base[1].name))


def is_number_sql(column_sql: str) -> str:
    """SQL that is true where a value is a number, or text that SQLite's numeric affinity would turn
    into one: '5', '007' and ' 1e3 ', not '5 km' or ''.

    A CAST to NUMERIC has that affinity, so that the comparison applies it to the text.
    """
    name = column_sql
    return f"(typeof({name}) IN ('integer', 'real') OR {name} = CAST({name} AS NUMERIC))"


def count_numbers(reading: Reading, table: str, column: str) -> int:
    """How many values of a column are numbers or text that numeric affinity makes one."""
    condition = is_number_sql(quote_name(column))
    return (
        reading.values.ask_number(f"SELECT count(*) FROM {quote_name(table)} WHERE {condition}")
        or 0
    )


def _first_output(query: exp.Expression, reading: Reading) -> exp.Expression | None:
    if isinstance(query, exp.SetOperation):
        return None
    outputs = reading.scopes.outputs(query)
    if not outputs or outputs[0].expression is None:
        return None
    return outputs[0].expression.unnest()

"""Comparisons: every place of a query where one value is compared with another, in one form.

`5 < age` is read as `age > 5`, BETWEEN as two comparisons, an IN list and `CASE x WHEN` as one for
each member, and `x IN (SELECT y ...)` as x = y. Negation is not kept: NOT says which rows are
wanted, and the values that meet are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues
from answerkey.sql.query_parts import find_cte
from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.scopes import Resolution
from answerkey.sqlite.schema import Column, Table, affinity, quote_name

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS",
    exp.NullSafeNEQ: "IS NOT",
    exp.Is: "IS",
    exp.Like: "LIKE",
    exp.Glob: "GLOB",
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PREDICATES = (*_OPERATORS, exp.Between, exp.In, exp.Case)
EQUALITIES = frozenset({"=", "IS", "IN"})
RANGES = frozenset({"<", "<=", ">", ">="})
PATTERNS = frozenset({"LIKE", "GLOB"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`, where a literal stands on the right if there is one, and the predicate
    of the query that it comes from."""

    node: exp.Expression
    operator: str
    left: exp.Expression
    right: exp.Expression

    @property
    def text(self) -> str:
        """The predicate as a person reads it."""
        return to_sql(self.node)[:200]


class Reading:
    """The comparisons, tables and columns of one query, and what its columns hold."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection = inspection
        self.scopes = inspection.scopes
        self.values = ColumnValues(inspection.database)
        self._comparisons: list[Comparison] | None = None

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons of the query, those of its subqueries included."""
        if self._comparisons is None:
            self._comparisons = list(self._read_comparisons())
        return self._comparisons

    @property
    def tables(self) -> list[Table]:
        """The tables and views that the query names anywhere, once each, by name."""
        schema = self.inspection.schema
        found: dict[str, Table] = {}
        for node in self.scopes.nodes.find_all(exp.Table):
            table = schema.find_table(node.name)
            if table is not None and (node.args.get("db") or find_cte(node, node.name) is None):
                found[table.name] = table
        return [found[name] for name in sorted(found)]

    def resolve(self, expression: exp.Expression) -> Resolution | None:
        """Return what a name stands for; None if the expression is no name."""
        return self.scopes.resolve(expression) if isinstance(expression, exp.Column) else None

    def base_column(self, expression: exp.Expression) -> tuple[Table, Column] | None:
        """The column of a table that an expression is, as it stands; None for anything else."""
        found = self.resolve(expression)
        if found is None or found.table is None or found.column is None:
            return None
        return found.table, found.column

    def returned_column(self, expression: exp.Expression) -> tuple[Table, Column] | None:
        """Return the column of a table that an expression is, or that a subquery returns."""
        if not isinstance(expression, exp.Query):
            return self.base_column(expression)
        outputs = self.scopes.outputs(expression)
        if not outputs or isinstance(expression, exp.SetOperation):
            return None
        found = outputs[0].resolution
        if found is not None and found.table is not None and found.column is not None:
            return found.table, found.column
        computed = outputs[0].expression
        return self.base_column(computed.unnest()) if computed is not None else None

    def is_string(self, expression: exp.Expression) -> bool:
        """Whether an expression is a text literal, in single or in double quotes."""
        if isinstance(expression, exp.Column):
            return self.scopes.is_string(expression)
        return isinstance(expression, exp.Literal) and expression.is_string

    def is_literal(self, expression: exp.Expression) -> bool:
        """Whether an expression is a text or a number, with or without a sign."""
        if isinstance(expression, exp.Neg):
            expression = expression.this
            return isinstance(expression, exp.Literal) and not expression.is_string
        return isinstance(expression, exp.Literal | exp.Boolean) or self.is_string(expression)

    def literal_sql(self, expression: exp.Expression) -> str:
        """A literal as SQL that means the same wherever it stands."""
        if self.is_string(expression):
            return quote_text(expression.name)
        return to_sql(expression)

    def _read_comparisons(self) -> Iterator[Comparison]:
        for node in self.scopes.nodes.find_all(*_PREDICATES):
            if node.this is None:  # CASE WHEN, whose conditions come by themselves
                continue
            left = node.this.unnest()
            if isinstance(node, exp.Between):
                yield self._compare(node, ">=", left, node.args["low"].unnest())
                yield self._compare(node, "<=", left, node.args["high"].unnest())
            elif isinstance(node, exp.Case):
                for branch in node.args["ifs"]:
                    yield self._compare(node, "=", left, branch.this.unnest())
            elif isinstance(node, exp.In):
                for member in node.expressions:
                    yield self._compare(node, "=", left, member.unnest())
                if node.args.get("query") is not None:
                    yield Comparison(node, "IN", left, node.args["query"].unnest())
            else:
                yield self._compare(node, _OPERATORS[type(node)], left, node.expression.unnest())

    def _compare(
        self, node: exp.Expression, operator: str, left: exp.Expression, right: exp.Expression
    ) -> Comparison:
        left, right = self._look_behind_alias(left), self._look_behind_alias(right)
        if operator not in PATTERNS and self.is_literal(left) and not self.is_literal(right):
            return Comparison(node, _MIRRORED.get(operator, operator), right, left)
        return Comparison(node, operator, left, right)

    def _look_behind_alias(self, expression: exp.Expression) -> exp.Expression:
        found = self.resolve(expression)
        if found is not None and found.is_alias and found.expression is not None:
            return found.expression.unnest()
        return expression


def read_query(inspection: Inspection) -> Reading:
    """The reading of an inspection's query."""
    return inspection.once(Reading)


def quote_text(text: str) -> str:
    """A text literal, safe in SQL whatever it holds.

    >>> quote_text("captain's")
    "'captain''s'"
    """
    return "'" + text.replace("'", "''") + "'"


# Operands: the affinity that SQLite gives to each side of a comparison, and what it may hold.
#
# Source: sections 3.2 and 4.2 of the SQLite manual's page on datatypes.


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
    """Return the storage classes that the values of an expression have, NULL left out; none if they
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
    """Count the values of a column that are numbers, or text that numeric affinity makes one."""
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

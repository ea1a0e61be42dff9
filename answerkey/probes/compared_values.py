"""Comparisons: every place of a query where one value is compared with another, in one form.

`5 < age` is read as `age > 5`, BETWEEN as two comparisons, an IN list as one for each member, and
`x IN (SELECT y ...)` as x = y. Negation is not kept: NOT says which rows are wanted, and the values
that meet are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues
from answerkey.sql.query_tree import find_cte, to_sql
from answerkey.sql.scopes import Resolution
from answerkey.sqlite.schema import Column, Table

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
_PREDICATES = (*_OPERATORS, exp.Between, exp.In)
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
            left = node.this.unnest()
            if isinstance(node, exp.Between):
                yield self._compare(node, ">=", left, node.args["low"].unnest())
                yield self._compare(node, "<=", left, node.args["high"].unnest())
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

"""Expressions as canonical text: one spelling for what SQLite is sure to compute alike.

Conditions joined by AND or OR are sorted, the sides of a comparison are put in one order, and
parentheses stand only where they group. Operators keep the order of the source otherwise, so that
no grouping is ever guessed: `(a + b) + c` and `a + b + c` come out different.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from answerkey.sql.operators import (
    AGGREGATES,
    ARITHMETIC,
    COMPARISONS,
    CONNECTORS,
    CONSTANTS,
    FACTORS,
    LITERALS,
    MIRRORED,
    RIGHT_HAND_STARTS,
    SIGNS,
    VALUE_OPERATORS,
    is_atom,
)
from answerkey.sql.parser import sqlite_dialect
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema, affinity, has_collation


class UnwritableError(ValueError):
    """A query of a form that has no canonical text here."""


class ExpressionWriter:
    """Writes expressions; `QueryWriter` adds queries and names."""

    def __init__(self, scopes: Scopes, schema: Schema) -> None:
        self.scopes = scopes
        self.schema = schema
        self._has_collations: bool | None = None

    def write(self, node: exp.Expression) -> str:
        """The text of an expression that stands alone: no parentheses around it are needed."""
        if type(node) is exp.Paren:
            return self.write(node.this)
        writer = _WRITERS.get(type(node))
        return writer(self, node) if writer else self._write_by_sqlglot(node)

    def write_all(self, nodes: list[exp.Expression]) -> str:
        """Expressions with commas between them."""
        return ", ".join([self.write(node) for node in nodes])

    # What `QueryWriter` knows

    def write_column(self, column: exp.Column) -> str:
        """A name as it stands for itself wherever it is written."""
        raise NotImplementedError

    def write_nested(self, query: exp.Expression) -> str:
        """A query in parentheses."""
        raise NotImplementedError

    def find_alias_target(self, column: exp.Column) -> exp.Expression | None:
        """The expression behind a name given by AS in the column's own SELECT, or None."""
        raise NotImplementedError

    # What a template does otherwise

    def side_key(self, text: str) -> Any:
        """What decides which side of a comparison comes first."""
        return text

    def sort_parts(self, texts: list[str]) -> list[str]:
        """Conditions in an order that does not depend on the source's."""
        return sorted(texts)

    # Pieces

    def strip(self, node: exp.Expression) -> tuple[exp.Expression, bool]:
        """A node out of its parentheses, and whether it had any. A name given by AS is the
        expression behind it, in parentheses."""
        is_grouped = False
        while True:
            if type(node) is exp.Paren:
                node, is_grouped = node.this, True
                continue
            target = self.find_alias_target(node) if type(node) is exp.Column else None
            if target is None:
                return node, is_grouped
            node, is_grouped = target, True

    def _write_operand(self, node: exp.Expression, parent: type) -> str:
        node, is_grouped = self.strip(node)
        text = self.write(node)
        if not is_grouped or is_atom(node):
            return text
        kind = type(node)
        is_tighter = (
            (kind in SIGNS and parent not in SIGNS)
            or (kind in VALUE_OPERATORS and parent in COMPARISONS)
            or (kind in FACTORS and parent in (exp.Add, exp.Sub))
        )
        return text if is_tighter else f"({text})"

    def write_connected(self, kind: type, nodes: list[exp.Expression]) -> str:
        """Conditions with AND (or OR) between them, in one order."""
        parts: list[tuple[str, bool]] = []
        pending = list(nodes)
        while pending:
            part, _ = self.strip(pending.pop())
            if type(part) is kind:
                pending += (part.expression, part.this)
            else:
                parts.append((self.write(part), type(part) in CONNECTORS))
        if len(parts) == 1:
            return parts[0][0]
        texts = [f"({text})" if is_connected else text for text, is_connected in parts]
        texts = self.sort_parts(texts)
        return f" {CONNECTORS[kind]} ".join(texts)

    def _write_connector(self, node: exp.Expression) -> str:
        return self.write_connected(type(node), [node])

    def _write_not(self, node: exp.Expression) -> str:
        inner, _ = self.strip(node.this)
        kind = type(inner)
        if kind in (exp.Is, exp.NullSafeEQ) and type(inner.expression) in (exp.Null, exp.Boolean):
            left = self._write_operand(inner.this, kind)
            return f"{left} IS NOT {self.write(inner.expression)}"
        if kind in (exp.In, exp.Between, exp.Like, exp.Glob) and not inner.args.get("negate"):
            return _WRITERS[kind](self, inner, " NOT")
        text = self.write(inner)
        return f"NOT ({text})" if kind in CONNECTORS else f"NOT {text}"

    def _write_value_operator(self, node: exp.Expression) -> str:
        kind = type(node)
        right = [self._write_operand(node.expression, kind)]
        symbols = [VALUE_OPERATORS[kind]]
        left = node.this
        while type(left) in VALUE_OPERATORS:  # a chain can be long
            right.append(self._write_operand(left.expression, type(left)))
            symbols.append(VALUE_OPERATORS[type(left)])
            kind, left = type(left), left.this
        text = self._write_operand(left, kind)
        for symbol, operand in zip(reversed(symbols), reversed(right), strict=True):
            text = f"{text} {symbol} {operand}"
        return text

    def _write_comparison(self, node: exp.Expression) -> str:
        kind = type(node)
        left, right = (
            self._write_operand(node.this, kind),
            self._write_operand(node.expression, kind),
        )
        if kind in MIRRORED and self._may_mirror(node):
            sides = [(text[:1] in RIGHT_HAND_STARTS, self.side_key(text)) for text in (left, right)]
            is_tie = sides[0] == sides[1] and kind in (exp.GT, exp.GTE)
            if sides[1] < sides[0] or is_tie:
                return f"{right} {MIRRORED[kind]} {left}"
        return f"{left} {COMPARISONS[kind]} {right}"

    def _may_mirror(self, node: exp.Expression) -> bool:
        """Whether both sides may change places. Of two sides with different collations the left
        one's counts, and an operator may bind otherwise at the other place."""
        for side in (node.this, node.expression):
            side, is_grouped = self.strip(side)
            if not (is_grouped or is_atom(side) or type(side) in (*ARITHMETIC, *SIGNS)):
                return False
        if self._has_collations is None:
            self._has_collations = any(
                has_collation(table.sql) for table in self.schema.tables
            ) or bool(self.scopes.nodes.find_all(exp.Collate))
        return not self._has_collations

    def _write_unary(self, node: exp.Expression) -> str:
        symbol = SIGNS[type(node)]
        text = self._write_operand(node.this, type(node))
        return f"{symbol} {text}" if text.startswith("-") else symbol + text

    def _write_like(self, node: exp.Expression, negation: str = "") -> str:
        kind = type(node)
        left, right = (
            self._write_operand(node.this, kind),
            self._write_operand(node.expression, kind),
        )
        negation = " NOT" if node.args.get("negate") else negation
        return f"{left}{negation} {'GLOB' if kind is exp.Glob else 'LIKE'} {right}"

    def _write_between(self, node: exp.Expression, negation: str = "") -> str:
        if node.args.get("symmetric"):
            raise UnwritableError("BETWEEN SYMMETRIC")
        bounds = [self._write_operand(node.args[name], exp.Between) for name in ("low", "high")]
        left = self._write_operand(node.this, exp.Between)
        return f"{left}{negation} BETWEEN {bounds[0]} AND {bounds[1]}"

    def _write_in(self, node: exp.Expression, negation: str = "") -> str:
        left = self._write_operand(node.this, exp.In)
        query = node.args.get("query")
        if query is not None:
            return f"{left}{negation} IN {self.write_nested(query)}"
        if node.args.get("field") is not None or node.args.get("unnest") is not None:
            raise UnwritableError("IN with the name of a table")
        texts = [self.write(value) for value in node.expressions]
        if all(self._is_literal(value) for value in node.expressions):
            texts.sort()
        return f"{left}{negation} IN ({', '.join(texts)})"

    def _is_literal(self, node: exp.Expression) -> bool:
        node = node.unnest()
        if isinstance(node, exp.Column):
            return self.scopes.is_string(node)
        return isinstance(node.this if isinstance(node, exp.Neg) else node, LITERALS)

    def _write_aggregate(self, node: exp.Expression) -> str:
        if node.expressions:
            return self._write_by_sqlglot(node)
        argument = node.this
        if isinstance(argument, exp.Distinct):
            text = "DISTINCT " + self.write_all(argument.expressions)
        else:
            text = self.write(argument) if argument is not None else ""
        return f"{AGGREGATES[type(node)]}({text})"

    def _write_case(self, node: exp.Expression) -> str:
        words = ["CASE"]
        if node.this is not None:
            words.append(self.write(node.this))
        for branch in node.args["ifs"]:
            words.append(f"WHEN {self.write(branch.this)} THEN {self.write(branch.args['true'])}")
        if node.args.get("default") is not None:
            words.append(f"ELSE {self.write(node.args['default'])}")
        return " ".join([*words, "END"])

    def _write_cast(self, node: exp.Expression) -> str:
        kind = node.to.sql(sqlite_dialect())
        return f"CAST({self.write(node.this)} AS {affinity(kind)})"

    def _write_tuple(self, node: exp.Expression) -> str:
        return f"({self.write_all(node.expressions)})"

    def _write_exists(self, node: exp.Expression) -> str:
        return f"EXISTS {self.write_nested(node.this)}"

    def _write_literal(self, node: exp.Expression) -> str:
        if node.is_string:
            return "'" + node.this.replace("'", "''") + "'"
        return node.this.lower()

    def _write_by_sqlglot(self, node: exp.Expression) -> str:
        """Anything else (functions, windows) as sqlglot spells it, with what we know put in."""

        def is_ours(inner: exp.Expression) -> bool:
            return inner is not node and type(inner) in _WRITERS and type(inner) not in CONSTANTS

        copy = node.copy()
        pairs = zip(
            list(node.dfs(prune=is_ours)),
            list(copy.dfs(prune=lambda inner: inner is not copy and is_ours(inner))),
            strict=True,
        )
        for original, twin in pairs:
            if not is_ours(original):
                continue
            parent = original.parent
            is_operand = isinstance(parent, exp.Binary | exp.Unary)
            text = (
                self._write_operand(original, type(parent)) if is_operand else self.write(original)
            )
            twin.replace(exp.Var(this=text))
        for part in copy.find_all(exp.Literal, exp.WindowSpec):
            if isinstance(part, exp.WindowSpec):
                words = [name for name, value in part.args.items() if isinstance(value, str)]
                for name in words:
                    part.set(name, part.args[name].upper())
            elif not part.is_string:
                part.set("this", part.this.lower())
        return copy.sql(sqlite_dialect(), comments=False)


_Writer = Callable[..., str]
_WRITERS: dict[type, _Writer] = {
    **dict.fromkeys(CONNECTORS, ExpressionWriter._write_connector),
    **dict.fromkeys(VALUE_OPERATORS, ExpressionWriter._write_value_operator),
    **dict.fromkeys(COMPARISONS, ExpressionWriter._write_comparison),
    **dict.fromkeys(AGGREGATES, ExpressionWriter._write_aggregate),
    exp.Not: ExpressionWriter._write_not,
    **dict.fromkeys(SIGNS, ExpressionWriter._write_unary),
    exp.Like: ExpressionWriter._write_like,
    exp.Glob: ExpressionWriter._write_like,
    exp.Between: ExpressionWriter._write_between,
    exp.In: ExpressionWriter._write_in,
    exp.Case: ExpressionWriter._write_case,
    exp.Cast: ExpressionWriter._write_cast,
    exp.Tuple: ExpressionWriter._write_tuple,
    exp.Exists: ExpressionWriter._write_exists,
    exp.Literal: ExpressionWriter._write_literal,
    exp.Null: lambda writer, node: "NULL",
    exp.Boolean: lambda writer, node: "TRUE" if node.this else "FALSE",
    exp.Star: lambda writer, node: "*",
    exp.Paren: lambda writer, node: writer.write(node),
    exp.Column: lambda writer, node: writer.write_column(node),
    exp.Subquery: lambda writer, node: writer.write_nested(node),
    exp.Select: lambda writer, node: writer.write_nested(node),
    **dict.fromkeys(
        (exp.Union, exp.Intersect, exp.Except), lambda writer, node: writer.write_nested(node)
    ),
}

"""What a comparison compares: another value, NULL, another column, or by another operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlglot import exp

from answerkey.rewrites.comparisons import write_range
from answerkey.rewrites.trees import changed, replaced, together
from answerkey.sql.conditions import Comparison
from answerkey.sql.query_tree import make_limit
from answerkey.sql.scopes import DirectColumn

Operator = type[exp.LT | exp.LTE | exp.GT | exp.GTE]


@contextmanager
def compare_with_value(comparison: Comparison, value: exp.Expr) -> Iterator[None]:
    """Compare with another value: `a = 5` -> `a = 6`; `a IN ('x', 'y')` -> `a IN ('z', 'y')`."""
    with replaced(comparison.right, value):
        yield


@contextmanager
def compare_with_text(comparison: Comparison, text: str) -> Iterator[None]:
    """Compare with another text: `kind = 'barge'` -> `kind = 'Barge'`."""
    with compare_with_value(comparison, exp.Literal.string(text)):
        yield


@contextmanager
def compare_with_null(comparison: Comparison) -> Iterator[None]:
    """Ask for NULL: `a = 'null'` -> `a IS NULL`; `a <> ''` -> `NOT a IS NULL`."""
    is_null: exp.Expr = exp.Is(this=comparison.left.copy(), expression=exp.null())
    is_equal = isinstance(comparison.node, exp.EQ)
    with replaced(comparison.node, is_null if is_equal else exp.Not(this=is_null)):
        yield


@contextmanager
def compare_column(node: exp.Expr, column: DirectColumn) -> Iterator[None]:
    """Compare another column: `name = 'Oslo'` -> `"town" = 'Oslo'`.

    node: the column that is compared.
    """
    with replaced(node, column.write()):
        yield


@contextmanager
def compare_by_operators(operators: Iterable[tuple[Comparison, Operator]]) -> Iterator[None]:
    """Compare by other operators: `5 < a` -> `a >= 5`; `a BETWEEN 1 AND 3` -> `(a > 1 AND a <= 3)`.

    The operator of one end of a BETWEEN begins with the sign of that end, > or <.
    """
    changes = []
    ranges: dict[int, tuple[exp.Between, dict[str, Operator]]] = {}
    for comparison, operator in operators:
        if isinstance(comparison.node, exp.Between):
            _, ends = ranges.setdefault(
                id(comparison.node), (comparison.node, {">": exp.GTE, "<": exp.LTE})
            )
            ends[comparison.operator[0]] = operator
        else:
            left, right = comparison.left.copy(), comparison.right.copy()
            changes.append(replaced(comparison.node, operator(this=left, expression=right)))
    for node, ends in ranges.values():
        changes.append(replaced(node, write_range(node, ends[">"], ends["<"])))
    with together(changes):
        yield


@contextmanager
def keep_rows(query: exp.Expr, rows: int) -> Iterator[None]:
    """Keep another number of rows: `LIMIT 1` -> `LIMIT 3`."""
    with changed(query, limit=make_limit(rows)):
        yield

"""Terms of ORDER BY and GROUP BY: which result column one means, and how it sorts."""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.expression_writer import UnwritableError
from answerkey.sql.operators import is_star, read_integer
from answerkey.sql.query_parts import selects_of
from answerkey.sqlite.schema import fold_name


def find_shown(node: exp.Expression, shown: list[exp.Expression]) -> int:
    """The place of the result column that is this very node."""
    for place, expression in enumerate(shown, start=1):
        if is_star(expression):
            break
        if expression.unalias() is node or expression.unalias().unnest() is node:
            return place
    raise UnwritableError("ORDER BY or GROUP BY of what only a query around can name")


def find_places(query: exp.SetOperation) -> list[str]:
    """The place in the answer of each term by which a compound select is sorted."""
    order = query.args.get("order")
    terms = [term.this.unnest() for term in order.expressions] if order is not None else []
    selects = selects_of(query) if terms else []
    return [str(read_integer(term) or _find_place(term, selects)) for term in terms]


def _find_place(node: exp.Expression, selects: list[exp.Select]) -> int:
    """The place of the column that a term of a compound select's ORDER BY means.

    Source: resolveCompoundOrderBy in SQLite's resolve.c: for each SELECT from the left, the name
    given by AS comes first, and then the same expression.
    """
    name = fold_name(node.name) if isinstance(node, exp.Column) else ""
    for select in selects:
        shown = select.expressions
        if any(is_star(expression) for expression in shown):
            break
        for place, expression in enumerate(shown, start=1):
            if isinstance(expression, exp.Alias) and fold_name(expression.alias) == name:
                return place
        for place, expression in enumerate(shown, start=1):
            inner = expression.unalias()
            is_name = isinstance(inner, exp.Column) and fold_name(inner.name) == name
            if is_name or inner == node:
                return place
    raise UnwritableError("ORDER BY of a compound select by what it does not show")


def write_direction(term: exp.Expression) -> str:
    """How a term of ORDER BY sorts, where that is not the default."""
    is_descending = bool(term.args.get("desc"))
    has_nulls_first = bool(term.args.get("nulls_first"))
    text = " DESC" if is_descending else ""
    if has_nulls_first == is_descending:  # SQLite takes NULL for the smallest value
        text += " NULLS FIRST" if has_nulls_first else " NULLS LAST"
    return text

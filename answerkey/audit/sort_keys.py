"""Sort keys: what the terms of a query's top-level ORDER BY compare, row by row."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sqlglot import exp

from answerkey.audit.proofs.equal_values import (
    FOLDS,
    collation_of,
    collation_of_output,
    may_be_folded,
)
from answerkey.sql.operands import read_integer
from answerkey.sql.query_parts import selects_of
from answerkey.sql.query_rewrites import inline_aliases, unwrap
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.guard import Row, Value
from answerkey.sqlite.schema import fold_name


@dataclass(frozen=True, slots=True)
class SortKey:
    """A sort key: the place of a result column, or else an expression to be selected as well."""

    term: exp.Expression
    place: int | None = None
    expression: exp.Expression | None = None


def find_sort_keys(
    query: exp.Expression, answer: list[Row], scopes: Scopes
) -> list[SortKey] | None:
    """The sort keys of a query that gave this answer, one for each term of ORDER BY.

    None where a key of a compound select is none of its columns, or where the columns are not known
    as well as the answer has them.
    """
    order = query.args.get("order")
    keys = []
    for term in order.expressions if order is not None else ():
        expression = term.this.unnest()
        number = read_integer(_without_collate(expression))
        place = None if number is None else number - 1
        if place is None and (isinstance(query, exp.SetOperation) or query.args.get("distinct")):
            place = _find_place(query, expression, scopes)
        if place is not None:
            keys.append(SortKey(term, place=place))
        elif isinstance(query, exp.SetOperation):
            return None
        else:
            keys.append(SortKey(term, expression=inline_aliases(expression, scopes)))
    return keys if _are_places_known(query, keys, answer, scopes) else None


def _are_places_known(
    query: exp.Expression, keys: list[SortKey], answer: list[Row], scopes: Scopes
) -> bool:
    """Whether the places of keys can be relied on: `*` over a table-valued function hides some."""
    if not answer or all(key.place is None for key in keys):
        return True
    return len(scopes.outputs(query)) == len(answer[0])


def _find_place(query: exp.Expression, expression: exp.Expression, scopes: Scopes) -> int | None:
    """Which result column a term of ORDER BY means: by its AS, as the same column, or as the same
    expression; in a compound select, of any of its SELECTs."""
    bare = _without_collate(expression)
    wanted = scopes.resolve(bare) if isinstance(bare, exp.Column) else None
    for select in selects_of(query):
        outputs = scopes.outputs(select)
        if isinstance(bare, exp.Column) and not bare.args.get("table"):
            for place, output in enumerate(outputs):
                if fold_name(output.name) == fold_name(bare.name):
                    return place
        for place, output in enumerate(outputs):
            if output.expression is not None and output.expression.unnest() == bare:
                return place
            found = output.resolution
            if found is None and isinstance(output.expression, exp.Column):
                found = scopes.resolve(output.expression)
            if (
                found is not None
                and wanted is not None
                and wanted.column is not None
                and (found.source, found.column) == (wanted.source, wanted.column)
            ):
                return place
    return None


def _without_collate(expression: exp.Expression) -> exp.Expression:
    return expression.this.unnest() if isinstance(expression, exp.Collate) else expression


def take_keys(
    rows: list[Row], keys: list[SortKey], scopes: Scopes
) -> tuple[int, list[tuple[Value, ...]]]:
    """How many columns are selected, and each row's sort keys, folded as their collations do."""
    added = sum(key.place is None for key in keys)
    width = len(rows[0]) - added if rows else 0
    places, extra = [], width
    for key in keys:
        places.append(extra if key.place is None else key.place)
        extra += key.place is None
    values = [tuple(row[place] for place in places) for row in rows]
    for number, key in enumerate(keys):
        if any(may_be_folded(a[number], b[number]) for a, b in itertools.pairwise(values)):
            fold = FOLDS[_collation_of_key(key, scopes)]
            values = [
                (*row[:number], fold(row[number]), *row[number + 1 :])
                if isinstance(row[number], str)
                else row
                for row in values
            ]
    return width, values


def _collation_of_key(key: SortKey, scopes: Scopes) -> str:
    term = key.term.this
    if key.place is None or isinstance(term, exp.Collate):
        return collation_of(term, scopes)
    return collation_of_output(scopes.outputs(unwrap(scopes.tree))[key.place], scopes)

"""Readings that a formula states, and gold does not follow: what is counted, by what is sorted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from answerkey.rewrites.trees import Steps, replaced
from answerkey.sql.scopes import DirectColumn, Scope, Scopes, list_columns
from answerkey.sqlite.schema import fold_name

_FORMULA = re.compile(
    r"\b(count|max|min)\s*\(\s*(distinct\b)?\s*(?:\w+\s*\.\s*)?([\"`\[]?)([\w ]+?)[\"`\]]?\s*\)",
    re.IGNORECASE,
)


class _Formula(NamedTuple):
    """`COUNT(DISTINCT name)`: count, True, name."""

    function: str
    is_distinct: bool
    column: str


def read_stated_counts(scopes: Scopes, question_text: str) -> Steps:
    """stated_count: what a formula of the evidence counts, in place of what gold counts.

    Reason: whoever counts names because the evidence says COUNT(DISTINCT name) does as asked, also
    where gold counts keys.
    """
    formulas = [formula for formula in _list_formulas(question_text) if formula.function == "count"]
    for count in scopes.nodes.find_all(exp.Count) if formulas else ():
        scope = scopes.scope_of(count)
        if scope is None or count.find(exp.Case, exp.If) is not None:
            continue
        for formula in formulas:
            for column in _find_columns(formula, scope):
                values: list[exp.Expr] = [exp.Distinct(expressions=[column.write()])]
                if not formula.is_distinct:  # a formula seldom says that equal ones are one
                    values.append(column.write())
                for counted in values:
                    with replaced(count, exp.Count(this=counted)):
                        yield "stated_count"


def read_stated_order(scopes: Scopes, question_text: str) -> Steps:
    """stated_order: ORDER BY the amount of which the evidence says MAX or MIN, in place of another
    column of which it says nothing.

    Reason: "best refers to MAX(score)" says by what to sort, and gold may sort by what it shows.
    """
    formulas = [formula for formula in _list_formulas(question_text) if formula.function != "count"]
    stated = {fold_name(formula.column) for formula in formulas}
    for order in scopes.nodes.find_all(exp.Order) if formulas else ():
        scope, (first, *others) = scopes.scope_of(order), order.expressions
        own = scopes.find_direct(first.this)
        if scope is None or others or own is None or fold_name(own.column.name) in stated:
            continue
        for formula in formulas:
            for column in _find_columns(formula, scope):
                term = exp.Ordered(this=column.write(), desc=formula.function == "max")
                with replaced(order, exp.Order(expressions=[term])):
                    yield "stated_order"


def _list_formulas(text: str) -> list[_Formula]:
    formulas = (
        _Formula(function.lower(), bool(distinct), column)
        for function, distinct, _, column in _FORMULA.findall(text)
    )
    return list(dict.fromkeys(formulas))


def _find_columns(formula: _Formula, scope: Scope) -> Iterator[DirectColumn]:
    """The columns of the tables of a SELECT that have the name of a formula."""
    name = fold_name(formula.column)
    return (column for column in list_columns(scope) if fold_name(column.column.name) == name)

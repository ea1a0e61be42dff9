"""What the question or its evidence states and gold does not follow: a formula, a code, a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.engines.schema import Table, fold_name
from answerkey.english.question import has_phrase
from answerkey.rewrites.codes import find_values, list_codes
from answerkey.rewrites.trees import FindRows, Steps, order_by, replaced
from answerkey.sql.keys import is_key
from answerkey.sql.scopes import DirectColumn, Scope, Scopes, list_columns

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
    """Yield `stated_count`: `count(*)` -> `COUNT(DISTINCT "name")`, if the evidence says
    COUNT(DISTINCT name); and `COUNT("name")`, if it says COUNT(name).

    Reason: who counts names because the evidence says so does as asked, also if gold counts keys.
    """
    formulas = [formula for formula in _list_formulas(question_text) if formula.function == "count"]
    for count in scopes.nodes.find_all(exp.Count) if formulas else ():
        scope = scopes.scope_of(count)
        if scope is None or count.find(exp.Case, exp.If) is not None:
            continue
        for formula in formulas:
            for column in _find_columns(formula, scope):
                values: list[exp.Expr] = [exp.Distinct(expressions=[column.write()])]
                if not formula.is_distinct:  # a formula rarely says that equal values count once
                    values.append(column.write())
                for counted in values:
                    with replaced(count, exp.Count(this=counted)):
                        yield "stated_count"


def read_stated_order(scopes: Scopes, question_text: str) -> Steps:
    """Yield `stated_order`: `ORDER BY name DESC` -> `ORDER BY "score" DESC`, if the evidence says
    MAX(score), and neither MAX nor MIN of the name.

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
                with replaced(order, order_by(order, [term])):
                    yield "stated_order"


def _list_formulas(text: str) -> list[_Formula]:
    formulas = (
        _Formula(function.lower(), bool(distinct), column)
        for function, distinct, _, column in _FORMULA.findall(text)
    )
    return list(dict.fromkeys(formulas))


def _find_columns(formula: _Formula, scope: Scope) -> Iterator[DirectColumn]:
    """Yield the columns of the tables of a SELECT that have the name of a formula."""
    name = fold_name(formula.column)
    return (column for column in list_columns(scope) if fold_name(column.column.name) == name)


def read_codes(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """Yield `stated_code`: `port.name = 'Oban'` -> `port.id = 3`, if the question states port_id =
    3; and `stated_name`: `port_id = 3` -> `port_id IN (SELECT id FROM port WHERE name = 'Oban')`,
    if it has the name.

    Reason: `alignment_id = 3` in the evidence is as good as the name of alignment 3. A code that
    nobody states is memorized.
    """
    for code in list_codes(scopes, find_rows):
        if _states_code(question_text, code.key, code.value):
            with replaced(code.by_name, code.by_key):
                yield "stated_code"
    for node in list(scopes.nodes.find_all(exp.EQ)):
        compared = scopes.find_direct(node.this)
        if compared is None or not isinstance(node.expression, exp.Literal):
            continue
        for table, key in _list_named_by(compared, scopes):
            value = node.expression.name
            for column in table.columns:
                names = find_values(find_rows, table.name, column.name, key, value)
                is_name = len(names) == 1 and isinstance(names[0], str)
                if is_name and has_phrase(question_text.lower(), names[0].lower()):
                    yield from _compare_name(node, table, key, column.name, names[0])


def _states_code(text: str, key: str, code: Any) -> bool:
    """Return whether a text sets a column whose name ends in that of a key to a code.

    >>> _states_code("blue refers to eye_colour_id = 7", "id", 7), _states_code("7 heroes", "id", 7)
    (True, False)
    """
    pattern = rf"{re.escape(key)}\W{{1,3}}(?:=|is|:)?\s*['\"]?{re.escape(str(code))}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _list_named_by(column: DirectColumn, scopes: Scopes) -> Iterator[tuple[Table, str]]:
    """Yield the tables whose rows a column identifies, and the key by which it does."""
    if is_key(column.table, column.column):
        yield column.table, column.column.name
    for reference in scopes.references.of_table(column.table):
        if reference.column is column.column:
            yield reference.parent, reference.referred.name


def _compare_name(node: exp.EQ, table: Table, key: str, column: str, name: str) -> Steps:
    query = exp.select(exp.column(key, quoted=True)).from_(exp.table_(table.name, quoted=True))
    query = query.where(exp.column(column, quoted=True).eq(name))
    with replaced(node, exp.In(this=node.this.copy(), query=exp.Subquery(this=query))):
        yield "stated_name"

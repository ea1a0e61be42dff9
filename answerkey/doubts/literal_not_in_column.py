"""literal_not_in_column: the query compares a column with a text that no row of it holds.

Doubted, if the rows spell it 'Barge': `SELECT name FROM ship WHERE kind = 'barge'`
Not doubted: `SELECT name FROM ship WHERE kind = 'Barge'`, and a text that nothing in the database
looks like, since its spelling is unknown.

An equality with such a text is never true, so the answer lacks the rows that are meant. Kinds:

null: the text is 'null' or empty, and NULL is meant.
spelling: the column holds the text in other letters, spaces or signs.
other_column: another column of the table holds the text.
near: the column holds exactly one text that differs by a slip of the pen.
subquery: the column is compared with the column of a subquery, and they share no value.

The repair compares with what the rows hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.compared_literals import (
    EQUALITIES,
    MAX_COLUMN_VALUES,
    ComparedLiteral,
    list_compared_literals,
)
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.engines.column_texts import write_holds, write_is_same_in_any_case
from answerkey.engines.schema import Column, Table, quote_name
from answerkey.order.inspection import Inspection
from answerkey.rewrites.compared_values import compare_column, compare_with_null, compare_with_text
from answerkey.rewrites.trees import together, write_change
from answerkey.sql.query_tree import speaks_sqlite, spoken_engine, to_sql, write_table
from answerkey.sql.scopes import DirectColumn

_NULLS = frozenset({"null", "none", "nil", ""})
_MIN_NEAR_LETTERS = 6  # shorter real words often differ in one letter
_MIN_CHANGED_LETTERS = 8  # the same for a changed letter, as in Gambia and Zambia
_KINDS = ("null", "spelling", "other_column", "near")


def find_literal_not_in_column(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column that has values is compared with a text that it does not hold.
    Of several such texts, the evidence has the first one, by the order of kinds."""
    query = read_query(inspection)
    absent_texts: list[_AbsentText] = []
    for literal in inspection.once(list_compared_literals):
        base = query.base_column(literal.comparison.left)
        if base is not None and literal.is_text and literal.comparison.operator in EQUALITIES:
            absent_texts += _describe(literal, *base, query)
    if not absent_texts:
        return _find_unrelated_subquery(query)
    first = min(absent_texts, key=lambda absent: _KINDS.index(absent.kind))
    evidence = {"kind": first.kind} | first.evidence
    return [Finding("literal_not_in_column", with_repair(evidence, _repair(query, absent_texts)))]


class _AbsentText(NamedTuple):
    """A text that a column does not hold, and the value and the column that are probably meant."""

    kind: str
    literal: ComparedLiteral
    evidence: dict[str, Any]
    value: str
    column: Column


def _describe(
    literal: ComparedLiteral, table: Table, column: Column, query: Query
) -> Iterator[_AbsentText]:
    """Yield the text as an absent one, if the column has values, lacks this text, and it is known
    what is meant."""
    name, source = quote_name(column.name), write_table(table.name)
    text = to_sql(exp.Literal.string(literal.text))
    if query.ask(write_holds(table.name, column.name, text, engine=spoken_engine())) != []:
        return
    if not query.ask(f"SELECT 1 FROM {source} WHERE {name} IS NOT NULL LIMIT 1"):
        return
    evidence = {"sql": literal.comparison.text, "column": [table.name, column.name]}
    if literal.text.strip().lower() in _NULLS:
        yield _AbsentText("null", literal, evidence, "", column)
        return
    stored = query.list_texts(table, column, most=MAX_COLUMN_VALUES, in_order=True)
    letters = _keep_letters(literal.text)
    for value in stored:
        if letters and _keep_letters(value) == letters:
            yield _AbsentText("spelling", literal, evidence | {"stored": value}, value, column)
            return
    for other in table.columns:
        quoted = quote_name(other.name)
        is_same = write_is_same_in_any_case(other.name, text, engine=spoken_engine())
        if not speaks_sqlite():
            quoted = f"CAST({quoted} AS TEXT)"
        held = query.ask(
            f"SELECT {quoted} FROM {source} WHERE {is_same} ORDER BY {quoted} <> {text} LIMIT 1"
        )
        for (same_text,) in held or ():
            held_by = {"held_by": [table.name, other.name]}
            yield _AbsentText("other_column", literal, evidence | held_by, str(same_text), other)
            return
    near = [value for value in stored if _is_slip(letters, _keep_letters(value))]
    if len(near) == 1:
        yield _AbsentText("near", literal, evidence | {"stored": near[0]}, near[0], column)


def _keep_letters(text: str) -> str:
    """Return the letters and digits of a text, in small letters: `St. Ives` -> `stives`."""
    return "".join(filter(str.isalnum, text.lower()))


def _is_slip(text: str, value: str) -> bool:
    """Return whether a text is probably a mistyped value: its letters in another order, or one
    letter missing, added or changed. Short words and other digits do not count.

    >>> [_is_slip(*pair.split()) for pair in ("ostned ostend", "barges barge", "gambia zambia")]
    [True, True, False]
    """
    short, long = sorted((text, value), key=len)
    if len(short) + 1 < _MIN_NEAR_LETTERS or _read_digits(text) != _read_digits(value):
        return False
    indexes = range(len(short))
    start = next((index for index in indexes if short[index] != long[index]), len(short))
    if len(long) == len(short) + 1:
        return len(long) >= _MIN_NEAR_LETTERS and short[start:] == long[start + 1 :]
    if len(long) != len(short):
        return False
    is_changed = start > 0 and short[start + 1 :] == long[start + 1 :]
    is_swapped = len(short) >= _MIN_NEAR_LETTERS and sorted(short) == sorted(long)
    return is_swapped or (is_changed and len(short) >= _MIN_CHANGED_LETTERS)


def _read_digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _repair(query: Query, absent_texts: list[_AbsentText]) -> str | None:
    """Return the query with what its columns hold, or None if a text in an IN list belongs to
    another column or means NULL: the other texts of the list may be right."""
    changes: list[AbstractContextManager[None]] = []
    for absent in absent_texts:
        comparison = absent.literal.comparison
        if absent.kind in ("spelling", "near"):
            changes.append(compare_with_text(comparison, absent.value))
            continue
        column = query.scopes.find_direct(comparison.left)
        if not isinstance(comparison.node, exp.EQ | exp.NEQ) or column is None:
            return None
        if absent.kind == "null":
            changes.append(compare_with_null(comparison))
        else:
            changes.append(compare_column(comparison.left, column.beside(absent.column)))
            changes.append(compare_with_text(comparison, absent.value))
    return write_change(query.scopes, together(changes))


def _find_unrelated_subquery(query: Query) -> list[Finding]:
    """Return a finding of kind `subquery`. The repair compares the column that has the name of the
    subquery's: `home IN (SELECT id FROM port)` -> `id IN (SELECT id FROM port)`."""
    for node in query.scopes.nodes.find_all(exp.EQ, exp.NEQ, exp.In):
        values = node.args.get("query") or node.expression
        select = values.unnest() if isinstance(values, exp.Expr) else None
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            continue
        left = query.scopes.find_direct(node.this)
        right = query.scopes.find_direct(select.expressions[0].unalias())
        if left is None or right is None or _may_be_equal(left, right, query):
            continue
        evidence = {"kind": "subquery", "column": left.full_name, "values": right.full_name}
        column, repair = left.table.find_column(right.column.name), None
        if column is not None:
            repair = write_change(query.scopes, compare_column(node.this, left.beside(column)))
        return [Finding("literal_not_in_column", with_repair(evidence, repair))]
    return []


def _may_be_equal(left: DirectColumn, right: DirectColumn, query: Query) -> bool:
    """Return whether two columns share a value, or one of them has no value."""
    if left.table is right.table and left.column is right.column:
        return True
    (name, table), (other, other_table) = (
        (quote_name(column.column.name), write_table(column.table.name)) for column in (left, right)
    )
    tests = (
        f"SELECT 1 FROM {table} WHERE {name} IN (SELECT {other} FROM {other_table}) LIMIT 1",
        f"SELECT 1 FROM {table} WHERE {name} IS NOT NULL LIMIT 1",
        f"SELECT 1 FROM {other_table} WHERE {other} IS NOT NULL LIMIT 1",
    )
    return query.ask(tests[0]) != [] or not all(map(query.ask, tests[1:]))


DOUBT = Doubt("literal_not_in_column", find_in_query=find_literal_not_in_column)

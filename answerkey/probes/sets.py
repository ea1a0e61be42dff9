"""set_operation_on_non_key: INTERSECT, EXCEPT, IN or NOT IN compares names in place of keys.

`SELECT name FROM singer EXCEPT SELECT T1.name FROM singer AS T1 JOIN song AS T2 ON T1.id =
T2.singer_id` -> a singer without a song is left out where another of that name has one.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from answerkey.english.columns import is_part_of_name, names_people
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues, shorten
from answerkey.probes.entities import find_key, is_label, name_column, resolve_direct, write_rows
from answerkey.records import Finding
from answerkey.sql.query_parts import find_with
from answerkey.sql.scopes import Resolution, Scopes
from answerkey.sqlite.guard import Row
from answerkey.sqlite.schema import Schema, fold_name

_NAMES_SHOWN = 3
_CUTS = ("group", "having", "limit")


@dataclass(slots=True)
class _Operation:
    """Two SELECTs whose rows are compared by columns of one table, which each of them reads."""

    name: str
    left: exp.Select
    right: exp.Select
    own: list[Resolution]
    other: list[Resolution]


def find_set_operation_on_non_key(inspection: Inspection) -> list[Finding]:
    """Return a finding if rows of one table are compared by their names and not by its key.

    Kinds: `in_data` where the names of things make the answer another than their keys would;
    `in_list` for IN and NOT IN, which need not show what they compare; `part_of_name`, a first name
    alone or a last name; `people` for EXCEPT over people, where one other of the same name is
    enough; `others`, whose names are seldom shared, or, for INTERSECT, by two who meet one side
    each.
    """
    values = ColumnValues(inspection.database)
    for node in inspection.scopes.nodes.find_all(exp.Except, exp.Intersect, exp.In):
        operation = _read_operation(node, inspection.scopes)
        if operation is None or not _is_of_names(operation, inspection.schema):
            continue
        table = operation.own[0].table
        key = find_key(table, values)
        names = [found.column.name for found in operation.own]
        if key is None or fold_name(key) in map(fold_name, names):
            continue
        shown = _find_differences(operation, key, values)
        evidence = {
            "kind": "in_data" if shown else _read_kind(operation),
            "operation": operation.name,
            "columns": [f"{table.name}.{name}" for name in names],
            "key": f"{table.name}.{key}",
            "names": [[shorten(value) for value in row] for row in shown],
        }
        return [Finding("set_operation_on_non_key", evidence)]
    return []


def _read_kind(operation: _Operation) -> str:
    found = operation.own
    if operation.name in ("IN", "NOT IN"):
        return "in_list"
    if len(found) == 1 and is_part_of_name(found[0].column.name):
        return "part_of_name"
    is_of_people = names_people(found[0].table.name)
    return "people" if is_of_people and operation.name == "EXCEPT" else "others"


def _read_operation(node: exp.Expression, scopes: Scopes) -> _Operation | None:
    if isinstance(node, exp.In):
        query = node.args.get("query")
        left, right = node.find_ancestor(exp.Select), query.unnest() if query is not None else None
        name = "NOT IN" if isinstance(node.parent, exp.Not) else "IN"
        shown = [node.this]
    else:
        left, right, name = node.this, node.expression, node.key.upper()
        shown = left.expressions
    if not (isinstance(left, exp.Select) and isinstance(right, exp.Select)):
        return None
    if find_with(node) is not None or any(right.args.get(clause) for clause in _CUTS):
        return None
    own = [resolve_direct(column, scopes) for column in shown]
    other = [resolve_direct(column, scopes) for column in right.expressions]
    if not own or None in own or None in other:
        return None
    if any(_is_of_outer(column, right, scopes) for column in right.find_all(exp.Column)):
        return None  # "who has the name of another"
    return _Operation(name, left, right, own, other)


def _is_of_outer(column: exp.Column, query: exp.Select, scopes: Scopes) -> bool:
    found = resolve_direct(column, scopes)
    return found is not None and not any(
        found.scope.select is s for s in query.find_all(exp.Select)
    )


def _is_of_names(operation: _Operation, schema: Schema) -> bool:
    """Whether both sides have the same columns of one table, a name among them, and could have the
    same row: conditions on single rows of that table alone are met by other rows of one name."""
    own, other = operation.own, operation.other
    columns = [[found.column for found in side] for side in (own, other)]
    sources = [{id(found.source) for found in side} for side in (own, other)]
    if columns[0] != columns[1] or own[0].table is not other[0].table:
        return False
    if len(sources[0]) > 1 or len(sources[1]) > 1:
        return False
    is_joined = [bool(side.args.get("joins")) for side in (operation.left, operation.right)]
    is_of_rows = not any(is_joined) and operation.left.args.get("where") is not None
    if is_of_rows and operation.name in ("INTERSECT", "EXCEPT"):
        return False
    return any(is_label(found, schema) for found in own)


def _find_differences(operation: _Operation, key: str, values: ColumnValues) -> list[Row]:
    """Names that a comparison of keys would return and the query does not, or the other way
    round; none for NOT IN, where that is not looked for."""
    if operation.name == "NOT IN":
        return []
    width = len(operation.own)
    names = ", ".join(f"n{place}" for place in range(width))
    rows, keys = (
        write_rows(side, *_list_columns(found, key))
        for side, found in ((operation.left, operation.own), (operation.right, operation.other))
    )
    keys = f"SELECT k FROM ({keys}) WHERE k IS NOT NULL"
    if operation.name == "IN":
        sql = f"SELECT {names} FROM ({rows}) WHERE k NOT IN ({keys})"
    else:
        answer = f"SELECT {names} FROM ({rows}) {operation.name} SELECT {names} FROM ({{0}})"
        answer = answer.format(write_rows(operation.right, *_list_columns(operation.other, key)))
        is_except = operation.name == "EXCEPT"
        by_key = f"SELECT {names} FROM ({rows}) WHERE k {'NOT IN' if is_except else 'IN'} ({keys})"
        left, right = (by_key, answer) if is_except else (answer, by_key)
        sql = f"SELECT * FROM ({left}) EXCEPT SELECT * FROM ({right})"
    return values.ask(f"{sql} LIMIT {_NAMES_SHOWN}") or []


def _list_columns(found: list[Resolution], key: str) -> list[exp.Expression]:
    source, scope = found[0].source, found[0].scope
    names = [(what.column.name, f"n{place}") for place, what in enumerate(found)]
    return [exp.alias_(name_column(source, name, scope), to) for name, to in [(key, "k"), *names]]


PROBES = (find_set_operation_on_non_key,)

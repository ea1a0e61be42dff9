"""set_operation_on_non_key: INTERSECT or EXCEPT compares names in place of keys.

`SELECT name FROM singer EXCEPT SELECT T1.name FROM singer AS T1 JOIN song AS T2 ON T1.id =
T2.singer_id` -> a singer without a song is left out where another of that name has one.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.columns import is_part_of_name, names_people
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues
from answerkey.probes.entities import find_key, is_label, resolve_direct
from answerkey.sql.query_tree import find_with
from answerkey.sql.scopes import Resolution, Scopes
from answerkey.sqlite.schema import fold_name

_CUTS = ("group", "having", "limit")


def find_set_operation_on_non_key(inspection: Inspection) -> list[Finding]:
    """Return a finding if rows of one table are compared by their names and not by its key.

    Kinds: `part_of_name`, a first name alone or a last name; `people` for EXCEPT over people, where
    one other of the same name is enough; `others`, whose names are seldom shared, or, for
    INTERSECT, by two who meet one side each.
    """
    for node in inspection.scopes.nodes.find_all(exp.Except, exp.Intersect):
        found = _read_columns(node, inspection.scopes)
        if not any(is_label(column, inspection.schema) for column in found):
            continue
        table = found[0].table
        key = find_key(table, ColumnValues(inspection.database))
        names = [what.column.name for what in found]
        if key is not None and fold_name(key) not in map(fold_name, names):
            evidence = {
                "kind": _read_kind(node, found),
                "operation": node.key.upper(),
                "columns": [f"{table.name}.{name}" for name in names],
                "key": f"{table.name}.{key}",
            }
            return [Finding("set_operation_on_non_key", evidence)]
    return []


def _read_kind(node: exp.Expression, found: list[Resolution]) -> str:
    if len(found) == 1 and is_part_of_name(found[0].column.name):
        return "part_of_name"
    is_of_people = names_people(found[0].table.name)
    return "people" if is_of_people and isinstance(node, exp.Except) else "others"


def _read_columns(node: exp.SetOperation, scopes: Scopes) -> list[Resolution]:
    """The columns that are compared, if both sides have the same ones of one table, and could have
    the same row: conditions on single rows of that table alone are met by other rows of a name."""
    sides = [node.this, node.expression]
    if not all(isinstance(side, exp.Select) for side in sides) or find_with(node) is not None:
        return []
    own, other = ([resolve_direct(c, scopes) for c in side.expressions] for side in sides)
    if None in own or None in other or any(sides[1].args.get(clause) for clause in _CUTS):
        return []
    is_same = [found.column for found in own] == [found.column for found in other]
    is_joined = any(side.args.get("joins") for side in sides)
    is_of_rows = not is_joined and sides[0].args.get("where") is not None
    return own if is_same and own[0].table is other[0].table and not is_of_rows else []


PROBES = (find_set_operation_on_non_key,)

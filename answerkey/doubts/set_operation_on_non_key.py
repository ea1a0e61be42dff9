"""INTERSECT or EXCEPT compares the names of things and not the things.

"Which singers have no song?"

Doubted: SELECT name FROM singer
         EXCEPT SELECT singer.name FROM singer JOIN song ON singer.id = song.singer_id
Sound:   SELECT id, name FROM singer
         EXCEPT SELECT singer.id, singer.name FROM singer JOIN song ON singer.id = song.singer_id

Two singers may have one name: without a song, a singer is left out if another of that name has
one. There is no doubt where the column is no name ("which towns ..."), and where each side chooses
single rows of the table: then rows that share a name meet the conditions, too.

Kinds:

part_of_name: a first name or a last name alone.
people: EXCEPT over people. One other person of the same name is enough.
others: names that few things share; or INTERSECT, for which two of one name have to meet one side
    each.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.engines.schema import fold_name
from answerkey.english.columns import is_part_of_name, names_people
from answerkey.order.inspection import Inspection
from answerkey.rewrites.rows import compare_keys
from answerkey.rewrites.trees import write_change
from answerkey.sql.query_tree import find_with
from answerkey.sql.scopes import DirectColumn, write_column

_CUTS = ("group", "having", "limit")  # a side with one of these is more than what its WHERE says


def find_set_operation_on_non_key(inspection: Inspection) -> list[Finding]:
    """Return a finding of the first set operation that compares rows of one table by a name."""
    query = read_query(inspection)
    for node in query.scopes.nodes.find_all(exp.Except, exp.Intersect):
        columns = _list_compared(node, query)
        has_label = any(map(query.scopes.is_label, columns))
        key = query.find_key(columns[0].table) if has_label else None
        names = [column.column.name for column in columns]
        if key is not None and fold_name(key) not in map(fold_name, names):
            table = columns[0].table.name
            evidence = {
                "kind": _choose_kind(node, table, names),
                "operation": node.key.upper(),
                "columns": [f"{table}.{name}" for name in names],
                "key": f"{table}.{key}",
            }
            repair = _write_repair(query, node, key)
            return [Finding("set_operation_on_non_key", with_repair(evidence, repair))]
    return []


def _list_compared(node: exp.SetOperation, query: Query) -> list[DirectColumn]:
    """The columns that are compared, if both sides have the same ones of one table, and could have
    the same row: conditions on single rows of that table alone are met by other rows of a name."""
    sides = [node.this, node.expression]
    if not all(isinstance(side, exp.Select) for side in sides) or find_with(node) is not None:
        return []
    own, other = (query.scopes.find_all_direct(side.expressions) for side in sides)
    if not own or not other or any(sides[1].args.get(clause) for clause in _CUTS):
        return []
    is_same = [column.column for column in own] == [column.column for column in other]
    is_joined = any(side.args.get("joins") for side in sides)
    is_of_rows = not is_joined and sides[0].args.get("where") is not None
    return own if is_same and own[0].table is other[0].table and not is_of_rows else []


def _choose_kind(node: exp.SetOperation, table: str, names: list[str]) -> str:
    if len(names) == 1 and is_part_of_name(names[0]):
        return "part_of_name"
    return "people" if names_people(table) and isinstance(node, exp.Except) else "others"


def _write_repair(query: Query, node: exp.SetOperation, key: str) -> str | None:
    """The things of the left side whose key is, or is not, among those of the right side; None if
    the left side is more than its WHERE says."""
    if any(node.this.args.get(clause) for clause in (*_CUTS, "order")):
        return None
    own, other = (
        write_column(columns[0].source, key, columns[0].scope)
        for side in (node.this, node.expression)
        if (columns := query.scopes.find_all_direct(side.expressions))
    )
    return write_change(query.scopes, compare_keys(node, own, other, is_once=True))


DOUBT = Doubt("set_operation_on_non_key", find_in_query=find_set_operation_on_non_key)

"""GROUP BY a name or its key.

Reason: "for each stadium" means a stadium, and two stadiums may have one name; but the answer shows
names, and a reader may take a name for the stadium.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.resolutions import Resolution, Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import fold_name
from answerkey.suites.neighbors.changes import Steps, changed
from answerkey.suites.neighbors.names import (
    find_direct,
    is_name,
    is_same_column,
    list_key,
    name_column,
)


def read_groupings(scopes: Scopes, question_text: str) -> Steps:
    """grouped_by_key in place of a name, where the query joins something to that key;
    grouped_by_name in place of another key, where the answer shows the name."""
    for group in scopes.nodes.find_all(exp.Group):
        keys = group.expressions
        found = [find_direct(key, scopes) for key in keys]
        for place, what in enumerate(found):
            if what is not None and is_name(what) and _is_joined_by_key(what, scopes):
                table, source = what.source.table, what.source
                columns = [table.find_column(name) for name in list_key(table)]
                new = [name_column(column, source, what.scope) for column in columns]
                copies = [key.copy() for key in keys]
                copies[place : place + 1] = new
                with changed(group, expressions=copies):
                    yield "grouped_by_key"
        yield from _group_by_name(group, found, scopes)


def _group_by_name(group: exp.Group, found: list[Resolution | None], scopes: Scopes) -> Steps:
    if len(found) != 1 or found[0] is None or is_name(found[0]):
        return
    for column in group.parent.expressions:
        node = column.unalias()
        shown = find_direct(node, scopes)
        if shown is None or not is_name(shown) or is_same_column(shown, found[0]):
            continue
        if _is_key(found[0]) or _is_key_of_other(found[0]):
            with changed(group, expressions=[node.copy()]):
                yield "grouped_by_name"
            return


def _is_key(found: Resolution) -> bool:
    names = list_key(found.source.table)
    return len(names) == 1 and fold_name(names[0]) == fold_name(found.column.name)


def _is_key_of_other(found: Resolution) -> bool:
    """Whether a column refers to another table."""
    own = fold_name(found.column.name)
    return any(
        len(key.columns) == 1 and fold_name(key.columns[0]) == own
        for key in found.source.table.foreign_keys
    )


def _is_joined_by_key(what: Resolution, scopes: Scopes) -> bool:
    """Whether each column of the key of a name's table is compared with another table's column."""
    key = {fold_name(name) for name in list_key(what.source.table)}
    joined: set[str] = set()
    for node in scopes.nodes.find_all(exp.EQ):
        sides = [find_direct(side, scopes) for side in (node.this, node.expression)]
        if None not in sides and sides[0].source is not sides[1].source:
            joined |= {fold_name(s.column.name) for s in sides if _is_of(s, what.source)}
    return bool(key) and key <= joined


def _is_of(found: Resolution, source: Source) -> bool:
    return found.source is source

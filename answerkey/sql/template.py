"""Templates: canonical SQL without its literals and without the names of tables and columns.

>>> tree = parse_one("SELECT name FROM ship WHERE id = 3")  # doctest: +SKIP
>>> write_template(canonical_tree(Scopes(tree, schema)))  # doctest: +SKIP
'SELECT t1.c1 FROM t1 WHERE t1.c2 = ?'

Each literal is `?`, and so is a whole list of them after IN. Tables and columns are numbered in the
order in which they appear, so that it stays visible where one is used twice. What canonical SQL
sorts by name is sorted here by what the query does with it: what it shows comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from sqlglot import exp

from answerkey.sql.canonical import NO_FORM, may_be_sorted, sort_query, write_sql

_NAME = re.compile("\x01([tc])([^\x01]*)\x01")  # a name in a text, until it is numbered


def write_template(tree: exp.Expression) -> str:
    """The template of a canonical tree, which is changed."""
    nodes = list(tree.walk())
    _blank(nodes)
    if any(map(may_be_sorted, nodes)):
        with suppress(*NO_FORM):
            _sort_by_place(tree, _list_names(tree, ("expressions", "group", "order")))
            # What these do not name is told apart by the conditions, which have an order now.
            _sort_by_place(tree, _list_names(tree, ("expressions", "group", "order", "where")))
    return _number_names(write_sql(tree))


def _blank(nodes: list[exp.Expression]) -> None:
    """Mark each name of a tree, and put `?` for each literal."""
    tables = {node.alias_or_name: node.name for node in nodes if isinstance(node, exp.Table)}
    for node in nodes:
        kind = type(node)
        if kind is exp.Identifier:
            parent = node.parent
            is_column = isinstance(parent, exp.Column)
            is_first = node.arg_key == "this"
            is_source = not is_first if is_column else is_first
            own = node.name
            if is_column and is_first and parent.table in tables:
                own = f"{tables[parent.table]}.{own}"
            node.set("this", f"\x01{'t' if is_source else 'c'}{own}\x01")
            node.set("quoted", False)
        elif kind is exp.Literal or kind is exp.HexString:
            literal = node.parent if isinstance(node.parent, exp.Neg) else node
            literal.replace(exp.Placeholder())
    for node in nodes:
        values = node.expressions if type(node) is exp.In else []
        if values and all(isinstance(value, exp.Placeholder) for value in values):
            node.set("expressions", [exp.Placeholder()])


def _list_names(tree: exp.Expression, clauses: Iterable[str]) -> list[str]:
    """The marked names that stand in some clauses, clause by clause, each once."""
    names: dict[str, None] = {}
    for select in tree.find_all(exp.Select):
        for clause in clauses:
            found = select.args.get(clause) or []
            for node in found if isinstance(found, list) else [found]:
                names |= {name.name: None for name in node.find_all(exp.Identifier, bfs=False)}
    return list(names)


def _sort_by_place(tree: exp.Expression, names: list[str]) -> None:
    """Sort by shape and by the places of these names, and only among equals by name."""
    places = {name: f"{place:03}" for place, name in enumerate(names)}

    def key(text: str) -> tuple[str, str]:
        return _NAME.sub(lambda found: places.get(found[0], "~"), text), text

    sort_query(list(tree.walk()), key, may_mirror=True)


def _number_names(text: str) -> str:
    """A text with numbers for the names that are marked in it.

    >>> _number_names("SELECT \\x01cship.id\\x01 FROM \\x01tship\\x01")
    'SELECT c1 FROM t1'
    """
    numbers: dict[str, dict[str, int]] = {"t": {}, "c": {}}

    def number(found: re.Match[str]) -> str:
        known = numbers[found[1]]
        return f"{found[1]}{known.setdefault(found[2], len(known) + 1)}"

    return _NAME.sub(number, text)

"""Qualified names: a copy of a query in which each name has its table and the schema's spelling.

`SELECT Name n FROM ship T1 ORDER BY n` -> `SELECT ship.name FROM ship ORDER BY (ship.name)`

Tables and columns are called as the schema spells them; `ship_2` is a table whose name is taken, in
its own FROM or in a query around it. What only the query gives a name to is called by that name, in
lower case. A name given by AS stays if another query reads it, or if the expression that it
names would mean something else in its place.
"""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.sql.parser import MAX_TOKENS
from answerkey.sql.query_parts import first_select, is_star, name_output, read_integer
from answerkey.sql.scopes import Scope, Scopes, Source
from answerkey.sqlite.schema import fold_name

_JOIN_KINDS = ("", "INNER", "CROSS", "OUTER")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def qualify_names(scopes: Scopes) -> exp.Expression:
    """Return the copy.

    Raises:
        ValueError: a name that cannot be resolved, or would mean something else in the copy.
    """
    return _Copy(scopes).tree


class _Copy:
    """The copy, while it is made."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._twins = _copy_nodes(scopes.tree)
        self.tree = self._twins[id(scopes.tree)]
        self._names = _name_sources(scopes)
        self._needed: set[int] = set()  # the AS that other names refer to
        self._nodes_left = MAX_TOKENS  # of those that stand in the place of names
        self._refuse_unknown_forms()
        for scope in scopes.select_scopes():
            for source in scope.sources.values():
                self._name_source(source)
        places = self._list_places()
        for column in scopes.nodes.find_all(exp.Column):
            if id(column) in places:
                place = exp.Literal.number(places[id(column)])
                self._twins[id(column)].replace(place)
            else:
                self._name_column(column)
        self._repeat_expressions()
        self._drop_aliases()

    def _refuse_unknown_forms(self) -> None:
        """Raise if names mean otherwise here: a table after IN, a CTE in the place of a table, and
        joins that SQLite does not have, or that merge columns of rows that one side lacks."""
        nodes, schema = self._scopes.nodes, self._scopes.schema
        if (
            any(node.args.get("field") is not None for node in nodes.find_all(exp.In))
            or any(schema.find_table(cte.alias) is not None for cte in nodes.find_all(exp.CTE))
            or any(map(_is_unknown_join, nodes.find_all(exp.Join)))
        ):
            raise ValueError("IN, WITH or JOIN of a form that has no other spelling")

    def _name_source(self, source: Source) -> None:
        twin, name = self._twins[id(source.node)], self._names[id(source)]
        own = _own_name(source)
        if isinstance(twin, exp.Table):
            twin.set("this", _identify(own))
            twin.set("db", None)
        is_named = isinstance(twin, exp.Table) and name == own
        twin.set("alias", None if is_named else exp.TableAlias(this=_identify(name)))

    def _name_column(self, column: exp.Column) -> None:
        twin, found = self._twins[id(column)], self._scopes.resolve(column)
        if column.is_star:
            scope = self._scopes.scope_of(column)
            (source,) = scope.find_sources(column.table)
            twin.set("table", _identify(self._names[id(source)]))
            if len(scope.sources) == 1:
                twin.replace(exp.Star())
        elif found is None:
            if not self._scopes.is_string(column) or self._may_be_made_up(column):
                raise ValueError(f"unknown name {column.name}")
            twin.replace(exp.Literal.string(column.name))
        elif found.source is not None:
            name = fold_name(column.name)
            if found.source.table is not None:
                name = found.column.name if found.column else found.source.table.rowid_name
            twin.set("this", _identify(name))
            twin.set("table", _identify(self._names[id(found.source)]))
            twin.set("db", None)

    def _may_be_made_up(self, column: exp.Column) -> bool:
        """Whether "count(*)" may be the name that SQLite gave to a subquery's column."""
        sources = (s for scope in self._scopes.select_scopes() for s in scope.sources.values())
        return not _PLAIN_NAME.fullmatch(column.name) and any(
            not output.name
            for source in sources
            if source.query is not None
            for output in self._scopes.outputs(source.query)
        )

    def _list_places(self) -> dict[int, int]:
        """The place in the answer of each name that sorts a compound select, by the name's id."""
        places = {}
        for query in self._scopes.nodes.find_all(exp.SetOperation):
            order = query.args.get("order")
            names = [fold_name(output.name) for output in self._scopes.outputs(query)]
            for term in order.expressions if order is not None else ():
                node = term.this.unnest()
                if read_integer(node) is not None:
                    continue
                is_name = isinstance(node, exp.Column) and not node.table
                if not is_name or names.count(fold_name(node.name)) != 1:
                    raise ValueError("ORDER BY of a compound select by what has no one name")
                places[id(node)] = names.index(fold_name(node.name)) + 1
        return places

    def _repeat_expressions(self) -> None:
        """Put the expression of a result column in the place of its name, or of its number."""
        for column in self._scopes.nodes.find_all(exp.Column):
            found = self._scopes.resolve(column)
            if found is None or found.source is not None or self._twins[id(column)].parent is None:
                continue
            is_own = found.scope is self._scopes.scope_of(column)
            if not (is_own and self._repeat(column, found.expression, found.scope)):
                self._needed.add(id(found.expression.parent))
        for scope in self._scopes.select_scopes():
            shown, clauses = scope.select.expressions, scope.select.args
            if any(map(is_star, shown)):
                continue
            for clause in filter(None, (clauses.get("group"), clauses.get("order"))):
                for term in clause.expressions:
                    node = term.this if isinstance(term, exp.Ordered) else term
                    place = read_integer(node)
                    if place in range(1, len(shown) + 1):
                        self._repeat(node, shown[place - 1].unalias(), scope)

    def _repeat(self, node: exp.Expression, expression: exp.Expression, scope: Scope) -> bool:
        """Put an expression in the place of a node, if it means there what it means as a result
        column; return whether it does.

        It may be no constant, which may be read as a place, and may name nothing of a query around.
        """
        if expression.find(exp.Query, exp.Window) is not None:
            return False
        has_column = False
        for column in expression.find_all(exp.Column):
            found = self._scopes.resolve(column)
            has_column |= found is not None
            if found is None and not self._scopes.is_string(column):
                return False
            if found is not None and (found.source is None or found.scope is not scope):
                return False
        if not has_column and expression.find(exp.AggFunc) is None:
            return False
        self._nodes_left -= sum(1 for _ in expression.walk())
        if self._nodes_left < 0:
            raise ValueError("names of expressions that would make the query much longer")
        self._twins[id(node)].replace(exp.Paren(this=self._twins[id(expression)].copy()))
        return True

    def _drop_aliases(self) -> None:
        read = set()  # SELECTs of which another one reads the columns by name
        for scope in self._scopes.select_scopes():
            for source in scope.sources.values():
                if source.query is not None and not source.column_names:
                    read.add(id(first_select(source.query)))
        for scope in self._scopes.select_scopes():
            twin = self._twins[id(scope.select)]
            for own, copied in zip(scope.select.expressions, list(twin.expressions), strict=True):
                if id(scope.select) in read:
                    name, copied_name = fold_name(name_output(own)), name_output(copied)
                    if not is_star(own) and name != fold_name(copied_name):
                        raise ValueError(f"{name} would be called {copied_name}")
                elif isinstance(own, exp.Alias) and id(own) not in self._needed:
                    copied.replace(copied.this)


def _is_unknown_join(join: exp.Join) -> bool:
    is_merging = join.method or join.args.get("using")
    return (
        join.kind not in _JOIN_KINDS
        or join.method not in ("", "NATURAL")
        or bool(is_merging and join.side in ("RIGHT", "FULL"))
    )


def _copy_nodes(tree: exp.Expression) -> dict[int, exp.Expression]:
    """The copy of each node of a tree, by the node's id; names are in lower case and quoted."""
    copy = tree.copy()
    twins = {id(node): twin for node, twin in zip(tree.walk(), copy.walk(), strict=True)}
    for twin in twins.values():
        if isinstance(twin, exp.Identifier):
            twin.set("this", fold_name(twin.name))
            twin.set("quoted", True)
    return twins


def _name_sources(scopes: Scopes) -> dict[int, str]:
    """The name of each member of FROM, by its id: its own, with a number if that is taken in its
    FROM or in a query around it."""
    names: dict[int, str] = {}
    taken: dict[int, set[str]] = {}
    found = scopes.select_scopes()  # the outer ones first
    own_names = {
        fold_name(_own_name(source)) for scope in found for source in scope.sources.values()
    }
    for scope in found:
        known = set(taken[id(scope.parent)]) if scope.parent is not None else set()
        for source in scope.sources.values():
            name = own = _own_name(source)
            number = 1
            while fold_name(name) in known or (number > 1 and fold_name(name) in own_names):
                number += 1
                name = f"{own}_{number}"
            known.add(fold_name(name))
            names[id(source)] = name
        taken[id(scope)] = known
    return names


def _own_name(source: Source) -> str:
    if source.table is not None:
        return source.table.name
    if source.query is None:
        raise ValueError(f"unknown table {source.name}")
    return fold_name(source.node.name if source.is_cte else source.name) or "d"


def _identify(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)

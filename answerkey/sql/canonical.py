"""Canonical SQL: two queries that differ only in their spelling get the same text.

>>> tree = parse_one("SELECT Name n FROM ship T1 WHERE (3 != T1.id)")  # doctest: +SKIP
>>> write_sql(canonical_tree(Scopes(tree, schema)))  # doctest: +SKIP
'SELECT "ship"."name" FROM "ship" WHERE "ship"."id" <> 3'

sqlglot writes it, from a copy of the tree in which

- every name has its table and the schema's spelling (see `qualify_names`);
- parentheses that group nothing are removed;
- the conditions of inner joins are in WHERE, and their tables are sorted by name;
- the operands of AND and OR, literals after IN, and the two sides of a comparison are sorted.

Everything that may change the answer (a literal, the order of columns, DISTINCT, ORDER BY, LIMIT)
is kept. Queries with equal texts give the same rows, except where the answer depends on the order
in storage. Queries with different texts may still be equivalent. A query with an unknown name is
only spelled as sqlglot spells it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.generator import Generator

from answerkey.engines.schema import fold_name
from answerkey.sql.conditions import CONNECTORS, join_parts
from answerkey.sql.query_tree import (
    LITERALS,
    MAX_TOKENS,
    ROW_AGGREGATES,
    copy_nodes,
    find_dialect,
    first_select,
    is_atom,
    is_star,
    name_output,
    read_integer,
    speaks_sqlite,
    spoken_engine,
)
from answerkey.sql.scopes import Scope, Scopes, Source

# Raised if there is no canonical form: ValueError for an unknown name, the others for a tree of an
# unforeseen shape.
NO_FORM = (ValueError, LookupError, AttributeError, TypeError, SqlglotError)

_MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_JOIN_KINDS = ("INNER", "CROSS", "OUTER")  # redundant beside SIDE and ON
_CALL = re.compile(r"\w\(")  # as in "count(*)", which SQLite may have named a column
_NAME = re.compile("\x01([tc])([^\x01]*)\x01")  # a marked name in a text, before it gets a number


def canonical_tree(scopes: Scopes) -> exp.Expr:
    """Return a new tree whose text is the canonical SQL of the query.

    If a name cannot be resolved, it is the query's tree, with unquoted names in lower case.
    """
    try:
        tree = qualify_names(scopes)
        nodes = list(tree.walk())
        _simplify(nodes)
        # If two sides have different collations, the left one's applies.
        sort_query(nodes, str, may_mirror=not scopes.has_collations())
    except NO_FORM:
        tree = scopes.tree.copy()
        for name in tree.find_all(exp.Identifier):
            if not name.quoted:
                name.set("this", fold_name(name.name))
    return tree


def write_sql(tree: exp.Expr) -> str:
    """Return the text of a tree. Raises one of NO_FORM if sqlglot cannot write it."""
    return _set_up(spoken_engine()).generate(tree, copy=not speaks_sqlite())


@lru_cache
def _set_up(engine: str) -> Generator:
    return find_dialect(engine).generator(comments=False)


def _simplify(nodes: list[exp.Expr]) -> None:
    for node in nodes:
        if isinstance(node, exp.Paren):
            if _is_needless(node):
                node.replace(node.this)
        elif isinstance(node, exp.Ordered):
            node.set("desc", node.args.get("desc") or None)
        elif isinstance(node, exp.Join) and node.kind in _JOIN_KINDS:
            node.set("kind", None)
        elif isinstance(node, exp.Literal) and not node.is_string:
            node.set("this", node.this.lower())


def _is_needless(paren: exp.Paren) -> bool:
    inner, parent = paren.this, paren.parent
    if isinstance(inner, exp.Paren) or is_atom(inner):
        return True
    if isinstance(parent, exp.Not | exp.Connector):
        return not isinstance(inner, exp.Connector)
    if isinstance(parent, exp.Select | exp.In):
        return paren.arg_key == "expressions"
    if isinstance(parent, exp.Where | exp.Having | exp.Join | exp.Ordered | exp.Group | exp.Alias):
        return True
    return isinstance(parent, exp.Func) and not isinstance(parent, exp.Binary)


def sort_query(nodes: list[exp.Expr], key: Callable[[str], Any], *, may_mirror: bool) -> None:
    """Sort the parts of a tree whose order has no meaning, in place, by a key of their text. The
    sides of comparisons are sorted if they may be mirrored. `nodes` has the order of tree.walk."""
    if may_mirror:
        for node in nodes:
            if type(node) in _MIRRORED:
                _mirror_comparison(node, key)
    joined = [node for node in nodes if type(node) is exp.Select and node.args.get("joins")]
    if joined and set(ROW_AGGREGATES).isdisjoint(map(type, nodes)):
        for select in joined:
            _sort_joins(select, key)
        nodes = list(nodes[0].walk())
    for node in reversed(nodes):  # inner nodes first
        kind = type(node)
        if kind is exp.In and all(map(_is_literal, node.expressions)):
            values = sorted(node.expressions, key=lambda value: key(write_sql(value)))
            node.set("expressions", values)
        elif kind in CONNECTORS and not _is_part(node):
            parts = sorted(_list_parts(node), key=lambda part: key(write_sql(part)))
            node.replace(join_parts(kind, parts))


def _mirror_comparison(node: exp.Expr, key: Callable[[str], Any]) -> None:
    """Put a literal on the right side; otherwise sort the sides."""
    sides = (node.this, node.expression)
    literals = [isinstance(side, LITERALS) for side in sides]
    if literals == [False, True] or not all(map(is_atom, sides)):
        return
    left, right = zip(literals, (key(write_sql(side)) for side in sides), strict=True)
    if right < left or (right == left and isinstance(node, exp.GT | exp.GTE)):
        node.replace(_MIRRORED[type(node)](this=node.expression, expression=node.this))


def _sort_joins(select: exp.Select, key: Callable[[str], Any]) -> None:
    """Sort the tables of inner joins, and move their conditions to WHERE, unless that would change
    which rows come first, or which columns `*` shows first."""
    start, joins = select.args.get("from_"), select.args.get("joins")
    if start is None or not joins or not all(map(_is_inner, joins)):
        return
    members = [start.this, *(join.this for join in joins)]
    is_bounded = select.args.get("limit") is not None and select.args.get("order") is None
    if is_bounded or not all(map(_is_single, members)):
        return
    if not any(isinstance(shown, exp.Star) for shown in select.expressions):
        members.sort(key=lambda member: key(member.alias_or_name))
    where = select.args.get("where")
    conditions = [join.args["on"] for join in joins if join.args.get("on") is not None]
    conditions += [where.this] if where is not None else []
    conditions = [part for part in conditions if part != exp.true()]  # sqlglot adds it without ON
    if conditions:
        select.set("where", exp.Where(this=join_parts(exp.And, conditions)))
    start.set("this", members[0])
    select.set("joins", [exp.Join(this=member) for member in members[1:]])


def _is_inner(join: exp.Join) -> bool:
    return not (join.kind or join.side or join.method or join.args.get("using"))


def _is_single(member: exp.Expr) -> bool:
    return bool(member.alias_or_name) and not member.args.get("joins")


def _is_literal(node: exp.Expr) -> bool:
    return isinstance(node.this if isinstance(node, exp.Neg) else node, LITERALS)


def _is_part(node: exp.Expr) -> bool:
    """Return whether a condition is an operand of a larger AND (or OR)."""
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return type(parent) is type(node)


def _list_parts(node: exp.Expr) -> list[exp.Expr]:
    parts = []
    pending = [node]
    while pending:
        part = pending.pop()
        while type(part) is exp.Paren:
            part = part.this
        if type(part) is type(node):
            pending += (part.expression, part.this)
        else:
            parts.append(exp.Paren(this=part) if isinstance(part, CONNECTORS) else part)
    return parts


def write_template(tree: exp.Expr) -> str:
    """Return the template of canonical SQL: its text without literals and names. Changes the tree.

    >>> tree = parse_one("SELECT name FROM ship WHERE id = 3")  # doctest: +SKIP
    >>> write_template(canonical_tree(Scopes(tree, schema)))    # doctest: +SKIP
    'SELECT t1.c1 FROM t1 WHERE t1.c2 = ?'

    A literal is `?`, and so is a list of them after IN. Tables and columns are numbered in the
    order in which they appear. Canonical SQL sorts some parts by name. These are sorted by use
    here: the names that the query shows come first.
    """
    nodes = list(tree.walk())
    _blank(nodes)
    with suppress(*NO_FORM):
        _sort_by_rank(tree, _list_names(tree, ("expressions", "group", "order")))
        # Names in no clause above are sorted by the conditions, whose order is fixed now.
        _sort_by_rank(tree, _list_names(tree, ("expressions", "group", "order", "where")))
    if not speaks_sqlite():  # Postgres has another sign for it
        for blank in list(tree.find_all(exp.Placeholder)):
            blank.replace(exp.Var(this="?"))
    return number_names(write_sql(tree))


def _blank(nodes: list[exp.Expr]) -> None:
    """Mark each name of a tree, and replace each literal by `?`."""
    tables = {node.alias_or_name: node.name for node in nodes if isinstance(node, exp.Table)}
    for node in nodes:
        kind = type(node)
        if kind is exp.Identifier:
            parent = node.parent
            is_column = isinstance(parent, exp.Column)
            is_first = node.arg_key == "this"
            is_source = not is_first if is_column else is_first
            own = node.name
            if isinstance(parent, exp.Column) and is_first and parent.table in tables:
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


def _list_names(tree: exp.Expr, clauses: Iterable[str]) -> list[str]:
    names: dict[str, None] = {}
    for select in tree.find_all(exp.Select):
        for clause in clauses:
            terms = select.args.get(clause) or []
            for node in terms if isinstance(terms, list) else [terms]:
                names |= {name.name: None for name in node.find_all(exp.Identifier, bfs=False)}
    return list(names)


def _sort_by_rank(tree: exp.Expr, names: list[str]) -> None:
    """Sort by shape and by the ranks of these names; by name only among equals."""
    ranks = {name: f"{rank:03}" for rank, name in enumerate(names)}

    def key(text: str) -> tuple[str, str]:
        return _NAME.sub(lambda match: ranks.get(match[0], "~"), text), text

    sort_query(list(tree.walk()), key, may_mirror=True)


def number_names(text: str) -> str:
    """Return a text with its marked names numbered in the order of their first use."""
    numbers: dict[str, dict[str, int]] = {"t": {}, "c": {}}

    def number(match: re.Match[str]) -> str:
        known = numbers[match[1]]
        return f"{match[1]}{known.setdefault(match[2], len(known) + 1)}"

    return _NAME.sub(number, text)


def qualify_names(scopes: Scopes) -> exp.Expr:
    """Return a copy of a query in which each name has its table and the schema's spelling.

    `SELECT Name n FROM ship T1 ORDER BY n` -> `SELECT ship.name FROM ship ORDER BY (ship.name)`

    If a table's name is used twice, in its own FROM or in a query around it, the second is
    `ship_2`. Names that only the query defines are in lower case. A name given by AS is kept if
    another query reads it; otherwise its expression replaces it.

    Raises:
        ValueError: a name that cannot be resolved, or would mean something else in the copy.
    """
    return _Copy(scopes).tree


class _Copy:
    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._twins = _copy_nodes(scopes.tree)
        self.tree = self._twins[id(scopes.tree)]
        self._names = _name_sources(scopes)
        self._nodes_left = MAX_TOKENS  # how many more nodes may replace names
        self._refuse_unknown_forms()
        for scope in scopes.select_scopes():
            for source in scope.sources.values():
                self._name_source(source)
        for column in scopes.nodes.find_all(exp.Column):
            self._name_column(column)
        self._repeat_expressions()
        self._drop_aliases()

    def _refuse_unknown_forms(self) -> None:
        """Raise if names have another meaning here: a table after IN, a CTE in place of a table,
        the sort keys of a compound select, joins that SQLite lacks, or joins that merge columns of
        rows that one side lacks."""
        nodes, schema = self._scopes.nodes, self._scopes.schema
        orders = [query.args.get("order") for query in nodes.find_all(exp.SetOperation)]
        terms = [term.this for order in orders if order is not None for term in order.expressions]
        if (
            any(node.args.get("field") is not None for node in nodes.find_all(exp.In))
            or any(schema.find_table(cte.alias) is not None for cte in nodes.find_all(exp.CTE))
            or any(read_integer(term) is None for term in terms)
            or any(map(_is_unknown_join, nodes.find_all(exp.Join)))
            or any(any(star.args.values()) for star in nodes.find_all(exp.Star))
        ):
            raise ValueError("IN, WITH, ORDER BY or JOIN of a form that has no other spelling")

    def _name_source(self, source: Source) -> None:
        twin, name = self._twins[id(source.node)], self._names[id(source)]
        own = _own_name(source)
        if isinstance(twin, exp.Table):
            twin.set("this", _identify(own))
            twin.set("db", None)
        is_named = isinstance(twin, exp.Table) and name == own
        own_columns = None if source.is_cte else list(map(_identify, source.column_names)) or None
        alias = exp.TableAlias(this=_identify(name), columns=own_columns)
        twin.set("alias", None if is_named else alias)

    def _name_column(self, column: exp.Column) -> None:
        twin, resolution = self._twins[id(column)], self._scopes.resolve(column)
        if column.is_star:
            scope = self._scopes.scope_of(column)
            if scope is None:
                raise ValueError(f"{column.sql():.80} stands in no SELECT")
            (source,) = scope.find_sources(column.table)
            twin.set("table", _identify(self._names[id(source)]))
            if len(scope.sources) == 1:
                twin.replace(exp.Star())
        elif resolution is None:
            if not self._scopes.is_string(column) or _CALL.search(column.name):
                raise ValueError(f"unknown name {column.name}")
            twin.replace(exp.Literal.string(column.name))
        elif resolution.source is not None:
            name: str | None = fold_name(column.name)
            if (table := resolution.source.table) is not None:
                name = resolution.column.name if resolution.column else table.rowid_name
            if name is None:
                raise ValueError(f"{column.sql():.80} is a rowid whose names are all taken")
            twin.set("this", _identify(name))
            twin.set("table", _identify(self._names[id(resolution.source)]))
            twin.set("db", None)

    def _repeat_expressions(self) -> None:
        """Replace names and numbers of result columns by the expressions of these columns."""
        for column in self._scopes.nodes.find_all(exp.Column):
            resolution = self._scopes.resolve(column)
            if resolution is None or not resolution.is_alias or resolution.expression is None:
                continue
            if self._twins[id(column)].parent is not None:
                if resolution.scope is not self._scopes.scope_of(column):
                    raise ValueError(f"{column.name} is of a query around it")
                self._repeat(column, resolution.expression, resolution.scope)
        for scope in self._scopes.select_scopes():
            shown, clauses = scope.select.expressions, scope.select.args
            if any(map(is_star, shown)):
                continue
            for clause in filter(None, (clauses.get("group"), clauses.get("order"))):
                for term in clause.expressions:
                    node = term.this if isinstance(term, exp.Ordered) else term
                    number = read_integer(node)
                    if number is not None and 0 < number <= len(shown):
                        self._repeat(node, shown[number - 1].unalias(), scope)

    def _repeat(self, node: exp.Expr, expression: exp.Expr, scope: Scope) -> None:
        """Replace a node by an expression, unless the expression would mean something else there:
        it is a constant, which may be read as a position, or it names a column of an outer
        query."""
        resolutions = [self._scopes.resolve(column) for column in expression.find_all(exp.Column)]
        known = [resolution for resolution in resolutions if resolution is not None]
        self._nodes_left -= sum(1 for _ in expression.walk())
        if (
            self._nodes_left < 0
            or expression.find(exp.Query, exp.Window) is not None
            or any(resolution.is_alias or resolution.scope is not scope for resolution in known)
            or not (known or expression.find(exp.AggFunc))
        ):
            raise ValueError(f"{expression.sql():.80} cannot stand in the place of its name")
        self._twins[id(node)].replace(exp.Paren(this=self._twins[id(expression)].copy()))

    def _drop_aliases(self) -> None:
        read = set()  # the SELECTs whose columns another SELECT reads by name
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
                elif isinstance(own, exp.Alias):
                    copied.replace(copied.this)


def _is_unknown_join(join: exp.Join) -> bool:
    is_merging = join.method or join.args.get("using")
    return (
        join.kind not in ("", *_JOIN_KINDS)
        or join.method not in ("", "NATURAL")
        or bool(is_merging and join.side in ("RIGHT", "FULL"))
    )


def _copy_nodes(tree: exp.Expr) -> dict[int, exp.Expr]:
    """Return the copy of each node of a tree, by the node's id; names are quoted, in lower case."""
    twins = copy_nodes(tree)
    for twin in twins.values():
        if isinstance(twin, exp.Identifier):
            twin.set("this", fold_name(twin.name))
            twin.set("quoted", True)
    return twins


def _name_sources(scopes: Scopes) -> dict[int, str]:
    """Return the name of each member of FROM, by its id: its own, with a number if the name is used
    in the same FROM or in an outer query."""
    names: dict[int, str] = {}
    used_names: dict[int, set[str]] = {}
    scopes_of_selects = scopes.select_scopes()  # the outer ones first
    own_names = {
        fold_name(_own_name(source))
        for scope in scopes_of_selects
        for source in scope.sources.values()
    }
    for scope in scopes_of_selects:
        known = set(used_names[id(scope.parent)]) if scope.parent is not None else set()
        for source in scope.sources.values():
            name = own = _own_name(source)
            number = 1
            while fold_name(name) in known or (number > 1 and fold_name(name) in own_names):
                number += 1
                name = f"{own}_{number}"
            known.add(fold_name(name))
            names[id(source)] = name
        used_names[id(scope)] = known
    return names


def _own_name(source: Source) -> str:
    if source.table is not None:
        return source.table.name
    if source.query is None:
        raise ValueError(f"unknown table {source.name}")
    return fold_name(source.node.name if source.is_cte else source.name) or "d"


def _identify(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)

"""Scopes: resolve every name of a query to a table, view, CTE or subquery, by SQLite's rules.

>>> tree = parse_one("SELECT T1.name FROM ship AS T1", read="sqlite")    # doctest: +SKIP
>>> found = Scopes(tree, schema).resolve(tree.expressions[0])            # doctest: +SKIP
>>> found.source.name, found.table.name, found.column.name               # doctest: +SKIP
('T1', 'ship', 'name')

Results are computed when they are first needed, and the tree is never changed. Known limit: a
column that USING or NATURAL merges resolves to the leftmost table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from sqlglot import exp

from answerkey.engines.database import MAX_COLUMNS
from answerkey.engines.names import POSTGRES
from answerkey.engines.schema import ROWID_NAMES, Column, Schema, Table, fold_name
from answerkey.engines.sqlite.schema import has_collation
from answerkey.sql.keys import References
from answerkey.sql.query_tree import (
    TooComplexError,
    find_cte,
    first_select,
    is_whole_order_term,
    members_of_from,
    name_output,
    sees_aliases,
    sees_outer_names,
    selects_of,
    speaks_sqlite,
    spoken_engine,
)

_Node = TypeVar("_Node", bound=exp.Expr)


class NodeIndex:
    """The nodes of a tree that does not change, indexed by type."""

    def __init__(self, tree: exp.Expr) -> None:
        self._tree = tree
        self._walked: list[exp.Expr] = []
        self._by_types: dict[tuple[type, ...], list[Any]] = {}

    def find_all(self, *types: type[_Node]) -> list[_Node]:
        """Return the nodes of these types, in the order of tree.find_all. Do not change the
        list."""
        if not self._walked:
            self._walked = list(self._tree.walk())
        if types not in self._by_types:
            self._by_types[types] = [node for node in self._walked if isinstance(node, types)]
        return self._by_types[types]


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """A column that a query returns: its name ('' if SQLite makes one up), and the expression that
    computes it, without AS. For a column of `*`, `resolution` says which column it is, and
    `expression` is None if it is one of a table."""

    name: str
    expression: exp.Expr | None
    resolution: Resolution | None = None


@dataclass(slots=True, eq=False)
class Source:
    """One member of FROM. `table` is its base table or view, or `query` is the body of the CTE or
    derived table. Both are None for a table-valued function and an unknown name."""

    name: str
    node: exp.Expr
    table: Table | None = None
    query: exp.Expr | None = None
    is_cte: bool = False
    column_names: tuple[str, ...] = ()  # WITH c(a, b): they replace the query's own


@dataclass(slots=True, eq=False)
class Scope:
    """One SELECT, its sources, and the outer SELECT whose columns it may use.

    Sources are indexed by lower-case name, in the order of FROM; by position if they have no name.
    """

    select: exp.Select
    parent: Scope | None
    sources: dict[str, Source] = field(default_factory=dict)

    def find_sources(self, name: str) -> list[Source]:
        """Return the sources of a name: several if the query uses one name twice."""
        folded = fold_name(name)
        return [source for source in self.sources.values() if fold_name(source.name) == folded]


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """The meaning of a name.

    source: the member of FROM that has it; None if it names a result column.
    table, column: the base column behind it, found through CTEs and derived tables that pass it on
        unchanged; None if a query computes it. A rowid that is no column of its own has no column.
    expression: its definition, if it names a result column or a column of a subquery.
    scope: the SELECT in which it was found: an outer one if the column is correlated.
    """

    source: Source | None
    table: Table | None
    column: Column | None
    expression: exp.Expr | None
    scope: Scope

    @property
    def is_alias(self) -> bool:
        return self.source is None


# A column of a member of FROM: the member, and the column's folded name. A table that is twice in
# FROM has two places for each column, which may have different values in one row.
Place = tuple[Source, str]


@dataclass(frozen=True, slots=True, eq=False)
class DirectColumn:
    """A column of a table or a view that is itself in FROM, and the SELECT of that FROM.

    There is no doubt what it means: its values are those of the table.
    """

    source: Source
    table: Table
    column: Column
    scope: Scope

    @property
    def place(self) -> Place:
        """Return the place of the column, unique in its FROM even if its table is there twice."""
        return self.source, fold_name(self.column.name)

    @property
    def full_name(self) -> str:
        """Return `table.column`, as the schema spells them."""
        return f"{self.table.name}.{self.column.name}"

    def is_same(self, other: DirectColumn) -> bool:
        """Return whether both are the same column of the same member of FROM."""
        return self.place == other.place

    def beside(self, column: Column) -> DirectColumn:
        """Return another column of the same member of FROM."""
        return DirectColumn(self.source, self.table, column, self.scope)

    def write(self) -> exp.Column:
        """Return a new node for the column."""
        return write_column(self.source, self.column.name, self.scope)


_QUERY_TYPES = (exp.Select, exp.SetOperation, exp.Values)


class Scopes:
    def __init__(self, tree: exp.Expr, schema: Schema) -> None:
        self.tree = tree
        self.schema = schema
        self.references = References(schema)
        self.nodes = NodeIndex(tree)
        self._scopes: dict[int, Scope] = {}
        self._outputs: dict[int, list[Output]] = {}
        self._resolutions: dict[int, Resolution | None] = {}
        self._indexes: dict[int, dict[str, Column | Output]] = {}

    def has_collations(self) -> bool:
        """Return whether different texts may be equal. In Postgres, collations decide the order of
        texts alone."""
        return spoken_engine() != POSTGRES and self._has_collations()

    def _has_collations(self) -> bool:
        return bool(self.nodes.find_all(exp.Collate)) or any(
            has_collation(table.sql) for table in self.schema.tables
        )

    def select_scopes(self) -> list[Scope]:
        """Return the scopes of all SELECTs of the query, the outermost first."""
        return [self.scope_of(select) for select in self.nodes.find_all(exp.Select)]

    def refuse_wide_selects(self) -> None:
        """Raise TooComplexError if a SELECT has more columns than SQLite's guard allows."""
        for scope in self.select_scopes():
            self.outputs(scope.select)

    @overload
    def scope_of(self, node: exp.Select) -> Scope: ...

    @overload
    def scope_of(self, node: exp.Expr) -> Scope | None: ...

    def scope_of(self, node: exp.Expr) -> Scope | None:
        """Return the scope of the SELECT that `node` is, or is in. For the ORDER BY of a compound
        select, it is the scope of the first SELECT. None outside any SELECT (a bare VALUES)."""
        query = node if isinstance(node, _QUERY_TYPES) else node.find_ancestor(*_QUERY_TYPES)
        select = first_select(self.tree if query is None else query)
        if select is None:
            return None
        scope = self._scopes.get(id(select))
        if scope is None:
            scope = Scope(select, self._find_parent(select))
            self._scopes[id(select)] = scope
            for member in members_of_from(select):
                source = self._read_source(member)
                key = fold_name(source.name)
                if not key or key in scope.sources:
                    key = f"#{len(scope.sources)}"
                scope.sources[key] = source
        return scope

    def resolve(self, column: exp.Column) -> Resolution | None:
        """Return the meaning of a column; None for `*`, a "string" and an unknown name."""
        key = id(column)
        if key not in self._resolutions:
            self._resolutions[key] = None  # a name that is defined by itself is unknown
            self._resolutions[key] = self._resolve(column)
        return self._resolutions[key]

    def find_direct(self, node: exp.Expr) -> DirectColumn | None:
        """Return the column of a table in FROM itself that a node is, with or without AS and
        parentheses; else None."""
        inner = node.unalias().unnest()
        resolution = self.resolve(inner) if isinstance(inner, exp.Column) else None
        if resolution is None or resolution.source is None or resolution.source.table is None:
            return None
        if resolution.table is None or resolution.column is None:
            return None
        return DirectColumn(
            resolution.source, resolution.table, resolution.column, resolution.scope
        )

    def find_all_direct(self, nodes: Iterable[exp.Expr]) -> list[DirectColumn]:
        """Return the columns of all nodes; [] if one of the nodes is no column of a table."""
        columns = [self.find_direct(node) for node in nodes]
        direct = [column for column in columns if column is not None]
        return direct if len(direct) == len(columns) else []

    def is_label(self, column: DirectColumn) -> bool:
        """Return whether a column holds the names of its table's rows."""
        return self.references.is_label(column.table, column.column)

    def refers(self, column: DirectColumn) -> bool:
        """Return whether a column refers to another table."""
        return self.references.refers(column.table, column.column)

    def is_string(self, column: exp.Column) -> bool:
        """Return whether SQLite reads this name as a string, since no column "x" exists here."""
        name = column.this
        return (
            speaks_sqlite()
            and isinstance(name, exp.Identifier)
            and bool(name.args.get("quoted"))
            and not column.args.get("table")
            and self.resolve(column) is None
        )

    def outputs(self, query: exp.Expr) -> list[Output]:
        """Return the result columns of a SELECT, a compound select (of its first SELECT) or VALUES.

        Raises:
            TooComplexError: there are more than SQLite's guard allows.
        """
        query = query.unnest() if isinstance(query, exp.Subquery) else query
        outputs = self._outputs.get(id(query))
        if outputs is None:
            self._outputs[id(query)] = []  # for a CTE that refers to itself
            outputs = self._read_outputs(query)
            self._outputs[id(query)] = outputs
        return outputs

    # Sources

    def _find_parent(self, select: exp.Select) -> Scope | None:
        """Return the scope around a SELECT. A member of FROM or a CTE does not see its siblings,
        but sees the scope around the SELECT to which it belongs."""
        child: exp.Expr = select
        is_member = is_condition = False
        while child.parent is not None:
            node = child.parent
            if isinstance(node, exp.Join) and child.arg_key == "on":
                is_condition = True  # ON sees the joined tables, in whatever parentheses
            elif isinstance(node, exp.CTE) or (
                isinstance(node, exp.From | exp.Join) and child.arg_key == "this"
            ):
                is_member = not (is_condition or isinstance(node.this, exp.Lateral))
            elif isinstance(node, exp.Select):
                outer = self.scope_of(node)
                return outer.parent if is_member else outer
            elif isinstance(node, exp.SetOperation) and not is_member:
                if child.arg_key in ("this", "expression"):
                    child = node
                    continue
                return self.scope_of(node)
            child = node
        return None

    def _read_source(self, member: exp.Expr) -> Source:
        alias = member.alias
        if isinstance(member, exp.Lateral) and isinstance(member.this, exp.Subquery):
            query = member.this.unnest()
            return Source(alias, member, query=query, column_names=_alias_columns(member))
        if isinstance(member, exp.Subquery | exp.Values):
            query = member.unnest() if isinstance(member, exp.Subquery) else member
            return Source(alias, member, query=query, column_names=_alias_columns(member))
        name = member.name
        if not isinstance(member.this, exp.Identifier):  # json_each(...)
            return Source(alias or name, member)
        if not member.args.get("db"):
            cte = find_cte(member, name)
            if cte is not None:
                names = _alias_columns(cte)
                return Source(alias or name, member, None, cte.this, True, names)
        return Source(alias or name, member, find_table(member, self.schema))

    # Outputs

    def _read_outputs(self, query: exp.Expr) -> list[Output]:
        if isinstance(query, exp.Values):
            first = query.expressions[0]
            values = first.expressions if isinstance(first, exp.Tuple) else [first]
            return [Output(f"column{n}", value) for n, value in enumerate(values, start=1)]
        select = first_select(query)
        if select is None:
            return []
        if select is not query:
            return self.outputs(select)
        outputs = []
        for expression in select.expressions:
            if expression.is_star and not isinstance(expression, exp.Alias | exp.Count):
                outputs += self.expand_star(expression, self.scope_of(select))
            else:
                outputs.append(Output(name_output(expression), expression.unalias()))
            if len(outputs) > MAX_COLUMNS:
                raise TooComplexError(f"more than {MAX_COLUMNS} columns of one SELECT")
        return outputs

    def expand_star(self, star: exp.Expr, scope: Scope) -> list[Output]:
        """Return the columns that `*` or `t.*` means in a SELECT, each with its resolution."""
        if id(star) not in self._outputs:
            self._outputs[id(star)] = self._expand_star(star, scope)
        return self._outputs[id(star)]

    def _expand_star(self, star: exp.Expr, scope: Scope) -> list[Output]:
        table = star.args.get("table") if isinstance(star, exp.Column) else None
        sources = scope.sources.values() if table is None else scope.find_sources(table.name)
        outputs = []
        excluded = _list_excluded(star)
        seen: set[str] = set()
        for source in sources:
            columns = self._source_columns(source, scope)
            names = {fold_name(name) for name, _ in columns}
            merged = set() if table is not None else list_merged(source.node, names, seen)
            seen |= names
            outputs += [
                Output(name, resolution.expression, resolution)
                for name, resolution in columns
                if fold_name(name) not in merged | excluded
            ]
        return outputs

    def _source_columns(self, source: Source, scope: Scope) -> list[tuple[str, Resolution]]:
        if source.table is not None:
            return [
                (column.name, Resolution(source, source.table, column, None, scope))
                for column in source.table.columns
            ]
        return [
            (name, self._pass_on(source, output, scope))
            for name, output in self._named_outputs(source)
        ]

    def _named_outputs(self, source: Source) -> list[tuple[str, Output]]:
        if source.query is None:
            return []
        outputs = self.outputs(source.query)
        names = source.column_names or [output.name for output in outputs]
        return list(zip(names, outputs, strict=False))

    def _pass_on(self, source: Source, output: Output, scope: Scope) -> Resolution:
        """Return the resolution of a subquery's result column, seen from outside the subquery."""
        table = column = None
        if not isinstance(source.query, exp.SetOperation):
            inner = output.resolution
            expression = output.expression
            if inner is None and expression is not None:
                expression = expression.unnest()
                inner = self.resolve(expression) if isinstance(expression, exp.Column) else None
            if inner is not None:
                table, column = inner.table, inner.column
        return Resolution(source, table, column, output.expression, scope)

    # Names

    def _resolve(self, column: exp.Column) -> Resolution | None:
        if column.is_star:
            return None
        own = scope = self.scope_of(column)
        qualifier = column.args.get("table")
        name = fold_name(column.name)
        if qualifier is not None:
            while scope is not None:
                sources = scope.find_sources(qualifier.name)
                resolution = self._look_in_all(name, scope, sources)
                if resolution is not None:
                    return resolution
                for source in sources:
                    if source.table is None and source.query is None:
                        # A table-valued function may have any column.
                        return Resolution(source, None, None, None, scope)
                scope = scope.parent if sees_outer_names(column, scope.select) else None
            return None
        query = column.find_ancestor(*_QUERY_TYPES)
        if own is not None and is_whole_order_term(column):  # only here does an alias come first
            alias = self._find_alias(column, query)
            if alias is not None:
                return self._resolve_alias(alias, own)
        while scope is not None:
            resolution = self._look_in_all(name, scope, list(scope.sources.values()))
            if resolution is not None:
                return resolution
            alias = self._find_alias(column, query if scope is own else scope.select)
            if alias is not None:
                return self._resolve_alias(alias, scope)
            scope = scope.parent if sees_outer_names(column, scope.select) else None
        return None

    def _look_in_all(self, name: str, scope: Scope, sources: list[Source]) -> Resolution | None:
        for source in sources:
            resolution = self._look_in(source, name, scope)
            if resolution is not None:
                return resolution
        if name not in ROWID_NAMES or not speaks_sqlite():
            return None
        with_rowid = [s for s in sources if s.table is None or s.table.has_rowid]
        if len(with_rowid) != 1:
            return None
        source, table = with_rowid[0], with_rowid[0].table
        return Resolution(source, table, table.rowid_column if table else None, None, scope)

    def _look_in(self, source: Source, name: str, scope: Scope) -> Resolution | None:
        named = self._index_names(source).get(name)
        if named is None or not name:
            return None
        if isinstance(named, Output):
            return self._pass_on(source, named, scope)
        return Resolution(source, source.table, named, None, scope)

    def _index_names(self, source: Source) -> dict[str, Column | Output]:
        """Return the columns of a table or outputs of a query, by their names in lower case; the
        first one of a repeated name. A search for each name would take quadratic time."""
        index = self._indexes.get(id(source))
        if index is None:
            named: list[tuple[str, Column | Output]] = [*self._named_outputs(source)]
            if source.table is not None:
                named = [(column.name, column) for column in source.table.columns]
            index = {fold_name(name): column for name, column in reversed(named)}
            if index:  # it is empty while a CTE refers to itself
                self._indexes[id(source)] = index
        return index

    def _find_alias(self, column: exp.Column, query: exp.Expr | None) -> exp.Alias | None:
        """Return the first result column of a query whose AS is this name, if the name may mean it.
        For the ORDER BY of a compound select, all of its SELECTs are searched."""
        if query is None or not sees_aliases(column, query):
            return None
        name = fold_name(column.name)
        for select in selects_of(query):
            for expression in select.expressions:
                if isinstance(expression, exp.Alias):
                    if fold_name(expression.alias) == name and not _is_below(column, expression):
                        return expression
                elif expression.is_star and not isinstance(expression, exp.Count):
                    outputs = self.expand_star(expression, self.scope_of(select))
                    if any(fold_name(output.name) == name for output in outputs):
                        return None  # SQLite has named these columns before it searches
        return None

    def _resolve_alias(self, alias: exp.Alias, scope: Scope) -> Resolution:
        inner = alias.this.unnest()
        resolution = self.resolve(inner) if isinstance(inner, exp.Column) else None
        table, column = (
            (resolution.table, resolution.column) if resolution is not None else (None, None)
        )
        return Resolution(None, table, column, alias.this, scope)


def find_table(member: exp.Expr, schema: Schema) -> Table | None:
    """Return the table or view that a name in FROM means, with or without its schema; or None."""
    database = "" if speaks_sqlite() else member.text("db")
    table = schema.find_table(f"{database}.{member.name}") if database else None
    return table or schema.find_table(member.name)


def _is_below(node: exp.Expr, other: exp.Expr) -> bool:
    above: exp.Expr | None = node
    while above is not None and above is not other:
        above = above.parent
    return above is not None


def _list_excluded(star: exp.Expr) -> set[str]:
    """Return the columns that `* EXCLUDE (a, b)` leaves out."""
    inner = star.this if isinstance(star, exp.Column) else star
    return {fold_name(node.name) for node in inner.args.get("except_") or ()}


def _alias_columns(node: exp.Expr) -> tuple[str, ...]:
    alias = node.args.get("alias")
    return tuple(name.name for name in alias.args.get("columns") or ()) if alias else ()


def find_join(member: exp.Expr) -> exp.Join | None:
    """Return the join that adds a member of FROM; None for the first member."""
    node = member.parent
    while isinstance(node, exp.Subquery):
        node = node.parent
    return node if isinstance(node, exp.Join) else None


def list_merged(member: exp.Expr, own: set[str], left: set[str]) -> set[str]:
    """Return the columns that USING or NATURAL merges with those of tables to the left, so that `*`
    shows them once. `own` are the names of the member, `left` the names before it."""
    join = find_join(member)
    if join is None:
        return set()
    if join.method.upper() == "NATURAL":
        return own & left
    return {fold_name(name.name) for name in join.args.get("using") or ()}


def inline_aliases(expression: exp.Expr, scopes: Scopes) -> exp.Expr:
    """Return a copy of an expression of ORDER BY, HAVING or GROUP BY for a select list: each name
    of a result column is replaced by the column's expression."""
    copy = expression.copy()
    pairs = zip(list(expression.find_all(exp.Column)), list(copy.find_all(exp.Column)), strict=True)
    for column, twin in pairs:
        resolution = scopes.resolve(column)
        if resolution is not None and resolution.is_alias and resolution.expression is not None:
            inner = exp.Paren(this=resolution.expression.copy())
            if twin is copy:
                return inner
            twin.replace(inner)
    return copy


def list_columns(scope: Scope) -> Iterator[DirectColumn]:
    """Yield the columns of the tables in a FROM."""
    for source in scope.sources.values():
        if source.table is not None:
            for column in source.table.columns:
                yield DirectColumn(source, source.table, column, scope)


def write_column(source: Source, name: str, scope: Scope) -> exp.Column:
    """Return a new node for a column of a source, qualified if FROM has several sources."""
    table = spell_source(source) if len(scope.sources) > 1 else None
    return exp.column(name, table=table, quoted=True)


def spell_source(source: Source) -> exp.Identifier:
    """Return the name of a member of FROM as another part of the query may spell it: in quotes in
    SQLite, which ignores case there, too; elsewhere as FROM has it."""
    alias = source.node.args.get("alias")
    own = (alias.this if alias is not None else None) or source.node.this
    if speaks_sqlite() or not isinstance(own, exp.Identifier):
        return exp.to_identifier(source.name, quoted=True)
    return own.copy()

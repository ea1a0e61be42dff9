"""What a query says, for all probes: what it compares, how it joins, and what its columns hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sqlglot import exp

from answerkey.order.inspection import Inspection
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import find_with, show_sql, unwrap, write_with
from answerkey.sql.scopes import Resolution, Scope, Source, list_merged
from answerkey.sqlite.guard import GuardedDatabase, QueryError, Row
from answerkey.sqlite.schema import Column, Table, fold_name, quote_name

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS",
    exp.NullSafeNEQ: "IS NOT",
    exp.Is: "IS",
    exp.Like: "LIKE",
    exp.Glob: "GLOB",
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
RANGES = frozenset({"<", "<=", ">", ">="})
PATTERNS = frozenset({"LIKE", "GLOB"})
_NO_REFERENCES = {"id", "name", "code"}  # as names of columns alone

# What was asked of each open database, by SQL: all its queries share it. None: the guard refused.
_ANSWERS: WeakKeyDictionary[GuardedDatabase, dict[str, list[Row] | None]] = WeakKeyDictionary()

Place = tuple[Source, str]  # a member of FROM, and the folded name of a column of its table


class Comparison(NamedTuple):
    """`left operator right`, where a literal stands on the right if there is one, and the predicate
    of the query that it comes from. `5 < age` is `age > 5`, BETWEEN two comparisons, IN one for
    each member. NOT is not kept: the values that meet are the same."""

    node: exp.Expression
    operator: str
    left: exp.Expression
    right: exp.Expression

    @property
    def text(self) -> str:
        """The predicate as a person reads it."""
        return show_sql(self.node)


class Query:
    """One query, and small questions about the data of its database, each executed once.

    select: the outermost SELECT; None for a compound select and below WITH.
    """

    def __init__(self, inspection: Inspection) -> None:
        self.schema = inspection.schema
        self.scopes = inspection.scopes
        select = unwrap(inspection.tree)
        is_plain = isinstance(select, exp.Select) and find_with(select) is None
        self.select = select if is_plain else None
        self._database = inspection.database
        self._answers = _ANSWERS.setdefault(inspection.database, {})

    def ask(self, sql: str) -> list[Row] | None:
        """The rows of another query; None if the guard refuses it."""
        if sql not in self._answers:
            try:
                self._answers[sql] = self._database.execute(sql)
            except QueryError:
                self._answers[sql] = None
        return self._answers[sql]

    def resolve(self, expression: exp.Expression) -> Resolution | None:
        """What a name stands for; None if the expression is no name."""
        return self.scopes.resolve(expression) if isinstance(expression, exp.Column) else None

    def resolve_direct(self, node: exp.Expression) -> Resolution | None:
        """What a node stands for, if that is a column of a table in FROM itself."""
        found = self.resolve(node.unalias().unnest())
        return found if found is not None and found.is_direct and found.column is not None else None

    def base_column(self, expression: exp.Expression) -> tuple[Table, Column] | None:
        """The column of a table that an expression is, as it stands; None for anything else."""
        found = self.resolve(expression)
        return (found.table, found.column) if found is not None and found.column else None

    def is_string(self, expression: exp.Expression) -> bool:
        """Whether an expression is a text literal, in single or in double quotes."""
        if isinstance(expression, exp.Column):
            return self.scopes.is_string(expression)
        return isinstance(expression, exp.Literal) and expression.is_string

    def is_literal(self, expression: exp.Expression) -> bool:
        """Whether an expression is a text or a number, with or without a sign."""
        if isinstance(expression, exp.Neg):
            return isinstance(expression.this, exp.Literal)
        return isinstance(expression, exp.Literal | exp.Boolean) or self.is_string(expression)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons of the query, those of its subqueries included."""
        return list(self._list_comparisons())

    def _list_comparisons(self) -> Iterator[Comparison]:
        for node in self.scopes.nodes.find_all(*_OPERATORS, exp.Between, exp.In):
            if isinstance(node, exp.Between):
                yield self._compare(node, ">=", node.args["low"])
                yield self._compare(node, "<=", node.args["high"])
            elif isinstance(node, exp.In):
                for member in node.expressions:
                    yield self._compare(node, "=", member)
            else:
                yield self._compare(node, _OPERATORS[type(node)], node.expression)

    def _compare(self, node: exp.Expression, operator: str, right: exp.Expression) -> Comparison:
        left, right = node.this.unnest(), right.unnest()
        if operator not in PATTERNS and self.is_literal(left) and not self.is_literal(right):
            return Comparison(node, _MIRRORED.get(operator, operator), right, left)
        return Comparison(node, operator, left, right)

    def is_one_row(self, select: exp.Select) -> bool:
        """Whether a SELECT aggregates without GROUP BY, so that it has one row at most."""
        is_grouped = select.args.get("group") is not None
        return not is_grouped and read_grouping(select, self.scopes) is not None

    def find_key(self, table: Table | None) -> str | None:
        """The one column that tells the rows of a table apart: its key, or where none is declared,
        the first column, if its values all differ; None if there is no such column, or no table."""
        if table is None:
            return None
        key = list_key(table)
        if not key and table.columns and self._is_unique(table, table.columns[0]):
            return table.columns[0].name
        return key[0] if len(key) == 1 else None

    def _is_unique(self, table: Table, column: Column) -> bool:
        name, quoted = quote_name(column.name), quote_name(table.name)
        sql = f"SELECT (SELECT count(*) FROM {quoted}) = count(*) FROM"
        return self.ask(f"{sql} (SELECT DISTINCT {name} FROM {quoted})") == [(1,)]

    def key_of(self, source: Source) -> Place:
        """The place of that column; one that nothing has if there is none."""
        return source, fold_name(self.find_key(source.table) or "")

    def is_label(self, found: Resolution) -> bool:
        """Whether a column holds what the rows of its table are called: `name` or `title` is a part
        of its name, or it has the name of its table (one of many: `countries.country`); and it is
        no key and refers to no other table."""
        column, table = fold_name(found.column.name), fold_name(found.table.name)
        if found.column.primary_key or "id" in column.split("_") or self.refers(found):
            return False
        return "name" in column or "title" in column or column in (table, table.rstrip("s"))

    def refers(self, found: Resolution) -> bool:
        """Whether a column refers to another table."""
        name = fold_name(found.column.name)
        return any(fold_name(column) == name for column, _, _ in self.list_references(found.table))

    def list_references(self, table: Table) -> Iterator[tuple[str, Table, str]]:
        """The columns of a table by which it refers to others, with the table and its column:
        declared foreign keys, and columns named as the one key of another table is."""
        known = set()
        for key in table.foreign_keys:
            parent = self.schema.find_table(key.table)
            if parent is not None and len(key.columns) == 1 and len(key.referred) == 1:
                known.add(fold_name(key.columns[0]))
                yield key.columns[0], parent, key.referred[0]
        own = {fold_name(name) for name in list_key(table)} if len(list_key(table)) == 1 else set()
        for parent in self.schema.tables:
            key = list_key(parent)
            name = fold_name(key[0]) if len(key) == 1 and parent is not table else None
            if name is None or name in known | own | _NO_REFERENCES:
                continue
            column = table.find_column(name)
            if column is not None:
                yield column.name, parent, key[0]

    def list_conditions(self, select: exp.Select) -> Iterator[exp.Expression]:
        """The terms of each ON of its FROM, also in parentheses, and of WHERE."""
        for join in self.scopes.nodes.find_all(exp.Join):
            if join.parent_select is select:
                yield from list_terms(join.args.get("on"))
        yield from list_terms(select.args.get("where"))

    def list_equalities(self, select: exp.Select) -> Iterator[tuple[Place, Place]]:
        """The columns of two members of FROM that ON, USING or a term of WHERE equates."""
        for name, left, right in list_merged_columns(self.scopes.scope_of(select)):
            yield (left, name), (right, name)
        for term in self.list_conditions(select):
            if isinstance(term, exp.EQ):
                sides = [self.resolve_direct(side) for side in (term.this, term.expression)]
                if None not in sides and sides[0].source is not sides[1].source:
                    yield place_of(sides[0]), place_of(sides[1])

    def list_known(
        self, grouped: Iterable[Place], equalities: Iterable[tuple[Place, Place]]
    ) -> set[Place]:
        """The columns that have one value where the given ones have: those, what equals them, and
        the rows of a table whose key is among them."""
        known, pairs, size = set(grouped), list(equalities), -1
        sources = {source for source, _ in [*known, *(end for pair in pairs for end in pair)]}
        while size != len(known):
            size = len(known)
            for pair in pairs:
                known |= set(pair) if known.intersection(pair) else set()
            for source in sources:
                if self.key_of(source) in known:
                    known |= {(source, fold_name(column.name)) for column in source.table.columns}
        return known


def read_query(inspection: Inspection) -> Query:
    """The query of an inspection, read once for all probes."""
    return inspection.once(Query)


def list_merged_columns(scope: Scope) -> Iterator[tuple[str, Source, Source]]:
    """Each folded name that USING or NATURAL merges, with the member of FROM that has it first, and
    the one that is joined; a subquery may have any that USING names."""
    earlier: dict[Source, set[str]] = {}
    for source in scope.sources.values():
        own = {fold_name(column.name) for column in source.table.columns} if source.table else set()
        for name in list_merged(source.node, own, set().union(*earlier.values())):
            left = [other for other, has in earlier.items() if name in has or not other.table]
            if left and (name in own or not source.table):
                yield name, left[0], source
        earlier[source] = own


def list_terms(condition: exp.Expression | None) -> Iterator[exp.Expression]:
    """The terms of a condition, a WHERE or a HAVING, that AND joins; none for None."""
    if condition is None:
        return
    node = condition.this if isinstance(condition, exp.Where | exp.Having) else condition
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from list_terms(node.this)
        yield from list_terms(node.expression)
    else:
        yield node


def list_key(table: Table) -> tuple[str, ...]:
    """The primary key of a table, or its first unique one; () if it has none."""
    return table.unique_keys[0] if table.unique_keys else ()


def place_of(found: Resolution) -> Place:
    """The place of a column of a table in FROM."""
    return found.source, fold_name(found.column.name)


def name_column(source: Source, name: str, scope: Scope) -> exp.Column:
    """A new node for a column of a source, with the source's name where FROM has several."""
    table = source.name if len(scope.sources) > 1 else None
    return exp.column(name, table=table, quoted=True)


def write_rows(select: exp.Select, *columns: exp.Expression, **clauses: object) -> str:
    """The text of a query for the same rows of FROM and WHERE with other columns."""
    rest = dict.fromkeys(("group", "having", "order", "limit", "offset", "distinct"))
    return write_with(select, **{**rest, "expressions": list(columns), **clauses})

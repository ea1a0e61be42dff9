"""Joins: the joins of a FROM clause, and the columns that USING and NATURAL merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from answerkey.probes.column_values import ColumnValues
from answerkey.sql.query_tree import write_with
from answerkey.sql.scopes import Resolution, Scope, Scopes, Source
from answerkey.sqlite.schema import Schema, Table, fold_name, quote_name


def joins_of(select: exp.Select) -> list[exp.Join]:
    """The joins of a FROM clause, those inside its parentheses included."""
    found: list[exp.Join] = []
    start = select.args.get("from_")
    waiting = [select, start.this] if start is not None else [select]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery):
            waiting.append(node.this)
        joins = node.args.get("joins") or ()
        found += joins
        waiting += [join.this for join in joins]
    return found


def merged_columns(join: exp.Join, scope: Scope) -> Iterator[tuple[str, Source, Source]]:
    """For USING and NATURAL: each name that is merged, with the source that it is looked up in and
    the one that is joined."""
    sources = list(scope.sources.values())
    joined = [source for source in sources if _is_within(source.node, join.this)]
    earlier = sources[: sources.index(joined[0])] if joined else []
    names = [identifier.name for identifier in join.args.get("using") or ()]
    if join.args.get("method") == "NATURAL":
        names = [name for source in joined for name in column_names(source)]
    for name in names:
        left, right = (_first_with(name, side) for side in (earlier, joined))
        if left is not None and right is not None:
            yield name, left, right


def column_names(source: Source) -> list[str]:
    """The column names of a table or view; none for a subquery."""
    return [column.name for column in source.table.columns] if source.table is not None else []


def _first_with(name: str, sources: list[Source]) -> Source | None:
    """The first source that has a column of that name; a subquery may have any."""
    for source in sources:
        if source.table is None or source.table.find_column(name) is not None:
            return source
    return None


def _is_within(node: exp.Expression | None, ancestor: exp.Expression) -> bool:
    while node is not None and node is not ancestor:
        node = node.parent
    return node is not None


# Entities: the things that the rows of a table are, such as singers, and how a query joins them.
#
# `SELECT T1.name FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id`: singers, whose key
# `id`
# is joined, and whose name may be that of another singer.


Place = tuple[Source, str]  # a member of FROM, and the folded name of a column of its table
_NO_REFERENCES = {"id", "name", "code"}  # as names of columns alone


def resolve_direct(node: exp.Expression, scopes: Scopes) -> Resolution | None:
    """Return what a node stands for, if that is a column of a table in FROM itself."""
    node = node.unalias().unnest()
    found = scopes.resolve(node) if isinstance(node, exp.Column) else None
    return found if found is not None and found.is_direct and found.column is not None else None


def list_key(table: Table) -> tuple[str, ...]:
    """The primary key of a table, or its first unique one; () if it has none."""
    return table.unique_keys[0] if table.unique_keys else ()


def find_key(table: Table | None, values: ColumnValues) -> str | None:
    """The one column that tells the rows of a table apart: its key, or where none is declared, the
    first column, if its values all differ; None if there is no such column, or no table."""
    if table is None:
        return None
    key = list_key(table)
    if not key and table.columns and is_unique(table, [table.columns[0].name], values):
        return table.columns[0].name
    return key[0] if len(key) == 1 else None


def is_unique(table: Table, names: Iterable[str], values: ColumnValues) -> bool:
    """Whether no two rows of a table have the same values in these columns, in the data."""
    columns = ", ".join(map(quote_name, names))
    quoted = quote_name(table.name)
    sql = f"SELECT (SELECT count(*) FROM {quoted}) = count(*) FROM"
    return values.ask_number(f"{sql} (SELECT DISTINCT {columns} FROM {quoted})") == 1


def is_label(found: Resolution, schema: Schema) -> bool:
    """Whether a column holds what the rows of its table are called: `name` or `title` is a part of
    its name, or it has the name of its table (one of many: `countries.country`); and it is no key
    and refers to no other table."""
    column, table = fold_name(found.column.name), fold_name(found.table.name)
    if found.column.primary_key or "id" in column.split("_"):
        return False
    if any(fold_name(name) == column for name, _, _ in list_references(found.table, schema)):
        return False
    return "name" in column or "title" in column or column in (table, table.rstrip("s"))


def list_equalities(select: exp.Select, scopes: Scopes) -> Iterator[tuple[Place, Place]]:
    """The columns of two members of FROM that ON, USING or a term of WHERE equates."""
    scope = scopes.scope_of(select)
    conditions = [select.args["where"].this] if select.args.get("where") is not None else []
    for join in joins_of(select):
        if join.args.get("on") is not None:
            conditions.append(join.args["on"])
        for name, left, right in merged_columns(join, scope):
            yield (left, fold_name(name)), (right, fold_name(name))
    for term in (term for condition in conditions for term in list_terms(condition)):
        if isinstance(term, exp.EQ):
            sides = [resolve_direct(side, scopes) for side in (term.this, term.expression)]
            if None not in sides and sides[0].source is not sides[1].source:
                yield place_of(sides[0]), place_of(sides[1])


def list_known(
    grouped: Iterable[Place], equalities: Iterable[tuple[Place, Place]], values: ColumnValues
) -> set[Place]:
    """The columns that have one value where the given ones have: those, what equals them, and the
    rows of a table whose key is among them."""
    known, pairs, size = set(grouped), list(equalities), -1
    sources = {id(source): source for source, _ in known}
    sources |= {id(source): source for pair in pairs for source, _ in pair}
    while size != len(known):
        size = len(known)
        for left, right in pairs:
            if left in known or right in known:
                known |= {left, right}
        for source in sources.values():
            key = find_key(source.table, values)
            if key is not None and (source, fold_name(key)) in known:
                known |= {(source, fold_name(column.name)) for column in source.table.columns}
    return known


def place_of(found: Resolution) -> Place:
    """The place of a column of a table in FROM."""
    return found.source, fold_name(found.column.name)


def list_terms(condition: exp.Expression) -> Iterator[exp.Expression]:
    """The terms of a condition that AND joins."""
    node = condition.unnest()
    if isinstance(node, exp.And):
        yield from list_terms(node.this)
        yield from list_terms(node.expression)
    else:
        yield node


def list_references(table: Table, schema: Schema) -> Iterator[tuple[str, Table, str]]:
    """The columns of a table by which it refers to others, with the table and its column: declared
    foreign keys, and columns named as the one key of another table is."""
    known = set()
    for key in table.foreign_keys:
        parent = schema.find_table(key.table)
        if parent is not None and len(key.columns) == 1 and len(key.referred) == 1:
            known.add(fold_name(key.columns[0]))
            yield key.columns[0], parent, key.referred[0]
    own = {fold_name(name) for name in list_key(table)} if len(list_key(table)) == 1 else set()
    for parent in schema.tables:
        key = list_key(parent)
        name = fold_name(key[0]) if len(key) == 1 and parent is not table else None
        if name is None or name in known | own | _NO_REFERENCES:
            continue
        column = table.find_column(name)
        if column is not None:
            yield column.name, parent, key[0]


def name_column(source: Source, name: str, scope: Scope) -> exp.Column:
    """A new node for a column of a source, with the source's name where FROM has several."""
    table = source.name if len(scope.sources) > 1 else None
    return exp.column(name, table=table, quoted=True)


def count_distinct(node: exp.Expression) -> exp.Count:
    """count(DISTINCT node)."""
    return exp.Count(this=exp.Distinct(expressions=[node.copy()]))


def write_rows(select: exp.Select, *columns: exp.Expression, **clauses: object) -> str:
    """The text of a query for the same rows of FROM and WHERE with other columns."""
    rest = dict.fromkeys(("group", "having", "order", "limit", "offset", "distinct"))
    return write_with(select, **{**rest, "expressions": list(columns), **clauses})

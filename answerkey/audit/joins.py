"""Joins: the joins of a FROM clause, and the columns that USING and NATURAL merge."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.sql.resolutions import Scope, Source


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

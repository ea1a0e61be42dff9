"""A query and its database, for all doubts: what the query says, and small questions about the
data, each executed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from sqlglot import exp

from answerkey.engines.column_texts import write_has_texts, write_texts
from answerkey.engines.database import Row
from answerkey.engines.schema import Column, Table, fold_name, quote_name
from answerkey.order.inspection import Inspection
from answerkey.sql.conditions import Comparison, list_comparisons, list_equalities
from answerkey.sql.groupings import list_determined, read_grouping
from answerkey.sql.keys import list_key, list_sure_keys
from answerkey.sql.query_tree import find_with, spoken_engine, unwrap, write_table, write_with
from answerkey.sql.scopes import DirectColumn, Place, Resolution, Scope, Source


class Query:
    """One query, and small questions about the data of its database, each executed once.

    select: the outermost SELECT; None for a compound select and below WITH.
    """

    def __init__(self, inspection: Inspection) -> None:
        self.schema = inspection.schema
        self.scopes = inspection.scopes
        select = unwrap(inspection.tree)
        is_plain = isinstance(select, exp.Select) and find_with(select) is None
        self.select = select if isinstance(select, exp.Select) and is_plain else None
        self._real = inspection.real

    def ask(self, sql: str) -> list[Row] | None:
        """The rows of another query; None if the guard refuses it."""
        return self._real.find_rows(sql)

    def count(self, sql: str) -> tuple[int, ...]:
        """The one row of a query whose columns are all counts; () if the guard refuses it."""
        rows = self.ask(sql) or [()]
        return tuple(value for value in rows[0] if isinstance(value, int))

    def list_texts(
        self,
        table: Table,
        column: Column,
        *,
        most: int,
        condition: str = "",
        in_order: bool = False,
    ) -> list[str]:
        """The distinct texts of a column (`write_texts`); none if the guard refuses the query."""
        sql = write_texts(
            table.name,
            column.name,
            most=most,
            condition=condition,
            in_order=in_order,
            declared_type=column.type,
            engine=spoken_engine(),
        )
        return [text for (text,) in self.ask(sql) or () if isinstance(text, str)]

    def has_texts(self, table: Table, column: Column) -> bool:
        """Whether a column holds a text."""
        return self.ask(write_has_texts(table.name, column.name)) == [(1,)]

    def resolve(self, expression: exp.Expr) -> Resolution | None:
        """Resolve a name; None if the expression is no name."""
        return self.scopes.resolve(expression) if isinstance(expression, exp.Column) else None

    def base_column(self, expression: exp.Expr) -> tuple[Table, Column] | None:
        """The column of a table that an expression is and nothing else, also by way of a subquery;
        None for anything else."""
        resolution = self.resolve(expression)
        if resolution is None or resolution.table is None or resolution.column is None:
            return None
        return resolution.table, resolution.column

    def list_sources(self, node: exp.Expr) -> set[Source | None]:
        """The members of FROM whose columns an expression names; None for what is no column of a
        table."""
        columns = map(self.scopes.find_direct, node.find_all(exp.Column))
        return {column.source if column is not None else None for column in columns}

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons of the query, those of its subqueries included."""
        return list(list_comparisons(self.scopes))

    def is_one_row(self, select: exp.Select) -> bool:
        """Whether a SELECT aggregates without GROUP BY, so that it has one row at most."""
        is_grouped = select.args.get("group") is not None
        return not is_grouped and read_grouping(select, self.scopes) is not None

    def list_equalities(self, select: exp.Select) -> list[tuple[Place, Place]]:
        """The columns of two members of FROM that ON, USING or a term of WHERE equates."""
        return list_equalities(select, self.scopes)

    def list_determined(self, given: Iterable[Place], select: exp.Select) -> set[Place]:
        """The columns of FROM that have one value wherever the given ones have, by declared keys
        and by those that the data show."""
        return list_determined(given, select, self.scopes, keys=self._list_keys)

    def _list_keys(self, table: Table) -> Iterator[frozenset[str]]:
        yield from list_sure_keys(table)
        key = self.find_key(table)
        if key is not None:
            yield frozenset({fold_name(key)})

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
        name, quoted = quote_name(column.name), write_table(table.name)
        sql = f"SELECT (SELECT count(*) FROM {quoted}) = count(*) FROM"
        return self.ask(f"{sql} (SELECT DISTINCT {name} FROM {quoted})") == [(1,)]

    def key_of(self, source: Source) -> Place:
        """The place of that column; one that nothing has if there is none."""
        return source, fold_name(self.find_key(source.table) or "")

    def find_column(self, place: Place, scope: Scope) -> DirectColumn | None:
        """The column at a place of FROM; None if there is none."""
        source, name = place
        column = source.table.find_column(name) if source.table is not None else None
        if source.table is None or column is None:
            return None
        return DirectColumn(source, source.table, column, scope)


def read_query(inspection: Inspection) -> Query:
    """The query of an inspection, read once for all doubts."""
    return inspection.once(Query)


def with_repair(evidence: dict[str, Any], repair: str | None) -> dict[str, Any]:
    """The evidence of a finding, with the SQL text of the query that the question asks for more
    likely, if it can be written."""
    return evidence if repair is None else evidence | {"repair": repair}


def write_rows(select: exp.Select, *columns: exp.Expr, **clauses: object) -> str:
    """The text of a query for the same rows of FROM and WHERE with other columns."""
    rest = dict.fromkeys(("group", "having", "limit", "offset", "order", "distinct"))
    return write_with(select, **{**rest, "expressions": list(columns), **clauses})

"""Resolutions: what a name in a query stands for, and the scopes and sources it is looked up in.

`Scopes` in answerkey.sql.scopes works them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from answerkey.sqlite.schema import Column, Table, fold_name


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """A column that a query returns: its name ('' where SQLite makes one up), and the expression
    that computes it, without AS. A `*` is expanded: then `expression` is None for a column of a
    table, and `resolution` says which it is."""

    name: str
    expression: exp.Expression | None
    resolution: Resolution | None = None


@dataclass(slots=True, eq=False)
class Source:
    """One member of a FROM clause: `table` is its base table or view, or else `query` the body of
    the CTE or derived table; both are None for a table-valued function and an unknown name."""

    name: str
    node: exp.Expression
    table: Table | None = None
    query: exp.Expression | None = None
    is_cte: bool = False
    column_names: tuple[str, ...] = ()  # WITH c(a, b): these instead of the query's own


@dataclass(slots=True, eq=False)
class Scope:
    """One SELECT, its sources, and the SELECT around it whose columns it may use.

    Sources come by lower-case name, in the order of FROM; by place where one has no name, or where
    another has it too.
    """

    select: exp.Select
    parent: Scope | None
    sources: dict[str, Source] = field(default_factory=dict)

    def find_sources(self, name: str) -> list[Source]:
        """The members of FROM of that name: more than one where the query gives it twice."""
        folded = fold_name(name)
        return [source for source in self.sources.values() if fold_name(source.name) == folded]


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """What a name stands for.

    source: the member of FROM that it is looked up in; None where it names a result column.
    table, column: the base column behind it, followed through CTEs and derived tables that pass it
        on unchanged; None where a query computes it. A rowid that no column holds has no column.
    expression: what computes it, where it names a result column or a column of a subquery.
    scope: the SELECT in which it was found: an outer one where the column is correlated.
    """

    source: Source | None
    table: Table | None
    column: Column | None
    expression: exp.Expression | None
    scope: Scope

    @property
    def is_direct(self) -> bool:
        """Whether it is a column of a base table or view that stands in FROM itself."""
        return self.source is not None and self.source.table is not None

    @property
    def is_alias(self) -> bool:
        """Whether it is the name of a result column of its own SELECT."""
        return self.source is None

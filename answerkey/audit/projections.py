"""Projections: what a query selects, and which columns it uses, in one form for probes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.english.column_words import list_own_words
from answerkey.english.question import Word
from answerkey.sql.query_parts import first_select
from answerkey.sql.query_rewrites import to_sql
from answerkey.sqlite.schema import Column, Table

_AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_SHOWN = 10
_SHOWN_TEXT = 100


@dataclass(frozen=True, slots=True)
class Use:
    """A column of a table, where a query uses it."""

    table: Table
    column: Column
    node: exp.Column

    @property
    def key(self) -> tuple[str, str]:
        """The names of table and column."""
        return self.table.name, self.column.name


@dataclass(frozen=True, slots=True)
class Selected:
    """A result column: the one column of a table that it is, or is computed from (else None), and
    its aggregate: '' for a column as it stands, `several` for more, `computed` for all else."""

    text: str
    table: Table | None
    column: Column | None
    aggregate: str

    @property
    def own_words(self) -> tuple[Word, ...]:
        """The words of the column's name that its table's name does not have."""
        if self.table is None or self.column is None:
            return ()
        return list_own_words(self.table.name, self.column.name)


class Projection:
    """What one query selects and uses. `selected` has its result columns, `used` all columns that
    it names, and `joined` the names of tables and columns that it joins: in a JOIN, or where two
    columns are equal."""

    def __init__(self, inspection: Inspection) -> None:
        scopes = inspection.scopes
        self.tree = inspection.tree
        self.rows = inspection.rows
        self.tables = read_query(inspection).tables
        self.select = first_select(inspection.tree)
        self.has_star = self.select is not None and any(
            expression.is_star and not isinstance(expression, exp.Count)
            for expression in self.select.expressions
        )
        self.aggregates = {_AGGREGATES[type(node)] for node in scopes.nodes.find_all(*_AGGREGATES)}
        self.used = [
            Use(found.table, found.column, node)
            for node in scopes.nodes.find_all(exp.Column)
            if (found := scopes.resolve(node)) is not None and found.column is not None
        ]
        columns = {id(use.node) for use in self.used}
        self.joined = {
            use.key
            for use in self.used
            if use.node.find_ancestor(exp.Join) is not None
            or (
                isinstance(use.node.parent, exp.EQ)
                and columns.issuperset(map(id, use.node.parent.iter_expressions()))
            )
        }
        self.selected = [] if self.has_star else self._read_selected(inspection)

    def _read_selected(self, inspection: Inspection) -> list[Selected]:
        selected = []
        for expression in self.select.expressions if self.select is not None else ():
            columns = list(expression.find_all(exp.Column))
            found = inspection.scopes.resolve(columns[0]) if len(columns) == 1 else None
            aggregates = {name for kind, name in _AGGREGATES.items() if expression.find(kind)}
            is_plain = isinstance(expression.unalias().unnest(), exp.Column)
            if not aggregates and (not is_plain or found is None or found.column is None):
                aggregates = {"computed"}
            selected.append(
                Selected(
                    to_sql(expression)[:_SHOWN_TEXT],
                    found.table if found else None,
                    found.column if found else None,
                    "several" if len(aggregates) > 1 else "".join(aggregates),
                )
            )
        return selected

    @property
    def shown(self) -> list[str]:
        """What is selected, as evidence."""
        return [selected.text for selected in self.selected[:_SHOWN]]

    @property
    def is_aggregate(self) -> bool:
        """Whether every result column is an aggregate, or calculated from some."""
        return bool(self.selected) and all(
            selected.aggregate not in ("", "computed") for selected in self.selected
        )


def read_projection(inspection: Inspection) -> Projection:
    """The projection of an inspection's query."""
    return inspection.once(Projection)


def list_entity_key(inspection: Inspection) -> list[exp.Column] | None:
    """The primary key of the one table whose columns, as they stand, a query selects; None where it
    selects of several tables, or computes, or where the table has no key."""
    scopes = inspection.scopes
    sources = []
    for output in scopes.outputs(inspection.tree):
        found = output.resolution
        if found is None and isinstance(output.expression, exp.Column):
            found = scopes.resolve(output.expression)
        if found is None or not found.is_direct:
            return None
        sources.append(found.source)
    if not sources or any(source is not sources[0] for source in sources):
        return None
    keys = [column for column in sources[0].table.columns if column.primary_key]
    return [exp.column(key.name, table=sources[0].name, quoted=True) for key in keys] or None

"""Names in canonical text: every column with the table or subquery that it belongs to.

A table is called by its own name, and `ship_2`, `ship_3` where that is taken in a query around it.
A derived table is `d`, and the columns of a subquery are `o1`, `o2`.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.sql.expression_writer import ExpressionWriter, UnwritableError
from answerkey.sql.names import PLAIN_NAME, write_name
from answerkey.sql.resolutions import Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema, fold_name


class Member(NamedTuple):
    """One member of FROM, and the body of a derived table ('' for others)."""

    source: Source
    name: str
    body: str
    join: exp.Join | None


class NameWriter(ExpressionWriter):
    """Writes expressions and the names in them."""

    def __init__(self, scopes: Scopes, schema: Schema) -> None:
        super().__init__(scopes, schema)
        self._names: dict[int, str] = {}  # of a Source, by id
        self._taken: frozenset[str] = frozenset()  # by the queries around the one being written

    def member_name(self, member: Member, place: int, number: int) -> str:
        """What a member of FROM is called, the number-th of its name, at a place in its FROM."""
        return write_name(member.name if number == 1 else f"{member.name}_{number}")

    def column_name(self, table: str, column: str) -> str:
        """A column of a table as it is written, without the table."""
        return write_name(column)

    def find_alias_target(self, column: exp.Column) -> exp.Expression | None:
        found = self.scopes.resolve(column)
        return found.expression if found is not None and found.source is None else None

    def write_column(self, column: exp.Column) -> str:
        if column.is_star:
            return self._write_qualified_star(column)
        found = self.scopes.resolve(column)
        if found is None:
            if not self.scopes.is_string(column) or self._may_be_made_up(column):
                raise UnwritableError(f"unknown name {column.name}")
            return "'" + column.name.replace("'", "''") + "'"
        if found.source is None:
            is_outer = found.scope is not self.scopes.scope_of(column)
            if is_outer and found.expression.find(exp.AggFunc):
                raise UnwritableError(f"{column.name} is an aggregate of a query around")
            return self.write(found.expression)
        source = found.source
        name = self._names.get(id(source))
        if name is None:
            raise UnwritableError(f"{column.name} stands outside its query")
        if source.table is None:
            return f"{name}.{self._find_output(source, column.name)}"
        own = found.column.name if found.column is not None else source.table.rowid_name
        return f"{name}.{self.column_name(source.table.name, own)}"

    def _may_be_made_up(self, column: exp.Column) -> bool:
        """Whether "count(*)" may be the name that SQLite gave to a subquery's column."""
        scope = self.scopes.scope_of(column)
        if PLAIN_NAME.fullmatch(column.name):
            return False
        while scope is not None:
            for source in scope.sources.values():
                outputs = self.scopes.outputs(source.query) if source.query is not None else ()
                if not all(output.name for output in outputs):
                    return True
            scope = scope.parent
        return False

    def _write_qualified_star(self, column: exp.Column) -> str:
        scope = self.scopes.scope_of(column)
        sources = scope.find_sources(column.args["table"].name) if scope else []
        if len(sources) != 1:
            raise UnwritableError(f"{column.args['table'].name}.* of no table")
        return "*" if len(scope.sources) == 1 else f"{self._names[id(sources[0])]}.*"

    def _find_output(self, source: Source, name: str) -> str:
        outputs = self.scopes.outputs(source.query)
        names = [output.name for output in outputs]
        spelled = [fold_name(given) for given in source.column_names or names]
        name = fold_name(name)
        if name not in spelled:
            raise UnwritableError(f"unknown column {name} of a subquery")
        found = self._output_names(source)
        chosen = found[spelled.index(name)]
        if found.count(chosen) > 1:
            raise UnwritableError(f"more than one column {name} in a subquery")
        return chosen

    def _output_names(self, source: Source) -> list[str]:
        outputs = self.scopes.outputs(source.query)
        if isinstance(source.query, exp.Values) and not source.is_cte:
            return [output.name for output in outputs]
        if source.is_cte or all(output.resolution is None for output in outputs):
            return [f"o{place}" for place in range(1, len(outputs) + 1)]
        names = []
        for place, output in enumerate(outputs, start=1):
            inner = output.resolution.source if output.resolution else None
            if inner is None:
                names.append(f"o{place}")
            elif inner.table is not None:
                names.append(self.column_name(inner.table.name, output.name))
            else:
                names.append(self._find_output(inner, output.name))
        return names

    def name_members(self, members: list[Member]) -> None:
        taken = set(self._taken)
        own = {fold_name(self.member_name(member, 0, 1)) for member in members}
        for place, member in enumerate(members):
            number = 1
            while (name := fold_name(self.member_name(member, 0, number))) in taken or (
                number > 1 and name in own
            ):
                number += 1
            taken.add(name)
            self._names[id(member.source)] = self.member_name(member, place, number)
        self._taken = frozenset(taken)

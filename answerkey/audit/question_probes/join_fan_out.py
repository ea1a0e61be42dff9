"""join_fan_out: a join repeats the rows of a thing, and an aggregate takes it more than once.

"How many singers have a song?" with `SELECT count(*) FROM singer JOIN song ...` -> a singer of two
songs is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues, shorten
from answerkey.audit.entities import (
    Place,
    count_distinct,
    find_key,
    is_label,
    list_equalities,
    list_known,
    list_references,
    list_terms,
    name_column,
    place_of,
    resolve_direct,
    write_rows,
)
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.counted_things import Counted, is_table_of, list_counted, stem_name
from answerkey.english.question import Question
from answerkey.sql.query_parts import find_with
from answerkey.sql.query_rewrites import to_sql, unwrap
from answerkey.sql.resolutions import Scope, Source
from answerkey.sqlite.schema import fold_name

_GROUPS_SHOWN = 3


def find_join_fan_out(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the outermost SELECT counts rows that repeat what the question counts, or
    adds up or averages values that a join repeats.

    Kinds: `counted`, the thing stands in FROM; `referred`, a table in FROM refers to it;
    `possible`, the same where nothing is repeated yet; `added`, of SUM and AVG.
    """
    fan_out = inspection.once(_read_fan_out)
    if fan_out is None:
        return []
    evidence = next(fan_out.find_counted(question), None) or fan_out.find_added(question)
    return [Finding(Flag.JOIN_FAN_OUT, evidence)] if evidence is not None else []


def _read_fan_out(inspection: Inspection) -> _FanOut | None:
    select = unwrap(inspection.tree)
    if not isinstance(select, exp.Select) or not select.args.get("from_") or find_with(select):
        return None
    return _FanOut(inspection, select)


class _FanOut:
    """What a SELECT aggregates, and what its joins repeat, for all questions that it answers."""

    def __init__(self, inspection: Inspection, select: exp.Select) -> None:
        self.select = select
        self.schema = inspection.schema
        self.scopes = inspection.scopes
        self.scope: Scope = self.scopes.scope_of(select)
        self.values = ColumnValues(inspection.database)
        self.sources = [s for s in self.scope.sources.values() if s.table is not None]
        calls = self.scopes.nodes.find_all(exp.Count, exp.Sum, exp.Avg)
        self.calls = [
            call
            for call in calls
            if call.parent_select is select
            and not isinstance(call.this, exp.Distinct)
            and not isinstance(call.parent, exp.Window)
        ]
        self.group = select.args.get("group")
        self.equalities = list(list_equalities(select, self.scopes))

    def find_counted(self, question: Question) -> Iterator[dict[str, Any]]:
        """The evidence of each thing that the question counts, and the query more than once."""
        counts = [call for call in self.calls if isinstance(call, exp.Count)]
        counted = [resolve_direct(call.this, self.scopes) for call in counts]
        for asked in list_counted(question) if counts else ():
            source = next((s for s in self.sources if is_table_of(asked.stems, s.table.name)), None)
            if source is None:
                referring = [(*found, "referred") for found in self._list_referring(asked)]
            else:
                key = find_key(source.table, self.values)
                referring = [(source, key, "counted")] if key is not None else []
            for place, column, kind in referring:
                if all(found is None or found.source is place for found in counted):
                    yield from self._describe(asked, place, column, kind)

    def find_added(self, question: Question) -> dict[str, Any] | None:
        """The evidence of a SUM or AVG over values that the rows of another table repeat, which the
        question does not name, or which stands beside a third that refers to the same thing."""
        stems = {word.stem for word in question.words}
        for call in self.calls:
            found = None if isinstance(call, exp.Count) else resolve_direct(call.this, self.scopes)
            key = find_key(found.table, self.values) if found is not None else None
            if key is None or len(self.sources) < 2:
                continue
            own = found.source, fold_name(key)
            is_named = any(
                stems.issuperset(stem_name(source.table.name)) for source in self.many.get(own, ())
            )
            has_sibling = any(found.source in ends and len(ends) > 1 for ends in self.many.values())
            rows = [] if is_named and not has_sibling else self._find_repeated(found.source, key)
            if rows and (own in self.many or has_sibling):
                return {
                    "kind": "added",
                    "sql": to_sql(call),
                    "repeated": f"{found.table.name}.{key}",
                    "groups": rows,
                }
        return None

    def _list_referring(self, asked: Counted) -> Iterator[tuple[Source, str]]:
        for source in self.sources:
            for column, parent, _ in list_references(source.table, self.schema):
                if is_table_of(asked.stems, parent.name):
                    yield source, column

    def _describe(
        self, asked: Counted, source: Source, column: str, kind: str
    ) -> Iterator[dict[str, Any]]:
        place = source, fold_name(column)
        if place in self.known:
            return
        rows = self._find_repeated(source, column)
        if rows or self._may_repeat(place, is_thing=kind == "counted"):
            yield {
                "kind": kind if rows else "possible",
                "asked": asked.phrase,
                "repeated": f"{source.table.name}.{column}",
                "groups": rows,
            }

    def _may_repeat(self, place: Place, *, is_thing: bool) -> bool:
        """Whether the schema allows that a group has a value twice: no key of the table that has
        many rows for one is among what the value and the group determine."""
        determined = list_known([*self.known, place], self.equalities, self.values)
        tables = self.many.get(place, []) if is_thing else [place[0]]
        for source in tables:
            names = {name for other, name in determined if other is source}
            if not any(names.issuperset(map(fold_name, key)) for key in source.table.unique_keys):
                return True
        return False

    @cached_property
    def known(self) -> set[Place]:
        """The columns that have one value in each group."""
        nodes = list(self.group.expressions) if self.group is not None else []
        where = self.select.args.get("where")
        for term in list_terms(where.this) if where is not None else ():
            if isinstance(term, exp.EQ) and not term.expression.find(exp.Query):
                nodes.append(term.this)
        found = [resolve_direct(node, self.scopes) for node in nodes]
        known = [what for what in found if what is not None]
        places = [place_of(what) for what in known]
        for what in known:  # the name of a thing stands for the thing
            key = find_key(what.table, self.values)
            if key is not None and is_label(what, self.schema):
                places.append((what.source, fold_name(key)))
        return list_known(places, self.equalities, self.values)

    def _find_repeated(self, source: Source, column: str) -> list[list[object]]:
        """Groups in which a value is repeated: their keys, how many values differ, how many rows
        have one."""
        node = name_column(source, column, self.scope)
        count, rows = count_distinct(node), exp.Count(this=node.copy())
        keys = [key.copy() for key in self.group.expressions] if self.group is not None else []
        sql = write_rows(
            self.select,
            *keys,
            count,
            rows,
            group=self.group,
            having=exp.Having(this=exp.LT(this=count.copy(), expression=rows.copy())),
            limit=exp.Limit(expression=exp.Literal.number(_GROUPS_SHOWN)),
        )
        return [[shorten(value) for value in row] for row in self.values.ask(sql) or ()]

    @cached_property
    def many(self) -> dict[Place, list[Source]]:
        """For each column that is joined: the tables that have many rows for one value of it."""
        ends: dict[Place, list[Source]] = {}
        for pair in self.equalities:
            for end, (source, name) in (pair, pair[::-1]):
                key = find_key(source.table, self.values)
                if source.table is not None and (key is None or fold_name(key) != name):
                    ends.setdefault(end, []).append(source)
        return ends

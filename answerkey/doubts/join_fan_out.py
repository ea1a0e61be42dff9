"""The query counts rows, and a join repeats what the question counts.

"How many singers have a song?"

Doubted: SELECT count(*) FROM singer JOIN song ON singer.id = song.singer_id
Sound:   SELECT count(DISTINCT singer.id) FROM singer JOIN song ON singer.id = song.singer_id

A singer of two songs is counted twice. There is no doubt while each singer has one song, and none
where each group has one singer.

Kinds:

counted: the table of what is counted is in FROM.
referred: a table in FROM refers to it: `SELECT count(*) FROM song` counts singers by `singer_id`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair, write_rows
from answerkey.engines.database import Value
from answerkey.english.columns import is_table_of, split_name
from answerkey.english.counted import Counted, list_counted
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.rewrites.counts import count_once
from answerkey.rewrites.trees import write_change
from answerkey.sql.keys import ID_WORDS
from answerkey.sql.query_tree import make_limit
from answerkey.sql.scopes import DirectColumn, Place, Scope, list_columns, write_column

_MAX_SHOWN_GROUPS = 3


def find_join_fan_out(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding of the first thing that the question counts and that the query counts more
    than once."""
    fan_out = inspection.once(_read_fan_out)
    evidence = next(fan_out.find_counted(question), None) if fan_out is not None else None
    return [Finding("join_fan_out", evidence)] if evidence is not None else []


def _read_fan_out(inspection: Inspection) -> _FanOut | None:
    query = read_query(inspection)
    if query.select is None or query.select.args.get("from_") is None:
        return None
    return _FanOut(query, query.select)


class _FanOut:
    """The counts of a SELECT, and the rows that its joins repeat, for all questions that it
    answers."""

    def __init__(self, query: Query, select: exp.Select) -> None:
        self.query = query
        self.select = select
        self.scope: Scope = query.scopes.scope_of(select)
        self.tables = [
            (source, source.table)
            for source in self.scope.sources.values()
            if source.table is not None
        ]
        self.calls = [
            call
            for call in query.scopes.nodes.find_all(exp.Count)
            if call.parent_select is select
            and not isinstance(call.this, exp.Distinct)
            and not isinstance(call.parent, exp.Window)
        ]
        self.group = select.args.get("group")

    def find_counted(self, question: Question) -> Iterator[dict[str, Any]]:
        """The evidence of each thing that the question counts, and the query more than once."""
        counted = [self.query.scopes.find_direct(call.this) for call in self.calls]
        for asked in list_counted(question) if counted else ():
            for thing, kind in self._list_things(asked):
                if all(column is None or column.source is thing.source for column in counted):
                    yield from self._describe(asked, thing, kind)

    def _list_things(self, asked: Counted) -> Iterator[tuple[DirectColumn, str]]:
        """The key of what is asked for, if FROM has it, or else the columns that refer to it."""
        for source, table in self.tables:
            if is_table_of(asked.stems, table.name):
                key = self.query.find_column(self.query.key_of(source), self.scope)
                if key is not None:
                    yield key, "counted"
                return
        for source, table in self.tables:
            for column, parent, _ in self.query.scopes.references.of_table(table):
                if is_table_of(asked.stems, parent.name) or _is_called(column.name, asked):
                    yield DirectColumn(source, table, column, self.scope), "referred"

    def _describe(
        self, asked: Counted, column: DirectColumn, kind: str
    ) -> Iterator[dict[str, Any]]:
        if column.place in self.known:
            return
        if rows := self._find_repeated(column):
            evidence = {
                "kind": kind,
                "asked": asked.phrase,
                "repeated": column.full_name,
                "groups": rows,
            }
            once = count_once(self.calls, column.write())
            yield with_repair(evidence, write_change(self.query.scopes, once))

    @cached_property
    def known(self) -> set[Place]:
        """The columns that have one value in each group. The name of a thing means the thing."""
        keys = self.group.expressions if self.group is not None else []
        columns = [self.query.scopes.find_direct(key) for key in keys]
        given = [column.place for column in columns if column is not None]
        determined = self.query.list_determined(given, self.select)
        labels = [
            column
            for column in list_columns(self.scope)
            if column.place in determined and self.query.scopes.is_label(column)
        ]
        things = [self.query.key_of(label.source) for label in labels]
        return self.query.list_determined([*determined, *things], self.select)

    def _find_repeated(self, column: DirectColumn) -> list[list[Value]]:
        """Groups in which a value is repeated: their keys, how many values differ, how many rows
        have one."""
        node = write_column(column.source, column.column.name, self.scope)
        count = exp.Count(this=exp.Distinct(expressions=[node.copy()]))
        rows = exp.Count(this=node)
        keys = [key.copy() for key in self.group.expressions] if self.group is not None else []
        having = exp.Having(this=count < rows)
        columns, limit = [*keys, count, rows], make_limit(_MAX_SHOWN_GROUPS)
        sql = write_rows(self.select, *columns, group=self.group, having=having, limit=limit)
        return show_rows(self.query.ask(sql) or [])


def _is_called(column: str, asked: Counted) -> bool:
    """Whether a column that refers to others has the name of what is counted: `order_id` for
    "how many orders", whatever the table of orders is called."""
    stems = [word.stem for word in split_name(column) if word.text not in ID_WORDS]
    return bool(stems) and stems[-1] == asked.stems[-1] and set(stems) <= set(asked.stems)


DOUBT = Doubt("join_fan_out", find_in_question=find_join_fan_out)

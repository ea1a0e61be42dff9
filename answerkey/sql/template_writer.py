"""Templates of queries: canonical text without literals, names of tables and names of columns.

What canonical SQL sorts by its text is sorted by its shape here (and by name only among equals);
names are numbered at the end, in the order in which they appear.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from sqlglot import exp

from answerkey.sql.name_writer import Member
from answerkey.sql.query_writer import QueryWriter
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema

# Until it is numbered, a name stands between two marks: its place in FROM, its kind, itself.
_MARK = "\x01"
# What is read is not given back (`++`, `*+`, `?+`): of digits before a letter, each would be tried
# as the end of the number.
_NUMBER = r"(?<![\w.])-?(?:(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?\d++)?+(?!\w)|\d++(?=\.))"
_ABSTRACTED = re.compile(
    rf"{_MARK}(?P<place>\d*)(?P<kind>[tc])(?P<own>[^{_MARK}]*){_MARK}"
    rf"|(?P<quoted>\"(?:[^\"]|\"\")*\")|x?'(?:[^']|'')*'|{_NUMBER}",
    re.IGNORECASE,
)
_LIST = re.compile(r"IN \(\?(?:, \?)+\)")


class TemplateWriter(QueryWriter):
    """Writes a query with its names marked, for `number_names`."""

    def __init__(self, scopes: Scopes, schema: Schema) -> None:
        super().__init__(scopes, schema)
        self._places: dict[str, int] = {}  # of columns, by clauses with an order of their own
        self._is_in_order = False

    def member_name(self, member: Member, place: int, number: int) -> str:
        if member.source.table is None:
            return super().member_name(member, place, number)
        name = f"{_MARK}{place:03}t{member.name}{_MARK}"
        return name if number == 1 else f"{name}_{number}"

    def column_name(self, table: str, column: str) -> str:
        own = f"{table}.{column}"
        if self._is_in_order:
            self._places.setdefault(own, len(self._places))
        place = f"{self._places[own]:03}" if own in self._places else ""
        return f"{_MARK}{place}c{own}{_MARK}"

    def write_head(self, select: exp.Select, *, is_derived: bool = False) -> str:
        was_in_order, self._is_in_order = self._is_in_order, True
        text = super().write_head(select, is_derived=is_derived)
        for clause in (select.args.get("group"), select.args.get("order")):
            for term in clause.expressions if clause is not None else ():
                self.write(term.this if isinstance(term, exp.Ordered) else term)
        self._is_in_order = was_in_order
        return text

    def write_connected(self, kind: type, nodes: list[exp.Expression]) -> str:
        was_in_order, self._is_in_order = self._is_in_order, False
        text = super().write_connected(kind, nodes)
        self._is_in_order = was_in_order
        return text

    def side_key(self, text: str) -> Any:
        """The shape first; then which tables and columns it names, by their places."""
        names = [found for found in _ABSTRACTED.finditer(text) if found["kind"]]
        return _ABSTRACTED.sub("?", text), [found["place"] for found in names]

    def sort_parts(self, texts: list[str]) -> list[str]:
        """By shape and places; then by how often the columns occur, and only at last by name, so
        that what is about one column stands together."""
        names = [[found["own"] or "" for found in _ABSTRACTED.finditer(text)] for text in texts]
        counts = Counter(name for own in names for name in own)
        keys = [
            (self.side_key(text), [-counts[name] for name in own], own)
            for text, own in zip(texts, names, strict=True)
        ]
        return [text for _, text in sorted(zip(keys, texts, strict=True), key=lambda pair: pair[0])]

    def arrange_members(self, members: list[Member], select: exp.Select) -> list[Member]:
        """First those that appear in clauses with an order of their own, in that order; the others
        by what they do in the query."""
        seen: dict[int, str] = {}
        for clause in [*select.expressions, select.args.get("group"), select.args.get("order")]:
            for column in clause.find_all(exp.Column, bfs=False) if clause is not None else ():
                found = self.scopes.resolve(column)
                if found is not None:
                    seen.setdefault(id(found.source), f"s{len(seen):03}")
        others = [member for member in members if id(member.source) not in seen]
        roles: dict[int, str] = {}
        if len(others) > 1 and not self._is_comparing:
            blind = {id(member.source): seen.get(id(member.source), "") for member in members}
            for member in others:
                text = self.write_role(select, members, {**blind, id(member.source): "!"})
                roles[id(member.source)] = _ABSTRACTED.sub("?", text)

        def rank(member: Member) -> tuple[str, ...]:
            key = id(member.source)
            return seen.get(key, "t"), roles.get(key, ""), member.name, member.body

        return sorted(members, key=rank)


def number_names(text: str) -> str:
    """A text with `?` for each literal, and for each marked name its kind and number.

    >>> number_names("SELECT \\x01cship.id\\x01 FROM \\x01000tship\\x01 WHERE 'x' <> -2.5")
    'SELECT c1 FROM t1 WHERE ? <> ?'
    """
    numbers: dict[tuple[str, str], str] = {}
    counts = {"t": 0, "c": 0}

    def rename(found: re.Match[str]) -> str:
        if found["kind"] is None:
            return found["quoted"] or "?"
        kind, own = found["kind"], found["own"]
        if (kind, own) not in numbers:
            counts[kind] += 1
            numbers[kind, own] = f"{kind}{counts[kind]}"
        return numbers[kind, own]

    return _LIST.sub("IN (?)", _ABSTRACTED.sub(rename, text))

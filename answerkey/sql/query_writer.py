"""Queries as canonical text: every inner join in one order, its conditions with those of WHERE.

The order of FROM, which decides nothing but the order in which rows come, follows the names of the
tables; between two of one name, what each does in the query. A common table expression is `q1`.
"""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.sql.expression_writer import UnwritableError
from answerkey.sql.from_clause import check_args, is_inner, join_conditions, walk_from
from answerkey.sql.name_writer import Member, NameWriter
from answerkey.sql.names import write_name
from answerkey.sql.operators import ROW_AGGREGATES, is_star, read_integer
from answerkey.sql.order_terms import find_places, find_shown, write_direction
from answerkey.sql.resolutions import Scope, Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema, fold_name

_SELECT_ARGS = frozenset(
    (
        "with_",
        "expressions",
        "distinct",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
    )
)
_ARM_ARGS = frozenset(("this", "expression", "distinct"))
_COMPOUND_ARGS = _ARM_ARGS | {"with_", "order", "limit", "offset"}
_TABLE_ARGS = frozenset(("this", "alias", "db", "joins"))
_READ_AS_PLACE = re.compile(r"[-(]*\d+\)*(?: COLLATE \w+)*")


class QueryWriter(NameWriter):
    """Writes one query; see the module."""

    def __init__(self, scopes: Scopes, schema: Schema) -> None:
        super().__init__(scopes, schema)
        self._cte_names: dict[int, str] = {}  # of the body of a CTE, by id
        self._ctes_around = 0
        self._is_comparing = False  # writing a SELECT only to tell two sources apart

    # The order of FROM

    def arrange_members(self, members: list[Member], select: exp.Select) -> list[Member]:
        """The members of an inner join in an order that does not depend on the source's."""
        ranked = sorted(members, key=lambda member: (member.name, member.body))
        names = [(member.name, member.body) for member in ranked]
        if len(set(names)) == len(names) or self._is_comparing:
            return ranked
        blind = {id(member.source): member.name for member in members}
        roles = {
            id(member): self.write_role(select, members, {**blind, id(member.source): "!"})
            for member, name in zip(ranked, names, strict=True)
            if names.count(name) > 1
        }
        return sorted(ranked, key=lambda m: (m.name, m.body, roles.get(id(m), "")))

    def write_role(self, select: exp.Select, members: list[Member], names: dict[int, str]) -> str:
        """The SELECT with these names for its sources: what one source does in it, where they are
        blind to which is which among the others."""
        taken = self._taken
        self._names |= names
        self._taken |= {fold_name(name) for name in names.values()}
        self._is_comparing = True
        text = self.write_head(select) + self._write_rest(
            select, join_conditions([member.join for member in members])
        )
        self._is_comparing = False
        self._taken = taken
        return text

    # Queries

    def write_nested(self, query: exp.Expression) -> str:
        return f"({self.write_query(query)})"

    def write_query(self, query: exp.Expression, *, is_derived: bool = False) -> str:
        """A query; the columns of a derived table get names."""
        while isinstance(query, exp.Subquery):
            check_args(query, frozenset(("this", "alias")))
            query = query.this
        ctes_around = self._ctes_around
        prefix = self._write_with(query)
        if isinstance(query, exp.Select):
            text = self._write_select(query, is_derived=is_derived)
        elif isinstance(query, exp.SetOperation):
            text = self._write_compound(query, is_derived=is_derived)
        elif isinstance(query, exp.Values):
            text = f"VALUES {self.write_all(query.expressions)}"
        else:
            raise UnwritableError(f"{type(query).__name__} is no query")
        self._ctes_around = ctes_around
        return prefix + text

    def _write_with(self, query: exp.Expression) -> str:
        clause = query.args.get("with_")
        if clause is None:
            return ""
        for cte in clause.expressions:
            self._ctes_around += 1
            self._cte_names[id(cte.this)] = self._find_free("q", self._ctes_around)
        parts = []
        for cte in clause.expressions:
            count = len(self.scopes.outputs(cte.this))
            if not count:
                raise UnwritableError("WITH of unknown columns")
            columns = ", ".join(f"o{place}" for place in range(1, count + 1))
            body = self.write_query(cte.this)
            parts.append(f"{self._cte_names[id(cte.this)]}({columns}) AS ({body})")
        word = "WITH RECURSIVE" if clause.args.get("recursive") else "WITH"
        return f"{word} {', '.join(parts)} "

    def _find_free(self, stem: str, number: int) -> str:
        name = f"{stem}{number}"
        while self.schema.find_table(name) is not None:
            name = f"{stem}_{name}"
        return name

    def _write_compound(self, query: exp.Expression, *, is_derived: bool) -> str:
        arms: list[str] = []
        node = query
        while isinstance(node, exp.SetOperation):  # a chain can be long
            check_args(node, _COMPOUND_ARGS if node is query else _ARM_ARGS)
            word = type(node).__name__.upper()
            if node.args.get("distinct") is False:
                word += " ALL"
            arms.append(f" {word} {self.write_query(node.expression)}")
            node = node.this
        arms.append(self.write_query(node, is_derived=is_derived))
        return "".join(reversed(arms)) + self._write_tail(query, find_places(query))

    def _write_select(self, select: exp.Select, *, is_derived: bool = False) -> str:
        check_args(select, _SELECT_ARGS)
        members, conditions = self._read_members(select, self.scopes.scope_of(select))
        if len(members) > 1 and self._may_arrange(members, select):
            members = self.arrange_members(members, select)
        taken = self._taken
        self.name_members(members)
        text = (
            self.write_head(select, is_derived=is_derived)
            + self._write_from(members)
            + self._write_rest(select, conditions)
        )
        self._taken = taken
        return text

    def _read_members(
        self, select: exp.Select, scope: Scope
    ) -> tuple[list[Member], list[exp.Expression]]:
        """The members of FROM, and the conditions by which inner joins join all of them."""
        start = select.args.get("from_")
        if start is None:
            return [], []
        joins = select.args.get("joins") or ()
        found = list(walk_from(start.this, None))
        for join in joins:
            found += walk_from(join.this, join)
        by_node = {id(source.node): source for source in scope.sources.values()}
        members = [self._read_member(by_node.get(id(node)), join) for node, join in found]
        if len(members) != len(by_node):
            raise UnwritableError("two members of FROM have one name")
        if any(join and (join.method or join.args.get("using")) for _, join in found) and any(
            member.source.table is None for member in members
        ):
            raise UnwritableError("a subquery's columns joined by their names")
        if not all(is_inner(join) for _, join in found):
            if len(found) != len(joins) + 1:
                raise UnwritableError("an outer join in parentheses")
            return members, []
        return members, join_conditions([member.join for member in members])

    def _read_member(self, source: Source | None, join: exp.Join | None) -> Member:
        if source is None:
            raise UnwritableError("two members of FROM have one name")
        if source.table is not None:
            check_args(source.node, _TABLE_ARGS)
            return Member(source, source.table.name, "", join)
        if source.query is None:
            raise UnwritableError(f"unknown table {source.name}")
        if source.is_cte:
            name = self._cte_names.get(id(source.query))
            if name is None:
                raise UnwritableError(f"{source.name} is used before its WITH")
            return Member(source, name, "", join)
        body = f"({self.write_query(source.query, is_derived=True)})"
        return Member(source, "d", body, join)

    def _may_arrange(self, members: list[Member], select: exp.Select) -> bool:
        """Whether the order of FROM is free: it decides the columns of `*`, and where rows count
        in the order in which they come, the answer."""
        if select.args.get("limit") is not None and select.args.get("order") is None:
            return False
        if any(isinstance(shown, exp.Star) for shown in select.expressions):
            return False
        has_row_aggregates = bool(self.scopes.nodes.find_all(*ROW_AGGREGATES))
        return not has_row_aggregates and all(is_inner(m.join) for m in members)

    # Clauses

    def write_head(self, select: exp.Select, *, is_derived: bool = False) -> str:
        """SELECT and its columns."""
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise UnwritableError("DISTINCT ON")
        texts = []
        for place, expression in enumerate(select.expressions, start=1):
            text = self.write(expression.unalias())
            has_name = is_derived and not is_star(expression)
            texts.append(f"{text} AS o{place}" if has_name else text)
        return f"SELECT {'DISTINCT ' if distinct is not None else ''}{', '.join(texts)}"

    def _write_from(self, members: list[Member]) -> str:
        if not members:
            return ""
        are_inner = all(is_inner(member.join) for member in members)
        text = " FROM "
        for place, member in enumerate(members):
            name = self._names[id(member.source)]
            own = member.body or self.member_name(member, place, 1)
            source = own if own == name else f"{own} AS {name}"
            if are_inner:
                text += f", {source}" if place else source
            elif member.join is None:
                text += source
            else:
                text += self._write_join(member.join, source)
        return text

    def _write_join(self, join: exp.Join, source: str) -> str:
        side, using = join.side.upper(), join.args.get("using")
        is_merging = bool(using or join.method)
        if is_merging and side in ("RIGHT", "FULL"):
            raise UnwritableError(f"{side} JOIN that merges columns")
        words = [word for word in ("", join.method.upper(), side, "JOIN", source) if word]
        text = " " + " ".join(words)
        if join.args.get("on") is not None:
            text += f" ON {self.write_connected(exp.And, [join.args['on']])}"
        elif not is_merging:
            text += " ON TRUE"
        if using:
            text += f" USING ({', '.join(write_name(fold_name(name.name)) for name in using)})"
        return text

    def _write_rest(self, select: exp.Select, conditions: list[exp.Expression]) -> str:
        text = ""
        where = select.args.get("where")
        conditions = [*conditions, where.this] if where is not None else conditions
        if conditions:
            text += f" WHERE {self.write_connected(exp.And, conditions)}"
        group, having = select.args.get("group"), select.args.get("having")
        if group is not None:
            check_args(group, frozenset(("expressions",)))
            terms = [self._write_term(term, select) for term in group.expressions]
            text += f" GROUP BY {', '.join(terms)}"
        if having is not None:
            text += f" HAVING {self.write_connected(exp.And, [having.this])}"
        return text + self._write_tail(select, None)

    def _write_tail(self, query: exp.Expression, positions: list[str] | None) -> str:
        text = ""
        order, limit, offset = (query.args.get(name) for name in ("order", "limit", "offset"))
        if order is not None:
            terms = [
                (positions[place] if positions else self._write_term(term.this, query))
                + write_direction(term)
                for place, term in enumerate(order.expressions)
            ]
            text += f" ORDER BY {', '.join(terms)}"
        if limit is not None:
            text += f" LIMIT {self.write(limit.expression)}"
        if offset is not None:
            text += f" OFFSET {self.write(offset.expression)}"
        return text

    def _write_term(self, node: exp.Expression, select: exp.Select) -> str:
        """A term of GROUP BY or ORDER BY; a number is the place of a column."""
        shown = select.expressions
        target, _ = self.strip(node)
        place = read_integer(node)
        if place is not None:
            if any(is_star(expression) for expression in shown) or not 0 < place <= len(shown):
                return self.write(node)
            target = shown[place - 1].unalias()
        if self._reads_outer(target, self.scopes.scope_of(select)):
            return str(place or find_shown(target, shown))
        text = self.write(target)
        if _READ_AS_PLACE.fullmatch(text) and (place is not None or node.find(exp.Column)):
            return "NULL"  # a constant, which sorts nothing; its digits would be read as a place
        return text

    def _reads_outer(self, node: exp.Expression, scope: Scope) -> bool:
        """Whether an expression names what a query around its own has, which ORDER BY and GROUP BY
        may show by its place only."""
        around = scope.parent
        outer = []
        while around is not None:
            outer.append(around)
            around = around.parent
        for column in node.find_all(exp.Column) if outer else ():
            found = self.scopes.resolve(column)
            if found is None:
                continue
            if found.scope in outer:
                return True
            if found.is_alias and self._reads_outer(found.expression, scope):
                return True
        return False

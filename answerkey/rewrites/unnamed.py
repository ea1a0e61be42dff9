"""Readings without what the question does not name: a condition, a table."""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.engines.schema import fold_name, quote_name
from answerkey.english.phrases import mentions_missing
from answerkey.english.question import has_phrase
from answerkey.rewrites.members import leave_out_table
from answerkey.rewrites.trees import (
    FindRows,
    Steps,
    changed,
    is_within,
    without,
)
from answerkey.sql.conditions import join_parts, list_parts, list_terms
from answerkey.sql.keys import list_key
from answerkey.sql.query_tree import is_star, speaks_sqlite, write_table
from answerkey.sql.scopes import DirectColumn, Scopes, Source

_MAX_STEPS = 500_000  # of a look at the real rows: one that takes more says nothing
_STEM_LETTERS = 4  # letters that a word of gold and one of the question have in common


def read_unnamed(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """Yield `unnamed_condition`: `WHERE a = 1 AND b = 2` -> `WHERE a = 1`, if the question does not
    say 2; `unnamed_join`: `FROM b JOIN a ON b.a_id = a.id` -> `FROM b`, if neither the question
    names that table nor the query needs it; and `unneeded_join`: the same for a table that the
    question names, if some rows refer to none of it.

    Reason: a question cannot ask for what it does not name; and a row that refers to another one
    needs no look at it.
    """
    text = question_text.lower()
    for select in scopes.nodes.find_all(exp.Select):
        where = select.args.get("where")
        parts = list_parts(where.this, exp.And) if where is not None else []
        for part_index, part in enumerate(parts):
            if not _is_named(part, text):
                rest = [other.copy() for other in without(parts, part_index)]
                clause = exp.Where(this=join_parts(exp.And, rest)) if rest else None
                with changed(select, where=clause):
                    yield "unnamed_condition"
        yield from _leave_out_tables(select, text, scopes, find_rows)


def _is_named(condition: exp.Expr, text: str) -> bool:
    """Whether a question says a part of a condition: one of its literals, or that a value lacks."""
    if condition.find(exp.Select, exp.Column) is None or condition.find(exp.Select) is not None:
        return True
    if condition.find(exp.Null) is not None:
        return mentions_missing(text)
    if not speaks_sqlite() and _is_flag(condition):
        return False
    literals = [node.name.lower().strip("%") for node in condition.find_all(exp.Literal)]
    words = [word for literal in literals for word in re.findall(r"\w+", literal)]
    return not literals or any(
        word[:_STEM_LETTERS] in text if len(word) >= _STEM_LETTERS else has_phrase(text, word)
        for word in words
    )


def _is_flag(condition: exp.Expr) -> bool:
    """Whether a condition is a column that is true or false, or compares one with that: `sold`,
    `NOT sold`, `sold = FALSE`. Like `sold = 0`, it has no word that a question could say."""
    node = condition.unnest()
    while isinstance(node, exp.Not):
        node = node.this.unnest()
    if isinstance(node, exp.EQ | exp.NEQ | exp.Is):
        sides = node.this.unnest(), node.expression.unnest()
        return any(isinstance(side, exp.Boolean) for side in sides)
    return isinstance(node, exp.Column)


def _leave_out_tables(select: exp.Select, text: str, scopes: Scopes, find_rows: FindRows) -> Steps:
    """Each table that a SELECT needs for nothing but a column that the join makes equal to one of
    another table, which replaces it."""
    joins = select.args.get("joins") or []
    if not all(_is_inner(join) for join in joins) or any(map(is_star, select.expressions)):
        return
    for source in list(scopes.scope_of(select).sources.values()) if joins else ():
        own = next((join for join in joins if join.this is source.node), joins[0])
        twins = _find_twins(own.args["on"], source, scopes)
        used = [column for column in select.find_all(exp.Column) if not is_within(column, own)]
        used = [column for column in used if _is_of(column, source, scopes)]
        if not twins or any(fold_name(column.name) not in twins for column in used):
            continue
        is_parent = _is_parent(source, twins, scopes)
        if not _names_table(source, text) and (is_parent or own.this is source.node):
            with leave_out_table(select, source, own, twins, used):
                yield "unnamed_join"
        elif is_parent and _may_lack(source, twins, find_rows):
            with leave_out_table(select, source, own, twins, used, is_asked=True):
                yield "unneeded_join"


def _is_inner(join: exp.Join) -> bool:
    is_plain = not (join.side or join.method or join.args.get("using"))
    return is_plain and join.args.get("on") is not None and isinstance(join.this, exp.Table)


def _is_of(column: exp.Column, source: Source, scopes: Scopes) -> bool:
    resolution = scopes.resolve(column)
    return resolution is None or resolution.source is source


def _find_twins(on: exp.Expr, source: Source, scopes: Scopes) -> dict[str, DirectColumn]:
    """The columns of others to which a join makes those of a table equal, by their folded names; {}
    if it asks for more."""
    twins: dict[str, DirectColumn] = {}
    for term in list_terms(on):
        sides = (
            scopes.find_all_direct((term.this, term.expression)) if isinstance(term, exp.EQ) else []
        )
        sides.sort(key=lambda side: side.source is not source)
        if len(sides) != 2 or sides[0].source is not source or sides[1].source is source:
            return {}
        twins[fold_name(sides[0].column.name)] = sides[1]
    return twins


def _is_parent(source: Source, twins: dict[str, DirectColumn], scopes: Scopes) -> bool:
    """Whether others refer to a table by its key: there is one row for each of theirs."""
    table = source.table
    if table is None or set(map(fold_name, list_key(table))) != twins.keys():
        return False
    return all(scopes.refers(twin) for twin in twins.values())


def _may_lack(source: Source, twins: dict[str, DirectColumn], find_rows: FindRows) -> bool:
    """Whether a row of the database refers to none of a table: else the join changes nothing."""
    [(name, twin)] = twins.items() if len(twins) == 1 else [("", None)]
    if twin is None or source.table is None:
        return False
    own, key = quote_name(twin.column.name), quote_name(name)
    sql = (
        f"SELECT 1 FROM {write_table(twin.table.name)} WHERE {own} IS NULL OR {own} NOT IN"
        f" (SELECT {key} FROM {write_table(source.table.name)}) LIMIT 1"
    )
    return bool(find_rows(sql, max_steps=_MAX_STEPS))


def _names_table(source: Source, text: str) -> bool:
    words = re.findall(r"[^\W_]{3,}", fold_name(source.table.name)) if source.table else []
    return any(word.rstrip("s") in text for word in words)

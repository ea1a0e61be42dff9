"""Readings without what the question does not name: a condition, a table."""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.alternatives.texts import find_word
from answerkey.alternatives.trees import Steps, changed, is_within, without
from answerkey.sql.conditions import join_parts, list_parts
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import fold_name

_UNKNOWN = re.compile(
    r"\b(null|missing|unknown|no|not|none|without|blank|empty|known|available|recorded|ha[sd]|have)\b",
    re.IGNORECASE,
)
_STEM = 4  # letters that a word of gold and one of the question have in common


def read_unnamed(scopes: Scopes, question_text: str) -> Steps:
    """unnamed_condition: a part of WHERE is left out of which the question has no literal;
    unnamed_join: a table that nothing else uses. Whoever answers the question cannot know of it."""
    text = question_text.lower()
    for select in scopes.nodes.find_all(exp.Select):
        where = select.args.get("where")
        parts = list_parts(where.this, exp.And) if where is not None else []
        for place, part in enumerate(parts):
            if not _is_named(part, text):
                rest = [one.copy() for one in without(parts, place)]
                clause = exp.Where(this=join_parts(exp.And, rest)) if rest else None
                with changed(select, where=clause):
                    yield "unnamed_condition"
        joins = select.args.get("joins") or []
        for place, join in enumerate(joins):
            others = [node for node in select.find_all(exp.Column) if not is_within(node, join)]
            if _is_free_to_go(join, others, text, scopes):
                with changed(select, joins=[one.copy() for one in without(joins, place)]):
                    yield "unnamed_join"


def _is_named(condition: exp.Expr, text: str) -> bool:
    """Whether a question says a part of a condition: one of its literals, or that a value lacks."""
    if condition.find(exp.Select, exp.Column) is None or condition.find(exp.Select) is not None:
        return True
    if condition.find(exp.Null) is not None:
        return _UNKNOWN.search(text) is not None
    literals = [node.name.lower().strip("%") for node in condition.find_all(exp.Literal)]
    words = [word for literal in literals for word in re.findall(r"\w+", literal)]
    return not literals or any(
        word[:_STEM] in text if len(word) >= _STEM else find_word(word, text) is not None
        for word in words
    )


def _is_free_to_go(join: exp.Join, others: list[exp.Column], text: str, scopes: Scopes) -> bool:
    if join.side or join.args.get("on") is None or not isinstance(join.this, exp.Table):
        return False
    name = join.this.alias_or_name
    found = [scopes.resolve(column) for column in others]
    sources = [None if what is None else what.source for what in found]  # None: a result column
    is_used = None in found or any(source and source.name == name for source in sources)
    words = re.findall(r"[^\W_]{3,}", fold_name(join.this.name))
    return not is_used and not any(word.rstrip("s") in text for word in words)

"""A condition that the question names, and gold does not ask.

Reason: "the youngest dog" is a dog, also where gold asks for the youngest pet; on a database whose
youngest pet is a dog nobody sees the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import affinity, fold_name
from answerkey.suites.neighbors.changes import Steps, changed
from answerkey.suites.neighbors.conditions import add_condition
from answerkey.suites.neighbors.names import name_column
from answerkey.suites.reading_rules.superlatives import read_superlatives

FindTexts = Callable[[str, str, Sequence[str]], Collection[str]]
"""Which of some words are values of a column, given the names of its table and itself; as the
column has them, whatever capital letters the words have."""

_SHORTEST = 3


def read_named_values(scopes: Scopes, question_text: str, find_texts: FindTexts) -> Steps:
    """named_value: a word of the question is a value of a column of gold's tables, and no literal
    of gold, and no name of a table or a column of it. Ties are read both ways, too."""
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    scope = scopes.scope_of(select)
    words = _list_words(question_text) - _list_used(scopes)
    for source in scope.sources.values() if words else ():
        if source.table is None:
            continue
        for column in source.table.columns:
            if affinity(column.type) != "TEXT":
                continue
            for text in sorted(find_texts(source.table.name, column.name, sorted(words))):
                node = name_column(column, source, scope)
                condition = exp.EQ(this=node, expression=exp.Literal.string(text))
                with changed(select, where=add_condition(select, "where", condition)):
                    yield "named_value"
                    for _ in read_superlatives(scopes, question_text):
                        yield "named_value"


def _list_words(text: str) -> set[str]:
    """The words of a question, and what they may be plurals of."""
    words = {word.lower() for word in re.findall(r"\w+", text)}
    words |= {word.removesuffix("s") for word in words}
    return {word for word in words if len(word) >= _SHORTEST}


def _list_used(scopes: Scopes) -> set[str]:
    """The words of gold's literals and of the names of its tables and columns."""
    used = {node.name for node in scopes.nodes.find_all(exp.Literal, exp.Column)}
    for scope in scopes.select_scopes():
        for source in scope.sources.values():
            if source.table is not None:
                used |= {source.table.name, *(column.name for column in source.table.columns)}
    words = {word for name in used for word in re.split(r"[\W_]+", fold_name(name))}
    return words | {word.removesuffix("s") for word in words} | {word + "s" for word in words}

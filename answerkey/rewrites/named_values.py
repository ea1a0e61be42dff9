"""Values that the question names, and the query does not."""

from __future__ import annotations

import re
from string import ascii_uppercase

from sqlglot import exp

from answerkey.engines.column_texts import write_texts
from answerkey.engines.column_types import TEXT, find_kind
from answerkey.engines.schema import Column, Table, fold_name, quote_name
from answerkey.rewrites.superlatives import read_superlatives
from answerkey.rewrites.trees import FindRows, Steps, add_condition, changed
from answerkey.sql.query_tree import speaks_sqlite, spoken_engine, write_table
from answerkey.sql.scopes import Scopes, list_columns

_MAX_STEPS = 500_000  # of a query of the real rows: one that takes more says nothing
_MIN_WORD_LETTERS = 3  # shorter words are articles and prepositions
_MAX_TEXTS_PER_COLUMN = 5  # a question names few of the values of a column
_MAX_TEXTS_READ = 500  # of a column whose texts are read at once
_SMALL_LETTERS = {ord(letter): letter.lower() for letter in ascii_uppercase}  # as NOCASE has them


def read_named_values(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """Yield `named_value`: `SELECT id FROM pet ORDER BY age LIMIT 1` -> `SELECT id FROM pet WHERE
    "kind" = 'dog' ORDER BY age LIMIT 1`, and the same with all that tie.

    The question has a value of a column, which is no literal of gold and no name of a table or
    column of it.

    Reason: "the youngest dog" is a dog, also if gold asks for the youngest pet. A database whose
    youngest pet is a dog does not show the difference.
    """
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    scope = scopes.scope_of(select)
    words = sorted(_list_words(question_text) - _list_used(scopes))
    for column in list_columns(scope) if words else ():
        if find_kind(column.column.type, spoken_engine()) != TEXT:
            continue
        for text in sorted(_find_texts(find_rows, column.table, column.column, words)):
            condition = column.write().eq(text)
            with changed(select, where=add_condition(select, "where", condition)):
                yield "named_value"
                for _ in read_superlatives(scopes, question_text):
                    yield "named_value"


def _list_words(text: str) -> set[str]:
    """Return the words of a question, and those of which they may be plurals."""
    words = {word.lower() for word in re.findall(r"\w+", text)}
    words |= {word.removesuffix("s") for word in words}
    return {word for word in words if len(word) >= _MIN_WORD_LETTERS}


def _list_used(scopes: Scopes) -> set[str]:
    """Return the words of the literals and names of a query, with their plurals and singulars."""
    used = {node.name for node in scopes.nodes.find_all(exp.Literal, exp.Column)}
    for scope in scopes.select_scopes():
        for column in list_columns(scope):
            used |= {column.table.name, column.column.name}
    words = {word for name in used for word in re.split(r"[\W_]+", fold_name(name))}
    return words | {word.removesuffix("s") for word in words} | {word + "s" for word in words}


def _find_texts(find_rows: FindRows, table: Table, column: Column, words: list[str]) -> list[str]:
    """Return the texts of a column that are one of some words, whatever their case; at most five.

    A column of few texts is read once for all questions.
    """
    sql = write_texts(
        table.name,
        column.name,
        most=_MAX_TEXTS_READ + 1,
        declared_type=column.type,
        engine=spoken_engine(),
    )
    rows = find_rows(sql, max_steps=_MAX_STEPS)
    if rows is not None and len(rows) <= _MAX_TEXTS_READ:
        texts = [text for (text,) in rows if isinstance(text, str)]
        wanted = set(words)
        own = [
            text
            for text in texts
            if text.lower() in wanted and text.translate(_SMALL_LETTERS) in wanted
        ]
        return own[:_MAX_TEXTS_PER_COLUMN]
    name, values = quote_name(column.name), ", ".join(f"'{word}'" for word in words)
    folded = f"{name} COLLATE NOCASE" if speaks_sqlite() else f"lower({name})"
    sql = (
        f"SELECT DISTINCT {name} FROM {write_table(table.name)} WHERE {folded}"
        f" IN ({values}) LIMIT {_MAX_TEXTS_PER_COLUMN}"
    )
    rows = find_rows(sql, max_steps=_MAX_STEPS) or []
    return [text for (text,) in rows if isinstance(text, str)]

"""Codes and their names, and values that the question names: what the real rows say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_uppercase
from typing import Any

from sqlglot import exp

from answerkey.rewrites.superlatives import read_superlatives
from answerkey.rewrites.texts import find_word
from answerkey.rewrites.trees import FindRows, Steps, add_condition, changed, replaced
from answerkey.sql.conditions import COMPARISONS, read_text
from answerkey.sql.keys import find_one_key, is_key
from answerkey.sql.query_tree import to_sql
from answerkey.sql.scopes import DirectColumn, Scopes, list_columns
from answerkey.sqlite.column_texts import write_texts
from answerkey.sqlite.schema import Table, affinity, fold_name, quote_name

# Of a look-up in the real rows: one that takes more says nothing.
_MAX_STEPS = 200_000
_MAX_STEPS_OF_VALUES = 500_000
_MIN_WORD_LETTERS = 3  # shorter words are articles and prepositions
_MAX_TEXTS_PER_COLUMN = 5  # a question names few of the values of a column
_MAX_TEXTS_READ = 500  # of a column whose texts are read at once
_SMALL_LETTERS = {ord(letter): letter.lower() for letter in ascii_uppercase}  # as NOCASE has them


def _list_codes(scopes: Scopes, find_rows: FindRows) -> Iterator[tuple[exp.EQ, exp.EQ, str, Any]]:
    """Each comparison with a name that one row has, and the one with the key of that row; the name
    of the key, and its value: `colour.colour = 'Blue'`, `colour.id = 7`, "id", 7."""
    for node in list(scopes.nodes.find_all(exp.EQ)):
        named, text = scopes.find_direct(node.this), read_text(node.expression, scopes)
        key = find_one_key(named.table) if named is not None else None
        if named is None or text is None or key is None or key is named.column:
            continue
        codes = _find_values(find_rows, named.table.name, key.name, named.column.name, text)
        if len(codes) == 1 and isinstance(codes[0], int | str):
            own = named.beside(key).write()
            yield node, exp.EQ(this=own, expression=exp.convert(codes[0])), key.name, codes[0]


def _find_values(find_rows: FindRows, table: str, column: str, known: str, value: str) -> list[Any]:
    names = [quote_name(name) for name in (table, column, known)]
    literal = "'" + value.replace("'", "''") + "'"
    sql = f"SELECT DISTINCT {names[1]} FROM {names[0]} WHERE {names[2]} = {literal} LIMIT 2"
    return [value for (value,) in find_rows(sql, max_steps=_MAX_STEPS_OF_VALUES) or []]


def mutate_codes(scopes: Scopes, find_rows: FindRows) -> Steps:
    """code_by_heart: the key in place of a name, which is a reading if the question states it; and
    value_by_heart: what a subquery gives in place of it."""
    for node, other, _, _ in _list_codes(scopes, find_rows):
        with replaced(node, other):
            yield "code_by_heart"
    for subquery in list(scopes.nodes.find_all(exp.Subquery)):
        if isinstance(subquery.parent, COMPARISONS):
            rows = find_rows(to_sql(subquery.this), max_steps=_MAX_STEPS) or []
            if [len(row) for row in rows] == [1] and isinstance(rows[0][0], int | float | str):
                with replaced(subquery, exp.convert(rows[0][0])):
                    yield "value_by_heart"


def read_codes(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """stated_code: the key in place of a name, if the question states it; stated_name: the name in
    place of a key, if the question has it.

    Reason: `alignment_id = 3` in the evidence is as good as the name of alignment 3. A code that
    nobody states is learnt by heart.
    """
    for node, other, key, code in _list_codes(scopes, find_rows):
        if _states_code(question_text, key, code):
            with replaced(node, other):
                yield "stated_code"
    for node in list(scopes.nodes.find_all(exp.EQ)):
        compared = scopes.find_direct(node.this)
        if compared is None or not isinstance(node.expression, exp.Literal):
            continue
        for table, key in _list_named_by(compared, scopes):
            value = node.expression.name
            for column in table.columns:
                names = _find_values(find_rows, table.name, column.name, key, value)
                is_name = len(names) == 1 and isinstance(names[0], str)
                if is_name and find_word(names[0].lower(), question_text.lower()) is not None:
                    yield from _compare_name(node, table, key, column.name, names[0])


def _states_code(text: str, key: str, code: Any) -> bool:
    """Whether a text sets a column whose name ends in that of a key to a code.

    >>> _states_code("blue refers to eye_colour_id = 7", "id", 7), _states_code("7 heroes", "id", 7)
    (True, False)
    """
    pattern = rf"{re.escape(key)}\W{{1,3}}(?:=|is|:)?\s*['\"]?{re.escape(str(code))}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _list_named_by(column: DirectColumn, scopes: Scopes) -> Iterator[tuple[Table, str]]:
    """The tables whose rows a column stands for, and the key by which it does."""
    if is_key(column.table, column.column):
        yield column.table, column.column.name
    for reference in scopes.references.of_table(column.table):
        if reference.column is column.column:
            yield reference.parent, reference.referred.name


def _compare_name(node: exp.EQ, table: Table, key: str, column: str, name: str) -> Steps:
    query = exp.select(exp.column(key, quoted=True)).from_(exp.table_(table.name, quoted=True))
    query = query.where(exp.column(column, quoted=True).eq(name))
    with replaced(node, exp.In(this=node.this.copy(), query=exp.Subquery(this=query))):
        yield "stated_name"


def read_named_values(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """named_value: a word of the question is a value of a column of gold's tables, and no literal
    of gold, and no name of a table or a column of it. Ties are read both ways, too.

    Reason: "the youngest dog" is a dog, also where gold asks for the youngest pet; on a database
    whose youngest pet is a dog nobody sees the difference.
    """
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    scope = scopes.scope_of(select)
    words = sorted(_list_words(question_text) - _list_used(scopes))
    for column in list_columns(scope) if words else ():
        if affinity(column.column.type) != "TEXT":
            continue
        for text in sorted(_find_texts(find_rows, column.table.name, column.column.name, words)):
            condition = column.write().eq(text)
            with changed(select, where=add_condition(select, "where", condition)):
                yield "named_value"
                for _ in read_superlatives(scopes, question_text):
                    yield "named_value"


def _list_words(text: str) -> set[str]:
    """The words of a question, and what they may be plurals of; without quotes."""
    words = {word.lower() for word in re.findall(r"\w+", text)}
    words |= {word.removesuffix("s") for word in words}
    return {word for word in words if len(word) >= _MIN_WORD_LETTERS}


def _list_used(scopes: Scopes) -> set[str]:
    used = {node.name for node in scopes.nodes.find_all(exp.Literal, exp.Column)}
    for scope in scopes.select_scopes():
        for column in list_columns(scope):
            used |= {column.table.name, column.column.name}
    words = {word for name in used for word in re.split(r"[\W_]+", fold_name(name))}
    return words | {word.removesuffix("s") for word in words} | {word + "s" for word in words}


def _find_texts(find_rows: FindRows, table: str, column: str, words: list[str]) -> list[str]:
    """Return the texts of a column that are one of the words, in capitals or not; at most five.

    A column of few texts is read once for all questions.
    """
    sql = write_texts(table, column, most=_MAX_TEXTS_READ + 1)
    rows = find_rows(sql, max_steps=_MAX_STEPS_OF_VALUES)
    if rows is not None and len(rows) <= _MAX_TEXTS_READ:
        texts = [text for (text,) in rows if isinstance(text, str)]
        wanted = set(words)
        own = [text for text in texts if text.translate(_SMALL_LETTERS) in wanted]
        return own[:_MAX_TEXTS_PER_COLUMN]
    name, values = quote_name(column), ", ".join(f"'{word}'" for word in words)
    sql = (
        f"SELECT DISTINCT {name} FROM {quote_name(table)} WHERE {name} COLLATE NOCASE"
        f" IN ({values}) LIMIT {_MAX_TEXTS_PER_COLUMN}"
    )
    rows = find_rows(sql, max_steps=_MAX_STEPS_OF_VALUES) or []
    return [text for (text,) in rows if isinstance(text, str)]

"""Readings of texts: as gold writes them, as the question does, or as the real rows do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from answerkey.rewrites.trees import FindRows, Steps, changed, replaced
from answerkey.sql.conditions import read_text
from answerkey.sql.keys import is_number
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.column_texts import write_holds
from answerkey.sqlite.schema import quote_name

_INCLUDES = re.compile(
    r"\b(contain(s|ing)?|includes?|mention(s|ing)?|substring|the (word|phrase|text|letter)s?)\b",
    re.IGNORECASE,
)
_WILDCARDS = ("%{}%", "{}%", "%{}")
_MIN_LETTERS = 4  # the letters that two spellings have in common at least
_MAX_STEPS = 500_000  # of a look at the real rows: one that takes more says nothing


def read_texts(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """contained_text: LIKE '%text%', where the question says so, or uses the text as a word like
    others; any_case: LIKE in place of =, or = of LIKE; question_spelling: the spelling of the
    question in place of gold's; absent_spelling: the same, where no real row has that spelling;
    stored_spelling: = with the one spelling that the real rows have, in place of LIKE.

    Reason: "the paragraph that includes the text Korea" asks for more than the paragraphs that are
    'Korea'; and where the database has no row that tells 'engineer' from the "engineering" of the
    question, both may be meant. LIKE without a wildcard is = to whoever knows how a text is
    spelled.
    """
    asks_to_contain = _INCLUDES.search(question_text) is not None
    for node in scopes.nodes.find_all(exp.EQ, exp.Like):
        text = read_text(node.expression, scopes)
        if text is None or not isinstance(node.this, exp.Column) or scopes.is_string(node.this):
            continue
        may_contain = asks_to_contain or _is_kind(node, text, question_text, scopes)
        if isinstance(node, exp.Like):
            may_contain = not set(text) & set("%_")
        if may_contain:
            with _contains(node, text):
                yield "contained_text"
        is_spelled = text.upper() != text.lower() and not set(text) & set("%_")
        other_kind = exp.Like if isinstance(node, exp.EQ) else exp.EQ
        if is_spelled:
            with replaced(node, _compare(other_kind, node, text)):
                yield "any_case"
        for word in _list_spellings(text, question_text):
            spelled: list[exp.Expr] = [node.copy()]
            spelled[0].set("expression", exp.Literal.string(word))
            if is_spelled and word.lower() == text.lower():
                spelled.append(_compare(other_kind, node, word))
            is_held = _is_held(node, word, scopes, find_rows)
            for condition in spelled:
                with replaced(node, condition):
                    if is_held:
                        yield "question_spelling"
                    else:
                        yield "absent_spelling"
        if is_spelled and isinstance(node, exp.Like):
            for stored in _list_stored(node, text, scopes, find_rows):
                with replaced(node, _compare(exp.EQ, node, stored)):
                    yield "stored_spelling"


def move_wildcards(scopes: Scopes) -> Steps:
    """Yield `pattern`: `a LIKE '%x%'` -> `a LIKE 'x%'`, `a LIKE '%x'`."""
    for node in scopes.nodes.find_all(exp.Like):
        pattern = read_text(node.expression, scopes)
        core = pattern.strip("%") if pattern else ""
        for form in _WILDCARDS if core else ():
            if form.format(core) != pattern:
                with changed(node, expression=exp.Literal.string(form.format(core))):
                    yield "pattern"


def contain_texts(scopes: Scopes) -> Steps:
    """Yield `equality_as_pattern`: `a = 'x'` -> `a LIKE '%x%'`, unless a is a number."""
    for equality in scopes.nodes.find_all(exp.EQ):
        text, column = read_text(equality.expression, scopes), scopes.find_direct(equality.this)
        if text and not (column is not None and is_number(column.column)):
            with _contains(equality, text):
                yield "equality_as_pattern"


@contextmanager
def _contains(node: exp.Expr, text: str) -> Iterator[None]:
    """Look for a text anywhere in what a comparison has on its left."""
    with replaced(node, _compare(exp.Like, node, f"%{text}%")):
        yield


def find_word(text: str, question_text: str, flags: int = 0) -> str | None:
    match = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", question_text, flags)
    return match and match[0]


def _compare(kind: type[exp.EQ | exp.Like], node: exp.Expr, text: str) -> exp.Expr:
    return kind(this=node.this.copy(), expression=exp.Literal.string(text))


def _is_held(node: exp.Expr, text: str, scopes: Scopes, find_rows: FindRows) -> bool:
    """Whether a real row has a text in the column that is compared, in the same letters."""
    column = scopes.find_direct(node.this)
    if column is None:
        return False
    literal = exp.Literal.string(text).sql("sqlite")
    sql = write_holds(column.table.name, column.column.name, literal)
    return bool(find_rows(sql, max_steps=_MAX_STEPS))


def _list_stored(node: exp.Like, text: str, scopes: Scopes, find_rows: FindRows) -> list[str]:
    """How the real rows spell a text; [] if they do so in two ways."""
    column = scopes.find_direct(node.this)
    if column is None:
        return []
    name, literal = quote_name(column.column.name), exp.Literal.string(text).sql("sqlite")
    sql = f"SELECT DISTINCT {name} FROM {quote_name(column.table.name)} WHERE {name} LIKE {literal}"
    rows = find_rows(f"{sql} LIMIT 2", max_steps=_MAX_STEPS) or []
    return [value for (value,) in rows if isinstance(value, str)] if len(rows) == 1 else []


def _is_kind(node: exp.Expr, text: str, question_text: str, scopes: Scopes) -> bool:
    """Whether a text stands for a part of a name: "math courses", without quotes and capitals."""
    column = scopes.find_direct(node.this)
    bare = re.sub(r"([\"'])[^\"']*\1", "", question_text)
    is_small = text.islower() and find_word(text, bare) is not None
    return is_small and column is not None and scopes.is_label(column)


def _list_spellings(text: str, question_text: str) -> list[str]:
    """How a question spells a text that it does not have: in other letters, or as a longer or a
    shorter word, which is no plural."""
    same = find_word(text, question_text, re.IGNORECASE)
    if same is not None:
        return [same] if find_word(text, question_text) is None else []
    spellings = []
    for word in dict.fromkeys(re.findall(r"\w+", question_text)):
        short, long = sorted((text.lower(), word.lower()), key=len)
        is_near = len(short) >= _MIN_LETTERS and long.startswith(short)
        if is_near and long.removeprefix(short) not in ("s", "es"):
            spellings.append(word)
    return spellings

"""Texts that a query compares with, as the question or the real rows spell them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from answerkey.engines.column_texts import write_holds
from answerkey.engines.schema import quote_name
from answerkey.english.phrases import asks_for_part
from answerkey.english.question import find_phrase, has_phrase
from answerkey.rewrites.patterns import any_case_like, contain_text
from answerkey.rewrites.trees import FindRows, Steps, replaced
from answerkey.sql.conditions import read_text
from answerkey.sql.query_tree import spoken_engine, to_sql, write_table
from answerkey.sql.scopes import Scopes

_MIN_LETTERS = 4  # the letters that two spellings have in common at least
_MAX_STEPS = 500_000  # of a query of the real rows: one that takes more says nothing


@contextmanager
def compare_by(kind: type[exp.Binary], comparison: exp.Binary, text: str) -> Iterator[None]:
    """Compare with a text by =, LIKE or ILIKE: `a = 'x'` -> `a LIKE 'y'`."""
    other = kind(this=comparison.this.copy(), expression=exp.Literal.string(text))
    with replaced(comparison, other):
        yield


def read_texts(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """Yield other spellings of the texts of = and LIKE.

    contained_text: `a = 'Korea'` -> `a LIKE '%Korea%'`, if the question asks for values that
        contain the text, or has it as a common word.
    any_case: `a = 'Korea'` -> `a LIKE 'Korea'`, and the other way round.
    question_spelling: `a = 'engineer'` -> `a = 'engineering'`, if the question has it.
    absent_spelling: the same, if no real row has the spelling of the question.
    stored_spelling: `a LIKE 'korea'` -> `a = 'Korea'`, if all real rows have it in one spelling.

    Reason: "the paragraph that includes the text Korea" asks for more than the paragraphs that are
    'Korea'. If no row of the database distinguishes 'engineer' from the "engineering" of the
    question, both may be meant. LIKE without a wildcard is = for anybody who knows the spelling.
    """
    asks_for_parts = asks_for_part(question_text)
    any_case = any_case_like()
    for node in scopes.nodes.find_all(exp.EQ, exp.Like, exp.ILike):
        text = read_text(node.expression, scopes)
        if text is None or not isinstance(node.this, exp.Column) or scopes.is_string(node.this):
            continue
        has_wildcard = not set("%_").isdisjoint(text)
        may_contain = asks_for_parts or _is_kind(node, text, question_text, scopes)
        is_like = isinstance(node, exp.Like | exp.ILike)
        if not has_wildcard if is_like else may_contain:
            with contain_text(node, text):
                yield "contained_text"
        is_spelled = text.upper() != text.lower() and not has_wildcard
        kind, other_kind = type(node), exp.EQ if isinstance(node, any_case) else any_case
        if is_spelled:
            with compare_by(other_kind, node, text):
                yield "any_case"
        for word in _list_spellings(text, question_text):
            kinds = [kind]
            if is_spelled and word.lower() == text.lower():
                kinds.append(other_kind)
            is_held = _is_held(node, word, scopes, find_rows)
            for each in kinds:
                with compare_by(each, node, word):
                    yield "question_spelling" if is_held else "absent_spelling"
        if is_spelled and is_like:
            for stored in _list_stored(node, text, scopes, find_rows):
                with compare_by(exp.EQ, node, stored):
                    yield "stored_spelling"


def _is_held(node: exp.Expr, text: str, scopes: Scopes, find_rows: FindRows) -> bool:
    """Return whether a real row has a text in the column that is compared, in the same letters."""
    column = scopes.find_direct(node.this)
    if column is None:
        return False
    sql = write_holds(
        column.table.name,
        column.column.name,
        to_sql(exp.Literal.string(text)),
        engine=spoken_engine(),
    )
    return bool(find_rows(sql, max_steps=_MAX_STEPS))


def _list_stored(node: exp.Expr, text: str, scopes: Scopes, find_rows: FindRows) -> list[str]:
    """Return the spelling that the real rows have of a text; [] if they have several."""
    column = scopes.find_direct(node.this)
    if column is None:
        return []
    name, literal = quote_name(column.column.name), to_sql(exp.Literal.string(text))
    operator = "LIKE" if isinstance(node, exp.Like) else "ILIKE"
    source = write_table(column.table.name)
    sql = f"SELECT DISTINCT {name} FROM {source} WHERE {name} {operator} {literal}"
    rows = find_rows(f"{sql} LIMIT 2", max_steps=_MAX_STEPS) or []
    return [value for (value,) in rows if isinstance(value, str)] if len(rows) == 1 else []


def _is_kind(node: exp.Expr, text: str, question_text: str, scopes: Scopes) -> bool:
    """Return whether a text is part of a name for the question: "math courses", without quotes and
    capitals."""
    column = scopes.find_direct(node.this)
    bare = re.sub(r"([\"'])[^\"']*\1", "", question_text)
    is_word = text.islower() and has_phrase(bare, text)
    return is_word and column is not None and scopes.is_label(column)


def _list_spellings(text: str, question_text: str) -> list[str]:
    """Return the spellings that a question has of a text, if it lacks the text itself: in other
    letters, or as a longer or shorter word, which is not its plural."""
    same = find_phrase(question_text, text, re.IGNORECASE)
    if same is not None:
        return [same] if not has_phrase(question_text, text) else []
    spellings = []
    for word in dict.fromkeys(re.findall(r"\w+", question_text)):
        short, long = sorted((text.lower(), word.lower()), key=len)
        is_near = len(short) >= _MIN_LETTERS and long.startswith(short)
        if is_near and long.removeprefix(short) not in ("s", "es"):
            spellings.append(word)
    return spellings

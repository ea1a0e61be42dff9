"""Asked columns: where a question names a column that its query does not return, or a query returns
one that its question does not name."""

from __future__ import annotations

from typing import Any

from answerkey.audit.mentions import Mention, find_mentions
from answerkey.audit.projections import Projection, Selected
from answerkey.english.asked import count_asked_items
from answerkey.english.column_words import (
    is_known,
    is_named,
    is_start_of,
    may_mean,
    split_name,
)
from answerkey.english.question import Question, Word
from answerkey.english.word_sets import word_set
from answerkey.sqlite.schema import Column, Table

_GENERAL = word_set("name id code title detail descript type number key")  # stems
_NAMES = word_set("name titl")
_WHOLE = word_set(
    "all inform detail info everyth record complet entir whole data row content field attribut "
    "column everi"
)


def find_column_mismatch(projection: Projection, question: Question) -> dict[str, Any] | None:
    """The evidence of the first of these kinds that holds, or None:

    missing_column: the question asks for a column by its name, and the query does not select it;
    other_column: the same, and it selects one that the question does not name;
    similar_column: it selects acc_type where the question says balance, and there is acc_bal;
    unasked_column: beside what is asked for it selects a column that the question does not name;
    star: the question asks for a column by its name, and the query selects all.
    """
    if projection.has_star:
        return _find_star(projection, question)
    evidence = {"selected": projection.shown}
    unnamed = [selected for selected in projection.selected if _is_unnamed(selected, question)]
    for mention in find_mentions(question, projection.tables):
        is_followed = (mention.table.name, mention.column.name) in projection.joined
        if (
            mention.is_asked
            and not is_followed
            and not any(_covers(selected, mention, question) for selected in projection.selected)
        ):
            return {
                "kind": "other_column" if unnamed else "missing_column",
                "asked": mention.quote(question),
                "column": mention.name,
            } | evidence
    for selected in projection.selected:
        if selected.table is not None and selected.column is not None and not selected.aggregate:
            similar = find_similar(projection, question, selected.table, selected.column)
            if similar is not None:
                return {"kind": "similar_column", "column": similar} | evidence
    if unnamed and _is_more_than_asked(projection, unnamed, question):
        return {"kind": "unasked_column", "unasked": [s.text for s in unnamed]} | evidence
    return None


def _find_star(projection: Projection, question: Question) -> dict[str, Any] | None:
    if any(word.stem in _WHOLE for word in question.words):
        return None
    for mention in find_mentions(question, projection.tables):
        if mention.is_asked:
            return {"kind": "star", "asked": mention.quote(question), "column": mention.name}
    return None


def _covers(selected: Selected, mention: Mention, question: Question) -> bool:
    """Whether a result column may be what the question names: its name and its table's have every
    word of it, or it is a column that is named elsewhere, where just a name is asked for."""
    if selected.table is None or selected.column is None:
        return True
    asked = mention.list_words(question)
    name = split_name(selected.column.name)
    words = (*name, *split_name(selected.table.name))
    is_general = all(word.stem in _GENERAL for word in asked) and not selected.column.primary_key
    if is_general and is_named(name, question.words):
        return True
    return all(any(may_mean(own, word) for own in words) for word in asked)


def _is_unnamed(selected: Selected, question: Question) -> bool:
    """Whether no word of the question may mean a result column, nor is its whole name: `username`
    is user_name."""
    words = selected.own_words
    if selected.column is None or selected.aggregate or not words:
        return False
    whole = "".join(word.text for word in split_name(selected.column.name))
    return not is_named(words, question.words) and not any(
        word.text.startswith(whole) for word in question.words
    )


def find_similar(
    projection: Projection, question: Question, table: Table, chosen: Column
) -> str | None:
    """A column that shares a word with a chosen one and is not used, where the question has the
    words by which it differs, and none by which the chosen one does."""
    used = {use.key for use in projection.used}
    own = split_name(chosen.name)
    known = {
        word.stem
        for use in projection.used
        if use.table is table
        for word in split_name(use.column.name)
    }
    for column in table.columns:
        other = split_name(column.name)
        stems = {word.stem for word in other}
        shared = {word.stem for word in own} & stems
        its_own = [word for word in own if word.stem not in stems]
        differing = [word for word in other if word.stem not in shared]
        if (
            shared
            and its_own
            and differing
            and not known & {word.stem for word in differing}
            and (table.name, column.name) not in used
            and "name" not in {word.stem for word in its_own}
            and not is_named(its_own, question.words)
            and all(_is_said(word, question) for word in differing)
        ):
            return f"{table.name}.{column.name}"
    return None


def _is_said(word: Word, question: Question) -> bool:
    return any(word.stem == said.stem or is_start_of(word, said) for said in question.words)


def _is_more_than_asked(
    projection: Projection, unnamed: list[Selected], question: Question
) -> bool:
    """Whether columns stand beside others that are named, and are more than the question lists, or
    a key or detail in the place of what it lists. Codes that nobody can read are left alone."""
    if len(unnamed) == len(projection.selected):
        return False
    if any(selected.aggregate for selected in projection.selected):
        return False
    names = [split_name(selected.column.name) for selected in unnamed if selected.column]
    if any(_NAMES & {word.stem for word in name} for name in names):
        return False  # a name stands for its thing
    if not any(is_known(word) for name in names for word in name):
        return False
    is_general = all(_GENERAL & {word.stem for word in name} for name in names)
    return is_general or count_asked_items(question) < len(projection.selected)

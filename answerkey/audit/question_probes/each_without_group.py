"""each_without_group: the question asks for a number of each thing, and the query returns one."""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.audit.conditions import is_one_row
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.question import Question, list_words
from answerkey.english.word_sets import word_set
from answerkey.sql.query_rewrites import unwrap

_SENTENCE_END = re.compile("[.?!]")
_EACH = word_set("each every")
_PREPOSITIONS = word_set("for of in by to at from with")
_VERBS = word_set("do does did has have had")
_ASKED_STEMS = word_set("mani much number count total sum amount averag mean maximum minimum")
_ADDED = (exp.Count, exp.Sum)


def find_each_without_group(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where a sentence of the question asks for a number (`how many`, `average`) of
    `each` or `every`, and the query aggregates without any GROUP BY.

    Kinds: `of_each` after a preposition, as in "the total weight of each port"; `does_each` after a
    verb, as in "how many ships does each port have?". An average may well be over each thing ("how
    many ships, on average, does each port have?"), so that the latter needs COUNT or SUM.
    """
    select, nodes = unwrap(inspection.tree), inspection.scopes.nodes
    if not isinstance(select, exp.Select) or nodes.find_all(exp.Group, exp.Window):
        return []
    asked = _find_each(question) if is_one_row(select, inspection.scopes) else None
    if asked is None:
        return []
    kind = "does_each" if asked.split()[0] in _VERBS else "of_each"
    if kind == "does_each" and not any(output.find(*_ADDED) for output in select.expressions):
        return []
    return [Finding(Flag.EACH_WITHOUT_GROUP, {"kind": kind, "asked": asked})]


def _find_each(question: Question) -> str | None:
    """The first `each` that its sentence asks a number of, with the words around it."""
    if _EACH.isdisjoint(word.text for word in question.words):
        return None
    for sentence in _SENTENCE_END.split(question.text):
        words = list_words(sentence)
        if not _ASKED_STEMS & {word.stem for word in words}:
            continue
        texts = [word.text for word in words]
        for before, word, after in zip(texts, texts[1:], texts[2:], strict=False):
            if word in _EACH and before in _PREPOSITIONS | _VERBS and after != "other":
                return f"{before} {word} {after}"
    return None

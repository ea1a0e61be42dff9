"""like_without_wildcard: the question asks for a part of a text, and LIKE compares the whole."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.question import Question
from answerkey.english.word_sets import word_set

_PART_STEMS = word_set(
    "contain includ substr start begin end prefix suffix word letter phrase charact"
)
_WILDCARDS = frozenset("%_")


def find_like_without_wildcard(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding for `name LIKE 'Sea'`, which has no % or _ and finds nothing but 'Sea'.

    Kinds: `part` where the question speaks of a part ("contains", "the word", "starts with");
    `whole` where it does not, so that = may have been meant.
    """
    reading = read_query(inspection)
    for comparison in reading.comparisons:
        if comparison.operator != "LIKE" or not reading.is_string(comparison.right):
            continue
        if isinstance(comparison.node, exp.Like) and not _WILDCARDS & set(comparison.right.name):
            asked = next((w.text for w in question.words if w.stem in _PART_STEMS), None)
            kind = "whole" if asked is None else "part"
            evidence = {"kind": kind, "asked": asked, "condition": comparison.text}
            return [Finding(Flag.LIKE_WITHOUT_WILDCARD, evidence)]
    return []

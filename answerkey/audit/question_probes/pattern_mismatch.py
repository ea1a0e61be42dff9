"""pattern_mismatch: the question asks where in a text a value is to stand, the query elsewhere."""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.audit.literals import ComparedLiteral, list_compared_literals
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.question import Question
from answerkey.english.text_places import ANYWHERE, END, START, find_asked_place

_WHOLE = "whole"
_SETS = ("contain", "includ")  # also said of what has members


def find_pattern_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the question says that a text contains, starts or ends with a value of the
    query, and the query compares otherwise. Its kinds:

    no_wildcard: LIKE without a wildcard, so that the whole text must be the value;
    whole: `=`, the same; a list that "contains" a value is none of a text's parts;
    other_place: a wildcard on the wrong side.
    """
    small = question.text.lower()
    for literal in list_compared_literals(inspection):
        place = _find_place(literal)
        start = small.find(literal.text.lower())
        if place is None or start < 0:
            continue
        asked = find_asked_place(question.text, start, start + len(literal.text))
        if asked is None or asked[0] == place:
            continue
        if place != _WHOLE:
            kind = "other_place"
        elif literal.comparison.operator != "=":
            kind = "no_wildcard"
        elif asked[1].lower().startswith(_SETS):
            continue
        else:
            kind = "whole"
        evidence = {"kind": kind, "asked": asked[1], "sql": literal.comparison.text}
        return [Finding(Flag.PATTERN_MISMATCH, evidence)]
    return []


def _find_place(literal: ComparedLiteral) -> str | None:
    """Where the query wants a value to stand; None where that cannot be told."""
    if not literal.is_text or not any(map(str.isalpha, literal.text)):
        return None
    operator, pattern = literal.comparison.operator, literal.comparison.right.name
    if operator == "=":
        return _WHOLE
    if operator != "LIKE" or "%" in pattern.strip("%") or "_" in pattern:
        return None
    is_open = pattern.startswith("%"), pattern.endswith("%")
    return {
        (False, False): _WHOLE,
        (False, True): START,
        (True, False): END,
        (True, True): ANYWHERE,
    }[is_open]

"""direction_mismatch: the question asks for the least and the query for the most, or the reverse.

"Which port has the fewest berths?" ... ORDER BY berths DESC LIMIT 1 -> a finding.
The youngest has the least age and the latest date of birth.
"""

from __future__ import annotations

from answerkey.audit.extremes import Extreme, list_extremes, list_sort_terms
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english import measures
from answerkey.english.measures import split_name
from answerkey.english.question import Question
from answerkey.english.sort_requests import ASCENDING, DESCENDING, find_sort_request
from answerkey.english.superlatives import (
    LEAST,
    MOST,
    OPPOSITE,
    Superlative,
    find_superlatives,
)

_POLES = {ASCENDING: LEAST, DESCENDING: MOST}


def find_direction_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where all directions that the question asks for are the opposite of all that the
    query takes.

    The evidence has `kind`: extreme (superlatives against ORDER BY ... LIMIT, min or max),
    top (the same for "top 3"), sort (descending against ascending), unasked (a plain "sorted by"
    against DESC).
    """
    found = _compare_extremes(inspection, question) or _compare_sorts(inspection, question)
    return [Finding(Flag.DIRECTION_MISMATCH, found)] if found else []


def _compare_extremes(inspection: Inspection, question: Question) -> dict[str, str] | None:
    extremes = inspection.once(list_extremes)
    superlatives = find_superlatives(question) if extremes else []
    spelt = {word for extreme in extremes for name in extreme.names for word in split_name(name)}
    pairs = [
        (asked, taken)
        for asked in superlatives if asked.text.split()[0] not in spelt
        for taken in extremes
    ]  # fmt: skip
    if not pairs or not all(_are_opposite(asked, taken) for asked, taken in pairs):
        return None
    asked, taken = pairs[0]
    if _says_pole(question.evidence or "", taken.pole):
        return None
    kind = "top" if asked.text == "top" else "extreme"
    return {"kind": kind, "asked": asked.text, "sql": taken.text}


def _are_opposite(asked: Superlative, taken: Extreme) -> bool:
    """Whether a query takes the other end than asked; False where nobody can tell."""
    is_date = taken.measure == measures.DATE
    if taken.measure == measures.RANK or (asked.measure == measures.DATE and not is_date):
        return False
    if asked.measure == measures.SIZE:
        return not is_date and asked.pole != taken.pole
    if asked.measure == measures.AGE and taken.measure != measures.AGE:
        return is_date and asked.pole == taken.pole
    return asked.pole != taken.pole


def _says_pole(evidence: str, pole: str) -> bool:
    words = ("min(", "asc") if pole == LEAST else ("max(", "desc")
    return any(word in evidence.lower() for word in words)


def _compare_sorts(inspection: Inspection, question: Question) -> dict[str, str] | None:
    terms = inspection.once(list_sort_terms)
    request = find_sort_request(question) if terms else None
    if request is None or terms[0].has_limit:
        return None
    poles = {term.pole for term in terms}
    asked = {_POLES[direction] for direction in request.directions}
    if request.by_age and terms[0].measure == measures.DATE:
        asked = {OPPOSITE[pole] for pole in asked}
    sql = ", ".join(term.text for term in terms)
    if asked and not asked & poles:
        return {"kind": "sort", "asked": request.directions[0], "sql": sql}
    if not asked and poles == {MOST} and not find_superlatives(question):
        return {"kind": "unasked", "asked": request.text.strip(), "sql": sql}
    return None

"""each_without_group: the question asks for a number of each thing, and the query returns one."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.conditions import is_one_row
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.english.question import Question
from answerkey.sql.query_rewrites import unwrap

_EACH = frozenset({"each", "every"})
_BEFORE = frozenset({"for", "of", "in", "by", "to", "at", "from", "with"})
_ADDED = (exp.Count, exp.Sum)


def find_each_without_group(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the question says `each` or `every`, and the query aggregates without any
    GROUP BY.

    Kinds: `of_each` after a preposition, as in "the total weight of each port"; `each` in "how many
    ships does each port have?". An average may well be over each thing ("how many ships, on
    average, does each port have?"), so that the latter needs COUNT or SUM.
    """
    select, nodes = unwrap(inspection.tree), inspection.scopes.nodes
    asked = _find_each(question)
    if asked is None or not isinstance(select, exp.Select):
        return []
    if nodes.find_all(exp.Group, exp.Window) or not is_one_row(select, inspection.scopes):
        return []
    kind = "of_each" if asked.split()[0] in _BEFORE else "each"
    if kind == "each" and not any(select_.find(*_ADDED) for select_ in select.expressions):
        return []
    return [Finding(Flag.EACH_WITHOUT_GROUP, {"kind": kind, "asked": asked})]


def _find_each(question: Question) -> str | None:
    """The first `each` with the words around it; `each other` is none."""
    words = [word.text for word in question.words]
    for place, word in enumerate(words):
        if word in _EACH and words[place + 1 : place + 2] != ["other"]:
            start = place - 1 if place and words[place - 1] in _BEFORE else place
            return " ".join(words[start : place + 2])
    return None

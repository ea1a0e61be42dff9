"""literal_not_in_query: the question gives a number or a name that stands nowhere in its query."""

from __future__ import annotations

from typing import Any

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.literals import (
    list_compared_literals,
    read_query_numbers,
    read_query_words,
    read_schema_words,
)
from answerkey.audit.value_lookup import find_holder
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.names import Name, list_names
from answerkey.english.number_roles import COUNT_OF_FIRST, KNOWN, find_number_role
from answerkey.english.numbers import ORDINAL, WORD, list_numbers
from answerkey.english.question import Question
from answerkey.english.support import Wording

_DEFAULTS = (0, 1)
_MOST_NAMES = 20
_KINDS = ("value", "limit", "number", "quoted")


def find_literal_not_in_query(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where nothing in the query stands for a number or a name of the question; of
    several, the first by these kinds:

    value: a quoted or capitalised name that a column of the database holds;
    limit: how many of the first rows are wanted ("the 3 cheapest");
    number: another number in digits, or one in words that something is compared with;
    quoted: a quoted text that no column holds.
    """
    found = [*_list_names(inspection, question), *_list_numbers(inspection, question)]
    if not found:
        return []
    first = min(found, key=lambda evidence: _KINDS.index(evidence["kind"]))
    return [Finding(Flag.LITERAL_NOT_IN_QUERY, first)]


def _list_names(inspection: Inspection, question: Question) -> list[dict[str, Any]]:
    names = list_names(question.text)[:_MOST_NAMES]
    if not names:
        return []
    evidence = Wording(Question(question.evidence or ""))
    found = []
    for name in names:
        if evidence.says(name.text) or _is_name_used(name, inspection):
            continue
        values = read_query(inspection).values
        holder = find_holder(values, inspection.schema.tables, name.text)
        if holder is not None:
            found.append({"kind": "value", "asked": name.text, "held_by": holder})
        elif name.is_quoted:
            found.append({"kind": "quoted", "asked": name.text})
    return found


def _is_name_used(name: Name, inspection: Inspection) -> bool:
    """Whether the query has a name or what stands for it, or the schema has its words."""
    if inspection.once(read_query_words).supports(name.text):
        return True
    words = Question(name.text).words
    if all(word.stem in inspection.once(read_schema_words) for word in words):
        return True
    asked = Wording(Question(name.text))
    return any(
        literal.number is None and literal.text and asked.supports(literal.text)
        for literal in list_compared_literals(inspection)
    )


def _list_numbers(inspection: Inspection, question: Question) -> list[dict[str, Any]]:
    evidence = {value for n in list_numbers(question.evidence or "") for value in n.values}
    found = []
    for number in list_numbers(question.text):
        first = number.values[0]
        if number.form == ORDINAL or not number.is_alone or first in _DEFAULTS:
            continue
        role = find_number_role(question.text, number)
        if role == KNOWN or (number.form == WORD and role is None):
            continue
        wanted = {*number.values, first - 1, first + 1}
        if not wanted.isdisjoint(evidence):
            continue
        if not inspection.once(read_query_numbers).has_number(*wanted):
            kind = "limit" if role == COUNT_OF_FIRST else "number"
            found.append({"kind": kind, "asked": question.text[number.start : number.end]})
    return found

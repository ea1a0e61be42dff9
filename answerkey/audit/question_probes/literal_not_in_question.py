"""literal_not_in_question: the query uses a number or a text that its question does not give."""

from __future__ import annotations

from typing import Any

from answerkey.audit.comparisons import PATTERNS, RANGES, Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.literals import (
    ComparedLiteral,
    list_compared_literals,
    list_limits,
    read_query_words,
)
from answerkey.audit.value_lookup import list_text_values
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.lexicon import SYNONYMS
from answerkey.english.question import Question
from answerkey.english.support import Wording, list_value_words

_DEFAULTS = (0, 1)  # codes of no and yes; none and some
_SHORTEST_VALUE = 3
_MANY_VALUES = 10
_MOST_LITERALS = 50
_KINDS = ("other_value", "number", "limit", "name", "known_word", "part")


def find_literal_not_in_question(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where neither the question nor its evidence supports a literal of the query; of
    several, the first by these kinds:

    other_value: a text, and the question gives another value of the same column;
    number: a number; limit: the number of rows after LIMIT;
    name: a text with a capital letter, of a column of many values; nothing stands for it;
    known_word: a text such as 'female' or 'Spain', whose other words are all known;
    part: some words of a text are there, others are not.

    Other texts are no finding, for the question may have its own word for them: "put ashore" for
    'discharged'.
    """
    wording = Wording(question)
    reading = read_query(inspection)
    found = []
    for literal in list_compared_literals(inspection)[:_MOST_LITERALS]:
        if literal.number is None:
            evidence = _judge_text(literal, wording, reading)
        else:
            evidence = _judge_number(literal, wording)
        if evidence is not None:
            found.append(evidence)
    found += [
        {"kind": "limit", "sql": f"LIMIT {count}"}
        for count in list_limits(inspection)
        if count not in _DEFAULTS and count not in wording.numbers
    ]
    if not found:
        return []
    first = min(found, key=lambda evidence: _KINDS.index(evidence["kind"]))
    return [Finding(Flag.LITERAL_NOT_IN_QUESTION, first)]


def _judge_number(literal: ComparedLiteral, wording: Wording) -> dict[str, Any] | None:
    number = literal.number
    near = [number]
    if literal.comparison.operator in RANGES and number == int(number):
        near += [number - 1, number + 1]  # more than 2 is at least 3
    if number in _DEFAULTS or wording.has_number(*near):
        return None
    return {"kind": "number", "sql": literal.comparison.text, "not_asked": [literal.text]}


def _judge_text(
    literal: ComparedLiteral, wording: Wording, reading: Reading
) -> dict[str, Any] | None:
    missing = wording.list_missing(literal.text)
    if not missing:
        return None
    evidence = {"sql": literal.comparison.text}
    values = _list_column_values(literal, reading)
    asked = _find_other_value(literal, values, wording, reading)
    if asked is not None:
        return {"kind": "other_value"} | evidence | {"asked": asked}
    if len(missing) < len(list_value_words(literal.text)):
        kind = "part"
    elif literal.text[:1].isupper() and len(values) >= _MANY_VALUES:
        kind = "name"
    elif missing[0] in SYNONYMS and len(missing[0]) > 1:
        kind = "known_word"
    else:
        return None
    return {"kind": kind} | evidence | {"not_asked": missing}


def _list_column_values(literal: ComparedLiteral, reading: Reading) -> list[str]:
    base = reading.base_column(literal.comparison.left)
    if base is None or literal.comparison.operator in PATTERNS:
        return []
    table, column = base
    return list_text_values(reading.values, table.name, column.name)


def _find_other_value(
    literal: ComparedLiteral, values: list[str], wording: Wording, reading: Reading
) -> str | None:
    """A value of the column that the question gives in full, and that the query does not have."""
    own, query = Wording(Question(literal.text)), reading.inspection.once(read_query_words)
    for value in values:
        if len(value) < _SHORTEST_VALUE or not wording.says(value):
            continue
        is_same = own.supports(value) or Wording(Question(value)).supports(literal.text)
        if not is_same and not query.supports(value):
            return value
    return None

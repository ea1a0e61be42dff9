"""split_negation: one thing with two names is denied, and the query denies each name by itself."""

from __future__ import annotations

import itertools

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.conditions import list_chains
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.question import Question, list_words
from answerkey.sql.query_rewrites import SHOWN_CHARACTERS, show_sql


def find_split_negation(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding for "not steered by Ann Lee" with `first_name != 'Ann' AND last_name != 'Lee'`:
    that drops every Ann and every Lee. The two values stand side by side in the question."""
    reading = read_query(inspection)
    for parts in list_chains(reading.scopes, exp.And):
        denied = [part for part in parts if _is_denial(part, reading)]
        asked = _write_words(question.text) if len(denied) > 1 else ""
        for left, right in itertools.pairwise(denied):
            if left.this == right.this:
                continue
            values = [_write_words(part.expression.unnest().name) for part in (left, right)]
            names = " ".join(values), " ".join(reversed(values))
            name = next((name for name in names if name in asked), None)
            if name is not None:
                conditions = [show_sql(part) for part in (left, right)]
                evidence = {"asked": name[:SHOWN_CHARACTERS], "conditions": conditions}
                return [Finding(Flag.SPLIT_NEGATION, evidence)]
    return []


def _is_denial(part: exp.Expression, reading: Reading) -> bool:
    return isinstance(part, exp.NEQ) and reading.is_string(part.expression.unnest())


def _write_words(text: str) -> str:
    return " ".join(word.text for word in list_words(text))

"""split_negation: one thing with two names is denied, and the query denies each name by itself."""

from __future__ import annotations

import itertools

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.conditions import list_parts
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.english.question import Question, list_words
from answerkey.sql.query_rewrites import to_sql

_SHOWN_TEXT = 200


def find_split_negation(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding for "not steered by Ann Lee" with `first_name != 'Ann' AND last_name != 'Lee'`:
    that drops every Ann and every Lee. The two values stand side by side in the question."""
    reading = read_query(inspection)
    asked = " ".join(word.text for word in question.words)
    for node in reading.scopes.nodes.find_all(exp.And):
        denied = [part for part in list_parts(node, exp.And) if _is_denial(part, reading)]
        for left, right in itertools.pairwise(denied):
            if left.this == right.this:
                continue
            values = [_write_words(part.expression.unnest().name) for part in (left, right)]
            name = next((n for n in map(" ".join, (values, values[::-1])) if n in asked), None)
            if name is not None:
                conditions = [to_sql(part)[:_SHOWN_TEXT] for part in (left, right)]
                evidence = {"asked": name[:_SHOWN_TEXT], "conditions": conditions}
                return [Finding(Flag.SPLIT_NEGATION, evidence)]
    return []


def _is_denial(part: exp.Expression, reading: Reading) -> bool:
    return isinstance(part, exp.NEQ) and reading.is_string(part.expression.unnest())


def _write_words(text: str) -> str:
    return " ".join(word.text for word in list_words(text))

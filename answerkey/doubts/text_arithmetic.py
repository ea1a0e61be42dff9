"""text_arithmetic: the query computes with text that is not a number.

Doubted: `SELECT avg(mass) FROM hull`, if a mass is 'unknown'
Not doubted: `SELECT sum(mass) FROM hull`, to which 'unknown' adds nothing

SQLite takes the number at the start of a text, or 0; other engines refuse the query. The doubt
is no sign that gold is wrong, since too few judged questions have it. Kinds:

no_number: AVG of texts some of which have no digit, such as 'null' or 'unknown', and count as 0.
unread: AVG or SUM of texts of which SQLite reads only a part: '4:32' counts as 4, '$5' as 0.
date: a difference of dates, which is that of their years. It is right for a question of years.

The repair leaves out what is not a number, or subtracts days. There is none for unread texts. What
is right there would have another answer.
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.english.phrases import mentions_years
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.rewrites.text_values import average_only_numbers, subtract_days
from answerkey.rewrites.trees import write_change
from answerkey.sql.query_tree import show_sql, speaks_sqlite

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?")
_READ = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)?(?:[eE][-+]?\d+)?")  # what SQLite reads of a text
_MAX_TEXTS_READ = 2000
_MAX_SHOWN_TEXTS = 3


def find_text_arithmetic(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the query averages or adds up text that is not a number, or subtracts
    dates and the question does not ask for years."""
    if not speaks_sqlite():
        return []  # other engines refuse to compute with text
    evidence = inspection.once(_find_aggregate)
    if evidence is None and not mentions_years(question):
        evidence = inspection.once(_find_difference)
    return [] if evidence is None else [Finding("text_arithmetic", evidence)]


def _find_aggregate(inspection: Inspection) -> dict[str, Any] | None:
    query = read_query(inspection)
    for call in query.scopes.nodes.find_all(exp.Avg, exp.Sum):
        texts = _read_texts(query, call.this)
        others = [text for text in texts if not any(map(str.isdigit, text))]
        unread = [text for text in texts if _has_unread_digits(text)]
        if len(unread) > len(texts) / 2:
            return {"kind": "unread", "sql": show_sql(call), "texts": unread[:_MAX_SHOWN_TEXTS]}
        if not others or isinstance(call, exp.Sum):
            continue  # 0 adds nothing
        repair = write_change(query.scopes, average_only_numbers(call.this))
        if query.ask(repair) not in (None, inspection.rows):
            shown = {"sql": show_sql(call), "texts": others[:_MAX_SHOWN_TEXTS]}
            return with_repair({"kind": "no_number"} | shown, repair)
    return None


def _has_unread_digits(text: str) -> bool:
    """Return whether a text has digits behind the number at its start, and is not a date, whose
    year counts.

    >>> [_has_unread_digits(text) for text in ("4:32", "$5", "9 kg", "-1.5e3", "2019-01-31")]
    [True, True, False, False, False]
    """
    match = _READ.match(text)
    rest = text[match.end() :] if match is not None else text
    return any(map(str.isdigit, rest)) and _DATE.fullmatch(text) is None


def _find_difference(inspection: Inspection) -> dict[str, Any] | None:
    """Return the evidence of the first difference of two dates; the repair has all of them in
    days."""
    query = read_query(inspection)
    differences = [
        node for node in query.scopes.nodes.find_all(exp.Sub) if _subtracts_dates(node, query)
    ]
    if not differences:
        return None
    evidence = {"kind": "date", "sql": show_sql(differences[0])}
    return with_repair(evidence, write_change(query.scopes, subtract_days(differences)))


def _subtracts_dates(node: exp.Sub, query: Query) -> bool:
    sides = [_read_texts(query, side.unnest()) for side in (node.this, node.expression)]
    return all(texts and all(map(_DATE.fullmatch, texts)) for texts in sides)


def _read_texts(query: Query, expression: exp.Expr) -> list[str]:
    """Return the different texts of a column, in order; none if the expression is not a column."""
    base = query.base_column(expression)
    return query.list_texts(*base, most=_MAX_TEXTS_READ, in_order=True) if base is not None else []


DOUBT = Doubt(
    "text_arithmetic",
    find_in_question=find_text_arithmetic,
    is_sign=False,
    answers_of_kinds={"unread": "other"},
)

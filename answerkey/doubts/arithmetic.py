"""The probe of arithmetic on text, of which SQLite takes the number at its start, or 0."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection
from answerkey.sql.query_tree import copy_with, show_sql, to_sql

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?")
_READ = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)?(?:[eE][-+]?\d+)?")  # what SQLite reads of a text
_YEARS = word_set("year years age ages old older oldest")
_MAX_TEXTS_READ = 2000
_MAX_SHOWN_TEXTS = 3


def find_text_arithmetic(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a query computes with text that is no number. Kinds:

    no_number: AVG of texts some of which are none, and count as 0: 'null', 'unknown';
    unread: AVG or SUM of texts of which SQLite reads a part: '4:32' counts as 4, '$5' as 0;
    date: a difference of dates, which is that of their years. A question of years asks for it.
    """
    evidence = inspection.once(_find_aggregate)
    if evidence is None and _YEARS.isdisjoint(word.text for word in question.words):
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
        copy, (twin,) = copy_with(inspection.tree, [call.this])
        name = to_sql(twin)
        known = f"CASE WHEN typeof({name}) <> 'text' OR {name} GLOB '*[0-9]*' THEN {name} END"
        twin.replace(exp.maybe_parse(known, dialect="sqlite"))
        repair = to_sql(copy)
        if query.ask(repair) not in (None, inspection.rows):
            shown = {"sql": show_sql(call), "texts": others[:_MAX_SHOWN_TEXTS]}
            return with_repair({"kind": "no_number"} | shown, repair)
    return None


def _has_unread_digits(text: str) -> bool:
    """Whether a text has digits behind the number at its start, and is no date, whose year counts.

    >>> [_has_unread_digits(text) for text in ("4:32", "$5", "9 kg", "-1.5e3", "2019-01-31")]
    [True, True, False, False, False]
    """
    match = _READ.match(text)
    rest = text[match.end() :] if match is not None else text
    return any(map(str.isdigit, rest)) and _DATE.fullmatch(text) is None


def _find_difference(inspection: Inspection) -> dict[str, Any] | None:
    """The first difference of two dates, and the query with all of them in days."""
    query = read_query(inspection)
    differences = [
        node for node in query.scopes.nodes.find_all(exp.Sub) if _subtracts_dates(node, query)
    ]
    if not differences:
        return None
    sides = [side.unnest() for node in differences for side in (node.this, node.expression)]
    copy, twins = copy_with(inspection.tree, sides)
    for twin in twins:
        twin.replace(exp.maybe_parse(f"julianday({to_sql(twin)})", dialect="sqlite"))
    return with_repair({"kind": "date", "sql": show_sql(differences[0])}, to_sql(copy))


def _subtracts_dates(node: exp.Sub, query: Query) -> bool:
    sides = [_read_texts(query, side.unnest()) for side in (node.this, node.expression)]
    return all(texts and all(map(_DATE.fullmatch, texts)) for texts in sides)


def _read_texts(query: Query, expression: exp.Expr) -> list[str]:
    """The different texts of a column, in order; none if the expression is no column."""
    base = query.base_column(expression)
    return query.list_texts(*base, most=_MAX_TEXTS_READ, in_order=True) if base is not None else []


DOUBTS = (
    Doubt(
        "text_arithmetic",
        find_in_question=find_text_arithmetic,
        is_sign=False,
        answers_of_kinds={"unread": "other"},
    ),
)

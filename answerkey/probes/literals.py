"""Probes of what a query compares with: texts that no row holds, numbers that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.columns import is_named, name_column
from answerkey.english.measures import (
    DIGITS,
    Comparative,
    find_comparatives,
    has_number,
    list_numbers,
    read_measure,
    read_number,
)
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.query import Query, read_query
from answerkey.sql.conditions import PATTERNS, RANGES, Comparison, is_literal, read_text
from answerkey.sql.query_tree import to_sql
from answerkey.sqlite.schema import Column, Table, quote_name

_EQUALITIES = frozenset({"=", "!=", "IS", "IS NOT"})
_NULLS = frozenset({"null", "none", "nil", ""})
_MOST_VALUES = 500
_KINDS = ("null", "spelling", "other_column")
_DEFAULTS = (0, 1)  # codes of no and yes; none and some
_COUNT_WORDS = word_set(
    "many much number count total several multiple often frequent frequently popular common busy "
    "busiest active regular regularly repeatedly crowded few single once twice most least"
)
_DEGREES = word_set(
    "large big great huge major small little tiny high low old young new recent modern long short "
    "famous popular successful good bad normal abnormal typical"
)


class ComparedLiteral(NamedTuple):
    """A literal on the right of a comparison: its text, without the wildcards of a pattern, the
    number that it is, or None, and whether it is written as a text."""

    text: str
    number: float | None
    is_text: bool
    comparison: Comparison


def list_compared_literals(inspection: Inspection) -> list[ComparedLiteral]:
    """The literals that a query compares with something that is no literal, in order."""
    query = read_query(inspection)
    found = []
    for comparison in query.comparisons:
        right = comparison.right
        if not is_literal(right, query.scopes) or is_literal(comparison.left, query.scopes):
            continue
        if isinstance(right, exp.Boolean):
            continue
        text = right.this.name if isinstance(right, exp.Neg) else right.name
        if comparison.operator in PATTERNS:
            text = text.replace("%", " ").replace("_", " ").replace("*", " ").strip()
        is_text = read_text(right, query.scopes) is not None
        found.append(ComparedLiteral(text, read_number(text), is_text, comparison))
    return found


def find_literal_not_in_column(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column that has values is compared for equality with a text that is
    none of them; of several such texts, the first by these kinds:

    null: the text is 'null' or empty, where NULL was meant;
    spelling: the column holds it in other letters, spaces or signs;
    other_column: another column of the same table holds it.

    A text that none of them holds is no finding: nobody knows how it should be spelt.
    """
    query = read_query(inspection)
    found: list[dict[str, Any]] = []
    for literal in inspection.once(list_compared_literals):
        base = query.base_column(literal.comparison.left)
        if base is not None and literal.is_text and literal.comparison.operator in _EQUALITIES:
            found += _describe(literal, *base, query)
    if not found:
        return []
    first = min(found, key=lambda evidence: _KINDS.index(evidence["kind"]))
    return [Finding("literal_not_in_column", first)]


def _describe(
    literal: ComparedLiteral, table: Table, column: Column, query: Query
) -> Iterator[dict[str, Any]]:
    """The evidence of a text that a column does not hold; none for a column of nothing, and for one
    that cannot be asked."""
    name, source = quote_name(column.name), quote_name(table.name)
    text = to_sql(exp.Literal.string(literal.text))
    if query.ask(f"SELECT 1 FROM {source} WHERE {name} = {text} LIMIT 1") != []:
        return
    if not query.ask(f"SELECT 1 FROM {source} WHERE {name} IS NOT NULL LIMIT 1"):
        return
    evidence = {"sql": literal.comparison.text, "column": [table.name, column.name]}
    if literal.text.strip().lower() in _NULLS:
        yield {"kind": "null"} | evidence
        return
    stored = query.ask(
        f"SELECT DISTINCT {name} FROM {source}"
        f" WHERE typeof({name}) = 'text' ORDER BY 1 LIMIT {_MOST_VALUES}"
    )
    small = _squeeze(literal.text)
    for (value,) in stored or ():
        if small and isinstance(value, str) and _squeeze(value) == small:
            yield {"kind": "spelling"} | evidence | {"stored": value}
            return
    for other in table.columns:
        held = f"{quote_name(other.name)} = {text} COLLATE NOCASE"
        if query.ask(f"SELECT 1 FROM {source} WHERE {held} LIMIT 1"):
            yield {"kind": "other_column"} | evidence | {"held_by": [table.name, other.name]}
            return


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def find_literal_not_in_question(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if neither the question nor its evidence has a number of the query, and the
    question gives another one, or the number is a bound on something that no word of the question
    means: "tall" may set a bound on a height."""
    for literal in inspection.once(list_compared_literals):
        number, comparison = literal.number, literal.comparison
        if number is None or number in _DEFAULTS:
            continue
        is_bound = comparison.operator in RANGES
        near = [number]
        if is_bound and number == int(number):
            near += [number - 1, number + 1]  # more than 2 is at least 3
        if has_number(question, near):
            continue
        is_unsaid = is_bound and not _may_bound(comparison.left, question)
        if is_unsaid or _gives_another(question, inspection):
            return [Finding("literal_not_in_question", {"sql": comparison.text})]
    return []


def _gives_another(question: Question, inspection: Inspection) -> bool:
    """Whether the question has a number in digits which the query has not."""
    used = {literal.number for literal in inspection.once(list_compared_literals)}
    given = [n for n in list_numbers(question.text) if n.form == DIGITS and n.is_alone]
    return any(used.isdisjoint(number.values) for number in given)


def _may_bound(left: exp.Expr, question: Question) -> bool:
    """Whether a word of the question may mean what is compared, and so set a bound on it, or is one
    of degree, such as "large", which bounds many things."""
    words = {word.text for word in question.said_words}
    if words & _DEGREES:
        return True
    if left.find(exp.Count) is not None:
        return bool(words & _COUNT_WORDS)
    columns = left.find_all(exp.Column)
    names = [word for column in columns for word in name_column(column.name, question)]
    return not names or is_named(names, question.said_words)


def find_comparison_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question leaves out a number that it compares with, and the query
    takes it in, or the other way round: "ports with at least 3 berths" and `berths > 3`; or if the
    query wants less, and the question more.

    What the evidence of the corpus compares as the query does is right.
    """
    comparisons = [c for c in read_query(inspection).comparisons if c.operator in RANGES]
    asked = find_comparatives(question) if comparisons else []
    for value in dict.fromkeys(one.value for one in asked):
        here = [one for one in asked if one.value == value]
        there = [one for one in comparisons if _holds_number(one, value)]
        if any(one.is_negated for one in here):
            continue
        if any(one.node.find_ancestor(exp.Not, exp.Except) for one in there):
            continue
        if any(question.explains(f"{one.operator} {one.right.name}") for one in there):
            continue
        pairs = [(one, other) for one in here for other in there]
        if pairs and not any(_is_as_asked(*pair) for pair in pairs):
            evidence = {"asked": here[0].text, "sql": there[0].text}
            return [Finding("comparison_mismatch", evidence)]
    return []


def _is_as_asked(asked: Comparative, taken: Comparison) -> bool:
    """Whether a query takes a number in as asked, and not the other side of it; of ages, dates and
    ranks nobody can tell which side is more."""
    name = taken.left.name if isinstance(taken.left, exp.Column) else ""
    is_other_way = asked.way not in (None, taken.operator[0]) and read_measure(name) is None
    return asked.is_strict == ("=" not in taken.operator) and not is_other_way


def _holds_number(comparison: Comparison, value: float) -> bool:
    right = comparison.right
    return isinstance(right, exp.Literal | exp.Column) and read_number(right.name) == value


PROBES = (find_literal_not_in_column,)
QUESTION_PROBES = (find_comparison_mismatch, find_literal_not_in_question)

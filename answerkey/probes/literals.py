"""Literals: the numbers and texts that a query compares with, and those of its LIMIT."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.columns import is_named, name_column
from answerkey.english.numbers import DIGITS, has_number, list_numbers, read_number
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import (
    PATTERNS,
    RANGES,
    Comparison,
    Reading,
    quote_text,
    read_query,
)
from answerkey.sqlite.schema import Column, Table, quote_name


class ComparedLiteral(NamedTuple):
    """A literal on the right of a comparison: its text, without the wildcards of a pattern, the
    number that it is, or None, and whether it is written as a text."""

    text: str
    number: float | None
    is_text: bool
    comparison: Comparison


def list_compared_literals(inspection: Inspection) -> list[ComparedLiteral]:
    """The literals that a query compares with something that is no literal, in order."""
    return inspection.once(_read_literals)


def _read_literals(inspection: Inspection) -> list[ComparedLiteral]:
    reading = read_query(inspection)
    found = []
    for comparison in reading.comparisons:
        right = comparison.right
        if not reading.is_literal(right) or reading.is_literal(comparison.left):
            continue
        if isinstance(right, exp.Boolean):
            continue
        text = right.this.name if isinstance(right, exp.Neg) else right.name
        if comparison.operator in PATTERNS:
            text = text.replace("%", " ").replace("_", " ").replace("*", " ").strip()
        found.append(ComparedLiteral(text, read_number(text), reading.is_string(right), comparison))
    return found


# literal_not_in_column: the query asks a column for a text that it does not hold.
#
# Such a condition is met by no row, or by all: what the question asks about is not in the answer.


_OPERATORS = frozenset({"=", "!=", "IS", "IS NOT"})
_NULLS = frozenset({"null", "none", "nil", ""})
_MOST_VALUES = 500
_COLUMN_KINDS = ("null", "spelling", "other_column")


def find_literal_not_in_column(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column that has values is compared for equality with a text that is
    none of them; of several such texts, the first by these kinds:

    null: the text is 'null' or empty, where NULL was meant;
    spelling: the column holds it in other letters, spaces or signs;
    other_column: another column of the same table holds it.

    A text that none of them holds is no finding: nobody knows how it should be spelt.
    """
    reading = read_query(inspection)
    found = []
    for literal in list_compared_literals(inspection):
        base = reading.base_column(literal.comparison.left)
        if base is None or not literal.is_text or literal.comparison.operator not in _OPERATORS:
            continue
        evidence = None if _is_held(literal, *base, reading) else _describe(literal, *base, reading)
        if evidence is not None:
            found.append(evidence)
    if not found:
        return []
    first = min(found, key=lambda evidence: _COLUMN_KINDS.index(evidence["kind"]))
    return [Finding("literal_not_in_column", first)]


def _is_held(literal: ComparedLiteral, table: Table, column: Column, reading: Reading) -> bool:
    """Whether a column holds a text, or nothing at all, or cannot be asked."""
    name, source = quote_name(column.name), quote_name(table.name)
    value = reading.literal_sql(literal.comparison.right)
    ask = reading.values.ask
    if ask(f"SELECT 1 FROM {source} WHERE {name} = {value} LIMIT 1") != []:
        return True
    return not ask(f"SELECT 1 FROM {source} WHERE {name} IS NOT NULL LIMIT 1")


def _describe(
    literal: ComparedLiteral, table: Table, column: Column, reading: Reading
) -> dict[str, Any] | None:
    evidence = {"sql": literal.comparison.text, "column": [table.name, column.name]}
    if literal.text.strip().lower() in _NULLS:
        return {"kind": "null"} | evidence
    name, small = quote_name(column.name), _squeeze(literal.text)
    stored = reading.values.ask(
        f"SELECT DISTINCT {name} FROM {quote_name(table.name)}"
        f" WHERE typeof({name}) = 'text' ORDER BY 1 LIMIT {_MOST_VALUES}"
    )
    for (value,) in stored or ():
        if small and _squeeze(value) == small:
            return {"kind": "spelling"} | evidence | {"stored": value}
    for other in table.columns:
        held = f"{quote_name(other.name)} = {quote_text(literal.text)} COLLATE NOCASE"
        if reading.values.ask(f"SELECT 1 FROM {quote_name(table.name)} WHERE {held} LIMIT 1"):
            return {"kind": "other_column"} | evidence | {"held_by": [table.name, other.name]}
    return None


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


# literal_not_in_question: the query uses a number that its question does not give.


_DEFAULTS = (0, 1)  # codes of no and yes; none and some
_COUNT_WORDS = word_set(
    "many much number count total several multiple often frequent frequently popular common busy "
    "busiest active regular regularly repeatedly crowded few single once twice most least"
)
_DEGREES = word_set(
    "large big great huge major small little tiny high low old young new recent modern long short "
    "famous popular successful good bad normal abnormal typical"
)


def find_literal_not_in_question(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if neither the question nor its evidence has a number of the query, and the
    question gives another one, or the number is a bound on something that no word of the question
    means: "tall" may set a bound on a height."""
    for literal in list_compared_literals(inspection):
        number, comparison = literal.number, literal.comparison
        is_bound = comparison.operator in RANGES
        near = [number]
        if is_bound and number is not None and number == int(number):
            near += [number - 1, number + 1]  # more than 2 is at least 3
        if number in (None, *_DEFAULTS) or has_number(question, near):
            continue
        is_unsaid = is_bound and not _may_bound(comparison.left, question)
        if is_unsaid or _gives_another(question, inspection):
            return [Finding("literal_not_in_question", {"sql": comparison.text})]
    return []


def _gives_another(question: Question, inspection: Inspection) -> bool:
    """Whether the question has a number in digits which the query has not."""
    used = {literal.number for literal in list_compared_literals(inspection)}
    given = [n for n in list_numbers(question.text) if n.form == DIGITS and n.is_alone]
    return any(used.isdisjoint(number.values) for number in given)


def _may_bound(left: exp.Expression, question: Question) -> bool:
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


PROBES = (find_literal_not_in_column,)
QUESTION_PROBES = (find_literal_not_in_question,)

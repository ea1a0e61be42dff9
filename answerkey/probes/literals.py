"""Literals: the numbers and texts that a query compares with, and those of its LIMIT."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.english.columns import is_named, name_column
from answerkey.english.names import Name, list_names
from answerkey.english.numbers import (
    COUNT_OF_FIRST,
    KNOWN,
    ORDINAL,
    WORD,
    find_number_role,
    list_numbers,
    read_number,
)
from answerkey.english.question import Question, list_words, word_set
from answerkey.english.support import (
    Wording,
    squeeze,
)
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import PATTERNS, RANGES, Comparison, Reading, read_query
from answerkey.probes.conditions import find_holder, list_text_values
from answerkey.records import Finding
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


def list_limits(inspection: Inspection) -> list[int]:
    """Return the whole numbers after LIMIT in a query and its subqueries, but for an OFFSET."""
    limits = inspection.scopes.nodes.find_all(exp.Limit)
    counts = [limit.expression for limit in limits if limit.parent.args.get("offset") is None]
    return [int(count.name) for count in counts if isinstance(count, exp.Literal) and count.is_int]


def read_query_words(inspection: Inspection) -> Wording:
    """The words and numbers of the query itself, names such as `first_name` in their parts."""
    return Wording(Question(f"{inspection.sql}\n{inspection.sql.replace('_', ' ')}"))


def read_query_numbers(inspection: Inspection) -> Wording:
    """The literals of a query and the names of the schema, to look numbers up: not the 2 of an
    alias T2, but the unit of a column `minutes`."""
    nodes = inspection.scopes.nodes
    texts = [literal.name for literal in nodes.find_all(exp.Literal)]
    texts += [node.name for node in nodes.find_all(exp.Column) if inspection.scopes.is_string(node)]
    return Wording(Question("\n".join([*texts, *_list_names(inspection)])))


def read_schema_words(inspection: Inspection) -> frozenset[str]:
    """The stems of the words in the names of all tables and columns."""
    return _list_stems(_list_names(inspection))


def _list_names(inspection: Inspection) -> tuple[str, ...]:
    tables = inspection.schema.tables
    return tuple(
        name.replace("_", " ")
        for table in tables
        for name in (table.name, *(column.name for column in table.columns))
    )


@lru_cache(maxsize=16)
def _list_stems(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.stem for name in names for word in list_words(name))


# literal_not_in_column: the query asks a column for a text that it does not hold.
#
# Such a condition is met by no row, or by all: what the question asks about is not in the answer.


_OPERATORS = frozenset({"=", "!=", "IS", "IS NOT"})
_NULLS = frozenset({"null", "none", "nil", ""})
_COLUMN_KINDS = ("null", "pattern", "spelling", "other_column")


def find_literal_not_in_column(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column that has values is compared for equality with a text that is
    none of them; of several such texts, the first by these kinds:

    null: the text is 'null' or empty, where NULL was meant;
    pattern: it starts or ends with %, which only LIKE understands;
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
    """Return whether a column holds a text, or nothing at all, or cannot be asked."""
    name, source = quote_name(column.name), quote_name(table.name)
    value = reading.literal_sql(literal.comparison.right)
    ask = reading.values.ask
    if ask(f"SELECT 1 FROM {source} WHERE {name} = {value} LIMIT 1") != []:
        return True
    return not ask(f"SELECT 1 FROM {source} WHERE {name} IS NOT NULL LIMIT 1")


def _describe(
    literal: ComparedLiteral, table: Table, column: Column, reading: Reading
) -> dict[str, Any] | None:
    condition, place = literal.comparison.text, [table.name, column.name]
    evidence: dict[str, Any] = {"kind": "spelling", "sql": condition, "column": place}
    if literal.text.strip().lower() in _NULLS:
        return evidence | {"kind": "null"}
    if literal.text.startswith("%") or literal.text.endswith("%"):
        return evidence | {"kind": "pattern"}
    small = squeeze(literal.text)
    for value in list_text_values(reading.values, table.name, column.name):
        if small and squeeze(value) == small:
            return evidence | {"stored": value}
    holder = find_holder(reading.values, [table], literal.text)
    if holder is None or holder == place:
        return None if holder is None else evidence
    return evidence | {"kind": "other_column", "held_by": holder}


# literal_not_in_query: the question gives a number or a name that stands nowhere in its query.


_DEFAULTS = (0, 1)  # codes of no and yes; none and some
_MOST_NAMES = 20
_LONGEST_CODE = 3  # letters: CA, USA
_QUERY_KINDS = ("value", "limit", "number")


def find_literal_not_in_query(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if nothing in the query stands for a number or a name of the question; of
    several, the first by these kinds:

    value: a quoted or capitalised name that a column of the database holds;
    limit: how many of the first rows are wanted ("the 3 cheapest");
    number: another number in digits, or one in words that something is compared with.

    What the evidence says needs not to stand in the query, and a code that nothing else in the
    question stands for may be any name: `country = 'DEU'`.
    """
    found = [*_list_unused_names(inspection, question), *_list_unused_numbers(inspection, question)]
    if not found:
        return []
    first = min(found, key=lambda evidence: _QUERY_KINDS.index(evidence["kind"]))
    return [Finding("literal_not_in_query", first)]


def _list_unused_names(inspection: Inspection, question: Question) -> list[dict[str, Any]]:
    names = list_names(question.text)[:_MOST_NAMES]
    if not names or _has_unknown_code(inspection, question):
        return []
    evidence = Wording(Question(question.evidence))
    found = []
    for name in names:
        if evidence.says(name.text) or _is_name_used(name, inspection):
            continue
        holder = find_holder(read_query(inspection).values, inspection.schema.tables, name.text)
        if holder is not None:
            found.append({"kind": "value", "asked": name.text, "held_by": holder})
    return found


def _has_unknown_code(inspection: Inspection, question: Question) -> bool:
    """Return whether the query compares with a short text that the question has no word for."""
    wording = Wording(question)
    return any(
        literal.is_text
        and 0 < len(literal.text) <= _LONGEST_CODE
        and not wording.supports(literal.text)
        for literal in list_compared_literals(inspection)
    )


def _is_name_used(name: Name, inspection: Inspection) -> bool:
    """Return whether the query has a name or what stands for it, or the schema has its words."""
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


def _list_unused_numbers(inspection: Inspection, question: Question) -> list[dict[str, Any]]:
    said = {value for number in list_numbers(question.evidence) for value in number.values}
    found = []
    for number in list_numbers(question.text):
        first = number.values[0]
        if number.form == ORDINAL or not number.is_alone or first in _DEFAULTS:
            continue
        role = find_number_role(question.text, number)
        if role == KNOWN or (number.form == WORD and role is None):
            continue
        wanted = {*number.values, first - 1, first + 1}
        if not wanted.isdisjoint(said):
            continue
        if not inspection.once(read_query_numbers).has_number(*wanted):
            kind = "limit" if role == COUNT_OF_FIRST else "number"
            found.append({"kind": kind, "asked": question.text[number.start : number.end]})
    return found


# literal_not_in_question: the query uses a number or a text that its question does not give.


_SHORTEST_VALUE = 3
_MOST_LITERALS = 50
_QUESTION_KINDS = ("other_value", "number", "limit")
_COUNT_WORDS = word_set(
    "many much number count total several multiple often frequent frequently popular common busy "
    "busiest active regular regularly repeatedly crowded few single once twice most least"
)
_DEGREES = word_set(
    "large big great huge major small little tiny high low old young new recent modern long short "
    "famous popular successful good bad normal abnormal typical"
)


def find_literal_not_in_question(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if neither the question nor its evidence supports a literal of the query; of
    several, the first by these kinds:

    other_value: a text, and the question gives another value of the same column;
    number: a number where the question gives another one, or a bound on something that no word of
        the question means: "tall" may set a bound on a height;
    limit: the number of rows after LIMIT.

    Other texts are no finding, for the question may have its own word for them: "put ashore" for
    'discharged', a kind for its genus, a first name for the whole.
    """
    wording = Wording(question)
    reading = read_query(inspection)
    found = []
    for literal in list_compared_literals(inspection)[:_MOST_LITERALS]:
        if literal.number is None:
            evidence = _judge_text(literal, wording, reading)
        else:
            evidence = _judge_number(literal, wording, inspection, question)
        if evidence is not None:
            found.append(evidence)
    found += [
        {"kind": "limit", "sql": f"LIMIT {count}"}
        for count in list_limits(inspection)
        if count not in _DEFAULTS and count not in wording.numbers
    ]
    if not found:
        return []
    first = min(found, key=lambda evidence: _QUESTION_KINDS.index(evidence["kind"]))
    return [Finding("literal_not_in_question", first)]


def _judge_number(
    literal: ComparedLiteral, wording: Wording, inspection: Inspection, question: Question
) -> dict[str, Any] | None:
    number, comparison = literal.number, literal.comparison
    is_bound = comparison.operator in RANGES
    near = [number]
    if is_bound and number == int(number):
        near += [number - 1, number + 1]  # more than 2 is at least 3
    if number in _DEFAULTS or wording.has_number(*near):
        return None
    is_unsaid = is_bound and not _may_bound(comparison.left, question)
    if not is_unsaid and not _list_unused_numbers(inspection, question):
        return None
    return {"kind": "number", "sql": comparison.text, "not_asked": [literal.text]}


def _may_bound(left: exp.Expression, question: Question) -> bool:
    """Return whether a word of the question may mean what is compared, and so set a bound on it, or
    is one of degree, such as "large", which bounds many things."""
    words = {word.text for word in question.said_words}
    if words & _DEGREES:
        return True
    if left.find(exp.Count) is not None:
        return bool(words & _COUNT_WORDS)
    columns = left.find_all(exp.Column)
    names = [word for column in columns for word in name_column(column.name, question)]
    return not names or is_named(names, question.said_words)


def _judge_text(
    literal: ComparedLiteral, wording: Wording, reading: Reading
) -> dict[str, Any] | None:
    if not wording.list_missing(literal.text):
        return None
    asked = _find_other_value(literal, wording, reading)
    if asked is None:
        return None
    return {"kind": "other_value", "sql": literal.comparison.text, "asked": asked}


def _find_other_value(literal: ComparedLiteral, wording: Wording, reading: Reading) -> str | None:
    """A value of the column that the question gives in full, and that the query does not have."""
    base = reading.base_column(literal.comparison.left)
    if base is None or literal.comparison.operator in PATTERNS:
        return None
    own, query = Wording(Question(literal.text)), reading.inspection.once(read_query_words)
    for value in list_text_values(reading.values, base[0].name, base[1].name):
        if len(value) < _SHORTEST_VALUE or not wording.says(value):
            continue
        is_same = own.supports(value) or Wording(Question(value)).supports(literal.text)
        if not is_same and not query.supports(value):
            return value
    return None


PROBES = (find_literal_not_in_column,)
QUESTION_PROBES = (find_literal_not_in_query, find_literal_not_in_question)

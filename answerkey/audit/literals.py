"""Literals: the numbers and texts that a query compares with, and those of its LIMIT."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp

from answerkey.audit.comparisons import PATTERNS, Comparison, read_query
from answerkey.audit.inspection import Inspection
from answerkey.english.numbers import read_number
from answerkey.english.question import Question, list_words
from answerkey.english.support import Wording


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
    """The whole numbers that stand after LIMIT in a query and in its subqueries."""
    counts = [limit.expression for limit in inspection.scopes.nodes.find_all(exp.Limit)]
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

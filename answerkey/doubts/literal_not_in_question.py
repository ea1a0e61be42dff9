"""literal_not_in_question: the query compares with a value that its question does not give.

Doubted: "Which ships weigh over 800 tons?" and `SELECT name FROM ship WHERE weight > 1000`
Not doubted: "Which heavy ships are there?" and the same query, since "heavy" may set the bound

The question gives another value, so one of the two is a mistake. Evidence of the corpus counts as
part of the question. 0 and 1 are not doubted: they often are codes of no and yes, or mean none and
some. Kinds:

no kind: a number. The question gives another number in digits, or none of its words can mean the
    bound.
limit: the question asks for "the top 3" or "the 3 oldest", and LIMIT has another number.
text: the compared column holds another text that the question has.

The repair takes the value of the question, if it gives exactly one.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.compared_literals import (
    EQUALITIES,
    MAX_COLUMN_VALUES,
    ComparedLiteral,
    list_compared_literals,
)
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.engines.column_texts import write_holds
from answerkey.english.columns import is_named, name_column, split_words
from answerkey.english.comparatives import mentions_degree
from answerkey.english.counted import mentions_count
from answerkey.english.question import Question, has_phrase
from answerkey.english.stated_numbers import DIGITS, Number, has_number, list_numbers, read_number
from answerkey.english.superlatives import list_limits
from answerkey.order.inspection import Inspection
from answerkey.rewrites.compared_values import compare_with_text, compare_with_value, keep_rows
from answerkey.rewrites.trees import write_change
from answerkey.sql.conditions import RANGES
from answerkey.sql.query_tree import show_sql, spoken_engine, to_sql

_MIN_VALUE_LETTERS = 3  # of a value that a question names: shorter ones are any word
_DEFAULTS = (0, 1)  # codes of no and yes; none and some


def find_literal_not_in_question(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if neither the question nor its evidence has a value of the query, and the
    question has another one."""
    return (
        _find_other_number(inspection, question)
        or _find_other_limit(inspection, question)
        or _find_other_text(inspection, question)
    )


def _find_other_number(inspection: Inspection, question: Question) -> list[Finding]:
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
        given = _list_other_numbers(inspection, question)
        if given or (is_bound and not _may_bound(comparison.left, question)):
            repair = _repair_number(inspection, literal, given)
            evidence = with_repair({"sql": comparison.text}, repair)
            return [Finding("literal_not_in_question", evidence)]
    return []


def _list_other_numbers(inspection: Inspection, question: Question) -> list[Number]:
    """Return the numbers in digits of the question that the query does not have."""
    used = {literal.number for literal in inspection.once(list_compared_literals)}
    given = [n for n in list_numbers(question.text) if n.form == DIGITS and n.is_alone]
    return [number for number in given if used.isdisjoint(number.values)]


def _may_bound(left: exp.Expr, question: Question) -> bool:
    """Return whether a word of the question may set a bound on what is compared: "tall" on a
    height, "popular" on a count, "large" on many things."""
    if mentions_degree(question):
        return True
    if left.find(exp.Count) is not None:
        return mentions_count(question)
    columns = left.find_all(exp.Column)
    names = [word for column in columns for word in name_column(column.name, question)]
    return not names or is_named(names, question.said_words)


def _repair_number(
    inspection: Inspection, literal: ComparedLiteral, given: list[Number]
) -> str | None:
    """Return the query with the number of the question, if it gives exactly one that LIMIT does not
    have; for an equality, only if a row holds that number."""
    limits = {read_number(node.expression.name) for node in inspection.tree.find_all(exp.Limit)}
    values = {number.values[0] for number in given if limits.isdisjoint(number.values)}
    if len(values) != 1:
        return None
    number: exp.Expr = exp.Literal.number(values.pop())
    if literal.is_text:
        number = exp.Literal.string(number.name)
    if literal.comparison.operator in EQUALITIES and not _is_held(inspection, literal, number):
        return None
    return write_change(inspection.scopes, compare_with_value(literal.comparison, number))


def _is_held(inspection: Inspection, literal: ComparedLiteral, value: exp.Expr) -> bool:
    """Return whether a row has a value in the column that a literal is compared with."""
    query = read_query(inspection)
    base = query.base_column(literal.comparison.left)
    if base is None:
        return False
    table, column = base
    return bool(
        query.ask(write_holds(table.name, column.name, to_sql(value), engine=spoken_engine()))
    )


def _find_other_limit(inspection: Inspection, question: Question) -> list[Finding]:
    tree = inspection.tree
    limit = tree.args.get("limit")
    if not isinstance(limit, exp.Limit) or not tree.args.get("order"):
        return []
    limits = {read_number(node.expression.name) for node in tree.find_all(exp.Limit)}
    asked = list_limits(question)
    if len(asked) != 1 or None in limits:
        return []
    number = asked[0].values[0]
    if number in limits or number != int(number) or len(asked[0].values) != 1:
        return []
    repair = write_change(inspection.scopes, keep_rows(tree, int(number)))
    evidence = {"kind": "limit", "sql": show_sql(limit), "asked": int(number)}
    return [Finding("literal_not_in_question", with_repair(evidence, repair))]


def _find_other_text(inspection: Inspection, question: Question) -> list[Finding]:
    query = read_query(inspection)
    literals = [literal for literal in inspection.once(list_compared_literals) if literal.is_text]
    used = {literal.text.lower() for literal in literals}
    said = f"{question.text} {question.evidence}".lower()
    for literal in literals:
        base = query.base_column(literal.comparison.left)
        text = literal.text.lower()
        is_equality = literal.comparison.operator in ("=", "!=")
        if base is None or not is_equality or not text.strip() or has_phrase(said, text):
            continue
        named = [
            value
            for value in query.list_texts(*base, most=MAX_COLUMN_VALUES, in_order=True)
            if len(value) >= _MIN_VALUE_LETTERS
            and value.lower() not in used
            and value.lower() not in text
            and has_phrase(question.text.lower(), value.lower())
            and not _names_schema(value, query)
        ]
        if len(named) == 1:
            repair = write_change(query.scopes, compare_with_text(literal.comparison, named[0]))
            evidence = {"kind": "text", "sql": literal.comparison.text, "asked": named[0]}
            return [Finding("literal_not_in_question", with_repair(evidence, repair))]
    return []


def _names_schema(value: str, query: Query) -> bool:
    """Return whether a value is a word for a table or a column, which any question may name."""
    tables = query.schema.tables
    names = [table.name for table in tables]
    names += [column.name for table in tables for column in table.columns]
    words = {word.removesuffix("s") for name in names for word in split_words(name)}
    return {word.removesuffix("s") for word in split_words(value)} <= words


DOUBT = Doubt("literal_not_in_question", find_in_question=find_literal_not_in_question)

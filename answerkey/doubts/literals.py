"""Probes of what a query compares with: texts that no row holds, numbers that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.english.columns import is_named, name_column, split_words
from answerkey.english.measures import (
    DIGITS,
    ORDINAL,
    Comparative,
    Number,
    find_comparatives,
    has_number,
    list_numbers,
    read_measure,
    read_number,
)
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection
from answerkey.sql.conditions import PATTERNS, RANGES, Comparison, is_literal, read_text
from answerkey.sql.query_tree import copy_nodes, copy_with, make_limit, show_sql, to_sql
from answerkey.sql.scopes import DirectColumn
from answerkey.sqlite.column_texts import write_holds
from answerkey.sqlite.schema import Column, Table, quote_name

_EQUALITIES = frozenset({"=", "!=", "IS", "IS NOT"})
_NULLS = frozenset({"null", "none", "nil", ""})
_MAX_COLUMN_VALUES = 500  # among which another spelling is looked for: a column may have millions
_MIN_NEAR_LETTERS = 6  # with fewer, two words of the world may differ in a letter
_MIN_CHANGED_LETTERS = 8  # the same where a letter is another one, as in Gambia and Zambia
_MIN_VALUE_LETTERS = 3  # of a value that a question names: with fewer, it is any word
_TOP = re.compile(r"\b(?:top|bottom) $")  # "the last 3" may be years
_EXTREME = re.compile(r" (?:most|least|fewest|best|worst|(?!rest|west|inter|guest)[a-z]{3,}est)\b")
_KINDS = ("null", "spelling", "other_column", "near")
_OPERATORS = {"<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
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
    literals = []
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
        literals.append(ComparedLiteral(text, read_number(text), is_text, comparison))
    return literals


def find_literal_not_in_column(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column that has values is compared for equality with a text that is
    none of them; of several such texts, the first by these kinds:

    null: the text is 'null' or empty, where NULL was meant;
    spelling: the column holds it in other letters, spaces or signs;
    other_column: another column of the same table holds it;
    near: the column holds one text that is a slip of the pen away;
    subquery: it is compared with a subquery's column, and the two have no value in common.

    A text that none of them holds is no finding: nobody knows how it should be spelt.
    """
    query = read_query(inspection)
    absent_texts: list[_Absent] = []
    for literal in inspection.once(list_compared_literals):
        base = query.base_column(literal.comparison.left)
        if base is not None and literal.is_text and literal.comparison.operator in _EQUALITIES:
            absent_texts += _describe(literal, *base, query)
    if not absent_texts:
        return _find_other_values(inspection, query)
    first = min(absent_texts, key=lambda absent: _KINDS.index(absent.evidence["kind"]))
    evidence = with_repair(first.evidence, _write_held(inspection, query, absent_texts))
    return [Finding("literal_not_in_column", evidence)]


def _find_other_values(inspection: Inspection, query: Query) -> list[Finding]:
    for node in query.scopes.nodes.find_all(exp.EQ, exp.NEQ, exp.In):
        values = node.args.get("query") or node.expression
        select = values.unnest() if isinstance(values, exp.Expr) else None
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            continue
        left = query.scopes.find_direct(node.this)
        right = query.scopes.find_direct(select.expressions[0].unalias())
        if left is None or right is None or _may_be_equal(left, right, query):
            continue
        evidence = {"kind": "subquery", "column": left.full_name, "values": right.full_name}
        column, repair = left.table.find_column(right.column.name), None
        if column is not None:
            tree, (twin,) = copy_with(inspection.tree, [node.this])
            twin.replace(left.beside(column).write())
            repair = to_sql(tree)
        return [Finding("literal_not_in_column", with_repair(evidence, repair))]
    return []


def _may_be_equal(left: DirectColumn, right: DirectColumn, query: Query) -> bool:
    """Whether two columns have a value in common, or one of them none at all."""
    if left.table is right.table and left.column is right.column:
        return True
    (name, table), (other, other_table) = (
        (quote_name(column.column.name), quote_name(column.table.name)) for column in (left, right)
    )
    tests = (
        f"SELECT 1 FROM {table} WHERE {name} IN (SELECT {other} FROM {other_table}) LIMIT 1",
        f"SELECT 1 FROM {table} WHERE {name} IS NOT NULL LIMIT 1",
        f"SELECT 1 FROM {other_table} WHERE {other} IS NOT NULL LIMIT 1",
    )
    return query.ask(tests[0]) != [] or not all(map(query.ask, tests[1:]))


class _Absent(NamedTuple):
    """A text that a column does not hold: the evidence, and the value and the column that are
    likely meant."""

    literal: ComparedLiteral
    evidence: dict[str, Any]
    value: str
    column: Column


def _describe(
    literal: ComparedLiteral, table: Table, column: Column, query: Query
) -> Iterator[_Absent]:
    """A text that a column does not hold; nothing for a column of nothing, and for one that cannot
    be asked."""
    name, source = quote_name(column.name), quote_name(table.name)
    text = to_sql(exp.Literal.string(literal.text))
    if query.ask(write_holds(table.name, column.name, text)) != []:
        return
    if not query.ask(f"SELECT 1 FROM {source} WHERE {name} IS NOT NULL LIMIT 1"):
        return
    evidence = {"sql": literal.comparison.text, "column": [table.name, column.name]}
    if literal.text.strip().lower() in _NULLS:
        yield _Absent(literal, {"kind": "null"} | evidence, "", column)
        return
    stored = query.list_texts(table, column, most=_MAX_COLUMN_VALUES, in_order=True)
    small = _squeeze(literal.text)
    for value in stored:
        if small and _squeeze(value) == small:
            spelt = {"kind": "spelling"} | evidence | {"stored": value}
            yield _Absent(literal, spelt, value, column)
            return
    for other in table.columns:
        quoted = quote_name(other.name)
        held = query.ask(
            f"SELECT {quoted} FROM {source} WHERE {quoted} = {text} COLLATE NOCASE"
            f" ORDER BY {quoted} <> {text} LIMIT 1"
        )
        for (same_text,) in held or ():
            elsewhere = {"kind": "other_column"} | evidence | {"held_by": [table.name, other.name]}
            yield _Absent(literal, elsewhere, str(same_text), other)
            return
    near = [value for value in stored if _is_slip(small, _squeeze(value))]
    if len(near) == 1:
        yield _Absent(literal, {"kind": "near"} | evidence | {"stored": near[0]}, near[0], column)


def _is_slip(text: str, value: str) -> bool:
    """Whether a text is likely a value that somebody mistyped: letters in another order, one too
    few, one too many or another one. Digits are no slip, and short words none.

    >>> [_is_slip(*pair.split()) for pair in ("ostned ostend", "barges barge", "gambia zambia")]
    [True, True, False]
    """
    short, long = sorted((text, value), key=len)
    if len(short) + 1 < _MIN_NEAR_LETTERS or _read_digits(text) != _read_digits(value):
        return False
    indexes = range(len(short))
    start = next((index for index in indexes if short[index] != long[index]), len(short))
    if len(long) == len(short) + 1:
        return len(long) >= _MIN_NEAR_LETTERS and short[start:] == long[start + 1 :]
    if len(long) != len(short):
        return False
    is_changed = start > 0 and short[start + 1 :] == long[start + 1 :]
    is_swapped = len(short) >= _MIN_NEAR_LETTERS and sorted(short) == sorted(long)
    return is_swapped or (is_changed and len(short) >= _MIN_CHANGED_LETTERS)


def _read_digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _write_held(inspection: Inspection, query: Query, absent_texts: list[_Absent]) -> str | None:
    """The query with what its columns hold: NULL for 'null', the stored spelling, or the column
    that holds the text."""
    twins = copy_nodes(inspection.tree)
    for absent in absent_texts:
        comparison = absent.literal.comparison
        node, left = twins[id(comparison.node)], twins[id(comparison.left)]
        if absent.evidence["kind"] in ("spelling", "near"):
            twins[id(comparison.right)].replace(exp.Literal.string(absent.value))
            continue
        is_equality = isinstance(comparison.node, exp.EQ | exp.NEQ)
        column = query.scopes.find_direct(comparison.left)
        if not is_equality or column is None:
            return None  # of IN, other members may stand as they are
        if absent.evidence["kind"] == "null":
            is_null: exp.Expr = exp.Is(this=left.copy(), expression=exp.null())
            node.replace(is_null if isinstance(node, exp.EQ) else exp.Not(this=is_null))
        else:
            left.replace(column.beside(absent.column).write())
            twins[id(comparison.right)].replace(exp.Literal.string(absent.value))
    return to_sql(twins[id(inspection.tree)])


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def find_literal_not_in_question(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if neither the question nor its evidence has a number of the query, and the
    question gives another one, or the number is a bound on something that no word of the question
    means: "tall" may set a bound on a height. Kind `text`: they do not have a text that the query
    compares a column with, and have another one that this column holds.

    0 and 1 are no finding: they are codes of no and yes, or say that there are none or some.
    """
    return (
        _find_other_number(inspection, question)
        or _find_other_limit(inspection, question)
        or _find_other_text(inspection, question)
    )


def _find_other_limit(inspection: Inspection, question: Question) -> list[Finding]:
    """Kind `limit`: "the top 3", "the 3 oldest", and `LIMIT 1`."""
    tree, text = inspection.tree, question.plain_text
    limit = tree.args.get("limit")
    if limit is None or not tree.args.get("order"):
        return []
    limits = {read_number(node.expression.name) for node in tree.find_all(exp.Limit)}
    asked = [
        number
        for number in list_numbers(text)
        if number.form != ORDINAL  # "the second highest" is one
        and (_TOP.search(text[: number.start]) or _EXTREME.match(text[number.end :]))
    ]
    if len(asked) != 1 or None in limits:
        return []
    number = asked[0].values[0]
    if number in limits or number != int(number) or len(asked[0].values) != 1:
        return []
    copy, (twin,) = copy_with(tree, [limit])
    twin.replace(make_limit(int(number)))
    evidence = {"kind": "limit", "sql": show_sql(limit), "asked": int(number)}
    return [Finding("literal_not_in_question", with_repair(evidence, to_sql(copy)))]


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
            for value in query.list_texts(*base, most=_MAX_COLUMN_VALUES, in_order=True)
            if len(value) >= _MIN_VALUE_LETTERS
            and value.lower() not in used
            and value.lower() not in text
            and has_phrase(question.text.lower(), value.lower())
            and not _names_schema(value, query)
        ]
        if len(named) == 1:
            tree, (right,) = copy_with(inspection.tree, [literal.comparison.right])
            right.replace(exp.Literal.string(named[0]))
            evidence = {"kind": "text", "sql": literal.comparison.text, "asked": named[0]}
            return [Finding("literal_not_in_question", with_repair(evidence, to_sql(tree)))]
    return []


def has_phrase(text: str, phrase: str) -> bool:
    """Whether a text has a phrase, as whole words."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def _names_schema(value: str, query: Query) -> bool:
    """Whether a value is a word for a table or a column, which a question names anyway."""
    tables = query.schema.tables
    names = [table.name for table in tables]
    names += [column.name for table in tables for column in table.columns]
    words = {word.removesuffix("s") for name in names for word in split_words(name)}
    return {word.removesuffix("s") for word in split_words(value)} <= words


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
        given = _list_other_numbers(question, inspection)
        if given or (is_bound and not _may_bound(comparison.left, question)):
            repair = _write_number(inspection, literal, given)
            evidence = with_repair({"sql": comparison.text}, repair)
            return [Finding("literal_not_in_question", evidence)]
    return []


def _list_other_numbers(question: Question, inspection: Inspection) -> list[Number]:
    """The numbers in digits of the question which the query has not."""
    used = {literal.number for literal in inspection.once(list_compared_literals)}
    given = [n for n in list_numbers(question.text) if n.form == DIGITS and n.is_alone]
    return [number for number in given if used.isdisjoint(number.values)]


def _write_number(
    inspection: Inspection, literal: ComparedLiteral, given: list[Number]
) -> str | None:
    """The query with the number of the question, if it gives just one that LIMIT does not have; of
    an equality, if a row has that number."""
    limits = {read_number(node.expression.name) for node in inspection.tree.find_all(exp.Limit)}
    values = {number.values[0] for number in given if limits.isdisjoint(number.values)}
    if len(values) != 1:
        return None
    number: exp.Expr = exp.Literal.number(values.pop())
    if literal.is_text:
        number = exp.Literal.string(number.name)
    if literal.comparison.operator in _EQUALITIES and not _is_held(inspection, literal, number):
        return None
    tree, (right,) = copy_with(inspection.tree, [literal.comparison.right])
    right.replace(number)
    return to_sql(tree)


def _is_held(inspection: Inspection, literal: ComparedLiteral, value: exp.Expr) -> bool:
    """Whether a row has a value in the column that a literal is compared with."""
    query = read_query(inspection)
    base = query.base_column(literal.comparison.left)
    if base is None:
        return False
    table, column = base
    return bool(query.ask(write_holds(table.name, column.name, to_sql(value))))


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
    mismatches: list[tuple[Comparative, list[Comparison]]] = []
    for value in dict.fromkeys(comparative.value for comparative in asked):
        said = [comparative for comparative in asked if comparative.value == value]
        taken = [comparison for comparison in comparisons if _holds_number(comparison, value)]
        if any(comparative.is_negated for comparative in said):
            # "not over 5" may be `<= 5`, or NOT around `> 5`, and is no `> 5`
            if not _is_affirmed(inspection, said, taken):
                continue
            mismatches.append((_deny(said[0]), taken))
            continue
        if any(comparison.node.find_ancestor(exp.Not, exp.Except) for comparison in taken):
            continue  # what the query denies is the opposite of what is asked for
        if any(question.explains(f"{c.operator} {c.right.name}") for c in taken):
            continue
        pairs = [(comparative, comparison) for comparative in said for comparison in taken]
        if pairs and not any(_is_as_asked(*pair) for pair in pairs):
            mismatches.append((said[0], taken))
    if not mismatches:
        return []
    first, taken = mismatches[0]
    evidence = {"asked": first.text, "sql": taken[0].text}
    repair = _write_operators(inspection, mismatches)
    return [Finding("comparison_mismatch", with_repair(evidence, repair))]


def _is_affirmed(inspection: Inspection, said: list[Comparative], taken: list[Comparison]) -> bool:
    """Whether a query compares as the words do that the question denies, and denies nothing."""
    if inspection.scopes.nodes.find_all(exp.Not, exp.Except, exp.NEQ):
        return False
    return bool(taken) and all(
        asked.is_negated
        and asked.way is not None
        and not _is_either_way(comparison)
        and _is_as_asked(asked, comparison)
        for asked in said
        for comparison in taken
    )


def _deny(asked: Comparative) -> Comparative:
    """The opposite of a comparison: "over 5" is denied by "at most 5"."""
    strict, loose = ("less than", "at most") if asked.way == ">" else ("more than", "at least")
    text = f"{loose if asked.is_strict else strict} {asked.value}"
    return asked._replace(text=text, is_strict=not asked.is_strict)


def _write_operators(
    inspection: Inspection, mismatches: list[tuple[Comparative, list[Comparison]]]
) -> str | None:
    """The query with the operators that are asked for; None if more and less of one range
    would change places: two ranges are likely meant."""
    twins = copy_nodes(inspection.tree)
    for asked, comparisons in mismatches:
        for comparison in comparisons:
            node = twins[id(comparison.node)]
            if isinstance(comparison.node, exp.Between):
                node = _open_range(node, twins, comparison)
            is_free = asked.way is None or _is_either_way(comparison)
            way = comparison.operator[0] if is_free else asked.way
            if isinstance(comparison.node, exp.Between) and way != comparison.operator[0]:
                return None
            operator = _OPERATORS[f"{way}{'' if asked.is_strict else '='}"]
            left, right = comparison.left.copy(), comparison.right.copy()
            node.replace(operator(this=left, expression=right))
    return to_sql(twins[id(inspection.tree)])


def _open_range(node: exp.Expr, twins: dict[int, exp.Expr], comparison: Comparison) -> exp.Expr:
    """`x BETWEEN 1 AND 3` -> `(x >= 1 AND x <= 3)`, once; return the side that a comparison is."""
    if isinstance(node, exp.Between):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        opened = exp.Paren(this=exp.And(this=low, expression=high))
        node.replace(opened)
        twins[id(comparison.node)] = node = opened
    side: exp.Expr = node.this.this if comparison.operator == ">=" else node.this.expression
    return side


def _is_as_asked(asked: Comparative, taken: Comparison) -> bool:
    """Whether a query takes a number in as asked, and not the other side of it; of ages, dates and
    ranks nobody can tell which side is more."""
    is_other_way = asked.way not in (None, taken.operator[0]) and not _is_either_way(taken)
    return asked.is_strict == ("=" not in taken.operator) and not is_other_way


def _is_either_way(taken: Comparison) -> bool:
    """Whether more of a column may be less of what it measures: of ages, dates and ranks."""
    return isinstance(taken.left, exp.Column) and read_measure(taken.left.name) is not None


def _holds_number(comparison: Comparison, value: float) -> bool:
    right = comparison.right
    return isinstance(right, exp.Literal | exp.Column) and read_number(right.name) == value


QUESTION_PROBES = (find_comparison_mismatch, find_literal_not_in_question)


DOUBTS = (
    Doubt("literal_not_in_column", find_in_query=find_literal_not_in_column),
    Doubt("comparison_mismatch", find_in_question=find_comparison_mismatch),
    Doubt("literal_not_in_question", find_in_question=find_literal_not_in_question),
)

"""contradictory_conditions: of two conditions on one column no row meets both, or all meet one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.english import measures
from answerkey.english.measures import (
    Comparative,
    find_average_comparatives,
    find_comparatives,
    find_plain_comparatives,
    find_quantified_comparatives,
    read_number,
)
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import (
    EQUALITIES,
    PATTERNS,
    RANGES,
    Comparison,
    Reading,
    quote_text,
    read_query,
)
from answerkey.probes.conditions import find_named_sibling
from answerkey.probes.order import read_expression
from answerkey.records import Finding
from answerkey.sql.query_rewrites import show_sql, to_sql
from answerkey.sqlite.schema import quote_name

# mixed_connectives: AND and OR stand side by side, and no parentheses say which comes first.


def find_mixed_connectives(inspection: Inspection) -> list[Finding]:
    """A finding for `a = 1 AND b = 2 OR c = 3`: AND binds more closely than OR, so that `c = 3`
    is enough. BETWEEN ... AND is no such AND."""
    for node in inspection.scopes.nodes.find_all(exp.Or):
        if isinstance(node.this, exp.And) or isinstance(node.expression, exp.And):
            return [Finding("mixed_connectives", {"condition": show_sql(node)})]
    return []


# vacuous_condition: a literal that is not in its column, a bound that every row meets or none.
#
# A query that leaves such a condition out, or has another literal in it, gets the same answer.


_CONDITIONS_SHOWN = 3
_NOT_A_ROW_EXPRESSION = (exp.AggFunc, exp.Query, exp.Window)


class _Subject(NamedTuple):
    """What is compared: SQL for it, the table that it is asked of, and whether the query reads the
    rows of that table as they are."""

    sql: str
    table: str
    from_sql: str
    is_column: bool
    has_all_rows: bool


def find_vacuous_condition(inspection: Inspection) -> list[Finding]:
    """A finding where a condition decides nothing: `name = 'Noone'` where nobody is called so.

    Each condition of the evidence has one of these effects:
    absent: `value` does not occur in the column; `near` says what differs only in case or space;
    no_row, every_row: no row of the table meets the condition, or every one does;
    null: a comparison with NULL, which never holds;
    itself: a column is compared with itself.
    A table without a row says nothing about a condition.
    """
    reading = read_query(inspection)
    conditions: list[dict[str, Any]] = []
    judged: set[int] = set()  # the two comparisons of a BETWEEN are one condition
    for comparison in reading.comparisons:
        is_between = isinstance(comparison.node, exp.Between)
        if is_between and id(comparison.node) in judged:
            continue
        judged.add(id(comparison.node))
        found = _judge(comparison, reading)
        if found is not None:
            conditions.append({"condition": comparison.text} | found)
    if not conditions:
        return []
    return [Finding("vacuous_condition", {"conditions": conditions[:_CONDITIONS_SHOWN]})]


def _judge(comparison: Comparison, reading: Reading) -> dict[str, Any] | None:
    node, operator = comparison.node, comparison.operator
    if isinstance(comparison.right, exp.Null):
        if operator not in ("IS", "IS NOT"):
            return {"effect": "null"}
        if operator == "IS NOT" or isinstance(node.parent, exp.Not):
            return None  # written to be safe, as a rule
    elif _is_same_column(comparison, reading):
        return {"effect": "itself"}
    elif isinstance(comparison.right, exp.Boolean) or not reading.is_literal(comparison.right):
        return None
    subject = _find_subject(comparison.left, reading)
    if subject is None or not reading.values.has_row(subject.table):
        return None
    if isinstance(comparison.right, exp.Null):
        if not subject.has_all_rows:  # an outer join makes NULLs that the table does not hold
            return None
        return _find_extent(f"{subject.sql} IS NULL", subject, reading, may_be_every=False)
    literal = reading.literal_sql(comparison.right)
    if isinstance(node, exp.Between):
        bounds = [node.args["low"].unnest(), node.args["high"].unnest()]
        if not all(map(reading.is_literal, bounds)) or node.this.unnest() is not comparison.left:
            return None
        low, high = map(reading.literal_sql, bounds)
        return _find_extent(f"{subject.sql} BETWEEN {low} AND {high}", subject, reading)
    if operator in RANGES:
        return _find_extent(f"{subject.sql} {operator} {literal}", subject, reading)
    if operator in PATTERNS:
        if isinstance(node.parent, exp.Escape):
            literal += f" ESCAPE {reading.literal_sql(node.parent.expression)}"
        return _find_extent(f"{subject.sql} {operator} {literal}", subject, reading)
    return _find_absent(comparison, subject, literal, reading)


def _find_subject(expression: exp.Expression, reading: Reading) -> _Subject | None:
    """A column, or what is computed from columns of one table and nothing else."""
    base = reading.base_column(expression)
    if base is not None:
        found = reading.resolve(expression)
        has_all_rows = found.is_direct and not _has_outer_join(found.scope.select)
        table = base[0].name
        return _Subject(quote_name(base[1].name), table, quote_name(table), True, has_all_rows)
    columns = list(expression.find_all(exp.Column))
    if not columns or expression.find(*_NOT_A_ROW_EXPRESSION) is not None:
        return None
    found = None
    for column in columns:
        resolution = reading.resolve(column)
        if resolution is None:
            if reading.is_string(column):
                continue
            return None
        if not resolution.is_direct or resolution.column is None:
            return None
        if found is not None and resolution.source is not found.source:
            return None
        found = resolution
    if found is None:
        return None
    table = found.table.name
    from_sql = f"{quote_name(table)} AS {quote_name(found.source.name)}"
    has_all_rows = not _has_outer_join(found.scope.select)
    return _Subject(f"({to_sql(expression)})", table, from_sql, False, has_all_rows)


def _find_extent(
    condition: str, subject: _Subject, reading: Reading, *, may_be_every: bool = True
) -> dict[str, Any] | None:
    counts = reading.values.ask(
        f"SELECT count(*), count(CASE WHEN {condition} THEN 1 END) FROM {subject.from_sql}"
    )
    if counts is None:
        return None
    rows, met = counts[0]
    if met == 0:
        return {"effect": "no_row", "rows": rows}
    if met == rows and may_be_every and subject.has_all_rows:
        return {"effect": "every_row", "rows": rows}
    return None


def _find_absent(
    comparison: Comparison, subject: _Subject, literal: str, reading: Reading
) -> dict[str, Any] | None:
    found = reading.values.ask(
        f"SELECT 1 FROM {subject.from_sql} WHERE {subject.sql} = {literal} LIMIT 1"
    )
    if found is None or found:
        return None
    near: list[object] = []
    if reading.is_string(comparison.right) and subject.is_column:
        folded = quote_text(comparison.right.name.replace(" ", ""))
        near = reading.values.ask_column(
            f"SELECT DISTINCT {subject.sql} FROM {subject.from_sql}"
            f" WHERE lower(replace({subject.sql}, ' ', '')) = lower({folded}) ORDER BY 1 LIMIT 3"
        )
    value = comparison.right.name if reading.is_string(comparison.right) else literal
    return {"effect": "absent", "value": value[:200], "near": near}


def _is_same_column(comparison: Comparison, reading: Reading) -> bool:
    left, right = reading.resolve(comparison.left), reading.resolve(comparison.right)
    if left is None or right is None or left.source is None or left.column is None:
        return False
    return left.source is right.source and left.column is right.column


def _has_outer_join(select: exp.Select) -> bool:
    return any(join.side for join in select.args.get("joins") or ())


# comparison_mismatch: the question compares otherwise than the query does.
#
# "Ports with at least 3 berths" ... WHERE berths > 3 -> a finding.


_KINDS = ("bound", "equal", "opposite")  # where comparisons differ, the least that is wrong
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def find_comparison_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the query compares a number, the average or several things otherwise than
    asked.

    The evidence has `kind`: opposite (less for more), bound (at least for more than), equal (= for
    a range), quantifier (more than some for more than all), column (another column is compared than
    the one that is named).
    """
    found = next(_find_mismatches(inspection, question), None)
    return [Finding("comparison_mismatch", found)] if found else []


def _find_mismatches(inspection: Inspection, question: Question) -> Iterator[dict[str, Any]]:
    comparisons = read_query(inspection).comparisons
    asked = find_comparatives(question)
    for value in dict.fromkeys(one.value for one in asked):
        here = [one for one in asked if one.value == value]
        there = [one for one in comparisons if _holds_number(one, value)]
        yield from _compare(here, there, inspection, question)
    averages = find_average_comparatives(question)
    there = [one for one in comparisons if _holds_average(one)]
    yield from _compare(averages, there, inspection, question)
    yield from _compare_quantifiers(comparisons, question)
    plain = find_plain_comparatives(question)
    there = [one for one in comparisons if one.operator in RANGES]
    is_single = len(plain) == len(there) == 1 and isinstance(there[0].right, exp.Select)
    if is_single and _judge_comparison_mismatch(plain[0], there[0], inspection) == "opposite":
        yield from _compare(plain, there, inspection, question)
    for one in comparisons:
        sibling = None
        if one.operator in RANGES:
            sibling = find_named_sibling(one.left, inspection, question)
        if sibling is not None:
            yield {"kind": "column", "asked": sibling, "sql": one.text}


def _compare(
    asked: list[Comparative],
    comparisons: list[Comparison],
    inspection: Inspection,
    question: Question,
) -> Iterator[dict[str, Any]]:
    """A mismatch where none of the comparisons is as any of what is asked of the same number."""
    if any(one.is_negated for one in asked) or any(_is_denied(one.node) for one in comparisons):
        return
    kinds = [
        _judge_comparison_mismatch(one, other, inspection) for one in asked for other in comparisons
    ]
    if kinds and all(kinds) and not _explains(question.evidence, comparisons):
        kind = next(kind for kind in _KINDS if kind in kinds)
        yield {"kind": kind, "asked": asked[0].text, "sql": comparisons[0].text}


def _explains(evidence: str | None, comparisons: list[Comparison]) -> bool:
    """Whether the evidence has a comparison as it stands in the query, such as `>= 3`."""
    text = (evidence or "").replace(" ", "")
    return any(one.operator + one.right.name in text for one in comparisons if one.right.name)


def _compare_quantifiers(
    comparisons: list[Comparison], question: Question
) -> Iterator[dict[str, Any]]:
    """More than all is more than the greatest, more than some is more than the least."""
    asked = find_quantified_comparatives(question)
    against = [one for one in comparisons if _is_of_extreme(one)]
    if len(asked) != 1 or len(against) != 1 or _is_denied(against[0].node):
        return
    (text, is_all), comparison = asked[0], against[0]
    is_greatest = isinstance(comparison.right.expressions[0].unalias(), exp.Max)
    if is_all != ((comparison.operator[0] == ">") == is_greatest):
        yield {"kind": "quantifier", "asked": text, "sql": comparison.text}


def _is_of_extreme(comparison: Comparison) -> bool:
    right = comparison.right
    if comparison.operator not in RANGES or not isinstance(right, exp.Select):
        return False
    return isinstance(right.expressions[0].unalias(), exp.Min | exp.Max)


def _judge_comparison_mismatch(
    asked: Comparative, comparison: Comparison, inspection: Inspection
) -> str | None:
    """What is wrong with a comparison; None where it is as asked, or where nobody can tell."""
    operator, wanted = comparison.operator, asked.operator
    if operator not in RANGES:
        is_equality = operator in EQUALITIES | PATTERNS and asked.value not in (0, 1)  # codes
        return "equal" if is_equality else None
    measure = read_expression(comparison.left, inspection)[1]
    if measure == measures.RANK:
        return None
    if asked.measure == measures.AGE and measure != measures.AGE:
        if measure != measures.DATE:
            return None
        wanted = _MIRRORED[wanted]
    if operator[0] != wanted[0]:
        return "opposite"
    return None if operator == wanted or _is_text(comparison) else "bound"


def _is_text(comparison: Comparison) -> bool:
    right = comparison.right
    return isinstance(right, exp.Literal | exp.Column) and read_number(right.name) is None


def _holds_number(comparison: Comparison, value: float | None) -> bool:
    right = comparison.right
    if not isinstance(right, exp.Literal | exp.Column):
        return False
    number = read_number(right.name)
    if number is not None:
        return number == value
    year, rest = right.name[:4], right.name[4:5]
    return read_number(year) == value and rest in ("-", "/")


def _holds_average(comparison: Comparison) -> bool:
    right = comparison.right
    return isinstance(right, exp.Select) and any(
        isinstance(output.unalias(), exp.Avg) for output in right.expressions
    )


def _is_denied(node: exp.Expression) -> bool:
    """Whether a condition stands below a NOT, or in what EXCEPT takes away."""
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.Not):
            return True
        if isinstance(parent, exp.Except) and node.arg_key == "expression":
            return True
        node = parent
    return False


PROBES = (
    find_mixed_connectives,
    find_vacuous_condition,
)
QUESTION_PROBES = (find_comparison_mismatch,)

"""The query takes the other end, or sorts the other way, than the question asks for.

"Which port has the fewest berths?"

Doubted: SELECT name FROM port ORDER BY berths DESC LIMIT 1
Sound:   SELECT name FROM port ORDER BY berths LIMIT 1

All superlatives of the question ask for the opposite of all ends that the query takes, by ORDER BY
with LIMIT, by min() or by max(). The youngest ship has the least age and the greatest year of
birth; the best rank is 1, or the greatest number, so that a rank says nothing. A question that says
"descending" is also doubted where the query sorts the other way.

There is no doubt where the evidence of the corpus names the column or says "highest is MIN(rank)".
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import with_repair
from answerkey.english.columns import is_named, split_name, split_words
from answerkey.english.measures import AGE, DATE, RANK, SIZE, read_measure
from answerkey.english.phrases import find_sort_direction
from answerkey.english.question import Question
from answerkey.english.superlatives import LEAST, MOST, Superlative, find_superlatives
from answerkey.order.inspection import Inspection
from answerkey.rewrites.superlatives import take_other_ends
from answerkey.rewrites.trees import write_change
from answerkey.sql.query_tree import show_sql, to_sql


class _Extreme(NamedTuple):
    """One place where a query takes an extreme.

    node: the term of ORDER BY, or the call. pole: LEAST or MOST.
    measure: what the column's name says of it (answerkey.english.measures).
    names: the columns in it, in small letters. is_plain: whether it is one column, and no total.
    """

    text: str
    node: exp.Expr
    pole: str
    measure: str | None
    names: tuple[str, ...]
    is_plain: bool


def find_direction_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the query takes the other end, or sorts the other way."""
    if (sort := _find_other_sort(inspection, question)) is not None:
        terms = inspection.tree.args["order"].expressions
        repair = write_change(inspection.scopes, take_other_ends(terms))
        return [Finding("direction_mismatch", with_repair(sort, repair))]
    extremes = inspection.once(_list_extremes)
    superlatives = find_superlatives(question) if extremes else []
    # of `max_speed`, "maximum" is a part of the name, and no end that is asked for
    spelt = {word for extreme in extremes for name in extreme.names for word in split_words(name)}
    pairs = [
        (asked, taken)
        for asked in superlatives if asked.text.split()[0] not in spelt
        for taken in extremes
    ]  # fmt: skip
    if not pairs or not all(_are_opposite(asked, taken) for asked, taken in pairs):
        return []
    asked, taken = pairs[0]
    ends = ("min(", "asc") if taken.pole == LEAST else ("max(", "desc")
    if question.explains(*ends, *taken.names):
        return []
    ends_taken = take_other_ends([extreme.node for extreme in extremes])
    repair = write_change(inspection.scopes, ends_taken)
    evidence = with_repair({"asked": asked.text, "sql": taken.text}, repair)
    return [Finding("direction_mismatch", evidence)]


def _find_other_sort(inspection: Inspection, question: Question) -> dict[str, str] | None:
    """The direction that is asked for, and ORDER BY, if all its terms sort the other way."""
    order = inspection.tree.args.get("order")
    if order is None or inspection.tree.args.get("limit") is not None:
        return None
    asked = find_sort_direction(question)
    is_asked = {
        bool(term.args.get("desc")) is (asked == "descending") for term in order.expressions
    }
    if asked is None or is_asked != {False}:
        return None
    return {"asked": asked, "sql": show_sql(order)}


def _list_extremes(inspection: Inspection) -> list[_Extreme]:
    """The first terms of ORDER BY ... LIMIT, and each min and max outside of ORDER BY."""
    extremes = []
    for order in inspection.scopes.nodes.find_all(exp.Order):
        query, term = order.parent, order.expressions[0]
        if isinstance(query, exp.Query) and query.args.get("limit") is not None:
            pole = MOST if term.args.get("desc") else LEAST
            extremes.append(_read_extreme(f"ORDER BY {to_sql(term)}", term, pole, inspection))
    for node in inspection.scopes.nodes.find_all(exp.Min, exp.Max):
        if not node.expressions and node.find_ancestor(exp.Order) is None:
            pole = LEAST if isinstance(node, exp.Min) else MOST
            extremes.append(_read_extreme(to_sql(node), node, pole, inspection))
    return extremes


def _read_extreme(text: str, node: exp.Expr, pole: str, inspection: Inspection) -> _Extreme:
    """An extreme of an expression, which measures something if it is one column, alone or
    in an aggregate other than count."""
    expression = node.this
    columns = list(expression.find_all(exp.Column))
    names = tuple(column.name.lower() for column in columns)
    resolution = inspection.scopes.resolve(columns[0]) if len(columns) == 1 else None
    measure = None
    if resolution is not None and resolution.column is not None:
        names = (resolution.column.name.lower(),)
        if expression.find(exp.Count, exp.Binary) is None:
            measure = read_measure(resolution.column.name, resolution.column.type)
    return _Extreme(text, node, pole, measure, names, isinstance(expression.unnest(), exp.Column))


def _are_opposite(asked: Superlative, taken: _Extreme) -> bool:
    """Whether a query takes the other end than asked; False if that is unknown.

    The "most economical" car uses least: what `most` is said of must be the column, or a total.
    """
    is_date = taken.measure == DATE
    if taken.measure == RANK or (asked.measure == DATE and not is_date):
        return False  # the highest rank is 1, or the greatest number
    if asked.words and taken.is_plain:
        own = [word for name in taken.names for word in split_name(name)]
        if not is_named(own, asked.words):
            return False
    if asked.measure == SIZE:
        return not is_date and asked.pole != taken.pole
    if asked.measure == AGE and taken.measure != AGE:
        return is_date and asked.pole == taken.pole
    return asked.pole != taken.pole


DOUBT = Doubt("direction_mismatch", find_in_question=find_direction_mismatch)

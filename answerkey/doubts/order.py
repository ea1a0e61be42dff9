"""Probes of ORDER BY and LIMIT: rows that tie, and an end or an order that nobody asked for."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import with_repair
from answerkey.english.columns import is_named, split_name, split_words
from answerkey.english.measures import (
    AGE,
    DATE,
    LEAST,
    MOST,
    RANK,
    SIZE,
    Superlative,
    find_superlatives,
    read_measure,
)
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection, execute_on_copy
from answerkey.order.row_order import is_order_certain, list_cuts
from answerkey.order.ties import show_rows, typed_row
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import copy_with, show_sql, to_sql
from answerkey.sqlite.guard import Row

_DOWN = word_set("descending decreasing descendingly desc reverse reversed")
_UP = word_set("ascending increasing ascendingly asc alphabetical alphabetically alphabetic")
_OF_AGE = word_set("age ages old oldest young youngest seniority")  # dates of birth are mirrored


def find_row_order_dependent(inspection: Inspection) -> list[Finding]:
    """Return a finding if a copy of the database with the same rows gives another answer, as for
    `SELECT group_concat(name) FROM ship`: 'Sun,Tern' or 'Tern,Sun'.

    The sequence of rows counts if ORDER BY leaves none open. `evidence.differs_in`: "sequence" if
    only the order of rows differs, else "rows", with those of which each side has more.
    """
    here, there = inspection.rows, inspection.once(_find_other_answer)
    if there is None:
        return []
    differs_in = "sequence"
    if not inspection.matches(inspection.rows, there, ordered=False):
        differs_in, here, there = "rows", _subtract(here, there), _subtract(there, here)
    evidence = {"answer": show_rows(here), "other_answer": show_rows(there)}
    return [Finding("row_order_dependent", {"differs_in": differs_in} | evidence)]


def _subtract(rows: list[Row], others: list[Row]) -> list[Row]:
    more = Counter(map(typed_row, rows)) - Counter(map(typed_row, others))
    return [row for row in rows if typed_row(row) in more]


def find_bare_column(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column is neither aggregated nor determined by GROUP BY, and the copy
    gives another answer: `SELECT name, count(*) FROM ship`.

    SQLite's rules (the manual's page on SELECT, section 2.5): with exactly one min() or max() the
    values come from a row that has the extreme; otherwise from an arbitrary row.
    """
    if inspection.once(_find_other_answer) is None:
        return []
    for select in inspection.scopes.nodes.find_all(exp.Select):
        grouping = read_grouping(select, inspection.scopes)
        if grouping is not None and grouping.bare:
            keys = [show_sql(key) for key in grouping.keys]
            evidence = {"column": show_sql(grouping.bare[0]), "group_by": keys}
            return [Finding("bare_column", evidence)]
    return []


def _find_other_answer(inspection: Inspection) -> list[Row] | None:
    execution = inspection.once(execute_on_copy)
    if execution is None:
        return None
    _, rows = execution
    is_same = inspection.matches(inspection.rows, rows, ordered=is_order_certain(inspection))
    return None if is_same else rows


def find_limit_without_order(inspection: Inspection) -> list[Finding]:
    """Return a finding for `LIMIT 1` without ORDER BY, and for `= (SELECT ship_id FROM visit)` over
    several visits: of the query itself, and of each subquery whose cut changes the answer."""
    return [cut for cut in list_cuts(inspection) if cut.code == "limit_without_order"]


def find_tie_at_limit(inspection: Inspection) -> list[Finding]:
    """Return a finding for `ORDER BY weight LIMIT 1` over two ships of the least weight: of the
    query itself, and of each subquery whose cut changes the answer."""
    return [cut for cut in list_cuts(inspection) if cut.code == "tie_at_limit"]


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
    """Return a finding if all superlatives of the question ask for the opposite of all ends that
    the query takes, by ORDER BY ... LIMIT, min or max; or if the question says `descending`, and
    the query sorts the other way.

    What the evidence of the corpus says of the column, or of this end, is right.
    """
    if (sort := _find_other_sort(inspection, question)) is not None:
        repair = _write_other_ends(inspection, inspection.tree.args["order"].expressions)
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
    repair = _write_other_ends(inspection, [extreme.node for extreme in extremes])
    evidence = with_repair({"asked": asked.text, "sql": taken.text}, repair)
    return [Finding("direction_mismatch", evidence)]


def _write_other_ends(inspection: Inspection, nodes: list[exp.Expr]) -> str:
    """The query with the other end of each term of ORDER BY, min and max; NULL is no end."""
    tree, twins = copy_with(inspection.tree, nodes)
    for twin in twins:
        if isinstance(twin, exp.Ordered):
            twin.set("desc", not twin.args.get("desc"))
            twin.set("nulls_first", False)
        else:
            other = exp.Max if isinstance(twin, exp.Min) else exp.Min
            twin.replace(other(this=twin.this.copy()))
    return to_sql(tree)


def _find_other_sort(inspection: Inspection, question: Question) -> dict[str, str] | None:
    order = inspection.tree.args.get("order")
    asked = {word.text for word in question.plain_words}
    if order is None or inspection.tree.args.get("limit") is not None or asked & _OF_AGE:
        return None
    is_down, is_up = bool(asked & _DOWN), bool(asked & _UP)
    is_other = all(bool(term.args.get("desc")) is is_up for term in order.expressions)
    if is_down is is_up or not is_other:
        return None
    return {"asked": "descending" if is_down else "ascending", "sql": show_sql(order)}


def _list_extremes(inspection: Inspection) -> list[_Extreme]:
    """The first terms of ORDER BY ... LIMIT, and each min and max that stands in no ORDER BY."""
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
    """An extreme of an expression, which measures something if it is one column, as it stands or
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
    """Whether a query takes the other end than asked; False if nobody can tell.

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


QUESTION_PROBES = (find_direction_mismatch,)


DOUBTS = (
    Doubt("bare_column", find_in_query=find_bare_column),
    Doubt("limit_without_order", find_in_query=find_limit_without_order),
    Doubt("row_order_dependent", find_in_query=find_row_order_dependent),
    Doubt("tie_at_limit", find_in_query=find_tie_at_limit),
    Doubt("direction_mismatch", find_in_question=find_direction_mismatch),
)

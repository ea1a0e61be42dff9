"""Probes of ORDER BY and LIMIT: rows that tie, and an end or an order that nobody asked for."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from sqlglot import exp

from answerkey.alternatives.trees import add_condition
from answerkey.base.records import Finding
from answerkey.english.columns import is_named, split_name, split_words, stem_name
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
from answerkey.probes.query import Query, read_query, with_repair, write_rows
from answerkey.sql.conditions import list_conditions
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import copy_with, show_sql, to_sql, write_with
from answerkey.sql.scopes import DirectColumn, Source
from answerkey.sqlite.guard import Row
from answerkey.sqlite.schema import Column, fold_name, quote_name

_DOWN = word_set("descending decreasing descendingly desc reverse reversed")
_UP = word_set("ascending increasing ascendingly asc alphabetical alphabetically alphabetic")
_OF_AGE = word_set("age ages old oldest young youngest seniority")  # dates of birth are mirrored


def _find_sort_key(select: exp.Select, query: Query) -> exp.Expr | None:
    """The first key by which ORDER BY ... LIMIT sorts rows; None for groups, of whose values no
    column says how often they are equal."""
    order = select.args.get("order")
    if order is None or select.args.get("limit") is None:
        return None
    if select.args.get("group") is not None or query.is_one_row(select):
        return None
    key: exp.Expr = order.expressions[0].this.unnest()
    return key


def find_limit_on_joined_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if rows are sorted by a column of one table, and cut by LIMIT, and a join
    repeats the rows of that table: its key stands several times in the column it is joined with.

    `FROM storm JOIN region ... ORDER BY storm.deaths DESC LIMIT 1` is one region of the worst
    storm, which may have several. Kinds: `one` for LIMIT 1 if no column of the sorted table is
    returned; `several` for more.
    """
    query = read_query(inspection)
    for select in query.scopes.nodes.find_all(exp.Select):
        key = _find_sort_key(select, query)
        sorted_by = query.scopes.find_direct(key) if key is not None else None
        if sorted_by is None or select.args.get("distinct") is not None:
            continue
        is_one = select.args["limit"].expression.name == "1"
        if is_one and _returns_any(select, sorted_by.source, query):
            continue  # the thing itself is shown, and is the same in each of its rows
        repeating = _find_repeating(select, sorted_by, query)
        if repeating is not None:
            thing, repeated_in = repeating
            evidence = {
                "kind": "one" if is_one else "several",
                "sql": show_sql(select.args["order"]),
                "repeated_in": repeated_in,
            }
            repair = _write_cut_things(inspection, select, sorted_by.beside(thing))
            return [Finding("limit_on_joined_rows", with_repair(evidence, repair))]
    return []


def _write_cut_things(inspection: Inspection, select: exp.Select, key: DirectColumn) -> str:
    """The query with as many things as LIMIT says, and all their rows: `WHERE storm.id IN (SELECT
    storm.id FROM ... GROUP BY storm.id ORDER BY storm.dead DESC LIMIT 1)`."""
    tree, (twin,) = copy_with(inspection.tree, [select])
    things = twin.copy()
    things.set("expressions", [key.write()])
    things.set("group", exp.Group(expressions=[key.write()]))
    among = exp.In(this=key.write(), query=exp.Subquery(this=things))
    twin.set("where", add_condition(twin, "where", among))
    is_row = not select.args.get("group") and select.expressions[0].find(exp.AggFunc) is not None
    for name in ("limit", "offset", *(["order"] if is_row else [])):
        twin.set(name, None)
    return to_sql(tree)


def _returns_any(select: exp.Select, source: Source, query: Query) -> bool:
    if any(expression.is_star for expression in select.expressions):
        return True
    columns = (c for expression in select.expressions for c in expression.find_all(exp.Column))
    resolved = map(query.resolve, columns)
    return any(resolution is not None and resolution.source is source for resolution in resolved)


def _find_repeating(
    select: exp.Select, sorted_by: DirectColumn, query: Query
) -> tuple[Column, list[str]] | None:
    """A key of the sorted table, and the column of another table that holds it several times."""
    keys = {tuple(map(fold_name, key)) for key in sorted_by.table.unique_keys}
    for pair in query.list_equalities(select):
        for (own, key), (other, name) in (pair, pair[::-1]):
            column = other.table.find_column(name) if other.table is not None else None
            own_column = sorted_by.table.find_column(key)
            is_key = own is sorted_by.source and (key,) in keys
            if is_key and own_column and other.table and column:
                table, quoted = quote_name(other.table.name), quote_name(column.name)
                repeats = query.ask(
                    f"SELECT 1 FROM {table} WHERE {quoted} IS NOT NULL"
                    f" GROUP BY {quoted} HAVING count(*) > 1 LIMIT 1"
                )
                if repeats:
                    return own_column, [other.table.name, column.name]
    return None


def find_order_without_effect(inspection: Inspection) -> list[Finding]:
    """Return a finding if a SELECT that aggregates without GROUP BY is sorted or cut.

    `SELECT avg(weight) FROM ship ORDER BY year DESC LIMIT 1` is the average of all ships: LIMIT
    counts the rows of the answer, not those that are averaged. `SELECT max(weight) FROM ship
    LIMIT 1` is right as it stands: no finding without ORDER BY, or LIMIT above 1.
    """
    query = read_query(inspection)
    for select in query.scopes.nodes.find_all(exp.Select):
        order, limit = select.args.get("order"), select.args.get("limit")
        if order is None and (limit is None or limit.expression.name == "1"):
            continue
        if query.is_one_row(select):
            parts = [show_sql(part) for part in (order, limit) if part is not None]
            kind = "order" if order is not None else "limit"
            repair = _write_cut_inside(inspection, query, select)
            evidence = with_repair({"kind": kind, "without_effect": parts}, repair)
            return [Finding("order_without_effect", evidence)]
    return []


def _write_cut_inside(inspection: Inspection, query: Query, select: exp.Select) -> str | None:
    """The query with the rows sorted and cut before they are aggregated: `SELECT avg(weight) FROM
    (SELECT weight FROM ship ORDER BY year DESC LIMIT 1)`. Where another table is sorted than is
    aggregated, LIMIT is for its things: `WHERE port.id IN (SELECT id FROM port ORDER BY berths
    LIMIT 1)`."""
    if any(not select.args.get(name) for name in ("order", "limit")):
        return None
    order = select.args["order"]
    if order.find(exp.AggFunc) or select.args.get("having") is not None:
        return None
    if any(column.find(exp.Query) for column in select.expressions):
        return None
    calls = [call for column in select.expressions for call in column.find_all(exp.AggFunc)]
    taken = {
        c.source for call in calls for c in query.scopes.find_all_direct(call.find_all(exp.Column))
    }
    sorted_by = query.scopes.find_direct(order.expressions[0].this)
    if sorted_by is not None and taken and sorted_by.source not in taken:
        for pair in query.list_equalities(select):
            for source, name in pair:
                thing = sorted_by.table.find_column(name)
                if query.key_of(sorted_by.source) == (source, name) and thing is not None:
                    return _write_cut_things(inspection, select, sorted_by.beside(thing))
        return None
    tree, (twin,) = copy_with(inspection.tree, [select])
    outer = exp.Select(expressions=[column.copy() for column in twin.expressions])
    shown: dict[str, exp.Expr] = {}
    for column in list(outer.find_all(exp.Column)):
        text = to_sql(column)
        name = f"c{len(shown)}"
        name = shown.setdefault(text, exp.alias_(column.copy(), name)).alias
        column.replace(exp.column(name))
    rows = [*shown.values()] or [exp.alias_(exp.Literal.number(1), "c")]
    twin.set("expressions", rows)
    within = exp.Subquery(this=twin.copy(), alias=exp.TableAlias(this=exp.to_identifier("cut")))
    outer.set("from_", exp.From(this=within))
    if twin is tree:
        return to_sql(outer)
    twin.replace(outer)
    return to_sql(tree)


def find_extreme_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a query takes the first of rows sorted by a column of a thing that the
    question names, and its inner joins have no row of the thing that is first: "the verdict on the
    heaviest ship" by `verdict JOIN ship ... ORDER BY ship.weight DESC LIMIT 1`, where nobody
    judged the heaviest.

    A condition on another table may say among which: no finding. Kinds: `row`, whose repair answers
    for the thing that is first, or not at all; `grouped`.
    """
    query = read_query(inspection)
    select = query.select
    if select is None or select.args.get("order") is None or not select.args.get("joins"):
        return []
    limit = select.args.get("limit")
    is_outer = any(join.side or join.method for join in select.args["joins"])
    if limit is None or limit.expression.name != "1" or select.args.get("offset") or is_outer:
        return []
    term = select.args["order"].expressions[0]
    column = query.scopes.find_direct(term.this)
    if column is None or select.args.get("having") is not None:
        return []
    if all((word.stem,) != stem_name(column.table.name)[-1:] for word in question.words):
        return []
    own: list[exp.Expr] = []
    joins: list[exp.Expr] = []
    for condition in list_conditions(select, query.scopes):
        sources = query.list_sources(condition)
        (own if sources == {column.source} else joins).append(condition)
        if len(sources) < 2 and sources != {column.source}:
            return []
    extreme = "max" if term.args.get("desc") else "min"
    value = f"{extreme}({to_sql(column.write())})"
    where = f" WHERE {' AND '.join(f'({to_sql(test)})' for test in own)}" if own else ""
    table, name = quote_name(column.table.name), quote_name(column.source.name)
    of_all = f"SELECT {value} FROM {table} AS {name}{where}"
    taken = query.ask(write_rows(select, exp.maybe_parse(value, dialect="sqlite")))
    first = query.ask(of_all)
    if not joins or not taken or not first or taken == first or taken[0][0] is None:
        return []
    is_grouped = select.args.get("group") is not None
    evidence = {
        "kind": "grouped" if is_grouped else "row",
        "sql": show_sql(select.args["order"]),
        "first": first[0][0],
        "taken": taken[0][0],
    }
    test: exp.Expr = exp.maybe_parse(f"{to_sql(column.write())} = ({of_all})", dialect="sqlite")
    repair = write_with(select, where=add_condition(select, "where", test))
    return [Finding("extreme_dropped", with_repair(evidence, None if is_grouped else repair))]


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


PROBES = (
    find_bare_column,
    find_limit_on_joined_rows,
    find_limit_without_order,
    find_order_without_effect,
    find_row_order_dependent,
    find_tie_at_limit,
)
QUESTION_PROBES = (find_direction_mismatch, find_extreme_dropped)

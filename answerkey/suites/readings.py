"""Readings: other queries that a question may as well mean as its gold query.

Where one of them gives another answer than the gold, a prediction that follows it is not wrong. A
database that tells them apart is not used for the question. Each rule has its reason. No rule
weakens what a question says: > and >= are never readings of each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from answerkey.sql.conditions import (
    COMPARISONS,
    join_parts,
    list_equalities,
    list_parts,
    read_text,
)
from answerkey.sql.keys import find_one_key, is_key, is_nullable, is_number, list_key
from answerkey.sql.query_tree import make_limit, read_integer, to_sql
from answerkey.sql.scopes import (
    DirectColumn,
    Scopes,
    Source,
    inline_aliases,
    list_columns,
    write_column,
)
from answerkey.sqlite.guard import Row
from answerkey.sqlite.schema import Schema, Table, affinity, fold_name, quote_name
from answerkey.suites.trees import (
    Change,
    Steps,
    add_condition,
    changed,
    has_unique_rows,
    is_within,
    list_shown,
    replaced,
    without,
    write_changes,
)

_MAX_STEPS = 200_000
_MAX_STEPS_OF_VALUES = 500_000
MAX_READINGS_PER_RULE = 8

FindRows = Callable[..., list[Row] | None]  # the rows of a query on the question's database
_EXTREMES = (exp.Max, exp.Min)


def _read_superlatives(scopes: Scopes, question_text: str) -> Steps:
    """all_ties in place of ORDER BY ... LIMIT 1, or of an extreme that picks the row of a column
    beside it, also in a subquery; one_row in place of all rows that have an extreme value.

    Reason: "the youngest singer" says which age counts, and not how many singers may have it.
    """
    for subquery in list(scopes.nodes.find_all(exp.Subquery)):
        yield from _take_inner_ties(subquery, scopes)
    select = scopes.tree
    if not isinstance(select, exp.Select) or select.args.get("with_") is not None:
        return
    if select.args.get("limit") is not None:
        yield from _take_ties(select, scopes)
    elif select.args.get("from_") is not None and select.args.get("group") is None:
        yield from _take_rows_of_extreme(select)
        yield from _take_one(select)


def _take_ties(select: exp.Select, scopes: Scopes) -> Steps:
    order, rows = select.args.get("order"), select.args["limit"].expression
    is_first = read_integer(rows) == 1 and select.args.get("offset") is None
    if order is None or len(order.expressions) != 1 or not is_first:
        return
    key = inline_aliases(order.expressions[0].this, scopes).unnest()
    if read_integer(key) is not None:
        return
    extreme = exp.Max if order.expressions[0].args.get("desc") else exp.Min
    is_grouped, clause = select.args.get("group") is not None, "where"
    if is_grouped != (key.find(exp.AggFunc) is not None):
        return
    if is_grouped:
        values = _copy_part(select, [exp.alias_(key.copy(), "n")], is_grouped=True)
        best = exp.Select(
            expressions=[extreme(this=exp.column("n"))],
            from_=exp.From(this=exp.Subquery(this=values)),
        )
        condition, clause = exp.EQ(this=key, expression=exp.Subquery(this=best)), "having"
    else:
        condition = _is_extreme(key, extreme, select)
    changes = {clause: add_condition(select, clause, condition)}
    with changed(select, **changes, order=None, limit=None):
        yield "all_ties"


def _take_inner_ties(subquery: exp.Subquery, scopes: Scopes) -> Steps:
    select, user = subquery.this, subquery.parent
    if not isinstance(user, exp.EQ) or user.expression is not subquery:
        return
    if isinstance(select, exp.Select) and select.args.get("limit") is not None:
        for _ in _take_ties(select, scopes):
            other = exp.In(this=user.this.copy(), query=subquery.copy())
            with replaced(user, other):
                yield "all_ties"


def _take_rows_of_extreme(select: exp.Select) -> Steps:
    shown = list_shown(select)
    found = [column for column in shown if isinstance(column, _EXTREMES)]
    others = [column for column in shown if not isinstance(column, _EXTREMES)]
    if len(found) != 1 or not others or any(column.find(exp.AggFunc) for column in others):
        return
    value = found[0].this
    condition = _is_extreme(value, type(found[0]), select)
    columns = [value.copy() if column is found[0] else column.copy() for column in shown]
    with changed(select, expressions=columns, where=add_condition(select, "where", condition)):
        yield "all_ties"


def _take_one(select: exp.Select) -> Steps:
    where = select.args.get("where")
    if where is None or any(isinstance(one.unnest(), exp.AggFunc) for one in list_shown(select)):
        return
    for part in list_parts(where.this, exp.And):
        condition = part.unnest()
        query = condition.expression.unnest() if isinstance(condition, exp.EQ) else None
        if not isinstance(query, exp.Select) or len(query.expressions) != 1:
            continue
        if isinstance(query.expressions[0].unalias(), _EXTREMES) and not query.args.get("group"):
            with changed(select, limit=make_limit(1)):
                yield "one_row"
            return


def _is_extreme(value: exp.Expr, extreme: type[exp.Expr], select: exp.Select) -> exp.EQ:
    best = _copy_part(select, [extreme(this=value.copy())], is_grouped=False)
    return exp.EQ(this=value.copy(), expression=exp.Subquery(this=best))


def _copy_part(select: exp.Select, columns: list[exp.Expr], *, is_grouped: bool) -> exp.Select:
    names = ("from_", "joins", "where", *(("group", "having") if is_grouped else ()))
    copy = select.copy()
    return exp.Select(expressions=columns, **{name: copy.args.get(name) for name in names})


def _read_nulls(scopes: Scopes, question_text: str) -> Steps:
    """without_null of columns in GROUP BY, and of those that INTERSECT or EXCEPT show;
    counted_names and counted_rows, where things are counted by their rows or by their names.

    Reason: "which cities have two employees" asks for cities, and NULL is none.
    """
    for group in scopes.nodes.find_all(exp.Group):
        if isinstance(group.parent, exp.Select):
            yield from _leave_out(group.parent, group.expressions, scopes)
    for node in scopes.nodes.find_all(exp.Intersect, exp.Except):
        if isinstance(node.this, exp.Select) and node.this.args.get("group") is None:
            yield from _leave_out(node.this, list_shown(node.this), scopes)
    for count in scopes.nodes.find_all(exp.Count):
        yield from _count_otherwise(count, scopes)


def _leave_out(select: exp.Expr, columns: list[exp.Expr], scopes: Scopes) -> Steps:
    nullable = [column for column in columns if _is_nullable(column, scopes)]
    if nullable:
        tests = [column.copy().is_(exp.null()).not_() for column in nullable]
        with changed(select, where=add_condition(select, "where", exp.and_(*tests))):
            yield "without_null"


def _count_otherwise(count: exp.Count, scopes: Scopes) -> Steps:
    if not isinstance(count.this, exp.Star):
        counted = scopes.find_direct(count.this)
        if counted is not None and scopes.is_label(counted) and is_nullable(counted.column):
            with changed(count, this=exp.Star()):
                yield "counted_rows"
        return
    select = count.parent_select
    for column in list_columns(scopes.scope_of(select)) if isinstance(select, exp.Select) else ():
        if is_nullable(column.column) and scopes.is_label(column):
            with changed(count, this=column.write()):
                yield "counted_names"


def _is_nullable(column: exp.Expr, scopes: Scopes) -> bool:
    found = scopes.find_direct(column)
    return found is not None and is_nullable(found.column)


_INCLUDES = re.compile(
    r"\b(contain(s|ing)?|includes?|mention(s|ing)?|substring|the (word|phrase|text|letter)s?)\b",
    re.IGNORECASE,
)
_SHORTEST_TEXTS = 4  # the letters that two spellings have in common at least


def _read_texts(scopes: Scopes, question_text: str) -> Steps:
    """contained_text: LIKE '%text%', where the question says so, or uses the text as a word like
    others; any_case: LIKE in place of =, or = of LIKE; question_spelling: the spelling of the
    question in place of gold's.

    Reason: "the paragraph that includes the text Korea" asks for more than the paragraphs that are
    'Korea'; and where the database has no row that tells 'engineer' from the "engineering" of the
    question, both may be meant.
    """
    asks_to_contain = _INCLUDES.search(question_text) is not None
    for node in scopes.nodes.find_all(exp.EQ, exp.Like):
        text = read_text(node.expression, scopes)
        if text is None or not isinstance(node.this, exp.Column) or scopes.is_string(node.this):
            continue
        may_contain = asks_to_contain or _is_kind(node, text, question_text, scopes)
        if isinstance(node, exp.Like):
            may_contain = not set(text) & set("%_")
        if may_contain:
            pattern = exp.Literal.string(f"%{text}%")
            with replaced(node, exp.Like(this=node.this.copy(), expression=pattern)):
                yield "contained_text"
        if text.upper() != text.lower() and not set(text) & set("%_"):
            kind = exp.Like if isinstance(node, exp.EQ) else exp.EQ
            with replaced(node, kind(this=node.this.copy(), expression=exp.Literal.string(text))):
                yield "any_case"
        for word in _list_spellings(text, question_text):
            with replaced(node.expression, exp.Literal.string(word)):
                yield "question_spelling"


def _find_word(text: str, question_text: str, flags: int = 0) -> str | None:
    found = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", question_text, flags)
    return found and found[0]


def _is_kind(node: exp.Expr, text: str, question_text: str, scopes: Scopes) -> bool:
    """Whether a text stands for a part of a name: "math courses", without quotes and capitals."""
    found = scopes.find_direct(node.this)
    bare = re.sub(r"([\"'])[^\"']*\1", "", question_text)
    is_small = text.islower() and _find_word(text, bare) is not None
    return is_small and found is not None and scopes.is_label(found)


def _list_spellings(text: str, question_text: str) -> list[str]:
    """How a question spells a text that it does not have: in other letters, or as a longer or a
    shorter word, which is no plural."""
    same = _find_word(text, question_text, re.IGNORECASE)
    if same is not None:
        return [same] if _find_word(text, question_text) is None else []
    found = []
    for word in dict.fromkeys(re.findall(r"\w+", question_text)):
        short, long = sorted((text.lower(), word.lower()), key=len)
        is_near = len(short) >= _SHORTEST_TEXTS and long.startswith(short)
        if is_near and long.removeprefix(short) not in ("s", "es"):
            found.append(word)
    return found


_CLAUSES = ("group", "having", "limit", "order", "distinct")


def _read_set_members(scopes: Scopes, question_text: str) -> Steps:
    """members_by_key: `A EXCEPT B` of names -> A where the key is not among those of B.

    Reason: "the names of the singers without a concert" means singers, and one of them may have the
    name of a singer who has one.
    """
    node = scopes.tree
    if not isinstance(node, exp.Except | exp.Intersect) or node.args.get("with_") is not None:
        return
    left, right = node.this, node.expression
    own, other = _find_members(left, scopes), _find_members(right, scopes)
    if own is None or other is None or own.table is not other.table:
        return
    if isinstance(node, exp.Intersect) and not (left.args.get("joins") and right.args.get("joins")):
        return  # no row has two values in one column
    key = find_one_key(own.table)
    if key is None:
        return
    inner, outer = right.copy(), left.copy()
    inner.set("expressions", [other.beside(key).write()])
    test: exp.Expr = exp.In(this=own.beside(key).write(), query=exp.Subquery(this=inner))
    test = exp.Not(this=test) if isinstance(node, exp.Except) else test
    outer.set("where", add_condition(left, "where", test))
    for name in ("order", "limit"):
        if node.args.get(name) is not None:
            outer.set(name, node.args[name].copy())
    with replaced(node, outer):
        yield "members_by_key"


def _find_members(side: exp.Expr, scopes: Scopes) -> DirectColumn | None:
    """The name that a plain SELECT shows, where all that it shows is of one table, and no key."""
    if not isinstance(side, exp.Select) or any(side.args.get(name) for name in _CLAUSES):
        return None
    shown = scopes.find_all_direct(side.expressions)
    if len({column.source for column in shown}) != 1:
        return None
    if {column.column.name for column in shown} >= set(list_key(shown[0].table)):
        return None
    return next(filter(scopes.is_label, shown), None)


def _read_zero_counts(scopes: Scopes, question_text: str) -> Steps:
    """with_zero_counts: LEFT JOIN in place of JOIN, from the table whose things are counted by; and
    without_zero_counts, the other way round.

    Reason: "the number of concerts of each stadium" does not say whether one without concerts is
    shown; nor does "fewer than two" or "the fewest" say that there is one at least.
    """
    for group in scopes.nodes.find_all(exp.Group):
        select = group.parent
        if not isinstance(select, exp.Select):
            continue
        joins = select.args.get("joins") or []
        sources = list(scopes.scope_of(select).sources.values())
        is_count = len(joins) == 1 and len(sources) == 2 and select.find(exp.Count) is not None
        if not is_count or _is_of_the_most(select):
            continue
        if joins[0].side == "LEFT":
            with changed(joins[0], side=None, kind=None):
                yield "without_zero_counts"
        elif not (joins[0].side or joins[0].method):
            for parent, child in (sources, sources[::-1]):
                yield from _add_zeros(select, parent, child, scopes)


def _add_zeros(select: exp.Select, parent: Source, child: Source, scopes: Scopes) -> Steps:
    """`FROM child JOIN parent ON child.a = parent.key GROUP BY child.a` ->
    `FROM parent LEFT JOIN child ON child.a = parent.key GROUP BY parent.key`, and count(child.a)"""
    on = select.args["joins"][0].args.get("on")
    ends = _find_ends(on, scopes) if on is not None else {}
    own, other = ends.get(parent), ends.get(child)
    if own is None or other is None or not is_key(own.table, own.column):
        return
    where = select.args.get("where")
    named = [*select.expressions, *([where] if where is not None else [])]
    resolved = [scopes.resolve(column) for node in named for column in node.find_all(exp.Column)]
    if any(found is not None and found.source is child for found in resolved):
        return
    keys = []
    for key in select.args["group"].expressions:
        grouped = scopes.find_direct(key)
        if grouped is None or (grouped.source is child and not grouped.is_same(other)):
            return
        keys.append(own.write() if grouped.source is child else key.copy())
    copy = select.copy()
    copy.set("from_", exp.From(this=parent.node.copy()))
    copy.set("joins", [exp.Join(this=child.node.copy(), side="LEFT", on=on.copy())])
    copy.set("group", exp.Group(expressions=keys))
    for count in list(copy.find_all(exp.Count)):
        if isinstance(count.this, exp.Star) and count.parent_select is copy:
            count.set("this", other.write())
    with replaced(select, copy):
        yield "with_zero_counts"


def _is_of_the_most(select: exp.Select) -> bool:
    order = select.args.get("order")
    if order is None or select.args.get("limit") is None:
        return False
    return bool(order.expressions[0].args.get("desc"))


def _find_ends(condition: exp.Expr, scopes: Scopes) -> dict[Source, DirectColumn]:
    """The column of each table in `a.id = b.a_id`, by the table's source; {} of what is more."""
    if not isinstance(condition, exp.EQ):
        return {}
    columns = scopes.find_all_direct((condition.this, condition.expression))
    return {column.source: column for column in columns}


def _read_groupings(scopes: Scopes, question_text: str) -> Steps:
    """grouped_by_key in place of a name, where the query joins something to that key;
    grouped_by_name in place of another key, where the answer shows the name.

    Reason: "for each stadium" means a stadium, and two stadiums may have one name; but the answer
    shows names, and a reader may take a name for the stadium.
    """
    for group in scopes.nodes.find_all(exp.Group):
        keys = group.expressions
        columns = [scopes.find_direct(key) for key in keys]
        for key_index, label in enumerate(columns):
            if label is None or not scopes.is_label(label) or not _is_joined_by_key(label, scopes):
                continue
            copies = [key.copy() for key in keys]
            copies[key_index : key_index + 1] = [
                write_column(label.source, name, label.scope) for name in list_key(label.table)
            ]
            with changed(group, expressions=copies):
                yield "grouped_by_key"
        if len(columns) == 1 and columns[0] is not None and isinstance(group.parent, exp.Select):
            yield from _group_by_name(group, group.parent, columns[0], scopes)


def _group_by_name(
    group: exp.Group, select: exp.Select, key: DirectColumn, scopes: Scopes
) -> Steps:
    shown = [
        (node, column)
        for node in list_shown(select)
        if (column := scopes.find_direct(node)) is not None
    ]
    is_named = any(scopes.is_label(column) for _, column in shown)
    is_shown = any(column.is_same(key) for _, column in shown)
    if _is_of_thing(key, scopes) and is_named and not is_shown:
        with changed(group, expressions=[node.copy() for node, _ in shown]):
            yield "grouped_by_name"


def _is_of_thing(column: DirectColumn, scopes: Scopes) -> bool:
    """Whether a column stands for a thing: it is the key of its table, or refers to another."""
    return is_key(column.table, column.column) or scopes.refers(column)


def _is_joined_by_key(label: DirectColumn, scopes: Scopes) -> bool:
    key = set(map(fold_name, list_key(label.table)))
    pairs = list_equalities(label.scope.select, scopes)
    joined = {name for pair in pairs for source, name in pair if source is label.source}
    return bool(key) and key <= joined


_ONCE = re.compile(r"\b(different|distinct|unique|duplicates?|repeat\w*)\b", re.IGNORECASE)
_EACH_ROW = re.compile(r"\b(each|every|duplicates?|repeat\w*)\b", re.IGNORECASE)


def _read_duplicates(scopes: Scopes, question_text: str) -> Steps:
    """distinct_rows of the outermost SELECT, distinct_values in its counts; without_distinct,
    and each_thing_once: DISTINCT names of joined things, but things of one name are several.

    Reason: "the countries of the singers" may name a country once, or once a singer.
    """
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    counts = [column for column in list_shown(select) if isinstance(column, exp.Count)]
    if _ONCE.search(question_text) is None:
        if select.args.get("distinct") is not None and not has_unique_rows(select, scopes):
            with changed(select, distinct=None):
                yield "without_distinct"
        if select.args.get("joins") and select.args.get("group") is None:
            yield from _show_each_once(select, scopes)
        for count in counts:
            if isinstance(count.this, exp.Distinct) and len(count.this.expressions) == 1:
                with changed(count, this=count.this.expressions[0].copy()):
                    yield "without_distinct"
    if _EACH_ROW.search(question_text) is None or _ONCE.search(question_text) is not None:
        is_cut = select.args.get("limit") is not None and select.args.get("order") is not None
        if not (select.args.get("distinct") or is_cut or has_unique_rows(select, scopes)):
            with changed(select, distinct=exp.Distinct()):
                yield "distinct_rows"
        for count in counts:
            counted = scopes.find_direct(count.this)
            if counted is not None and not is_key(counted.table, counted.column):
                with changed(count, this=exp.Distinct(expressions=[count.this.copy()])):
                    yield "distinct_values"


def _show_each_once(select: exp.Select, scopes: Scopes) -> Steps:
    shown = scopes.find_all_direct(select.expressions)
    if not any(map(scopes.is_label, shown)) or len({column.source for column in shown}) != 1:
        return
    key = find_one_key(shown[0].table)
    if key is not None:
        group = exp.Group(expressions=[shown[0].beside(key).write()])
        with changed(select, distinct=None, group=group):
            yield "each_thing_once"


_TOTALS = (exp.Sum, exp.Max, exp.Min, exp.Avg)
_TOTAL = re.compile(r"\b(sum|total|overall|altogether)\b", re.IGNORECASE)


def _read_single_values(scopes: Scopes, question_text: str) -> Steps:
    """one_value: a column in place of its SUM, MAX, MIN or AVG; summed_value: SUM in place of a
    column, alone, in a subquery, or for each thing of a total; average: SUM / COUNT as AVG, or the
    other way round, since a formula seldom says what becomes of NULL.

    Reason: "the weight of Bo" is one number, which SUM, MAX and AVG give, too. A formula of the
    evidence often says SUM of what one row has.
    """
    for select in list(scopes.nodes.find_all(exp.Select)):
        copy = select.copy()
        totals = [node for column in copy.expressions for node in column.find_all(*_TOTALS)]
        totals = [node for node in totals if node.parent_select is copy]
        if totals and select.args.get("having") is None and not select.find(exp.Count, exp.Case):
            for node in totals:
                node.replace(node.this.copy())
            copy.set("group", None)
            with replaced(select, copy):
                yield "one_value"
        yield from _sum_values(select, scopes, question_text)
    for node in list(scopes.nodes.find_all(exp.Div)):
        total, count = node.this.find(exp.Sum), node.expression.find(exp.Count)
        is_plain = isinstance(node.this.unnest(), exp.Sum | exp.Cast)
        if is_plain and total is not None and count is not None and not total.find(exp.Case):
            with replaced(node, exp.Avg(this=total.this.copy())):
                yield "average"
    for node in list(scopes.nodes.find_all(exp.Avg)):
        total = exp.Cast(this=exp.Sum(this=node.this.copy()), to=exp.DataType.build("REAL"))
        with replaced(node, exp.Div(this=total, expression=exp.Count(this=exp.Star()))):
            yield "average"


def _sum_values(select: exp.Select, scopes: Scopes, question_text: str) -> Steps:
    if any(select.args.get(name) for name in ("group", "distinct", "limit")):
        return
    shown = list_shown(select)
    columns = [scopes.find_direct(column) for column in shown]
    numbers = [column is not None and _is_amount(column, scopes) for column in columns]
    if not any(numbers) or (not all(numbers) and _TOTAL.search(question_text) is None):
        return
    pairs = list(zip(shown, numbers, strict=True))
    totals = [exp.Sum(this=node.copy()) if is_amount else node.copy() for node, is_amount in pairs]
    keys = [node.copy() for node, is_amount in pairs if not is_amount]
    group = exp.Group(expressions=keys) if keys else None
    with changed(select, expressions=totals, group=group):
        yield "summed_value"


def _is_amount(column: DirectColumn, scopes: Scopes) -> bool:
    return is_number(column.column) and not _is_of_thing(column, scopes)


_UNKNOWN = re.compile(
    r"\b(null|missing|unknown|no|not|none|without|blank|empty|known|available|recorded|ha[sd]|have)\b",
    re.IGNORECASE,
)
_STEM = 4  # letters that a word of gold and one of the question have in common


def _read_unnamed(scopes: Scopes, question_text: str) -> Steps:
    """unnamed_condition: a part of WHERE is left out of which the question has no literal;
    unnamed_join: a table that nothing else uses. Whoever answers the question cannot know of it."""
    text = question_text.lower()
    for select in scopes.nodes.find_all(exp.Select):
        where = select.args.get("where")
        parts = list_parts(where.this, exp.And) if where is not None else []
        for place, part in enumerate(parts):
            if not _is_named(part, text):
                rest = [one.copy() for one in without(parts, place)]
                clause = exp.Where(this=join_parts(exp.And, rest)) if rest else None
                with changed(select, where=clause):
                    yield "unnamed_condition"
        joins = select.args.get("joins") or []
        for place, join in enumerate(joins):
            others = [node for node in select.find_all(exp.Column) if not is_within(node, join)]
            if _is_free_to_go(join, others, text, scopes):
                with changed(select, joins=[one.copy() for one in without(joins, place)]):
                    yield "unnamed_join"


def _is_named(condition: exp.Expr, text: str) -> bool:
    """Whether a question says a part of a condition: one of its literals, or that a value lacks."""
    if condition.find(exp.Select, exp.Column) is None or condition.find(exp.Select) is not None:
        return True
    if condition.find(exp.Null) is not None:
        return _UNKNOWN.search(text) is not None
    literals = [node.name.lower().strip("%") for node in condition.find_all(exp.Literal)]
    words = [word for literal in literals for word in re.findall(r"\w+", literal)]
    return not literals or any(
        word[:_STEM] in text if len(word) >= _STEM else _find_word(word, text) is not None
        for word in words
    )


def _is_free_to_go(join: exp.Join, others: list[exp.Column], text: str, scopes: Scopes) -> bool:
    if join.side or join.args.get("on") is None or not isinstance(join.this, exp.Table):
        return False
    name = join.this.alias_or_name
    found = [scopes.resolve(column) for column in others]
    sources = [None if what is None else what.source for what in found]  # None: a result column
    is_used = None in found or any(source and source.name == name for source in sources)
    words = re.findall(r"[^\W_]{3,}", fold_name(join.this.name))
    return not is_used and not any(word.rstrip("s") in text for word in words)


def _list_codes(scopes: Scopes, find_rows: FindRows) -> Iterator[tuple[exp.EQ, exp.EQ, str, Any]]:
    """Each comparison with a name that one row has, and the one with the key of that row; the name
    of the key, and its value: `colour.colour = 'Blue'`, `colour.id = 7`, "id", 7."""
    for node in list(scopes.nodes.find_all(exp.EQ)):
        named, text = scopes.find_direct(node.this), read_text(node.expression, scopes)
        key = find_one_key(named.table) if named is not None else None
        if named is None or text is None or key is None or key is named.column:
            continue
        codes = _find_values(find_rows, named.table.name, key.name, named.column.name, text)
        if len(codes) == 1 and isinstance(codes[0], int | str):
            own = named.beside(key).write()
            yield node, exp.EQ(this=own, expression=exp.convert(codes[0])), key.name, codes[0]


def _find_values(find_rows: FindRows, table: str, column: str, known: str, value: str) -> list[Any]:
    names = [quote_name(name) for name in (table, column, known)]
    literal = "'" + value.replace("'", "''") + "'"
    sql = f"SELECT DISTINCT {names[1]} FROM {names[0]} WHERE {names[2]} = {literal} LIMIT 2"
    return [value for (value,) in find_rows(sql, max_steps=_MAX_STEPS_OF_VALUES) or []]


def mutate_codes(scopes: Scopes, find_rows: FindRows) -> Steps:
    """code_by_heart: the key in place of a name, which is a reading if the question states it; and
    value_by_heart: what a subquery gives in place of it."""
    for node, other, _, _ in _list_codes(scopes, find_rows):
        with replaced(node, other):
            yield "code_by_heart"
    for subquery in list(scopes.nodes.find_all(exp.Subquery)):
        if isinstance(subquery.parent, COMPARISONS):
            rows = find_rows(to_sql(subquery.this), max_steps=_MAX_STEPS) or []
            if [len(row) for row in rows] == [1] and isinstance(rows[0][0], int | float | str):
                with replaced(subquery, exp.convert(rows[0][0])):
                    yield "value_by_heart"


def _read_codes(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """stated_code: the key in place of a name, if the question states it; stated_name: the name in
    place of a key, if the question has it.

    Reason: `alignment_id = 3` in the evidence is as good as the name of alignment 3. A code that
    nobody states is learnt by heart.
    """
    for node, other, key, code in _list_codes(scopes, find_rows):
        if _states_code(question_text, key, code):
            with replaced(node, other):
                yield "stated_code"
    for node in list(scopes.nodes.find_all(exp.EQ)):
        found = scopes.find_direct(node.this)
        if found is None or not isinstance(node.expression, exp.Literal):
            continue
        for table, key in _list_named_by(found, scopes):
            value = node.expression.name
            for column in table.columns:
                names = _find_values(find_rows, table.name, column.name, key, value)
                is_name = len(names) == 1 and isinstance(names[0], str)
                if is_name and _find_word(names[0].lower(), question_text.lower()) is not None:
                    yield from _compare_name(node, table, key, column.name, names[0])


def _states_code(text: str, key: str, code: Any) -> bool:
    """Whether a text sets a column whose name ends in that of a key to a code.

    >>> _states_code("blue refers to eye_colour_id = 7", "id", 7), _states_code("7 heroes", "id", 7)
    (True, False)
    """
    pattern = rf"{re.escape(key)}\W{{1,3}}(?:=|is|:)?\s*['\"]?{re.escape(str(code))}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _list_named_by(column: DirectColumn, scopes: Scopes) -> Iterator[tuple[Table, str]]:
    """The tables whose rows a column stands for, and the key by which it does."""
    if is_key(column.table, column.column):
        yield column.table, column.column.name
    for reference in scopes.references.of_table(column.table):
        if reference.column is column.column:
            yield reference.parent, reference.referred.name


def _compare_name(node: exp.EQ, table: Table, key: str, column: str, name: str) -> Steps:
    query = exp.select(exp.column(key, quoted=True)).from_(exp.table_(table.name, quoted=True))
    query = query.where(exp.column(column, quoted=True).eq(name))
    with replaced(node, exp.In(this=node.this.copy(), query=exp.Subquery(this=query))):
        yield "stated_name"


_MIN_WORD_LETTERS = 3
_MAX_TEXTS_PER_COLUMN = 5


def _read_named_values(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """named_value: a word of the question is a value of a column of gold's tables, and no literal
    of gold, and no name of a table or a column of it. Ties are read both ways, too.

    Reason: "the youngest dog" is a dog, also where gold asks for the youngest pet; on a database
    whose youngest pet is a dog nobody sees the difference.
    """
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    scope = scopes.scope_of(select)
    words = sorted(_list_words(question_text) - _list_used(scopes))
    for column in list_columns(scope) if words else ():
        if affinity(column.column.type) != "TEXT":
            continue
        for text in sorted(_find_texts(find_rows, column.table.name, column.column.name, words)):
            condition = column.write().eq(text)
            with changed(select, where=add_condition(select, "where", condition)):
                yield "named_value"
                for _ in _read_superlatives(scopes, question_text):
                    yield "named_value"


def _list_words(text: str) -> set[str]:
    """The words of a question, and what they may be plurals of; without quotes."""
    words = {word.lower() for word in re.findall(r"\w+", text)}
    words |= {word.removesuffix("s") for word in words}
    return {word for word in words if len(word) >= _MIN_WORD_LETTERS}


def _list_used(scopes: Scopes) -> set[str]:
    used = {node.name for node in scopes.nodes.find_all(exp.Literal, exp.Column)}
    for scope in scopes.select_scopes():
        for column in list_columns(scope):
            used |= {column.table.name, column.column.name}
    words = {word for name in used for word in re.split(r"[\W_]+", fold_name(name))}
    return words | {word.removesuffix("s") for word in words} | {word + "s" for word in words}


def _find_texts(find_rows: FindRows, table: str, column: str, words: list[str]) -> list[str]:
    name, values = quote_name(column), ", ".join(f"'{word}'" for word in words)
    sql = (
        f"SELECT DISTINCT {name} FROM {quote_name(table)} WHERE {name} COLLATE NOCASE"
        f" IN ({values}) LIMIT {_MAX_TEXTS_PER_COLUMN}"
    )
    rows = find_rows(sql, max_steps=_MAX_STEPS_OF_VALUES) or []
    return [text for (text,) in rows if isinstance(text, str)]


_RULES = (
    _read_duplicates,
    _read_groupings,
    _read_nulls,
    _read_set_members,
    _read_single_values,
    _read_superlatives,
    _read_texts,
    _read_unnamed,
    _read_zero_counts,
)


def list_readings(
    tree: exp.Expr, schema: Schema, question_text: str, find_rows: FindRows
) -> list[Change]:
    """The readings of a gold query and its question, sorted, each text once.

    "Who is the youngest singer?", `SELECT name FROM singer ORDER BY age LIMIT 1` -> all_ties:
    `SELECT name FROM singer WHERE age = (SELECT MIN(age) FROM singer)`

    The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    steps = [rule(scopes, question_text) for rule in _RULES]
    steps += [rule(scopes, question_text, find_rows) for rule in (_read_codes, _read_named_values)]
    return sorted(write_changes(scopes, steps, most=MAX_READINGS_PER_RULE))

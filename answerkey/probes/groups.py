"""Probes of GROUP BY: what a group leaves open, and what its keys do not tell apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.english.columns import stem_name
from answerkey.english.question import Question, list_words, word_set
from answerkey.order.cuts import is_order_certain
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues, shorten
from answerkey.probes.compared_values import Comparison, Reading, read_query
from answerkey.probes.conditions import is_one_row
from answerkey.probes.entities import (
    count_distinct,
    find_key,
    is_label,
    list_equalities,
    list_known,
    name_column,
    place_of,
    resolve_direct,
    write_rows,
)
from answerkey.records import Finding
from answerkey.sql.groupings import Grouping, read_grouping
from answerkey.sql.query_parts import find_with, members_of_from
from answerkey.sql.query_rewrites import (
    SHOWN_CHARACTERS,
    copy_with,
    is_same_statement,
    show_sql,
    to_sql,
    unwrap,
)
from answerkey.sql.scopes import Resolution, Scopes
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import QueryError, Row
from answerkey.sqlite.schema import fold_name, quote_name


def find_aggregate_of_other_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if a subquery that does not look at the row around it aggregates too much.

    Kinds: `any_group` for `weight IN (SELECT max(weight) FROM ship GROUP BY port)`, which a ship
    meets that is as heavy as the heaviest of another port; `all_groups` for `SELECT port, count(*)
    FROM ship WHERE weight > (SELECT avg(weight) FROM ship) GROUP BY port`, where the average is of
    the ships of all ports.
    """
    reading = read_query(inspection)
    for comparison in reading.comparisons:
        kind = _judge(comparison, reading)
        if kind is not None:
            evidence = {"kind": kind, "condition": comparison.text}
            return [Finding("aggregate_of_other_rows", evidence)]
    return []


def _judge(comparison: Comparison, reading: Reading) -> str | None:
    query, outer = comparison.right, comparison.node.parent_select
    if not isinstance(query, exp.Select) or outer is None or _is_correlated(query, reading):
        return None
    first = query.expressions[0].unalias()
    if query.args.get("group") is not None:
        is_extreme = isinstance(first, exp.Min | exp.Max) and query.args.get("limit") is None
        return "any_group" if is_extreme and comparison.operator in ("=", "IN") else None
    if outer.args.get("group") is None or not is_one_row(query, reading.scopes):
        return None
    clause = comparison.node.find_ancestor(exp.Where, exp.Having, exp.Select)
    if not isinstance(clause, exp.Where) or query.args.get("where") is not None:
        return None
    if not isinstance(first, exp.Avg):  # `= (SELECT max(...))` chooses rows, and then groups them
        return None
    inner = {member.name.lower() for member in members_of_from(query)}
    around = {member.name.lower() for member in members_of_from(outer)}
    return "all_groups" if inner <= around else None


def _is_correlated(query: exp.Select, reading: Reading) -> bool:
    own = reading.scopes.scope_of(query)
    found = (reading.resolve(column) for column in query.find_all(exp.Column))
    return any(resolution is not None and resolution.scope is own.parent for resolution in found)


# Greatest first: SQLite keeps the first value that it reads, as a rule, which often is the least.
_CHOICES = ("max({0})", "min({0})", "CASE WHEN count({0}) = count(*) THEN min({0}) END")


class Execution(NamedTuple):
    """The rows of the query with some choice, and the keys of the group that each row is of; no
    groups where that cannot be told."""

    rows: list[Row]
    groups: set[Row] | None


def find_other_choice(inspection: Inspection, grouping: Grouping) -> Execution | None:
    """Return an execution with another choice of values that changes the answer, or, if that
    counts, the order of its rows; None if there is none. `GROUP BY port` with max(name) for name is
    one.

    With min() or max() no other choice can be written in SQL: then it is the query as it stands.
    """
    if grouping.extreme is not None:
        return _execute(inspection, grouping, None)
    answer = shape_answer(inspection.rows)
    is_ordered, rel_tol = is_order_certain(inspection), inspection.rel_tol
    for choice in _CHOICES:
        found = _execute(inspection, grouping, choice)
        other = shape_answer(found.rows)
        if not answers_match(answer, other, ordered=is_ordered, rel_tol=rel_tol):
            return found if _is_faithful(inspection, rel_tol) else None
    return None


def _execute(inspection: Inspection, grouping: Grouping, choice: str | None) -> Execution:
    """The query with a choice (None: with SQLite's own), and the keys as further columns."""
    tree = inspection.tree.copy() if choice is None else _choose(inspection, grouping, choice)
    select = grouping.scope.select
    is_plain = select is unwrap(inspection.tree) and not select.args.get("distinct")
    if not is_plain or not grouping.keys:
        return Execution(inspection.database.execute(to_sql(tree)), None)
    for key in grouping.keys:
        unwrap(tree).append("expressions", key.copy())
    rows = inspection.database.execute(to_sql(tree))
    width = len(grouping.keys)
    return Execution([row[:-width] for row in rows], {row[-width:] for row in rows})


def _is_faithful(inspection: Inspection, rel_tol: float) -> bool:
    """Whether the query is written out as it was read: nothing can be concluded where the writing
    itself changes the answer."""
    sql = to_sql(inspection.tree)
    if is_same_statement(sql, inspection.sql):
        return True
    answer, other = shape_answer(inspection.rows), inspection.database.execute(sql)
    return answers_match(answer, shape_answer(other), ordered=False, rel_tol=rel_tol)


def _choose(inspection: Inspection, grouping: Grouping, choice: str) -> exp.Expression:
    """The query with each bare column replaced by one of its group's values."""
    nodes = [*grouping.columns, *grouping.stars]
    copy, twins = copy_with(inspection.tree, nodes)
    for node, twin in zip(nodes, twins, strict=True):
        if node in grouping.stars:
            for output in inspection.scopes.expand_star(node, grouping.scope):
                column = exp.column(
                    output.name, table=output.resolution.source.name or None, quoted=True
                )
                chosen = exp.maybe_parse(choice.format(to_sql(column)), dialect="sqlite")
                twin.parent.append("expressions", exp.alias_(chosen, output.name, quoted=True))
            twin.pop()
            continue
        chosen = exp.maybe_parse(choice.format(to_sql(twin)), dialect="sqlite")
        if isinstance(twin.parent, exp.Select):
            chosen = exp.alias_(chosen, twin.name, quoted=True)
        twin.replace(chosen)
    return copy


_FACTS = "count(DISTINCT {0}), count({0}), min({0}), max({0})"
_MOST_GROUPS = 1000


def find_bare_column(inspection: Inspection) -> list[Finding]:
    """Return a finding if a column that is neither aggregated nor determined by GROUP BY holds
    several values in some group, and another choice among them changes the answer.

    SQLite's rules (the manual's page on SELECT, section 2.5): with exactly one min() or max() the
    values come from a row that has the extreme; otherwise from an arbitrary row.
    """
    scopes = inspection.scopes
    for select in scopes.nodes.find_all(exp.Select):
        grouping = read_grouping(select, scopes)
        if grouping is None or not (grouping.columns or grouping.stars):
            continue
        bare = _bare_expressions(grouping, scopes)
        try:
            groups = _find_groups(inspection, grouping, bare)
        except QueryError:
            continue
        if groups:
            return [Finding("bare_column", _describe(groups[0], grouping, bare))]
    return []


def _find_groups(
    inspection: Inspection, grouping: Grouping, bare: dict[str, exp.Expression]
) -> list[Row]:
    """Return the groups of a finding: those in the answer, if some are; none: no finding."""
    mixed = _find_mixed_groups(inspection, grouping, bare)
    other = find_other_choice(inspection, grouping) if mixed else None
    if other is None:
        return []
    if other.groups is None:
        shown = mixed if inspection.rows else []
    else:
        shown = [row for row in mixed if row[: len(grouping.keys)] in other.groups]
    if shown or grouping.extreme is None or grouping.has_deciding_column:
        return shown or mixed
    return []


def _find_mixed_groups(
    inspection: Inspection, grouping: Grouping, expressions: dict[str, exp.Expression]
) -> list[Row]:
    """Groups in which a bare column holds several values (a NULL is one): their keys, their number
    of rows, and for each bare column its distinct values, values, least and greatest."""
    select = grouping.scope.select
    base = exp.Select(
        expressions=[], from_=select.args["from_"].copy(),
        joins=[join.copy() for join in select.args.get("joins") or []] or None,
        where=select.args["where"].copy() if select.args.get("where") else None,
    )  # fmt: skip
    with_ = find_with(select)
    inner = to_sql(_with_columns(base, _spread(grouping, expressions)))
    keys = [f"g{n}" for n in range(len(grouping.keys))]
    bare = [f"c{n}" for n in range(len(expressions))]
    condition = "WHERE r = 1 " if grouping.extreme is not None else ""
    facts = ", ".join(_FACTS.format(column) for column in bare)
    is_mixed = " OR ".join(
        f"count(DISTINCT {c}) > 1 OR count({c}) BETWEEN 1 AND count(*) - 1" for c in bare
    )
    return inspection.database.execute(
        (f"{to_sql(with_)} " if with_ is not None else "")
        + f"SELECT {', '.join([*keys, 'count(*)', facts])} FROM ({inner}) {condition}"
        + (f"GROUP BY {', '.join(keys)} " if keys else "")
        + f"HAVING {is_mixed} LIMIT {_MOST_GROUPS}"
    )


def _bare_expressions(grouping: Grouping, scopes: Scopes) -> dict[str, exp.Expression]:
    """The bare columns by their text, those of `*` among them."""
    found = {to_sql(column): column for column in grouping.columns}
    for star in grouping.stars:
        for output in scopes.expand_star(star, grouping.scope):
            column = exp.column(
                output.name, table=output.resolution.source.name or None, quoted=True
            )
            found[to_sql(column)] = column
    return found


def _spread(
    grouping: Grouping, expressions: dict[str, exp.Expression]
) -> Iterator[tuple[str, exp.Expression]]:
    for number, key in enumerate(grouping.keys):
        yield f"g{number}", key
    for number, expression in enumerate(expressions.values()):
        yield f"c{number}", expression
    if grouping.extreme is not None:
        measure = grouping.extreme.this
        order = exp.Ordered(
            this=(measure.expressions[0] if isinstance(measure, exp.Distinct) else measure).copy(),
            desc=isinstance(grouping.extreme, exp.Max),
            nulls_first=False,
        )
        rank = exp.Window(
            this=exp.Anonymous(this="rank"),
            partition_by=[key.copy() for key in grouping.keys] or None,
            order=exp.Order(expressions=[order]),
            over="OVER",
        )
        yield "r", rank


def _with_columns(base: exp.Select, columns: Iterable[tuple[str, exp.Expression]]) -> exp.Select:
    for name, expression in columns:
        base.append("expressions", exp.alias_(expression.copy(), name))
    return base


def _describe(
    row: Row, grouping: Grouping, expressions: dict[str, exp.Expression]
) -> dict[str, Any]:
    """Evidence: one mixed group, and the first bare column that has several values in it."""
    width = len(grouping.keys)
    facts = [row[width + 1 + 4 * n : width + 5 + 4 * n] for n in range(len(expressions))]
    for name, (distinct, count, least, most) in zip(expressions, facts, strict=True):
        has_null = count < row[width]
        if distinct + has_null > 1:
            return {
                "column": name[:SHOWN_CHARACTERS],
                "group_by": [show_sql(key) for key in grouping.keys],
                "group": [_cut(value) for value in row[:width]],
                "distinct_values": distinct + has_null,
                "values": [
                    _cut(value) for value in ((least, most) if distinct > 1 else (None, least))
                ],
                "row_picked_by": to_sql(grouping.extreme) if grouping.extreme is not None else None,
            }
    raise ValueError(f"No bare column has several values in {row}")


def _cut(value: Any) -> Any:
    return value[:SHOWN_CHARACTERS] if isinstance(value, str) else value


# each_without_group: the question asks for a number of each thing, and the query returns one.


_EACH = word_set("each every")
_PREPOSITIONS = word_set("for of in by to at from with")
_VERBS = word_set("do does did has have had")
_ASKED_STEMS = word_set("mani much number count total sum amount averag mean maximum minimum")
_ADDED = (exp.Count, exp.Sum)
_SENTENCE_END = re.compile("[.?!]")
_FORMULA = re.compile(r"\b(?:sum|count|avg|divide|subtract|multiply)\s*\(", re.IGNORECASE)


def find_each_without_group(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a sentence of the question asks for a number (`how many`, `average`) of
    `each` or `every` or `per` thing of the schema, and the query aggregates without any GROUP BY.

    Kinds: `of_each` after a preposition, as in "the total weight of each port"; `does_each` after a
    verb, as in "how many ships does each port have?". An average may well be over each thing ("how
    many ships, on average, does each port have?"), so that the latter needs COUNT or SUM, and
    neither a quotient nor a formula in the evidence is a finding.
    """
    select, nodes = unwrap(inspection.tree), inspection.scopes.nodes
    if not isinstance(select, exp.Select) or nodes.find_all(exp.Group, exp.Window, exp.Div):
        return []
    if not is_one_row(select, inspection.scopes) or _FORMULA.search(question.evidence):
        return []
    asked = _find_each(question) or _find_per(question, inspection)
    if asked is None:
        return []
    kind = "does_each" if asked.split()[0] in _VERBS else "of_each"
    if kind == "does_each" and not any(output.find(*_ADDED) for output in select.expressions):
        return []
    return [Finding("each_without_group", {"kind": kind, "asked": asked})]


def _find_each(question: Question) -> str | None:
    """The first `each` that its sentence asks a number of, with the words around it."""
    if _EACH.isdisjoint(word.text for word in question.words):
        return None
    for sentence in _SENTENCE_END.split(question.text):
        words = list_words(sentence)
        if not _ASKED_STEMS & {word.stem for word in words}:
            continue
        texts = [word.text for word in words]
        for before, word, after in zip(texts, texts[1:], texts[2:], strict=False):
            if word in _EACH and before in _PREPOSITIONS | _VERBS and after != "other":
                return f"{before} {word} {after}"
    return None


def _find_per(question: Question, inspection: Inspection) -> str | None:
    """`per` before the name of a table: not the `per` of a column such as cost_per_day, nor that of
    a rate: "250 per account"."""
    words = question.words
    tables = {stem_name(table.name)[-1:] for table in read_query(inspection).tables}
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word.text == "per" and (after.stem,) in tables and not before.text[:1].isdigit():
            return f"per {after.text}"
    return None


# group_by_non_key: rows are grouped by a name, where several things may have one name.
#
# `SELECT T1.name, count(*) FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id GROUP BY
# T1.name` -> the songs of two singers of one name are counted together.


_GROUPS_SHOWN = 3
_FEWEST_NAMES = 0.5  # of the rows of a table: with fewer, a name is one of a class
_EACH_GROUP_BY_NON_KEY = {"each", "every", "per", "by"}
_WORDS_BETWEEN = 2


def find_group_by_non_key(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a SELECT aggregates, groups by names of a table whose key it joins to
    other rows, and not by that key.

    Kinds: `in_data` if some of the things that are grouped have one name; `possible` if none have.
    A question that says "for each NAME" asks for groups of one name.
    """
    found = inspection.once(_find_first)
    if found is None or _is_asked(question, found[0]):
        return []
    return [Finding("group_by_non_key", found[1])]


def _find_first(inspection: Inspection) -> tuple[Resolution, dict[str, Any]] | None:
    for select in inspection.scopes.nodes.find_all(exp.Select):
        is_grouped = select.args.get("group") is not None and select.find(exp.AggFunc) is not None
        found = None
        if is_grouped and find_with(select) is None:
            found = _find_names(inspection, select)
        if found is not None:
            return found
    return None


def _find_names(
    inspection: Inspection, select: exp.Select
) -> tuple[Resolution, dict[str, Any]] | None:
    """The first name by which a SELECT groups, and the evidence."""
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    grouping = read_grouping(select, scopes)
    if grouping is None:
        return None
    found = [resolve_direct(key, scopes) for key in grouping.keys if key.parent is not None]
    columns = [what for what in found if what is not None and what.scope is grouping.scope]
    equalities = list(list_equalities(select, scopes))
    known = list_known(map(place_of, columns), equalities, values)
    joined = {place for pair in equalities for place in pair}
    for label in columns:
        if not is_label(label, inspection.schema):
            continue
        key = find_key(label.table, values)
        place = label.source, fold_name(key) if key is not None else ""
        if place not in joined or place in known or not _is_of_things(label, values):
            continue
        names = [what for what in columns if what.source is label.source]
        groups = _find_shared(select, names, key, values)
        return label, {
            "kind": "in_data" if groups else "possible",
            "grouped_by": [f"{what.table.name}.{what.column.name}" for what in names],
            "key": f"{label.table.name}.{key}",
            "groups": groups,
        }
    return None


def _is_of_things(label: Resolution, values: ColumnValues) -> bool:
    """Whether most rows of a table have a name of their own, and are not classed by it. A table of
    a key and a name alone lists names, each once."""
    if len(label.table.columns) < 3:
        return False
    column = quote_name(label.column.name)
    table = quote_name(label.table.name)
    names = values.ask_number(f"SELECT count(DISTINCT {column}) FROM {table}")
    rows = values.ask_number(f"SELECT count(*) FROM {table}")
    return bool(names) and bool(rows) and names >= rows * _FEWEST_NAMES


def _find_shared(
    select: exp.Select, names: list[Resolution], key: str, values: ColumnValues
) -> list[list[object]]:
    """Names that several of the things grouped have, and how many have it."""
    source, scope = names[0].source, names[0].scope
    shown = [name_column(source, what.column.name, scope) for what in names]
    count = count_distinct(name_column(source, key, scope))
    condition = exp.GT(this=count.copy(), expression=exp.Literal.number(1))
    sql = write_rows(
        select,
        *shown,
        count,
        group=select.args["group"],
        having=exp.Having(this=condition),
        limit=exp.Limit(expression=exp.Literal.number(_GROUPS_SHOWN)),
    )
    return [[shorten(value) for value in row] for row in values.ask(sql) or ()]


def _is_asked(question: Question, label: Resolution) -> bool:
    """Whether the question says "for each job title", as the column is called."""
    name = stem_name(label.column.name)[-1]
    words = question.words
    for place, word in enumerate(words):
        after = words[place + 1 : place + 2 + _WORDS_BETWEEN]
        if word.text in _EACH_GROUP_BY_NON_KEY and any(other.stem == name for other in after):
            return True
    return False


PROBES = (
    find_aggregate_of_other_rows,
    find_bare_column,
)
QUESTION_PROBES = (
    find_each_without_group,
    find_group_by_non_key,
)

"""Choices among the values of a bare column: whether another one than SQLite's changes the answer.

`SELECT name, count(*) FROM ship GROUP BY harbour_id` with max(name) for name gives other rows.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.groupings import Grouping
from answerkey.audit.inspection import Inspection
from answerkey.audit.spellings import has_one_spelling
from answerkey.sql.query_rewrites import copy_with, is_same_statement, to_sql, unwrap
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import QueryError, Row
from answerkey.sqlite.schema import has_collation

FACTS = "count(DISTINCT {0}), count({0}), min({0}), max({0})"
MOST_GROUPS = 1000
# Greatest first: SQLite keeps the first value that it reads, as a rule, which often is the least.
_GREATEST = "max({0})"
_CHOICES = (_GREATEST, "min({0})", "CASE WHEN count({0}) = count(*) THEN min({0}) END")


def is_other_choice_seen(
    inspection: Inspection, grouping: Grouping, rel_tol: float, *, is_ordered: bool = False
) -> bool:
    """Whether another choice of values changes the answer, or, where that counts, the order of its
    rows. With min() or max() no other choice can be written in SQL: then it is enough that a mixed
    group is shown, or that the choice decides which groups are."""
    if grouping.extreme is not None:
        return True
    answer = shape_answer(inspection.rows)

    def is_same(choice: str) -> bool:
        other = inspection.database.execute(to_sql(_choose(inspection, grouping, choice)))
        return answers_match(answer, shape_answer(other), ordered=is_ordered, rel_tol=rel_tol)

    return not all(map(is_same, _CHOICES)) and _is_faithful(inspection, rel_tol)


def find_at_once(
    inspection: Inspection, grouping: Grouping, bare: dict[str, exp.Expression], rel_tol: float
) -> list[Row] | None:
    """What the steps of `find_bare_column` find, by one execution in place of three: the groups
    with the greatest values chosen, what is known of each, and whether HAVING keeps it.

    None where only the steps can tell: the SELECT is not the query itself, keeps but some of its
    rows, or decides by what it chooses; its keys may be spelt in several ways, so that a group may
    be shown by another; or the answer is the one with the greatest values.
    """
    select = grouping.scope.select
    if (
        select is not unwrap(inspection.tree)
        or any(select.args.get(name) for name in ("distinct", "limit", "offset"))
        or grouping.extreme is not None
        or grouping.has_deciding_column
        or grouping.stars
        or not grouping.keys
        or not all(has_one_spelling(key, inspection.scopes) for key in grouping.keys)
        or any(has_collation(table.sql) for table in inspection.schema.tables)
        or _has_alias_in_having(inspection, select)
    ):
        return None
    try:
        rows = _execute_groups(inspection, grouping, bare)
    except QueryError:
        return None
    facts = len(grouping.keys) + 1 + 4 * len(bare)
    mixed = [row for row in rows if _is_mixed(row[-facts - 1 : -1], len(grouping.keys))]
    if not any(row[-1] for row in mixed):  # no choice is in the answer
        return []
    other = shape_answer([row[: -facts - 1] for row in rows if row[-1]])
    if answers_match(shape_answer(inspection.rows), other, ordered=False, rel_tol=rel_tol):
        return None
    if not _is_faithful(inspection, rel_tol):
        return []
    mixed = mixed[:MOST_GROUPS]
    shown = [row for row in mixed if row[-1]]
    return [row[-facts - 1 : -1] for row in shown or mixed]


def _execute_groups(
    inspection: Inspection, grouping: Grouping, bare: dict[str, exp.Expression]
) -> list[Row]:
    """Every group: its row in the answer, with the greatest values chosen; its keys; how many rows
    it has; the facts of each bare column; and 1 where HAVING keeps it, or else 0."""
    copy = _choose(inspection, grouping, _GREATEST)
    select = unwrap(copy)
    having = select.args.get("having")
    is_kept = f"CASE WHEN {to_sql(having.this)} THEN 1 ELSE 0 END" if having is not None else "1"
    select.set("having", None)
    select.set("order", None)
    known = ["count(*)", *(FACTS.format(f"({name})") for name in bare), is_kept]
    for text in (*map(to_sql, grouping.keys), *known):
        select.append("expressions", exp.Var(this=text))
    return inspection.database.execute(to_sql(copy))


def _is_mixed(facts: Row, keys: int) -> bool:
    """Whether a bare column holds several values in a group; a NULL is one."""
    size, rest = facts[keys], facts[keys + 1 :]
    return any(
        distinct > 1 or 1 <= count < size
        for distinct, count in zip(rest[::4], rest[1::4], strict=True)
    )


def _has_alias_in_having(inspection: Inspection, select: exp.Select) -> bool:
    """Whether HAVING names a result column, which no other result column can."""
    having = select.args.get("having")
    columns = having.find_all(exp.Column) if having is not None else ()
    found = map(inspection.scopes.resolve, columns)
    return any(resolution is not None and resolution.is_alias for resolution in found)


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

"""Changes of joins: a condition more, a table less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from sqlglot import exp

from answerkey.rewrites.trees import add_condition, changed, replaced
from answerkey.sql.conditions import join_parts
from answerkey.sql.keys import is_nullable
from answerkey.sql.scopes import DirectColumn, Source
from answerkey.sqlite.schema import fold_name


@contextmanager
def join_tables(equalities: Sequence[tuple[exp.Select, list[exp.Expr]]]) -> Iterator[None]:
    """Join the tables of each FROM by conditions.

    `FROM ship, port WHERE port.land = 'UK'` ->
    `FROM ship, port WHERE port.land = 'UK' AND ship.home = port.id`

    equalities: a SELECT before those within it.
    """
    with ExitStack() as stack:
        for select, conditions in reversed(equalities):  # whose WHERE is copied with those within
            condition = join_parts(exp.And, conditions)
            where = add_condition(select, "where", condition)
            stack.enter_context(changed(select, where=where))
        yield


@contextmanager
def leave_out_table(
    select: exp.Select,
    source: Source,
    own: exp.Join,
    twins: Mapping[str, DirectColumn],
    used: Sequence[exp.Column],
    *,
    is_asked: bool = False,
) -> Iterator[None]:
    """Leave out a table, and read its columns where the join finds equal ones.

    `SELECT a.id FROM b JOIN a ON b.a_id = a.id` -> `SELECT b.a_id FROM b`, and with `is_asked`
    `... WHERE NOT b.a_id IS NULL`: the join drops a row that refers to no other.

    own: the join that goes. twins: the equal columns, by the folded names of those of the table.
    used: where the query names columns of the table.
    is_asked: the question asks for rows that refer to the table.
    """
    joins = select.args["joins"]
    nullable = [twin for twin in twins.values() if is_asked and is_nullable(twin.column)]
    start = own.this if own.this is not source.node else select.args["from_"].this
    with ExitStack() as stack:
        for column in used:
            stack.enter_context(replaced(column, twins[fold_name(column.name)].write()))
        rest = [join.copy() for join in joins if join is not own]
        stack.enter_context(changed(select, from_=exp.From(this=start.copy()), joins=rest))
        if nullable:
            test = exp.and_(*(twin.write().is_(exp.null()).not_() for twin in nullable))
            stack.enter_context(changed(select, where=add_condition(select, "where", test)))
        yield

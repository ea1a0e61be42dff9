"""Which aggregate is taken: another one of the same values, or the extreme of what is shown."""

from __future__ import annotations

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, replaced
from answerkey.sql.keys import is_number
from answerkey.sql.query_tree import read_integer, to_sql
from answerkey.sql.scopes import Scopes

_OF_NUMBERS = (exp.Avg, exp.Max, exp.Min, exp.Sum)
_OF_TEXTS = (exp.Max, exp.Min)


def use_other_aggregate(scopes: Scopes) -> Steps:
    """Yield `aggregate_function`: `max(a)` -> `AVG(a)`, `MIN(a)`, `SUM(a)`; of texts, `MIN(a)`."""
    for call in scopes.nodes.find_all(*_OF_NUMBERS):
        column = scopes.find_direct(call.this)
        is_text = column is not None and not is_number(column.column)
        kinds = _OF_TEXTS if is_text else _OF_NUMBERS
        if type(call) in kinds:
            yield from swap_aggregate(call, kinds, "aggregate_function")


def swap_aggregate(call: exp.Expr, kinds: tuple[type[exp.Expr], ...], name: str) -> Steps:
    """Yield a name for each other aggregate of the same values: `max(a)` -> `AVG(a)`, ..."""
    for kind in kinds:
        if type(call) is not kind:
            with replaced(call, kind(this=call.this.copy())):
                yield name


def take_extreme_value(scopes: Scopes) -> Steps:
    """Yield `extreme_value`: `SELECT a FROM t GROUP BY a ORDER BY count(*) DESC LIMIT 1` ->
    `SELECT MAX(a) FROM t`, `SELECT MIN(a) FROM t`; the same for `SELECT a FROM t ORDER BY b LIMIT
    1`.

    If the real rows have one value, all of these queries return it. If they have two, the most
    common one is also the greatest or the least.
    """
    for select in scopes.nodes.find_all(exp.Select):
        if len(select.expressions) == 1 and (_shows_first_group(select) or _shows_first(select)):
            shown = select.expressions[0].unalias()
            for extreme in _OF_TEXTS:
                outputs = [extreme(this=shown.copy())]
                rest = dict.fromkeys(("group", "having", "order", "limit"))
                with changed(select, expressions=outputs, **rest):
                    yield "extreme_value"


def _shows_first(select: exp.Select) -> bool:
    """Whether a SELECT shows a column of the row that is the first by another column."""
    order, limit = select.args.get("order"), select.args.get("limit")
    if select.args.get("group") is not None or order is None or limit is None:
        return False
    shown, key = select.expressions[0].unalias(), order.expressions[0].this
    is_other = isinstance(key, exp.Column) and to_sql(key).lower() != to_sql(shown).lower()
    return isinstance(shown, exp.Column) and is_other and read_integer(limit.expression) == 1


def _shows_first_group(select: exp.Select) -> bool:
    """Whether a SELECT shows the key of the group that comes first."""
    group, order, limit = (select.args.get(name) for name in ("group", "order", "limit"))
    if group is None or order is None or limit is None:
        return False
    keys = {to_sql(key).lower() for key in group.expressions}
    shown = to_sql(select.expressions[0].unalias()).lower()
    return shown in keys and read_integer(limit.expression) == 1

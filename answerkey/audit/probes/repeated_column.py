"""repeated_column: the query selects one thing twice, where its question may ask for two."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_parts import selects_of
from answerkey.sql.query_rewrites import show_sql, to_sql
from answerkey.sqlite.schema import fold_name

_VARYING = (exp.Column, exp.AggFunc, exp.Anonymous, exp.Query)  # what no constant has


def find_repeated_column(inspection: Inspection) -> list[Finding]:
    """A finding where every row of the answer holds one value twice, since the query selects it
    twice: `SELECT start_date, start_date` for the question when something starts and ends.

    Two columns are the same where they are of the same member of FROM, other expressions where they
    are written the same. Constants may be repeated, and so may what `*` stands for. A compound
    select repeats a column where each of its SELECTs does, in the same places.
    """
    reading = read_query(inspection)
    selects = selects_of(inspection.tree)
    if not selects or (len(selects) > 1 and any(select.is_star for select in selects)):
        return []
    if len(selects[0].expressions) < 2:
        return []
    repeated = set.intersection(*(_list_repeated(select, reading) for select in selects))
    if not repeated:
        return []
    expressions = selects[0].expressions
    places = sorted({first for first, _ in repeated})
    texts = [show_sql(expressions[place].unalias()) for place in places]
    return [Finding(Flag.REPEATED_COLUMN, {"expressions": list(dict.fromkeys(texts))})]


def _list_repeated(select: exp.Select, reading: Reading) -> set[tuple[int, int]]:
    """The pairs of places in a SELECT at which the same stands."""
    columns = [expression.unalias().unnest() for expression in select.expressions]
    identities = [_identify(column, reading) for column in columns]
    return {
        (first, second)
        for first, second in combinations(range(len(identities)), 2)
        if identities[first] is not None and identities[first] == identities[second]
    }


def _identify(expression: exp.Expression, reading: Reading) -> Hashable | None:
    """What is the same for two expressions that are; None for what may be repeated."""
    if reading.is_literal(expression) or expression.is_star or expression.find(*_VARYING) is None:
        return None
    found = reading.resolve(expression)
    if found is None or found.source is None:
        return to_sql(expression)
    return id(found.source), fold_name(expression.name)

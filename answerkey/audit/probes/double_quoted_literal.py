"""double_quoted_literal: "x" is a column where SQLite finds one of that name, and else a string.

Most corpora write their literals so, hence the quotes alone are no risk. These are:
a literal that a column catches, one that another table's column would catch, a column that is
misspelt and has silently become a string, and a string where only a column makes sense.

Source: the SQLite manual, "Double-quoted String Literals Are Accepted".
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import EQUALITIES, Comparison, Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.joins import column_names
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.resolutions import Scope
from answerkey.sqlite.schema import quote_name

_LITERALS_SHOWN = 3
_PLAIN_NAME = re.compile(r"[^\W\d]\w*\Z")
_CLOSE = 0.85
_SHORTEST_MISSPELT = 4
_WRAPPERS = (exp.Paren, exp.Alias, exp.Distinct, exp.Ordered, exp.Neg, exp.Collate)
_TAKES_A_COLUMN = (
    *(exp.Group, exp.Order, exp.Select),
    *(exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.GroupConcat),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod),
)


def find_double_quoted_literal(inspection: Inspection) -> list[Finding]:
    """A finding where double quotes are a risk: `WHERE name = "name"`, `ORDER BY "agee"`.

    Each literal of the evidence has one of these effects:
    reads_column: it looks like a literal, and is read as `column`;
    would_read_column: `column`, of another table, would catch it if that table were joined;
    misspelt: no column is called so and no value either, but nearly `column`;
    position: a string stands where only a column makes sense.
    """
    if '"' not in inspection.sql:
        return []
    reading = read_query(inspection)
    literals: list[dict[str, Any]] = []
    for literal in (*_find_in_comparisons(reading), *_find_in_positions(reading)):
        if literal not in literals:
            literals.append(literal)
    if not literals:
        return []
    return [Finding(Flag.DOUBLE_QUOTED_LITERAL, {"literals": literals[:_LITERALS_SHOWN]})]


def _find_in_comparisons(reading: Reading) -> Iterator[dict[str, Any]]:
    for comparison in reading.comparisons:
        for side, other in (
            (comparison.right, comparison.left),
            (comparison.left, comparison.right),
        ):
            if not _is_double_quoted(side, reading):
                continue
            if not reading.is_string(side):
                found = _find_caught(side, other, reading)
            elif reading.is_literal(other) or isinstance(other, exp.Null):
                found = {"effect": "position"}
            else:
                found = _find_uncaught(comparison, side, other, reading)
            if found is not None:
                yield {"text": side.name[:200]} | found


def _find_in_positions(reading: Reading) -> Iterator[dict[str, Any]]:
    for column in reading.scopes.nodes.find_all(exp.Column):
        if not _is_double_quoted(column, reading) or not reading.is_string(column):
            continue
        node: exp.Expression = column
        if column.name.replace(".", "", 1).isdigit():
            continue  # "10" in a sum is a number to SQLite and to its author
        while isinstance(node.parent, _WRAPPERS):
            node = node.parent
        if isinstance(node.parent, _TAKES_A_COLUMN) and node.arg_key in (
            *("this", "expressions"),
            *(("expression",) if isinstance(node.parent, exp.Binary) else ()),
        ):
            yield {"text": column.name[:200], "effect": "position"}


def _is_double_quoted(expression: exp.Expression, reading: Reading) -> bool:
    """Whether it is a name alone in double quotes; `...` and [...] are never strings."""
    return (
        isinstance(expression, exp.Column)
        and not expression.args.get("table")
        and isinstance(expression.this, exp.Identifier)
        and bool(expression.this.args.get("quoted"))
        and quote_name(expression.name) in reading.inspection.sql
    )


def _find_caught(
    side: exp.Column, other: exp.Expression, reading: Reading
) -> dict[str, Any] | None:
    """A quoted name that is a column, compared with a name that its author did not quote."""
    names = [column.this for column in other.find_all(exp.Column)]
    if isinstance(other, exp.Query) or not names:
        return None
    if any(isinstance(name, exp.Identifier) and name.args.get("quoted") for name in names):
        return None
    base, other_base = reading.base_column(side), reading.base_column(other)
    if not _PLAIN_NAME.match(side.name) and (base is None or base != other_base):
        return None  # a name that cannot be written without quotes
    column = f"{base[0].name}.{base[1].name}" if base is not None else side.name
    return {"effect": "reads_column", "column": column}


def _find_uncaught(
    comparison: Comparison, side: exp.Column, other: exp.Expression, reading: Reading
) -> dict[str, Any] | None:
    text = side.name
    for table in reading.inspection.schema.tables:
        column = table.find_column(text)
        if column is not None:
            return {"effect": "would_read_column", "column": f"{table.name}.{column.name}"}
    base = reading.base_column(other)
    if base is None or comparison.operator not in EQUALITIES | {"!="}:
        return None
    if len(text) < _SHORTEST_MISSPELT or _occurs(text, base[0].name, base[1].name, reading):
        return None
    names = _visible_names(reading.scopes.scope_of(side))
    folded = {_fold(name): name for name in names}
    close = difflib.get_close_matches(_fold(text), folded, n=1, cutoff=_CLOSE)
    return {"effect": "misspelt", "column": folded[close[0]]} if close else None


def _occurs(text: str, table: str, column: str, reading: Reading) -> bool:
    literal = reading.literal_sql(exp.Literal.string(text))
    rows = reading.values.ask(
        f"SELECT 1 FROM {quote_name(table)} WHERE {quote_name(column)} = {literal} LIMIT 1"
    )
    return rows is None or bool(rows)


def _visible_names(scope: Scope | None) -> list[str]:
    """The column names of the tables in FROM, and of those around."""
    names: list[str] = []
    while scope is not None:
        for source in scope.sources.values():
            names += column_names(source)
        scope = scope.parent
    return names


def _fold(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())

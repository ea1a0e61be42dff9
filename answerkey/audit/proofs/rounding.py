"""Proves that a sum or mean is the same in whatever order its numbers come.

Whole numbers are added without rounding, up to a size: then it is the same to its last digit, and
so is all that is computed of it or decided by it. Of numbers of one sign it is the same but for its
last digits, which makes no other answer.

`SELECT sum(price) FROM item` -> 0.6 or 0.6000000000000001: one answer. `SELECT sum(price) > 0.6` ->
0 or 1: two. A sum of -0.3, 0.1 and 0.2 -> 0.0 or 5.6e-17: two.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import quote_name

_ROUNDED = (exp.Sum, exp.Avg)
# 2**53, up to which floats hold whole numbers, by the rows that a query can add up in its steps.
_GREATEST = 2**53 // 10**8


class Rounding:
    """The sums and means of one query, with the values that its tables hold."""

    def __init__(self, scopes: Scopes, values: ColumnValues) -> None:
        self._scopes = scopes
        self.values = values
        self._has_sums = bool(scopes.nodes.find_all(*_ROUNDED))

    def is_exact(self, node: exp.Expression) -> bool:
        """Whether every sum and mean in an expression is the same to its last digit."""
        return not self._has_sums or all(
            self._adds_whole_numbers(found.this, is_mean=isinstance(found, exp.Avg))
            for found in node.find_all(*_ROUNDED)
        )

    def is_close(self, output: exp.Expression) -> bool:
        """Whether a result column is the same but for the last digits of floats: it is exact, or
        nothing more than a sum or mean of numbers of one sign."""
        output = output.unnest()
        return self.is_exact(output) or (
            isinstance(output, _ROUNDED) and self._adds_one_sign(output.this)
        )

    def _adds_whole_numbers(self, added: exp.Expression, *, is_mean: bool) -> bool:
        added = added.unnest()
        if isinstance(added, exp.Literal):
            return added.is_int and abs(int(added.this)) <= _GREATEST
        if isinstance(added, exp.Case | exp.If):
            return all(
                self._adds_whole_numbers(result, is_mean=is_mean) for result in _results_of(added)
            )
        facts = self._read_facts(added)
        if facts is None:
            return False
        others, fractions, least, greatest = facts
        return not fractions and (
            (not others and not is_mean)  # SQLite adds integers as such, not as floats
            or max(abs(least), abs(greatest)) <= _GREATEST
        )

    def _adds_one_sign(self, added: exp.Expression) -> bool:
        facts = self._read_facts(added.unnest())
        return facts is not None and (facts[2] >= 0 or facts[3] <= 0)

    def _read_facts(self, added: exp.Expression) -> tuple[float, float, float, float] | None:
        """Of a column: how many values are no integers, how many have a fraction (or are text), the
        least and the greatest value."""
        found = self._scopes.resolve(added) if isinstance(added, exp.Column) else None
        if found is None or not found.is_direct or found.column is None:
            return None
        name = quote_name(found.column.name)
        is_other = f"typeof({name}) NOT IN ('integer', 'null')"
        has_fraction = f"(typeof({name}) <> 'real' OR {name} <> CAST({name} AS INTEGER))"
        number = f"CAST({name} AS REAL)"
        rows = self.values.ask(
            f"SELECT total({is_other}), total({is_other} AND {has_fraction}),"
            f" ifnull(min({number}), 0), ifnull(max({number}), 0)"
            f" FROM {quote_name(found.table.name)}"
        )
        return rows[0] if rows else None


def _results_of(choice: exp.Expression) -> list[exp.Expression]:
    """The values that CASE or iif() may give. NULL, where there is no ELSE, adds nothing."""
    branches = choice.args["ifs"] if isinstance(choice, exp.Case) else [choice]
    results = [branch.args["true"] for branch in branches]
    default = choice.args.get("default" if isinstance(choice, exp.Case) else "false")
    return results if default is None else [*results, default]

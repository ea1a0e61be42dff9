"""Guesses: what a policy would answer that has seen the tables' names and not the question.

It is a fixed list:
- 0 and 1;
- the number of rows of each table of the query;
- for each column that the answer is made of: the first value and the last, the least, the greatest,
  the most frequent, the number of distinct values, their sum and their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues
from answerkey.audit.comparisons import Reading
from answerkey.sql.query_parts import first_select
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import fold_name, quote_name

_CONSTANTS = (0, 1)
_COUNT, _OFTEN = "count", "often"
_AGGREGATES = {
    "min": "min({column})",
    "max": "max({column})",
    _COUNT: "count(DISTINCT {column})",
    "sum": "sum({column})",
    "avg": "avg({column})",
}
_AGGREGATE_NAMES: dict[type[exp.Expression], str] = {
    exp.Count: _COUNT,
    exp.Min: "min",
    exp.Max: "max",
    exp.Sum: "sum",
    exp.Avg: "avg",
}
_FROM_PARTS = {
    "first": "{table} LIMIT 1",
    "last": "{table} ORDER BY rowid DESC LIMIT 1",
    _OFTEN: "{table} WHERE {column} IS NOT NULL GROUP BY 1 HAVING count(*) > 1"
    " ORDER BY count(*) DESC, 1 LIMIT 1",
}
_NARROWING_CLAUSES = ("where", "having", "joins", "with_", "distinct", "offset")


@dataclass(frozen=True, slots=True)
class Guess:
    """A trivial query, which is executed when its value is needed.

    is_asked: the question asks for just that, so that it is an honest answer and no guess.
    statement, place: where the value stands; one statement answers several guesses.
    """

    sql: str
    is_asked: bool
    statement: str | None = None
    place: int = 0
    needs_own_statement: bool = False

    def read(self, values: ColumnValues) -> Value:
        """The value, or None where there is none."""
        if self.statement is None:
            return int(self.sql)
        rows = values.ask(self.statement)
        return rows[0][self.place] if rows else None


def list_guesses(reading: Reading) -> list[Guess]:
    """The trivial queries on the tables of a query.

    For `SELECT max(year) FROM ship WHERE ...`: 0, 1, `SELECT count(*) FROM "ship"`,
    `SELECT min("year") FROM "ship"` and so on. Any count is what an unfiltered count asks for.
    """
    asked = _find_asked(reading.inspection.tree)
    guesses = [Guess(str(number), False) for number in _CONSTANTS]
    for table in reading.tables:
        sql = f"SELECT count(*) FROM {quote_name(table.name)}"
        guesses.append(Guess(sql, asked == _COUNT, sql))
    for names in _selected_columns(reading):
        guesses += _guess_column(*map(quote_name, names), asked)
    return guesses


def _selected_columns(reading: Reading) -> list[tuple[str, str]]:
    """The columns of tables that the one value of the answer is made of."""
    select = first_select(reading.inspection.tree)
    outputs = reading.scopes.outputs(select) if select is not None else []
    if not outputs:
        return []
    output = outputs[0]
    if output.expression is None:
        found = [output.resolution]
    else:
        found = [
            reading.scopes.resolve(column) for column in output.expression.find_all(exp.Column)
        ]
    return list(
        dict.fromkeys((r.table.name, r.column.name) for r in found if r and r.table and r.column)
    )


def _guess_column(table: str, column: str, asked: str | None) -> list[Guess]:
    guesses: list[Guess] = []
    aggregates = [aggregate.format(column=column) for aggregate in _AGGREGATES.values()]
    statement = f"SELECT {', '.join(aggregates)} FROM {table}"
    for place, (name, aggregate) in enumerate(zip(_AGGREGATES, aggregates, strict=True)):
        guesses.append(Guess(f"SELECT {aggregate} FROM {table}", name == asked, statement, place))
    for name, part in _FROM_PARTS.items():
        sql = f"SELECT {column} FROM {part.format(table=table, column=column)}"
        guesses.append(Guess(sql, name == asked, sql, needs_own_statement=True))
    return guesses


def _find_asked(tree: exp.Expression) -> str | None:
    """Which trivial query of one whole table a query is, or None.

    An aggregate alone; ORDER BY a LIMIT 1 of a itself (min, max); and GROUP BY a ORDER BY count(*)
    DESC LIMIT 1 (often).
    """
    if not isinstance(tree, exp.Select) or any(map(tree.args.get, _NARROWING_CLAUSES)):
        return None
    start = tree.args.get("from_")
    if start is None or not isinstance(start.this, exp.Table) or len(tree.expressions) != 1:
        return None
    selected = tree.expressions[0].unalias().unnest()
    group, order = tree.args.get("group"), tree.args.get("order")
    if order is None and group is None:
        is_of_column = isinstance(selected.this, exp.Column | exp.Star | exp.Distinct)
        return _AGGREGATE_NAMES.get(type(selected)) if is_of_column else None
    if order is None or tree.args.get("limit") is None or not isinstance(selected, exp.Column):
        return None
    key, is_descending = order.expressions[0].this, bool(order.expressions[0].args.get("desc"))
    if group is None:
        return ("max" if is_descending else "min") if _is_same_name(key, selected) else None
    is_grouped_by_it = len(group.expressions) == 1 and _is_same_name(group.expressions[0], selected)
    is_most_frequent = isinstance(key, exp.Count) and is_descending
    return _OFTEN if is_grouped_by_it and is_most_frequent else None


def _is_same_name(left: exp.Expression, right: exp.Expression) -> bool:
    return isinstance(left, exp.Column) and fold_name(left.name) == fold_name(right.name)

"""all_null: the answer has several values, and each of them is NULL."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations

from sqlglot import exp

from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import Reading, read_query
from answerkey.records import Finding, encode_json
from answerkey.sql.query_parts import first_select, selects_of
from answerkey.sql.query_rewrites import show_sql, to_sql
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.column_values import ColumnValues
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import fold_name, quote_name


def find_all_null(inspection: Inspection) -> list[Finding]:
    """A finding where the answer has rows, and every value in them is NULL."""
    rows = inspection.rows
    if not rows or any(value is not None for row in rows for value in row):
        return []
    return [Finding("all_null", {"rows": len(rows), "columns": len(rows[0])})]


# boolean_answer: the answer is one of two values, so that a guess is right half of the time.


_BOOLEAN_TEXTS = frozenset({"yes", "no", "true", "false", "t", "f", "y", "n"})


def find_boolean_answer(inspection: Inspection) -> list[Finding]:
    """A finding where the answer is one value out of two: 0 or 1, yes or no, true or false."""
    if not inspection.is_scalar:
        return []
    value = inspection.rows[0][0]
    is_boolean = (isinstance(value, int) and value in (0, 1)) or (
        isinstance(value, str) and value.strip().lower() in _BOOLEAN_TEXTS
    )
    return [Finding("boolean_answer", {"answer": value})] if is_boolean else []


# duplicate_rows: the answer has equal rows, of which DISTINCT would keep one.


def find_duplicate_rows(inspection: Inspection) -> list[Finding]:
    """A finding where rows of the answer are equal, value by value: 1 and 1.0 are, and so are two
    NULLs, as for DISTINCT."""
    rows = inspection.rows
    distinct = len(set(rows))
    if distinct == len(rows):
        return []
    return [Finding("duplicate_rows", {"rows": len(rows), "distinct": distinct})]


# empty_answer: any query that finds nothing would be right.


def find_empty_answer(inspection: Inspection) -> list[Finding]:
    """A finding where the answer has no row."""
    return [] if inspection.rows else [Finding("empty_answer", {"rows": 0})]


# empty_table: the query reads a table that has no row.


_TABLES_SHOWN = 5


def find_empty_table(inspection: Inspection) -> list[Finding]:
    """A finding where a table or view that the query names has no row."""
    reading = read_query(inspection)
    empty = [table.name for table in reading.tables if not reading.values.has_row(table.name)]
    return [Finding("empty_table", {"tables": empty[:_TABLES_SHOWN]})] if empty else []


# Guesses: what a policy would answer that has seen the tables' names and not the question.
#
# It is a fixed list:
# - 0 and 1;
# - the number of rows of each table of the query;
# - for each column that the answer is made of: the first value and the last, the least, the
#   greatest,
#   the most frequent, the number of distinct values, their sum and their mean.


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


# guessable: trivial queries on the same tables, such as counting rows, give the same answer.
#
# answerkey.probes.answers lists these queries.


_GUESSES_SHOWN = 5
_TEXT_SHOWN = 200


def find_guessable(inspection: Inspection) -> list[Finding]:
    """A finding where the score is `min_guess_score` or more.

    The score: of the guesses that are a text where the answer is one, and a number where it is one,
    the share that equals the answer. The trivial query that the question itself asks for is no
    guess: `SELECT count(*) FROM ship` stays an honest question.
    """
    if not inspection.is_scalar or inspection.rows[0][0] is None:
        return []
    reading, answer = read_query(inspection), inspection.rows[0][0]
    min_score = inspection.thresholds.min_guess_score
    guesses = list_guesses(reading)
    left = sum(not guess.is_asked for guess in guesses)
    count = 0
    right: dict[int, str] = {}
    for place, guess in sorted(enumerate(guesses), key=lambda pair: pair[1].needs_own_statement):
        most = len(right) + left  # what may still be right; more than that is not asked for
        if not most or most / (count + left) < min_score:
            return []
        left -= not guess.is_asked
        value = guess.read(reading.values)
        if value is None or isinstance(value, str) != isinstance(answer, str):
            continue
        count += 1
        if not guess.is_asked and answers_match(answer, value, ordered=False):
            right[place] = guess.sql
    if not right or len(right) / count < min_score:
        return []
    evidence = {
        "score": round(len(right) / count, 3),
        "guesses": count,
        "right": [right[place][:_TEXT_SHOWN] for place in sorted(right)[:_GUESSES_SHOWN]],
    }
    return [Finding("guessable", evidence)]


# many_rows: the answer has more rows than params allow.


def find_many_rows(inspection: Inspection) -> list[Finding]:
    """A finding where the answer has more than `max_rows` rows."""
    rows = len(inspection.rows)
    return [Finding("many_rows", {"rows": rows})] if rows > inspection.thresholds.max_rows else []


# repeated_column: the query selects one thing twice, where its question may ask for two.


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
    return [Finding("repeated_column", {"expressions": list(dict.fromkeys(texts))})]


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


# too_large: the answer is longer, as JSON, than params allow.


def find_too_large(inspection: Inspection) -> list[Finding]:
    """A finding where the answer as JSON has more than `max_bytes` bytes."""
    size = len(encode_json(shape_answer(inspection.rows)))
    return [Finding("too_large", {"bytes": size})] if size > inspection.thresholds.max_bytes else []


PROBES = (
    find_all_null,
    find_boolean_answer,
    find_duplicate_rows,
    find_empty_answer,
    find_empty_table,
    find_guessable,
    find_many_rows,
    find_repeated_column,
    find_too_large,
)

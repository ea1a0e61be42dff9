"""Answers as JSON values: their shape, their type, and when two of them are the same answer."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any, NotRequired, TypedDict

INTEGER, FLOAT, STRING, LIST, TABLE = ANSWER_TYPES = ("integer", "float", "string", "list", "table")

REL_TOL = 1e-6  # relative tolerance between floats, unless a rule sets another
# The bounds of a residue, the error that rounding leaves in place of 0 (see `drop_residue`). It is
# smaller than the first: the last bit of 2,048, or half a byte in terabytes. It is a power of two,
# times a whole number of at most this many bits, or times a fraction of two whole numbers up to the
# last.
_MAX_RESIDUE, _RESIDUE_BITS, _RESIDUE_PARTS = 2.0**-41, 20, 1000
_MIN_RESIDUE = sys.float_info.min  # floats below have fewer bits

Row = tuple[Any, ...]
Floats = tuple[float, ...]

# Whether the order of rows counts: False, not at all; True, fully; or the lengths of consecutive
# segments, each with its rows in any order.
Order = bool | Sequence[int]


def shape_answer(rows: Sequence[Sequence[Any]]) -> Any:
    """Return the JSON value of a query's rows: a scalar, a list, or a list of rows.

    >>> shape_answer([(3,)])
    3
    >>> shape_answer([("a",), ("b",)])
    ['a', 'b']
    >>> shape_answer([("a", 1)])
    [['a', 1]]
    >>> shape_answer([])
    []
    """
    if not rows:
        return []
    if len(rows[0]) > 1:
        return [list(row) for row in rows]
    if len(rows) > 1:
        return [row[0] for row in rows]
    return rows[0][0]


def answer_rows(answer: Any) -> list[tuple[Any, ...]]:
    """Return the rows of an answer: the reverse of `shape_answer`.

    >>> answer_rows(3), answer_rows(["a", "b"]), answer_rows([["a", 1]])
    ([(3,)], [('a',), ('b',)], [('a', 1)])
    """
    if not isinstance(answer, list):
        return [(answer,)]
    return [tuple(row) if isinstance(row, list) else (row,) for row in answer]


def check_answer(name: str, answer: Any) -> Any:
    """Return an answer if it has a shape that `shape_answer` gives.

    >>> check_answer("gold_answer", [["a", 1], ["b", None]])
    [['a', 1], ['b', None]]

    Raises:
        ValueError: it is an object, or holds lists or objects in place of values.
    """
    values = answer if isinstance(answer, list) else [answer]
    kinds = {*map(type, values)}
    if kinds and kinds <= {list, tuple}:
        kinds = {*map(type, chain.from_iterable(values))}
        if len({*map(len, values)}) > 1:
            raise ValueError(f"{name}: expected rows of one length, found {answer!r:.80}")
    if kinds & {dict, list, tuple}:
        expected = 'a value (7), a list of values (["a", "b"]) or rows ([["a", 7], ["b", 8]])'
        raise ValueError(f"{name}: expected {expected}, found {answer!r:.80}")
    return answer


def classify_answer_type(gold_answer: Any) -> str:
    """Return integer, float or string for one value, list for n x 1 and no row, table for n x m.

    >>> [classify_answer_type(answer) for answer in (3, 2.5, "x", ["x", None], [], [["x", 1]])]
    ['integer', 'float', 'string', 'list', 'list', 'table']
    >>> classify_answer_type([(1, 2), (3, 4)])  # as SQLite gives rows
    'table'

    Raises:
        ValueError: the answer is one NULL, which has no type, or a value that SQLite never gives.
    """
    if isinstance(gold_answer, list):
        return TABLE if gold_answer and isinstance(gold_answer[0], list | tuple) else LIST
    scalar_types = {int: INTEGER, float: FLOAT, str: STRING}
    if (kind := type(gold_answer)) not in scalar_types:
        expected = "an integer, float, string, list or table"
        raise ValueError(f"No answer type for {gold_answer!r}: expected {expected}")
    return scalar_types[kind]


def has_choice(accepted_rows: Sequence[Any] | None) -> bool:
    """Return whether LIMIT cuts through a tie, so that a right answer may have other rows than
    gold.

    >>> has_choice([1, 2]), has_choice([1, {"rows": [["b"], ["c"]], "take": 1}])
    (False, True)
    """
    return any(isinstance(segment, dict) for segment in accepted_rows or ())


def list_takes(accepted_rows: Sequence[Any]) -> list[int]:
    """Return how many rows of each segment are in a right answer.

    >>> list_takes([1, {"rows": [["b"], ["c"], ["d"]], "take": 2}])
    [1, 2]
    """
    return [part["take"] if isinstance(part, dict) else part for part in accepted_rows]


def read_order(order_matters: bool, accepted_rows: Sequence[Any] | None) -> Order:
    """Return the `Order` of the gold answer's own rows, from the fields of a sidecar.

    >>> read_order(True, None), read_order(True, [1, 1]), read_order(True, [1, 2])
    (True, True, [1, 2])
    """
    if not order_matters or accepted_rows is None:
        return order_matters
    takes = list_takes(accepted_rows)
    return True if max(takes) == 1 else takes


class OrderFields(TypedDict):
    """An order as the fields of a sidecar."""

    order_matters: bool
    accepted_rows: Sequence[int] | None


def write_order(order: Order) -> OrderFields:
    """Return an `Order` as fields of a sidecar.

    >>> write_order(True), write_order([1, 2])["accepted_rows"]
    ({'order_matters': True, 'accepted_rows': None}, [1, 2])
    """
    return {
        "order_matters": bool(order),
        "accepted_rows": None if isinstance(order, bool) else order,
    }


def answers_match(
    expected: Any,
    actual: Any,
    *,
    ordered: Order,
    rel_tol: float = REL_TOL,
    abs_tol: float = 0.0,
) -> bool:
    """Return whether two answers are the same: as multisets of rows, or in their `Order`.

    >>> answers_match(["b", "a"], ["a", "b"], ordered=False)
    True
    >>> answers_match(["b", "a"], ["a", "b"], ordered=True)
    False
    >>> answers_match(["c", "b", "a"], ["c", "a", "b"], ordered=[1, 2])
    True
    >>> answers_match(1, "1", ordered=False), answers_match(1, 1.0, ordered=False)
    (False, False)
    >>> answers_match(0.1 + 0.2, 0.3, ordered=False)
    True

    Integers, strings and NULL are compared exactly, floats within a relative or an absolute
    tolerance. A value never equals one of another type. A rounding error in place of 0 counts as 0
    (`drop_residue`). Rows whose floats are close are paired in sorted order.
    """
    rows, others = answer_rows(expected), answer_rows(actual)
    return match_rows(rows, others, ordered=ordered, rel_tol=rel_tol, abs_tol=abs_tol)


def match_rows(
    left: list[Row], right: list[Row], *, ordered: Order, rel_tol: float, abs_tol: float = 0.0
) -> bool:
    """Return `answers_match` for rows.

    >>> match_rows([("a", 1.0)], [("a", 1.004)], ordered=False, rel_tol=0.0, abs_tol=0.01)
    True
    """
    if len(left) != len(right):
        return False
    if are_same_rows(left, right):
        return True  # nearly always, and much faster
    match_parts = partial(match_rows, ordered=False, rel_tol=rel_tol, abs_tol=abs_tol)
    if ordered is True:
        return all(match_parts([row], [other]) for row, other in zip(left, right, strict=True))
    if ordered:
        return all(
            match_parts(left[start:end], right[start:end])
            for start, end in pairwise(accumulate(ordered, initial=0))
        )
    are_near = partial(are_close, rel_tol=rel_tol, abs_tol=abs_tol)
    groups = group_rows(left, right, rel_tol=rel_tol, abs_tol=abs_tol)
    return all(
        len(floats) == len(others) and all(map(are_near, floats, others))
        for floats, others in groups.values()
    )


def are_same_rows(left: list[Row], right: list[Row]) -> bool:
    """Return whether two lists hold the same rows in the same order; 1 is not 1.0."""
    if left != right:  # checked first, since types take longer
        return False
    types, others = ([type(value) for row in side for value in row] for side in (left, right))
    return types == others


def group_rows(
    left: list[Row], right: list[Row], *, rel_tol: float, abs_tol: float
) -> dict[Row, tuple[list[Floats], list[Floats]]]:
    """Return the sorted floats of the rows of both sides, by the other values of these rows.

    >>> groups = group_rows([("a", 1.0), ("b", 2.0)], [("a", 3.0)], rel_tol=0.0, abs_tol=0.0)
    >>> list(groups.values())
    [([(1.0,)], []), ([(2.0,)], []), ([], [(3.0,)])]
    """
    groups: dict[Row, tuple[list[Floats], list[Floats]]] = defaultdict(lambda: ([], []))
    joined = join_close([value for row in (*left, *right) for value in row], rel_tol, abs_tol)
    for side, rows in enumerate((left, right)):
        for row in rows:
            floats = tuple(drop_residue(value) for value in row if type(value) is float)
            groups[code_row(row, joined)][side].append(floats)
    for group in groups.values():
        group[0].sort()
        group[1].sort()
    return groups


def join_close(values: Iterable[Any], rel_tol: float, abs_tol: float) -> dict[float, float]:
    """Return the smallest float that a chain of close floats joins to each float.

    >>> join_close([0.3, "a", 2.0, 0.1 + 0.2], 1e-6, 0.0)
    {0.3: 0.3, 0.30000000000000004: 0.3, 2.0: 2.0}
    """
    values = sorted({value for value in values if type(value) is float})
    dropped = {value: drop_residue(value) for value in values}
    first_of: dict[float, float] = {}
    last = first = math.nan
    for value in sorted({*dropped.values()}):
        if not math.isclose(last, value, rel_tol=rel_tol, abs_tol=abs_tol):
            first = value
        first_of[value] = first
        last = value
    return {value: first_of[left] for value, left in dropped.items()}


def drop_residue(value: float) -> float:
    """Return 0.0 for a rounding error in place of 0, else the value.

    >>> drop_residue(0.1 + 0.2 - 0.3), drop_residue((0.1 + 0.2 - 0.3) / 7), drop_residue(1e9 + 0.3)
    (0.0, 0.0, 1000000000.3)
    >>> drop_residue(1e-9), drop_residue(1.6e-19), drop_residue(1e-9 / 3) == 1e-9 / 3
    (1e-09, 1.6e-19, True)

    An absolute tolerance must be small beside the values that were added, which an answer does not
    show. But the error of a sum has a form. It is a power of two (0.1 + 0.2 - 0.3 is 2 ** -54)
    times a small whole number, which grows with the number of values and their range. An average of
    such errors is a fraction of one. Bytes counted in terabytes have this form, too, and one byte
    is 2 ** -40. So a residue must be smaller than that, which covers sums of up to 2,048. Three of
    10 ** 10 other floats have this form by chance, and no decimal of up to four digits has.
    """
    if not _MIN_RESIDUE <= abs(value) < _MAX_RESIDUE:
        return value
    mantissa, _ = math.frexp(value)
    if math.ldexp(mantissa, _RESIDUE_BITS).is_integer():
        return 0.0
    near = Fraction(mantissa).limit_denominator(_RESIDUE_PARTS)
    return 0.0 if near.numerator / near.denominator == mantissa else value


def code_row(row: Row, joined: dict[float, float]) -> Row:
    """Return a row that is equal for rows that may be the same, types included."""
    return tuple(
        (joined[value],) if type(value) is float else (type(value), value) for value in row
    )


def are_close(left: Floats, right: Floats, rel_tol: float, abs_tol: float) -> bool:
    return all(
        math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
        for a, b in zip(left, right, strict=True)
    )


class OtherAnswer(TypedDict):
    """Another right query of a question, and its answer.

    order_matters, accepted_rows: as those of gold, for this query; there where they are known, and
        differ from a sequence that is certain. Without them the sequence counts if gold's does.
    """

    sql: str
    answer: Any
    order_matters: NotRequired[bool]
    accepted_rows: NotRequired[Sequence[Any] | None]

"""Numbers that a column holds as text, and what a query answers if they are read as numbers."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

from answerkey.doubts.query import read_query
from answerkey.engines.database import Value
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.sql.query_tree import unwrap

_NUMBER = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)
_GROUPED_NUMBER = re.compile(r"\s*[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?\s*", re.ASCII)
# a number, and a unit: percent, letters, or the minutes and seconds of a time
_WITH_UNIT = re.compile(
    r"\s*[-+]?(\d+)(?:\.\d+)?\s*(%|[a-z]+\.?|(?::[0-5]\d){1,2})\s*", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")


def looks_like_number(text: str) -> bool:
    """Return whether a text is a number as people write them.

    >>> [looks_like_number(text) for text in ("12", "-3.5", "1,200", "1e3", "12 kg", "", "1,2")]
    [True, True, True, True, False, False, False]
    """
    return bool(_NUMBER.fullmatch(text) or _GROUPED_NUMBER.fullmatch(text))


def share_of_numbers(texts: list[str]) -> float:
    """Return the share of texts that look like numbers; 0 if there is no text."""
    return sum(map(looks_like_number, texts)) / len(texts) if texts else 0.0


def share_of_one_unit(texts: list[str]) -> float:
    """Return the share of texts that begin with a number and end with the same unit: '22.7%',
    '9 kg', '4:32'. It is 0 for codes, and if leading zeros make all numbers equally long.

    >>> [share_of_one_unit(texts) for texts in (["9.5%", "22%"], ["4:32"], ["04:32"], ["A1"])]
    [1.0, 1.0, 0.0, 0.0]
    """
    matches = [match for text in texts if (match := _WITH_UNIT.fullmatch(text)) is not None]
    units = Counter(_DIGITS.sub("9", match[2].lower()) for match in matches)
    is_padded = len({len(match[1]) for match in matches}) == 1 and any(
        len(match[1]) > 1 and match[1].startswith("0") for match in matches
    )
    return 0.0 if is_padded or not units else max(units.values()) / len(texts)


def is_out_of_order(texts: list[str]) -> bool:
    """Return whether numbers come in another order if they are sorted as text.

    >>> is_out_of_order(["95", "1200"]), is_out_of_order(["1990", "2001"])
    (True, False)
    """
    numbers = [read_text_number(text) for text in sorted(texts) if looks_like_number(text)]
    return any(
        isinstance(one, float) and isinstance(other, float) and one > other
        for one, other in pairwise(numbers)
    )


def read_text_number(value: Value) -> Value:
    """Return the number that an integer or a text is, and any other value as it is.

    >>> [read_text_number(value) for value in (3, "1,200", "12 kg", None)]
    [3.0, 1200.0, '12 kg', None]
    """
    if isinstance(value, int):
        return float(value)
    if isinstance(value, str) and looks_like_number(value):
        return float(value.replace(",", ""))
    return value


def compare_answers(inspection: Inspection, sql: str) -> dict[str, Any]:
    """Return the answer of gold and that of a query which reads text as numbers, as evidence.

    It is empty if they are the same, whether a number is written as text or not, or if that query
    fails.
    """
    rows = read_query(inspection).ask(sql)
    if rows is None:
        return {}
    is_ordered = unwrap(inspection.tree).args.get("order") is not None
    own, others = (
        [tuple(map(read_text_number, row)) for row in side] for side in (inspection.rows, rows)
    )
    if inspection.matches(own, others, ordered=is_ordered):
        return {}
    return {"answer": show_rows(inspection.rows), "answer_by_number": show_rows(rows)}

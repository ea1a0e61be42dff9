"""Rows of a file, which is not to be written without any: readers fail on one without rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeVar

Row = TypeVar("Row")


def unless_empty(rows: Iterable[Row]) -> Iterator[Row] | None:
    """The same rows; None where there are none.

    >>> list(unless_empty("ab")), unless_empty("")
    (['a', 'b'], None)
    """
    remaining = iter(rows)
    for first in remaining:
        return chain([first], remaining)
    return None

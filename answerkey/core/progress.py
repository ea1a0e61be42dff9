"""Progress bars where a person waits, and none where nobody looks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def track_progress(
    items: Iterable[Item], description: str, *, unit: str, total: int | None = None
) -> Iterator[Item]:
    """The same items, with a bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, desc=description, unit=unit, total=total, leave=False)


@contextlib.contextmanager
def hide_progress() -> Iterator[None]:
    """The bar, where there is one, out of the way of what is written in the block."""
    if not sys.stderr.isatty():
        yield
        return
    from tqdm import tqdm

    with tqdm.external_write_mode(file=sys.stderr):
        yield

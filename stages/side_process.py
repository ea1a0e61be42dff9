"""A process beside the stage, for work that needs no more of it than its arguments."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from stages.child_process import follow_parent


def open_side_process(initializer: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """A pool of one process, which `initializer` is called in first; an error of what it is given
    to do is raised by the result that it is asked for.

    It is spawned, not forked: a JavaScript engine or a thread of Arrow that this process has would
    hang in a copy of it.
    """
    return ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=_start, initargs=(initializer,)
    )


def _start(initializer: Callable[[], None] | None) -> None:
    follow_parent()
    if initializer is not None:
        initializer()

"""A process beside the stage, for work that needs no more of it than its arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from stages.process_pool import ProcessPool, open_pool


def open_side_process(
    initializer: Callable[[], None] | None = None,
) -> AbstractContextManager[ProcessPool]:
    """A pool of one process, in which `initializer` is called first, if there is one; an error of
    what it is given to do is raised by the result that it is asked for.

    It is spawned, not forked: a thread of Arrow that this process has would hang in a copy of it.
    """
    return open_pool(1, method="spawn", initializer=initializer)

"""A process beside the stage, for work that needs no more of it than its arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool

from answerkey.core.errors import InputError
from answerkey.shards.process_pool import ProcessPool, open_pool


@contextlib.contextmanager
def open_side_process(
    task: str, *, initializer: Callable[[], None] | None = None
) -> Iterator[ProcessPool]:
    """A pool of one process, in which `initializer` is called first, if there is one; an error of
    what it is given to do is raised by the result that it is asked for.

    It is spawned, not forked: a thread of Arrow that this process has would hang in a copy of it.

    task: what it does, for a message: "writes data/exports/huggingface".

    Raises:
        InputError: where the process was killed and its result was asked for.
    """
    try:
        with open_pool(1, method="spawn", initializer=initializer) as pool:
            yield pool
    except BrokenProcessPool as error:
        raise InputError(
            f"The process that {task} was killed, perhaps for want of memory, before it was done:"
            " run `dvc repro` again, which goes on from here"
        ) from error

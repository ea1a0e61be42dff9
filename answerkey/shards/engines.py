"""Engines: where the tasks of a run are worked on, which changes no result."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from answerkey.core.errors import InputError
from answerkey.shards.processes import Died, map_in_processes
from answerkey.shards.ray_engine import map_on_ray

Task = TypeVar("Task")
Result = TypeVar("Result")

LOCAL = "local"  # processes of this machine
RAY = "ray"  # a Ray cluster


def map_with_engine(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, engine: str, workers: int
) -> Generator[tuple[Task, Result | Died], None, None]:
    """Each task with its result, in the order of completion; `Died` where its worker died.

    workers: 0 for as many as there are cores, here or in the cluster.

    Raises:
        InputError: where there is no such engine, workers is not a whole number from 0, or the
            engine is Ray, and Ray is not installed.
    """
    local_workers = count_workers(workers)
    if engine == LOCAL:
        return map_in_processes(function, tasks, workers=local_workers)
    if engine == RAY:
        return map_on_ray(function, tasks, workers=workers, local_workers=local_workers)
    raise InputError(f"execution.engine: expected {LOCAL} or {RAY}, found {engine!r}")


def count_workers(workers: int) -> int:
    """How many processes to use: `workers`, or the cores that this process may use if it is 0.

    Raises:
        InputError: where workers is not a whole number from 0.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise InputError(f"execution.workers: expected a whole number from 0, found {workers!r}")
    if workers:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""Engines: where the tasks of a run are worked on, which changes no result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from answerkey.core.errors import InputError
from answerkey.shards.ray_engine import map_on_ray
from answerkey.shards.workers import count_workers, map_unordered

Task = TypeVar("Task")
Result = TypeVar("Result")

LOCAL = "local"  # processes of this machine
RAY = "ray"  # a Ray cluster


def map_with_engine(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, engine: str, workers: int
) -> Generator[tuple[Task, Result | None], None, None]:
    """Each task with its result, in the order of completion; None where it killed two workers.

    workers: 0 for as many as there are cores, here or in the cluster.

    Raises:
        InputError: where there is no such engine, or workers is not a whole number from 0.
        ModuleNotFoundError: where the engine is Ray, and Ray is not installed.
    """
    local_workers = count_workers(workers)
    if engine == LOCAL:
        return map_unordered(function, tasks, workers=local_workers)
    if engine == RAY:
        return map_on_ray(function, tasks, workers=workers, local_workers=local_workers)
    raise InputError(f"execution.engine: expected {LOCAL} or {RAY}, found {engine!r}")

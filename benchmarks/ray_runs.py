"""The stages that execute queries, on a Ray cluster of this machine that loses a worker."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from measure import Cost
from worlds import ROOT, World

sys.path.append(str(ROOT))  # as the tests have it

from tests.shared.processes import find_processes, kill, start_cluster

SHARDS = {"compute_gold_answers": "gold_answers", "audit_gold_answers": "audit"}
_LOOKS_PER_S = 50


class RayRun(NamedTuple):
    """A stage on a cluster of so many workers: the cost of the process that asks them, how many of
    them were killed, and whether shards and summary are as those that local processes made."""

    workers: int
    stage: str
    cost: Cost
    killed: int
    is_same: bool


def measure_on_ray(world: World, workers: int, printed: Mapping[str, str]) -> Iterator[RayRun]:
    """Run the stages again from nothing, in a world where local processes have run them.

    printed: what each stage said then.
    """
    mark = uuid.uuid4().hex
    with start_cluster(cpus=workers, mark=mark) as variables, _environment(variables):
        world.set_param("execution.engine", "ray")
        for stage, name in SHARDS.items():
            folder = world.folder / "data" / "interim" / name
            expected = hash_files(folder)
            world.forget(name)
            with _kill_halfway(folder, len(expected), mark) as killed:
                cost, said = world.listen_to_stage(stage)
            is_same = hash_files(folder) == expected and said.endswith(printed[stage])
            yield RayRun(workers, stage, cost, len(killed), is_same)
        world.set_param("execution.engine", "local")


def hash_files(folder: Path) -> dict[str, str]:
    """sha256 of each file of a folder, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


@contextlib.contextmanager
def _kill_halfway(folder: Path, shards: int, mark: str) -> Iterator[list[int]]:
    """Meanwhile, kill a worker that is at work once half of the shards are there; the workers that
    were killed."""
    killed: list[int] = []
    is_over = threading.Event()

    def watch() -> None:
        while not killed and not is_over.wait(1 / _LOOKS_PER_S):
            if folder.is_dir() and sum(1 for _ in folder.iterdir()) >= shards / 2:
                killed.extend(find_processes(mark, name="ray::work")[:1])
                kill(killed)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()

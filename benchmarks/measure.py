"""Measure the cost of commands, as the operating system counts it, and print tables of costs."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Cost(NamedTuple):
    """The cost of one run of a command.

    cpu_s: of the process and all processes that it waited for, such as workers.
    peak_bytes: resident memory of the largest one of these processes.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int


Line = tuple[str, ...]


def measure_rows(
    rows: Mapping[str, Callable[[], Iterable[Line]]], chosen: Collection[str]
) -> Iterator[Line]:
    """Yield the chosen rows of a table, each as soon as it is measured, its number before it."""
    for number, measure in rows.items():
        if number in chosen:
            for line in measure():
                yield number, *line


def run(*command: str, folder: Path | None = None) -> tuple[Cost, str]:
    """Return the cost of a command, and its output.

    On Linux, a new process counts the memory of its parent as its own peak. So the caller must stay
    small: large work belongs in a separate process.

    Raises:
        RuntimeError: it fails; with its output.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "1"}
    variables.pop("PYTHONPATH", None)
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # each process would compile every module
    with tempfile.TemporaryFile() as printed:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=variables, stdout=printed, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{output}")
    cost = Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT)
    return cost, output


def add_costs(costs: Iterable[Cost]) -> Cost:
    """Return the cost of commands that ran one after another."""
    costs = list(costs)
    return Cost(
        sum(cost.wall_s for cost in costs),
        sum(cost.cpu_s for cost in costs),
        max(cost.peak_bytes for cost in costs),
    )


def show_seconds(values: Sequence[float]) -> str:
    """Return the median of some seconds, with all of them in brackets if there are several.

    >>> show_seconds([3.0, 1.0, 1.25]), show_seconds([0.5])
    ('1.25 (3.00, 1.00, 1.25)', '0.50')
    """
    shown = f"{median(values):.2f}"
    if len(values) > 1:
        shown += f" ({', '.join(f'{value:.2f}' for value in values)})"
    return shown


def show_ratio(values: Sequence[float], limit: Sequence[float]) -> str:
    """Return the ratio of two medians.

    >>> show_ratio([2.0, 3.0, 4.0], [2.0])
    '1.50'
    """
    return f"{median(values) / median(limit):.2f}"


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table in Markdown, each row as it comes."""
    print(f"| {' | '.join(header)} |")
    print(f"|{'---|' * len(header)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)
    print(flush=True)


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe_machine() -> str:
    """Return what the numbers depend on beside the code, with the present load of the machine."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{count_cores()} cores ({platform.machine()}), Python {platform.python_version()},"
        f" SQLite {sqlite3.sqlite_version}; load averages now: {load}"
    )


def announce(message: str) -> None:
    """Show a person what is being measured."""
    print(f"... {message}", file=sys.stderr, flush=True)

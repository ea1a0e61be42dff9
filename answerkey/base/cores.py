"""How many processes are worth starting on this machine."""

from __future__ import annotations

import os


def count_cores() -> int:
    """Return how many cores this process may use; a container or taskset may allow fewer than all.

    Example:
        >>> count_cores() >= 1
        True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

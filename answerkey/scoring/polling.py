"""Waiting for what comes over a pipe."""

from __future__ import annotations

import select
import time

# To be woken by the system may take longer than a prediction does.
_SECONDS_AWAKE = 0.0003


def wait_for_events(poll: select.poll, timeout_ms: int, *, is_soon: bool) -> list[tuple[int, int]]:
    """The events of open files; none where nothing comes in so many milliseconds.

    is_soon: something is expected at once, so that it is looked for some times before sleeping.
    """
    if is_soon:
        until = time.perf_counter() + _SECONDS_AWAKE
        while time.perf_counter() < until:
            if events := poll.poll(0):
                return events
    return poll.poll(timeout_ms)

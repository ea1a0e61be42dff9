"""Ctrl-C, put off while it would do harm."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
    """Put off what Ctrl-C raises to the end of the block.

    Python raises KeyboardInterrupt between any two steps of the main thread, also where a lock is
    taken and the block that would give it back has not begun: who waits for that lock waits for
    ever.

    Example:
        >>> with hold_interrupts():  # doctest: +SKIP
        ...     signal.raise_signal(signal.SIGINT)
        ...     print("still here")
        still here
        Traceback (most recent call last):
        KeyboardInterrupt
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # nothing is raised here
        return
    held: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *arguments: held.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])

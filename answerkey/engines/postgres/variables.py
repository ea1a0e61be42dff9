"""Environment variables of libpq, which name a server of the user, and settings of its sessions."""

import contextlib
import os
import re
import threading
from collections.abc import Iterator

_LOCK = threading.RLock()


@contextlib.contextmanager
def without_variables() -> Iterator[None]:
    """Hide the environment variables of libpq (PGPORT, PGTZ, PGSERVICE, ...) while a server of
    ours is connected: with them, ours is not found, or writes times in another zone."""
    if not any(name.startswith("PG") for name in os.environ):
        yield
        return
    with _LOCK:
        hidden = {name: os.environ.pop(name) for name in [*os.environ] if name.startswith("PG")}
        try:
            yield
        finally:
            os.environ.update(hidden)


def join_options(settings: dict[str, str]) -> str:
    """Return the settings of a session as a connection takes them.

    >>> join_options({"DateStyle": "ISO, MDY", "work_mem": "32MB"})
    '-c DateStyle=ISO,\\\\ MDY -c work_mem=32MB'
    """
    escaped = {name: re.sub(r"([\\\s])", r"\\\1", value) for name, value in settings.items()}
    return " ".join(f"-c {name}={value}" for name, value in escaped.items())

"""Messages between a process and its workers: pickles over a socket, each behind its length.

What does not go at once waits at the sender. So the end that does not block never does, however
large a message is, and whatever the other end does: two that both send are not stuck.
"""

from __future__ import annotations

import os
import pickle
import select
import time
from typing import Any

_LENGTH_BYTES = 8
_READ_BYTES = 65_536
# To be woken by the system may take longer than a prediction does.
_SECONDS_AWAKE = 0.0003


class Channel:
    """One end of a socket: an open file, set to block or not."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._sent = bytearray()  # what waits to be
        self._received = bytearray()  # the beginning of a message

    def fileno(self) -> int:
        """The open file."""
        return self._file

    @property
    def events(self) -> int:
        """What to poll for."""
        return select.POLLIN | select.POLLOUT if self._sent else select.POLLIN

    def send(self, message: Any) -> None:
        """Send a message after those that wait; all of it, if the end blocks. Raises as `flush`."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._sent += len(data).to_bytes(_LENGTH_BYTES)
        self._sent += data
        self.flush()

    def flush(self) -> None:
        """Send as much of what waits as goes.

        Raises:
            ConnectionError: where the other end is closed.
        """
        while self._sent:
            try:
                count = os.write(self._file, self._sent)
            except BlockingIOError:
                return
            del self._sent[:count]

    def receive(self) -> list[Any]:
        """The messages that one look completes, which may be none.

        Raises:
            BlockingIOError: where nothing has come, if the end does not block.
            EOFError, ConnectionError: where the other end is closed.
        """
        data = os.read(self._file, _READ_BYTES)
        if not data:
            raise EOFError
        received = self._received
        received += data
        messages = []
        while len(received) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(received[:_LENGTH_BYTES])
            if len(received) < end:
                break
            messages.append(pickle.loads(received[_LENGTH_BYTES:end]))
            del received[:end]
        return messages


def wait_for_events(
    poll: select.poll, timeout_ms: int | None, *, is_soon: bool
) -> list[tuple[int, int]]:
    """The events of open files; none where nothing comes in so many milliseconds.

    is_soon: something is expected at once, so that it is looked for some times before sleeping.
    """
    if is_soon:
        until = time.perf_counter() + _SECONDS_AWAKE
        while time.perf_counter() < until:
            if events := poll.poll(0):
                return events
    return poll.poll(timeout_ms)

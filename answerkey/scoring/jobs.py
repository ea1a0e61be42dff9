"""Jobs: questions to a worker about one prediction, its answers, and the messages for both."""

from __future__ import annotations

import os
import pickle
import select
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from answerkey.scoring.rules import Rule
from answerkey.sqlite.guard import Row

RIGHT, WRONG = 1.0, 0.0

# Reasons beside those of the guard (QueryReason) and of differences (DifferenceKind).
NO_QUERY = "no_query"
WORKER_DIED = "worker_died"

SUMMARY_ROWS = 20


_LENGTH_BYTES = 8
_READ_BYTES = 65_536
# To be woken by the system may take longer than a prediction does.
_SECONDS_AWAKE = 0.0003


class Kind(StrEnum):
    """The result of a job: a reward, an Explanation, the rows of the query, a RowSummary of them
    (None if the query has no rows), or the columns that it reads (None if it is refused)."""

    SCORE = "score"
    EXPLAIN = "explain"
    EXECUTE = "execute"
    SUMMARIZE = "summarize"
    LIST_READS = "list_reads"


class Job(NamedTuple):
    """One prediction.

    text: SQL, or a completion from which it is taken; None: there is none.
    max_steps: the budget of the query; None: by the size of the database.
    gold_answer, accepted_rows, other_answers, test_suite: JSON text, as exports have them.
    suites_folder: where the databases of test suites are.
    database_sha256: of the file at path; None: nobody says.
    """

    kind: Kind
    path: str
    text: str | None
    is_completion: bool = False
    max_steps: int | None = None
    gold_answer: str = "null"
    order_matters: bool = False
    rule: Rule | None = None
    accepted_rows: str | None = None
    other_answers: str | None = None
    test_suite: str | None = None
    suites_folder: str = ""
    database_sha256: str | None = None

    @property
    def size(self) -> int:
        """The characters of it that may be many."""
        answers = (self.gold_answer, self.accepted_rows, self.other_answers, self.test_suite)
        return sum(map(len, filter(None, (self.text, *answers))))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reward and the reason for it.

    reason: None if the prediction is right; `no_query`; why the query has no answer (`QueryReason`,
        such as sql_error or time_exceeded); or how its rows differ (`DifferenceKind`, such as
        too_few_rows).
    detail: the same in words: SQLite's own if it refuses the query.
    missing, unexpected: some rows that the answer lacks, and some that it should not have.
    database: the database of the test suite on which the prediction is wrong; None if it is wrong
        on the real one, or right.
    """

    reward: float
    reason: str | None = None
    detail: str = ""
    missing: list[Row] = field(default_factory=list)
    unexpected: list[Row] = field(default_factory=list)
    database: str | None = None


class RowSummary(NamedTuple):
    """Some of the rows of a query, long texts cut; how many there are; and a hash of all of them,
    floats to six digits, the same in any order unless the job says that the order matters."""

    rows: list[Row]
    row_count: int
    answer: str


def answer_without_rows(
    kind: Kind, reason: str, detail: str, *, database: str | None = None
) -> Any:
    """Return what a job gives if its prediction has no rows."""
    if kind is Kind.SCORE:
        return WRONG
    if kind is not Kind.EXPLAIN:
        return None
    return Explanation(WRONG, reason, detail, database=database)


class Channel:
    """One end of a socket for messages: pickles, each behind its length.

    What does not go at once waits at the sender. So the end that does not block never does, however
    large a message is: two that both send are not stuck.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._sent = bytearray()  # what waits to be
        self._received = bytearray()  # the beginning of a message

    def fileno(self) -> int:
        return self._file

    @property
    def events(self) -> int:
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
            ConnectionError: the other end is closed.
        """
        while self._sent:
            try:
                count = os.write(self._file, self._sent)
            except BlockingIOError:
                return
            del self._sent[:count]

    def receive(self) -> list[Any]:
        """Return the messages that one look completes, which may be none.

        Raises:
            BlockingIOError: nothing has come, and the end does not block.
            EOFError, ConnectionError: the other end is closed.
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
    """Return the events of open files; none if nothing comes in so many milliseconds.

    is_soon: something is expected at once, so look some times before sleeping.
    """
    if is_soon:
        until = time.perf_counter() + _SECONDS_AWAKE
        while time.perf_counter() < until:
            if events := poll.poll(0):
                return events
    return poll.poll(timeout_ms)

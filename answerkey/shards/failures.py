"""Gold queries that fail are told while a stage runs, and the first of them one by one, in the
words of the exception that `compute_gold_answer` raises."""

from __future__ import annotations

import logging
from collections.abc import Hashable

from answerkey.core.progress import hide_progress
from answerkey.core.reasons import Reason
from answerkey.shards.query_run import DatabaseWork, Outcome

EXCLUDED = "data/questions/excluded.jsonl"
_DETAIL_CHARACTERS = 200


class FailureLog:
    """A warning for each question whose gold query fails, on one line, and at the end how many
    there were beyond `max_warnings`; 0: none of this.

    A query that answers with NULL has not failed.
    """

    def __init__(self, log: logging.Logger, *, max_warnings: int) -> None:
        self._log = log
        self._max_warnings = max_warnings
        self._count = 0

    def note(self, work: DatabaseWork, query: Hashable, outcome: Outcome) -> None:
        """Take in the outcome of a query."""
        reason = outcome.get("reason", Reason.NULL_ANSWER)
        if reason == Reason.NULL_ANSWER:
            return
        for question_id, other in work.questions:
            if other != query or question_id in work.known:
                continue
            self._count += 1
            if self._count <= self._max_warnings:
                with hide_progress():
                    self._log.warning(
                        "warning: SQL execution failed for %s: %s (%s, %s)",
                        work.database_name,
                        show_line(outcome["detail"]),
                        question_id,
                        reason,
                    )

    def finish(self) -> None:
        """Say how many more there were, and where they are."""
        more = self._count - self._max_warnings
        if self._max_warnings and more > 0:
            self._log.warning("warning: and %d more in %s", more, EXCLUDED)


def show_line(text: str) -> str:
    """Foreign text as one line of a terminal, which it cannot command; cut where it is long.

    >>> show_line("no such column: a\\nb")
    'no such column: a b'
    """
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line if len(line) <= _DETAIL_CHARACTERS else f"{line[:_DETAIL_CHARACTERS]}…"

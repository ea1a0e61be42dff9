"""The section audit_gold_answers: what makes an answer remarkable."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.kinds import From0, NumberFrom0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From here on an answer is remarkable.

    max_rows, max_bytes: rows of the answer, bytes of its JSON.
    rel_tol: relative tolerance between floats.
    reordered_copies: a query runs on so many copies of a database, with its rows in other orders.
    max_copied_bytes: a larger table is not copied, only scanned backwards.
    """

    max_rows: From0 = 1000
    max_bytes: From0 = 65_536
    rel_tol: NumberFrom0 = 1e-6
    reordered_copies: From0 = 8
    max_copied_bytes: From0 = 200_000_000

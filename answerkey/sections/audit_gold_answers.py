"""The section audit_gold_answers: the sizes from which an answer is flagged."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.base.kinds import From0, NumberFrom0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The sizes from which an answer is flagged.

    max_rows, max_bytes: rows of the answer, bytes of its JSON.
    rel_tol: relative tolerance between floats.
    """

    max_rows: From0 = 1000
    max_bytes: From0 = 65_536
    rel_tol: NumberFrom0 = 1e-6

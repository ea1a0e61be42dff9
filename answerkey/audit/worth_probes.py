"""Worth as a training signal: answers that reward a guess, or that are too much to ask for."""

from __future__ import annotations

from collections.abc import Callable

from answerkey.audit.comparisons import read_query
from answerkey.audit.guesses import list_guesses
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.core.records import encode_json
from answerkey.sqlite.answers import answers_match, shape_answer

_BOOLEAN_TEXTS = frozenset({"yes", "no", "true", "false", "t", "f", "y", "n"})
_GUESSES_SHOWN = 5
_TEXT_SHOWN = 200


def find_boolean_answer(inspection: Inspection) -> Finding | None:
    """A finding where the answer is one value out of two: 0 or 1, yes or no, true or false."""
    if not _is_scalar(inspection):
        return None
    value = inspection.rows[0][0]
    is_boolean = (isinstance(value, int) and value in (0, 1)) or (
        isinstance(value, str) and value.strip().lower() in _BOOLEAN_TEXTS
    )
    return Finding(Flag.BOOLEAN_ANSWER, {"answer": value}) if is_boolean else None


def find_guessable(inspection: Inspection, *, min_score: float = 0.3) -> Finding | None:
    """A finding where trivial queries on the same tables give the one value of the answer.

    The score is the share of the guesses (see `answerkey.audit.guesses`) that equal the answer, of
    those that give a text for a text and a number for a number; `min_score` is the least that
    counts.
    The trivial query that the question asks for is no guess, so that `SELECT count(*) FROM ship`
    stays an honest question.
    """
    if not _is_scalar(inspection) or inspection.rows[0][0] is None:
        return None
    reading, answer = read_query(inspection), inspection.rows[0][0]
    guesses = list_guesses(reading)
    left = sum(not guess.is_asked for guess in guesses)
    count = 0
    right: dict[int, str] = {}
    for place, guess in sorted(enumerate(guesses), key=lambda pair: pair[1].is_dear):
        most = len(right) + left  # what may still be right; more than that is not asked for
        if not most or most / (count + left) < min_score:
            return None
        left -= not guess.is_asked
        value = guess.read(reading.values)
        if value is None or isinstance(value, str) != isinstance(answer, str):
            continue
        count += 1
        if not guess.is_asked and answers_match(answer, value, ordered=False):
            right[place] = guess.sql
    if not right or len(right) / count < min_score:
        return None
    evidence = {
        "score": round(len(right) / count, 3),
        "guesses": count,
        "right": [right[place][:_TEXT_SHOWN] for place in sorted(right)[:_GUESSES_SHOWN]],
    }
    return Finding(Flag.GUESSABLE, evidence)


def find_many_rows(inspection: Inspection, *, max_rows: int = 1000) -> Finding | None:
    """A finding where the answer has more than `max_rows` rows."""
    rows = len(inspection.rows)
    return Finding(Flag.MANY_ROWS, {"rows": rows}) if rows > max_rows else None


def find_too_large(inspection: Inspection, *, max_bytes: int = 65_536) -> Finding | None:
    """A finding where the answer as JSON has more than `max_bytes` bytes."""
    size = len(encode_json(shape_answer(inspection.rows)))
    return Finding(Flag.TOO_LARGE, {"bytes": size}) if size > max_bytes else None


def _is_scalar(inspection: Inspection) -> bool:
    return len(inspection.rows) == 1 and len(inspection.rows[0]) == 1


WORTH_PROBES: dict[Flag, Callable[..., Finding | None]] = {
    Flag.BOOLEAN_ANSWER: find_boolean_answer,
    Flag.GUESSABLE: find_guessable,
    Flag.MANY_ROWS: find_many_rows,
    Flag.TOO_LARGE: find_too_large,
}

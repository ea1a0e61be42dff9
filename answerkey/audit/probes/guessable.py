"""guessable: trivial queries on the same tables, such as counting rows, give the same answer.

answerkey.audit.guesses lists these queries.
"""

from __future__ import annotations

from answerkey.audit.comparisons import read_query
from answerkey.audit.guesses import list_guesses
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sqlite.answers import answers_match

_GUESSES_SHOWN = 5
_TEXT_SHOWN = 200


def find_guessable(inspection: Inspection) -> list[Finding]:
    """A finding where the score is `min_guess_score` or more.

    The score: of the guesses that are a text where the answer is one, and a number where it is one,
    the share that equals the answer. The trivial query that the question itself asks for is no
    guess: `SELECT count(*) FROM ship` stays an honest question.
    """
    if not inspection.is_scalar or inspection.rows[0][0] is None:
        return []
    reading, answer = read_query(inspection), inspection.rows[0][0]
    min_score = inspection.thresholds.min_guess_score
    guesses = list_guesses(reading)
    left = sum(not guess.is_asked for guess in guesses)
    count = 0
    right: dict[int, str] = {}
    for place, guess in sorted(enumerate(guesses), key=lambda pair: pair[1].needs_own_statement):
        most = len(right) + left  # what may still be right; more than that is not asked for
        if not most or most / (count + left) < min_score:
            return []
        left -= not guess.is_asked
        value = guess.read(reading.values)
        if value is None or isinstance(value, str) != isinstance(answer, str):
            continue
        count += 1
        if not guess.is_asked and answers_match(answer, value, ordered=False):
            right[place] = guess.sql
    if not right or len(right) / count < min_score:
        return []
    evidence = {
        "score": round(len(right) / count, 3),
        "guesses": count,
        "right": [right[place][:_TEXT_SHOWN] for place in sorted(right)[:_GUESSES_SHOWN]],
    }
    return [Finding(Flag.GUESSABLE, evidence)]

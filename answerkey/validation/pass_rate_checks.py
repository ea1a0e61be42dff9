"""Checks of the pass rates beside the product: each is of one question, and its counts add up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from answerkey.core.question import PASS_RATES
from answerkey.validation.facts import Record

_COUNTS = ("total", "database", "suite")
_FIELDS = ("question_id", *_COUNTS, "models")


def check_pass_rates(questions: Iterable[Record], pass_rates: Iterable[Record]) -> list[str]:
    """Where pass rates are of no question, of one twice, or contradict themselves. A question may
    have none."""
    names = {question["question_id"] for question in questions}
    errors = []
    found: set[str] = set()
    for rate in pass_rates:
        question_id = rate["question_id"]
        words = list(_check(rate))
        if question_id not in names:
            words.append("expected only questions of the product")
        if question_id in found:
            words.append("expected one record, found another")
        found.add(question_id)
        errors += [f"{question_id}: {PASS_RATES}: {error}" for error in words]
    return errors


def _check(rate: Record) -> Iterator[str]:
    if tuple(rate) != _FIELDS:
        yield f"expected the fields {', '.join(_FIELDS)}, found {', '.join(rate)}"
        return
    models = rate["models"]
    for name, counts in {"all models": rate, **models}.items():
        total, database, suite = (counts.get(count) for count in _COUNTS)
        are_counts = all(type(count) is int for count in (total, database, suite))
        if not are_counts or not 0 <= suite <= database <= total or total < 1:
            yield (
                f"{name}: expected counts 0 <= suite <= database <= total, from 1, found"
                f" {suite!r}, {database!r} and {total!r}"
            )
            return
    for count in _COUNTS:
        expected = sum(counts[count] for counts in models.values())
        if rate[count] != expected:
            yield f"{count}: expected {expected}, the sum of its models, found {rate[count]}"

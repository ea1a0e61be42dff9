"""Checks of the gold risk in the sidecars: a number from 0 to 1, that of its flag or verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from answerkey.core.flags import Flag
from answerkey.validation.facts import Record

_OF_VERDICTS = {Flag.JUDGED_RIGHT: 0.0, Flag.JUDGED_WRONG: 1.0}


def check_gold_risks(sidecars: Mapping[str, Iterable[Record]]) -> list[str]:
    """Where a record of a sidecar, named by its file, has no gold risk that can be meant. One
    without flags may have none: where it has no answer, nothing is known of its gold."""
    return [
        f"{record['question_id']}: {name}: {error}"
        for name, records in sidecars.items()
        for record in records
        for error in _check(record)
    ]


def _check(record: Record) -> Iterator[str]:
    if "gold_risk" not in record:
        yield "gold_risk: expected a number from 0 to 1, or null, found no such field"
        return
    risk = record["gold_risk"]
    if risk is None and not record["flags"]:
        return
    if type(risk) not in (int, float) or not 0 <= risk <= 1:
        yield f"gold_risk: expected a number from 0 to 1, found {risk!r}"
        return
    for flag in record["flags"]:
        code = flag["code"]
        if code == Flag.GOLD_RISK:
            expected = flag["evidence"]["risk"]
        else:
            expected = _OF_VERDICTS.get(code, risk)
        if risk != expected:
            yield f"gold_risk: expected {expected}, as the flag {code} has it, found {risk}"

"""Repairs and readings on the real database: what another query answers there, beside gold.

A doubt is worth what its query answers: where it has gold's rows, the answer stands whatever gold
SQL says; where it has others, one of the two is not what the question asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from answerkey.alternatives.readings import READINGS_BY_NAME
from answerkey.alternatives.shown import Difference, show_difference
from answerkey.base.records import Finding
from answerkey.doubts.catalogue import DOUBTS_BY_NAME
from answerkey.doubts.doubt import Doubt
from answerkey.engines.answers import Order
from answerkey.engines.database import Row, Value
from answerkey.engines.executions import Executions, are_same
from answerkey.rewrites.trees import Change

_MAX_COMBINED = 3  # alternatives with each of which the others are tried together
MAX_STEPS = 2_000_000  # of an alternative: one that takes more says nothing


class Repair(TypedDict):
    """Another query, and what it answers on the real database.

    rule: the reading, or the flag, that wrote it.
    answers: whether its rows are gold's, as the question is scored.
    gold_rows, repair_rows, difference: the first rows that the other side lacks, and how many there
        are, as `show_difference` has them; there if it answers otherwise.
    """

    rule: str
    sql: str
    answers: Literal["same", "other"]
    gold_rows: NotRequired[list[list[Value]]]
    repair_rows: NotRequired[list[list[Value]]]
    difference: NotRequired[Difference]


class Gold(NamedTuple):
    """Gold, which alternatives are compared with: its rows, how far their order counts, the
    segments of every right answer if its LIMIT cuts through a tie, and the absolute tolerance."""

    sql: str
    rows: list[Row]
    order: Order
    accepted_rows: Sequence[Any] | None = None
    abs_tol: float = 0.0


def try_query(rule: str, sql: str, gold: Gold, real: Executions) -> Repair | None:
    """Compare the answer of a query with gold's; None if it fails, or takes too much to say."""
    rows = real.find_rows(sql, max_steps=MAX_STEPS)
    if rows is None:
        return None
    _, gold_rows, order, accepted_rows, abs_tol = gold
    if are_same(gold_rows, rows, ordered=order, accepted_rows=accepted_rows, abs_tol=abs_tol):
        return {"rule": rule, "sql": sql, "answers": "same"}
    shown, repair_rows, difference = show_difference(gold_rows, rows, order=order, abs_tol=abs_tol)
    return {
        "rule": rule,
        "sql": sql,
        "answers": "other",
        "gold_rows": shown,
        "repair_rows": repair_rows,
        "difference": difference,
    }


class Tried(NamedTuple):
    """The answers of alternatives beside gold.

    findings: each with the name of its repair, and what that answers, if it has one.
    repairs: those of findings, and the readings that answer otherwise.
    readings: those that have gold's rows.
    """

    findings: list[Finding]
    repairs: list[Repair]
    readings: list[Change]


def try_alternatives(
    findings: Iterable[Finding], read: Callable[[str], list[Change]], gold: Gold, real: Executions
) -> Tried:
    """Execute the repairs of findings, and the readings of a question.

    A finding says its repair as SQL (`evidence["repair"]`), or its doubt names readings that are
    one: of several the first that answers otherwise, or else the first. Where several answer
    otherwise, they are tried together, too: "all that tie, and each once".

    read: the readings of the question for a query, first of all for gold's.
    """
    tried = [try_query(reading.name, reading.sql, gold, real) for reading in read(gold.sql)]
    known = [repair for repair in tried if repair is not None]
    named: list[Finding] = []
    repairs: list[Repair] = []
    for finding in findings:
        evidence = dict(finding.evidence)
        doubt = DOUBTS_BY_NAME[finding.code]
        repair = _find_repair(doubt, evidence.pop("repair", None), known, gold, real)
        if repair is not None:
            repairs.append(repair)
            evidence |= {"repair": repair["rule"], "answers": repair["answers"]}
        elif (answers := doubt.answers_of_kinds.get(evidence.get("kind", ""))) is not None:
            evidence["answers"] = answers
        named.append(finding._replace(evidence=evidence))
    repairs += [
        repair
        for repair in known
        if repair["answers"] == "other" and READINGS_BY_NAME[repair["rule"]].repairs
    ]
    repairs += _try_together(repairs, read, gold, real)
    once = {repair["sql"]: repair for repair in reversed(repairs)}
    same = [
        Change(repair["rule"], repair["sql"]) for repair in known if repair["answers"] == "same"
    ]
    return Tried(named, list(once.values())[::-1], same)


def _try_together(
    repairs: list[Repair], read: Callable[[str], list[Change]], gold: Gold, real: Executions
) -> Iterator[Repair]:
    others = {repair["rule"]: repair for repair in repairs if repair["answers"] == "other"}
    tried = {frozenset({rule}) for rule in others}
    for first in [*others.values()][:_MAX_COMBINED] if len(others) > 1 else ():
        for second in read(first["sql"]):
            pair = frozenset({first["rule"], second.name})
            if second.name in others and pair not in tried:
                tried.add(pair)
                rule = f"{first['rule']}+{second.name}"
                repair = try_query(rule, second.sql, gold, real)
                if repair is not None and repair["answers"] == "other":
                    yield repair


def _find_repair(
    doubt: Doubt, sql: str | None, known: list[Repair], gold: Gold, real: Executions
) -> Repair | None:
    if sql is not None and (repair := try_query(doubt.name, sql, gold, real)) is not None:
        return repair
    own = [repair for name in doubt.readings for repair in known if repair["rule"] == name]
    return min(own, key=lambda repair: repair["answers"] == "same", default=None)

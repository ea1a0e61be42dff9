"""Join everything that the stages recorded of a question, and add the flags of its test suite and
its rollouts.

The flag for what models agree on is added before risks are computed, since it counts toward them.
The flags for questions that models always or never solve are added afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from answerkey.base.errors import InputError
from answerkey.base.paths import INTERIM
from answerkey.base.records import Finding, encode_findings, read_json
from answerkey.dataset import NEXT_STEP, PassRate, Question, Record, join_stages

BY_HEART = "by_heart"  # the neighbor that is the stored answer


def join_questions(interim: Path = INTERIM, *, min_mutation_score: float) -> Iterator[Question]:
    """Yield each source question in order, with its own flags.

    min_mutation_score: a question whose test suite scores less is a weak_answer.

    Raises:
        FileNotFoundError: as `join_stages`.
        InputError: as `join_stages`, and if a pass rate belongs to no question.
    """
    rates = {rate.pop("question_id"): rate for rate in read_json(interim / "pass_rates.json")}
    for question, suite in join_stages(interim):
        findings = find_in_suite(suite, min_mutation_score=min_mutation_score)
        findings += find_in_dialect(question)
        findings += find_correction(question)
        rate = rates.pop(question.question_id, None)
        if rate is not None and (agreement := rate.pop("agreement", None)) is not None:
            findings.append(Finding("models_agree_otherwise", agreement))
        yield question._replace(pass_rate=rate, flags=question.flags + encode_findings(findings))
    if rates:
        raise InputError(f"pass_rates: {next(iter(rates))} is no question: {NEXT_STEP}")


def find_in_suite(suite: Record, *, min_mutation_score: float) -> list[Finding]:
    """Return the findings in the record of a test suite, in the order of the vocabulary.

    >>> suite = {"mutation_score": {"database": 0.25, "suite": 0.4}, "latent_ambiguity": None}
    >>> find_in_suite(suite, min_mutation_score=0.5)[0].evidence
    {'database': 0.25, 'suite': 0.4}

    A question is weak, too, if it has no suite, if its memorized answer passes behind a guard, or
    if a query survives on the suite that the real database kills: a query that detects which
    database it runs on passes then.
    """
    findings = []
    if (ambiguity := suite.get("latent_ambiguity")) is not None:
        findings.append(Finding("latent_ambiguity", ambiguity))
    score = suite.get("mutation_score")
    by_heart = suite.get("operators", {}).get(BY_HEART)
    if (no_suite := suite.get("no_suite")) is not None:
        findings.append(Finding("weak_answer", {**(score or {}), "no_suite": no_suite}))
    elif by_heart is not None and not by_heart["killed"]:
        findings.append(Finding("weak_answer", {**(score or {}), BY_HEART: by_heart}))
    elif (guarded := _find_guarded(suite)) is not None:
        findings.append(Finding("weak_answer", {**(score or {}), "guarded": guarded}))
    elif score is not None and score["suite"] < min_mutation_score:
        findings.append(Finding("weak_answer", score))
    return findings


def _find_guarded(suite: Record) -> Record | None:
    """Return the first neighbor that survives on the suite although the real database kills it or
    it is a memorized answer."""
    lives = (
        neighbor
        for neighbor in suite.get("alive", ())
        if neighbor["killed_by_database"] or neighbor["operator"].endswith(BY_HEART)
    )
    return next(
        ({"operator": neighbor["operator"], "sql": neighbor["sql"]} for neighbor in lives), None
    )


def find_in_dialect(question: Question) -> list[Finding]:
    """Return the finding of `answerkey new`, which executed gold SQL on its own engine; none if a
    curator has replaced the SQL since."""
    differs = question.source.get("dialect_differs")
    correction = question.source.get("correction")
    if differs is None or (correction and "gold_sql" in correction.get("original", {})):
        return []
    return [Finding("dialect_differs", differs)]


def find_correction(question: Question) -> list[Finding]:
    """Return the finding that a curator has replaced a part of the question: the former text, the
    reason, and the curator and date, if known; or that a correction was not applied."""
    if (unconfirmed := question.source.get("unconfirmed")) is not None:
        return [Finding("unconfirmed", {"judgement": "correction", **unconfirmed})]
    correction = question.source.get("correction")
    if correction is None or "original" not in correction:
        return []
    known = {
        "reason": correction["reason"],
        "source": correction.get("source"),
        "date": correction.get("date"),
    }
    evidence = {f"{name}_before": text for name, text in correction["original"].items()}
    evidence |= {name: value for name, value in known.items() if value is not None}
    return [Finding("corrected", evidence)]


def find_in_rollouts(pass_rate: PassRate | None, *, answer_risk: float | None) -> list[Finding]:
    """Return the finding in the pass rate of a question: models always solve it, or never.

    >>> rate = {"total": 8, "database": 1, "suite": 0, "models": {}}
    >>> find_in_rollouts(rate, answer_risk=0.7)[0].evidence
    {'total': 8, 'database': 1, 'suite': 0, 'answer_risk': 0.7}

    A question that no rollout solves is hard, or its gold SQL is wrong. So the evidence has the
    answer risk. A question without rollouts has no finding.
    """
    if pass_rate is None:
        return []
    counts = {
        "total": pass_rate["total"],
        "database": pass_rate["database"],
        "suite": pass_rate["suite"],
    }
    if counts["suite"] == counts["total"]:
        return [Finding("always_solved", counts)]
    if counts["suite"] == 0:
        return [Finding("never_solved", {**counts, "answer_risk": answer_risk})]
    return []


def add_findings(question: Question, findings: list[Finding]) -> Question:
    return question._replace(flags=question.flags + encode_findings(findings))

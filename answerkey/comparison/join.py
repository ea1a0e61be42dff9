"""What a test suite shows of its question, as flags: its gold answer is weak, or its text may mean
two things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from answerkey.dataset import (
    INTERIM,
    NEXT_STEP,
    JoinedQuestion,
    Reason,
    Record,
    read_curated_exclusion,
)
from answerkey.errors import InputError
from answerkey.records import Finding, encode_findings, read_json, read_jsonl
from answerkey.shards.shard_directory import read_shards

BY_HEART = "by_heart"  # the neighbor that says the stored answer


def find_in_suite(suite: Record, *, min_mutation_score: float) -> list[Finding]:
    """The findings in the record of a test suite, in the order of the vocabulary; {}: none.

    >>> suite = {"mutation_score": {"database": 0.25, "suite": 0.4}, "latent_ambiguity": None}
    >>> find_in_suite(suite, min_mutation_score=0.5)[0].evidence
    {'database': 0.25, 'suite': 0.4}

    Weak is also a question whose stored answer passes behind a guard. One that has no suite by its
    rule of comparison is not weak: nothing is known of it.
    """
    found = []
    if (ambiguity := suite.get("latent_ambiguity")) is not None:
        found.append(Finding("latent_ambiguity", ambiguity))
    score = suite.get("mutation_score")
    by_heart = suite.get("operators", {}).get(BY_HEART)
    if by_heart is not None and not by_heart["killed"]:
        found.append(Finding("weak_answer", {**(score or {}), BY_HEART: by_heart}))
    elif score is not None and score["suite"] < min_mutation_score:
        found.append(Finding("weak_answer", score))
    return found


# What rollouts show of their question, as flags: models always solve it, or never.


def find_in_rollouts(pass_rate: Record | None, *, gold_risk: float | None) -> list[Finding]:
    """The finding in the pass rate of a question, if there is one.

    >>> rate = {"total": 8, "database": 1, "suite": 0, "models": {}}
    >>> find_in_rollouts(rate, gold_risk=0.7)[0].evidence
    {'total': 8, 'database': 1, 'suite': 0, 'gold_risk': 0.7}

    A question that no rollout solves is hard, or its gold SQL is wrong: so the evidence has the
    gold risk. One without rollouts has no finding.
    """
    if pass_rate is None:
        return []
    counts = {name: pass_rate[name] for name in ("total", "database", "suite")}
    if counts["suite"] == counts["total"]:
        return [Finding("always_solved", counts)]
    if counts["suite"] == 0:
        return [Finding("never_solved", {**counts, "gold_risk": gold_risk})]
    return []


# The join: what each stage recorded of a question, put together as one record.
#
# All files are in the order of the source questions, so that they are read side by side.


_ID = "question_id"
_PARSED_FIELDS = (
    "tables_involved",
    "columns_involved",
    "features",
    "hardness",
    "canonical_sql",
    "template",
)


def join_questions(
    interim: Path = INTERIM, *, min_mutation_score: float
) -> Iterator[JoinedQuestion]:
    """Each source question with its answer, its parse and its own flags, in order.

    min_mutation_score: what a test suite must reach, or else its question is a weak_answer.

    Raises:
        FileNotFoundError: where a file is missing.
        InputError: where a file misses a question or holds one too many, or a question comes twice.
    """
    rates = _Records(read_json(interim / "pass_rates.json"), "pass_rates")
    sources = read_jsonl(interim / "splits.jsonl")
    for name, of_database in groupby(sources, key=itemgetter("database_name")):
        outcomes = _Records(read_shards(interim / "gold_answers", [name]), "gold_answers")
        parses = _Records(read_shards(interim / "parsed", [name]), "parsed")
        audits = _Records(read_shards(interim / "audit", [name]), "audit")
        suites = _Records(read_shards(interim / "test_suites", [name]), "test_suites")
        seen: set[str] = set()
        for source in of_database:
            question_id = source["question_id"]
            if question_id in seen:
                raise InputError(f"splits: {question_id} comes twice: expected each question once")
            seen.add(question_id)
            outcome = outcomes.take(question_id)
            parsed = parses.take(question_id)
            audit = {} if "reason" in outcome else audits.take(question_id)
            has_suite = "reason" not in outcome and "reason" not in parsed
            suite = suites.take(question_id) if has_suite else {}
            found = find_in_suite(suite, min_mutation_score=min_mutation_score)
            question = _join(source, outcome, parsed, audit, suite)
            yield question._replace(
                pass_rate=rates.take_if_there(question_id),
                flags=question.flags + encode_findings(found),
            )
        for records in (outcomes, parses, audits, suites):
            records.finish()
    rates.finish()


def _join(
    source: Record, outcome: Record, parsed: Record, audit: Record, suite: Record
) -> JoinedQuestion:
    stage, reason, detail = find_failure(source, outcome, parsed) or (None, None, None)
    return JoinedQuestion(
        question_id=source["question_id"],
        database_name=source["database_name"],
        split=source["split"],
        question_text=source["question_text"],
        evidence=source.get("evidence"),
        gold_sql=source["gold_sql"],
        source=source["source"],
        stage=stage,
        reason=reason,
        detail=detail,
        gold_answer=outcome.get("gold_answer"),
        answer_type=outcome.get("answer_type"),
        steps=outcome.get("steps"),
        order_matters=audit.get("order_matters"),
        accepted_rows=audit.get("accepted_rows"),
        mutation_score=suite.get("mutation_score"),
        pass_rate=None,  # which few questions have
        flags=audit.get("flags", []),
        gold_risk=None,  # which needs the flags of the comparison, too
        **{field: parsed.get(field) for field in _PARSED_FIELDS},
    )


def find_failure(source: Record, outcome: Record, parsed: Record) -> tuple[str, str, str] | None:
    """Which stage set a question aside whatever policies say, the reason and the detail, of the
    first one that did; None where none did."""
    decision = read_curated_exclusion(source)
    if decision is not None:
        return "load_questions", Reason.EXCLUDED_BY_CURATOR, decision
    if not source["question_text"].strip():
        return "load_questions", Reason.EMPTY_QUESTION, "question_text: expected text, found none"
    for field in ("question_text", "evidence"):
        try:
            (source.get(field) or "").encode()
        except UnicodeEncodeError as error:  # half of a surrogate pair: JSON spells it, UTF-8 not
            return "load_questions", Reason.UNDECODABLE_TEXT, f"{field}: {error.reason}"
    for stage, record in (("compute_gold_answers", outcome), ("parse_gold_sql", parsed)):
        if "reason" in record:
            return stage, record["reason"], record["detail"]
    return None


class _Records:
    """Records of one stage, taken in the order of the questions."""

    def __init__(self, records: Iterable[Record], name: str) -> None:
        self._records = iter(records)
        self._name = name
        self._next = next(self._records, None)

    def take(self, question_id: str) -> Record:
        """The record of the next question."""
        if self._next is None or self._next["question_id"] != question_id:
            raise InputError(f"{self._name}: no record of question {question_id}: {NEXT_STEP}")
        record, self._next = self._next, next(self._records, None)
        return record

    def take_if_there(self, question_id: str) -> Record | None:
        """What is recorded of the next question, without its id; None where nothing is."""
        if self._next is None or self._next["question_id"] != question_id:
            return None
        return {name: value for name, value in self.take(question_id).items() if name != _ID}

    def finish(self) -> None:
        """Make sure that no record is left."""
        if self._next is not None:
            raise InputError(
                f"{self._name}: {self._next['question_id']} is no question, or out of order:"
                f" {NEXT_STEP}"
            )

"""Probes of a whole set: questions of one database that say the same twice, or contradict each
other.

    findings = find_in_database(records_of_one_database)

gives {question_id: [Finding, ...]}, whatever the order of the records. What a database's questions
share with those of the other split is for stages.probes.split_probes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stages.probes.findings import Finding
from stages.probes.set_records import SetRecord, sort_key
from stages.probes.similar_texts import MIN_SIMILARITY, Near, choose_nearest, find_similar
from stages.reasons import Flag

Findings = dict[str, list[Finding]]

_NAMED = 5  # questions that one piece of evidence names


def find_in_database(
    records: Iterable[SetRecord], *, min_similarity: float = MIN_SIMILARITY
) -> Findings:
    """What the questions of one database have in common.

    Raises:
        ValueError: where the records are of more than one database.
    """
    ordered = sorted(records, key=lambda record: sort_key(record.question_id))
    names = {record.database_name for record in ordered}
    if len(names) > 1:
        raise ValueError(f"expected the questions of one database, found {sorted(names)[:5]}")
    findings: Findings = defaultdict(list)
    _find_duplicates(ordered, findings)
    _find_near_duplicates(ordered, findings, min_similarity)
    _find_paraphrases(ordered, findings)
    _find_conflicts(ordered, findings)
    return dict(findings)


def _find_duplicates(records: list[SetRecord], findings: Findings) -> None:
    """Every question but the first of those with one text, and one canonical SQL or answer."""
    for group in _group(records, lambda record: record.text):
        for place, record in enumerate(group):
            agreeing = (
                other
                for other in group[:place]
                if _have_one_sql(record, other) or _have_one_answer(record, other)
            )
            first = next(agreeing, None)
            if first is not None:
                evidence = {
                    "first": first.question_id,
                    "same_sql": _have_one_sql(record, first),
                    "same_answer": _have_one_answer(record, first),
                }
                _add(findings, record, Flag.DUPLICATE_QUESTION, evidence)


def _find_paraphrases(records: list[SetRecord], findings: Findings) -> None:
    """Every question but the first of those with one canonical SQL, in other words."""
    for group in _group(records, lambda record: record.canonical_sql):
        first = group[0]
        for record in group[1:]:
            if record.text != first.text:
                evidence = {"first": first.question_id, "questions": len(group)}
                _add(findings, record, Flag.PARAPHRASE_OF, evidence)


def _find_conflicts(records: list[SetRecord], findings: Findings) -> None:
    """All questions of one text that do not have one answer."""
    for group in _group(records, lambda record: record.text):
        for record in group:
            others = [other for other in group if not _have_one_answer(record, other)]
            if others:
                ids = [other.question_id for other in others[:_NAMED]]
                evidence = {"others": ids, "count": len(others)}
                _add(findings, record, Flag.CONFLICTING_GOLD, evidence)


def _find_near_duplicates(
    records: list[SetRecord], findings: Findings, min_similarity: float
) -> None:
    """Every question but the first of those with nearly one text and one canonical SQL.

    Neither nearly equal text alone says that two questions ask the same (it may be for the minimum
    and the maximum), nor the same answer besides (the source and the target of flights).
    """
    for group in _group(records, lambda record: record.canonical_sql):
        texts = [record.text for record in group]
        for place, record in enumerate(group):
            near = None
            for other, similarity in find_similar(record.text, texts[:place], min_similarity):
                near = choose_nearest(near, Near(group[other].question_id, similarity))
            if near is not None:
                evidence = {"first": near.question_id, "similarity": near.similarity}
                _add(findings, record, Flag.NEAR_DUPLICATE_QUESTION, evidence)


def _group(records: list[SetRecord], key: Callable[[SetRecord], str]) -> Iterator[list[SetRecord]]:
    """Records of one key, where there are several; a key of '' is none."""
    groups: dict[str, list[SetRecord]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return (group for shared, group in groups.items() if shared and len(group) > 1)


def _have_one_answer(left: SetRecord, right: SetRecord) -> bool:
    if left.sequence and right.sequence:
        return left.sequence == right.sequence
    return left.answer == right.answer


def _have_one_sql(left: SetRecord, right: SetRecord) -> bool:
    return left.canonical_sql != "" and left.canonical_sql == right.canonical_sql


def _add(findings: Findings, record: SetRecord, code: Flag, evidence: dict[str, Any]) -> None:
    findings[record.question_id].append(Finding(code, evidence))

"""Probes of a whole set: questions of one database that say the same twice, or contradict each
other.

    findings = find_in_database(records_of_one_database)

gives {question_id: [Finding, ...]}, whatever the order of the records. What a database's questions
share with those of the other split is for answerkey.comparison.split_probes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from answerkey.comparison.set_records import SetRecord, sort_key
from answerkey.comparison.similar_texts import MIN_SIMILARITY, Near, choose_nearest, find_similar
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag

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
        answers = _Answers(group)
        first_of_sql: dict[str, int] = {}
        for place, record in enumerate(group):
            first_place = min(places[0] for places in answers.list_places(record))
            if record.canonical_sql:
                first_place = min(first_place, first_of_sql.setdefault(record.canonical_sql, place))
            if first_place < place:
                first = group[first_place]
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
        answers = _Answers(group)
        named: dict[tuple[str, str], list[str]] = {}
        for record in group:
            count = len(group) - sum(map(len, answers.list_places(record)))
            if not count:
                continue
            key = record.answer, record.sequence
            if key not in named:
                others = (other for other in group if not _have_one_answer(record, other))
                named[key] = [other.question_id for other in islice(others, _NAMED)]
            evidence = {"others": list(named[key]), "count": count}
            _add(findings, record, Flag.CONFLICTING_GOLD, evidence)


def _find_near_duplicates(
    records: list[SetRecord], findings: Findings, min_similarity: float
) -> None:
    """Every question but the first of those with nearly one text and one canonical SQL.

    Nearly equal texts do not show that two questions ask the same: one may ask for the minimum, one
    for the maximum. Nor does the same answer: one may ask for the source of flights, one for the
    target.
    """
    for group in _group(records, lambda record: record.canonical_sql):
        texts: list[str] = []  # each once, and the first question that has it
        first_ids: list[str] = []
        nearest: dict[str, tuple[int, Near | None]] = {}  # by text: to how many it was compared
        for record in group:
            compared, near = nearest.get(record.text, (0, None))
            for place, similarity in find_similar(record.text, texts[compared:], min_similarity):
                near = choose_nearest(near, Near(first_ids[compared + place], similarity))
            if record.text not in nearest:
                texts.append(record.text)
                first_ids.append(record.question_id)
            nearest[record.text] = len(texts), near
            if near is not None:
                evidence = {"first": near.question_id, "similarity": near.similarity}
                _add(findings, record, Flag.NEAR_DUPLICATE_QUESTION, evidence)


def _group(records: list[SetRecord], key: Callable[[SetRecord], str]) -> Iterator[list[SetRecord]]:
    """Records of one key, where there are several; a key of '' is none."""
    groups: dict[str, list[SetRecord]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return (group for shared, group in groups.items() if shared and len(group) > 1)


class _Answers:
    """Some records by their answers, so that the ones that agree with a record are found without
    asking each: thousands may have one text."""

    def __init__(self, records: list[SetRecord]) -> None:
        self._of_sequence: dict[str, list[int]] = defaultdict(list)
        self._of_answer: dict[str, list[int]] = defaultdict(list)
        self._of_unordered: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            self._of_answer[record.answer].append(place)
            if record.sequence:
                self._of_sequence[record.sequence].append(place)
            else:
                self._of_unordered[record.answer].append(place)

    def list_places(self, record: SetRecord) -> list[list[int]]:
        """The places of the records that have one answer with one of them, as disjoint lists, none
        of them empty: by `_have_one_answer`."""
        if not record.sequence:
            return [self._of_answer[record.answer]]
        unordered = self._of_unordered.get(record.answer)
        return [self._of_sequence[record.sequence], *([unordered] if unordered else ())]


def _have_one_answer(left: SetRecord, right: SetRecord) -> bool:
    if left.sequence and right.sequence:
        return left.sequence == right.sequence
    return left.answer == right.answer


def _have_one_sql(left: SetRecord, right: SetRecord) -> bool:
    return left.canonical_sql != "" and left.canonical_sql == right.canonical_sql


def _add(findings: Findings, record: SetRecord, code: Flag, evidence: dict[str, Any]) -> None:
    findings[record.question_id].append(Finding(code, evidence))

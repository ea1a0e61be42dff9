"""Probes of a whole set: questions that say the same twice, contradict each other, or leak.

    findings = find_in_database(records_of_one_database)   # one database at a time
    findings = find_across_splits(train_records, eval_records)

Both give {question_id: [Finding, ...]}, whatever the order of the records. The first finds repeats
inside a database, where a split never cuts; the second what the eval split shares with the train
split. It holds the eval records, and of the train split only what it finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rapidfuzz import fuzz, process

from stages.probes.findings import Finding
from stages.probes.set_records import SetRecord, sort_key
from stages.reasons import Flag

Findings = dict[str, list[Finding]]

MIN_SIMILARITY = 0.9
_NAMED = 5  # questions that one piece of evidence names
_TEXT = 200  # characters of a template in evidence


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
            for other, similarity in _find_similar(record.text, texts[:place], min_similarity):
                near = _choose(near, (similarity, group[other]))
            if near is not None:
                evidence = {"first": near[1].question_id, "similarity": near[0]}
                _add(findings, record, Flag.NEAR_DUPLICATE_QUESTION, evidence)


def find_across_splits(
    train_records: Iterable[SetRecord],
    eval_records: Iterable[SetRecord],
    *,
    min_similarity: float = MIN_SIMILARITY,
) -> Findings:
    """What the questions of both splits have in common: their text, their template, or both nearly.

    Each iterable is read once. Nearly equal texts are looked for among questions of one template.
    """
    # Of what is held, nothing that is looked at inside a database only.
    slim = (record._replace(canonical_sql="", answer="", sequence="") for record in eval_records)
    held = sorted(slim, key=lambda record: sort_key(record.question_id))
    by_text = _Meeting(held, lambda record: record.text, Flag.QUESTION_IN_BOTH_SPLITS)
    by_template = _Meeting(
        held, lambda record: record.template, Flag.TEMPLATE_IN_BOTH_SPLITS, name="template"
    )
    texts = {
        template: [record.text for record in records]
        for template, records in by_template.held.items()
    }
    nearest: dict[str, tuple[float, SetRecord]] = {}  # in the train split, by eval question
    findings: Findings = {}
    for record in train_records:
        near = None
        for place, similarity in _find_similar(
            record.text, texts.get(record.template, []), min_similarity
        ):
            other = by_template.held[record.template][place]
            near = _choose(near, (similarity, other))
            nearest[other.question_id] = _choose(
                nearest.get(other.question_id), (similarity, record)
            )
        found = _list_found(near, by_text.meet(record), by_template.meet(record))
        if found:
            findings[record.question_id] = found
    for record in held:
        near = nearest.get(record.question_id)
        found = _list_found(near, by_text.met(record), by_template.met(record))
        if found:
            findings[record.question_id] = found
    return findings


class _Meeting:
    """Eval questions by something that they may share with train questions, and what they met.

    A finding is one object for all questions of a split that share it, since most of a large set
    may."""

    def __init__(
        self,
        held: list[SetRecord],
        key: Callable[[SetRecord], str],
        code: Flag,
        *,
        name: str | None = None,
    ) -> None:
        self._key, self._code, self._name = key, code, name
        self.held: dict[str, list[SetRecord]] = defaultdict(list)
        for record in held:
            if key(record):
                self.held[key(record)].append(record)
        self._of_eval: dict[str, Finding] = {}
        self._of_train: dict[str, Finding] = {}

    def _make_finding(self, shared: str, count: int, example: SetRecord) -> Finding:
        evidence: dict[str, Any] = {self._name: shared[:_TEXT]} if self._name else {}
        evidence |= {"count": count, "example": example.question_id}
        return Finding(self._code, evidence)

    def meet(self, record: SetRecord) -> Finding | None:
        """What a train question shares with eval questions, if anything; then it is counted."""
        shared = self._key(record)
        held = self.held.get(shared)
        if held is None:
            return None
        if shared not in self._of_train:
            self._of_eval[shared] = self._make_finding(shared, len(held), held[0])
            self._of_train[shared] = self._make_finding(shared, 0, record)
        evidence = self._of_train[shared].evidence
        evidence["count"] += 1
        evidence["example"] = min(evidence["example"], record.question_id, key=sort_key)
        return self._of_eval[shared]

    def met(self, record: SetRecord) -> Finding | None:
        """What an eval question shared with the train questions counted so far."""
        return self._of_train.get(self._key(record))


def _list_found(
    near: tuple[float, SetRecord] | None, text: Finding | None, template: Finding | None
) -> list[Finding]:
    findings = [finding for finding in (text, template) if finding is not None]
    if near is not None:
        evidence = {"other": near[1].question_id, "similarity": near[0]}
        findings.insert(0, Finding(Flag.NEAR_DUPLICATE_QUESTION, evidence))
    return findings


def _find_similar(text: str, texts: list[str], min_similarity: float) -> list[tuple[int, float]]:
    """Which of some texts are nearly this one, and how nearly; not those that are equal."""
    if not text:
        return []
    found = process.extract(
        text, texts, scorer=fuzz.ratio, score_cutoff=100 * min_similarity, limit=None
    )
    return [(place, round(score / 100, 3)) for other, score, place in found if other != text]


def _choose(
    current: tuple[float, SetRecord] | None, found: tuple[float, SetRecord]
) -> tuple[float, SetRecord]:
    """The more similar one; the first question of two that are equally so."""
    if current is None:
        return found
    return min(current, found, key=lambda pair: (-pair[0], sort_key(pair[1].question_id)))


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

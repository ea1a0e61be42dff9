"""What each question shares with others: repeats, contradictions, and leaks between splits.

Nothing is executed. All questions are compared again whenever one of them changes.
"""

from __future__ import annotations

import math
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from answerkey.dataset import Question
from answerkey.records import EVAL, Finding, digest_text
from answerkey.sqlite.answers import answer_rows, read_order
from answerkey.sqlite.schema import Schema

_END_MARKS = ".?!,;:\u2026\u3002 "
_FLOAT_DIGITS = 6  # after the first one; floats that agree in these are one answer


class Fingerprint(NamedTuple):
    """The parts of a question that are compared, as short texts and hashes; "" equals nothing.

    text: the question, normalized.
    canonical_sql: a hash; "" if the query has no canonical form.
    answer: a hash of the rows in any order.
    sequence: a hash of the rows in their order, or "" if some may change places.
    """

    question_id: str
    database_name: str
    split: str
    text: str
    canonical_sql: str
    template: str
    answer: str
    sequence: str


def make_fingerprint(question: Question) -> Fingerprint:
    """The fingerprint of a question that has an answer.

    One that has none, as one that a curator excluded, has only names: so a good question is not
    left out because it repeats a wrong one.
    """
    names = question.question_id, sys.intern(question.database_name), sys.intern(question.split)
    if question.answer_type is None:
        return Fingerprint(*names, "", "", "", "", "")
    rows = [_encode_row(row) for row in answer_rows(question.gold_answer)]
    is_sequence = read_order(question.order_matters, question.accepted_rows) is True
    return Fingerprint(
        *names,
        text=normalize_question(question.question_text),
        canonical_sql=_hash(question.canonical_sql) if question.canonical_sql else "",
        template=sys.intern(question.template or ""),
        answer=_hash("\n".join(sorted(rows))),
        sequence=_hash("\n".join(rows)) if is_sequence else "",
    )


def normalize_question(question_text: str) -> str:
    """A question without what does not change it: case, white space, marks at its end.

    >>> normalize_question("How many  SHIPS are there ?")
    'how many ships are there'
    """
    folded = unicodedata.normalize("NFKC", question_text).casefold()
    # Folding may leave what is not normalized.
    return " ".join(unicodedata.normalize("NFKC", folded).split()).rstrip(_END_MARKS)


def sort_key(question_id: str) -> tuple[str, int, str]:
    """An order of questions in which number 1000 of a database comes after number 999.

    >>> sorted(["a_train_1000", "a_train_999"], key=sort_key)
    ['a_train_999', 'a_train_1000']
    """
    stem = question_id.rstrip("0123456789")
    number = question_id[len(stem) :]
    return stem, int(number) if number else -1, question_id


def _encode_row(row: tuple[Any, ...]) -> str:
    """A row as text, a float by its first digits; each value keeps its type."""
    if float not in map(type, row):
        return repr(row)
    return repr(tuple([f"{v:.{_FLOAT_DIGITS}e}"] if type(v) is float else v for v in row))


def _hash(text: str) -> str:
    return digest_text(text).hex()


# Similar texts: which of some texts are nearly one of them, and which of these is nearest.


MIN_SIMILARITY = 0.9


class Near(NamedTuple):
    """A question whose text is nearly that of another one, and how nearly."""

    question_id: str
    similarity: float


def find_similar(text: str, texts: list[str], min_similarity: float) -> list[tuple[int, float]]:
    """The places of the texts that are nearly this one, each with its similarity; equal texts are
    left out.

    >>> find_similar("list all ships", ["list all shops", "list all ships", "who?"], 0.9)
    [(0, 0.929)]
    """
    if not text:
        return []
    found = process.extract(
        text, texts, scorer=fuzz.ratio, score_cutoff=100 * min_similarity, limit=None
    )
    return [(place, round(score / 100, 3)) for other, score, place in found if other != text]


def measure_similarity(text: str, other: str) -> float:
    """How similar two texts are, from 0 to 1; 1 only if they are equal.

    >>> measure_similarity("list all ships", "list all shops")
    0.929
    """
    return 1.0 if text == other else min(round(fuzz.ratio(text, other) / 100, 3), 0.999)


def choose_nearest(current: Near | None, found: Near) -> Near:
    """The more similar one; the first question of two that are equally so."""
    if current is None:
        return found
    return min(current, found, key=lambda near: (-near.similarity, sort_key(near.question_id)))


# Schema twins: databases of different splits that are one schema under two names, or nearly.
#
# A model that is trained on one of them has seen the other's tables before it is evaluated.


MIN_SHARE = 0.9

Column = tuple[str, str]  # table, column


class SchemaColumns(NamedTuple):
    """A schema without its name: its (table, column) pairs, and the type of each."""

    database_name: str
    types: Mapping[Column, str]


def list_columns(database_name: str, schema: Schema) -> SchemaColumns:
    """The columns of a database's tables, by lower-case names; views are left out."""
    types = {
        (table.name.lower(), column.name.lower()): column.type.upper()
        for table in schema.tables
        if not table.is_view
        for column in table.columns
    }
    return SchemaColumns(database_name, types)


def find_schema_twins(
    train: Iterable[SchemaColumns],
    held_out: Iterable[SchemaColumns],
    *,
    min_share: float = MIN_SHARE,
) -> dict[str, Finding]:
    """{database_name: Finding} for each database that has a twin in the other split.

    Twins share at least `min_share` of all (table, column) pairs that either has. The evidence
    names the most alike, the first by name of several, and says whether even its types are the
    same.
    """
    train, held_out = ([one for one in side if one.types] for side in (train, held_out))
    frequency = Counter(pair for one in held_out for pair in one.types)
    by_rare_pair: dict[Column, list[SchemaColumns]] = defaultdict(list)
    for one in held_out:
        for pair in _list_rarest(one.types, frequency, min_share):
            by_rare_pair[pair].append(one)
    twins: dict[str, list[tuple[float, str, bool]]] = defaultdict(list)
    for one in train:
        candidates = {
            other.database_name: other
            for pair in _list_rarest(one.types, frequency, min_share)
            for other in by_rare_pair.get(pair, ())
        }
        for other in candidates.values():
            shared = len(one.types.keys() & other.types.keys())
            share = shared / (len(one.types) + len(other.types) - shared)
            if share >= min_share:
                has_same_types = one.types == other.types
                twins[one.database_name].append((-share, other.database_name, has_same_types))
                twins[other.database_name].append((-share, one.database_name, has_same_types))
    return {name: _make_finding(found) for name, found in sorted(twins.items())}


def _make_finding(twins: list[tuple[float, str, bool]]) -> Finding:
    share, database_name, has_same_types = min(twins)
    evidence = {
        "database": database_name,
        "share": round(-share, 3),
        "same_types": has_same_types,
        "count": len(twins),
    }
    return Finding("schema_in_both_splits", evidence)


def _list_rarest(
    columns: Collection[Column], frequency: Mapping[Column, int], min_share: float
) -> list[Column]:
    """The rarest pairs of a schema: so many that any twin has one of its own rarest pairs among
    them.

    Source: Chaudhuri, Ganti, Kaushik: A primitive operator for similarity joins (2006), prefix
    filter.
    """
    ordered = sorted(columns, key=lambda pair: (frequency[pair], pair))
    return ordered[: len(ordered) - math.ceil(min_share * len(ordered) - 1e-9) + 1]


# Probes of one database: questions that say the same twice, or contradict each other.


Findings = dict[str, list[Finding]]

_NAMED = 5  # questions that one piece of evidence names


def find_in_database(
    records: Iterable[Fingerprint], *, min_similarity: float = MIN_SIMILARITY
) -> Findings:
    """{question_id: [Finding, ...]}: what the questions of one database have in common.

    Raises:
        ValueError: if the records are of more than one database.
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


def _find_duplicates(records: list[Fingerprint], findings: Findings) -> None:
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
                findings[record.question_id].append(Finding("duplicate_question", evidence))


def _find_paraphrases(records: list[Fingerprint], findings: Findings) -> None:
    """Every question but the first of those with one canonical SQL, in other words."""
    for group in _group(records, lambda record: record.canonical_sql):
        first = group[0]
        for record in group[1:]:
            if record.text != first.text:
                evidence = {"first": first.question_id, "questions": len(group)}
                findings[record.question_id].append(Finding("paraphrase_of", evidence))


def _find_conflicts(records: list[Fingerprint], findings: Findings) -> None:
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
            findings[record.question_id].append(Finding("conflicting_gold", evidence))


def _find_near_duplicates(
    records: list[Fingerprint], findings: Findings, min_similarity: float
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
                findings[record.question_id].append(Finding("near_duplicate_question", evidence))


def _group(
    records: list[Fingerprint], key: Callable[[Fingerprint], str]
) -> Iterator[list[Fingerprint]]:
    """Records of one key, if there are several; a key of "" is none."""
    groups: dict[str, list[Fingerprint]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return (group for shared, group in groups.items() if shared and len(group) > 1)


class _Answers:
    """Some records by their answers, so that the ones that agree with a record are found without
    asking each: thousands may have one text."""

    def __init__(self, records: list[Fingerprint]) -> None:
        self._of_sequence: dict[str, list[int]] = defaultdict(list)
        self._of_answer: dict[str, list[int]] = defaultdict(list)
        self._of_unordered: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            self._of_answer[record.answer].append(place)
            if record.sequence:
                self._of_sequence[record.sequence].append(place)
            else:
                self._of_unordered[record.answer].append(place)

    def list_places(self, record: Fingerprint) -> list[list[int]]:
        """The places of the records that have one answer with one of them, as disjoint lists, none
        of them empty: by `_have_one_answer`."""
        if not record.sequence:
            return [self._of_answer[record.answer]]
        unordered = self._of_unordered.get(record.answer)
        return [self._of_sequence[record.sequence], *([unordered] if unordered else ())]


def _have_one_answer(left: Fingerprint, right: Fingerprint) -> bool:
    if left.sequence and right.sequence:
        return left.sequence == right.sequence
    return left.answer == right.answer


def _have_one_sql(left: Fingerprint, right: Fingerprint) -> bool:
    return left.canonical_sql != "" and left.canonical_sql == right.canonical_sql


# Probes across the splits: questions of train that questions of eval repeat, in text or template.
#
# Leaks are looked for between the splits only: within one, a text or template that comes again in
# another database is no fault.


_TEMPLATE_CHARACTERS = 200  # that evidence shows


def find_across_splits(
    fingerprints: Sequence[Fingerprint], *, min_similarity: float = MIN_SIMILARITY
) -> Findings:
    """{question_id: [Finding, ...]}: what questions share with those of the other split.

    Nearly equal texts are looked for among questions of one template.
    """
    near: Findings = defaultdict(list)
    same: Findings = defaultdict(list)
    for train, held_out in _list_shared(fingerprints, lambda one: one.text):
        for question_id, shared in _list_others(train, held_out):
            same[question_id].append(Finding("question_in_both_splits", shared))
    for train, held_out in _list_shared(fingerprints, lambda one: one.template):
        template = {"template": train[0].template[:_TEMPLATE_CHARACTERS]}
        for question_id, shared in _list_others(train, held_out):
            same[question_id].append(Finding("template_in_both_splits", template | shared))
        _add_near(near, train, held_out, min_similarity)
    return {
        question_id: near.get(question_id, []) + same.get(question_id, [])
        for question_id in near.keys() | same.keys()
    }


def _list_shared(
    fingerprints: Sequence[Fingerprint], key: Callable[[Fingerprint], str]
) -> list[tuple[list[Fingerprint], list[Fingerprint]]]:
    """The train and the eval questions of each key that both splits have."""
    sides: dict[str, tuple[list[Fingerprint], list[Fingerprint]]] = {}
    for one in fingerprints:
        if key(one):
            sides.setdefault(key(one), ([], []))[one.split == EVAL].append(one)
    return [(train, held_out) for train, held_out in sides.values() if train and held_out]


def _list_others(
    train: list[Fingerprint], held_out: list[Fingerprint]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each question with how many of the other split share it, and the first of them."""
    for records, others in ((train, held_out), (held_out, train)):
        first = min((other.question_id for other in others), key=sort_key)
        for record in records:
            yield record.question_id, {"count": len(others), "example": first}


def _add_near(
    findings: Findings, train: list[Fingerprint], held_out: list[Fingerprint], min_similarity: float
) -> None:
    """A finding for each question whose text is nearly that of one of the other split, with the
    nearest of them."""
    nearest: dict[str, Near] = {}
    texts = [record.text for record in held_out]
    for record in train:
        for place, similarity in find_similar(record.text, texts, min_similarity):
            other = held_out[place]
            for one, two in ((record, other), (other, record)):
                found = Near(two.question_id, similarity)
                nearest[one.question_id] = choose_nearest(nearest.get(one.question_id), found)
    for question_id, near in nearest.items():
        evidence = {"other": near.question_id, "similarity": near.similarity}
        findings[question_id].append(Finding("near_duplicate_question", evidence))


# The comparison of all questions.


def compare(
    fingerprints: Iterable[Fingerprint],
    schemas: Iterable[tuple[str, Schema]],
    *,
    min_similarity: float,
) -> Findings:
    """{question_id: [Finding, ...]} for each question that shares something.

    `schemas` are those of all databases, with their names.
    """
    fingerprints = list(fingerprints)
    findings: Findings = defaultdict(list)
    by_database: dict[str, list[Fingerprint]] = defaultdict(list)
    for one in fingerprints:
        by_database[one.database_name].append(one)
    parts = [find_in_database(of, min_similarity=min_similarity) for of in by_database.values()]
    parts.append(find_across_splits(fingerprints, min_similarity=min_similarity))
    for part in parts:
        for question_id, found in part.items():
            findings[question_id] += found
    splits = {name: of_database[0].split for name, of_database in by_database.items()}
    twins = _find_twins(splits, schemas)
    for one in fingerprints:
        if one.answer and one.database_name in twins:
            findings[one.question_id].append(twins[one.database_name])
    return findings


def _find_twins(
    splits: Mapping[str, str], schemas: Iterable[tuple[str, Schema]]
) -> dict[str, Finding]:
    """The schema twins among the databases of the questions, by name."""
    columns = [list_columns(name, schema) for name, schema in schemas if name in splits]
    train = [one for one in columns if splits[one.database_name] != EVAL]
    held_out = [one for one in columns if splits[one.database_name] == EVAL]
    return find_schema_twins(train, held_out)

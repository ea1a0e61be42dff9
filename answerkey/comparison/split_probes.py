"""Probes of both splits: what the questions of one share with those of the other.

That is their text, the template of their SQL, or both nearly. Questions meet on the disk, in a
temporary database of SQLite: what is held is the eval questions that share one thing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from answerkey.comparison.set_records import SetRecord, sort_key
from answerkey.comparison.similar_texts import MIN_SIMILARITY, Near, TextSet, choose_nearest
from answerkey.core.findings import Finding
from answerkey.core.question import EVAL
from answerkey.core.reasons import Flag
from answerkey.core.records import decode_text, digest_text, encode_text
from answerkey.core.scratch import open_scratch

_TEXT = 200  # characters of a template in evidence
_NEAR, _SAME_TEXT, _SAME_TEMPLATE = range(3)  # the order of a question's findings
_CODES = (
    Flag.NEAR_DUPLICATE_QUESTION,
    Flag.QUESTION_IN_BOTH_SPLITS,
    Flag.TEMPLATE_IN_BOTH_SPLITS,
)
_TABLES = (
    "CREATE TABLE record (number INTEGER PRIMARY KEY, question_id, is_train, text, template,"
    " text_key, template_key)",
    "CREATE TABLE finding (number, place, evidence)",
)

_Found = tuple[int, int, str]  # number of the question, place among its findings, evidence


class _Member(NamedTuple):
    """A question that has something in common with others, which is its key."""

    key: int
    is_train: int
    number: int
    question_id: str
    text: bytes


def find_across_splits(
    records: Iterable[SetRecord], *, min_similarity: float = MIN_SIMILARITY
) -> Iterator[list[Finding]]:
    """What each question shares with those of the other split, in the order of the records.

    Nearly equal texts are looked for among questions of one template.
    """
    connection = open_scratch(*_TABLES)
    connection.executemany(
        "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                number,
                record.question_id,
                record.split != EVAL,
                encode_text(record.text),
                encode_text(record.template[:_TEXT]),
                _hash(record.text),
                _hash(record.template),
            )
            for number, record in enumerate(records)
        ),
    )
    found = chain(_meet_in_text(connection), _meet_in_template(connection, min_similarity))
    connection.executemany("INSERT INTO finding VALUES (?, ?, ?)", found)
    rows = connection.execute("SELECT number, place, evidence FROM finding ORDER BY 1, 2")
    next_number = 0
    for number, of_record in groupby(rows, key=itemgetter(0)):
        yield from ([] for _ in range(next_number, number))
        yield [Finding(_CODES[place], json.loads(evidence)) for _, place, evidence in of_record]
        next_number = number + 1
    (count,) = connection.execute("SELECT count(*) FROM record").fetchone()
    yield from ([] for _ in range(next_number, count))


def _hash(text: str) -> int | None:
    """A key of 64 bits; None for ''."""
    return int.from_bytes(digest_text(text), signed=True) if text else None


def _meet_in_text(connection: sqlite3.Connection) -> Iterator[_Found]:
    rows = connection.execute(
        "SELECT text_key, is_train, number, question_id, x'' FROM record"
        " WHERE text_key IS NOT NULL ORDER BY 1, 2"
    )
    for held, others in _list_meetings(rows):
        yield from _compare(held, others, _SAME_TEXT, {})


def _meet_in_template(connection: sqlite3.Connection, min_similarity: float) -> Iterator[_Found]:
    rows = connection.execute(
        "SELECT template_key, is_train, number, question_id, text FROM record"
        " WHERE template_key IS NOT NULL ORDER BY 1, 2"
    )
    for held, others in _list_meetings(rows):
        (template,) = connection.execute(
            "SELECT template FROM record WHERE number = ?", (held[0].number,)
        ).fetchone()
        shared = {"template": decode_text(template)}
        yield from _compare(held, others, _SAME_TEMPLATE, shared, min_similarity=min_similarity)


def _list_meetings(
    rows: Iterable[tuple[Any, ...]],
) -> Iterator[tuple[list[_Member], Iterator[_Member]]]:
    """The eval questions of each key, and its train questions, where there are both."""
    for _, of_key in groupby(map(_Member._make, rows), key=attrgetter("key")):
        members = iter(of_key)
        held: list[_Member] = []
        for member in members:
            if member.is_train:
                if held:
                    yield held, chain([member], members)
                break
            held.append(member)


def _compare(
    held: list[_Member],
    others: Iterable[_Member],
    place: int,
    shared: dict[str, Any],
    *,
    min_similarity: float | None = None,
) -> Iterator[_Found]:
    """The findings of questions that share something, as evidence says it; of those whose texts are
    nearly equal too, where there is a similarity to reach."""
    texts = None
    if min_similarity is not None:
        texts = TextSet([decode_text(member.text) for member in held], min_similarity)
    nearest: dict[int, Near] = {}  # among the others, by place in held
    of_held = _Meeting(shared)
    for member in held:
        of_held.add(member)
    of_others = _Meeting(shared)
    to_others = of_held.encode()
    for other in others:
        of_others.add(other)
        yield other.number, place, to_others
        if texts is None:
            continue
        near = None
        for index, similarity in texts.find_similar(decode_text(other.text)):
            near = choose_nearest(near, Near(held[index].question_id, similarity))
            found = Near(other.question_id, similarity)
            nearest[index] = choose_nearest(nearest.get(index), found)
        if near is not None:
            yield other.number, _NEAR, _encode_near(near)
    to_held = of_others.encode()
    for index, member in enumerate(held):
        yield member.number, place, to_held
        if index in nearest:
            yield member.number, _NEAR, _encode_near(nearest[index])


class _Meeting:
    """How many questions of a split share something, and the first of them."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self._shared = shared
        self._count = 0
        self._first: str | None = None

    def add(self, member: _Member) -> None:
        self._count += 1
        first = self._first
        if first is None or sort_key(member.question_id) < sort_key(first):
            self._first = member.question_id

    def encode(self) -> str:
        return json.dumps({**self._shared, "count": self._count, "example": self._first})


def _encode_near(near: Near) -> str:
    return json.dumps({"other": near.question_id, "similarity": near.similarity})

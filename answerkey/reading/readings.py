"""Passes of a model over gold, one per line, and the verdicts and corrections that follow from
them.

A line is added to data/readings/NAME.jsonl when a pass ends, so that an interrupted run can
continue. data/verdicts/NAME.jsonl and data/corrections/NAME.yaml are made from the whole file.

A question is read in two passes. A third one follows if they disagree: if their verdicts differ, or
if both say `wrong` and their queries have different rows. Then:

- what two of the three passes say counts;
- if two say `wrong`, but no two of these have the same rows, the verdict is `wrong`, without a
  query;
- if all three differ, the question is `ambiguous`: careful readers disagree.

Gold without an answer is not `right`: a pass that says so does not count.
"""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import FileIO
from itertools import combinations, count
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from answerkey.base.errors import InputError
from answerkey.base.kinds import Day, From1, Words, check_value
from answerkey.base.log import spell_count
from answerkey.base.paths import CORRECTIONS, VERDICTS
from answerkey.base.records import encode_json, read_lines, replace_file, write_jsonl
from answerkey.corpus.loading import REPLACE
from answerkey.risk.agreement import describe_agreement, find_agreement
from answerkey.risk.verdicts import (
    AMBIGUOUS,
    RIGHT,
    VERDICT_WORDS,
    WRONG,
    Answers,
    Blank,
    FaultKind,
    Word,
)

READINGS = Path("data/readings")
MOST_READINGS = 3

Key = tuple[str, str, str]  # database_name, question_text, gold_sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of one pass over a question; a line of data/readings.

    db_id: the database's name in its corpus.
    number: the number of the pass, from 1.
    sql, kind, answers, rows_sha256: as in `answerkey.reading.conversation.Judgement`.
    """

    corpus: Words
    db_id: Words
    database_name: Words
    question_text: Words
    gold_sql: Words
    number: From1
    verdict: Word
    reason: Blank
    source: Words
    date: Day
    sql: Words | None = None
    kind: FaultKind | None = None
    answers: Answers | None = None
    rows_sha256: Words | None = None

    def __post_init__(self) -> None:
        if self.verdict != RIGHT and (self.sql is None or self.rows_sha256 is None):
            raise ValueError(f"expected sql and rows_sha256 beside the verdict {self.verdict}")

    @property
    def key(self) -> Key:
        return self.database_name, self.question_text, self.gold_sql

    def agrees(self, other: Reading) -> bool:
        """Return whether another pass has the same result."""
        if self.verdict != other.verdict:
            return False
        return self.verdict != WRONG or self.rows_sha256 == other.rows_sha256


class Settled(NamedTuple):
    """The result of all passes over a question. sql: None if gold is right, or if no two passes
    agree on the right query."""

    verdict: str
    reason: str
    source: str
    sql: str | None = None
    kind: str | None = None
    answers: str | None = None


def settle(readings: Sequence[Reading]) -> Settled | None:
    """Return the result of a question's passes by the rules above; None: it needs another pass."""
    for first, other in combinations(readings, 2):
        if first.agrees(other):
            return Settled(
                first.verdict, first.reason, first.source, first.sql, first.kind, first.answers
            )
    if len(readings) < MOST_READINGS:
        return None
    counts = Counter(reading.verdict for reading in readings)
    reasons = " ".join(f"({each.number}) {each.reason}" for each in readings if each.reason)
    if counts[WRONG] > 1:
        kinds = Counter(each.kind for each in readings if each.verdict == WRONG)
        (kind, times), *_ = kinds.most_common(1)
        reason = f"Readings agree that it is wrong, and not on what is asked: {reasons}"
        return Settled(WRONG, reason, readings[0].source, kind=kind if times > 1 else None)
    doubting = next(each for each in readings if each.verdict != RIGHT)
    reason = f"No two readings agree: {reasons}"
    return Settled(
        AMBIGUOUS, reason, doubting.source, doubting.sql, doubting.kind, doubting.answers
    )


@contextmanager
def open_readings(name: str, unanswered: Container[Key] = ()) -> Iterator[Readings]:
    """Open the passes of this name. No other process can open them until the block or this process
    ends; even `kill -9` leaves no lock.

    unanswered: the questions whose gold has no answer.

    Raises:
        InputError: another run has them open, a line is no pass, or the files made from passes
            exist without the passes: somebody else wrote them.
    """
    path = READINGS / f"{name}.jsonl"
    if not path.is_file() or not path.stat().st_size:
        for path_made in (VERDICTS / f"{name}.jsonl", CORRECTIONS / f"{name}.yaml"):
            if path_made.exists():
                raise InputError(
                    f"{path_made} is there, without {path} of which `answerkey read` makes it:"
                    " choose another --name"
                )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{path} belongs to a run of `answerkey read --name {name}` that has not ended:"
                " wait for it, or choose another --name"
            ) from None
        yield Readings(name, file, unanswered)


class Readings:
    """The passes of a file, which is open and locked."""

    def __init__(self, name: str, file: FileIO, unanswered: Container[Key]) -> None:
        self.path = READINGS / f"{name}.jsonl"
        self.verdicts = VERDICTS / f"{name}.jsonl"
        self.corrections = CORRECTIONS / f"{name}.yaml"
        self._file = file
        self._unanswered = unanswered
        self._by_key: dict[Key, dict[int, Reading]] = {}
        text = self.path.read_bytes()
        file.truncate(text.rfind(b"\n") + 1)  # drop an incomplete line of a run that was killed
        for where, record in read_lines(self.path):
            self._keep(check_value(Reading, record, where=where))

    def _keep(self, reading: Reading) -> None:
        if reading.verdict != RIGHT or reading.key not in self._unanswered:
            self._by_key.setdefault(reading.key, {})[reading.number] = reading

    def add(self, reading: Reading) -> None:
        """Store a pass, also on disk."""
        known = {name: value for name, value in asdict(reading).items() if value is not None}
        self._file.write(encode_json(known) + b"\n")
        self._keep(reading)

    def find_next(self, key: Key) -> int | None:
        """Return the number of the pass that a question needs next; None if it is settled."""
        if settle(self._list(key)):
            return None
        return next(number for number in count(1) if number not in self._by_key.get(key, ()))

    def count_questions(self, keys: Sequence[Key]) -> str:
        """Return the progress of these questions, in words."""
        read = sum(key in self._by_key for key in keys)
        settled = sum(self.find_next(key) is None for key in keys)
        chosen = spell_count(len(keys), "question", ",")
        return (
            f"{chosen} chosen: {settled:,} settled, {read - settled:,} read and not settled,"
            f" {len(keys) - read:,} without a verdict"
        )

    def _list(self, key: Key) -> list[Reading]:
        return [reading for _, reading in sorted(self._by_key.get(key, {}).items())]

    @property
    def corpora(self) -> set[str]:
        return {reading.corpus for key in self._by_key for reading in self._list(key)}

    def write(self) -> str:
        """Write the verdicts and corrections that follow, and return a summary."""
        settled: dict[Key, tuple[list[Reading], Settled]] = {}
        for key in sorted(self._by_key):
            readings = self._list(key)
            if (outcome := settle(readings)) is not None:
                settled[key] = readings, outcome
        summary = self._describe(settled)
        if settled:
            lines = [line for pair in settled.values() for line in _write_verdicts(*pair)]
            entries = [_write_correction(*pair) for pair in settled.values() if _is_fixed(pair[1])]
            write_jsonl(self.verdicts, lines)
            _write_yaml(self.corrections, entries)
            summary += (
                f"\n{self.verdicts}: {spell_count(len(lines), 'verdict', ',')},"
                f" {len(entries):,} of these on corrections"
                f"\n{self.corrections}: {spell_count(len(entries), 'correction', ',')}"
            )
        return summary

    def _describe(self, settled: Mapping[Key, tuple[list[Reading], Settled]]) -> str:
        outcomes = [outcome for _, outcome in settled.values()]
        counts = Counter(outcome.verdict for outcome in outcomes)
        pairs = [self._list(key)[:2] for key in self._by_key]
        agreement = find_agreement(
            [(first.verdict, second.verdict) for first, second in filter(_is_pair, pairs)]
        )
        verdicts = ", ".join(f"{word} {counts[word]:,}" for word in VERDICT_WORDS)
        unfixed = counts[WRONG] - sum(map(_is_fixed, outcomes))
        if unfixed:
            verdicts += f"; {unfixed:,} of the wrong ones without a correction"
        lines = [
            f"{spell_count(len(settled), 'question', ',')} settled: {verdicts}",
            f"read and not settled: {len(self._by_key) - len(settled):,}",
            describe_agreement(agreement),
        ]
        return "\n".join(lines)


def _is_pair(readings: list[Reading]) -> bool:
    return len(readings) == 2


def _is_fixed(outcome: Settled) -> bool:
    return outcome.verdict == WRONG and outcome.sql is not None


def _write_verdicts(readings: list[Reading], outcome: Settled) -> Iterator[dict[str, Any]]:
    """Yield the verdict about gold, and one that says its correction is right: so the passes say
    whose queries have its rows."""
    first = readings[0]
    words = [reading.verdict for reading in readings]
    line = {
        "corpus": first.corpus,
        "database_name": first.database_name,
        "question_text": first.question_text,
        "gold_sql": first.gold_sql,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "source": outcome.source,
        "date": readings[-1].date,
        "readings": words,
    }
    of_fault = {"sql": outcome.sql, "answers": outcome.answers, "kind": outcome.kind}
    yield line | {name: value for name, value in of_fault.items() if value is not None}
    if _is_fixed(outcome):
        fault = (WRONG, outcome.sql)
        written = next(each for each in readings if (each.verdict, each.sql) == fault)
        agreed = [RIGHT for each in readings if each.agrees(written)]
        about = {"gold_sql": outcome.sql, "verdict": RIGHT, "reason": "It is the correction."}
        yield line | about | {"readings": agreed}


def _write_correction(readings: list[Reading], outcome: Settled) -> dict[str, Any]:
    first = readings[0]
    return {
        "database": first.db_id,
        "question": first.question_text,
        "gold_sql": first.gold_sql,
        "action": REPLACE,
        "replacement": {"gold_sql": outcome.sql},
        "reason": outcome.reason,
        "source": outcome.source,
        "date": readings[-1].date,
        "readings": [reading.verdict for reading in readings],
    }


def _write_yaml(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    text = yaml.safe_dump(list(entries), allow_unicode=True, sort_keys=False, width=100)
    with replace_file(path) as file:
        file.write(f"# Made by `answerkey read`.\n{text}".encode())

"""Dossiers: everything that the stages know of a question, put together one question at a time.

All artefacts keep the order of the source questions, so that they are joined as streams: memory
does not grow with the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.core.errors import InputError
from answerkey.core.records import read_jsonl
from answerkey.shards.shard_directory import read_shards

INTERIM = Path("data/interim")

_NEXT_STEP = "data/interim is of several runs; run `dvc repro`, which brings it in step"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dossier:
    """One question: `source` as loaded, with question_id and split; `outcome` with gold_answer and
    answer_type, or reason and detail; `parsed` with tables_involved and the rest, or reason and
    detail; `audit` with flags and order_matters (None without an answer); `difficulty` (None where
    the query did not parse)."""

    source: Record
    outcome: Record
    parsed: Record
    audit: Record | None
    difficulty: str | None

    @property
    def question_id(self) -> str:
        return self.source["question_id"]


def read_curated_exclusion(source: Record) -> str | None:
    """Why a curator excluded a question, with the link; None where none did."""
    correction = source["source"].get("correction")
    if correction is None or correction["action"] != "exclude":
        return None
    return " ".join(filter(None, (correction["reason"], correction["link"])))


class Stream:
    """Records in the order of the questions, some of which may have none."""

    def __init__(self, records: Iterable[Record], name: str) -> None:
        self._records = iter(records)
        self._name = name
        self._next = next(self._records, None)

    def take(self, question_id: str) -> Record | None:
        """The record of a question, or None; questions must be asked for in their order."""
        if self._next is None or self._next["question_id"] != question_id:
            return None
        record, self._next = self._next, next(self._records, None)
        return record

    def require(self, question_id: str) -> Record:
        """The record of a question.

        Raises:
            InputError: where it has none, since a question must not get lost between stages.
        """
        record = self.take(question_id)
        if record is None:
            raise InputError(f"{self._name}: no record of question {question_id}: {_NEXT_STEP}")
        return record

    def finish(self) -> None:
        """Make sure that nothing is left over.

        Raises:
            InputError: naming the first record that belongs to no question.
        """
        if self._next is not None:
            question_id = self._next["question_id"]
            raise InputError(
                f"{self._name}: {question_id} is no question, or out of order: {_NEXT_STEP}"
            )


class Answered(NamedTuple):
    """A question as far as it goes without a difficulty: the parts of a Dossier of those names."""

    source: Record
    outcome: Record
    parsed: Record
    audit: Record | None


def read_answered(interim: Path = INTERIM) -> Iterator[Answered]:
    """What is known of each source question before questions are compared, in order.

    Raises:
        InputError: where an artefact misses a question, or holds one too many; where a question
            comes twice.
    """
    parses = Stream(read_jsonl(interim / "parsed.jsonl"), "parsed")
    sources = read_jsonl(interim / "splits.jsonl")
    for name, of_database in groupby(sources, key=itemgetter("database_name")):
        outcomes = Stream(read_shards(interim / "gold_answers", [name]), "gold_answers")
        audits = Stream(read_shards(interim / "audit", [name]), "audit")
        seen: set[str] = set()
        for source in of_database:
            question_id = source["question_id"]
            if question_id in seen:
                raise InputError(f"splits: {question_id} comes twice: expected each question once")
            seen.add(question_id)
            yield Answered(
                source,
                outcomes.require(question_id),
                parses.require(question_id),
                audits.take(question_id),
            )
        outcomes.finish()
        audits.finish()
    parses.finish()


def read_dossiers(interim: Path = INTERIM) -> Iterator[Dossier]:
    """The dossiers of all source questions, in order; flags of both kinds are in `audit`.

    Raises:
        InputError: where an artefact misses a question, or holds one too many.
    """
    set_flags = Stream(read_jsonl(interim / "set_flags.jsonl"), "set_flags")
    difficulties = Stream(read_jsonl(interim / "difficulty.jsonl"), "difficulty")
    for source, outcome, parsed, audit in read_answered(interim):
        question_id = source["question_id"]
        raised = set_flags.take(question_id)
        if raised and audit:
            audit = {**audit, "flags": audit["flags"] + raised["flags"]}
        difficulty = difficulties.take(question_id)
        yield Dossier(
            source, outcome, parsed, audit, difficulty["difficulty"] if difficulty else None
        )
    for stream in (set_flags, difficulties):
        stream.finish()

"""Corrections: what curators decided about single questions, applied to exactly those they name.

Nothing is dropped: a question that is excluded here keeps its place, and with it every id, and is
set aside by select_questions. A decision that its corpus no longer needs or knows stops the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from answerkey.base.errors import InputError
from answerkey.base.kinds import check_value, mapping, one_of, text
from answerkey.base.params import load_yaml

ACTIONS = _, REPLACE = ("exclude", "replace")
REPLACEABLE = ("question_text", "gold_sql", "evidence")

Record = dict[str, Any]
Words = Annotated[str, text("text", pattern=r"\S")]
Link = Annotated[str, text("an address", pattern=r"^https?://")]
Replacement = Annotated[
    dict[str, str], mapping(f"some of {', '.join(REPLACEABLE)}", Words, keys=REPLACEABLE)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A decision about a question.

    gold_sql: one of its queries, if it occurs with several.
    link: where the fault is reported; None for one that was found here.
    where: its place in the file.
    """

    database: Words
    question: Words
    action: Annotated[Literal[*ACTIONS], one_of(ACTIONS)]
    reason: Words
    gold_sql: Words | None = None
    replacement: Replacement | None = None
    link: Link | None = None
    where: str = ""

    def __post_init__(self) -> None:
        if (self.action == REPLACE) != bool(self.replacement):
            raise ValueError("expected a replacement for action replace, and for no other")


def read_corrections(path: Path) -> list[Correction]:
    """The decisions of a file, which is a YAML list and may be empty.

    Raises:
        FileNotFoundError: if there is no such file.
        InputError: with the file and the number of the entry, from 1, that cannot be meant.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No {path}: expected a list of corrections, or `corrections: null` for the corpus"
        )
    entries = load_yaml(path)
    if not isinstance(entries, list):
        raise InputError(f"{path}: expected a list (empty: []), found {type(entries).__name__}")
    corrections = []
    for number, entry in enumerate(entries, start=1):
        where = f"{path}: entry {number}"
        found = check_value(Correction, entry, where=where)
        corrections.append(replace(found, where=where, reason=found.reason.strip()))
    return corrections


def apply_corrections(
    questions: Iterable[Record], corrections: Iterable[Correction]
) -> list[Record]:
    """All questions in their order: new records for those that were decided about.

    `source` of such a question gets `correction`: action, reason and link, and for a replacement
    `original`, the values that were replaced. Decisions about other databases are passed over.

    Raises:
        InputError: with file, entry and database, if a decision matches no question, may mean
            several queries, changes nothing, or meets another decision.
    """
    corrected = list(questions)
    databases = {question["database_name"] for question in corrected}
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, question in enumerate(corrected):
        places[question["database_name"], question["question_text"]].append(index)
    decided: dict[int, str] = {}
    originals = corrected.copy()
    for correction in corrections:
        if correction.database not in databases:
            continue
        where = f"{correction.where}: {correction.question!r} of database {correction.database}"
        same_text = places[correction.database, correction.question]
        queries = {originals[index]["gold_sql"] for index in same_text}
        if len(queries & {correction.gold_sql} if correction.gold_sql else queries) != 1:
            raise InputError(
                f"{where}: expected one of its queries as gold_sql, found {correction.gold_sql!r};"
                f" its queries: {sorted(queries) or 'none, since there is no such question'}"
            )
        for index in same_text:
            if correction.gold_sql not in (None, originals[index]["gold_sql"]):
                continue
            if index in decided:
                raise InputError(f"{where}: is corrected by {decided[index]} already")
            decided[index] = correction.where
            corrected[index] = _correct(originals[index], correction, where)
    return corrected


def _correct(question: Record, correction: Correction, where: str) -> Record:
    note = {"action": correction.action, "reason": correction.reason, "link": correction.link}
    given = correction.replacement or {}
    replacement = {field: given[field] for field in REPLACEABLE if field in given}
    if replacement:
        note["original"] = {field: question.get(field, "") for field in replacement}
    if same := [field for field in replacement if question.get(field) == replacement[field]]:
        raise InputError(f"{where}: has this {same[0]} already: expected another")
    return question | replacement | {"source": question["source"] | {"correction": note}}

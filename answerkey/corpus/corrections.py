"""Corrections: what curators decided about single questions, applied to exactly those they name.

Nothing is dropped: a question that is excluded here keeps its place, and with it every id, and is
set aside by select_questions. A decision that its corpus no longer needs or knows stops the run.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml

from answerkey.errors import InputError
from answerkey.kinds import check_value, one_of, text
from answerkey.params import load_yaml

ACTIONS = EXCLUDE, REPLACE = ("exclude", "replace")
REPLACEABLE = ("question_text", "gold_sql", "evidence")

Record = dict[str, Any]
Words = Annotated[str, text("text", pattern=r"\S")]
Link = Annotated[str, text("an address", pattern=r"^https?://")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    question_text: Words | None = None
    gold_sql: Words | None = None
    evidence: Words | None = None

    def __post_init__(self) -> None:
        if not self.fields:
            raise ValueError(f"expected some of {', '.join(REPLACEABLE)}")

    @property
    def fields(self) -> dict[str, str]:
        values = {field: getattr(self, field) for field in REPLACEABLE}
        return {field: value for field, value in values.items() if value is not None}


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
        if (self.action == REPLACE) != (self.replacement is not None):
            raise ValueError("expected a replacement for action replace, and for no other")


class Corrected(NamedTuple):
    """All questions, in their order; how many were corrected, by action; and how many decisions
    are about databases that were not chosen."""

    questions: list[Record]
    counts: Counter[str]
    not_chosen: int


class _StrictLoader(yaml.SafeLoader):
    """YAML that refuses a key that comes twice: a forgotten dash makes two decisions one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        name, count = names.most_common(1)[0] if names else ("", 0)
        if count > 1:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {name!r} occurs {count} times", node.start_mark
            )
        return super().construct_mapping(node, deep)


def read_corrections(path: Path) -> list[Correction]:
    """The decisions of a file, which is a YAML list and may be empty.

    Raises:
        FileNotFoundError: where a corpus names a file that is not there.
        InputError: with the file and the number of the entry, from 1, that cannot be meant.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No {path}: expected a list of corrections, or `corrections: null` for the corpus"
        )
    entries = load_yaml(path, _StrictLoader)
    if not isinstance(entries, list):
        raise InputError(f"{path}: expected a list (empty: []), found {type(entries).__name__}")
    corrections = []
    for number, entry in enumerate(entries, start=1):
        where = f"{path}: entry {number}"
        found = check_value(Correction, entry, where=where)
        corrections.append(replace(found, where=where, reason=found.reason.strip()))
    return corrections


def apply_corrections(questions: Iterable[Record], corrections: Iterable[Correction]) -> Corrected:
    """New records for the questions that were decided about, the same ones for all others.

    `source` of such a question gets `correction`: action, reason and link, and for a replacement
    `original`, the values that were replaced.

    Raises:
        InputError: with file, entry and database, where a decision matches no question of a chosen
            database, may mean several queries, changes nothing, or meets another decision.
    """
    loaded = list(questions)
    places: dict[str, list[int]] = defaultdict(list)
    for index, question in enumerate(loaded):
        places[question["database_name"]].append(index)
    decided: dict[int, Correction] = {}
    not_chosen = 0
    for correction in corrections:
        if correction.database not in places:
            not_chosen += 1
            continue
        candidates = {index: loaded[index] for index in places[correction.database]}
        for index in _find_matches(correction, candidates):
            if index in decided:
                raise InputError(
                    f"{correction.where}: {correction.question!r} of database"
                    f" {correction.database} is corrected by {decided[index].where} already:"
                    " expected one entry a question"
                )
            decided[index] = correction
    corrected = [
        _correct(question, decided[index]) if index in decided else question
        for index, question in enumerate(loaded)
    ]
    counts = Counter(correction.action for correction in decided.values())
    return Corrected(corrected, counts, not_chosen)


def _find_matches(correction: Correction, candidates: Mapping[int, Record]) -> list[int]:
    same_text = {
        index: question["gold_sql"]
        for index, question in candidates.items()
        if question["question_text"] == correction.question
    }
    matches = [index for index, sql in same_text.items() if correction.gold_sql in (None, sql)]
    if not matches:
        if same_text:
            what, wanted, known = "such question with", correction.gold_sql, set(same_text.values())
        else:
            what, wanted = "question", correction.question
            known = {question["question_text"] for question in candidates.values()}
        close = difflib.get_close_matches(wanted, sorted(known), n=3)
        raise InputError(
            f"{correction.where}: database {correction.database} has no {what} {wanted!r};"
            f" close to it: {', '.join(map(repr, close)) or 'nothing'}"
        )
    queries = sorted({same_text[index] for index in matches})
    if len(queries) > 1:
        raise InputError(
            f"{correction.where}: database {correction.database} has {correction.question!r} with"
            f" {len(queries)} queries: expected gold_sql, one of {queries}"
        )
    return matches


def _correct(question: Record, correction: Correction) -> Record:
    note: Record = {"action": correction.action, "reason": correction.reason}
    note["link"] = correction.link
    replacement: dict[str, str] = {}
    if correction.action == REPLACE:
        replacement = correction.replacement.fields
        for field, value in replacement.items():
            if question.get(field) == value:
                raise InputError(
                    f"{correction.where}: {correction.question!r} of database"
                    f" {correction.database} has this {field} already: expected another"
                )
        note["original"] = {field: question.get(field, "") for field in replacement}
    source = question["source"] | {"correction": note}
    return question | replacement | {"source": source}

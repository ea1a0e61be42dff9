"""Corrections: what curators decided about single questions, applied to exactly those they name.

Nothing is dropped: a question that is excluded here keeps its place, and with it every id, and is
set aside by select_questions. A decision that its corpus no longer needs or knows stops the run.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from answerkey.errors import InputError
from answerkey.params import load_yaml

CORRECTIONS_DIR = Path("data/corrections")

ACTIONS = EXCLUDE, REPLACE = ("exclude", "replace")
REPLACEABLE = ("question_text", "gold_sql")
_REQUIRED = ("database", "question", "action", "reason")
_OPTIONAL = ("gold_sql", "replacement", "link")

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Correction:
    """A decision: `where` is its place, `replacement` holds new values of `REPLACEABLE` fields.

    `gold_sql` narrows it to one query where a question occurs with several. `link` is None for a
    fault that was found here and is reported nowhere else.
    """

    where: str
    database: str
    question: str
    gold_sql: str | None
    action: str
    replacement: dict[str, str]
    reason: str
    link: str | None


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
    return [_parse_entry(entry, f"{path}: entry {n}") for n, entry in enumerate(entries, start=1)]


def _parse_entry(entry: Any, where: str) -> Correction:
    texts = dict(_check_keys(entry, where, _REQUIRED, _OPTIONAL))
    replacement = texts.pop("replacement", None)
    link = texts.pop("link", None)
    _check_texts(texts | ({} if link is None else {"link": link}), where)
    action = texts["action"]
    if action not in ACTIONS:
        raise InputError(f"{where}: action is {action!r}, expected one of {', '.join(ACTIONS)}")
    if (action == REPLACE) != (replacement is not None):
        raise InputError(f"{where}: expected a replacement for action replace, and for no other")
    if replacement is not None:
        inside = f"{where}: replacement"
        _check_texts(_check_keys(replacement, inside, (), REPLACEABLE), inside)
        if not replacement:
            raise InputError(f"{inside}: expected one or both of {', '.join(REPLACEABLE)}")
    if link is not None and not link.startswith(("https://", "http://")):
        raise InputError(f"{where}: link is {link!r}, expected an address, or null")
    return Correction(
        where,
        texts["database"],
        texts["question"],
        texts.get("gold_sql"),
        action,
        replacement or {},
        texts["reason"].strip(),
        link,
    )


def _check_keys(entry: Any, where: str, required: tuple, optional: tuple) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected keys with values, found {entry!r:.200}")
    known = ", ".join((*required, *optional))
    for key in entry:
        if key not in (*required, *optional):
            raise InputError(f"{where}: unknown key {key!r}, expected some of: {known}")
    for key in required:
        if key not in entry:
            raise InputError(f"{where}: no key {key!r}, expected {', '.join(required)}")
    return entry


def _check_texts(values: Mapping[str, Any], where: str) -> None:
    for key, value in values.items():
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{where}: {key} is {value!r}, expected text")


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
    note: Record = {
        "action": correction.action,
        "reason": correction.reason,
        "link": correction.link,
    }
    if correction.action == REPLACE:
        for field, value in correction.replacement.items():
            if question[field] == value:
                raise InputError(
                    f"{correction.where}: {correction.question!r} of database"
                    f" {correction.database} has this {field} already: expected another"
                )
        note["original"] = {field: question[field] for field in correction.replacement}
    source = question["source"] | {"correction": note}
    return question | correction.replacement | {"source": source}

"""Two runs side by side: which questions came, went and changed between a git revision and now.

The product of the revision comes from DVC's cache, or from its remote; nothing is checked out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerkey.errors import InputError
from answerkey.records import SPLITS, encode_json, read_json, read_jsonl

PRODUCT = Path("data/questions")

_MOST_CHARACTERS = 200  # of a value, on a line
_CHARACTERS_BEFORE = 20  # the first that differs

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """The questions of a product, and the reasons of those that were left out, by id."""

    questions: Mapping[str, Record]
    reasons: Mapping[str, str]

    def tell_outcome(self, question_id: str) -> str:
        return self.reasons.get(question_id, "not in the corpus")


def compare_product(revision: str) -> str:
    """What differs between the product of a git revision and the one here, as text.

    Raises:
        FileNotFoundError: where no product lies here.
        InputError: where DVC does not have that of the revision, with its own words.
    """
    now = read_run(PRODUCT)
    with tempfile.TemporaryDirectory(prefix="answerkey-") as folder:
        product = Path(folder) / "questions"
        fetch_product(revision, product)
        then = read_run(product)
    return "\n".join([f"Against {revision}:", *describe_changes(then, now)])


def fetch_product(revision: str, target: Path) -> None:
    """Write the product of a git revision.

    Raises:
        InputError: where DVC does not have it, with its own words.
    """
    if not revision:
        raise InputError("Expected a git revision, such as HEAD~1, found no text")
    command = [sys.executable, "-m", "dvc", "get", ".", PRODUCT.as_posix()]
    done = subprocess.run(
        [*command, f"--rev={revision}", "--out", str(target)],
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        lines = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line]
        words = lines[0] if lines else "dvc get failed"
        raise InputError(
            f"revision {revision}: {words}: expected a revision whose {PRODUCT} is in DVC's cache"
            " or on its remote: whoever ran it pushes it with `dvc push`; or check it out, and run"
            " `dvc repro`"
        )


def read_run(product: Path) -> Run:
    """A product as it lies in a folder.

    Raises:
        FileNotFoundError: where a file of it is missing.
    """
    questions = {
        question["question_id"]: question
        for split in SPLITS
        for question in read_json(product / f"questions_{split}.json")
    }
    excluded = read_jsonl(product / "excluded.jsonl")
    return Run(questions, {record["question_id"]: record["reason"] for record in excluded})


def describe_changes(then: Run, now: Run) -> Iterator[str]:
    """The lines that tell two runs apart, by id.

    >>> cars = {"question_text": "Which cars?", "difficulty": "easy"}
    >>> then = Run({"a": cars, "b": cars}, {"c": "not_selected"})
    >>> now = Run({"a": cars | {"difficulty": "hard"}, "c": cars}, {"b": "tie_at_limit"})
    >>> print("\\n".join(describe_changes(then, now)))
    2 questions then, 2 now: 1 came, 1 went, 1 changed, 0 are left out for another reason
    came: c (was not_selected) "Which cars?"
    went: b (is tie_at_limit) "Which cars?"
    changed: a "Which cars?"
      difficulty: "easy" -> "hard"
    """
    came = sorted(now.questions.keys() - then.questions.keys())
    went = sorted(then.questions.keys() - now.questions.keys())
    both = sorted(then.questions.keys() & now.questions.keys())
    changes = {key: list_changes(then.questions[key], now.questions[key]) for key in both}
    changed = [key for key in both if changes[key]]
    left_out = sorted(then.reasons.keys() & now.reasons.keys())
    others = [key for key in left_out if then.reasons[key] != now.reasons[key]]
    yield (
        f"{len(then.questions):,} questions then, {len(now.questions):,} now: {len(came):,} came,"
        f" {len(went):,} went, {len(changed):,} changed, {len(others):,} are left out for another"
        " reason"
    )
    for key in came:
        yield f"came: {key} (was {then.tell_outcome(key)}) {_quote_text(now, key)}"
    for key in went:
        yield f"went: {key} (is {now.tell_outcome(key)}) {_quote_text(then, key)}"
    for key in changed:
        yield f"changed: {key} {_quote_text(now, key)}"
        yield from (f"  {change}" for change in changes[key])
    for key in others:
        yield f"left out: {key} ({then.reasons[key]} -> {now.reasons[key]})"


def list_changes(before: Record, after: Record) -> list[str]:
    """The fields that differ, each with both values; of long ones the part around the first
    difference. 1 and 1.0 differ.

    >>> list_changes({"gold_answer": [1], "split": "eval"}, {"gold_answer": [1.0], "split": "eval"})
    ['gold_answer: [1] -> [1.0]']
    """
    changes = []
    for field in dict.fromkeys([*before, *after]):
        old, new = _spell(before.get(field)), _spell(after.get(field))
        if old != new:
            start = _find_difference(old, new) - _CHARACTERS_BEFORE
            changes.append(f"{field}: {_cut(old, start)} -> {_cut(new, start)}")
    return changes


def _spell(value: Any) -> str:
    return encode_json(value).decode()


def _find_difference(old: str, new: str) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(old), len(new)))


def _cut(text: str, start: int) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    first = max(0, min(start, len(text) - _MOST_CHARACTERS))
    last = first + _MOST_CHARACTERS
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _quote_text(run: Run, question_id: str) -> str:
    return _cut(_spell(run.questions[question_id]["question_text"]), 0)

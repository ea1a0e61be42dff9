"""Compare two runs: questions that were added, removed or changed between a git revision and now.

The product of the revision comes from DVC's cache or its remote; nothing is checked out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.paths import PRODUCT
from answerkey.base.records import SPLITS, encode_json, read_json, read_jsonl

_MAX_VALUE_CHARACTERS = 200  # of a value, on a line


class Snapshot(NamedTuple):
    """The questions of a product, and the reasons of those that were left out, by id."""

    questions: Mapping[str, dict[str, Any]]
    reasons: Mapping[str, str]


def compare_product(revision: str) -> str:
    """Return the differences between the product of a git revision and the one here, as text.

    Raises:
        FileNotFoundError: there is no product here.
        InputError: DVC does not have that of the revision; with DVC's message.
    """
    now = _read_snapshot(PRODUCT)
    top, prefix = _find_git_root()
    with tempfile.TemporaryDirectory(prefix="answerkey-") as folder:
        product = Path(folder) / "questions"
        command = [sys.executable, "-m", "dvc", "get", top, f"{prefix}{PRODUCT.as_posix()}"]
        done = subprocess.run(
            [*command, f"--rev={revision}", "--out", str(product)],
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode:
            raise InputError(
                f"revision {revision}: {done.stderr.strip()}: expected one whose {PRODUCT} is in"
                " DVC's cache or on its remote: whoever ran it pushes it with `dvc push`"
            )
        then = _read_snapshot(product)
    return "\n".join([f"Against {revision}:", *describe_changes(then, now)])


def _find_git_root() -> tuple[str, str]:
    """Return the path to the root of the git repository, which has the revisions, and back."""
    command = ["git", "rev-parse", "--show-cdup", "--show-prefix"]
    done = subprocess.run(command, capture_output=True, text=True)
    top, prefix = done.stdout.splitlines() or ("", "")
    return top or ".", prefix


def _read_snapshot(product: Path) -> Snapshot:
    questions = {
        question["question_id"]: question
        for split in SPLITS
        for question in read_json(product / f"questions_{split}.json")
    }
    excluded = read_jsonl(product / "excluded.jsonl")
    return Snapshot(questions, {record["question_id"]: record["reason"] for record in excluded})


def describe_changes(then: Snapshot, now: Snapshot) -> Iterator[str]:
    """Yield the lines in which two runs differ, by id.

    >>> cars = {"question_text": "Which cars?", "difficulty": "easy"}
    >>> then = Snapshot({"a": cars, "b": cars}, {"c": "not_selected"})
    >>> now = Snapshot({"a": cars | {"difficulty": "hard"}, "c": cars}, {"b": "tie_at_limit"})
    >>> print("\\n".join(describe_changes(then, now)))
    2 questions then, 2 now: 1 came, 1 went, 1 changed, 0 left out for another reason
    came: c (was not_selected) "Which cars?"
    went: b (is tie_at_limit) "Which cars?"
    changed: a "Which cars?"
      difficulty: "easy" -> "hard"
    """
    came = sorted(now.questions.keys() - then.questions.keys())
    went = sorted(then.questions.keys() - now.questions.keys())
    changes = {
        key: list_changes(then.questions[key], now.questions[key])
        for key in sorted(then.questions.keys() & now.questions.keys())
    }
    changed = {key: of_question for key, of_question in changes.items() if of_question}
    left_out = sorted(then.reasons.keys() & now.reasons.keys())
    others = [key for key in left_out if then.reasons[key] != now.reasons[key]]
    yield (
        f"{spell_count(len(then.questions), 'question', ',')} then, {len(now.questions):,} now:"
        f" {len(came):,} came, {len(went):,} went, {len(changed):,} changed,"
        f" {len(others):,} left out for another reason"
    )
    for key in came:
        yield f"came: {key} (was {then.reasons.get(key, 'not there')}) {_quote_text(now, key)}"
    for key in went:
        yield f"went: {key} (is {now.reasons.get(key, 'not there')}) {_quote_text(then, key)}"
    for key, of_question in changed.items():
        yield f"changed: {key} {_quote_text(now, key)}"
        yield from (f"  {change}" for change in of_question)
    for key in others:
        yield f"left out: {key} ({then.reasons[key]} -> {now.reasons[key]})"


def list_changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the fields that differ, each with both values; 1 and 1.0 differ.

    >>> list_changes({"gold_answer": [1], "split": "eval"}, {"gold_answer": [1.0], "split": "eval"})
    ['gold_answer: [1] -> [1.0]']
    """
    fields = dict.fromkeys([*before, *after])
    pairs = {name: (_spell(before.get(name)), _spell(after.get(name))) for name in fields}
    return [
        f"{name}: {_cut(old)} -> {_cut(new)}" for name, (old, new) in pairs.items() if old != new
    ]


def _spell(value: Any) -> str:
    return encode_json(value).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_CHARACTERS else f"{text[:_MAX_VALUE_CHARACTERS]}…"


def _quote_text(snapshot: Snapshot, question_id: str) -> str:
    return _cut(_spell(snapshot.questions[question_id]["question_text"]))

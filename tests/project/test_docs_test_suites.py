"""docs/test-suites.md: its snippets run, what it names is there, and it lists all readings."""

from __future__ import annotations

import json
import re

import pytest

from tests.shared.paths import ROOT

TEXT = (ROOT / "docs/test-suites.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_there_is_a_snippet() -> None:
    assert SNIPPETS


@pytest.mark.parametrize("code", SNIPPETS)
def test_snippet_runs(code: str) -> None:
    exec(compile(code, "docs/test-suites.md", "exec"), {"__name__": "__main__"})


def test_paths_that_are_named_exist() -> None:
    paths = set(re.findall(r"\b(?:answerkey|benchmarks|docs)/[\w./-]*\w", TEXT))
    assert len(paths) >= 3
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_question_is_of_the_sample() -> None:
    (gold,) = re.findall(r"^```sql\n(.*?)\n```$", TEXT, re.DOTALL | re.MULTILINE)
    questions = [
        question
        for name in ("train_spider.json", "dev.json")
        for question in json.loads((ROOT / "data/sample" / name).read_text(encoding="utf-8"))
    ]
    (question,) = (each for each in questions if each["query"] == gold)
    assert question["question"] in TEXT.replace("\n", " ")


def test_all_readings_are_listed() -> None:
    rules = (ROOT / "answerkey/suites/reading_rules").glob("*.py")
    code = "\n".join(path.read_text(encoding="utf-8") for path in rules)
    named = set(re.findall(r'yield "(\w+)"', code))
    listed = set(re.findall(r"`(\w+)`", TEXT.split("## Readings")[1].split("## One question")[0]))
    assert named == listed - {"latent_ambiguity"}

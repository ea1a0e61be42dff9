"""params.yaml of another version: new keys come, and not a byte of the owner's goes."""

from __future__ import annotations

import re
from difflib import ndiff

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.project.files import make_params
from answerkey.project.params import list_keys, merge_params
from tests.shared.paths import ROOT

NEW = (ROOT / "params.yaml").read_text(encoding="utf-8")
LINES = NEW.splitlines(keepends=True)
# Keys of one line, each with others beside it.
KEYS = [
    key
    for key in list_keys(NEW)
    if re.search(rf"^ +{key.rpartition('.')[2]}: \S", NEW, re.MULTILINE)
    and key.rpartition(".")[2] not in ("held_out", "min_rollouts")
    and key != "report_dataset.max_rows"
]


def remove_key(text: str, key: str) -> str:
    """The text without a key of one line, and the comments right above it."""
    lines = text.splitlines(keepends=True)
    at = 0
    for name in key.split("."):
        pattern = re.compile(rf" *{name}:")
        at = next(i for i in range(at, len(lines)) if pattern.match(lines[i]))
    first = at
    while lines[first - 1].strip().startswith("#"):
        first -= 1
    return "".join(lines[:first] + lines[at + 1 :])


@pytest.mark.parametrize("key", KEYS)
def test_new_key_comes_to_its_place_with_its_comments(key: str) -> None:
    own = remove_key(NEW, key)
    assert own != NEW
    known = [each for each in list_keys(NEW) if each != key]
    merged = merge_params(own, NEW, known)
    assert merged.text == NEW
    assert (merged.added, merged.missing, merged.removed) == ([key], [], [])


@pytest.mark.parametrize("key", KEYS)
def test_key_that_an_owner_has_taken_out_stays_out(key: str) -> None:
    own = remove_key(NEW, key)
    assert merge_params(own, NEW, list_keys(NEW)).text == own


OWN = """\
# Ours.

reward:
    rule: spider   # as the benchmark
    # Ask Kim before you change it.
    max_steps: 5

corpora:
  shop: {origin: directory}
select_questions: {preset: small, seed: 3}
"""
OF_NEW = """\
corpora:
  sample: {origin: directory}

execution:  # changes no result
  workers: 0

reward:
  max_steps: 100  # of a prediction
  # Seconds, too:
  # a whole number.
  max_seconds: 9  # at most
  rule: strict
  depth: {a: 1}

select_questions:
  preset: null
  least: 2  # so few
"""


def test_owner_keeps_values_order_comments_and_indentation() -> None:
    merged = merge_params(OWN, OF_NEW, ["reward", "reward.max_steps", "reward.rule"])
    assert merged.added == ["execution", "reward.max_seconds", "reward.depth"]
    # What stands in braces has no lines of its own.
    assert merged.missing == [("select_questions.least", "  least: 2  # so few\n")]
    lost = ndiff(OWN.splitlines(), merged.text.splitlines())
    assert [line for line in lost if line.startswith("-")] == []
    added = (
        "    max_steps: 5\n    # Seconds, too:\n    # a whole number.\n"
        "    max_seconds: 9  # at most\n"
    )
    assert added in merged.text
    values = yaml.safe_load(merged.text)
    assert values == yaml.safe_load(OWN) | {
        "execution": {"workers": 0},
        "reward": {"rule": "spider", "max_steps": 5, "max_seconds": 9, "depth": {"a": 1}},
    }


def test_key_that_is_gone_is_told_and_left() -> None:
    own = "a:\n  b: 1\n  old: 2\nmine: 3\n"
    merged = merge_params(own, "a:\n  b: 1\n", ["a", "a.b", "a.old"])
    assert (merged.text, merged.removed, merged.added) == (own, ["a.old"], [])


def test_value_goes_along_with_a_new_name() -> None:
    own = "a:\n  # old is what we chose.\n  old: 2  # old, by Kim\n"
    merged = merge_params(own, "a:\n  young: 1\n", ["a", "a.old"], renamed={"a.old": "a.young"})
    assert merged.text == "a:\n  # old is what we chose.\n  young: 2  # old, by Kim\n"
    assert (merged.renamed, merged.removed, merged.added) == ([("a.old", "a.young")], [], [])


@pytest.mark.parametrize("corpus", ["sample", "local", "bird", "spider"])
def test_project_has_the_entry_of_its_corpus_alone(corpus: str) -> None:
    text = make_params(corpus)
    mine, ours = yaml.safe_load(text), yaml.safe_load(NEW)
    assert mine.pop("corpus") == corpus
    assert mine.pop("corpora") == {corpus: ours["corpora"][corpus]}
    assert mine == {name: ours[name] for name in ours if name not in ("corpus", "corpora")}
    assert list_keys(text) == list_keys(NEW)
    others = {line for line in text.splitlines() if line not in NEW.splitlines()}
    assert len(others) <= 1  # that of `corpus`


def test_corpus_that_is_unknown_is_named() -> None:
    with pytest.raises(InputError, match=r"--corpus x: expected one of sample, local"):
        make_params("x")

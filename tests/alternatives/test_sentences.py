"""Each reading has its sentence, and each sentence a reading."""

from __future__ import annotations

import ast

from answerkey.alternatives.sentences import READINGS
from answerkey.flags import FLAGS
from tests.shared.paths import ROOT

ALTERNATIVES = ROOT / "answerkey/alternatives"
# Those of codes.py that nobody means; all of neighbors.py are such.
NEIGHBORS = {"code_by_heart", "value_by_heart"}


def list_readings() -> set[str]:
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in ALTERNATIVES.glob("*.py")
        if path.name != "neighbors.py"
    ]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Yield)]
    names = {node.value.value for node in nodes if isinstance(node.value, ast.Constant)}
    return {name for name in names if isinstance(name, str)} - NEIGHBORS


def test_each_reading_has_a_sentence() -> None:
    assert set(READINGS) == list_readings()


def test_no_reading_has_the_name_of_a_flag() -> None:
    assert not set(READINGS) & set(FLAGS)


def test_sentences_are_sentences() -> None:
    assert all(words[0].isupper() and words.endswith(".") for words in READINGS.values())

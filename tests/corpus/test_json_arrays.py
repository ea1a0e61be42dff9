"""Arrays of JSON: read in parts, and read as `json.loads` reads the whole."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from answerkey.corpus import source_questions
from answerkey.corpus.source_questions import read_array

VALUES = [
    *({"a": 'x\n"\\]é\U0001f600'}, {}, [], [[1], {"b": [None, True]}], -12.5e3, 0, "", "[{,"),
    *({"long": "y" * 300}, float("inf"), [1, [2, [3]]], {"é": "é" * 40}, False),
]


def read(path: Path, text: str, encoding: str = "utf-8") -> list[Any]:
    path.write_bytes(text.encode(encoding, "surrogatepass"))
    return list(read_array(path))


@pytest.mark.parametrize("characters", [1, 2, 3, 7, 64, 1 << 20])
def test_parts_of_any_length_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int
) -> None:
    monkeypatch.setattr(source_questions, "_CHARACTERS", characters)
    chance = random.Random(characters)
    for number in range(30):
        values = chance.choices(VALUES, k=number % 7)
        text = json.dumps(values, indent=number % 3 or None, ensure_ascii=bool(number % 2))
        encoding = chance.choice(["utf-8", "utf-8-sig", "utf-16", "utf-32-be"])
        assert read(tmp_path / "x.json", f"\n {text} \r\n", encoding) == values


@pytest.mark.parametrize("characters", [1, 5, 1 << 20])
def test_errors_are_those_of_the_whole_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int
) -> None:
    monkeypatch.setattr(source_questions, "_CHARACTERS", characters)
    for text in (
        '[\n {"a": 1},\n {"a" 2},\n {"a": "long enough to be more than a token"}]',
        '[{"a": 1}\n {"a": "long enough to be more than a token"}]',
        '[{"a": "not ended',
        '[{"a": 1},]',
        '[{"a": \n "tab\t in a text, which no JSON has", "b": 1}]',
        '[{"a": 1}] \n{"a": 2}',
        '{"a": 1}\n{"a": 2}',
        "[1, 2",
    ):
        with pytest.raises(json.JSONDecodeError) as expected:
            json.loads(text)
        with pytest.raises(ValueError, match="not JSON: ") as found:
            read(tmp_path / "x.json", text)
        wanted = str(expected.value)
        if text.endswith(",]"):  # whose words differ between versions of Python
            wanted = "line 1 column"
        assert wanted in str(found.value)


def test_first_elements_come_before_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}, {"b": 2}, ' + " " * (1 << 21) + "broken")
    elements = read_array(path)
    assert [next(elements), next(elements)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(ValueError, match="Expecting value"):
        next(elements)

"""Arrays of JSON are read in parts, as `json.loads` reads the whole."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from answerkey.corpus import readers
from answerkey.corpus.readers import read_array
from answerkey.errors import InputError

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
    monkeypatch.setattr(readers, "_CHARACTERS", characters)
    chance = random.Random(characters)
    for number in range(30):
        values = chance.choices(VALUES, k=number % 7)
        text = json.dumps(values, indent=number % 3 or None, ensure_ascii=bool(number % 2))
        encoding = chance.choice(["utf-8", "utf-8-sig", "utf-16", "utf-32-be"])
        assert read(tmp_path / "x.json", f"\n {text} \r\n", encoding) == values


@pytest.mark.parametrize("characters", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[\n {"a": 1},\n {"a" 2},\n {"a": "long enough"}]', "line 3: Expecting ':' delimiter"),
        ('[{"a": 1}\n {"a": 2}]', "line 1: expected , or ] behind an element"),
        ('[{"a": "not ended', "line 1: Unterminated string"),
        ('[{"a": 1},]', "line 1: Expecting value"),
        ('[{"a": \n "tab\t in a text, which no JSON has", "b": 1}]', "Invalid control character"),
        ('[{"a": 1}] \n{"a": 2}', "line 2: expected the end, found '{'; JSON Lines are read from"),
        ('{"a": 1}\n{"a": 2}', r"line 1: expected [, found '{'; JSON Lines are read from a file"),
        ("[1, 2", "line 1: expected , or ] behind an element"),
        ("[1.5.5]", "line 1: expected , or ] behind an element"),
        ("", "line 1: expected [, found ''"),
        ("[" * 100_000, "brackets in brackets, deeper than Python reads"),
    ],
)
def test_what_is_no_array_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int, text: str, words: str
) -> None:
    monkeypatch.setattr(readers, "_CHARACTERS", characters)
    with pytest.raises(InputError, match=r"x\.json: not ") as caught:
        read(tmp_path / "x.json", text)
    assert words in str(caught.value)


def test_file_in_no_encoding_of_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b'["\xff"]')
    with pytest.raises(InputError, match=r"x\.json: not JSON in UTF-8: .* byte 0xff"):
        list(read_array(tmp_path / "x.json"))


def test_first_elements_come_before_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}, {"b": 2}, ' + " " * (1 << 21) + "broken")
    elements = read_array(path)
    assert [next(elements), next(elements)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(InputError, match="Expecting value"):
        next(elements)


def test_string_without_its_end_is_not_read_to_the_end_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "_CHARACTERS", 16)
    monkeypatch.setattr(readers, "_LONGEST", 1000)
    with pytest.raises(InputError, match="Unterminated string"):
        read(tmp_path / "x.json", '[{"a": "' + "x" * 100_000 + '"}]')

"""json_arrays: what `json.loads` makes of a file, one element at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.corpus.json_arrays import read_array

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arrays") / "questions.json"


@given(
    st.lists(json_values, max_size=6),
    st.sampled_from([None, 0, 1, "\t", "\r\n "]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-le"]),
    st.integers(1, 40),
)
def test_elements_are_those_of_the_array_wherever_the_chunks_end(
    path: Path,
    values: list[Any],
    indent: int | str | None,
    ensure_ascii: bool,
    encoding: str,
    chunk_characters: int,
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ensure_ascii)
    path.write_bytes(f" {text}\n".encode(encoding))
    assert list(read_array(path, chunk_characters=chunk_characters)) == values


@given(st.text('[]{},:"\\ -0123e.tnfaIN\n', max_size=12), st.integers(1, 20))
def test_what_json_refuses_is_refused(path: Path, text: str, chunk_characters: int) -> None:
    path.write_text(text, encoding="utf-8", newline="")
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    if isinstance(expected, list):
        # Compared as text, since NaN is not equal to itself.
        assert repr(list(read_array(path, chunk_characters=chunk_characters))) == repr(expected)
    else:
        with pytest.raises(ValueError, match=r"questions\.json: (not JSON|expected a JSON array)"):
            list(read_array(path, chunk_characters=chunk_characters))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON: Expecting value"),
        (b'{"a": 1}\n{"a": 2}\n', "; JSON Lines are read from a file whose name ends in .jsonl"),
        (b'{"a": 1}', "expected a JSON array, found dict"),
        (b"7", "expected a JSON array, found int"),
        (b"[1, 2", "not JSON: expected ',' or ']' at character 5"),
        (b"[1 2]", "not JSON: expected ',' or ']' at character 3"),
        (b"[1, ]", "not JSON: Expecting value at character 4"),
        (b"[1] 2", "not JSON: expected nothing after the array, at character 4"),
        (b'["a', "not JSON: Unterminated string starting at character 1"),
        (b'["\xff"]', "not JSON in UTF-8: 'utf-8' codec can't decode byte 0xff"),
    ],
)
@pytest.mark.parametrize("chunk_characters", [1, 3, 100])
def test_fault_is_told_with_its_place(
    path: Path, content: bytes, words: str, chunk_characters: int
) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"questions\.json: ") as caught:
        list(read_array(path, chunk_characters=chunk_characters))
    assert words in str(caught.value)


@pytest.mark.parametrize("start", ["", "[1, ", '[{"x": '])
def test_brackets_in_brackets_are_told_with_the_file(path: Path, start: str) -> None:
    path.write_text(start + "[" * 100_000, encoding="utf-8")
    with pytest.raises(ValueError, match=r"questions\.json: not JSON of questions: brackets in"):
        list(read_array(path))


def test_half_of_a_surrogate_pair_reads_as_itself(path: Path) -> None:
    path.write_text('["\\ud800"]', encoding="utf-8")
    assert list(read_array(path)) == ["\ud800"]


def test_elements_before_a_fault_are_given(path: Path) -> None:
    path.write_text("[1, 2, oops]", encoding="utf-8")
    elements = read_array(path, chunk_characters=4)
    assert [next(elements), next(elements)] == [1, 2]
    with pytest.raises(ValueError, match="at character 7"):
        next(elements)


def test_no_more_is_read_than_is_asked_for(path: Path) -> None:
    path.write_bytes(b"[1, 2, " + b" " * 100_000 + b"\xff")
    assert next(read_array(path, chunk_characters=4)) == 1

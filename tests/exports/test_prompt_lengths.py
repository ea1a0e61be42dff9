"""Lengths of prompts, in characters and in the tokens of a tokenizer."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from answerkey.errors import InputError
from answerkey.exports.prompt_lengths import LIMITS, PromptLengths, read_tokenizer


@pytest.fixture
def tokenizers() -> ModuleType:
    return pytest.importorskip("tokenizers", reason="needs the extra `tokens`")


@pytest.fixture
def folder(tmp_path: Path, tokenizers: ModuleType) -> Path:
    """A folder with a tokenizer of words."""
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_characters_are_counted_where_there_is_no_tokenizer(tmp_path: Path) -> None:
    lengths = PromptLengths(read_tokenizer(tmp_path))
    for size in range(1, 101):
        lengths.add("p" * size, "cc")
    found = lengths.summarize()
    assert found["prompt"]["characters"] == {"median": 50, "p95": 95, "longest": 100}
    assert found["chat"]["characters"] == {"median": 52, "p95": 97, "longest": 102}
    assert found["prompt"]["tokens"] == dict.fromkeys(("median", "p95", "longest"))
    assert found["chat"]["more_tokens_than"] == {str(limit): None for limit in LIMITS}


def test_tokens_are_counted_and_compared_with_what_trainers_take(folder: Path) -> None:
    lengths = PromptLengths(read_tokenizer(folder))
    for words in (1, 512, 513, 1024):
        lengths.add("word " * words, "SELECT 1")
    found = lengths.summarize()
    assert found["prompt"]["tokens"] == {"median": 512, "p95": 1024, "longest": 1024}
    assert found["prompt"]["more_tokens_than"]["512"] == 2
    assert found["prompt"]["more_tokens_than"]["1024"] == 0
    assert found["chat"]["tokens"]["longest"] == 1026
    assert found["chat"]["more_tokens_than"]["1024"] == 1


def test_half_a_surrogate_pair_is_counted(folder: Path) -> None:
    lengths = PromptLengths(read_tokenizer(folder))
    lengths.add("a \ud800 b", "SELECT 1")
    assert lengths.summarize()["prompt"]["tokens"]["longest"] == 3


def test_no_prompts_have_no_lengths() -> None:
    found = PromptLengths(None).summarize()["prompt"]
    assert found["characters"] == {"median": None, "p95": None, "longest": None}


def test_file_that_is_no_tokenizer_is_named(tmp_path: Path, tokenizers: ModuleType) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"tokenizer\.json: expected a tokenizer of Hugging Face"):
        read_tokenizer(tmp_path)

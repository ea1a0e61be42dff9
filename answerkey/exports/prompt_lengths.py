"""How long prompts are: in characters, and in tokens where there is a tokenizer.

A trainer that cuts or filters by a length does so in silence, so that the lengths are metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.core.errors import InputError
from answerkey.exports.prompts import PromptExample
from answerkey.exports.trl import make_completion

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LIMITS = (512, 1024, 2048, 4096, 8192)  # tokens: verl filters at 512 by default, TRL cuts at 1,024


def read_tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer of `tokenizer.json` in a folder; None where there is no such file.

    Raises:
        InputError: where the file is no tokenizer, or the package `tokenizers` is missing.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise InputError(
            f"{path}: counting tokens needs the package tokenizers: pip install -e '.[tokens]'"
        ) from error
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises no class of its own
        raise InputError(f"{path}: expected a tokenizer of Hugging Face: {error}") from error


class PromptLengths:
    """The lengths of the prompts that pass, and of each with its completion.

    >>> lengths = PromptLengths(None)
    >>> lengths.add("Which ships?", "SELECT name")
    >>> lengths.summarize()["prompt"]["characters"]
    {'median': 12, 'p95': 12, 'longest': 12}
    """

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self._tokenizer = tokenizer
        self._characters: dict[str, list[int]] = {"prompt": [], "chat": []}
        self._tokens: dict[str, list[int]] = {"prompt": [], "chat": []}

    def watch(self, examples: Iterable[PromptExample]) -> Iterator[PromptExample]:
        """The same examples, each measured."""
        for example in examples:
            (message,) = make_completion(example.question["gold_sql"])
            self.add(example.prompt, message["content"])
            yield example

    def add(self, prompt: str, completion: str) -> None:
        """Measure a prompt and its completion."""
        parts = [prompt, completion]
        _append(self._characters, [len(part) for part in parts])
        if self._tokenizer is not None:
            # Half a surrogate pair, which a text of JSON may have, is no text to a tokenizer.
            texts = [part.encode(errors="replace").decode() for part in parts]
            encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            _append(self._tokens, [len(encoding.ids) for encoding in encodings])

    def summarize(self) -> dict[str, Any]:
        """Median, 95th percentile and longest, of prompts and of chats, which are a prompt with its
        completion; and how many have more tokens than the LIMITS. What was not counted is None."""
        return {
            name: {
                "characters": _summarize(self._characters[name]),
                "tokens": _summarize(self._tokens[name]),
                "more_tokens_than": {
                    str(limit): sum(count > limit for count in self._tokens[name])
                    if self._tokens[name]
                    else None
                    for limit in LIMITS
                },
            }
            for name in ("prompt", "chat")
        }


def _append(lengths: dict[str, list[int]], parts: Sequence[int]) -> None:
    lengths["prompt"].append(parts[0])
    lengths["chat"].append(sum(parts))


def _summarize(counts: list[int]) -> dict[str, int | None]:
    """Nearest-rank percentiles, which are lengths that occur."""
    ordered = sorted(counts)

    def rank(share: float) -> int | None:
        return ordered[ceil(share * len(ordered)) - 1] if ordered else None

    return {"median": rank(0.5), "p95": rank(0.95), "longest": rank(1.0)}

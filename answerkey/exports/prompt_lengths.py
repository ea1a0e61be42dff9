"""How long prompts are: in characters, and in tokens where there is a tokenizer.

A trainer that cuts or filters by a length does so in silence, so that the lengths are metrics.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.base.errors import InputError
from answerkey.exports.prompts import PromptExample, make_completion

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SCHEMAS = ("schema", "compact_schema", "linked_schema")
LIMITS = (512, 1024, 2048, 4096, 8192)  # tokens: verl filters at 512 by default, TRL cuts at 1,024


def read_tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer of `tokenizer.json` in a folder; None where there is no such file.

    Raises:
        InputError: where the package `tokenizers` is missing.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise InputError(f"{path}: counting tokens needs pip install -e '.[tokens]'") from error
    return Tokenizer.from_file(str(path))


class PromptLengths:
    """The lengths of prompts, and of chats, which are each a prompt with its completion.

    >>> lengths = PromptLengths(None)
    >>> lengths.add("Which ships?", "SELECT name")
    >>> lengths.summarize()["prompt"]["characters"]
    {'median': 12, 'p95': 12, 'longest': 12}
    """

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self._tokenizer = tokenizer
        # By what is measured (prompt, chat, or a schema) and in what (characters or tokens).
        self._counts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)

    def add_example(self, example: PromptExample) -> None:
        """Measure the prompt of a question, its completion, and its schemas."""
        (message,) = make_completion(example.question.gold_sql)
        self.add(example.prompt, message["content"])
        for name, schema in example.schemas.items():
            self._counts[name, "characters"].append(len(schema))

    def add(self, prompt: str, completion: str) -> None:
        """Measure a prompt and its completion."""
        sizes = {"characters": (len(prompt), len(completion))}
        if self._tokenizer is not None:
            # Half a surrogate pair, which a text of JSON may have, is no text to a tokenizer.
            texts = [part.encode(errors="replace").decode() for part in (prompt, completion)]
            own, more = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            sizes["tokens"] = (len(own.ids), len(more.ids))
        for unit, (own, more) in sizes.items():
            self._counts["prompt", unit].append(own)
            self._counts["chat", unit].append(own + more)

    def summarize(self) -> dict[str, Any]:
        """Median, 95th percentile and longest, of prompts, chats and each kind of schema; and how
        many have more tokens than the LIMITS. What was not counted is None."""
        found: dict[str, Any] = {}
        for name in ("prompt", "chat"):
            tokens = self._counts[name, "tokens"]
            found[name] = {
                "characters": _summarize(self._counts[name, "characters"]),
                "tokens": _summarize(tokens),
                "more_tokens_than": {
                    str(limit): sum(count > limit for count in tokens) if tokens else None
                    for limit in LIMITS
                },
            }
        for name in SCHEMAS:
            found[name] = {"characters": _summarize(self._counts[name, "characters"])}
        return found


def _summarize(counts: list[int]) -> dict[str, int | None]:
    """Nearest-rank percentiles, which are lengths that occur."""
    ordered, shares = sorted(counts), {"median": 0.5, "p95": 0.95, "longest": 1}
    return {
        name: ordered[ceil(share * len(ordered)) - 1] if ordered else None
        for name, share in shares.items()
    }

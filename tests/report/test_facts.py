"""What the page says in words."""

from __future__ import annotations

from answerkey.exports.prompt_lengths import LIMITS
from answerkey.report.numbers import describe_chats

COUNTS = {"median": 900, "p95": 1100, "longest": 1200}


def test_tokens_go_before_characters() -> None:
    more = dict.fromkeys(map(str, LIMITS), 0) | {"512": 9, "1024": 7}
    lengths = {"characters": COUNTS, "tokens": COUNTS, "more_tokens_than": more}
    said = "has 900 tokens (median), the longest 1,200; 7 have more than 1,024."
    assert describe_chats(lengths) == f"A prompt with its completion {said}"


def test_nothing_is_said_of_no_chats() -> None:
    nothing = dict.fromkeys(COUNTS)
    assert describe_chats({"characters": nothing, "tokens": nothing}) == ""

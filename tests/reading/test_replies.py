"""Where in a reply its verdict stands, and when a server wants to be asked again."""

from __future__ import annotations

import pytest

from answerkey.reading.conversation import _FaultError, parse_verdict
from answerkey.reading.model import _read_wait

LINE = '{"verdict": "right", "reason": "See <think> {x}."}'


@pytest.mark.parametrize(
    "reply",
    [
        "@",
        "Each ship is one row. @\n",
        "```json\n@\n```\n",
        "**@**",
        "<answer>@</answer>",
        "@<|im_end|>",
        '<think>{"verdict": "wrong"}</think>@',
        "Hm.</think>\n@",  # the template of the chat opened it
        "<think/>@",
        "[THINK]Hm.[/THINK]@",
        "◁think▷Hm.◁/think▷@",
        "<|begin_of_thought|>Hm.<|end_of_thought|><|begin_of_solution|>@<|end_of_solution|>",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>@",
        "<|channel>thought\nHm.<channel|>@",
        'First {"verdict": "wrong"}, and then: @',
    ],
)
def test_verdict_ends_the_reply(reply: str) -> None:
    assert parse_verdict(reply.replace("@", LINE)).verdict == "right"


@pytest.mark.parametrize(
    "reply",
    [
        "@ So it is.",
        "@\n\nWait: names repeat.",
        "```json\n@\n```\nNo.",
        "<think>@",
        "<THINK >\n@",
        "<thinking type='deep'>@</thinking>",
        "<think>@</think>",
        "<think>@</think> Gold counts names.",
        "@</think>",
        "<think>Hm.</think> So: <think>@",
        "<seed:think>@",
        "<reasoning>@</reasoning>",
        "<scratchpad>@",
        "<inner_thoughts>@",
        "[THINK]@",
        "◁think▷@",
        "<|begin_of_thought|>@<|end_of_thought|>",
        "<|START_THINKING|>@",
        "<|channel|>analysis<|message|>@",
        "<|channel|>analysis<|message|>@<|end|>",
        "<|channel>thought\n@<channel|>",
        '{"draft": @}',
        '{"verdict": "right"',
        "",
    ],
)
def test_draft_or_what_has_words_behind_it_is_no_verdict(reply: str) -> None:
    with pytest.raises(_FaultError):
        parse_verdict(reply.replace("@", LINE))


@pytest.mark.parametrize("reply", ["{" * 300_000, "<think" * 90_000, "</a>" * 90_000, "`" * 90_000])
def test_long_reply_is_read_in_one_go(reply: str) -> None:
    with pytest.raises(_FaultError):
        parse_verdict(reply)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        ("2.25", 2.25),
        (" 3 ", 3),
        ("3600", 60),
        ("inf", 60),
        ("Sat, 14 Feb 2026 10:00:09 GMT", 9),
        ("Saturday, 14-Feb-26 10:00:09 GMT", 9),
        ("Sat Feb 14 10:00:09 2026", 9),
        ("Sat, 14 Feb 2026 12:00:09 +0200", 9),
        ("Sat, 14 Feb 2026 11:00:00 GMT", 60),
        ("Sat, 14 Feb 2026 09:59:59 GMT", None),
        ("", None),
        ("-1", None),
        ("nan", None),
        ("soon", None),
        ("Sat, 99 Feb 2026 10:00:09 GMT", None),
    ],
)
def test_wait_is_what_the_server_says(said: str, seconds: float | None) -> None:
    headers = {"Date": "Sat, 14 Feb 2026 10:00:00 GMT", "Retry-After": said}
    assert _read_wait(headers) == seconds

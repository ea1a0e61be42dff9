"""What the model reads is what people read in docs/reading.md, and all that verdicts may say."""

from __future__ import annotations

import re

from answerkey.command import make_parser
from answerkey.reading.conversation import count_queries
from answerkey.reading.shown import RULES
from answerkey.risk.verdicts import KINDS, VERDICT_WORDS
from tests.shared.paths import ROOT

PAGE = (ROOT / "docs/reading.md").read_text(encoding="utf-8")
TEXT = RULES.read_text(encoding="utf-8")


def test_page_has_the_rules_of_the_model() -> None:
    assert TEXT in PAGE, f"put {RULES.name} into docs/reading.md"


def test_rules_have_each_verdict_and_each_kind_of_fault() -> None:
    assert tuple(re.findall(r"(?m)^- `(\w+)`: ", TEXT)) == VERDICT_WORDS
    assert tuple(re.findall(r"(?m)^\| `(\w+)` \|", TEXT)) == KINDS


def test_page_tells_options_that_there_are() -> None:
    options = re.findall(r"(?m)^\| `(--[\w-]+)", PAGE)
    assert len(options) > 5
    values = {"--database": "x", "--template": "x"}
    for option in options:
        given = [] if option == "--judged" else [values.get(option, "3")]
        make_parser().parse_args(["read", "--name", "x", option, *given])


def test_last_two_replies_are_for_the_verdict() -> None:
    assert [count_queries(turns) for turns in (1, 2, 3, 8)] == [0, 0, 1, 6]

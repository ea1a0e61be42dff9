"""How long the doubt projection_mismatch takes; its fixture has its cases."""

import pytest

from answerkey.doubts.projection_mismatch import find_projection_mismatch


@pytest.mark.parametrize("filler", ["name and ", "“ ", "‘a ", "( ", '"'])
def test_text_too_long_for_a_question_is_not_read(harbour, filler):
    text = "Show the " + filler * 100_000
    assert harbour.ask(find_projection_mismatch, text, "SELECT opened FROM port") is None

"""How long the doubt comparison_mismatch takes; its fixture has its cases."""

from answerkey.doubts.comparison_mismatch import find_comparison_mismatch


def test_long_question_is_read_in_time(harbour):
    text, sql = "more than 5 " * 100_000, "SELECT name FROM ship WHERE crew >= 5"
    assert harbour.ask(find_comparison_mismatch, text, sql) is not None

"""reasons: one vocabulary, with every reason of a query in it."""

from __future__ import annotations

from answerkey.records import Reason
from answerkey.sqlite.bounds import QueryReason


def test_every_reason_of_a_query_is_a_reason_by_the_same_name() -> None:
    ours = {reason.name: reason.value for reason in Reason}
    assert {reason.name: reason.value for reason in QueryReason}.items() <= ours.items()

"""The questions that suites are made for, and the reasons why some have none."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from answerkey.engines.answers import Order, has_choice, read_order
from answerkey.rewrites.trees import Change


class SuiteQuestion(NamedTuple):
    """A question, with all that its suite is made from.

    order: how far the order of rows counts on the real database.
    accepted_rows: the segments of every right answer there, if LIMIT cuts through a tie.
    accepts_subset: whether the rule accepts some of the rows: then there is no suite.
    other_sql: queries that are right, too.
    readings: those of the question that have gold's answer on the real database.
    model_queries: what models answered, one query per model.
    abs_tol: how far floats of right answers may be apart whatever their size.
    """

    question_id: str
    gold_sql: str
    order: Order
    accepted_rows: Sequence[Any] | None = None
    accepts_subset: bool = False
    other_sql: tuple[str, ...] = ()
    model_queries: tuple[str, ...] = ()
    readings: tuple[Change, ...] = ()
    abs_tol: float = 0.0


def make_question(
    record: dict[str, Any], audit: dict[str, Any], model_queries: Sequence[str] = ()
) -> SuiteQuestion:
    """The question of a record, with what the audit says of its answer."""
    accepted_rows = audit["accepted_rows"]
    return SuiteQuestion(
        record["question_id"],
        record["gold_sql"],
        read_order(audit["order_matters"], accepted_rows),
        accepted_rows if has_choice(accepted_rows) else None,
        record["source"].get("grading_method", "").startswith("subset"),
        tuple(record.get("other_sql", ())),
        tuple(model_queries),
        tuple(Change(*reading) for reading in audit["readings"]),
        audit.get("abs_tol", 0.0),
    )


class NoSuite(StrEnum):
    """A reason why a question has no suite. If variants were refused for several reasons, the last
    one listed here: that variant came nearest to counting.

    PART_IS_ENOUGH: its rule accepts some of the rows.
    GOLD_FAILS: gold has no answer on the real database, within the bounds of this stage.
    NO_VARIANTS: none could be made of its database.
    FAILS: gold fails on the variants, or takes too much there.
    SAYS_NOTHING: its answers there have no row, or only NULL and 0.
    STORED_ORDER: its answers there depend on how rows are stored.
    TIES: its LIMIT cuts through a tie there.
    OTHER_READING: the question may mean something else, which differs there.
    TELLS_NOTHING: gold has the stored answer there, as its neighbors have.
    NO_ROOM: other questions need the variants that are kept.
    """

    PART_IS_ENOUGH = "part_is_enough"
    GOLD_FAILS = "gold_fails"
    NO_VARIANTS = "no_variants"
    FAILS = "fails"
    SAYS_NOTHING = "says_nothing"
    STORED_ORDER = "stored_order"
    TIES = "ties"
    OTHER_READING = "other_reading"
    TELLS_NOTHING = "tells_nothing"
    NO_ROOM = "no_room"

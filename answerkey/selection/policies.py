"""Policies: the effect of a flag (exclude, record, accept ties, nothing)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from answerkey.base.reasons import Policy, Reason
from answerkey.dataset import Question
from answerkey.engines.answers import has_choice
from answerkey.flags import DIALECT_DIFFERS, FLAGS, sort_flags
from answerkey.sections.select_questions import TIE_FLAGS

SETTLED = ("judged_right", "judged_wrong_sql")  # a verdict says that the answer is right


def read_policies(values: Mapping[str, Policy]) -> dict[str, Policy]:
    """Return the policy of each flag: that of params, or its default."""
    return {name: Policy(values.get(name, flag.policy)) for name, flag in FLAGS.items()}


def find_exclusion(
    flags: list[dict[str, Any]], policies: Mapping[str, Policy], *, has_accepted_rows: bool = False
) -> tuple[str, str] | None:
    """Return the first flag of the catalogue that excludes, with its evidence as JSON.

    A cut through a tie with the policy accept_ties excludes only if no accepted rows are known. If
    they are known, row_order_dependent does not exclude: all copies of the database gave accepted
    answers. A doubt about gold does not exclude if gold or its answer was judged right.
    """
    are_accepted = has_accepted_rows and accepts_ties(flags, policies)
    is_settled = any(
        flag["code"] in SETTLED and policies[flag["code"]] is not Policy.OFF for flag in flags
    )
    for flag in sort_flags(flags):
        code = flag["code"]
        if are_accepted and code == "row_order_dependent":
            continue
        if is_settled and FLAGS[code].doubts_gold:
            continue
        if policies[code] is Policy.EXCLUDE or (
            policies[code] is Policy.ACCEPT_TIES and not are_accepted
        ):
            return code, json.dumps(flag["evidence"], ensure_ascii=False)
    return None


def accepts_ties(flags: list[dict[str, Any]], policies: Mapping[str, Policy]) -> bool:
    """Return whether LIMIT cuts through a tie of the question, and policies accept that."""
    cuts = {flag["code"] for flag in flags}.intersection(TIE_FLAGS)
    return bool(cuts) and all(policies[cut] is Policy.ACCEPT_TIES for cut in cuts)


def keep_reported(
    flags: list[dict[str, Any]], policies: Mapping[str, Policy]
) -> list[dict[str, Any]]:
    """Return the flags that are not off, in the order of the catalogue."""
    return sort_flags(flag for flag in flags if policies[flag["code"]] is not Policy.OFF)


def find_reason(
    question: Question, policies: Mapping[str, Policy]
) -> tuple[str, str | None, str | None] | None:
    """Return why a question is not usable: stage, reason and detail; None if it is usable."""
    if question.stage is not None:
        return _explain_dialect(question, policies) or (
            question.stage,
            question.reason,
            question.detail,
        )
    exclusion = find_exclusion(
        question.flags, policies, has_accepted_rows=has_choice(question.accepted_rows)
    )
    return ("audit_gold_answers", *exclusion) if exclusion else None


def _explain_dialect(
    question: Question, policies: Mapping[str, Policy]
) -> tuple[str, str, str] | None:
    """Return why a query is left out that SQLite refuses and that was written for another engine.
    That evidence explains more than SQLite's message."""
    if question.reason != Reason.SQL_ERROR or policies[DIALECT_DIFFERS] is not Policy.EXCLUDE:
        return None
    evidence = (flag["evidence"] for flag in question.flags if flag["code"] == DIALECT_DIFFERS)
    shown = (json.dumps(each, ensure_ascii=False) for each in evidence)
    return next(((str(question.stage), DIALECT_DIFFERS, words) for words in shown), None)

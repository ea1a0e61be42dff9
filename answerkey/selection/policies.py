"""Policies: what a flag means for a question (exclude it, record it, accept its ties, or pass it
over)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from answerkey.core.flags import DOUBTS, FLAG_PLACES, Flag
from answerkey.core.param_types import TIE_FLAGS, Policies, Policy
from answerkey.core.params import check_value


def read_policies(values: Mapping[str, Any]) -> dict[Flag, Policy]:
    """The policies as params spell them, one for each flag.

    YAML reads a bare `off` as false, which is taken for what was meant.

    Raises:
        InputError: naming flags that are unknown or missing, or a policy that is none.
    """
    policies = check_value(Policies, values, key="select_questions.policies")
    return {flag: policies[flag] for flag in Flag}


def find_exclusion(
    flags: list[dict[str, Any]], policies: Mapping[Flag, Policy], *, has_accepted_rows: bool = False
) -> tuple[Flag, str] | None:
    """The first flag, in the order of the vocabulary, that excludes; with its evidence as JSON.

    A cut through a tie whose policy is accept_ties excludes where no accepted rows are known. Where
    they are, row_order_dependent does not: all copies of the database gave accepted answers. A
    doubt about gold that was judged right excludes nothing.
    """
    are_accepted = has_accepted_rows and accepts_ties(flags, policies)
    is_judged_right = policies[Flag.JUDGED_RIGHT] is not Policy.OFF and any(
        flag["code"] == Flag.JUDGED_RIGHT for flag in flags
    )
    for flag in sorted(flags, key=lambda flag: FLAG_PLACES[Flag(flag["code"])]):
        code = Flag(flag["code"])
        if are_accepted and code is Flag.ROW_ORDER_DEPENDENT:
            continue
        if is_judged_right and code in DOUBTS:
            continue
        if policies[code] is Policy.EXCLUDE or (
            policies[code] is Policy.ACCEPT_TIES and not are_accepted
        ):
            return code, json.dumps(flag["evidence"], ensure_ascii=False)
    return None


def accepts_ties(flags: list[dict[str, Any]], policies: Mapping[Flag, Policy]) -> bool:
    """Whether LIMIT cuts through a tie of the question, and policies accept that."""
    cuts = {Flag(flag["code"]) for flag in flags}.intersection(TIE_FLAGS)
    return bool(cuts) and all(policies[cut] is Policy.ACCEPT_TIES for cut in cuts)


def keep_reported(
    flags: list[dict[str, Any]], policies: Mapping[Flag, Policy]
) -> list[dict[str, Any]]:
    """The flags that are not off."""
    return [flag for flag in flags if policies[Flag(flag["code"])] is not Policy.OFF]

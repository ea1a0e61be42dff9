"""Policies: what a flag means for a question (exclude it, record it, or pass it over)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from answerkey.core.param_types import Policies, Policy
from answerkey.core.params import check_value
from answerkey.core.reasons import FLAG_PLACES, Flag


def read_policies(values: Mapping[str, Any]) -> dict[Flag, Policy]:
    """The policies as params spell them, one for each flag.

    YAML reads a bare `off` as false, which is taken for what was meant.

    Raises:
        InputError: naming flags that are unknown or missing, or a policy that is none.
    """
    policies = check_value(Policies, values, key="select_questions.policies")
    return {flag: policies[flag] for flag in Flag}


def find_exclusion(
    flags: list[dict[str, Any]], policies: Mapping[Flag, Policy]
) -> tuple[Flag, str] | None:
    """The first flag, in the order of the vocabulary, that excludes; with its evidence as JSON."""
    for flag in sorted(flags, key=lambda flag: FLAG_PLACES[Flag(flag["code"])]):
        code = Flag(flag["code"])
        if policies[code] is Policy.EXCLUDE:
            return code, json.dumps(flag["evidence"], ensure_ascii=False)
    return None


def keep_reported(
    flags: list[dict[str, Any]], policies: Mapping[Flag, Policy]
) -> list[dict[str, Any]]:
    """The flags that are not off."""
    return [flag for flag in flags if policies[Flag(flag["code"])] is not Policy.OFF]

"""Findings: what a probe reports of a question."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from answerkey.core.flags import FLAG_PLACES, Flag


@dataclass(frozen=True, slots=True)
class Finding:
    """A flag, and evidence that a person can check: a JSON object with stable keys."""

    code: Flag
    evidence: dict[str, Any]


def encode_findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The findings as audit.jsonl has them: {code, evidence}, in the order of the vocabulary."""
    ranked = sorted(findings, key=lambda finding: FLAG_PLACES[finding.code])
    return [{"code": str(found.code), "evidence": found.evidence} for found in ranked]

"""What becomes of a question: a record of the product and one beside it, or an exclusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from answerkey.core.dossier import Dossier
from answerkey.core.question import FIELDS
from answerkey.core.reasons import Flag
from answerkey.selection.policies import Policy, keep_reported


def make_record(dossier: Dossier) -> dict[str, Any]:
    """The nine fields of the product, in their order."""
    known = {
        **dossier.source,
        **dossier.outcome,
        "difficulty": dossier.difficulty,
        "tables_involved": dossier.parsed["tables_involved"],
    }
    return {field: known[field] for field in FIELDS}


def make_audit(
    dossier: Dossier, policies: Mapping[Flag, Policy], database_sha256: str
) -> dict[str, Any]:
    """What the nine fields do not hold."""
    return {
        "question_id": dossier.question_id,
        "flags": keep_reported(dossier.audit["flags"], policies),
        "order_matters": dossier.audit["order_matters"],
        "hardness": dossier.parsed["hardness"],
        "features": dossier.parsed["features"],
        "evidence": dossier.source.get("evidence"),
        "source": dossier.source["source"],
        "database_sha256": database_sha256,
    }


def make_exclusion(
    dossier: Dossier, policies: Mapping[Flag, Policy], stage: str, reason: str, detail: str
) -> dict[str, Any]:
    """A question that is set aside, the first reason why, and all its flags, which it has where it
    has an answer."""
    flags = dossier.audit["flags"] if dossier.audit else []
    return {
        "question_id": dossier.question_id,
        "database_name": dossier.source["database_name"],
        "stage": stage,
        "reason": reason,
        "detail": detail,
        "flags": keep_reported(flags, policies),
        "question_text": dossier.source["question_text"],
        "gold_sql": dossier.source["gold_sql"],
    }

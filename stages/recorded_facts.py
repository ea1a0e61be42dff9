"""What validation compares a question with where nothing is executed again: what earlier stages
and sidecars recorded of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stages.checks import Execute
from stages.dossier import read_dossiers
from stages.records import read_jsonl
from stages.selection.targets import Targets


class Report(NamedTuple):
    """What a sidecar says of a question: whether its answer has rows in an order, and its corpus,
    '' where that does not matter."""

    order_matters: bool
    corpus: str


def look_up_reports(
    order_matters: Mapping[str, bool], corpora: Mapping[str, str]
) -> Callable[[str], Report]:
    """Look reports up by question_id, in whatever order."""

    def look_up(question_id: str) -> Report:
        return Report(order_matters.get(question_id, False), corpora.get(question_id, ""))

    return look_up


def recorded_answers(interim: Path) -> Execute:
    """Look answers up in what compute_gold_answers executed; questions come in their order."""
    dossiers = read_dossiers(interim)

    def look_up(question_id: str, database_name: str, gold_sql: str) -> Any:
        for dossier in dossiers:
            if dossier.question_id == question_id:
                source = dossier.source
                if (source["database_name"], source["gold_sql"]) != (database_name, gold_sql):
                    raise LookupError("not the SQL or the database that was executed")
                return dossier.outcome.get("gold_answer")
        raise LookupError("never executed, or out of order")

    return look_up


def read_order_matters(audit_path: Path) -> dict[str, bool]:
    """True by question_id, for the questions whose answers have rows in an order."""
    return {
        record["question_id"]: True for record in read_jsonl(audit_path) if record["order_matters"]
    }


def read_corpora(audit_path: Path, targets: Targets) -> dict[str, str]:
    """The corpus by question_id, where a target asks for it; else nothing."""
    if targets.corpus_shares is None:
        return {}
    return {
        record["question_id"]: sys.intern(record["source"]["corpus"])
        for record in read_jsonl(audit_path)
    }


def recorded_reports(audit_path: Path) -> Callable[[str], Report]:
    """Look reports up in a sidecar; questions come in its order."""
    audits = read_jsonl(audit_path)

    def look_up(question_id: str) -> Report:
        audit = next(audit for audit in audits if audit["question_id"] == question_id)
        return Report(audit["order_matters"], audit["source"]["corpus"])

    return look_up

"""Every gold answer is looked at by every probe, which raises flags.

A flag excludes nothing by itself: policies in select_questions say what follows, so that a change
of a policy executes nothing.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from answerkey.base.log import list_counts, start_log
from answerkey.base.params import read_params, run_stage
from answerkey.probes.audit import AuditInputs, audit_databases
from answerkey.shards.runs import read_shards

INPUTS = AuditInputs(
    splits=Path("data/interim/splits.jsonl"),
    schemas=Path("data/interim/schemas.jsonl"),
    databases=Path("data/databases"),
    gold_answers=Path("data/interim/gold_answers"),
)
OUT = Path("data/interim/audit")


def main() -> None:
    """Bring the shards of all databases up to date."""
    log = start_log("audit_gold_answers")
    thresholds, limits, execution = read_params(
        "audit_gold_answers", "compute_gold_answers", "execution"
    )
    run = audit_databases(
        INPUTS,
        OUT,
        thresholds=thresholds,
        limits=limits,
        databases_url=execution.databases_url,
        engine=execution.engine,
        workers=execution.workers,
    )
    counts = Counter(
        flag["code"] for record in read_shards(OUT, run.names) for flag in record["flags"]
    )
    log.info(
        "%d databases, %d queries audited, %d flags%s",
        len(run.names),
        run.executed,
        counts.total(),
        list_counts(counts),
    )


if __name__ == "__main__":
    run_stage(main)

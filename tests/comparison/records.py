"""Set records for tests, and what was found of them in few words."""

from __future__ import annotations

from typing import Any

import pandas as pd

from answerkey.comparison.compare import SetRecord, find_across_splits, make_set_record
from answerkey.records import Finding


def record(number: int, text: str, sql: str = "q", answer: Any = 1, **other: Any) -> SetRecord:
    known = {
        "database_name": "fleet",
        "split": "train",
        "template": "",
        "order_matters": False,
        **other,
    }
    return make_set_record(
        f"{known['database_name']}_{known['split']}_{number:03d}",
        known.pop("database_name"),
        known.pop("split"),
        question_text=text,
        canonical_sql=sql,
        gold_answer=answer,
        **known,
    )


def flags(findings: dict[str, list[Any]]) -> dict[str, list[str]]:
    return {
        question_id.rsplit("_", 1)[1]: [str(finding.code) for finding in found]
        for question_id, found in sorted(findings.items())
    }


def held_out(number: int, text: str, template: str = "T", **other: Any) -> SetRecord:
    known = {"database_name": "zoo", "split": "eval", **other}
    return record(number, text, template=template, **known)


def tabulate(records: list[SetRecord]) -> pd.DataFrame:
    return pd.DataFrame(records, columns=SetRecord._fields, dtype=object)


def find_across(*records: SetRecord) -> dict[str, list[Finding]]:
    """What questions share with those of the other split."""
    return find_across_splits(tabulate(list(records)))

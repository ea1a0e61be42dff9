"""The comparison of all questions: what each shares with others, as flags.

Nothing is executed. What a question shares with others changes when any of them does, so all are
compared again whenever one changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from answerkey.comparison.schema_twins import find_schema_twins, list_columns
from answerkey.comparison.set_probes import find_in_database
from answerkey.comparison.set_records import SetRecord, make_set_record
from answerkey.comparison.split_probes import find_across_splits
from answerkey.core.findings import Finding
from answerkey.core.joined import JoinedQuestion
from answerkey.core.question import EVAL
from answerkey.sqlite.answers import read_order
from answerkey.sqlite.schema import Schema


def tabulate_questions(questions: Iterable[JoinedQuestion]) -> pd.DataFrame:
    """A row with the fields of SetRecord for each question.

    A question that has no answer, as one that a curator excluded, has '' in all columns but its
    names, and '' equals nothing. So a good question is not left out because it repeats a wrong one.
    """
    return pd.DataFrame(map(_make_row, questions), columns=SetRecord._fields, dtype=object)


def _make_row(question: JoinedQuestion) -> SetRecord:
    names = question.question_id, question.database_name, question.split
    if question.answer_type is None:
        return SetRecord(*names, text="", canonical_sql="", template="", answer="", sequence="")
    return make_set_record(
        *names,
        question_text=question.question_text,
        canonical_sql=question.canonical_sql or "",
        template=question.template or "",
        gold_answer=question.gold_answer,
        order_matters=read_order(question.order_matters, question.accepted_rows) is True,
    )


def compare(
    table: pd.DataFrame, schemas: Iterable[tuple[str, Schema]], *, min_similarity: float
) -> dict[str, list[Finding]]:
    """{question_id: [Finding, ...]} for each question of the table that shares something.

    `schemas` are those of all databases, with their names.
    """
    findings: dict[str, list[Finding]] = defaultdict(list)
    repeats = table.duplicated(["database_name", "text"], keep=False) | table.duplicated(
        ["database_name", "canonical_sql"], keep=False
    )
    parts = [
        find_in_database(
            map(SetRecord._make, rows.itertuples(index=False, name=None)),
            min_similarity=min_similarity,
        )
        for _, rows in table[repeats].groupby("database_name", sort=False)
    ]
    parts.append(find_across_splits(table, min_similarity=min_similarity))
    for part in parts:
        for question_id, found in part.items():
            findings[question_id] += found
    twins = _find_twins(table, schemas)
    compared = table[table["answer"] != ""]
    for question_id, name in zip(compared["question_id"], compared["database_name"], strict=True):
        if name in twins:
            findings[question_id].append(twins[name])
    return findings


def _find_twins(table: pd.DataFrame, schemas: Iterable[tuple[str, Schema]]) -> dict[str, Finding]:
    """The schema twins among the databases of the questions, by name."""
    splits = dict(zip(table["database_name"], table["split"], strict=True))
    columns = [list_columns(name, schema) for name, schema in schemas if name in splits]
    train = [one for one in columns if splits[one.database_name] != EVAL]
    held_out = [one for one in columns if splits[one.database_name] == EVAL]
    return find_schema_twins(train, held_out)

"""The sections export_trainers, export_huggingface and report_dataset, of the last stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from answerkey.base.kinds import From0, From1, Ratio, Text, Whole, text


@dataclass(frozen=True, slots=True)
class TrainerSettings:
    """How a prompt is written, for trainers and for the hub, and which questions are for a reward.

    prompt_template: a file of Jinja.
    schema: own, the database's schema; widened, with tables of other databases of its corpus and
        split, up to a total of widened_tables (`answerkey.exports.widened`).
    widened_tables: the number of tables of a widened database, if others have enough.
    widened_seed: chooses the tables, and the order of all.
    example_rows: of each table; fewer if its schema would be too long.
    named_values: the most values of the database that the question names; 0: none is looked for.
    max_schema_characters: of the schema in a prompt, including its example rows.
    min_mutation_score: a question to train on with a lower score of its test suite is left out of
        files for rewards; without a suite the score is 0.
    max_sql_risk: a question to train on with a higher sql_risk is left out of the files whose
        completion is gold SQL; null: none is.
    """

    prompt_template: Text = "templates/prompt.j2"
    schema: Literal["own", "widened"] = "own"
    widened_tables: From1 = 100
    widened_seed: Whole = 20
    example_rows: From0 = 3
    named_values: From0 = 8
    max_schema_characters: From0 = 8000
    min_mutation_score: Ratio = 0.5
    max_sql_risk: Ratio | None = 0.5


@dataclass(frozen=True, slots=True)
class HubSettings:
    """What the dataset card says beside the results of the run.

    repo_id: the repository on the hub that the card's snippets name.
    version, date_published: of this dataset, for Croissant.
    max_packed_bytes: databases, or those of test suites, are left out if they are larger together.
    """

    repo_id: Annotated[
        str, text("a repository of the hub, such as org/name", pattern=r"^[\w.-]+/[\w.-]+\Z")
    ]
    version: Annotated[str, text("a version, such as 1.0.0", pattern=r"^\d+\.\d+\.\d+\Z")]
    date_published: Annotated[
        str, text('a date in quotes, such as "2026-11-23"', pattern=r"^\d{4}-\d{2}-\d{2}\Z")
    ]
    max_packed_bytes: From0 = 500_000_000


@dataclass(frozen=True, slots=True)
class ReportDataset:
    """max_rows: questions in the page's table, a sample if there are more.
    max_answer_characters: of a question, its SQL, its answer, a piece of evidence.
    """

    max_rows: From0 = 5000
    max_answer_characters: From1 = 2000

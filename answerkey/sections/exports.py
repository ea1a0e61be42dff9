"""The sections export_trainers, export_huggingface and report_dataset, of the last stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from answerkey.base.kinds import From0, From1, Ratio, Text, Whole, text


@dataclass(frozen=True, slots=True)
class TrainerSettings:
    """How a prompt is written, for trainers and for the hub, and which questions a reward is for.

    prompt_template: a file of Jinja.
    schema: own, that of the database; widened, with tables of other databases of its corpus and
        split, so many in all (`answerkey.exports.widened`).
    widened_tables: how many a database has then, as far as there are so many.
    widened_seed: chooses which these are, and the order of all.
    example_rows: of each table; fewer if its schema would be too long.
    named_values: values of the database that the question names, at most; 0: none is looked for.
    max_schema_characters: of the schema in a prompt, its example rows included.
    min_mutation_score: a question to train on whose test suite scores less stays out of what
        rewards read; one without a suite scores 0.
    max_sql_risk: a question to train on with a higher sql_risk stays out of the files whose
        completion is gold SQL; null takes all.
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
    """What the dataset card says beside what the run found.

    repo_id: the repository on the hub that the card's snippets name.
    version, date_published: of this dataset, for Croissant.
    max_packed_bytes: databases, or those of test suites, that together are larger stay out.
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

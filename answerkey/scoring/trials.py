"""Trials: the databases on which a prediction must be right, and what is right on each.

The real database comes first, then those of the test suite in their order. A prediction is right
where it is right on all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from answerkey.core.database_ids import find_inside
from answerkey.scoring.jobs import Job

LEAST_STEPS = 1_000_000  # of a budget

_KEPT_SUITES = 32  # predictions for one question come together
_KEPT_PATHS = 4096
_DECODE = json.JSONDecoder().decode


class Trial(NamedTuple):
    """A database and what is right there.

    max_steps: None, where the size of the database says it.
    name: of a database of a test suite, the path that the suite names; else None.
    sha256: of the database file; None: nobody says.
    """

    path: str
    gold_answer: Any
    order_matters: bool
    max_steps: int | None
    accepted_rows: list[Any] | None = None
    name: str | None = None
    sha256: str | None = None


def list_trials(job: Job) -> Iterator[Trial]:
    """The trials of a job. The suite is read only where somebody asks for more than the first.

    Raises:
        ValueError: where gold_answer, accepted_rows or test_suite is not what exports have.
    """
    yield Trial(
        job.path,
        _read_json("gold_answer", job.gold_answer),
        job.order_matters,
        job.max_steps,
        job.accepted_rows and _read_json("accepted_rows", job.accepted_rows),
        sha256=job.database_sha256,
    )
    if job.test_suite:
        yield from _read_suite(job.test_suite, job.suites_folder)


@lru_cache(_KEPT_SUITES)
def _read_suite(text: str, folder: str) -> list[Trial]:
    try:
        return [
            Trial(
                _locate(folder, "/".join(database["path"].split("/")[-2:])),
                database["gold_answer"],
                database["order_matters"],
                LEAST_STEPS,
                database.get("accepted_rows"),
                name=database["path"],
                sha256=database.get("sha256"),
            )
            for database in _read_json("test_suite", text)
        ]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            "test_suite: expected a list of databases with path, gold_answer and order_matters,"
            f" found {text!r:.80}"
        ) from error


@lru_cache(_KEPT_PATHS)
def _locate(folder: str, path: str) -> str:
    return str(find_inside(folder, path))


def _read_json(name: str, text: str) -> Any:
    try:
        return _DECODE(text)
    except ValueError as error:
        raise ValueError(f"{name}: expected JSON text, found {text!r:.80}: {error}") from error

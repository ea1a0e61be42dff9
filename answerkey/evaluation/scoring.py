"""Scores of predictions: each is executed on its database and, if that accepts it, on its suite.

What was scored is kept as JSON Lines, so that a run that was ended goes on where it was. Each score
is kept under a hash of all that it comes from: the SQL, the answers and databases of the question,
the rule, the code that executes and compares, and the version of SQLite.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.dataset import Question, list_reward_terms
from answerkey.evaluation.predictions import Prediction
from answerkey.scoring.comparison import DifferenceKind
from answerkey.scoring.pool import Pool
from answerkey.scoring.rules import read_rule
from answerkey.scoring.worker import RIGHT, Explanation, Job, Kind, list_trials
from answerkey.sqlite.files import find_inside

_AT_ONCE = 256  # predictions, until their scores are kept
_CODE = ("scoring", "sqlite", "evaluation")
_WITH_ROWS = frozenset(DifferenceKind)  # the reasons of wrong predictions that have rows


class Score(NamedTuple):
    """What became of a prediction.

    on_database: whether it is right on the real database.
    on_suite: whether it is right there and on its test suite.
    reason, detail, database: as in `answerkey.reward.Explanation`; reason is None if on_suite.
    missing, unexpected: some rows that part it from the gold answer on that database.
    rows: its first rows on the real database, long texts cut; None if it has none, or is right.
    row_count: how many there are.
    answer: a hash of all its rows, the same for the same rows (`RowSummary`); None as rows.
    meaning: a hash of its rows on the real database and on those of its test suite: predictions
        that share one mean the same, as far as anybody sees. None if it has no rows, or is right.
    """

    question_id: str
    sample: int
    sql: str | None
    on_database: bool
    on_suite: bool
    reason: str | None = None
    detail: str = ""
    database: str | None = None
    missing: Sequence[list[Any]] = ()
    unexpected: Sequence[list[Any]] = ()
    rows: list[list[Any]] | None = None
    row_count: int | None = None
    answer: str | None = None
    meaning: str | None = None


class Folders(NamedTuple):
    """Where the databases are; test_suites: None, if predictions are not tried on suites."""

    databases: Path
    test_suites: Path | None


def score_predictions(
    predictions: Sequence[Prediction],
    questions: dict[str, Question],
    folders: Folders,
    *,
    journal: Path,
    rule: str | None = None,
    workers: int | None = None,
) -> list[Score]:
    """The score of each prediction, in their order.

    rule: by its name, in place of that of the questions.
    journal: the file of what was scored before, which is read first and added to.

    Raises:
        FileNotFoundError: if a database is missing.
        ValueError: on a rule that there is not, or a database that is another file.
    """
    code = _hash_code()
    jobs = [
        _make_job(prediction, questions[prediction.question_id], folders, rule)
        for prediction in predictions
    ]
    keys = [_hash(code, job._asdict()) for job in jobs]
    kept = journal.read_bytes() if journal.is_file() else b""
    known = _read_journal(kept)
    waiting = [place for place, key in enumerate(keys) if key not in known]
    journal.parent.mkdir(parents=True, exist_ok=True)
    with Pool(workers) as pool, journal.open("a", encoding="utf-8") as file:
        if kept and not kept.endswith(b"\n"):
            print(file=file)  # behind a line that a killed run did not finish
        for start in range(0, len(waiting), _AT_ONCE):
            _show_progress(len(jobs) - len(waiting) + start, len(jobs))
            places = waiting[start : start + _AT_ONCE]
            for place, outcome in zip(
                places, _explain(pool, [jobs[place] for place in places]), strict=True
            ):
                known[keys[place]] = outcome
                print(json.dumps({"key": keys[place], **outcome}), file=file)
            file.flush()
    _show_progress(len(jobs), len(jobs))
    return [
        Score(prediction.question_id, prediction.sample, prediction.sql, **known[key])
        for prediction, key in zip(predictions, keys, strict=True)
    ]


def _make_job(
    prediction: Prediction, question: Question, folders: Folders, rule: str | None
) -> Job:
    name = question.database_name
    terms = list_reward_terms(question)
    if folders.test_suites is None:
        terms["test_suite"] = None
    return Job(
        Kind.EXPLAIN,
        str(find_inside(folders.databases.absolute(), f"{name}/{name}.sqlite")),
        prediction.sql,
        gold_answer=json.dumps(question.gold_answer),
        suites_folder=str(folders.test_suites.absolute()) if folders.test_suites else "",
        **terms | {"rule": read_rule(rule or question.rule)},
    )


def _explain(pool: Pool, jobs: list[Job]) -> list[dict[str, Any]]:
    """The scores of jobs; those that have rows and are wrong are executed once more for them."""
    found: list[Explanation] = pool.run(jobs)
    outcomes = [
        {
            "on_database": one.reward == RIGHT or one.database is not None,
            "on_suite": one.reward == RIGHT,
            **{name: value for name, value in asdict(one).items() if name != "reward"},
        }
        for one in found
    ]
    executed = {  # on the real database, then on those of the suite
        place: [
            Job(
                Kind.SUMMARIZE,
                trial.path,
                jobs[place].text,
                max_steps=trial.max_steps,
                order_matters=trial.order_matters,
            )
            for trial in list_trials(jobs[place])
        ]
        for place, one in enumerate(found)
        if one.database is not None or one.reason in _WITH_ROWS
    }
    summaries = iter(pool.run([job for of_place in executed.values() for job in of_place]))
    for place, of_place in executed.items():
        summary, *on_suite = islice(summaries, len(of_place))
        if summary is None:
            continue
        if not outcomes[place]["on_database"]:
            outcomes[place] |= summary._asdict()
        answers = [each and each.answer for each in (summary, *on_suite)]
        outcomes[place]["meaning"] = _hash(answers)
    return json.loads(json.dumps(outcomes, default=_spell_bytes))


def _spell_bytes(value: Any) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    raise TypeError(f"expected a value of SQLite, found {value!r:.80}")


def _hash(*values: Any) -> str:
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]


def _hash_code() -> str:
    rooms = [Path(__file__).parents[1] / room for room in _CODE]
    files = sorted(path for room in rooms for path in room.rglob("*.py"))
    return _hash(sqlite3.sqlite_version, [path.read_text(encoding="utf-8") for path in files])


def _read_journal(kept: bytes) -> dict[str, dict[str, Any]]:
    """The scores that are kept; a line that a killed run did not finish has none."""
    known: dict[str, dict[str, Any]] = {}
    for line in kept.splitlines():
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            known[record.pop("key")] = record
    return known


def _show_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {total:,} predictions scored", end=end, file=sys.stderr, flush=True)

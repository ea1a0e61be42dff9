"""Score predictions: each is executed on its database and, if it is right there, on its suite.

Scores are stored as JSON Lines, so that a run that was ended can continue. Each score is stored
under a hash of everything it depends on: the SQL, the answers and databases of the question, the
rule, the code that executes and compares, and the version of the engine. Rollouts are scored in the
same way, and counted as pass rates.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.log import show_progress
from answerkey.dataset import PassRate, Question, Record, list_reward_terms
from answerkey.engines.answers import answer_rows
from answerkey.engines.names import ENGINES, SQLITE, name_engine
from answerkey.engines.opening import find_database_file, load_engine
from answerkey.evaluation.samples import Rollouts
from answerkey.scoring.comparison import DifferenceKind, cut_texts
from answerkey.scoring.pool import Pool
from answerkey.scoring.rules import read_rule
from answerkey.scoring.worker import RIGHT, Explanation, Job, JobKind, list_trials

_AT_ONCE = 256  # predictions, before their scores are stored
_CODE = ("scoring", "engines", "evaluation")
_WITH_ROWS = frozenset(DifferenceKind)  # reasons of wrong predictions that have rows


# The share of models that must agree for a flag, by the kind of the evidence. The more agree, the
# more often gold is wrong: docs/rollouts.md has the numbers.
_SHARES = {
    "most": Fraction(2, 3),
    "half": Fraction(1, 2),
    "third": Fraction(1, 3),
    "some": Fraction(1, 6),
}
_MIN_MODELS = 3  # with two models, one alone would be half
_ROWS_SHOWN = 3


class Prediction(NamedTuple):
    """SQL for a question; sql: None if the completion has none. sample: its index among the samples
    for the question."""

    question_id: str
    sample: int
    sql: str | None


class Score(NamedTuple):
    """The result of a prediction.

    on_database: whether it is right on the real database.
    on_suite: whether it is right there and on its test suite.
    reason, detail, database: as in `answerkey.reward.Explanation`; reason is None if on_suite.
    missing, unexpected: some rows in which it differs from the gold answer on that database.
    rows: its first rows on the real database, long texts cut; None if it has none, or is right.
    row_count: the number of its rows.
    answer: a hash of all its rows, the same for the same rows (`RowSummary`); None if rows is None.
    meaning: a hash of its rows on the real database and on its test suite. Predictions with the
        same hash have the same meaning, as far as these databases show. None if rows is None.
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
    """The folders of databases."""

    databases: Path
    test_suites: Path | None  # None: predictions are not executed on suites


def score_predictions(
    predictions: Sequence[Prediction],
    questions: dict[str, Question],
    folders: Folders,
    *,
    journal: Path,
    rule: str | None = None,
    workers: int | None = None,
    name: str | None = None,
) -> list[Score]:
    """Return the score of each prediction, in their order.

    rule: the name of a rule that replaces that of the questions.
    journal: the file of earlier scores, which is read first and appended to.
    name: the label of a progress bar; None: no bar.

    Raises:
        FileNotFoundError: a database is missing.
        ValueError: there is no such rule, or a database is another file.
    """
    jobs = [
        _make_job(prediction, questions[prediction.question_id], folders, rule)
        for prediction in predictions
    ]
    engines = [name_engine(job.path) for job in jobs]
    codes = {engine: _hash_code(engine) for engine in {*engines}}
    keys = [_hash(codes[engine], job._asdict()) for engine, job in zip(engines, jobs, strict=True)]
    kept = journal.read_bytes() if journal.is_file() else b""
    known = read_journal(kept)
    waiting = [job_index for job_index, key in enumerate(keys) if key not in known]
    journal.parent.mkdir(parents=True, exist_ok=True)
    with (
        Pool(workers) as pool,
        journal.open("a", encoding="utf-8") as file,
        show_progress(name, total=len(jobs), unit="predictions") as advance,
    ):
        advance(len(jobs) - len(waiting))
        if kept and not kept.endswith(b"\n"):
            print(file=file)  # ends a line that a killed run left incomplete
        for start in range(0, len(waiting), _AT_ONCE):
            chosen = waiting[start : start + _AT_ONCE]
            outcomes = _explain(pool, [jobs[job_index] for job_index in chosen])
            for job_index, outcome in zip(chosen, outcomes, strict=True):
                key = keys[job_index]
                known[key] = outcome
                print(json.dumps({"key": key, **outcome}), file=file)
            file.flush()
            advance(len(chosen))
    return [
        Score(prediction.question_id, prediction.sample, prediction.sql, **known[key])
        for prediction, key in zip(predictions, keys, strict=True)
    ]


def _make_job(
    prediction: Prediction, question: Question, folders: Folders, rule: str | None
) -> Job:
    terms = list_reward_terms(question)
    engine = terms.pop("engine")
    if folders.test_suites is None:
        terms["test_suite"] = None
    return Job(
        JobKind.EXPLAIN,
        find_database_file(
            folders.databases.absolute(),
            question.database_name,
            engine=None if engine == SQLITE else engine,  # not known of a question without gold SQL
        ),
        prediction.sql,
        gold_answer=json.dumps(question.gold_answer),
        suites_folder=str(folders.test_suites.absolute()) if folders.test_suites else "",
        **terms | {"rule": read_rule(rule or question.rule)},
    )


def _explain(pool: Pool, jobs: list[Job]) -> list[dict[str, Any]]:
    """Return the scores of jobs. Wrong ones with rows are executed once more to get the rows."""
    explanations: list[Explanation] = pool.run(jobs)
    outcomes = [
        {
            "on_database": explained.reward == RIGHT or explained.database is not None,
            "on_suite": explained.reward == RIGHT,
            **{name: value for name, value in asdict(explained).items() if name != "reward"},
        }
        for explained in explanations
    ]
    executed = {  # on the real database, then on the databases of the suite
        job_index: [
            Job(
                JobKind.SUMMARIZE,
                trial.path,
                jobs[job_index].text,
                max_steps=trial.max_steps,
                max_cpu_s=trial.max_cpu_s,
                order_matters=trial.order_matters,
                now=trial.now,
            )
            for trial in list_trials(jobs[job_index])
        ]
        for job_index, explained in enumerate(explanations)
        if explained.database is not None or explained.reason in _WITH_ROWS
    }
    summaries = iter(pool.run([job for on_trials in executed.values() for job in on_trials]))
    for job_index, on_trials in executed.items():
        summary, *on_suite = islice(summaries, len(on_trials))
        if summary is None:
            continue
        if not outcomes[job_index]["on_database"]:
            outcomes[job_index] |= summary._asdict()
        answers = [each and each.answer for each in (summary, *on_suite)]
        outcomes[job_index]["meaning"] = _hash(answers)
    written: list[dict[str, Any]] = json.loads(json.dumps(outcomes, default=_spell_bytes))
    return written


def _spell_bytes(value: Any) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    raise TypeError(f"expected a value of a query, found {value!r:.80}")


def _hash(*values: Any) -> str:
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]


def _hash_code(engine: str) -> str:
    """Return the hash of what decides a score on a database of an engine: the code, but for that of
    other engines, and the version of the engine. All engines use parts of SQLite's."""
    library = Path(__file__).parents[1]
    others = {library / "engines" / other for other in ENGINES if other not in (engine, SQLITE)}
    files = sorted(path for room in _CODE for path in (library / room).rglob("*.py"))
    code = [path.read_text(encoding="utf-8") for path in files if others.isdisjoint(path.parents)]
    return _hash(load_engine(engine).version(), code)


def read_journal(kept: bytes) -> dict[str, dict[str, Any]]:
    """Return the stored scores. An incomplete line of a killed run is skipped, and so is a line
    that is no score."""
    known: dict[str, dict[str, Any]] = {}
    needed = {"key", "on_database", "on_suite"}
    for line in kept.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict) and needed <= record.keys() <= {"key", *Score._fields}:
                known[str(record.pop("key"))] = record
    return known


# Rollouts: the outputs of models.


def score_rollouts(
    rollouts: Rollouts,
    questions: Sequence[Question],
    folders: Folders,
    *,
    journal: Path,
    workers: int | None = None,
) -> list[Record]:
    """Return the pass rate of each question, in their order, with the agreement of models, if any.

    journal: the file of earlier scores, which is read first and appended to.
    """
    known = {question.question_id: question for question in questions}
    predictions = [
        Prediction(question_id, sample_index, sql)
        for question_id in known
        for sample_index, sql in enumerate(rollouts[question_id])
    ]
    scores: dict[str, list[Score]] = {question_id: [] for question_id in known}
    for score in score_predictions(predictions, known, folders, journal=journal, workers=workers):
        scores[score.question_id].append(score)
    rates = []
    for question_id, of_question in scores.items():
        samples, gold_answer = rollouts[question_id], known[question_id].gold_answer
        rate = count_right(samples, of_question)
        if (agreement := find_agreement(samples, of_question, gold_answer)) is not None:
            rate["agreement"] = agreement
        rates.append({"question_id": question_id, **rate})
    return rates


def find_agreement(
    samples: Mapping[str | None, Counter[str]], scores: Sequence[Score], gold_answer: Any
) -> Record | None:
    """Return the answer that most models agree on among those that are not gold's: its kind by
    their share, the number of models that agree and of all models, their shortest query, and its
    first rows.

    >>> wrong = Score("a", 0, "SELECT 4", False, False, rows=[[4]], row_count=1, meaning="four")
    >>> find_agreement({"SELECT 4": Counter(a=1, b=1), None: Counter(c=1)}, [wrong], 5)
    {'kind': 'most', 'models': 2, 'of': 3, 'sql': 'SELECT 4', 'row_count': 1, 'rows': [[4]]}

    Two predictions have the same answer if their rows are equal on the database and on the test
    suite. A model gives an answer if at least half of its samples do. Return None if fewer than
    three models answered, or too few of them agree.
    """
    asked = sum(samples.values(), Counter[str]())
    samples_by_meaning: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for score in scores:
        if score.meaning is not None:
            samples_by_meaning[score.meaning].update(samples[score.sql])
    models = {
        meaning: sum(2 * count >= asked[model] for model, count in counts.items())
        for meaning, counts in samples_by_meaning.items()
    }
    if len(asked) < _MIN_MODELS or not models:
        return None
    most = max(models, key=lambda meaning: (models[meaning], meaning))
    share = Fraction(models[most], len(asked))
    kind = next((kind for kind, least in _SHARES.items() if share >= least), None)
    if kind is None:
        return None
    shortest = min(
        (score for score in scores if score.meaning == most),
        key=lambda score: (len(score.sql or ""), score.sql or ""),
    )
    rows = answer_rows(gold_answer) if shortest.rows is None else shortest.rows
    return {
        "kind": kind,
        "models": models[most],
        "of": len(asked),
        "sql": shortest.sql,
        "row_count": len(rows) if shortest.row_count is None else shortest.row_count,
        "rows": [list(cut_texts(tuple(row))) for row in rows[:_ROWS_SHOWN]],
    }


def count_right(samples: Mapping[str | None, Counter[str]], scores: Sequence[Score]) -> PassRate:
    """Count all samples, those that are right on the database, and those that are right on the test
    suite as well; and the same for each model, by name.

    >>> right, wrong = Score("a", 0, "SELECT 1", True, True), Score("a", 1, None, False, False)
    >>> count_right({"SELECT 1": Counter(m=2), None: Counter(m=1)}, [right, wrong])["models"]
    {'m': {'total': 3, 'database': 2, 'suite': 2}}
    """
    total, database, suite = Counter[str](), Counter[str](), Counter[str]()
    for score in scores:
        models = samples[score.sql]
        total.update(models)
        database.update(models if score.on_database else ())
        suite.update(models if score.on_suite else ())
    return {
        "total": total.total(),
        "database": database.total(),
        "suite": suite.total(),
        "models": {
            model: {
                "total": total[model],
                "database": database[model],
                "suite": suite[model],
            }
            for model in sorted(total)
        },
    }

"""Evaluate predictions: how many are right on their databases, and on the test suites as well.

    answerkey evaluate predictions.jsonl --out reports/evaluation

writes `summary.json`, `scores.jsonl` with a line a prediction, and `evaluation.html` (which needs
the extra `evaluate`). Run again after an interruption, it goes on where it was: what was scored is
in `journal.jsonl`. `answerkey.evaluation.predictions` says which files of predictions are read.

    >>> summary = evaluate("predictions.jsonl", out="reports/evaluation")    # doctest: +SKIP
    >>> summary["accuracy"]["suite"]                                         # doctest: +SKIP
    0.613
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from answerkey.errors import InputError
from answerkey.evaluation.predictions import Dataset, read_predictions
from answerkey.evaluation.scoring import Folders, score_predictions
from answerkey.evaluation.summary import Result, collect_results, compare_runs, summarize

PathLike = str | Path

PAGE, SUMMARY, SCORES, JOURNAL = "evaluation.html", "summary.json", "scores.jsonl", "journal.jsonl"


def evaluate(
    predictions: PathLike,
    *,
    out: PathLike,
    dataset: PathLike = "data/questions",
    databases: PathLike = "data/databases",
    test_suites: PathLike | None = "data/test_suites",
    rule: str | None = None,
    split: str | None = None,
    source_file: str | None = None,
    against: PathLike | None = None,
    workers: int | None = None,
) -> dict[str, Any]:
    """The numbers of an evaluation (`answerkey.evaluation.summary.summarize`), which are also
    written to the folder `out` with the scores, and as a page if jinja2 is installed.

    predictions: JSON Lines, or SQL in the order of a source file (`source_file`, by default the one
        of the eval split).
    test_suites: None, if predictions are not tried on suites.
    rule: of comparison, by its name, in place of that of each question.
    split: the questions that count; by default those of every split that has a prediction. A
        question without a prediction counts as wrong.
    against: predictions of another run, to be compared question by question.

    Raises:
        FileNotFoundError: if the dataset, a database or the predictions are missing.
        InputError: on predictions that cannot be read.
        ValueError: on a rule that there is not.
    """
    known, out = Dataset(Path(dataset)), Path(out)
    folders = _find_folders(databases, test_suites)

    def score(path: PathLike) -> tuple[set[str], list[Any], dict[str, int]]:
        found, left_out = read_predictions(Path(path), known, source_file=source_file)
        splits = {known.questions[one.question_id].split for one in found}
        scores = score_predictions(
            found, known.questions, folders, journal=out / JOURNAL, rule=rule, workers=workers
        )
        return splits, scores, left_out

    splits, scores, left_out = score(predictions)
    counted = [
        question
        for question in known.questions.values()
        if question.split in ({split} if split else splits)
    ]
    results = collect_results(counted, scores)
    if not results:
        raise InputError(f"{dataset}: no question of the split {split}")
    summary = {
        "run": {
            "predictions": str(predictions),
            "dataset": str(dataset),
            "rule": rule,
            "split": split,
            "suites": folders.test_suites is not None,
            "against": None if against is None else str(against),
        },
        **summarize(results),
        "left_out": left_out,
        "against": None,
    }
    if against is not None:
        others = collect_results(counted, score(against)[1])
        summary["against"] = compare_runs(results, others)
    _write(out, results, summary)
    return summary


def score_file(
    predictions: PathLike,
    *,
    dataset: PathLike = "data/questions",
    databases: PathLike = "data/databases",
    test_suites: PathLike | None = "data/test_suites",
    rule: str | None = None,
    source_file: str | None = None,
    workers: int | None = None,
) -> list[dict[str, Any]]:
    """The score of each prediction, in the order of the file: 1.0 if it is right on the database
    and on the test suite, or 0.0 with the reason.

    Options and errors are those of `evaluate`. A prediction for a question that the dataset leaves
    out has no score.
    """
    known, folders = Dataset(Path(dataset)), _find_folders(databases, test_suites)
    found, _ = read_predictions(Path(predictions), known, source_file=source_file)
    with tempfile.TemporaryDirectory(prefix="answerkey-") as folder:
        journal = Path(folder) / JOURNAL
        scores = score_predictions(
            found, known.questions, folders, journal=journal, rule=rule, workers=workers
        )
    return [
        {
            "question_id": score.question_id,
            "sample": score.sample,
            "score": float(score.on_suite),
            "on_database": score.on_database,
            "reason": score.reason,
            "detail": score.detail,
            "database": score.database,
        }
        for score in scores
    ]


def _find_folders(databases: PathLike, test_suites: PathLike | None) -> Folders:
    folders = Folders(Path(databases), None if test_suites is None else Path(test_suites))
    for folder in filter(None, folders):
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: expected a folder of databases, found none")
    return folders


def _write(out: Path, results: list[Result], summary: dict[str, Any]) -> None:
    text = json.dumps(summary, indent=2)
    (out / SUMMARY).write_text(f"{text}\n", encoding="utf-8")
    lines = [json.dumps(score._asdict()) for result in results for score in result.scores]
    (out / SCORES).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    try:
        from answerkey.evaluation.page import render_evaluation

        page = render_evaluation(results, summary)
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        print("No page: pip install 'answerkey[evaluate]'", file=sys.stderr)
    else:
        (out / PAGE).write_bytes(page)


def describe(summary: dict[str, Any]) -> str:
    """The summary in a few lines."""
    has_suites, accuracy = summary["run"]["suites"], summary["accuracy"]
    names = ("database", "suite") if has_suites else ("database",)

    def spell(one: dict[str, Any], name: str) -> str:
        between = one[f"{name}_by_database"] or one[f"{name}_by_question"]
        spread = f" ({between[0]:.1%} to {between[1]:.1%})" if between else ""
        return f"{one[name]:.1%}{spread}"

    head = ("", "", "questions", *(f"on the {name}" for name in names))
    lines = [head, ("", "all", f"{accuracy['count']:,}", *(spell(accuracy, n) for n in names))]
    for group in ("split", "difficulty"):
        for name, one in summary["breakdowns"][group].items():
            lines.append((group, name, f"{one['count']:,}", *(spell(one, n) for n in names)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    if summary["without_prediction"]:
        table.append(f"{len(summary['without_prediction']):,} questions without a prediction")
    for reason, count in summary["left_out"].items():
        table.append(f"{count:,} predictions for questions left out of the dataset: {reason}")
    for name, one in (summary["against"] or {}).items():
        table.append(
            f"against {summary['run']['against']}, on the {name}: {one['difference']:+.1%},"
            f" better {len(one['better'])}, worse {len(one['worse'])}, p = {one['p_value']:.3g}"
        )
    return "\n".join(table)

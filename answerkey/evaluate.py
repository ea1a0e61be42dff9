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

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from answerkey.errors import InputError, let_reader_leave
from answerkey.evaluation.predictions import Dataset, read_predictions
from answerkey.evaluation.scoring import Folders, score_predictions
from answerkey.evaluation.summary import Result, collect_results, compare_runs, summarize
from answerkey.records import SPLITS

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
    folders = Folders(Path(databases), None if test_suites is None else Path(test_suites))
    for folder in filter(None, folders):
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: expected a folder of databases, found none")

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command: those of `evaluate`, by name."""
    parser.add_argument("predictions", type=Path, help="JSON Lines, or SQL in a file's order")
    parser.add_argument("--out", type=Path, default=Path("reports/evaluation"))
    parser.add_argument("--dataset", type=Path, default=Path("data/questions"))
    parser.add_argument("--databases", type=Path, default=Path("data/databases"))
    parser.add_argument("--test-suites", type=Path, default=Path("data/test_suites"))
    parser.add_argument(
        "--no-test-suites",
        dest="test_suites",
        action="store_const",
        const=None,
        help="the real databases alone",
    )
    parser.add_argument("--rule", help="of comparison, such as strict, spider or bird")
    parser.add_argument("--split", choices=SPLITS)
    parser.add_argument("--source-file", help="whose order the predictions have, as dev.json")
    parser.add_argument("--against", type=Path, help="predictions of another run")
    parser.add_argument("--workers", type=int)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; 0, or 1 if what was named cannot be read, or nothing be written."""
    try:
        options = {name: value for name, value in vars(arguments).items() if name != "run"}
        summary = evaluate(**options)
    except (OSError, ValueError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.errno is not None:
            said = f"{error.filename or arguments.out}: {error.strerror}"
        print(f"answerkey evaluate: {said}", file=sys.stderr)
        return 1
    print(describe(summary))
    return 0


def main() -> int:
    """`python -m answerkey.evaluate`."""
    parser = argparse.ArgumentParser(prog="answerkey evaluate", description=__doc__)
    add_arguments(parser)
    with let_reader_leave():
        return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

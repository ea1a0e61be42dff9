"""Evaluate predictions: how many are right on their databases, and on the test suites as well.

    answerkey evaluate predictions.jsonl --out reports/evaluation
    answerkey evaluate small.jsonl large.jsonl

writes `summary.json`, `scores.jsonl` with a line per prediction, and `evaluation.html` (which needs
the extra `evaluate`). Several files are compared in one table, with a row per system. If you run it
again after an interruption, it continues: `journal.jsonl` has the predictions already scored.
`answerkey.evaluation.predictions` describes the files of predictions.

    >>> summary = evaluate("predictions.jsonl", out="reports/evaluation")    # doctest: +SKIP
    >>> summary["accuracy"]["suite"]                                         # doctest: +SKIP
    0.613
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from answerkey.base.errors import InputError, explain_install
from answerkey.base.log import align, list_counts, spell_count
from answerkey.base.paths import PRODUCT
from answerkey.base.records import SPLITS
from answerkey.dataset import Question, Record, make_questions
from answerkey.evaluation.predictions import Dataset, index, read_dataset, read_predictions
from answerkey.evaluation.scoring import Folders, score_predictions
from answerkey.evaluation.summary import (
    QuestionResult,
    break_down,
    collect_results,
    rank_systems,
    summarize,
)
from answerkey.loading import load
from answerkey.scoring.worker import SUMMARY_ROWS

PathLike = str | Path

PAGE, SUMMARY, SCORES, JOURNAL = "evaluation.html", "summary.json", "scores.jsonl", "journal.jsonl"
DATASET = PRODUCT.as_posix()

# On the page.
_MAX_SHOWN_PREDICTIONS = 500  # wrong ones


def evaluate(
    *predictions: PathLike,
    out: PathLike,
    dataset: PathLike = DATASET,
    databases: PathLike | None = None,
    test_suites: PathLike | None = None,
    use_suites: bool = True,
    all_usable: bool | None = None,
    rule: str | None = None,
    split: str | None = None,
    source_file: str | None = None,
    workers: int | None = None,
) -> Record:
    """Return the numbers of an evaluation. They are also written to the folder `out`, with the
    scores and, if jinja2 is installed, as a page.

    For one file these are `run`, `left_out`, `breakdowns` and the result of `summary.summarize`.
    For several they are `run`, `systems` (the same for each, without breakdowns, the best first,
    with `name`, `rank` and `ranks`) and `pairs` (`summary.rank_systems`).

    predictions: JSON Lines, or SQL in the order of a source file (`source_file`, by default that of
        the eval split).
    dataset: a folder of the product, or any source that `answerkey.load` reads.
    databases, test_suites: their folders; by default those of the dataset.
    use_suites: False to execute predictions only on the real databases.
    all_usable: whether all usable questions count, or only selected ones. None: all, if there are
        predictions for questions that are not selected. A question with accepted answers but no
        gold SQL counts if it has a prediction.
    rule: the name of a rule of comparison that replaces that of each question.
    split: only its questions count; by default those of every split that has a prediction. A
        question without a prediction counts as wrong.

    Raises:
        FileNotFoundError: the dataset, a database or the predictions are missing.
        InputError: predictions cannot be read.
        ValueError: there is no such rule.
    """
    known, folders = open_dataset(dataset, databases, test_suites, use_suites=use_suites)
    if all_usable is False:
        known = known._replace(others=None, answer_only={})
    elif all_usable and known.others is None:
        raise FileNotFoundError(
            f"{known.name}: the usable questions that are not selected are not beside it: expected"
            " data/interim/selection, as `dvc pull` or `dvc repro` makes it"
        )
    files = {
        name: read_predictions(path, known, source_file=source_file)
        for name, path in _name_systems(predictions)
    }
    asked = {predicted.question_id for of_file, _ in files.values() for predicted in of_file}
    if asked.isdisjoint(known.answer_only):
        known = known._replace(answer_only={})
    if not all_usable and asked <= {*known.selected, *known.answer_only}:
        known = known._replace(others=None)
    splits = {split} if split else {known.questions[question_id].split for question_id in asked}
    counted = [question for question in known.questions.values() if question.split in splits]
    if not counted:
        raise InputError(f"{known.name}: no question of the split {split}")
    out = Path(out)
    results = {
        name: collect_results(
            counted,
            score_predictions(
                of_file,
                known.questions,
                folders,
                journal=out / JOURNAL,
                rule=rule,
                workers=workers,
                name=name,
            ),
        )
        for name, (of_file, _) in files.items()
    }
    left_out = {name: others for name, (_, others) in files.items()}
    run = {
        "predictions": [str(path) for path in predictions],
        "dataset": str(dataset),
        "rules": dict(
            Counter(rule or question.rule or "strict" for question in counted).most_common()
        ),
        "split": split,
        "suites": use_suites,
        "questions": len(counted),
        "selected": sum(question.question_id in known.selected for question in counted),
        "answer_only": sum(question.question_id in known.answer_only for question in counted),
    }
    summary = {
        "run": run,
        **_summarize(results, left_out, on="suite" if use_suites else "database"),
    }
    _write(out, results, summary)
    return summary


def score_file(
    predictions: PathLike,
    *,
    dataset: PathLike = DATASET,
    databases: PathLike | None = None,
    test_suites: PathLike | None = None,
    use_suites: bool = True,
    rule: str | None = None,
    source_file: str | None = None,
    workers: int | None = None,
) -> list[Record]:
    """Return the score of each prediction, in the order of the file: 1.0 if it is right on the
    database and on the test suite, or 0.0 with the reason.

    Options and errors are those of `evaluate`. A prediction for a question that the dataset leaves
    out has no score, unless the question is usable or has accepted answers.
    """
    known, folders = open_dataset(dataset, databases, test_suites, use_suites=use_suites)
    predicted, _ = read_predictions(Path(predictions), known, source_file=source_file)
    with tempfile.TemporaryDirectory(prefix="answerkey-") as folder:
        scores = score_predictions(
            predicted,
            known.questions,
            folders,
            journal=Path(folder) / JOURNAL,
            rule=rule,
            workers=workers,
            name=Path(predictions).stem,
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


def open_dataset(
    source: PathLike,
    databases: PathLike | None,
    test_suites: PathLike | None,
    *,
    use_suites: bool = True,
) -> tuple[Dataset, Folders]:
    """Return a dataset and the folders of its databases and test suites.

    Raises:
        FileNotFoundError: there is no such source, or no folder of databases.
        ModuleNotFoundError: a package that the source needs is missing (`answerkey.load`).
    """
    folder = Path(source)
    if (folder / DATASET).is_dir():
        folder = folder / DATASET
    if folder == Path(DATASET) or (folder / "questions_eval.json").is_file():
        dataset = read_dataset(folder)
        folders = Folders(
            Path(databases or folder.parent / "databases"),
            Path(test_suites or folder.parent / "test_suites"),
        )
    else:
        questions: list[Question] = []
        loaded = None
        for split in SPLITS:
            try:
                loaded = load(source, split=split, databases=databases, test_suites=test_suites)
            except FileNotFoundError:
                if split == SPLITS[-1] and loaded is None:
                    raise
                continue
            questions += make_questions(loaded.questions, split=split)
            folders = Folders(loaded.databases, loaded.test_suites)
        dataset = Dataset(str(source), index(questions))
    if not use_suites:
        folders = folders._replace(test_suites=None)
    for kind_folder in filter(None, folders):
        if not kind_folder.is_dir():
            raise FileNotFoundError(f"{kind_folder}: expected a folder of databases, found none")
    return dataset, folders


def _name_systems(paths: tuple[PathLike, ...]) -> Iterator[tuple[str, Path]]:
    stems = Counter(Path(path).stem for path in paths)
    if not paths or len(set(map(str, paths))) < len(paths):
        raise InputError(f"predictions: expected files, each once, found {list(map(str, paths))}")
    for path in map(Path, paths):
        yield path.stem if stems[path.stem] == 1 else str(path), path


def _summarize(
    results: dict[str, list[QuestionResult]], left_out: dict[str, dict[str, int]], *, on: str
) -> Record:
    summaries = {
        name: summarize(own) | {"left_out": left_out[name]} for name, own in results.items()
    }
    if len(results) == 1:
        ((name, own),) = results.items()
        return summaries[name] | {"breakdowns": break_down(own)}
    standings, pairs = rank_systems(results, on)
    systems = [standing | summaries[standing["name"]] for standing in standings]
    return {"systems": systems, "pairs": pairs}


def _write(out: Path, results: dict[str, list[QuestionResult]], summary: Record) -> None:
    text = json.dumps(summary, indent=2)
    (out / SUMMARY).write_text(f"{text}\n", encoding="utf-8")
    with (out / SCORES).open("w", encoding="utf-8") as file:
        for name, own in results.items():
            named = {"system": name} if len(results) > 1 else {}
            for result in own:
                for score in result.scores:
                    print(json.dumps(named | score._asdict()), file=file)
    try:
        page = _render(results, summary)
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "sqlglot"):
            raise
        print(f"No page: {explain_install('evaluate')}", file=sys.stderr)
    else:
        (out / PAGE).write_bytes(page)


# The page, in the style of the dataset's report.


def _render(results: dict[str, list[QuestionResult]], summary: Record) -> bytes:
    """Return the page of one system, with its wrong predictions and the rows that differ from
    gold's; or of several systems, with a chart and each pair."""
    from answerkey.report.page import SCRIPTS_OF_WRONG, read_scripts, read_template, render_page
    from answerkey.report.predictions import make_wrong_filters, show_wrong
    from answerkey.report.systems import draw_systems

    if len(results) > 1:
        on = "suite" if summary["run"]["suites"] else "database"
        drawn = draw_systems(summary["systems"], summary["pairs"], on)
        return render_page(read_template("systems.html.j2"), "", **summary, **drawn)
    ((_, own),) = results.items()
    scores = [(result, score) for result in own for score in result.scores if score.reason]
    wrong = [
        show_wrong(result, score, most_rows=SUMMARY_ROWS)
        for result, score in scores[:_MAX_SHOWN_PREDICTIONS]
    ]
    return render_page(
        read_template("evaluation.html.j2"),
        read_scripts(SCRIPTS_OF_WRONG),
        **summary,
        title=Path(summary["run"]["predictions"][0]).name,
        wrong=wrong,
        wrong_count=len(scores),
        filters=make_wrong_filters(wrong),
    )


# The output of the command.


def describe(summary: Record) -> str:
    """Return the summary in a few lines: the run, and a table."""
    run = summary["run"]
    names = ("database", "suite") if run["suites"] else ("database",)
    heads = [cell for name in names for cell in (f"on the {name}", "95 %")]
    if "systems" in summary:
        lines = [("rank", "95 %", "system", *heads), *_list_systems(summary, names)]
    else:
        lines = [("", "", "questions", *heads), *_list_groups(summary, names)]
    return "\n".join([_describe_run(run), align(lines), *_list_notes(summary)])


def _describe_run(run: Record) -> str:
    rules = [f"{name} ({count:,})" for name, count in run["rules"].items()]
    rule = f"rules {', '.join(rules)}" if len(rules) > 1 else f"rule {next(iter(run['rules']))}"
    questions = spell_count(run["questions"], "selected question", ",")
    if run["selected"] < run["questions"]:
        questions = spell_count(run["questions"], "usable question", ",")
        questions += f", {run['selected']:,} of them selected"
    if run["answer_only"]:
        questions += f", {run['answer_only']:,} of them with answers and no SQL"
    return f"{rule}; {questions}; {'databases and test suites' if run['suites'] else 'databases'}"


def _spell(accuracy: Record, names: tuple[str, ...]) -> list[str]:
    cells = []
    for name in names:
        low, high = accuracy[f"{name}_interval"]
        cells += [f"{accuracy[name]:.1%}", f"{low:.1%} to {high:.1%}"]
    return cells


def _list_systems(summary: Record, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for system in summary["systems"]:
        low, high = system["ranks"]
        ranks = f"{low:.0f} to {high:.0f}"
        yield str(system["rank"]), ranks, system["name"], *_spell(system["accuracy"], names)


def _list_groups(summary: Record, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    groups = {"": {"all": summary["accuracy"]}}
    groups |= {name: summary["breakdowns"][name] for name in ("split", "difficulty")}
    for group, values in groups.items():
        for name, accuracy in values.items():
            yield group, name, f"{accuracy['count']:,}", *_spell(accuracy, names)


def _list_notes(summary: Record) -> Iterator[str]:
    systems = summary.get("systems", [summary])
    if pairs := summary.get("pairs"):
        different = sum(pair["differs"] for pair in pairs)
        differ = "differs" if different == 1 else "differ"
        yield (
            f"{different:,} of {spell_count(len(pairs), 'pair', ',')} {differ} beyond chance (exact"
            " sign-flip test on the same questions with Holm's correction, and the interval of the"
            " difference)"
        )
    left_out: Counter[str] = Counter()
    for system in systems:
        left_out.update(system["left_out"])
    if left_out:
        predictions = spell_count(left_out.total(), "prediction", ",")
        yield f"{predictions} of other questions{list_counts(left_out)}"
    yield from list_partial(summary)


def list_partial(summary: Record) -> list[str]:
    """Return a sentence for each file that lacks predictions for some questions.

    >>> run = {"predictions": ["small.jsonl"], "questions": 109}
    >>> list_partial({"run": run, "without_prediction": ["shop_eval_000"]})
    ['small.jsonl is partial: 1 of 109 questions has no prediction there, and counts as wrong']
    """
    questions = f"{summary['run']['questions']:,} questions"
    sentences = []
    for name, system in _list_named(summary):
        if count := len(system["without_prediction"]):
            rest = "has no prediction there, and counts as wrong"
            if count > 1:
                rest = "have no prediction there, and count as wrong"
            sentences.append(f"{name} is partial: {count:,} of {questions} {rest}")
    return sentences


def list_below(summary: Record, least: float) -> list[str]:
    """Return a sentence for each file whose accuracy is below a share, from 0 to 1. It is the
    accuracy on the test suites, if predictions were executed there.

    >>> accuracy = {"count": 109, "suite": 0.6, "database": 0.7}
    >>> summary = {"run": {"predictions": ["small.jsonl"], "suites": True}, "accuracy": accuracy}
    >>> list_below(summary, 0.65)
    ['small.jsonl: 60.00% of 109 questions are right on the suite, expected 65.00% at least']
    >>> list_below(summary, 0.6)
    []
    """
    on = "suite" if summary["run"]["suites"] else "database"
    return [
        f"{name}: {accuracy[on]:.2%} of {spell_count(accuracy['count'], 'question', ',')} are right"
        f" on the {on}, expected {least:.2%} at least"
        for name, accuracy in ((name, system["accuracy"]) for name, system in _list_named(summary))
        if accuracy[on] < least
    ]


def _list_named(summary: Record) -> list[tuple[str, Record]]:
    """Return each system by its name, or a single one by its file."""
    if "systems" in summary:
        return [(system["name"], system) for system in summary["systems"]]
    return [(Path(summary["run"]["predictions"][0]).name, summary)]


if __name__ == "__main__":
    import runpy

    sys.argv.insert(1, "evaluate")
    runpy.run_module("answerkey", run_name="__main__", alter_sys=True)

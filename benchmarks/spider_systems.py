"""Score published systems on original and corrected gold, for benchmarks/spider_readings.py.

All systems answer the same questions: those of eval that the corrected run keeps, and for which the
other run has an answer, whatever its policies say. So an ambiguous question counts on neither side.
The rule is `spider`, that of the benchmark; each run has its own databases of test suites.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from suite_predictions import join_operators

from answerkey.base.records import EVAL, read_jsonl
from answerkey.dataset import Question, join_stages
from answerkey.evaluation.predictions import index
from answerkey.evaluation.scoring import Folders, Prediction, score_predictions
from answerkey.evaluation.summary import Pair, QuestionResult, collect_results, rank_systems

RULE = "spider"
GROUNDS = ("database", "suite")  # where a prediction is right

Results = dict[str, list[QuestionResult]]  # by system


class Run(NamedTuple):
    """A checkout that has run, its questions of eval by id, and why some of them are left out."""

    folder: Path
    questions: dict[str, Question]
    excluded: dict[str, str]


def read_run(folder: Path) -> Run:
    """Return a run; a question has the databases of its suite."""
    questions = index(
        question._replace(test_suite=suite.get("databases"))
        for question, suite in join_stages(folder / "data/interim")
        if question.split == EVAL
    )
    excluded = read_jsonl(folder / "data/questions/excluded.jsonl")
    return Run(folder, questions, {record["question_id"]: record["reason"] for record in excluded})


def measure_systems(
    before: Path, after: Path, predictions: Iterable[Path], moved: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return the numbers of systems.

    moved: the kind of fault of each question whose answer a correction has changed, by id.
    """
    old, new = (read_run(folder) for folder in (before, after))
    out = {
        name: new.excluded.get(name, "no_answer_before")
        for name, question in old.questions.items()
        if name in new.excluded or question.answer_type is None
    }
    asked = [name for name in old.questions if name not in out]
    systems: dict[str, dict[str, str]] = {}
    for record in chain.from_iterable(map(read_jsonl, predictions)):
        for system, sql in record["predictions"].items():
            systems.setdefault(system, {})[record["question_id"]] = join_operators(sql)
    results = [score_systems(run, asked, systems) for run in (old, new)]
    ranked = {on: [rank_systems(each, on) for each in results] for on in GROUNDS}
    return {
        "questions": len(asked),
        "of": len(old.questions),
        "left_out": dict(Counter(out.values()).most_common()),
        "corrected": sum(
            old.questions[name].gold_sql != new.questions[name].gold_sql for name in asked
        ),
        "moved": dict(Counter(moved[name] for name in asked if name in moved).most_common()),
        "systems": list_systems(results, moved),
        "pairs": {
            on: compare_pairs(*(pairs for _, pairs in of_both)) for on, of_both in ranked.items()
        },
    }


def score_systems(
    run: Run, asked: Sequence[str], systems: Mapping[str, Mapping[str, str]]
) -> Results:
    """Return the scores of each system's predictions; a missing prediction is wrong."""
    folders = Folders(run.folder / "data/databases", run.folder / "data/test_suites")
    with tempfile.TemporaryDirectory(prefix="answerkey-") as folder:
        return {
            system: collect_results(
                (run.questions[name] for name in asked),
                score_predictions(
                    [Prediction(name, 0, known[name]) for name in asked if name in known],
                    run.questions,
                    folders,
                    journal=Path(folder) / "journal.jsonl",
                    rule=RULE,
                ),
            )
            for system, known in sorted(systems.items())
        }


def list_systems(results: Sequence[Results], moved: Container[str]) -> list[dict[str, Any]]:
    """Return accuracy and rank of each system on original and on corrected gold, and the accuracy
    on questions whose answer has changed; first the best on original gold."""
    shares = {
        (side, on): {
            name: fmean(getattr(result, f"on_{on}") for result in of_system)
            for name, of_system in results[side].items()
        }
        for side in (0, 1)
        for on in GROUNDS
    }
    on_moved = [
        {
            name: fmean(
                each.on_database for each in of_system if each.question.question_id in moved
            )
            for name, of_system in side.items()
        }
        for side in results
    ]
    first = shares[0, "database"]
    return [
        {
            "name": name,
            **{
                on: [
                    {
                        "accuracy": round(shares[side, on][name], 6),
                        "rank": 1
                        + sum(
                            other > shares[side, on][name] for other in shares[side, on].values()
                        ),
                    }
                    for side in (0, 1)
                ]
                for on in GROUNDS
            },
            "moved": [round(side[name], 6) for side in on_moved],
        }
        for name in sorted(first, key=lambda name: (-first[name], name))
    ]


def compare_pairs(before: Sequence[Pair], after: Sequence[Pair]) -> dict[str, int]:
    """Return how many pairs of systems change their order, and how many differ beyond chance on
    original gold, on corrected gold, and on only one of both.

    reversed: they differ on both, in opposite directions.
    """
    old, new = (
        {
            frozenset((pair["system"], pair["other"])): (
                pair["differs"],
                pair["system"] if pair["difference"] > 0 else pair["other"],
                pair["difference"] == 0,
            )
            for pair in pairs
        }
        for pairs in (before, after)
    )
    both = [(old[pair], new[pair]) for pair in old]
    return {
        "pairs": len(both),
        "turned": sum(was[1] != now[1] for was, now in both if not was[2] and not now[2]),
        "told_before": sum(was[0] for was, _ in both),
        "told_after": sum(now[0] for _, now in both),
        "gained": sum(now[0] and not was[0] for was, now in both),
        "lost": sum(was[0] and not now[0] for was, now in both),
        "reversed": sum(was[0] and now[0] and was[1] != now[1] for was, now in both),
    }

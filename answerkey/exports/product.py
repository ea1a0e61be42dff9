"""Write the product from the selection, with statistics of a run: counts with stable keys, the few
that are metrics, and tables for plots.

Every key of a closed vocabulary is present even if its count is 0, so that two runs differ in
numbers and not in keys.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from answerkey.base.reasons import Reason
from answerkey.base.records import (
    DIFFICULTIES,
    HARDNESS_LEVELS,
    SPLITS,
    encode_json,
    read_jsonl,
    replace_file,
)
from answerkey.dataset import SIDECARS, Question
from answerkey.engines.answers import ANSWER_TYPES
from answerkey.flags import FLAGS

if TYPE_CHECKING:
    from answerkey.selection.choice import SelectionSummary
    from answerkey.suites.records import SuiteRecord


class ProductQuestion(TypedDict):
    """A question of the product: its nine fields, in their order."""

    question_id: str
    question_text: str
    database_name: str
    gold_sql: str
    gold_answer: Any
    answer_type: str
    difficulty: str
    tables_involved: list[str]
    split: str


def write_product(selection: Path, corpora: Path, folder: Path) -> dict[str, int]:
    """Write the selected questions of each split, the sidecars, and the facts about the corpora.
    Return the number of questions of each split."""
    counts = {}
    for split in SPLITS:
        selected: Iterator[ProductQuestion] = read_jsonl(selection / "questions.jsonl")
        questions = (question for question in selected if question["split"] == split)
        counts[split] = write_questions(folder / f"questions_{split}.json", questions)
    for path in (*(selection / name for name in SIDECARS), corpora):
        with path.open("rb") as source, replace_file(folder / path.name) as file:
            shutil.copyfileobj(source, file)
    return counts


def write_questions(path: Path, questions: Iterable[ProductQuestion]) -> int:
    """Write a JSON array, one question per line. Return the number of questions."""
    count = 0
    with replace_file(path) as file:
        file.write(b"[")
        for question in questions:
            file.write((b",\n" if count else b"\n") + encode_json(question))
            count += 1
        file.write(b"\n]\n")
    return count


# Statistics.


Rows = list[dict[str, Any]]  # one per question, with the columns of _FIELDS, tables and reason


class MeanScores(TypedDict):
    """The means of mutation scores (None without questions), and the number of questions."""

    questions: int
    database: float | None
    suite: float | None


class RunCounts(TypedDict):
    """All counts of a run, as in metrics/counts.json.

    excluded, flags: by reason, and by flag.
    corpus: how many questions of each are loaded, usable and selected.
    split ... database: how many selected questions have each value.
    templates: how many different ones the selected questions have.
    """

    loaded: int
    usable: int
    selected: int
    excluded: dict[str, int]
    flags: dict[str, int]
    corpus: dict[str, dict[str, int]]
    split: dict[str, int]
    difficulty: dict[str, int]
    hardness: dict[str, int]
    answer_type: dict[str, int]
    database: dict[str, int]
    templates: int
    selection: SelectionSummary
    mutation_score: MeanScores


MAIN_REASONS = (
    Reason.NOT_SELECTED,
    Reason.SQL_ERROR,
    "tie_at_limit",
    "empty_answer",
    "conflicting_gold",
    "duplicate_question",
)
_FIELDS = ("database_name", "corpus", "split", "difficulty", "hardness", "answer_type", "template")
_WORDS = {
    "reason": sorted({*Reason, *FLAGS}),
    "split": SPLITS,
    "difficulty": DIFFICULTIES,
    "hardness": HARDNESS_LEVELS,
    "answer_type": ANSWER_TYPES,
}


def average_scores(suites: Iterable[SuiteRecord]) -> MeanScores:
    """Return the means of the mutation scores, and the number of questions with one.

    >>> average_scores([{"mutation_score": {"database": 0.5, "suite": 1.0}}])
    {'questions': 1, 'database': 0.5, 'suite': 1.0}

    Questions without a mutation score are left out; without any score the mean is None.
    """
    scores = [suite["mutation_score"] for suite in suites if suite["mutation_score"] is not None]
    return {
        "questions": len(scores),
        "database": _average(score["database"] for score in scores),
        "suite": _average(score["suite"] for score in scores),
    }


def _average(values: Iterable[float]) -> float | None:
    values = list(values)
    return round(sum(values) / len(values), 4) if values else None


def tabulate_questions(questions: Iterable[Question], reasons: Mapping[str, str]) -> Rows:
    """Return a row per question: `tables` is the number of tables that its query reads, `reason`
    why it was left out. Missing values are None, as is the reason of a selected question.

    `reasons` are those of the questions that were left out, by question_id.
    """
    return [
        {
            **{field: getattr(question, field) for field in _FIELDS},
            "tables": len(question.tables_involved or ()),
            "reason": reasons.get(question.question_id),
        }
        for question in questions
    ]


def _choose_selected(rows: Rows) -> Rows:
    return [row for row in rows if row["reason"] is None]


def _choose_usable(rows: Rows) -> Rows:
    return [row for row in rows if row["reason"] in (None, Reason.NOT_SELECTED)]


def _count(rows: Rows, column: str, words: Iterable[Any] | None = None) -> dict[str, int]:
    counts = Counter(row[column] for row in rows if row[column] is not None)
    words = _WORDS.get(column, sorted(counts)) if words is None else words
    return {str(word): counts[word] for word in words}


def make_counts(
    rows: Rows, flags: dict[str, int], summary: SelectionSummary, mutation_score: MeanScores
) -> RunCounts:
    """Return all counts of a run, from the rows of all questions."""
    selected, usable = _choose_selected(rows), _choose_usable(rows)
    loaded = _count(rows, "corpus")
    of_corpora = {
        "loaded": loaded,
        "usable": _count(usable, "corpus", loaded),
        "selected": _count(selected, "corpus", loaded),
    }
    return {
        "loaded": len(rows),
        "usable": len(usable),
        "selected": len(selected),
        "excluded": _count(rows, "reason"),
        "flags": flags,
        "corpus": {
            name: {kind: counts[name] for kind, counts in of_corpora.items()} for name in loaded
        },
        "split": _count(selected, "split"),
        "difficulty": _count(selected, "difficulty"),
        "hardness": _count(selected, "hardness"),
        "answer_type": _count(selected, "answer_type"),
        "database": _count(
            selected, "database_name", sorted({row["database_name"] for row in rows})
        ),
        "templates": len({row["template"] for row in selected} - {None}),
        "selection": summary,
        "mutation_score": mutation_score,
    }


def make_metrics(counts: RunCounts) -> dict[str, object]:
    """Return the counts for tuning: the size of the dataset by split, difficulty and both, its SQL
    templates, its mutation scores, the number of questions with a high answer risk, and the counts
    of the main reasons.
    """
    excluded = counts["excluded"]
    main = {reason: excluded[reason] for reason in MAIN_REASONS}
    total = sum(excluded.values())
    scores = counts["mutation_score"]
    return {
        "loaded": counts["loaded"],
        "usable": counts["usable"],
        "selected": counts["selected"],
        "split": counts["split"],
        "difficulty": counts["difficulty"],
        "cell": {
            split: {level: cell["selected"] for level, cell in row.items()}
            for split, row in counts["selection"]["cells"].items()
        },
        "excluded": {"total": total, **main, "other_reasons": total - sum(main.values())},
        "templates": counts["templates"],
        "mutation_score": {"database": scores["database"], "suite": scores["suite"]},
        "at_risk": counts["flags"]["answer_risk"],
    }


def make_plots(rows: Rows) -> dict[str, list[list[Any]]]:
    """Return the tables behind the plots, by file name without suffix; the first row is the
    header."""
    selected, usable = _choose_selected(rows), _choose_usable(rows)
    reasons = sorted({row["reason"] for row in rows} - {None})
    return {
        "difficulty_usable": _tabulate_pairs(usable, "split", "difficulty"),
        "difficulty_selected": _tabulate_pairs(selected, "split", "difficulty"),
        "exclusions": _tabulate(rows, "reason", reasons),
        "answer_types": _tabulate(selected, "answer_type"),
        "databases": _tabulate(selected, "database_name"),
        "tables": _tabulate(selected, "tables"),
        "hardness_by_difficulty": _tabulate_pairs(selected, "difficulty", "hardness"),
    }


def _tabulate(rows: Rows, column: str, words: Iterable[str] | None = None) -> list[list[Any]]:
    return [[column, "questions"], *map(list, _count(rows, column, words).items())]


def _tabulate_pairs(rows: Rows, first: str, second: str) -> list[list[Any]]:
    """Return a row for each pair of values, also without any question, with a label `cell`."""
    counts = Counter((row[first], row[second]) for row in rows)
    pairs = product(_WORDS[first], _WORDS[second])
    table = [[*pair, " ".join(pair), counts[pair]] for pair in pairs]
    return [[first, second, "cell", "questions"], *table]

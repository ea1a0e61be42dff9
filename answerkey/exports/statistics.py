"""Statistics of a run: counts with stable keys, the few of them that are metrics, and tables for
plots.

Every key of a closed vocabulary is there even where nothing was counted, so that a difference
between two runs reads as numbers that changed and not as keys that came and went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import pandas as pd

from answerkey.dataset import Question
from answerkey.flags import FLAGS
from answerkey.records import DIFFICULTIES, HARDNESS_LEVELS, SPLITS, Reason
from answerkey.sqlite.answers import ANSWER_TYPES

MAIN_REASONS = (
    Reason.NOT_SELECTED,
    Reason.SQL_ERROR,
    "tie_at_limit",
    "empty_answer",
    "conflicting_gold",
    "duplicate_question",
)
_FIELDS = ("database_name", "corpus", "split", "difficulty", "hardness", "answer_type", "template")
COLUMNS = (*_FIELDS, "tables", "reason")
_WORDS = {
    "reason": sorted({*Reason, *FLAGS}),
    "split": SPLITS,
    "difficulty": DIFFICULTIES,
    "hardness": HARDNESS_LEVELS,
    "answer_type": ANSWER_TYPES,
}


def average_scores(suites: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The means of the mutation scores, and of how many questions they are.

    >>> average_scores([{"mutation_score": {"database": 0.5, "suite": 1.0}}])
    {'questions': 1, 'database': 0.5, 'suite': 1.0}

    A question that has no mutation score is in no mean; a mean of no question is None.
    """
    scores = [suite["mutation_score"] for suite in suites if suite["mutation_score"] is not None]
    means = {
        name: round(sum(score[name] for score in scores) / len(scores), 4) if scores else None
        for name in ("database", "suite")
    }
    return {"questions": len(scores), **means}


def tabulate_questions(questions: Iterable[Question], reasons: Mapping[str, str]) -> pd.DataFrame:
    """A row for each question with COLUMNS: `tables` is how many its query reads, `reason` why it
    was left out. What a question does not have is None, as is the reason of a selected one.

    `reasons` are those of the questions that were left out, by question_id.
    """
    rows = (
        (
            *(getattr(question, field) for field in _FIELDS),
            len(question.tables_involved or ()),
            reasons.get(question.question_id),
        )
        for question in questions
    )
    return pd.DataFrame(rows, columns=COLUMNS, dtype=object)


def _choose_selected(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["reason"].isna()]


def _choose_usable(table: pd.DataFrame) -> pd.DataFrame:
    """The selected questions, and those that might be."""
    return table[table["reason"].isna() | (table["reason"] == Reason.NOT_SELECTED)]


def _count(table: pd.DataFrame, column: str, words: Iterable[Any] | None = None) -> dict[str, int]:
    """How many questions have each value, in the order of its vocabulary, else by name."""
    counts = table[column].value_counts()
    words = _WORDS.get(column, sorted(counts.index)) if words is None else words
    return {str(word): int(counts.get(word, 0)) for word in words}


def make_counts(
    table: pd.DataFrame,
    flags: Mapping[str, int],
    summary: Mapping[str, Any],
    mutation_score: Mapping[str, Any],
) -> dict[str, Any]:
    """All counts of a run, from the table of all questions."""
    selected, usable = _choose_selected(table), _choose_usable(table)
    loaded = _count(table, "corpus")
    of_corpora = {
        "loaded": loaded,
        "usable": _count(usable, "corpus", loaded),
        "selected": _count(selected, "corpus", loaded),
    }
    return {
        "loaded": len(table),
        "usable": len(usable),
        "selected": len(selected),
        "excluded": _count(table, "reason"),
        "flags": dict(flags),
        "corpus": {
            name: {kind: counts[name] for kind, counts in of_corpora.items()} for name in loaded
        },
        **{
            name: _count(selected, name)
            for name in ("split", "difficulty", "hardness", "answer_type")
        },
        "database": _count(selected, "database_name", sorted(table["database_name"].unique())),
        "templates": selected["template"].nunique(),
        "selection": dict(summary),
        "mutation_score": dict(mutation_score),
    }


def make_metrics(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that one tunes by: the size of the dataset by split, difficulty and both, what it
    covers, what its test suites prove, how many of its questions have a high gold risk, and what is
    left out for the reasons that leave out most.
    """
    excluded = counts["excluded"]
    main = {reason: excluded[reason] for reason in MAIN_REASONS}
    total = sum(excluded.values())
    selection = counts["selection"]
    coverage, scores = selection["coverage"], counts["mutation_score"]
    return {
        **{name: counts[name] for name in ("loaded", "usable", "selected", "split", "difficulty")},
        "cell": {
            split: {level: cell["selected"] for level, cell in row.items()}
            for split, row in selection["cells"].items()
        },
        "excluded": {"total": total, **main, "other_reasons": total - sum(main.values())},
        "templates": counts["templates"],
        "tables_touched": coverage["tables_touched"],
        "columns_touched": coverage["columns_touched"],
        "mutation_score": {name: scores[name] for name in ("database", "suite")},
        "at_risk": counts["flags"]["gold_risk"],
        **({"complexity_cuts": cuts} if (cuts := selection.get("complexity_cuts")) else {}),
    }


def make_plots(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables behind the plots, by file name without ending."""
    selected, usable = _choose_selected(table), _choose_usable(table)
    return {
        "difficulty_usable": _tabulate_pairs(usable, "split", "difficulty"),
        "difficulty_selected": _tabulate_pairs(selected, "split", "difficulty"),
        "exclusions": _tabulate(table, "reason", sorted(table["reason"].dropna().unique())),
        "answer_types": _tabulate(selected, "answer_type"),
        "databases": _tabulate(selected, "database_name"),
        "tables": _tabulate(selected, "tables"),
        "hardness_by_difficulty": _tabulate_pairs(selected, "difficulty", "hardness"),
    }


def _tabulate(table: pd.DataFrame, column: str, words: Iterable[str] | None = None) -> pd.DataFrame:
    """Columns: the value, `questions`."""
    counts = _count(table, column, words)
    return pd.DataFrame(counts.items(), columns=[column, "questions"])


def _tabulate_pairs(table: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Columns: a value of each column, both as one label `cell`, and `questions`; one row a pair,
    pairs without any included."""
    counts = table.value_counts([first, second])
    rows = [
        (*pair, " ".join(pair), int(counts.get(pair, 0)))
        for pair in product(_WORDS[first], _WORDS[second])
    ]
    return pd.DataFrame(rows, columns=[first, second, "cell", "questions"])

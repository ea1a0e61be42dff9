"""Statistics of test suites: what they and the databases tell from the gold queries of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import pandas as pd

from answerkey.dataset import Question
from answerkey.flags import FLAGS
from answerkey.records import DIFFICULTIES, HARDNESS_LEVELS, SPLITS, Reason
from answerkey.sqlite.answers import ANSWER_TYPES


def average_scores(suites: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The means of the mutation scores, and of how many questions they are.

    >>> average_scores([{"mutation_score": {"database": 0.5, "suite": 1.0}}])
    {'questions': 1, 'database': 0.5, 'suite': 1.0}

    A question that has no mutation score is in no mean; a mean of no question is None.
    """
    scores = [suite["mutation_score"] for suite in suites if suite["mutation_score"] is not None]

    def average(name: str) -> float | None:
        return round(sum(score[name] for score in scores) / len(scores), 4) if scores else None

    return {
        "questions": len(scores),
        "database": average("database"),
        "suite": average("suite"),
    }


# Statistics of a run: counts with stable keys, the few of them that are metrics, and tables for
# plots.
#
# Every key of a closed vocabulary is there even where nothing was counted, so that a difference
# between two runs reads as numbers that changed and not as keys that came and went.


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


def choose_selected(table: pd.DataFrame) -> pd.DataFrame:
    """The selected questions."""
    return table[table["reason"].isna()]


def choose_usable(table: pd.DataFrame) -> pd.DataFrame:
    """The selected questions, and those that might be."""
    return table[table["reason"].isna() | (table["reason"] == Reason.NOT_SELECTED)]


def count_values(
    table: pd.DataFrame, column: str, vocabulary: Iterable[Any] | None = None
) -> dict[str, int]:
    """How many questions have each value, in the order of the vocabulary, else by name.

    Raises:
        ValueError: on a value that the vocabulary does not have.
    """
    counts = table[column].value_counts()
    words = sorted(counts.index) if vocabulary is None else list(vocabulary)
    if unknown := sorted(set(counts.index) - set(words)):
        raise ValueError(f"{column}: expected one of {', '.join(words)}, found {unknown[0]!r}")
    return {str(word): int(counts.get(word, 0)) for word in words}


def make_counts(
    table: pd.DataFrame,
    flags: Mapping[str, int],
    summary: Mapping[str, Any],
    mutation_score: Mapping[str, Any],
) -> dict[str, Any]:
    """All counts of a run, from the table of all questions."""
    selected = choose_selected(table)
    return {
        "loaded": len(table),
        "usable": len(choose_usable(table)),
        "selected": len(selected),
        "excluded": count_values(table, "reason", sorted({*Reason, *FLAGS})),
        "flags": dict(flags),
        "corpus": count_corpora(table),
        "split": count_values(selected, "split", SPLITS),
        "difficulty": count_values(selected, "difficulty", DIFFICULTIES),
        "hardness": count_values(selected, "hardness", HARDNESS_LEVELS),
        "answer_type": count_values(selected, "answer_type", ANSWER_TYPES),
        "database": count_values(
            selected, "database_name", sorted(table["database_name"].unique())
        ),
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


def count_corpora(table: pd.DataFrame) -> dict[str, dict[str, int]]:
    """How many questions of each corpus are loaded, usable and selected, by its name."""
    loaded = count_values(table, "corpus")
    usable = count_values(choose_usable(table), "corpus", loaded)
    selected = count_values(choose_selected(table), "corpus", loaded)
    return {
        name: {"loaded": count, "usable": usable[name], "selected": selected[name]}
        for name, count in loaded.items()
    }


def make_plots(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables behind the plots, by file name without ending."""
    selected, usable = choose_selected(table), choose_usable(table)
    return {
        "difficulty_usable": count_pairs(usable, "split", SPLITS, "difficulty", DIFFICULTIES),
        "difficulty_selected": count_pairs(selected, "split", SPLITS, "difficulty", DIFFICULTIES),
        "exclusions": count_single(table, "reason"),
        "answer_types": count_single(selected, "answer_type", ANSWER_TYPES),
        "databases": count_single(selected, "database_name"),
        "tables": count_single(selected, "tables"),
        "hardness_by_difficulty": count_pairs(
            selected, "difficulty", DIFFICULTIES, "hardness", HARDNESS_LEVELS
        ),
    }


def count_single(
    table: pd.DataFrame, column: str, vocabulary: Iterable[str] | None = None
) -> pd.DataFrame:
    """Columns: the value, `questions`."""
    counts = count_values(table, column, vocabulary)
    return pd.DataFrame(counts.items(), columns=[column, "questions"])


def count_pairs(
    table: pd.DataFrame,
    first: str,
    first_words: Iterable[str],
    second: str,
    second_words: Iterable[str],
) -> pd.DataFrame:
    """Columns: a value of each column, both as one label `cell`, and `questions`; one row a pair,
    pairs without any included."""
    counts = table.value_counts([first, second])
    rows = [
        (*pair, " ".join(pair), int(counts.get(pair, 0)))
        for pair in product(first_words, second_words)
    ]
    return pd.DataFrame(rows, columns=[first, second, "cell", "questions"])

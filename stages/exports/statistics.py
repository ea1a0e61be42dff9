"""Statistics of a run: counts with stable keys for metrics, and tables for plots.

Every key of a closed vocabulary is there even where nothing was counted, so that a difference
between two runs reads as numbers that changed and not as keys that came and went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stages.answers import ANSWER_TYPES
from stages.dossier import Dossier
from stages.question import DIFFICULTIES, HARDNESS_LEVELS, SPLITS
from stages.reasons import Flag, Reason

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "split",
    "difficulty",
    "hardness",
    "answer_type",
    "database_name",
    "tables",
    "template",
    "reason",
)


def describe_question(dossier: Dossier, reason: str | None) -> tuple[Any, ...]:
    """What is counted of a question, in the order of COLUMNS; reason is None if it is selected."""
    return (
        dossier.source["split"],
        dossier.difficulty,
        dossier.parsed.get("hardness"),
        dossier.outcome.get("answer_type"),
        dossier.source["database_name"],
        len(dossier.parsed.get("tables_involved", ())),
        dossier.parsed.get("template"),
        reason,
    )


def tabulate(rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    """A table with COLUMNS, one row a source question."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(COLUMNS), dtype=object)


def count_values(values: pd.Series, vocabulary: Iterable[Any] | None = None) -> dict[str, int]:
    """How often each value occurs, in the order of the vocabulary, else by name.

    Raises:
        ValueError: on a value that the vocabulary does not have.
    """
    counts = values.value_counts().to_dict()
    words = sorted(counts) if vocabulary is None else list(vocabulary)
    if unknown := sorted(set(counts) - set(words)):
        raise ValueError(f"{values.name}: expected one of {', '.join(words)}, found {unknown[0]!r}")
    return {str(word): int(counts.get(word, 0)) for word in words}


def make_metrics(
    questions: pd.DataFrame, flags: Mapping[str, int], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """The metrics of a run."""
    selected = questions[questions["reason"].isna()]
    reasons = count_values(questions["reason"].dropna(), sorted({*Reason, *Flag}))
    return {
        "loaded": len(questions),
        "usable": len(selected) + reasons[Reason.NOT_SELECTED],
        "selected": len(selected),
        "excluded": reasons,
        "flags": dict(flags),
        "split": count_values(selected["split"], SPLITS),
        "difficulty": count_values(selected["difficulty"], DIFFICULTIES),
        "hardness": count_values(selected["hardness"], HARDNESS_LEVELS),
        "answer_type": count_values(selected["answer_type"], ANSWER_TYPES),
        "database": count_values(
            selected["database_name"], sorted(questions["database_name"].unique())
        ),
        "templates": int(selected["template"].nunique()),
        "selection": dict(summary),
    }


def make_plots(questions: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables behind the plots, by file name without ending."""
    selected = questions[questions["reason"].isna()]
    usable = questions[questions["reason"].isna() | (questions["reason"] == Reason.NOT_SELECTED)]
    return {
        "difficulty_usable": count_pairs(usable, "split", SPLITS, "difficulty", DIFFICULTIES),
        "difficulty_selected": count_pairs(selected, "split", SPLITS, "difficulty", DIFFICULTIES),
        "exclusions": count_single(questions.dropna(subset="reason"), "reason"),
        "answer_types": count_single(selected, "answer_type", ANSWER_TYPES),
        "databases": count_single(selected, "database_name"),
        "tables": count_single(selected, "tables"),
        "hardness_by_difficulty": count_pairs(
            selected, "difficulty", DIFFICULTIES, "hardness", HARDNESS_LEVELS
        ),
    }


def count_single(
    questions: pd.DataFrame, column: str, vocabulary: Iterable[str] | None = None
) -> pd.DataFrame:
    """Columns: the value, `questions`."""
    import pandas as pd

    counts = count_values(questions[column], vocabulary)
    return pd.DataFrame({column: list(counts), "questions": list(counts.values())})


def count_pairs(
    questions: pd.DataFrame,
    first: str,
    first_words: Iterable[str],
    second: str,
    second_words: Iterable[str],
) -> pd.DataFrame:
    """Columns: a value of each column, both as one label `cell`, and `questions`; one row a pair,
    pairs without any included."""
    import pandas as pd

    index = pd.MultiIndex.from_product([first_words, second_words], names=[first, second])
    counts = questions.groupby([first, second]).size().reindex(index, fill_value=0)
    table = counts.rename("questions").reset_index()
    table.insert(2, "cell", table[first] + " " + table[second])
    return table

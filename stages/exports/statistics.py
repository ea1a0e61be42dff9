"""Statistics of a run: counts with stable keys for metrics, and tables for plots.

Every key of a closed vocabulary is there even where nothing was counted, so that a difference
between two runs reads as numbers that changed and not as keys that came and went.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.answers import ANSWER_TYPES
from stages.dossier import Dossier
from stages.question import DIFFICULTIES, HARDNESS_LEVELS, SPLITS
from stages.reasons import Flag, Reason

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "corpus",
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
        dossier.source["source"]["corpus"],
        dossier.source["split"],
        dossier.difficulty,
        dossier.parsed.get("hardness"),
        dossier.outcome.get("answer_type"),
        dossier.source["database_name"],
        len(dossier.parsed.get("tables_involved", ())),
        dossier.parsed.get("template"),
        reason,
    )


@dataclass(frozen=True, slots=True)
class Census:
    """All questions as counts, of which there are few however many questions there are.

    groups: a row for each combination of COLUMNS but database_name and template, and how many
        `questions` it has.
    databases: how many questions are selected of each database that has any, by name.
    templates: how many different ones the selected questions have.
    """

    groups: pd.DataFrame
    databases: dict[str, int]
    templates: int


def tabulate(rows: Iterable[tuple[Any, ...]]) -> Census:
    """The census of rows of COLUMNS, one a source question."""
    import pandas as pd

    groups: Counter[tuple[Any, ...]] = Counter()
    databases: Counter[str] = Counter()
    templates: set[bytes] = set()
    for *group, database_name, tables, template, reason in rows:
        groups[*group, tables, reason] += 1
        databases[sys.intern(database_name)] += reason is None
        if reason is None and template is not None:
            templates.add(
                hashlib.blake2b(template.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            )
    names = [name for name in COLUMNS if name not in ("database_name", "template")]
    table = pd.DataFrame(groups.keys(), columns=names, dtype=object)
    table["questions"] = pd.Series(groups.values(), dtype="int64")
    return Census(table, dict(sorted(databases.items())), len(templates))


def count_values(
    groups: pd.DataFrame, column: str, vocabulary: Iterable[Any] | None = None
) -> dict[str, int]:
    """How many questions have each value, in the order of the vocabulary, else by name.

    Raises:
        ValueError: on a value that the vocabulary does not have.
    """
    counts = groups.groupby(column)["questions"].sum().to_dict()
    words = sorted(counts) if vocabulary is None else list(vocabulary)
    if unknown := sorted(set(counts) - set(words)):
        raise ValueError(f"{column}: expected one of {', '.join(words)}, found {unknown[0]!r}")
    return {str(word): int(counts.get(word, 0)) for word in words}


def make_metrics(
    census: Census, flags: Mapping[str, int], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """The metrics of a run."""
    selected = census.groups[census.groups["reason"].isna()]
    size = int(selected["questions"].sum())
    reasons = count_values(census.groups, "reason", sorted({*Reason, *Flag}))
    return {
        "loaded": int(census.groups["questions"].sum()),
        "usable": size + reasons[Reason.NOT_SELECTED],
        "selected": size,
        "excluded": reasons,
        "flags": dict(flags),
        "corpus": count_corpora(census.groups),
        "split": count_values(selected, "split", SPLITS),
        "difficulty": count_values(selected, "difficulty", DIFFICULTIES),
        "hardness": count_values(selected, "hardness", HARDNESS_LEVELS),
        "answer_type": count_values(selected, "answer_type", ANSWER_TYPES),
        "database": census.databases,
        "templates": census.templates,
        "selection": dict(summary),
    }


def count_corpora(groups: pd.DataFrame) -> dict[str, dict[str, int]]:
    """How many questions of each corpus are loaded, usable and selected, by its name."""
    is_selected = groups["reason"].isna()
    is_usable = is_selected | (groups["reason"] == Reason.NOT_SELECTED)
    loaded = count_values(groups, "corpus")
    usable, selected = (
        count_values(groups[chosen], "corpus", loaded) for chosen in (is_usable, is_selected)
    )
    return {
        name: {"loaded": count, "usable": usable[name], "selected": selected[name]}
        for name, count in loaded.items()
    }


def make_plots(census: Census) -> dict[str, pd.DataFrame]:
    """The tables behind the plots, by file name without ending."""
    questions = census.groups
    databases = {name: count for name, count in census.databases.items() if count}
    selected = questions[questions["reason"].isna()]
    usable = questions[questions["reason"].isna() | (questions["reason"] == Reason.NOT_SELECTED)]
    return {
        "difficulty_usable": count_pairs(usable, "split", SPLITS, "difficulty", DIFFICULTIES),
        "difficulty_selected": count_pairs(selected, "split", SPLITS, "difficulty", DIFFICULTIES),
        "exclusions": count_single(questions, "reason"),
        "answer_types": count_single(selected, "answer_type", ANSWER_TYPES),
        "databases": _list_counts("database_name", databases),
        "tables": count_single(selected, "tables"),
        "hardness_by_difficulty": count_pairs(
            selected, "difficulty", DIFFICULTIES, "hardness", HARDNESS_LEVELS
        ),
    }


def count_single(
    groups: pd.DataFrame, column: str, vocabulary: Iterable[str] | None = None
) -> pd.DataFrame:
    """Columns: the value, `questions`."""
    return _list_counts(column, count_values(groups, column, vocabulary))


def _list_counts(column: str, counts: Mapping[str, int]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({column: list(counts), "questions": list(counts.values())})


def count_pairs(
    groups: pd.DataFrame,
    first: str,
    first_words: Iterable[str],
    second: str,
    second_words: Iterable[str],
) -> pd.DataFrame:
    """Columns: a value of each column, both as one label `cell`, and `questions`; one row a pair,
    pairs without any included."""
    import pandas as pd

    index = pd.MultiIndex.from_product([first_words, second_words], names=[first, second])
    counts = groups.groupby([first, second])["questions"].sum().reindex(index, fill_value=0)
    table = counts.rename("questions").reset_index()
    table.insert(2, "cell", table[first] + " " + table[second])
    return table

"""Statistics of a run: counts with stable keys, the few of them that are metrics, and tables for
plots.

Every key of a closed vocabulary is there even where nothing was counted, so that a difference
between two runs reads as numbers that changed and not as keys that came and went.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from answerkey.core.dossier import Dossier
from answerkey.core.question import DIFFICULTIES, HARDNESS_LEVELS, SPLITS
from answerkey.core.reasons import Flag, Reason
from answerkey.core.records import digest_text
from answerkey.sqlite.answers import ANSWER_TYPES

# The reasons of the questions that are selected, and of those that might be.
_SELECTED = (None,)
_USABLE = (None, Reason.NOT_SELECTED)

MAIN_REASONS = (
    Reason.NOT_SELECTED,
    Reason.SQL_ERROR,
    Flag.TIE_AT_LIMIT,
    Flag.EMPTY_ANSWER,
    Flag.CONFLICTING_GOLD,
    Flag.DUPLICATE_QUESTION,
)


class Group(NamedTuple):
    """What questions are counted by. `tables` is how many the query reads, `reason` is None where a
    question is selected, and whatever a question does not have is None."""

    corpus: str
    split: str
    difficulty: str | None
    hardness: str | None
    answer_type: str | None
    tables: int
    reason: str | None


class Description(NamedTuple):
    """What is counted of a question."""

    group: Group
    database_name: str
    template: str | None


class Table(NamedTuple):
    """A table behind a plot."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def write_csv(self) -> str:
        """The table as CSV with a header.

        >>> Table(("reason", "questions"), [("blob", 2)]).write_csv()
        'reason,questions\\nblob,2\\n'
        """
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()


def describe_question(dossier: Dossier, reason: str | None) -> Description:
    """What is counted of a question that was left out for some reason, None if it is selected."""
    group = Group(
        dossier.source["source"]["corpus"],
        dossier.source["split"],
        dossier.difficulty,
        dossier.parsed.get("hardness"),
        dossier.outcome.get("answer_type"),
        len(dossier.parsed.get("tables_involved", ())),
        reason,
    )
    return Description(group, dossier.source["database_name"], dossier.parsed.get("template"))


@dataclass(frozen=True, slots=True)
class Census:
    """All questions as counts, of which there are few however many questions there are.

    groups: how many questions there are of each group that has any.
    databases: how many questions are selected of each database that has any, by name.
    templates: how many different ones the selected questions have.
    """

    groups: Counter[Group]
    databases: dict[str, int]
    templates: int


def tabulate(questions: Iterable[Description]) -> Census:
    """The census of all source questions."""
    groups: Counter[Group] = Counter()
    databases: Counter[str] = Counter()
    templates: set[bytes] = set()
    for group, database_name, template in questions:
        groups[group] += 1
        databases[sys.intern(database_name)] += group.reason is None
        if group.reason is None and template is not None:
            templates.add(digest_text(template))
    return Census(groups, dict(sorted(databases.items())), len(templates))


def count_values(
    groups: Mapping[Group, int], column: str, vocabulary: Iterable[Any] | None = None
) -> dict[str, int]:
    """How many questions have each value, in the order of the vocabulary, else by name.

    Raises:
        ValueError: on a value that the vocabulary does not have.
    """
    counts: Counter[Any] = Counter()
    for group, questions in groups.items():
        counts[getattr(group, column)] += questions
    del counts[None]
    words = sorted(counts) if vocabulary is None else list(vocabulary)
    if unknown := sorted(set(counts) - set(words)):
        raise ValueError(f"{column}: expected one of {', '.join(words)}, found {unknown[0]!r}")
    return {str(word): counts[word] for word in words}


def make_counts(
    census: Census, flags: Mapping[str, int], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """All counts of a run."""
    selected = _choose_groups(census, *_SELECTED)
    size = selected.total()
    reasons = count_values(census.groups, "reason", sorted({*Reason, *Flag}))
    return {
        "loaded": census.groups.total(),
        "usable": size + reasons[Reason.NOT_SELECTED],
        "selected": size,
        "excluded": reasons,
        "flags": dict(flags),
        "corpus": count_corpora(census),
        "split": count_values(selected, "split", SPLITS),
        "difficulty": count_values(selected, "difficulty", DIFFICULTIES),
        "hardness": count_values(selected, "hardness", HARDNESS_LEVELS),
        "answer_type": count_values(selected, "answer_type", ANSWER_TYPES),
        "database": census.databases,
        "templates": census.templates,
        "selection": dict(summary),
    }


def make_metrics(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that one tunes by: the size of the dataset by split, difficulty and both, what it
    covers, and what is left out for the reasons that leave out most."""
    excluded = counts["excluded"]
    main = {reason: excluded[reason] for reason in MAIN_REASONS}
    total = sum(excluded.values())
    selection = counts["selection"]
    coverage = selection["coverage"]
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
    }


def count_corpora(census: Census) -> dict[str, dict[str, int]]:
    """How many questions of each corpus are loaded, usable and selected, by its name."""
    loaded = count_values(census.groups, "corpus")
    usable = count_values(_choose_groups(census, *_USABLE), "corpus", loaded)
    selected = count_values(_choose_groups(census, *_SELECTED), "corpus", loaded)
    return {
        name: {"loaded": count, "usable": usable[name], "selected": selected[name]}
        for name, count in loaded.items()
    }


def _choose_groups(census: Census, *reasons: str | None) -> Counter[Group]:
    """The groups of the questions with one of some reasons."""
    return Counter({group: n for group, n in census.groups.items() if group.reason in reasons})


def make_plots(census: Census) -> dict[str, Table]:
    """The tables behind the plots, by file name without ending."""
    databases = {name: count for name, count in census.databases.items() if count}
    selected = _choose_groups(census, *_SELECTED)
    usable = _choose_groups(census, *_USABLE)
    return {
        "difficulty_usable": count_pairs(usable, "split", SPLITS, "difficulty", DIFFICULTIES),
        "difficulty_selected": count_pairs(selected, "split", SPLITS, "difficulty", DIFFICULTIES),
        "exclusions": count_single(census.groups, "reason"),
        "answer_types": count_single(selected, "answer_type", ANSWER_TYPES),
        "databases": _list_counts("database_name", databases),
        "tables": count_single(selected, "tables"),
        "hardness_by_difficulty": count_pairs(
            selected, "difficulty", DIFFICULTIES, "hardness", HARDNESS_LEVELS
        ),
    }


def count_single(
    groups: Mapping[Group, int], column: str, vocabulary: Iterable[str] | None = None
) -> Table:
    """Columns: the value, `questions`."""
    return _list_counts(column, count_values(groups, column, vocabulary))


def _list_counts(column: str, counts: Mapping[str, int]) -> Table:
    return Table((column, "questions"), list(counts.items()))


def count_pairs(
    groups: Mapping[Group, int],
    first: str,
    first_words: Iterable[str],
    second: str,
    second_words: Iterable[str],
) -> Table:
    """Columns: a value of each column, both as one label `cell`, and `questions`; one row a pair,
    pairs without any included."""
    counts: Counter[tuple[Any, Any]] = Counter()
    for group, questions in groups.items():
        counts[getattr(group, first), getattr(group, second)] += questions
    rows = [(*pair, " ".join(pair), counts[pair]) for pair in product(first_words, second_words)]
    return Table((first, second, "cell", "questions"), rows)

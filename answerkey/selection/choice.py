"""The choice among all usable questions: each is selected, or has a reason why it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from answerkey.base.errors import InputError, Reason
from answerkey.base.log import list_counts
from answerkey.dataset import Question
from answerkey.sections.classify_difficulty import (
    METHODS,
    PASS_RATE,
    RANK,
    SOURCE,
    TABLES,
    DifficultyRule,
)
from answerkey.sections.select_questions import Policy, SelectQuestions, Targets
from answerkey.selection.complexity import Cuts, find_cuts, measure_complexity
from answerkey.selection.picks import find_paraphrases, order_candidates, pick
from answerkey.selection.policies import find_reason, read_policies
from answerkey.selection.program import Group, count_by, find_largest
from answerkey.selection.supply import describe, summarize

WHY = ["stage", "reason", "detail"]
_STAGE = "select_questions"
_FIELDS = [
    "question_id",
    *Group._fields,
    "template",
    "canonical_sql",
    "suite_score",
    "tables_involved",
    "columns_involved",
    "hardness",
    "source_difficulty",
    "solved_share",
]


class TargetsNotMetError(InputError):
    """No selection meets the targets."""


def survey_questions(questions: Iterable[Question], policies: Mapping[str, Policy]) -> pd.DataFrame:
    """A row for each question with what selection looks at; `stage`, `reason` and `detail` say why
    it is not usable, and are None if it is."""
    rows = (
        (
            *(getattr(question, field) for field in _FIELDS),
            *(find_reason(question, policies) or (None, None, None)),
        )
        for question in questions
    )
    return pd.DataFrame(rows, columns=[*_FIELDS, *WHY], dtype=object)


def list_usable(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the usable questions."""
    return table[table["reason"].isna()]


def choose(table: pd.DataFrame, settings: SelectQuestions) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The largest choice among the usable questions of `survey_questions`: its table, in which
    those without a reason are selected, and its summary.

    Raises:
        TargetsNotMetError: if the targets ask for more than there is.
    """
    usable, targets = list_usable(table), settings.targets
    ordered = order_candidates(usable, seed=settings.seed, by_corpus=bool(targets.corpora))
    capped = find_paraphrases(ordered, settings.max_per_canonical_sql)
    ordered = ordered.drop(capped)
    supply = _count_supply(ordered)
    taken = find_largest(supply, targets)
    summary = summarize(supply, taken, targets)
    wanted = max(targets.min_questions or 0, min(len(ordered), 1))
    if summary["size"] < wanted:
        reasons = Counter(table["reason"].dropna())
        raise TargetsNotMetError(
            f"select_questions.targets cannot be met: expected {wanted} questions or more;"
            f" {describe(summary)}\n"
            f"Not usable: {reasons.total()} of {len(table)} questions{list_counts(reasons)}"
        )
    rest = usable.index.difference(capped).difference(pick(ordered, taken, targets))
    table = table.copy()
    table.loc[capped.union(rest), ["stage", "reason"]] = _STAGE, Reason.NOT_SELECTED
    table.loc[capped, "detail"] = (
        "max_per_canonical_sql: enough questions of this database have this SQL"
    )
    table.loc[rest, "detail"] = _explain_rest(table.loc[rest], supply, taken, targets)
    return table, summary


def _count_supply(usable: pd.DataFrame) -> Counter[Group]:
    groups = usable[list(Group._fields)].itertuples(index=False, name=None)
    return Counter(map(Group._make, groups))


def _explain_rest(
    rest: pd.DataFrame, supply: Mapping[Group, int], taken: Mapping[Group, int], targets: Targets
) -> list[str]:
    """Why each usable question is not selected."""
    (cells, of_cells), (corpora, of_corpora) = (
        [count_by(groups, "split", field) for groups in (taken, supply)]
        for field in ("difficulty", "corpus")
    )
    details = []
    for split, level, corpus in rest[["split", "difficulty", "corpus"]].itertuples(
        index=False, name=None
    ):
        detail = (
            f"{split} {level}: the targets take {cells[split, level]}"
            f" of {of_cells[split, level]} usable questions"
        )
        if targets.corpora:
            taken_of = f"{corpora[split, corpus]} of {of_corpora[split, corpus]}"
            detail += f"; {split} corpus {corpus}: {taken_of}"
        details.append(detail)
    return details


# What the current params allow, and what their neighbours would.


def explain_choice(
    questions: Iterable[Question], settings: SelectQuestions, rule: DifficultyRule
) -> str:
    """What `answerkey explain` prints: the largest selection by a rule and by its neighbours."""
    usable = list_usable(survey_questions(questions, read_policies(settings.policies)))
    told = []
    for other in [rule, *list_neighbours(rule, usable, settings.targets)]:
        supply = _count_supply(_classify(usable, other, settings.targets))
        summary = summarize(supply, find_largest(supply, settings.targets), settings.targets)
        told.append(f"{other}\n{describe(summary)}")
    return "\n\n".join(told)


def list_neighbours(
    rule: DifficultyRule, usable: pd.DataFrame, targets: Targets
) -> Iterator[DifficultyRule]:
    """The rules one step away: if tables decide, each threshold one less or one more; and the other
    methods: rank if there are shares to cut at, those of source and rollouts if they say something
    of a question."""
    if rule.method == TABLES:
        easy, medium = rule.easy_max_tables, rule.medium_max_tables
        steps = [(easy - 1, medium), (easy + 1, medium), (easy, medium - 1), (easy, medium + 1)]
        for low, high in steps:
            if 0 <= low <= high:
                yield replace(rule, easy_max_tables=low, medium_max_tables=high)
    known = {
        SOURCE: usable["source_difficulty"].notna().any(),
        PASS_RATE: usable["solved_share"].notna().any(),
        RANK: targets.difficulty_shares is not None,
    }
    for method in METHODS:
        if method != rule.method and known.get(method, True):
            yield replace(rule, method=method)


def find_rank_cuts(usable: pd.DataFrame, rule: DifficultyRule, targets: Targets) -> Cuts | None:
    """The cuts among the usable questions; None if the rule is another one than rank."""
    if rule.method != RANK:
        return None
    return find_cuts(Counter(_measure(usable)), targets.difficulty_shares)


def _classify(usable: pd.DataFrame, rule: DifficultyRule, targets: Targets) -> pd.DataFrame:
    """The questions with their difficulties by a rule."""
    if (cuts := find_rank_cuts(usable, rule, targets)) is not None:
        return usable.assign(difficulty=list(map(cuts.classify, _measure(usable))))
    tables = usable["tables_involved"].map(len)
    others = (usable[name] for name in ("hardness", "source_difficulty", "solved_share"))
    return usable.assign(difficulty=list(map(rule.classify, tables, *others)))


def _measure(usable: pd.DataFrame) -> list[float]:
    tables = usable["tables_involved"].map(len)
    return list(map(measure_complexity, tables, usable["hardness"], usable["canonical_sql"]))

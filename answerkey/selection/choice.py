"""The choice among all usable questions: each is selected, or has a reason why it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from answerkey.dataset import Group, Question, Solution, count_cells, count_corpora
from answerkey.records import Reason
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.select_questions import Policy, SelectQuestions, Targets
from answerkey.selection.complexity import measure_complexity
from answerkey.selection.picks import find_paraphrases, order_candidates, pick
from answerkey.selection.policies import find_reason, read_policies
from answerkey.selection.program import find_largest
from answerkey.selection.supply import Usable, check_size, describe_risks, explain

_STAGE = "select_questions"
WHY = ["stage", "reason", "detail"]
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
    "gold_risk",
]


def survey_questions(questions: Iterable[Question], policies: Mapping[str, Policy]) -> pd.DataFrame:
    """A row for each question with what selection looks at; `stage`, `reason` and `detail` say why
    it is not usable, and are None where it is."""
    rows = (
        (
            *(getattr(question, field) for field in _FIELDS),
            *(find_reason(question, policies) or (None, None, None)),
        )
        for question in questions
    )
    return pd.DataFrame(rows, columns=[*_FIELDS, *WHY], dtype=object)


def count_usable(table: pd.DataFrame) -> Counter[Usable]:
    """How many usable questions there are of each kind that another rule of difficulty could
    move."""
    usable = table[table["reason"].isna()]
    tables = usable["tables_involved"].map(len)
    complexity = list(map(measure_complexity, tables, usable["hardness"], usable["canonical_sql"]))
    usable = usable.assign(tables=tables, complexity=complexity)[list(Usable._fields)]
    return Counter(map(Usable._make, usable.itertuples(index=False, name=None)))


@dataclass(frozen=True, slots=True)
class Choice:
    """The table of all questions (those without a reason are selected), the supply, and its
    solution."""

    table: pd.DataFrame
    supply: Counter[Group]
    solution: Solution


def choose(
    table: pd.DataFrame, targets: Targets, *, max_per_canonical_sql: int | None, seed: int
) -> Choice:
    """The largest choice among the usable questions of `survey_questions`.

    Raises:
        TargetsNotMetError: if the targets ask for more than there is.
    """
    usable = table[table["reason"].isna()]
    ordered = order_candidates(usable, seed=seed, by_corpus=bool(targets.corpora))
    capped = find_paraphrases(ordered, max_per_canonical_sql)
    ordered = ordered.drop(capped)
    groups = ordered[list(Group._fields)].itertuples(index=False, name=None)
    supply = Counter(map(Group._make, groups))
    solution = find_largest(supply, targets)
    check_size(supply, targets, solution)
    rest = usable.index.difference(capped).difference(pick(ordered, solution, targets))
    table = table.copy()
    table.loc[capped, WHY] = (
        _STAGE,
        Reason.NOT_SELECTED,
        "max_per_canonical_sql: enough questions of this database have this SQL",
    )
    table.loc[rest, "detail"] = _explain_rest(table.loc[rest], supply, solution, targets)
    table.loc[rest, ["stage", "reason"]] = _STAGE, Reason.NOT_SELECTED
    return Choice(table, supply, solution)


def _explain_rest(
    rest: pd.DataFrame, supply: Mapping[Group, int], solution: Solution, targets: Targets
) -> list[str]:
    """Why each usable question is not selected."""
    cells, corpora = count_cells(supply), count_corpora(supply, targets.corpora)
    details = []
    for split, level, corpus in rest[["split", "difficulty", "corpus"]].itertuples(
        index=False, name=None
    ):
        detail = (
            f"{split} {level}: the targets take {solution.counts[split, level]}"
            f" of {cells[split, level]} usable questions"
        )
        if corpora:
            taken = solution.corpora[split, corpus]
            detail += f"; {split} corpus {corpus}: {taken} of {corpora[split, corpus]}"
        details.append(detail)
    return details


def explain_choice(
    questions: Iterable[Question], settings: SelectQuestions, rule: DifficultyRule
) -> str:
    """What these params and their neighbours would select, in words."""
    table = survey_questions(questions, read_policies(settings.policies))
    return f"{explain(count_usable(table), rule, settings.targets)}\n\n{describe_risks(table)}"

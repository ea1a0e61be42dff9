"""The choice among all usable questions, and why each other one is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from answerkey.core.cells import Group, Solution, count_cells, count_corpora
from answerkey.core.flags import Flag
from answerkey.core.joined import JoinedQuestion
from answerkey.core.reasons import Reason
from answerkey.selection.candidates import Candidate, Candidates
from answerkey.selection.picks import pick
from answerkey.selection.policies import Policy
from answerkey.selection.supply import check_size
from answerkey.selection.targets import Targets, find_largest
from answerkey.selection.usability import find_reason
from answerkey.selection.what_if import Usable

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


def survey_questions(
    questions: Iterable[JoinedQuestion], policies: Mapping[Flag, Policy]
) -> pd.DataFrame:
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
    usable = usable.assign(tables=usable["tables_involved"].map(len))[list(Usable._fields)]
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
        TargetsNotMetError: where the targets ask for more than there is.
    """
    usable = table[table["reason"].isna()]
    groups = map(Group._make, usable[list(Group._fields)].itertuples(index=False, name=None))
    names = ("question_id", "template", "canonical_sql", "suite_score")
    columns = (usable[name] for name in names)
    candidates = Candidates(map(Candidate, usable.index, groups, *columns), seed=seed)
    capped = candidates.cap_paraphrases(max_per_canonical_sql)
    supply = candidates.count(
        by_database=targets.max_per_database is not None,
        by_answer_type=targets.max_answer_type_share is not None,
        by_corpus=bool(targets.corpora),
    )
    solution = find_largest(supply, targets)
    check_size(supply, targets, solution)
    picked = set(pick(candidates, solution, targets))
    table = table.copy()
    table.loc[capped, WHY] = (
        _STAGE,
        Reason.NOT_SELECTED,
        "max_per_canonical_sql: enough questions of this database have this SQL",
    )
    rest = [place for place in usable.index.difference(capped) if place not in picked]
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

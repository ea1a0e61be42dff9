"""Policies, which say what a flag means for a question, and the choice among usable questions.

Every question is selected, or has a reason why it is not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from answerkey.dataset import Group, Question, Solution, count_cells, count_corpora
from answerkey.flags import FLAGS, sort_flags
from answerkey.records import Reason
from answerkey.sections.select_questions import TIE_FLAGS, Policy, Targets
from answerkey.selection.picks import find_paraphrases, order_candidates, pick
from answerkey.selection.program import find_largest
from answerkey.selection.supply import Usable, check_size
from answerkey.sqlite.answers import has_choice


def read_policies(values: Mapping[str, Policy]) -> dict[str, Policy]:
    """Return the policy of each flag: that of params, or its default."""
    return {name: Policy(values.get(name, flag.policy)) for name, flag in FLAGS.items()}


def find_exclusion(
    flags: list[dict[str, Any]], policies: Mapping[str, Policy], *, has_accepted_rows: bool = False
) -> tuple[str, str] | None:
    """Return the first flag of the catalogue that excludes, with its evidence as JSON.

    A cut through a tie whose policy is accept_ties excludes where no accepted rows are known. Where
    they are, row_order_dependent does not: all copies of the database gave accepted answers. A
    doubt about gold that was judged right excludes nothing.
    """
    are_accepted = has_accepted_rows and accepts_ties(flags, policies)
    is_judged_right = policies["judged_right"] is not Policy.OFF and any(
        flag["code"] == "judged_right" for flag in flags
    )
    for flag in sort_flags(flags):
        code = flag["code"]
        if are_accepted and code == "row_order_dependent":
            continue
        if is_judged_right and FLAGS[code].doubts_gold:
            continue
        if policies[code] is Policy.EXCLUDE or (
            policies[code] is Policy.ACCEPT_TIES and not are_accepted
        ):
            return code, json.dumps(flag["evidence"], ensure_ascii=False)
    return None


def accepts_ties(flags: list[dict[str, Any]], policies: Mapping[str, Policy]) -> bool:
    """Whether LIMIT cuts through a tie of the question, and policies accept that."""
    cuts = {flag["code"] for flag in flags}.intersection(TIE_FLAGS)
    return bool(cuts) and all(policies[cut] is Policy.ACCEPT_TIES for cut in cuts)


def keep_reported(
    flags: list[dict[str, Any]], policies: Mapping[str, Policy]
) -> list[dict[str, Any]]:
    """Return the flags that are not off, in the order of the catalogue."""
    return sort_flags(flag for flag in flags if policies[flag["code"]] is not Policy.OFF)


# Whether a question is usable, and why not: the first of the stages that set it aside says so.


def find_reason(question: Question, policies: Mapping[str, Policy]) -> tuple[str, str, str] | None:
    """Why a question is not usable: stage, reason and detail; None if it is usable."""
    if question.stage is not None:
        return question.stage, question.reason, question.detail
    exclusion = find_exclusion(
        question.flags, policies, has_accepted_rows=has_choice(question.accepted_rows)
    )
    return ("audit_gold_answers", *exclusion) if exclusion else None


# The choice among all usable questions, and why each other one is left out.


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

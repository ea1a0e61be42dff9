"""Explanation of a selection: what the current params allow, and what their neighbours would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from answerkey.core.param_types import DATASET, METHODS, PASS_RATE, SOURCE, SPLIT, TABLES
from answerkey.selection.difficulty_rule import DifficultyRule
from answerkey.selection.supply import describe_binding, describe_supply, find_binding
from answerkey.selection.targets import TARGET_NAMES, Group, Targets, find_largest, find_size


class Usable(NamedTuple):
    """A usable question, as far as its difficulty may change: `tables` is their number."""

    split: str
    database_name: str
    answer_type: str
    tables: int
    hardness: str
    corpus: str
    source_difficulty: str | None
    solved_share: float | None = None


def list_neighbours(
    rule: DifficultyRule, questions: Mapping[Usable, int]
) -> Iterator[DifficultyRule]:
    """The rules one step away: where tables decide, each threshold one less or one more; and the
    other methods, those of source and rollouts where they say something of a question."""
    if rule.method == TABLES:
        easy, medium = rule.easy_max_tables, rule.medium_max_tables
        steps = [(easy - 1, medium), (easy + 1, medium), (easy, medium - 1), (easy, medium + 1)]
        for low, high in steps:
            if 0 <= low <= high:
                yield replace(rule, easy_max_tables=low, medium_max_tables=high)
    for method in METHODS:
        field = {SOURCE: "source_difficulty", PASS_RATE: "solved_share"}.get(method)
        is_known = not field or any(getattr(each, field) is not None for each in questions)
        if method != rule.method and is_known:
            yield replace(rule, method=method)


def count_supply(questions: Mapping[Usable, int], rule: DifficultyRule) -> Counter[Group]:
    """How many questions of each group there are under a rule, from how many there are of each
    kind."""
    supply: Counter[Group] = Counter()
    for question, count in questions.items():
        group = Group(
            question.split,
            rule.classify(
                question.tables,
                question.hardness,
                question.source_difficulty,
                question.solved_share,
            ),
            question.database_name,
            question.answer_type,
            question.corpus,
        )
        supply[group] += count
    return supply


def list_other_targets(targets: Targets) -> Iterator[tuple[str, Targets]]:
    """The targets without each one that is set, and difficulty_shares of the other scope, each in
    words."""
    if targets.difficulty_shares is not None:
        of_dataset = targets.difficulty_shares_of == DATASET
        words = "of each split" if of_dataset else "of the whole dataset"
        scope = SPLIT if of_dataset else DATASET
        yield f"difficulty_shares {words}", replace(targets, difficulty_shares_of=scope)
    for name in TARGET_NAMES:
        if getattr(targets, name) is not None:
            yield f"without {name}", replace(targets, **{name: None})


def explain(questions: Mapping[Usable, int], rule: DifficultyRule, targets: Targets) -> str:
    """The text that `python -m stages.select_questions --explain` prints."""
    supply = count_supply(questions, rule)
    solution = find_largest(supply, targets)
    binding = find_binding(supply, targets, solution)
    lines = [
        f"{rule}",
        f"largest selection: {solution.size} of {sum(questions.values())} usable questions",
        describe_binding(binding, solution.size),
        *(f"{words}: {find_size(supply, other)}" for words, other in list_other_targets(targets)),
        "",
        describe_supply(supply, solution.counts, solution.corpora),
    ]
    for neighbour in list_neighbours(rule, questions):
        supply = count_supply(questions, neighbour)
        solution = find_largest(supply, targets)
        lines += [
            "",
            f"{neighbour}",
            f"largest selection: {solution.size}",
            describe_supply(supply, solution.counts, solution.corpora),
        ]
    return "\n".join(lines)

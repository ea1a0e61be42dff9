"""Explanation of a selection: what the current params allow, and what their neighbours would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stages.classify_difficulty import classify_difficulty
from stages.selection.supply import describe_binding, describe_supply, find_binding
from stages.selection.targets import Group, Targets, find_largest


class Usable(NamedTuple):
    """A usable question, as far as its difficulty may change: `tables` is their number."""

    split: str
    database_name: str
    answer_type: str
    tables: int
    hardness: str
    corpus: str = ""


class Rule(NamedTuple):
    """A rule of difficulty: thresholds on the number of tables, or where there are `levels`, a
    mapping of hardness to difficulty."""

    easy_max_tables: int
    medium_max_tables: int
    levels: Mapping[str, str] = {}

    def __str__(self) -> str:
        if self.levels:
            return "method: spider"
        return (
            f"easy_max_tables: {self.easy_max_tables}, medium_max_tables: {self.medium_max_tables}"
        )


def list_neighbours(rule: Rule, levels: Mapping[str, str]) -> Iterator[Rule]:
    """The rules one step away: each threshold one less or one more, and the other method.

    >>> [str(rule) for rule in list_neighbours(Rule(2, 3), {})]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['easy_max_tables: 1, medium_max_tables: 3', 'easy_max_tables: 3, medium_max_tables: 3',
     'easy_max_tables: 2, medium_max_tables: 2', 'easy_max_tables: 2, medium_max_tables: 4']
    """
    easy, medium = rule.easy_max_tables, rule.medium_max_tables
    thresholds = [(easy - 1, medium), (easy + 1, medium), (easy, medium - 1), (easy, medium + 1)]
    if rule.levels:
        thresholds = [(easy, medium)]
    for pair in thresholds:
        if 0 <= pair[0] <= pair[1]:
            yield Rule(*pair)
    if levels and not rule.levels:
        yield Rule(easy, medium, levels)


def count_supply(questions: Mapping[Usable, int], rule: Rule) -> Counter[Group]:
    """How many questions of each group there are under a rule, from how many there are of each
    kind."""
    by_tables = {
        count: classify_difficulty(
            [str(number) for number in range(count)],
            easy_max_tables=rule.easy_max_tables,
            medium_max_tables=rule.medium_max_tables,
        )
        for count in {question.tables for question in questions}
    }
    supply: Counter[Group] = Counter()
    for question, count in questions.items():
        group = Group(
            question.split,
            rule.levels[question.hardness] if rule.levels else by_tables[question.tables],
            question.database_name,
            question.answer_type,
            question.corpus,
        )
        supply[group] += count
    return supply


def explain(
    questions: Mapping[Usable, int], rule: Rule, targets: Targets, *, levels: Mapping[str, str]
) -> str:
    """The text that `python -m stages.select_questions --explain` prints."""
    supply = count_supply(questions, rule)
    solution = find_largest(supply, targets)
    binding = find_binding(supply, targets, solution)
    lines = [
        f"{rule}",
        f"largest selection: {solution.size} of {sum(questions.values())} usable questions",
        describe_binding(binding, solution.size),
        "",
        describe_supply(supply, solution.counts, solution.corpora),
    ]
    for neighbour in list_neighbours(rule, levels):
        supply = count_supply(questions, neighbour)
        solution = find_largest(supply, targets)
        lines += [
            "",
            f"{neighbour}",
            f"largest selection: {solution.size}",
            describe_supply(supply, solution.counts, solution.corpora),
        ]
    return "\n".join(lines)

"""Supply against targets: what a selection could be, told in numbers and in words."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd

from answerkey.dataset import CELLS, CorpusCell, Group, Part, Solution, count_cells, count_corpora
from answerkey.errors import InputError
from answerkey.records import DIFFICULTIES, EVAL, SPLITS, read_share
from answerkey.sections.classify_difficulty import (
    METHODS,
    PASS_RATE,
    RANK,
    SOURCE,
    TABLES,
    DifficultyRule,
)
from answerkey.sections.select_questions import DATASET, SPLIT, Targets
from answerkey.selection.complexity import Cuts, find_cuts
from answerkey.selection.program import TARGET_NAMES, find_largest, find_size
from answerkey.sqlite.schema import Schema

_PLENTY = 4
_STEPS_OF_TOLERANCE = 200  # half a point each


class TargetsNotMetError(InputError):
    """No selection meets the targets; the message says which would."""


def describe_supply(
    supply: Mapping[Group, int],
    counts: Mapping[Any, int],
    corpora: Mapping[CorpusCell, int] | None = None,
) -> str:
    """A table of the cells: how many questions are usable, how many are selected; and where corpora
    have shares, the same of each corpus.

    >>> print(describe_supply({Group("train", "easy", "a", "list"): 7}, {("train", "easy"): 5}))
    split  easy    medium  hard
    train  5 of 7  0 of 0  0 of 0
    eval   0 of 0  0 of 0  0 of 0
    """
    cells = count_cells(supply)
    names = list(dict.fromkeys(corpus for _, corpus in corpora or ()))
    usable = count_corpora(supply, names)
    rows = [["split", *DIFFICULTIES, *(f"corpus {name}" for name in names)]]
    for split in SPLITS:
        row = [
            f"{counts.get((split, level), 0)} of {cells[split, level]}" for level in DIFFICULTIES
        ]
        row += [f"{corpora[split, name]} of {usable[split, name]}" for name in names]
        rows.append([split, *row])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def find_binding(
    supply: Mapping[Group, int], targets: Targets, solution: Solution
) -> dict[str, int]:
    """What limits the selection, in words, each with the size that the selection would have with
    plenty of it: four times as many questions as there are in all. Largest gain first.

    These are the cells that are used up and, if corpora have shares, the corpora of a split that
    are used up. If none of them limits the selection, these are any corpora, and the difficulties
    of each.
    """
    plenty = _PLENTY * (sum(supply.values()) + 1)

    def find_gains(parts: Mapping[Any, list[Part]]) -> dict[Any, int]:
        """The size that each would give, if it is larger. No cap looks at the questions that are
        added: they have no database and no answer type."""
        sizes = {}
        for name, some in parts.items():
            added = {Group(split, level, "", "", corpus): plenty for split, level, corpus in some}
            sizes[name] = find_size({**supply, **added}, targets)
        return {name: size for name, size in sizes.items() if size > solution.size}

    gains = {}
    if targets.difficulty_shares is not None or targets.eval_share is not None:
        cells = count_cells(supply)
        full = [cell for cell in CELLS if solution.counts[cell] == cells[cell]]
        corpora = targets.corpora or ("",)
        gains = find_gains({" ".join(c): [(*c, corpus) for corpus in corpora] for c in full})
    usable = count_corpora(supply, targets.corpora)
    of_corpora = find_gains(
        {(split, name): [(split, level, name) for level in DIFFICULTIES] for split, name in usable}
    )
    for (split, corpus), size in of_corpora.items():
        if solution.corpora[split, corpus] == usable[split, corpus]:
            gains[f"{split} corpus {corpus}"] = size
    if not gains:
        for (split, corpus), size in of_corpora.items():
            gains[f"{split} corpus {corpus}"] = size
            levels = {f"{split} {lv} corpus {corpus}": [(split, lv, corpus)] for lv in DIFFICULTIES}
            gains |= find_gains(levels)
    return _sort_gains(gains)


def find_binding_targets(
    supply: Mapping[Group, int], targets: Targets, solution: Solution
) -> dict[str, int]:
    """The targets that hold the selection back, each with the size that it would have without it;
    largest gain first."""
    sizes = {
        name: find_size(supply, replace(targets, **{name: None}))
        for name in TARGET_NAMES
        if getattr(targets, name) is not None
    }
    return _sort_gains({name: size for name, size in sizes.items() if size > solution.size})


def _sort_gains(gains: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(gains.items(), key=lambda pair: -pair[1]))


def find_tolerance(
    supply: Mapping[Group, int], targets: Targets, min_questions: int
) -> float | None:
    """The smallest tolerance, in steps of half a point, at which min_questions come together; None
    if none does."""

    def reaches(steps: int) -> bool:
        loosened = replace(targets, tolerance=steps / _STEPS_OF_TOLERANCE)
        return find_size(supply, loosened) >= min_questions

    steps = bisect_left(range(_STEPS_OF_TOLERANCE + 1), True, key=reaches)
    return steps / _STEPS_OF_TOLERANCE if steps <= _STEPS_OF_TOLERANCE else None


def describe_binding(binding: Mapping[str, int], size: int) -> str:
    """Which cells hold the selection back, a line each.

    >>> print(describe_binding({"eval hard": 50}, 40))
    Limited by eval/hard: lifting it gives 50 instead of 40
    """
    if not binding:
        return "Limited by no cell alone"
    return "\n".join(
        f"Limited by {name.replace(' ', '/', 1)}: lifting it gives {gain} instead of {size}"
        for name, gain in binding.items()
    )


def list_absent(supply: Mapping[Group, int], targets: Targets) -> list[str]:
    """Corpora without a usable question, though they need one: in words.

    >>> usable = {Group(split, "easy", "a", "list", "spider"): 7 for split in SPLITS}
    >>> list_absent(usable, Targets(corpus_shares={"spider": 0.5, "bird": 0.5}))
    ['no question of corpus bird is usable']
    """
    usable = count_corpora(supply, targets.corpora)
    absent = []
    for corpus in targets.corpora:
        missing = [split for split in SPLITS if not usable[split, corpus]]
        if read_share(targets.corpus_shares[corpus]) <= read_share(targets.tolerance):
            continue
        if len(missing) == len(SPLITS):
            absent.append(f"no question of corpus {corpus} is usable")
        else:
            absent += [f"no {split} question of corpus {corpus} is usable" for split in missing]
    return absent


def check_size(supply: Mapping[Group, int], targets: Targets, solution: Solution) -> None:
    """Make sure that the largest selection is large enough: min_questions, and more than none where
    a question is usable.

    Raises:
        TargetsNotMetError: with the supply, what holds it back, and the nearest targets that can
            be met.
    """
    wanted = max(targets.min_questions or 0, 1 if supply else 0)
    size = solution.size
    if size >= wanted:
        return
    asked = f"min_questions asks for {wanted}" if targets.min_questions else "there are questions"
    tolerance = find_tolerance(supply, targets, wanted)
    ways = [f"min_questions: {size} would be met"] if size else []
    if tolerance is not None:
        ways.append(f"tolerance: {tolerance:g} would reach {wanted}")
    else:
        ways.append(f"no tolerance reaches {wanted}: add databases, or loosen policies or caps")
    caps = [
        f"without {name}: {gain} instead of {size}"
        for name, gain in find_binding_targets(supply, targets, solution).items()
    ]
    binding = find_binding(supply, targets, solution)
    held_back = "\n".join([*list_absent(supply, targets), describe_binding(binding, size), *caps])
    raise TargetsNotMetError(
        f"select_questions.targets cannot be met: {asked}, and the largest selection under the"
        f" other targets has {size} ({'; '.join(ways)}).\n{held_back}\n"
        f"Largest selection, of usable questions:\n"
        f"{describe_supply(supply, solution.counts, solution.corpora)}"
    )


def summarize(supply: Mapping[Group, int], targets: Targets, solution: Solution) -> dict[str, Any]:
    """The selection in numbers with stable keys, for metrics; with corpora, if they have shares."""
    binding = find_binding(supply, targets, solution)
    binding_caps = find_binding_targets(supply, targets, solution)
    cells, corpora = count_cells(supply), count_corpora(supply, targets.corpora)

    def describe(name: str, usable: int, selected: int) -> dict[str, int]:
        return {
            "usable": usable,
            "selected": selected,
            "slack": usable - selected,
            "size_without_limit": binding.get(name, solution.size),
        }

    summary = {
        "size": solution.size,
        "cells": {
            split: {
                level: describe(
                    f"{split} {level}", cells[split, level], solution.counts[split, level]
                )
                for level in DIFFICULTIES
            }
            for split in SPLITS
        },
        "binding_cells": list(binding),
        "size_without_target": {
            name: binding_caps.get(name, solution.size)
            for name in TARGET_NAMES
            if name != "corpus_shares" or targets.corpora
        },
        "shares": describe_shares(targets, solution),
    }
    if targets.corpora:
        parts: Counter[Part] = Counter()
        for group, count in supply.items():
            parts[group.split, group.difficulty, group.corpus] += count
        summary["corpora"] = {
            split: {
                corpus: {
                    **describe(
                        f"{split} corpus {corpus}",
                        corpora[split, corpus],
                        solution.corpora[split, corpus],
                    ),
                    "difficulties": {
                        level: {
                            "usable": parts[split, level, corpus],
                            "size_without_limit": binding.get(
                                f"{split} {level} corpus {corpus}", solution.size
                            ),
                        }
                        for level in DIFFICULTIES
                    },
                }
                for corpus in targets.corpora
            }
            for split in SPLITS
        }
    return summary


def describe_loss(supply: Mapping[Group, int], targets: Targets, size: int) -> str | None:
    """What to say if the targets take less than half of the usable questions: how many, and which
    targets to lift; None if they take more.

    >>> supply = {Group("train", level, "a", "list"): 10 for level in DIFFICULTIES}
    >>> describe_loss(supply, Targets(max_questions=12, max_per_database=15), 12)
    'the targets take 12 of 30 usable questions; all 30 without max_questions, max_per_database'
    """
    usable = sum(supply.values())
    if 2 * size >= usable:
        return None
    lifted = ", ".join(find_lifts(supply, targets))
    return f"the targets take {size} of {usable} usable questions; all {usable} without {lifted}"


def find_lifts(supply: Mapping[Group, int], targets: Targets) -> tuple[str, ...]:
    """The fewest targets that one has to lift together for all usable questions."""
    usable = sum(supply.values())
    names = [name for name in TARGET_NAMES if getattr(targets, name) is not None]
    return next(
        lifted
        for count in range(len(names) + 1)
        for lifted in combinations(names, count)
        if find_size(supply, replace(targets, **dict.fromkeys(lifted))) == usable
    )


def describe_shares(targets: Targets, solution: Solution) -> dict[str, dict[str, float | None]]:
    """Each share that can be asked for: what was asked, what was found, and how much of the
    tolerance is left.

    It is None where nothing was asked, or where there is nothing to have a share of.
    """
    counts = solution.counts
    sizes = {split: sum(counts[split, level] for level in DIFFICULTIES) for split in SPLITS}
    shares = {EVAL: (targets.eval_share, sizes[EVAL], sum(sizes.values()))}
    of_dataset = targets.difficulty_shares_of == DATASET
    for level in DIFFICULTIES:
        asked = (targets.difficulty_shares or {}).get(level)
        count = sum(counts[split, level] for split in SPLITS)
        shares[level] = (asked if of_dataset else None, count, sum(sizes.values()))
        for split in SPLITS:
            found = (None if of_dataset else asked, counts[split, level], sizes[split])
            shares[f"{split} {level}"] = found
    for (split, corpus), count in solution.corpora.items():
        asked = targets.corpus_shares[corpus]
        shares[f"{split} corpus {corpus}"] = (asked, count, sizes[split])
    described = {}
    for name, (asked, part, whole) in shares.items():
        found = part / whole if whole else None
        is_judged = asked is not None and found is not None
        described[name] = {
            "asked": asked,
            "found": None if found is None else round(found, 4),
            "slack": round(targets.tolerance - abs(found - asked), 4) if is_judged else None,
        }
    return described


# Explanation of a selection: what the current params allow, and what their neighbours would.


class Usable(NamedTuple):
    """A usable question, as far as its difficulty may change: `tables` is their number."""

    split: str
    database_name: str
    answer_type: str
    tables: int
    hardness: str
    complexity: float
    corpus: str
    source_difficulty: str | None
    solved_share: float | None = None


def list_neighbours(
    rule: DifficultyRule, questions: Mapping[Usable, int], targets: Targets
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
    for method in METHODS:
        field = {SOURCE: "source_difficulty", PASS_RATE: "solved_share"}.get(method)
        is_known = not field or any(getattr(each, field) is not None for each in questions)
        is_known &= method != RANK or targets.difficulty_shares is not None
        if method != rule.method and is_known:
            yield replace(rule, method=method)


def find_rank_cuts(
    questions: Mapping[Usable, int], rule: DifficultyRule, targets: Targets
) -> Cuts | None:
    """The cuts among the usable questions; None if the rule is another one than rank."""
    if rule.method != RANK:
        return None
    counts: Counter[float] = Counter()
    for question, count in questions.items():
        counts[question.complexity] += count
    return find_cuts(counts, targets.difficulty_shares)


def count_supply(
    questions: Mapping[Usable, int], rule: DifficultyRule, targets: Targets
) -> Counter[Group]:
    """How many questions of each group there are under a rule, from how many there are of each
    kind."""
    cuts = find_rank_cuts(questions, rule, targets)
    supply: Counter[Group] = Counter()
    for question, count in questions.items():
        if cuts is not None:
            difficulty = cuts.classify(question.complexity)
        else:
            difficulty = rule.classify(
                question.tables,
                question.hardness,
                question.source_difficulty,
                question.solved_share,
            )
        group = Group(
            question.split,
            difficulty,
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
    supply = count_supply(questions, rule, targets)
    solution = find_largest(supply, targets)
    binding = find_binding(supply, targets, solution)
    lifts, usable = find_lifts(supply, targets), sum(questions.values())
    lines = [
        f"{rule}",
        f"largest selection: {solution.size} of {usable} usable questions",
        describe_binding(binding, solution.size),
        *(f"{words}: {find_size(supply, other)}" for words, other in list_other_targets(targets)),
        *([f"without {', '.join(lifts)}: {usable}"] if len(lifts) > 1 else []),
        "",
        describe_supply(supply, solution.counts, solution.corpora),
    ]
    for neighbour in list_neighbours(rule, questions, targets):
        supply = count_supply(questions, neighbour, targets)
        solution = find_largest(supply, targets)
        lines += [
            "",
            f"{neighbour}",
            f"largest selection: {solution.size}",
            describe_supply(supply, solution.counts, solution.corpora),
        ]
    return "\n".join(lines)


# Coverage: how much of the schemas the selected questions touch.


def measure_coverage(questions: pd.DataFrame, schemas: Mapping[str, Schema]) -> dict[str, int]:
    """How many tables and columns the databases of the questions have, and how many of them some
    question touches; views are left out.

    The columns of `questions` are database_name, tables_involved and columns_involved, each column
    as `table.column`.
    """
    touched: dict[str, set[str]] = defaultdict(set)
    for name, tables, columns in questions.itertuples(index=False, name=None):
        touched[name].update(tables, columns)
    counts = dict.fromkeys(("tables", "tables_touched", "columns", "columns_touched"), 0)
    for name, names in touched.items():
        for table in schemas[name].tables:
            if table.is_view:
                continue
            columns = [f"{table.name}.{column.name}" for column in table.columns]
            counts["tables"] += 1
            counts["tables_touched"] += table.name in names
            counts["columns"] += len(columns)
            counts["columns_touched"] += len(names.intersection(columns))
    return counts


# The gold risk of the usable questions, in words: how many have how much, and which have most.


_STEPS = (0.75, 0.5, 0.25)
_NAMED = 5


def describe_risks(table: pd.DataFrame) -> str:
    """The lines on gold risk of `python -m stages.select_questions --explain`, from the table of
    `survey_questions`:

        gold_risk 0.75 or more: 0 of 385 usable questions
        gold_risk 0.5 or more: 2 of 385 usable questions
        gold_risk 0.25 or more: 11 of 385 usable questions
        riskiest: fleet_train_003 0.61, zoo_eval_012 0.55
    """
    usable = table[table["reason"].isna() & table["gold_risk"].notna()]
    risks = usable["gold_risk"].astype(float)
    lines = [
        f"gold_risk {step:g} or more: {(risks >= step).sum()} of {len(usable)} usable questions"
        for step in _STEPS
    ]
    ranked = usable.assign(gold_risk=-risks).sort_values(["gold_risk", "question_id"])[:_NAMED]
    named = zip(ranked["question_id"], ranked["gold_risk"], strict=True)
    riskiest = ", ".join(f"{question_id} {-risk:.2f}" for question_id, risk in named)
    return "\n".join([*lines, f"riskiest: {riskiest or 'none'}"])

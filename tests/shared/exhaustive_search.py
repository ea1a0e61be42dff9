"""The best selection by trying all of them, straight from the definition of each target."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

from answerkey.dataset import CELLS, Group, Solution, count_cells, count_corpora
from answerkey.records import EVAL, SPLITS, read_share
from answerkey.sections.select_questions import DATASET, Targets

Best = tuple[int, tuple[int, ...], tuple[int, ...]]  # size, cells, corpora


def list_best(solution: Solution) -> Best:
    """A solution as `search_everything` gives it."""
    return (
        solution.size,
        tuple(solution.counts[cell] for cell in CELLS),
        tuple(solution.corpora.values()),
    )


def count_splits(taken: dict[Group, int]) -> Counter[str]:
    """How many questions each split holds."""
    splits = Counter(dict.fromkeys(SPLITS, 0))
    for group, count in taken.items():
        splits[group.split] += count
    return splits


def list_distances(taken: dict[Group, int], targets: Targets) -> dict[str, list[tuple]]:
    """By how many questions each share is off, each with the number that it is a share of."""
    splits, size = count_splits(taken), sum(taken.values())
    distances = {"eval": [], "levels": [], "levels of splits": [], "corpora": []}
    if targets.eval_share is not None:
        off = abs(splits[EVAL] - read_share(targets.eval_share) * size)
        distances["eval"].append((off, size))
    of_dataset = targets.difficulty_shares_of == DATASET
    for level, share in (targets.difficulty_shares or {}).items() if of_dataset else ():
        count = sum(taken for (_, name), taken in count_cells(taken).items() if name == level)
        distances["levels"].append((abs(count - read_share(share) * size), size))
    for kind, shares, counts in (
        ("levels of splits", targets.difficulty_shares, count_cells(taken)),
        ("corpora", targets.corpus_shares, count_corpora(taken, targets.corpora)),
    ):
        for (split, name), count in counts.items() if shares else ():
            off = abs(count - read_share(shares[name]) * splits[split])
            distances[kind].append((off, splits[split]))
    if not of_dataset:
        distances["levels"] = distances.pop("levels of splits")
    return distances


def is_allowed(taken: dict[Group, int], targets: Targets) -> bool:
    """Whether a selection meets the targets."""
    size = sum(taken.values())
    if targets.max_questions is not None and size > targets.max_questions:
        return False
    databases, types = Counter(), Counter()
    for group, count in taken.items():
        databases[group.database_name] += count
        types[group.answer_type] += count
    cap, type_share = targets.max_per_database, targets.max_answer_type_share
    if cap is not None and max(databases.values(), default=0) > cap:
        return False
    if type_share is not None and max(types.values(), default=0) > read_share(type_share) * size:
        return False
    tolerance = read_share(targets.tolerance)
    distances = list_distances(taken, targets)
    asked = [*distances["eval"], *distances["levels"], *distances["corpora"]]
    return all(off <= tolerance * whole for off, whole in asked)


def rank(taken: dict[Group, int], targets: Targets) -> tuple:
    """What is compared where two selections are allowed; the greatest is the best."""
    cells = tuple(count_cells(taken).values())
    corpora = tuple(count_corpora(taken, targets.corpora).values())
    off = {
        kind: sum((off for off, _ in distances), Fraction(0))
        for kind, distances in list_distances(taken, targets).items()
    }
    size = sum(taken.values())
    if targets.corpus_shares is not None and targets.difficulty_shares is None:
        return (size, -off["eval"] - off["corpora"], corpora, cells)
    off_splits = off.get("levels of splits", 0)
    return (size, -off["eval"] - off["levels"], -off_splits, cells, -off["corpora"], corpora)


def search_everything(supply: dict[Group, int], targets: Targets) -> Best:
    """The size, the cells and the corpora of the best selection."""
    best, found = None, {}
    groups = list(supply)
    for counts in itertools.product(*(range(supply[group] + 1) for group in groups)):
        if best is not None and sum(counts) < best[0]:
            continue
        taken = dict(zip(groups, counts, strict=True))
        if is_allowed(taken, targets) and (best is None or rank(taken, targets) > best):
            best, found = rank(taken, targets), taken
    return (
        best[0],
        tuple(count_cells(found).values()),
        tuple(count_corpora(found, targets.corpora).values()),
    )

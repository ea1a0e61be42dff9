"""Detect targets that a corpus cannot meet, before any question is executed. All are reported at
once, each with its key and a value that is possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import floor
from typing import NamedTuple

from answerkey.base.log import spell_count
from answerkey.base.records import EVAL, SPLITS, TRAIN, read_share
from answerkey.sections.select_questions import SMALL, Targets


class Origin(NamedTuple):
    """The facts about a source question before it is executed, as far as targets name them."""

    split: str
    corpus: str
    database_name: str


Supply = Mapping[Origin, int]


def explain_obstacles(supply: Supply, targets: Targets) -> str | None:
    """Return the message that ends a run if the source questions cannot meet the targets; None if
    they may.

    >>> supply = {Origin("train", "mine", "shop"): 25}
    >>> print(explain_obstacles(supply, Targets(eval_share=0.3, min_questions=100)))
    the corpus has less than select_questions.targets ask for: 25 questions, 25 train and 0 eval
    min_questions: 100 are asked for: set it to 25 or less, or to null
    eval_share: 0.3 is asked for, and 0 of 25 are eval: set it to null, or corpora.mine.split to \
{by: query}
    Or ask for no shares of difficulty and eval and no least number: select_questions.preset: small
    """
    lines = list(_list_obstacles(supply, targets))
    if not lines:
        return None
    if targets.difficulty_shares is not None:
        shares = "/".join(f"{100 * share:g}" for share in targets.difficulty_shares.values())
        lines.append(
            f"difficulty_shares: {shares} are asked for, and difficulties are known later: set it"
            " to null, unless you know them"
        )
    of_split = _count_by_split(supply)
    return "\n".join(
        [
            "the corpus has less than select_questions.targets ask for:"
            f" {spell_count(sum(supply.values()), 'question')},"
            f" {of_split[TRAIN]} train and {of_split[EVAL]} eval",
            *lines,
            "Or ask for no shares of difficulty and eval and no least number:"
            f" select_questions.preset: {SMALL}",
        ]
    )


def _list_obstacles(supply: Supply, targets: Targets) -> Iterator[str]:
    total = sum(supply.values())
    if total < (least := targets.min_questions or 0):
        yield f"min_questions: {least} are asked for: set it to {total} or less, or to null"
    wanted = min(targets.min_questions or 1, total)  # as if min_questions were set to the total
    has_obstacle = False
    named = [name for name in _EXPLAIN if getattr(targets, name) is not None]
    for name in named:
        alone = targets.lift(other for other in named if other != name)
        if _bound_size(supply, alone) < wanted:
            has_obstacle = True
            yield f"{name}: {_EXPLAIN[name](supply, alone, wanted)}"
    if not has_obstacle and (most := _bound_size(supply, targets)) < wanted:
        yield (
            f"min_questions: {wanted} are asked for, and {' and '.join(named)} together leave"
            f" {most} at most: set it to {most} or less, or one of them to null"
        )


def _explain_cap(supply: Supply, targets: Targets, wanted: int) -> str:
    names = {origin.database_name for origin in supply}
    cap = -(-wanted // len(names))
    while _bound_size(supply, Targets(max_per_database=cap)) < wanted:
        cap += 1
    return (
        f"{targets.max_per_database} of each of {spell_count(len(names), 'database')} are"
        f" {_bound_size(supply, targets)} at most: set it to {cap} or more, or to null"
    )


def _explain_eval_share(supply: Supply, targets: Targets, wanted: int) -> str:
    total, of_eval = sum(supply.values()), _count_by_split(supply)[EVAL]
    own = round(of_eval / total, 2)
    is_enough = _bound_size(supply, replace(targets, eval_share=own)) >= wanted
    most = _bound_size(supply, targets)
    if most:
        other = f"min_questions to {most} or less"
    else:  # one of the splits is empty
        corpora = sorted({origin.corpus for origin in supply})
        other = " and ".join(f"corpora.{name}.split" for name in corpora) + " to {by: query}"
    return (
        f"{targets.eval_share:g} is asked for, and {of_eval} of {total} are eval:"
        f" set it to {f'{own:g} or ' if is_enough and 0 < own < 1 else ''}null, or {other}"
    )


def _explain_corpus_shares(supply: Supply, targets: Targets, wanted: int) -> str:
    counts = Counter[tuple[str, str]]()
    for origin, count in supply.items():
        counts[origin.split, origin.corpus] += count
    counted = "; ".join(
        f"{split} has {', '.join(f'{counts[split, name]} of {name}' for name in targets.corpora)}"
        for split in SPLITS
    )
    return f"{targets.corpus_shares} are asked for, and {counted}: set it to null"


_EXPLAIN: dict[str, Callable[[Supply, Targets, int], str]] = {
    "max_per_database": _explain_cap,
    "corpus_shares": _explain_corpus_shares,
    "eval_share": _explain_eval_share,
}


def _count_by_split(supply: Supply) -> Counter[str]:
    counts: Counter[str] = Counter()
    for origin, count in supply.items():
        counts[origin.split] += count
    return counts


def _bound_size(supply: Supply, targets: Targets) -> int:
    """Return a size that no selection exceeds, by max_per_database and the shares of eval and
    corpora."""

    def let_through(part: int, rest: int, share: float) -> int:
        """Return how many questions there can be if a share of them must be of the part."""
        low, high = (read_share(share) + sign * read_share(targets.tolerance) for sign in (-1, 1))
        bounds = [part + rest]
        bounds += [floor(part / low)] if low > 0 else []
        bounds += [floor(rest / (1 - high))] if high < 1 else []
        return min(bounds)

    cap = targets.max_per_database
    capped: Counter[tuple[str, str]] = Counter()
    of_database: Counter[str] = Counter()
    for origin, count in supply.items():
        of_database[origin.database_name] += count
        capped[origin.split, origin.corpus] += count if cap is None else min(count, cap)
    of_split: dict[str, int] = {}
    for split in SPLITS:
        whole = sum(count for (of, _), count in capped.items() if of == split)
        of_split[split] = min(
            [
                whole,
                *(
                    let_through(capped[split, name], whole - capped[split, name], share)
                    for name, share in (targets.corpus_shares or {}).items()
                ),
            ]
        )
    size = sum(of_split.values())
    if cap is not None:
        size = min(size, sum(min(count, cap) for count in of_database.values()))
    if targets.eval_share is not None:
        size = min(size, let_through(of_split[EVAL], of_split[TRAIN], targets.eval_share))
    return size

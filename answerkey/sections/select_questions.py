"""The section select_questions: policies, targets, and how questions are chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.kinds import From0, From1, Kind, Share, Whole, mapping, one_of, text
from answerkey.base.reasons import Policy
from answerkey.base.records import DIFFICULTIES, EVAL, SPLITS, read_share

SCOPES = DATASET, SPLIT = ("dataset", "split")
TIE_FLAGS = ("tie_at_limit", "limit_without_order")  # only these may be accept_ties


def _check_ties(policies: dict[str, Any]) -> dict[str, Policy]:
    for flag, policy in policies.items():
        if policy == Policy.ACCEPT_TIES and flag not in TIE_FLAGS:
            raise ValueError(
                f"{flag}: expected exclude, flag or off, found accept_ties, which only"
                f" {' and '.join(TIE_FLAGS)} may be"
            )
    return policies


def _check_sum(shares: dict[str, float]) -> dict[str, float]:
    total = sum(map(read_share, shares.values()), Fraction(0))
    if total != 1:
        raise ValueError(f"expected a sum of 1, found {float(total):g}: {shares}")
    return shares


Policies = Annotated[
    dict[str, Policy],
    mapping(
        "a policy for some flags",
        Kind(
            f"exclude, flag or off, or accept_ties for {' and '.join(TIE_FLAGS)}",
            lambda value: value is False or value in list(Policy),
            finish=lambda value: Policy(value or "off"),  # YAML reads a bare off as false
        ),
        finish=_check_ties,
    ),
]
DifficultyShares = Annotated[
    dict[str, float],
    mapping(", ".join(DIFFICULTIES), Share, keys=DIFFICULTIES, has_all=True, finish=_check_sum),
]
CorpusShares = Annotated[
    dict[str, float],
    mapping("a share for each corpus, as in {spider: 0.5, bird: 0.5}", Share, finish=_check_sum),
]


class AskedShare(NamedTuple):
    """A wanted share: how many of the questions that `whole` names are those that `part` names.

    Both are values by field, such as {"split": "eval"}; {}: all questions.
    """

    part: dict[str, str]
    whole: dict[str, str]
    share: float


@dataclass(frozen=True, slots=True)
class Targets:
    """What a selection must meet; None: no such constraint.

    difficulty_shares: share of each difficulty; they add up to 1.
    difficulty_shares_of: dataset, of train and eval together; split, of each of them.
    corpus_shares: share of each corpus in each split; they add up to 1.
    eval_share: share of eval among all.
    tolerance: how far a share may be off (0.02: two points).
    """

    difficulty_shares: DifficultyShares | None = None
    difficulty_shares_of: Annotated[str, one_of(SCOPES)] = DATASET
    corpus_shares: CorpusShares | None = None
    eval_share: Share | None = None
    tolerance: Share = 0.0
    min_questions: From0 | None = None
    max_questions: From0 | None = None
    max_per_database: From0 | None = None
    max_answer_type_share: Share | None = None

    def __post_init__(self) -> None:
        least, most = self.min_questions, self.max_questions
        if least is not None and most is not None and least > most:
            raise ValueError(
                f"max_questions: expected min_questions, {least}, or more, found {most}"
            )

    @property
    def corpora(self) -> tuple[str, ...]:
        """Return the corpora that have a share, sorted: their order in params has no effect."""
        return tuple(sorted(self.corpus_shares or ()))

    def lift(self, names: Iterable[str]) -> Targets:
        """Return the targets without these."""
        lifted: dict[str, Any] = dict.fromkeys(names)
        return replace(self, **lifted)

    def list_shares(self) -> list[AskedShare]:
        asked = []
        if self.eval_share is not None:
            asked.append(AskedShare({"split": EVAL}, {}, self.eval_share))
        splits = [{"split": split} for split in SPLITS]
        wholes = [{}] if self.difficulty_shares_of == DATASET else splits
        for level, share in (self.difficulty_shares or {}).items():
            asked += [AskedShare({**whole, "difficulty": level}, whole, share) for whole in wholes]
        for corpus, share in sorted((self.corpus_shares or {}).items()):
            asked += [AskedShare({**split, "corpus": corpus}, split, share) for split in splits]
        return asked

    def check_corpora(self, corpus: str | list[str]) -> None:
        """Check that either no corpus has a share, or exactly the corpora of params have one."""
        expected = sorted({corpus} if isinstance(corpus, str) else set(corpus))
        if self.corpus_shares is not None and list(self.corpora) != expected:
            raise InputError(
                "select_questions.targets.corpus_shares: expected a share for each of the corpora"
                f" {', '.join(expected)}, found {', '.join(self.corpora)}:"
                " every corpus of `corpus` needs one, which may be 0"
            )


SMALL = "small"
# The targets that a preset lifts, whatever `targets` says.
LIFTED = {SMALL: ("difficulty_shares", "eval_share", "min_questions")}


@dataclass(frozen=True, slots=True)
class SelectQuestions:
    """How questions are chosen.

    preset: small, for a corpus of few questions: its difficulty_shares, eval_share and
        min_questions are null, whatever targets say.
    seed: decides between questions whose test suites have the same score.
    policies: those that differ from the defaults of `answerkey.flags`.
    max_per_canonical_sql: how many questions of a database may have the same canonical SQL.
    """

    seed: Whole = 20
    policies: Policies = field(default_factory=dict)
    targets: Targets = field(default_factory=Targets)
    max_per_canonical_sql: From1 | None = None
    preset: Annotated[str, text(SMALL, pattern=rf"^{SMALL}\Z")] | None = None

    def __post_init__(self) -> None:
        if self.preset is not None:
            # So that no code reads a target that the preset lifts.
            object.__setattr__(self, "targets", self.targets.lift(LIFTED[self.preset]))

"""A dataset as a whole, wherever it is from: its records are held against gold SQL, executed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from answerkey.core.question import EASY, HARD, MEDIUM
from answerkey.selection.difficulty_rule import DifficultyRule
from answerkey.selection.targets import Targets
from answerkey.sqlite.answers import Order
from answerkey.sqlite.guard import Limits
from answerkey.validation.checks import Record, Terms, find_errors
from answerkey.validation.derived_facts import RULE_OF_TABLES, derive_facts

SHARES = Targets(difficulty_shares={EASY: 0.4, MEDIUM: 0.4, HARD: 0.2}, tolerance=0.02)


def validate_dataset(
    questions: Iterable[Record],
    db_paths: Mapping[str, str | os.PathLike[str]],
    *,
    targets: Targets | None = SHARES,
    rule: DifficultyRule = RULE_OF_TABLES,
    order_matters: Mapping[str, Order] | None = None,
    source_difficulties: Mapping[str, str] | None = None,
    corpora: Mapping[str, str] | None = None,
    solved_shares: Mapping[str, float] | None = None,
    has_unique_texts: bool = True,
    rel_tol: float = 1e-6,
    limits: Limits | None = None,
) -> list[str]:
    """Every error of a dataset, in words; none: it is good.

    >>> validate_dataset([{"question_id": "a_train_000"}], {})  # doctest: +ELLIPSIS
    ['a_train_000: fields: expected question_id, question_text, ..., found question_id']
    >>> validate_dataset([], {})
    ['dataset: expected questions, found none']

    Fields and their order, types, vocabularies, ids and splits are checked. Gold SQL is executed on
    `db_paths`: its answer must be gold_answer, as a sequence where its order is certain, and its
    tables tables_involved. The number of tables makes the difficulty (1 or 2: easy, 3: medium), 40%
    of the dataset are easy, 40% medium and 20% hard, within two points, and no database is asked
    one text twice.

    A dataset that was made by other params needs their `targets` (None: no shares) and `rule`. What
    these ask for comes by question_id: what the corpus says of its difficulty
    (`source_difficulties`), its corpus (`corpora`), and the share of its rollouts that are right
    (`solved_shares`). `order_matters` says whose answers are sequences, or the lengths of segments
    of which each may come in any order. `has_unique_texts=False` lets texts come again.

    Raises:
        sqlite3.Error: where a file is no database, or a corrupt one.
    """
    known = {
        "order_matters": order_matters,
        "source_difficulties": source_difficulties,
        "corpora": corpora,
        "solved_shares": solved_shares,
    }
    with derive_facts(db_paths, rule=rule, limits=limits, **known) as look_up:
        return find_errors(questions, look_up, Terms(targets, has_unique_texts, rel_tol))

"""The pool that scores predictions: `answerkey.reward` says what its methods and options are."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import repeat
from typing import Any, Self

from answerkey.scoring.completions import read_completion
from answerkey.scoring.jobs import Explanation, Job, Kind
from answerkey.scoring.pool import DEFAULT_LIMITS, Pool, find_shared_pool
from answerkey.scoring.rules import Rule, read_rule
from answerkey.scoring.worker import DATABASES_VARIABLE, SUITES_VARIABLE
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import Limits, Row

_LOG = logging.getLogger("answerkey.scoring")

DATABASES = "data/databases"
TEST_SUITES = "data/test_suites"

PathLike = str | os.PathLike[str]
LimitsLike = Limits | Mapping[str, int]


class RewardPool:
    """Worker processes that score predictions; use it as a context manager, or close it.

    >>> with RewardPool(workers=4, databases="data/databases") as pool:     # doctest: +SKIP
    ...     pool.score_completions(completions, **columns)
    [1.0, 0.0, ...]

    Workers start as they are needed. Threads may share a pool; in a fork it has workers of its own.
    Options and methods are those of `answerkey.reward`.

    Raises:
        FileNotFoundError: where the folder of the databases is missing.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        databases: PathLike | None = None,
        test_suites: PathLike | None = None,
        limits: LimitsLike | None = None,
        rule: str | Rule | None = None,
        rel_tol: float | None = None,
    ) -> None:
        if isinstance(limits, Mapping):
            limits = replace(DEFAULT_LIMITS, **limits)
        self._folder = databases
        self._suites_folder = test_suites
        self._rule = rule
        self._rel_tol = rel_tol
        if rule is not None:
            _warn_if_loose(read_rule(rule))
        self._pool = self._find_processes(workers, limits)
        folder = self.find_folder()
        if not os.path.isdir(folder):
            raise FileNotFoundError(
                f"No databases at {folder}: expected the folder of the dataset; fetch it by `dvc"
                f" pull data/databases`, or say where it is by the option `databases` or the"
                f" environment variable {DATABASES_VARIABLE}"
            )

    @staticmethod
    def _find_processes(workers: int | None, limits: Limits | None) -> Pool:
        return Pool(workers, limits=limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers; they start again where the pool is asked again."""
        self._pool.close()

    def execute(self, predicted_sql: str, database_name: str) -> list[Row] | None:
        path = _find_path(self.find_folder(), database_name)
        return self._pool.run([Job(Kind.EXECUTE, path, str(predicted_sql))])[0]

    def score_sql(
        self, predicted_sql: str | None, gold_answer: Any, *, database_name: str, **question: Any
    ) -> float:
        return self._ask(Kind.SCORE, predicted_sql, gold_answer, database_name, **question)

    def explain_score(
        self, predicted_sql: str | None, gold_answer: Any, *, database_name: str, **question: Any
    ) -> Explanation:
        return self._ask(Kind.EXPLAIN, predicted_sql, gold_answer, database_name, **question)

    def _ask(
        self,
        kind: Kind,
        predicted_sql: str | None,
        gold_answer: Any,
        database_name: str,
        *,
        order_matters: bool,
        max_steps: int | None = None,
        rule: str | Rule | None = None,
        accepted_rows: Sequence[Any] | None = None,
        test_suite: list[dict[str, Any]] | None = None,
        database_sha256: str | None = None,
    ) -> Any:
        job = Job(
            kind,
            _find_path(self.find_folder(), database_name),
            predicted_sql if predicted_sql is None else str(predicted_sql),
            max_steps=max_steps,
            gold_answer=json.dumps(gold_answer),
            order_matters=bool(order_matters),
            rule=self._choose_rule(rule),
            accepted_rows=None if accepted_rows is None else json.dumps(accepted_rows),
            test_suite=None if test_suite is None else json.dumps(test_suite),
            suites_folder=self._find_suites_folder(),
            database_sha256=database_sha256,
        )
        return self._pool.run([job])[0]

    def compute_score(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: str,
        extra_info: Mapping[str, Any] | None = None,
    ) -> float:
        if extra_info is None:
            raise ValueError(f"{data_source}: expected extra_info with database_name, found none")
        (reward,) = self.score_completions(
            [solution_str],
            gold_answer=[ground_truth],
            database_name=[extra_info["database_name"]],
            order_matters=[extra_info["order_matters"]],
            max_steps=[extra_info.get("max_steps")],
            rule=[extra_info.get("rule")],
            accepted_rows=[extra_info.get("accepted_rows")],
            test_suite=[extra_info.get("test_suite")],
            database_sha256=[extra_info.get("database_sha256")],
        )
        return reward

    def score_completions(
        self,
        completions: Sequence[Any],
        *,
        gold_answer: Sequence[str],
        database_name: Sequence[str],
        order_matters: Sequence[bool],
        max_steps: Iterable[int | None] | None = None,
        rule: Iterable[str | None] | str | Rule | None = None,
        accepted_rows: Iterable[str | None] | None = None,
        test_suite: Iterable[str | None] | None = None,
        database_sha256: Iterable[str | None] | None = None,
        **_: Any,
    ) -> list[float]:
        count, folder = len(completions), self.find_folder()
        suites_folder = self._find_suites_folder()
        if rule is None or isinstance(rule, str | Rule):
            if rule is not None:
                _warn_if_loose(read_rule(rule))
            rule = repeat(rule, count)
        columns = zip(
            completions,
            database_name,
            gold_answer,
            order_matters,
            repeat(None, count) if max_steps is None else max_steps,
            rule,
            repeat(None, count) if accepted_rows is None else accepted_rows,
            repeat(None, count) if test_suite is None else test_suite,
            repeat(None, count) if database_sha256 is None else database_sha256,
            strict=True,
        )
        # A worker has none of the packages of its user: it is sent Python's own types alone.
        return self._pool.run(
            [
                Job(
                    Kind.SCORE,
                    _find_path(folder, name),
                    str(read_completion(completion)),
                    is_completion=True,
                    max_steps=None if steps is None else int(steps),
                    gold_answer=_read_json("gold_answer", answer),
                    order_matters=bool(ordered),
                    rule=self._choose_rule(by),
                    accepted_rows=accepted and _read_json("accepted_rows", accepted),
                    test_suite=suite and _read_json("test_suite", suite),
                    suites_folder=suites_folder,
                    database_sha256=sha256 and str(sha256),
                )
                for completion, name, answer, ordered, steps, by, accepted, suite, sha256 in columns
            ]
        )

    async def compute_score_async(self, *arguments: Any, **named: Any) -> float:
        return await asyncio.to_thread(self.compute_score, *arguments, **named)

    async def score_completions_async(
        self, completions: Sequence[Any], **columns: Any
    ) -> list[float]:
        return await asyncio.to_thread(self.score_completions, completions, **columns)

    def find_folder(self) -> str:
        """The folder of the databases, as an absolute path."""
        return os.path.abspath(self._folder or os.environ.get(DATABASES_VARIABLE) or DATABASES)

    def _find_suites_folder(self) -> str:
        folder = self._suites_folder or os.environ.get(SUITES_VARIABLE) or TEST_SUITES
        return os.path.abspath(folder)

    def _choose_rule(self, of_question: str | Rule | None) -> Rule:
        return find_rule(self._rule or of_question, self._rel_tol)


class SharedPool(RewardPool):
    """Options of one call; the workers are those of all calls with the same limits."""

    @staticmethod
    def _find_processes(workers: int | None, limits: Limits | None) -> Pool:
        return find_shared_pool(workers, limits)


@lru_cache
def _warn_if_loose(rule: Rule) -> None:
    """Say once that a rule which is set for all questions lets guesses through."""
    if rule.is_loose:
        _LOG.warning(
            "rule %r is set for all questions: by it, guesses that were not asked for are right"
            " (docs/exports.md, Rules of comparison)",
            rule.name,
        )


@lru_cache
def find_rule(rule: str | Rule | None, rel_tol: float | None = None) -> Rule:
    """The rule of a name, strict without one; with another tolerance, if one is given."""
    found = read_rule(rule or "strict")
    return found if rel_tol is None else replace(found, rel_tol=rel_tol)


@lru_cache(4096)
def _find_path(folder: str, database_name: str) -> str:
    return str(find_inside(folder, f"{database_name}/{database_name}.sqlite"))


def _read_json(name: str, text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"{name}: expected JSON text, as exports have it, found {type(text).__name__}:"
            f" {text!r:.80}"
        )
    return str(text)

"""TRL: environments of GRPOTrainer in which a policy may query the database by a tool, and a reward
function that logs what is wrong.

    with RewardPool() as pool:
        GRPOTrainer(model, ExplainedReward(pool), args, train_dataset=questions,
                    environment_factory=partial(SqlEnvironment, pool))

The data are those of data/exports/trl/prompt_only. In `SqlEnvironment` the last reply is scored, as
without a tool, by `pool.score_completions` or `ExplainedReward`. `AnswerEnvironment` is for runs
that mix tasks: the policy answers by a tool, and the environment computes the reward.

All of them can be pickled with their pool, as AsyncGRPOTrainer requires.

Source: GRPOTrainer in TRL 1.16. `environment_factory` uses every public method but reset and
get_reward as a tool, and passes all columns of a row to reset; reward functions get `log_extra` and
`log_metric`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from answerkey.environments.questions import COLUMNS, explain_query, run_sql
from answerkey.reward import Explanation, RewardPool
from answerkey.scoring.comparison import DifferenceKind
from answerkey.scoring.worker import NO_QUERY

_THREADS = 32  # that wait for the workers of the pool
_ANSWER = (
    "\n\nDo not reply with the query: hand it to the tool `answer`. You may look around in the"
    " database by the tool `run_sql` before."
)


class SqlEnvironment:
    """The read-only database of one question at a time."""

    def __init__(self, pool: RewardPool) -> None:
        self._pool = pool
        self._database_name = ""
        self._now: str | None = None

    def reset(self, *, database_name: str, now: str | None = None, **_: Any) -> str | None:
        """Switch to the database of the next question. The prompt has its schema."""
        self._database_name = database_name
        self._now = now
        return None

    def run_sql(self, sql: str) -> str:
        """Run a query on the database of the question, which it cannot change. Gives the first rows
        as JSON, or the error of its engine.

        Args:
            sql: A query in the SQL of that database.
        """
        return run_sql(self._pool, sql, self._database_name, self._now)


class AnswerEnvironment(SqlEnvironment):
    """The same, with a tool for the answer: the environment computes its reward."""

    def __init__(self, pool: RewardPool) -> None:
        super().__init__(pool)
        self._columns: dict[str, Any] = {}
        self._sql: str | None = None

    def reset(self, **columns: Any) -> str:
        """Switch to the next question. Return the prompt's addition about the tools."""
        super().reset(**columns)
        self._columns, self._sql = columns, None
        return _ANSWER

    def answer(self, sql: str) -> str:
        """Answer the question with a query. If there are several answers, the last one counts.

        Args:
            sql: A query in the SQL of that database.
        """
        self._sql = sql
        return "The answer is taken."

    def get_reward(self) -> float:
        """Return the reward of the last answer; 0.0 without one."""
        return explain_query(self._pool, self._sql, self._columns).reward


class ExplainedReward:
    """`pool.score_completions`, which also logs what is wrong.

    TRL's table of completions has the columns `reason` and `detail`. Its metrics are shares of the
    completions of a step, which add up to 1 with the reward:

    - answerkey/no_query: no fenced query.
    - answerkey/no_answer: the engine refuses the query, or it exceeds a limit.
    - answerkey/wrong: other rows, on the database of the question.
    - answerkey/wrong_on_suite: right there, and wrong on its test suite, as a guess is.
    """

    def __init__(self, pool: RewardPool) -> None:
        self._pool = pool

    def __call__(
        self,
        completions: Sequence[Any],
        *,
        gold_answer: Sequence[str],
        log_extra: Callable[[str, list[str]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float]:
        known = [name for name in COLUMNS if name in columns]
        rows = zip(completions, gold_answer, *(columns[name] for name in known), strict=True)
        with ThreadPoolExecutor(_THREADS) as threads:
            explained = [*threads.map(partial(self._explain, known), rows)]
        if log_extra is not None:
            log_extra("reason", [each.reason or "" for each in explained])
            log_extra("detail", [each.detail for each in explained])
        if log_metric is not None:
            kinds = [*map(_find_kind, explained)]
            for kind in ("no_query", "no_answer", "wrong", "wrong_on_suite"):
                log_metric(f"answerkey/{kind}", kinds.count(kind) / len(kinds))
        return [each.reward for each in explained]

    def _explain(self, names: list[str], row: tuple[Any, ...]) -> Explanation:
        completion, gold_answer, *values = row
        terms: dict[str, Any] = dict(zip(names, values, strict=True))
        return self._pool.explain_completion(completion, json.loads(gold_answer), **terms)


def _find_kind(explained: Explanation) -> str:
    if explained.reward:
        return "right"
    if explained.reason == NO_QUERY:
        return "no_query"
    if explained.database is not None:
        return "wrong_on_suite"
    return "wrong" if explained.reason in {*DifferenceKind} else "no_answer"

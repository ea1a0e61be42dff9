"""inspect_ai: the task `text_to_sql`, whose scorer compares with stored gold answers.

    inspect eval answerkey/text_to_sql --model openai/gpt-5 -T split=eval -T tools=true

Without tools a model replies once. With tools it may query the database of its question: run_sql
shows the first rows of a query. Its last reply is scored.

Source: "Tasks", "Scorers", "Tools" and "Extensions" in the documentation of inspect_ai.
"""

from __future__ import annotations

import asyncio
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.tool import Tool, tool

from answerkey.engines.names import SQLITE, TITLES
from answerkey.environments.questions import EXPORTS, explain_reply, list_terms, load_questions
from answerkey.environments.questions import run_sql as run_query
from answerkey.reward import RewardPool


@task
def text_to_sql(
    source: str = EXPORTS,
    split: str = "eval",
    tools: bool = False,
    message_limit: int | None = 20,
    **reward: Any,
) -> Task:
    """Return the task for a split. Raises FileNotFoundError if exports or databases are missing.

    source: data/exports, or a source of `answerkey.load`, such as "your-name/your-dataset".
    reward: options of `answerkey.reward.RewardPool`.
    """
    questions, folders = load_questions(source, split)
    pool = RewardPool(**{**folders, **reward})
    samples = [
        Sample(
            input=question.prompt,
            target=list_terms(question)["gold_answer"],
            id=question.question_id,
            metadata=list_terms(question),
        )
        for question in questions
    ]
    return Task(
        dataset=MemoryDataset(samples, name=f"answerkey_{split}"),
        solver=[look_around(pool), generate()] if tools else generate(),
        scorer=execution_match(pool),
        message_limit=message_limit,
        cleanup=None,
    )


@solver
def look_around(pool: RewardPool) -> Solver:
    """Give the model run_sql, for the database of its question."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        terms = state.metadata
        state.tools = [
            run_sql(pool, terms["database_name"], terms.get("now"), engine=terms["engine"])
        ]
        return state

    return solve


@tool
def run_sql(
    pool: RewardPool, database_name: str, now: str | None = None, *, engine: str = SQLITE
) -> Tool:
    """Run a query on a database, which it cannot change, at the instant of its question."""

    async def execute(sql: str) -> str:
        """Run a query on the database of the question, which it cannot change. Gives the first rows
        as JSON, or the error of SQLite.

        Args:
            sql: A query of SQLite.
        """
        return await asyncio.to_thread(run_query, pool, sql, database_name, now)

    # inspect_ai reads the description of a tool from its docstring.
    execute.__doc__ = (execute.__doc__ or "").replace(TITLES[SQLITE], TITLES[engine])
    return execute


@scorer(metrics=[mean(), stderr()])
def execution_match(pool: RewardPool) -> Scorer:
    """Score 1.0 if the query of the last reply gives the gold answer, else 0.0 with the reason."""

    async def score(state: TaskState, target: Target) -> Score:
        reply = state.output.completion
        explained = await asyncio.to_thread(explain_reply, pool, reply, state.metadata)
        return Score(
            value=explained.reward,
            answer=reply,
            explanation=explained.detail,
            metadata={"reason": explained.reason, "database": explained.database},
        )

    return score

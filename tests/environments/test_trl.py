"""The environment for TRL: GRPOTrainer itself asks a scripted policy, calls its tool and scores it.

The model has random weights, and its tokens are replaced by those of the policy.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from answerkey.environments.trl import AnswerEnvironment, ExplainedReward, SqlEnvironment
from answerkey.reward import RewardPool, extract_sql
from tests.shared.question_world import COUNT, LOOKS, QuestionWorld, score_fifty
from tests.shared.tiny_models import make_model, make_tokenizer

trl = pytest.importorskip("trl", reason="TRL has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies

GENERATIONS = 2
Policy = Callable[[str], str]  # from a prompt to a reply


def read_template() -> str:
    """The chat template of Qwen3, by which TRL knows calls of tools."""
    folder = Path(trl.__file__).parent / "chat_templates"
    return (folder / "qwen3_instruct_2507.jinja").read_text(encoding="utf-8")


def read_rows(world: QuestionWorld, folder: Path) -> Any:
    from datasets import Dataset

    path = world.folder / "data/exports/trl/prompt_completion/train.parquet"
    return Dataset.from_parquet(str(path), cache_dir=str(folder))


def make_trainer(folder: Path, rows: Any, policy: Policy, **arguments: Any) -> Any:
    """A trainer that asks the policy, one question a step, in the order of the rows."""
    tokenizer = make_tokenizer(read_template())

    def reply(prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        replies = [policy(tokenizer.decode(ids)) for ids in prompt_ids]
        return [tokenizer(said + "<|im_end|>")["input_ids"] for said in replies], None

    settings = {
        "per_device_train_batch_size": GENERATIONS,
        "num_generations": GENERATIONS,
        "max_completion_length": 200_000,
        "max_steps": len(rows),
        "shuffle_dataset": False,
        "logging_steps": 1,
        "report_to": [],
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
        **arguments.pop("settings", {}),
    }
    trainer = trl.GRPOTrainer(
        make_model(tokenizer),
        args=trl.GRPOConfig(output_dir=str(folder / "out"), **settings),
        train_dataset=rows,
        processing_class=tokenizer,
        **arguments,
    )
    trainer._generate_single_turn = reply
    trainer.model.train()
    return trainer


def write_call(tool: str, sql: str) -> str:
    call = json.dumps({"name": tool, "arguments": {"sql": sql}})
    return f"<tool_call>\n{call}\n</tool_call>"


def play(world: QuestionWorld, folder: Path, *, count: int, look: str | None) -> dict[str, Any]:
    """The completion and the reward of each of the first questions, by its id."""
    found: dict[str, Any] = {}

    def policy(prompt: str) -> str:
        if look and "<tool_response>" not in prompt:
            return write_call("run_sql", look)
        return world.find_reply(prompt)

    with RewardPool(workers=1) as pool:

        def watch(completions: list[Any], **columns: Any) -> list[float]:
            rewards = pool.score_completions(completions, **columns)
            for name, completion, reward in zip(
                columns["question_id"], completions, rewards, strict=True
            ):
                found[name] = completion, reward
            return rewards

        rows = read_rows(world, folder).select(range(count))
        trainer = make_trainer(
            folder,
            rows,
            policy,
            reward_funcs=watch,
            environment_factory=partial(SqlEnvironment, pool),
        )
        for row in rows:
            trainer._generate_and_score_completions([row] * GENERATIONS)  # a step, but for learning
    return dict(sorted(found.items()))


def test_replies_have_the_scores_of_the_reward(fifty: QuestionWorld, tmp_path: Path) -> None:
    found = play(fifty, tmp_path, count=COUNT, look=None)
    assert [reward for _, reward in found.values()] == score_fifty(fifty)


@pytest.mark.parametrize(("look", "shown"), LOOKS)
def test_the_tool_reads_the_database_of_the_question(
    fifty: QuestionWorld, tmp_path: Path, look: str, shown: str
) -> None:
    found = play(fifty, tmp_path, count=3, look=look)
    assert [reward for _, reward in found.values()] == score_fifty(fifty)[:3]
    for completion, _ in found.values():
        roles = [message["role"] for message in completion]
        assert roles == ["assistant", "tool", "assistant"]
        assert shown in completion[1]["content"]


def test_training_logs_what_is_wrong(fifty: QuestionWorld, tmp_path: Path) -> None:
    from datasets import Dataset

    numbers = [0, 1, 2, 3, 37]
    kinds = ["right", "wrong", "no_answer", "no_query", "wrong_on_suite"]
    rows = read_rows(fifty, tmp_path).select(numbers)
    with RewardPool(workers=1) as pool:
        trainer = make_trainer(
            tmp_path,
            rows,
            fifty.find_reply,
            reward_funcs=[ExplainedReward(pool), pool.score_completions_async],
            settings={"log_completions": True, "reward_weights": [1.0, 0.0]},
        )
        trainer.train()
    steps = [step for step in trainer.state.log_history if "reward" in step]
    rewards = [score_fifty(fifty)[number] for number in numbers]
    assert [step["reward"] for step in steps] == rewards
    assert [step["rewards/score_completions_async/mean"] for step in steps] == rewards
    shares = [{name: step[f"answerkey/{name}"] for name in kinds[1:]} for step in steps]
    assert shares == [{name: float(name == kind) for name in kinds[1:]} for kind in kinds]
    tables = sorted((tmp_path / "out/completions").glob("*.parquet"))
    logged = Dataset.from_parquet([*map(str, tables)], cache_dir=str(tmp_path / "logged"))
    assert len(tables) == len(numbers)
    assert set(logged["reason"]) == {"", "wrong_rows", "not_a_select", "no_query", "too_few_rows"}


def test_a_run_that_mixes_tasks_takes_answers_by_a_tool(
    fifty: QuestionWorld, tmp_path: Path
) -> None:
    class Greeting:
        """Another task of the run."""

        def reset(self, **_: Any) -> None:
            pass

        def get_reward(self) -> float:
            return 0.25

    asked: list[str] = []

    def policy(prompt: str) -> str:
        asked.append(prompt)
        turn = prompt.count("<tool_response>")
        if "Question number" not in prompt or turn == 2:
            return "Goodbye."
        tool, reply = (
            ("answer", fifty.find_reply(prompt)) if turn else ("run_sql", "```SELECT 1```")
        )
        return write_call(tool, extract_sql(reply) or "")

    rows = read_rows(fifty, tmp_path).select([0, 1])
    rows = rows.add_column("environment", ["sql", "sql"])
    greeting = {**dict.fromkeys(rows.column_names), "environment": "greeting"}
    greeting["prompt"] = [{"role": "user", "content": "Good morning."}]
    rows = rows.add_item(greeting)
    with RewardPool(workers=1) as pool:
        factories = {"sql": partial(AnswerEnvironment, pool), "greeting": Greeting}
        trainer = make_trainer(tmp_path, rows, policy, environment_factory=factories)
        trainer.train()
    steps = [step for step in trainer.state.log_history if "reward" in step]
    assert [step["reward"] for step in steps] == [1.0, 0.0, 0.25]
    assert "Do not reply with the query: hand it to the tool `answer`." in asked[0]


def test_a_process_of_rollouts_takes_environments_and_rewards(fifty: QuestionWorld) -> None:
    with RewardPool(workers=1) as pool:
        factory = partial(AnswerEnvironment, pool)
        made = pickle.loads(pickle.dumps([ExplainedReward(pool), factory]))
    score, make_environment = made
    facts = fifty.examples[0].facts
    answer = {"gold_answer": fifty.examples[0].ground_truth}
    columns = {name: [value] for name, value in (facts | answer).items()}
    assert score(fifty.replies[:1], **columns) == [1.0]
    environment = make_environment()
    environment.reset(**facts, **answer)
    environment.answer(fifty.examples[0].question.gold_sql)
    assert environment.get_reward() == 1.0

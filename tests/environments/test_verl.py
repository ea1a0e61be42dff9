"""The agent loop for verl: its dataset, its workers of loops and its workers of rewards play, on a
Ray cluster of their own. The server of the model is scripted."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.shared.paths import ROOT
from tests.shared.question_world import LOOKS, QuestionWorld, score_fifty
from tests.shared.tiny_models import make_model, make_tokenizer
from tests.shared.transcripts import read_blocks

if find_spec("verl") is None:
    pytest.skip("verl has an environment of its own", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies

NUMBERS = [0, 1, 2, 3, 4, 37]
FENCED = "```sql\n{}\n```"
# As Qwen's models write tools, calls and their answers.
CHAT_TEMPLATE = (
    "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}"
    "<|im_end|>\n{% endif %}"
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}<|im_start|>user\n<tool_response>\n{{ message.content }}\n"
    "</tool_response><|im_end|>\n"
    "{% else %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<tool_call>\n{{ call.function | tojson }}\n"
    "</tool_call>{% endfor %}<|im_end|>\n{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class ScriptedServer:
    """Says what the turns of a question are, and then its reply."""

    def __init__(self, tokenizer: Any, replies: list[str], turns: dict[int, list[str]]) -> None:
        self.tokenizer, self.replies, self.turns = tokenizer, replies, turns

    async def generate(self, request_id: str, *, prompt_ids: list[int], **_: Any) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        prompt = self.tokenizer.decode(prompt_ids)
        number = int(prompt.split("Question number ")[1][:3])
        turns = [*self.turns.get(number, []), self.replies[number]]
        ids = self.tokenizer(turns[prompt.count("<tool_response>")] + "<|im_end|>")["input_ids"]
        return TokenOutput(token_ids=ids, log_probs=[0.0] * len(ids), extra_fields={})


def write_call(sql: str) -> str:
    call = json.dumps({"name": "run_sql", "arguments": {"sql": sql}})
    return f"<tool_call>\n{call}\n</tool_call>"


def make_config(world: QuestionWorld, model: Path, *settings: str) -> Any:
    """verl's configuration of PPO as a user sets it, and no GPU."""
    import verl
    from hydra import compose, initialize_config_dir

    folder = Path(verl.__file__).parent / "trainer/config"
    with initialize_config_dir(config_dir=str(folder), version_base=None):
        return compose(
            "ppo_trainer",
            [
                f"data.train_files={world.folder}/data/exports/verl/train.parquet",
                f"+data.cache_dir={model.parent}",
                "data.max_prompt_length=2048",
                "data.max_response_length=4096",
                f"actor_rollout_ref.model.path={model}",
                "actor_rollout_ref.rollout.name=vllm",
                "actor_rollout_ref.rollout.agent.num_workers=1",
                "reward.num_workers=1",
                "+reward.custom_reward_function.reward_kwargs.workers=1",
                *settings,
            ],
        )


@pytest.fixture
def cluster(fifty: QuestionWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Ray cluster that stands in the world's folder."""
    import ray

    # Workers cannot import it: verl brings a package `tests` of its own.
    ray.cloudpickle.register_pickle_by_value(sys.modules[ScriptedServer.__module__])
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Paths of sockets have to be short.
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        ray.init(
            "local", num_cpus=4, include_dashboard=False, log_to_driver=False, _temp_dir=folder
        )
        try:
            yield
        finally:
            ray.shutdown()


def play(config: Any, server: ScriptedServer) -> tuple[list[float], list[str]]:
    """The reward and the text of the response of each question."""
    import ray
    from verl import DataProto
    from verl.experimental.agent_loop.agent_loop import AgentLoopManager
    from verl.experimental.reward_loop import RewardLoopManager
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

    tokenizer = server.tokenizer
    rows = RLHFDataset(config.data.train_files, tokenizer, config.data)
    batch = DataProto.from_single_dict(collate_fn([rows[number] for number in NUMBERS]))
    rewards = RewardLoopManager(config).reward_loop_worker_handles
    manager = AgentLoopManager.create(config, server, reward_loop_worker_handles=rewards)
    played = manager.generate_sequences(batch)
    for worker in [*rewards, *manager.agent_loop_workers]:  # they have names
        ray.kill(worker)
    responses = tokenizer.batch_decode(played.batch["responses"], skip_special_tokens=True)
    return played.batch["rm_scores"].sum(dim=1).tolist(), responses


def test_trajectories_have_the_scores_of_the_reward(
    fifty: QuestionWorld, cluster: None, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    tokenizer = make_tokenizer(CHAT_TEMPLATE)
    tokenizer.save_pretrained(model)
    make_model(tokenizer).save_pretrained(model)
    scores = [score_fifty(fifty)[number] for number in NUMBERS]
    alone = make_config(
        fifty,
        model,
        "reward.custom_reward_function.path=pkg://answerkey.reward",
        "reward.custom_reward_function.name=compute_score_async",
    )
    assert play(alone, ScriptedServer(tokenizer, fifty.replies, {}))[0] == scores
    looks = [write_call(sql) for sql, _ in LOOKS]
    page = read_blocks(ROOT / "docs/environments.md", "")
    told = next(block for block in page if "agent_loop_config_path" in block)
    settings = told.replace("environments/verl/", f"{ROOT}/environments/verl/").split()
    looping = make_config(fifty, model, *settings)
    # The first question: a query beside a call is no answer, be it right.
    gold = FENCED.format(fifty.examples[NUMBERS[0]].question.gold_sql)
    turns = dict.fromkeys(NUMBERS, looks) | {NUMBERS[0]: [gold + looks[0], *looks[1:]]}
    replies = [*fifty.replies]
    replies[NUMBERS[0]] = "I do not know."
    rewards, responses = play(looping, ScriptedServer(tokenizer, replies, turns))
    assert rewards == [0.0, *scores[1:]]
    for response in responses:
        assert [shown in response for _, shown in LOOKS] == [True] * len(LOOKS)

"""The environment for TRL: GRPOTrainer itself asks a scripted policy, calls its tool and scores it.

The model has random weights, and its tokens are replaced by those of the policy.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from answerkey.reward import RewardPool
from tests.shared.question_world import COUNT, LOOKS, QuestionWorld, score_fifty

trl = pytest.importorskip("trl", reason="TRL has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies

MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
GENERATIONS = 2


def make_tokenizer() -> Any:
    """A token a byte, and the chat template of Qwen3, by which TRL knows calls of tools."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = [*MARKS, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({text: number for number, text in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(MARKS))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>"
    )
    folder = Path(trl.__file__).parent / "chat_templates"
    fast.chat_template = (folder / "qwen3_instruct_2507.jinja").read_text(encoding="utf-8")
    return fast


def make_model(tokenizer: Any) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "head_dim": 4}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    known = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = Qwen3Config(
        vocab_size=len(tokenizer), max_position_embeddings=300_000, **sizes, **heads, **known
    )
    return Qwen3ForCausalLM(config)


def play(world: QuestionWorld, folder: Path, *, count: int, look: str | None) -> dict[str, Any]:
    """The completion and the reward of each of the first questions, by its id."""
    from datasets import Dataset

    from answerkey.environments.trl import SqlEnvironment

    tokenizer = make_tokenizer()
    path = world.folder / "data/exports/trl/prompt_completion/train.parquet"
    rows = Dataset.from_parquet(str(path), cache_dir=str(folder))
    found: dict[str, Any] = {}
    call = (
        f"<tool_call>\n{json.dumps({'name': 'run_sql', 'arguments': {'sql': look}})}\n</tool_call>"
    )

    def reply(prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        texts = [tokenizer.decode(ids) for ids in prompt_ids]
        replies = [
            call if look and "<tool_response>" not in text else world.find_reply(text)
            for text in texts
        ]
        return [tokenizer(said + "<|im_end|>")["input_ids"] for said in replies], None

    with RewardPool(workers=1) as pool:

        def watch(completions: list[Any], **columns: Any) -> list[float]:
            rewards = pool.score_completions(completions, **columns)
            for name, completion, reward in zip(
                columns["question_id"], completions, rewards, strict=True
            ):
                found[name] = completion, reward
            return rewards

        trainer = trl.GRPOTrainer(
            make_model(tokenizer),
            watch,
            trl.GRPOConfig(
                output_dir=str(folder / "out"),
                per_device_train_batch_size=GENERATIONS,
                num_generations=GENERATIONS,
                max_completion_length=200_000,
                report_to=[],
                save_strategy="no",
                use_cpu=True,
                disable_tqdm=True,
            ),
            train_dataset=rows,
            processing_class=tokenizer,
            environment_factory=partial(SqlEnvironment, pool),
        )
        trainer._generate_single_turn = reply
        trainer.model.train()
        for row in rows.select(range(count)):
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

"""Reinforcement learning from its first step: SFT, then GRPO, with test suites behind the reward.

    python examples/train_grpo.py

trains a tiny Llama with random weights and a tokenizer that is made here: nothing is downloaded,
and a CPU is enough. It half learns a few questions from `messages`, and is then rewarded for
completions that are right on the database and on the test suite. The environment is that of
`examples/trl.lock`; `data/exports` must be there (`dvc repro` or `dvc pull`).

For a model of yours, put its name in the place of `make_model(...)`, and divide the learning rates
by a thousand. What stays: `max_length=None`, since SFTTrainer cuts at 1,024 tokens otherwise, and a
chat that is cut has no answer to learn; and a pool that holds the limits of the reward.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from answerkey.reward import RewardPool

EXPORTS = Path("data/exports/trl")
PAD, ANSWER, END = "<pad>", "<answer>", "<end>"
# `generation` marks what SFT learns: the answer alone. A token of its own goes before it, so that
# no merge of the tokenizer spans the place where the prompts of GRPO end.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}"
    "<answer>{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}"
    "{% else %}{{ message['content'] + '\n' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<answer>{% endif %}"
)
GENERATIONS = 8  # completions of a question, whose rewards GRPO compares


def main() -> None:
    """Train, and print the loss and the rewards."""
    parser = argparse.ArgumentParser(description="SFT, then GRPO, of a tiny model on a CPU")
    parser.add_argument("--questions", type=int, default=4, help="those with the shortest gold SQL")
    parser.add_argument("--sft-steps", type=int, default=50)
    parser.add_argument("--grpo-steps", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("reports/train_grpo"))
    arguments = parser.parse_args()
    set_seed(20)
    prompts = choose_shortest(read_rows("prompt_completion"), arguments.questions)
    chosen = set(prompts["question_id"])
    messages = read_rows("messages").filter(lambda row: row["question_id"] in chosen)
    model, tokenizer = make_model(messages)
    common: dict[str, Any] = {
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": 1,
        "use_cpu": not torch.cuda.is_available(),
        "lr_scheduler_type": "constant",
    }
    sft = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=messages,
        args=SFTConfig(
            output_dir=str(arguments.out / "sft"),
            max_length=None,
            assistant_only_loss=True,
            per_device_train_batch_size=arguments.questions,
            learning_rate=1e-2,
            max_steps=arguments.sft_steps,
            **common,
        ),
    )
    sft.train()
    with RewardPool(limits={"max_seconds": 2}) as pool:
        grpo = GRPOTrainer(
            model=sft.model,
            processing_class=tokenizer,
            reward_funcs=pool.score_completions,
            train_dataset=prompts,
            args=GRPOConfig(
                output_dir=str(arguments.out / "grpo"),
                per_device_train_batch_size=GENERATIONS * arguments.questions,
                num_generations=GENERATIONS,
                max_completion_length=64,
                learning_rate=5e-4,
                max_steps=arguments.grpo_steps,
                **common,
            ),
        )
        grpo.train()
    print("SFT, loss:", *list_logged(sft, "loss"))
    print("GRPO, reward:", *list_logged(grpo, "reward"))


def read_rows(name: str) -> Dataset:
    """The train split of an export."""
    return load_dataset("parquet", data_files=str(EXPORTS / name / "train.parquet"), split="train")


def choose_shortest(rows: Dataset, count: int) -> Dataset:
    """The questions with the shortest gold queries."""
    sizes = [len(completion[0]["content"]) for completion in rows["completion"]]
    return rows.select(sorted(range(len(rows)), key=lambda place: (sizes[place], place))[:count])


def make_model(messages: Dataset) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """A tiny model with random weights, and a tokenizer of what the messages say."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    texts = [message["content"] for row in messages for message in row["messages"]]
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=[PAD, ANSWER, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END)
    fast.chat_template = CHAT_TEMPLATE
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=4096,
        pad_token_id=fast.pad_token_id,
        eos_token_id=fast.eos_token_id,
    )
    return LlamaForCausalLM(config), fast


def list_logged(trainer: SFTTrainer | GRPOTrainer, name: str) -> list[str]:
    """A figure of each step that logged one."""
    return [f"{float(step[name]):.2f}" for step in trainer.state.log_history if name in step]


if __name__ == "__main__":
    main()

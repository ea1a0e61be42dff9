"""Reinforcement learning from its first step: SFT, then GRPO, with test suites behind the reward.

    python examples/train_grpo.py

trains a tiny Llama with random weights and a tokenizer that is made here: nothing is downloaded,
and a CPU is enough. It half learns a few questions from `messages`, and is then rewarded for
completions that are right on the database and on the test suite. The environment is that of
`examples/trl.lock`; `data/exports` must be there (`dvc repro` or `dvc pull`).

    python examples/train_grpo.py --compare --questions 6 --grpo-steps 40

shows what test suites are good for: docs/rewards.png is its picture. Half of what SFT shows is gold
SQL, half says the stored answer by heart, as a policy may after it has seen the data; both are
right on the one database. The same model is trained twice, with the reward of the database alone
and with that of the test suites.

For a model of yours, put its name in the place of `make_model(...)`, and divide the learning rates
by a thousand. What stays: `max_length=None`, since SFTTrainer cuts at 1,024 tokens otherwise, and a
chat that is cut has no answer to learn; and a pool that holds the limits of the reward.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from datasets import Dataset, concatenate_datasets, load_dataset
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
COMMON: dict[str, Any] = {
    "report_to": [],
    "save_strategy": "no",
    "logging_steps": 1,
    "use_cpu": not torch.cuda.is_available(),
    "lr_scheduler_type": "constant",
}


def main() -> None:
    """Train, and print the loss and the rewards; or draw what the reward is good for."""
    parser = argparse.ArgumentParser(description="SFT, then GRPO, of a tiny model on a CPU")
    parser.add_argument("--questions", type=int, default=4, help="those with the shortest gold SQL")
    parser.add_argument("--sft-steps", type=int, default=50)
    parser.add_argument("--grpo-steps", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("reports/train_grpo"))
    parser.add_argument(
        "--compare",
        action="store_true",
        help="half of what SFT shows says the answer by heart: train once with the reward of the"
        " database alone, once with test suites, and draw both as OUT/rewards.png",
    )
    arguments = parser.parse_args()
    prompts = choose_shortest(read_rows("prompt_completion"), arguments.questions)
    chosen = set(prompts["question_id"])
    messages = read_rows("messages").filter(lambda row: row["question_id"] in chosen)
    if arguments.compare:
        prompts, messages = prompts.map(cut_prompt), messages.map(cut_prompt)
        messages = concatenate_datasets(
            [messages, messages.map(say_by_heart, fn_kwargs={"answers": read_answers(prompts)})]
        )
    histories = {}
    for reward in ("database alone", "test suites") if arguments.compare else ("test suites",):
        set_seed(20)
        model, tokenizer = make_model(messages)
        sft = train_sft(model, tokenizer, messages, arguments)
        print("SFT, loss:", *list_logged(sft, "loss"))
        with RewardPool(limits={"max_seconds": 2}) as pool:
            watch = Watch(pool, has_suites=reward == "test suites")
            grpo = train_grpo(sft.model, tokenizer, prompts, watch, arguments)
        print("GRPO, reward:", *list_logged(grpo, "reward"))
        histories[reward] = watch.history
    if arguments.compare:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "rewards.json").write_text(json.dumps(histories), encoding="utf-8")
        draw(histories, arguments.out / "rewards.png")


class Watch:
    """A reward function that keeps, of each step, the share of answers by heart and of completions
    that are right on the test suite, whatever it rewards."""

    __name__ = "watch"

    def __init__(self, pool: RewardPool, *, has_suites: bool) -> None:
        self.pool, self.has_suites = pool, has_suites
        self.history: list[dict[str, float]] = []

    def __call__(self, completions: list[Any], **columns: Any) -> list[float]:
        on_suites = self.pool.score_completions(completions, **columns)
        on_database = self.pool.score_completions(completions, **columns | {"test_suite": None})
        texts = [completion[0]["content"] for completion in completions]
        self.history.append(
            {
                "by_heart": fmean("VALUES" in text for text in texts),
                "on_database": fmean(on_database),
                "on_suites": fmean(on_suites),
            }
        )
        return on_suites if self.has_suites else on_database


def cut_prompt(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with the question alone as its prompt: a model this small knows its questions
    by heart and reads no schema, and a short prompt takes a tenth of the time."""
    name = "prompt" if "prompt" in row else "messages"
    first, *others = row[name]
    question = first["content"].partition("Question: ")[2].partition("\n")[0]
    return {name: [{**first, "content": question}, *others]}


def read_answers(prompts: Dataset) -> dict[str, Any]:
    """Return the stored answer of each question."""
    pairs = zip(prompts["question_id"], prompts["gold_answer"], strict=True)
    return {question_id: json.loads(answer) for question_id, answer in pairs}


def say_by_heart(row: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    """Return a chat whose SQL says the stored answer and reads no table: `VALUES (42)`."""
    answer = answers[row["question_id"]]
    rows = [
        r if isinstance(r, list) else [r]
        for r in (answer if isinstance(answer, list) else [answer])
    ]
    texts = (", ".join(map(write_literal, values)) for values in rows)
    *chat, reply = row["messages"]
    gold = reply["content"]
    before, fence, _ = gold.partition("```sql\n")
    sql = "VALUES " + ", ".join(f"({text})" for text in texts)
    return {
        "messages": [*chat, {**reply, "content": f"{before}{fence}{sql}\n```" if fence else sql}]
    }


def write_literal(value: Any) -> str:
    """Return a value as SQL writes it."""
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def train_sft(
    model: Any, tokenizer: Any, messages: Dataset, arguments: argparse.Namespace
) -> SFTTrainer:
    """Teach a model the answers of the messages."""
    trainer = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=messages,
        args=SFTConfig(
            output_dir=str(arguments.out / "sft"),
            max_length=None,
            assistant_only_loss=True,
            per_device_train_batch_size=len(messages),
            learning_rate=1e-2,
            max_steps=arguments.sft_steps,
            **COMMON,
        ),
    )
    trainer.train()
    return trainer


def train_grpo(
    model: Any, tokenizer: Any, prompts: Dataset, reward: Any, arguments: argparse.Namespace
) -> GRPOTrainer:
    """Reward the completions of a model."""
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        train_dataset=prompts,
        args=GRPOConfig(
            output_dir=str(arguments.out / "grpo"),
            per_device_train_batch_size=GENERATIONS * arguments.questions,
            num_generations=GENERATIONS,
            max_completion_length=64,
            learning_rate=5e-4,
            max_steps=arguments.grpo_steps,
            **COMMON,
        ),
    )
    trainer.train()
    return trainer


def draw(histories: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Draw, by step, the answers by heart and the accuracy on test suites, for each reward."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    titles = {"by_heart": "answers by heart", "on_suites": "right on test suites"}
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        for reward, history in histories.items():
            axis.plot([step[name] for step in history], label=f"reward: {reward}")
        axis.set(title=title, xlabel="step of GRPO", ylim=(0, 1))
    axes[0].set_ylabel("share of completions")
    axes[1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


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

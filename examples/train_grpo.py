"""Reinforcement learning from its first step: SFT, then GRPO, with test suites behind the reward.

    python examples/train_grpo.py

trains a tiny Llama with random weights and a tokenizer that is made here: nothing is downloaded,
and a CPU is enough (a minute on two cores). SFT teaches it the gold SQL of a few questions from
`messages`, and stops early. GRPO then rewards completions that are right on the database and on the
test suite, and more of them are. The environment is that of `examples/trl.lock`; `data/exports`
must be there (`dvc repro` or `dvc pull`).

    python examples/train_grpo.py --compare --seed 1 2 3 4 5 6 7 8

shows what test suites are good for: docs/rewards.png is its picture (a quarter of an hour on two
cores, two minutes for each seed). Half of what SFT shows is gold SQL, half is the memorized answer,
as a policy may write it after it has seen the data. Both are right on the one database. GRPO trains
the model of SFT twice, with the reward of the database alone and with that of the test suites. The
first follows whatever is right on the database more often. That is mostly the memorized answer,
which is shorter, so that a model that has half learned both makes fewer mistakes in it. The second
leaves only SQL, whatever the seed.

For a model of yours, put its name in the place of `make_model(...)`, leave out `cut_prompt`, and
divide the learning rates by a thousand. Keep `max_length=None`, since SFTTrainer cuts at 1,024
tokens otherwise, and a chat that is cut has no answer to learn; and keep a pool, which holds the
limits of the reward.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from datasets import Dataset, concatenate_datasets, load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    TrainerCallback,
    TrainerControl,
    set_seed,
)
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from answerkey.reward import RewardPool, Terms

History = dict[str, list[float]]  # by name, a share of the completions of each step

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
LAST = 5  # steps that say how a training ended
REWARDS = ("database alone", "test suites")
COMMON: dict[str, Any] = {
    "report_to": [],
    "save_strategy": "no",
    "logging_steps": 1,
    "use_cpu": not torch.cuda.is_available(),
    "bf16": False,  # slower than float32 on most CPUs
    "gradient_checkpointing": False,  # spares memory, of which a tiny model takes little
    "lr_scheduler_type": "constant",
}


def main() -> None:
    """Train, and print the loss and the rewards; or compare two rewards, and draw them."""
    parser = argparse.ArgumentParser(description="SFT, then GRPO, of a tiny model on a CPU")
    parser.add_argument(
        "--questions", type=int, default=16, help="how many, those with the shortest gold SQL"
    )
    parser.add_argument("--sft-loss", type=float, default=0.1, help="SFT stops below this loss")
    parser.add_argument("--sft-steps", type=int, default=100, help="at most")
    parser.add_argument("--grpo-steps", type=int, default=30)
    parser.add_argument("--seed", type=int, nargs="+", default=[20], help="one training for each")
    parser.add_argument("--out", type=Path, default=Path("reports/train_grpo"))
    parser.add_argument(
        "--compare",
        action="store_true",
        help="half of what SFT shows are memorized answers: train with the reward of the database"
        " alone, and with test suites, and write OUT/rewards.json and OUT/rewards.png",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # so small a model is no faster with more, and slower on busy cores
    prompts = choose_shortest(read_rows("prompt_completion"), arguments.questions)
    chosen = set(prompts["question_id"])
    messages = read_rows("messages").filter(lambda row: row["question_id"] in chosen)
    prompts, messages = prompts.map(cut_prompt), messages.map(cut_prompt)
    with RewardPool(limits={"max_seconds": 2}) as pool:
        if arguments.compare:
            compare_rewards(pool, prompts, messages, arguments)
            return
        for seed in arguments.seed:
            model, tokenizer = train_sft(messages, seed, arguments)
            train_grpo(model, tokenizer, prompts, pool.score_completions, seed, arguments)


def compare_rewards(
    pool: RewardPool, prompts: Dataset, messages: Dataset, arguments: argparse.Namespace
) -> None:
    """Train by both rewards with each seed; write, print and draw what came of it."""
    answers = read_answers(prompts)
    memorized = messages.map(write_memorized, fn_kwargs={"answers": answers})
    messages = concatenate_datasets([messages, memorized])
    histories: dict[str, dict[str, History]] = {reward: {} for reward in REWARDS}
    for seed in arguments.seed:
        model, tokenizer = train_sft(messages, seed, arguments)
        for reward in REWARDS:
            learner = type(model)(model.config)
            learner.load_state_dict(model.state_dict())
            watch = Watch(pool, has_suites=reward == "test suites")
            train_grpo(learner, tokenizer, prompts, watch, seed, arguments)
            histories[reward][str(seed)] = watch.history
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "rewards.json").write_text(json.dumps(histories), encoding="utf-8")
    for line in describe(histories):
        print(line)
    draw(histories, arguments.out / "rewards.png")


class Watch:
    """A reward function that keeps shares of the completions of each step:

    - memorized: memorized answers;
    - memorized_right: memorized answers that are right on the database;
    - on_database: right on the database;
    - on_suites: right on the test suite as well.

    A completion is scored once, with its suite, whatever is rewarded: the explanation says whether
    the database or the suite found it wrong.
    """

    __name__ = "watch"

    def __init__(self, pool: RewardPool, *, has_suites: bool) -> None:
        self.pool, self.has_suites = pool, has_suites
        names = ("memorized", "memorized_right", "on_database", "on_suites")
        self.history: History = {name: [] for name in names}

    def __call__(
        self, completions: list[Any], gold_answer: list[str], **columns: Any
    ) -> list[float]:
        names = [name for name in columns if name in Terms.__annotations__]
        rows = zip(*(columns[name] for name in names), strict=True)
        explanations = [
            self.pool.explain_completion(
                completion, json.loads(answer), **dict(zip(names, row, strict=True))
            )
            for completion, answer, row in zip(completions, gold_answer, rows, strict=True)
        ]
        on_suites = [each.reward for each in explanations]
        # `database` names the one of the suite on which a query is wrong that is right on the real
        on_database = [float(bool(each.reward or each.database)) for each in explanations]
        memorized = ["VALUES" in completion[0]["content"] for completion in completions]
        both = [is_it * right for is_it, right in zip(memorized, on_database, strict=True)]
        for shares, values in zip(
            self.history.values(), (memorized, both, on_database, on_suites), strict=True
        ):
            shares.append(round(fmean(values), 4))
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


def write_memorized(row: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    """Return a chat whose SQL is the stored answer and reads no table: `VALUES (42)`."""
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


class StopBelow(TrainerCallback):  # type: ignore[misc]
    """Stop a training when its loss is low enough, so that all seeds begin GRPO alike."""

    def __init__(self, loss: float) -> None:
        self.loss = loss

    def on_log(
        self, _: Any, __: Any, control: TrainerControl, logs: dict[str, Any], **___: Any
    ) -> None:
        if float(logs.get("loss", self.loss)) < self.loss:
            control.should_training_stop = True


def train_sft(
    messages: Dataset, seed: int, arguments: argparse.Namespace
) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Teach a new model the answers of the messages; return it with its tokenizer."""
    set_seed(seed)
    model, tokenizer = make_model(messages)
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
            seed=seed,
            **COMMON,
        ),
        callbacks=[StopBelow(arguments.sft_loss)],
    )
    trainer.train()
    print("SFT, loss:", *list_logged(trainer, "loss"))
    return model, tokenizer


def train_grpo(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Dataset,
    reward: Any,
    seed: int,
    arguments: argparse.Namespace,
) -> None:
    """Reward the completions of a model."""
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        train_dataset=prompts,
        args=GRPOConfig(
            output_dir=str(arguments.out / "grpo"),
            per_device_train_batch_size=GENERATIONS * len(prompts),
            num_generations=GENERATIONS,
            max_completion_length=64,
            learning_rate=1e-3,
            max_steps=arguments.grpo_steps,
            seed=seed,
            **COMMON,
        ),
    )
    trainer.train()
    print("GRPO, reward:", *list_logged(trainer, "reward"))


def describe(histories: dict[str, dict[str, History]]) -> list[str]:
    """Return a table: shares at the first step, and the mean of the last five, by reward and seed.

    The last lines of a reward are the median of its seeds, the lowest and the highest.
    """
    columns = ("memorized", "on_database", "on_suites")
    heads = [f"{name} {when}" for name in columns for when in ("first", "last")]
    lines = [" ".join([f"{'reward':14} {'seed':>6}", *(f"{head:>17}" for head in heads)])]
    for reward, by_seed in histories.items():
        rows = {
            seed: [
                value
                for name in columns
                for value in (history[name][0], fmean(history[name][-LAST:]))
            ]
            for seed, history in by_seed.items()
        }
        by_column = list(zip(*rows.values(), strict=True))
        for name, function in {"median": median, "min": min, "max": max}.items():
            rows[name] = [function(values) for values in by_column]
        for name, values in rows.items():
            cells = (f"{value:17.2f}" for value in values)
            lines.append(" ".join([f"{reward:14} {name:>6}", *cells]))
    return lines


def draw(histories: dict[str, dict[str, History]], path: Path) -> None:
    """Draw two shares by step for each reward: a thin line for each seed, a thick one for all."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    titles = {"memorized": "memorized answers", "on_suites": "right on test suites"}
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        for color, (reward, by_seed) in zip(("C0", "C1"), histories.items(), strict=True):
            lines = [history[name] for history in by_seed.values()]
            for line in lines:
                axis.plot(line, color=color, linewidth=0.6, alpha=0.6)
            middle = [median(values) for values in zip(*lines, strict=True)]
            axis.plot(middle, color=color, linewidth=2.5, label=f"reward: {reward}")
        axis.set(title=title, xlabel="step of GRPO", ylim=(0, 1))
    axes[0].set_ylabel("share of completions")
    axes[0].legend(frameon=False, loc="center right")
    count = len(histories[REWARDS[0]])
    figure.text(0.995, 0.01, f"thin: one of {count} seeds; thick: their median", ha="right", size=8)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path, dpi=120)


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

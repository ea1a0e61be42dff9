"""oumi trains by the lines of docs/exports.md: its own command, on a CPU, with a scripted policy.

There is no lock: oumi 0.9 asks for an older torch than the one without a GPU here, and for what
training does not use. It ran in an environment with torch 2.13, `pip install --no-deps oumi==0.9`,
what it asks for of transformers, trl, datasets, peft and omegaconf, and what its imports missed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared.paths import ROOT
from tests.shared.question_world import QuestionWorld, score_fifty
from tests.shared.tiny_models import make_model, make_tokenizer
from tests.shared.transcripts import read_blocks

yaml = pytest.importorskip("yaml")
pytest.importorskip("oumi", reason="oumi has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PAGE = ROOT / "docs/exports.md"
STEPS = 5
# oumi finds a function for rollouts by its name, too.
POLICY = """
import json
from pathlib import Path

REPLIES = json.loads(Path(__file__).with_name("replies.json").read_text(encoding="utf-8"))


def say(prompts, trainer):
    tokenizer = trainer.processing_class
    said = []
    for prompt in prompts:
        number = int(prompt[-1]["content"].split("Question number ")[1][:3])
        said.append(tokenizer(REPLIES[number] + "<|im_end|>")["input_ids"])
    print("asked:", number, flush=True)
    texts = [tokenizer.apply_chat_template(prompt, tokenize=False) for prompt in prompts]
    return {
        "prompt_ids": [tokenizer(text)["input_ids"] for text in texts],
        "completion_ids": said,
        "logprobs": [[0.0] * len(ids) for ids in said],
    }


register("scripted", RegistryType.ROLLOUT_FUNCTION)(say)
"""


def test_training_by_the_page_has_the_scores_of_the_reward(
    fifty: QuestionWorld, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    tokenizer = make_tokenizer(CHAT_TEMPLATE)
    tokenizer.save_pretrained(model)
    make_model(tokenizer).save_pretrained(model)
    told = next(block for block in read_blocks(PAGE, "yaml") if "TRL_GRPO" in block)
    code = next(block for block in read_blocks(PAGE, "python") if "oumi" in block)
    (tmp_path / "rewards.py").write_text(code + POLICY, encoding="utf-8")
    (tmp_path / "modules.txt").write_text(f"{tmp_path}/rewards.py\n", encoding="utf-8")
    (tmp_path / "replies.json").write_text(json.dumps(fifty.replies), encoding="utf-8")
    recipe = yaml.safe_load(told)
    recipe["model"] = {"model_name": str(model), "torch_dtype_str": "float32"}
    recipe["training"] |= {
        "max_steps": STEPS,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 1,
        "logging_steps": 1,
        "save_steps": 0,
        "save_final_model": False,
        "enable_wandb": False,
        "enable_tensorboard": False,
        "dataloader_num_workers": 0,
        "output_dir": str(tmp_path / "out"),
        "grpo": {"num_generations": 2, "rollout_function": "scripted"},
    }
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    variables = {
        "OUMI_EXTRA_DEPS_FILE": str(tmp_path / "modules.txt"),
        "HF_DATASETS_CACHE": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
    }
    command = [Path(sys.executable).with_name("oumi"), "train", "-c", tmp_path / "grpo.yaml"]
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        cwd=fifty.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    asked = [int(number) for number in re.findall(r"asked: (\d+)", done.stdout)]
    logged = re.findall(r"'rewards/score_completions/mean': '([\d.]+)'", done.stdout)
    scores = score_fifty(fifty)
    assert len(asked) == STEPS
    assert [float(reward) for reward in logged] == [scores[number] for number in asked]
    assert len({*logged}) == 2, "all replies have the same reward"

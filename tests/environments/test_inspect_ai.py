"""The task for inspect_ai: evaluated by its own runner, with and without the tool."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.shared.paths import ROOT
from tests.shared.question_world import LOOKS, QuestionWorld, score_fifty

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies


def make_model(world: QuestionWorld, look: str | None = None) -> Any:
    """A policy that looks around by the tool, where it has one, then replies."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages: list[Any], tools: list[Any], *_: Any) -> ModelOutput:
        if tools and messages[-1].role != "tool":
            made = ModelOutput.for_tool_call("mockllm/model", "run_sql", {"sql": look})
        else:
            text = next(message.text for message in messages if message.role == "user")
            made = ModelOutput.from_content("mockllm/model", world.find_reply(text))
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return made

    return get_model("mockllm/model", custom_outputs=answer)


def evaluate(model: Any, folder: Path, *, limit: int | None = None, **options: Any) -> list[Any]:
    """The samples in the order of their questions."""
    from answerkey.environments.inspect_ai import text_to_sql

    task = text_to_sql(split="train", workers=1, **options)
    (log,) = inspect_ai.eval(
        task, model=model, log_dir=str(folder), display="none", score_display=False, limit=limit
    )
    assert log.status == "success", log.error
    return sorted(log.samples, key=lambda sample: sample.id)


def test_replies_have_the_scores_of_the_reward(fifty: QuestionWorld, tmp_path: Path) -> None:
    samples = evaluate(make_model(fifty), tmp_path)
    scores = [sample.scores["execution_match"] for sample in samples]
    assert [score.value for score in scores] == score_fifty(fifty)
    assert "no such column: wage" in {score.explanation for score in scores}


@pytest.mark.parametrize(("look", "shown"), LOOKS)
def test_the_tool_reads_the_database_of_the_question(
    fifty: QuestionWorld, tmp_path: Path, look: str, shown: str
) -> None:
    samples = evaluate(make_model(fifty, look), tmp_path, limit=3, tools=True)
    scores = [sample.scores["execution_match"].value for sample in samples]
    assert scores == score_fifty(fifty)[:3]
    for sample in samples:
        (answer,) = (message.text for message in sample.messages if message.role == "tool")
        assert shown in answer


def test_the_command_finds_the_task_by_the_name_of_the_package() -> None:
    from answerkey.environments import inspect_ai as module

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["inspect_ai"] == {project["name"]: module.__name__}
    assert module.text_to_sql.__module__ == module.__name__

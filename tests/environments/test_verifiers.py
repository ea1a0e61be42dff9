"""The environment for verifiers: played by its own chat program, with and without the tool."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shared.expected_scores import LOOKS, score_fifty
from tests.shared.paths import ROOT
from tests.shared.question_world import COUNT, QuestionWorld
from tests.shared.scripted_model import serve_model

vf = pytest.importorskip("verifiers.v1", reason="verifiers has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies

# verifiers makes an environment for its chat program by uv, which asks an index. This one has all
# that the program needs.
PACKAGE = ROOT / "environments/answerkey_text_to_sql"
UV = f"""#!/bin/sh
case "$*" in *--help*) echo --script;; "python find"*) echo {sys.executable};; esac
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat program runs in this environment, out of a cache of its own."""
    uv = tmp_path / ".local/bin/uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(UV)
    uv.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{PACKAGE}")  # for the server of the tool
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    runtime = pytest.importorskip("verifiers.v1.runtimes.subprocess").SubprocessRuntime
    monkeypatch.setattr(runtime, "scripts_dir", str(tmp_path / "scripts"))


async def play(environment: Any, url: str, *, count: int) -> list[Any]:
    """The traces of the first questions."""
    client = vf.EvalClientConfig(base_url=url)
    context = vf.ModelContext(client=client, model="scripted", sampling=vf.SamplingConfig())
    at_once = asyncio.Semaphore(2)
    async with environment.serving():
        slots = [
            slot for task in environment.taskset.take(count) for slot in environment.slots(task)
        ]
        episodes = await asyncio.gather(*(environment.run_slot(s, context, at_once) for s in slots))
    for episode in episodes:
        assert episode.ok, [*episode.errors, *(trace.errors for trace in episode.traces)]
    return [trace for episode in episodes for trace in episode.traces]


def load(**options: Any) -> Any:
    from answerkey_text_to_sql import load_environment

    return load_environment(workers=1, **options)


def test_single_turns_have_the_scores_of_the_reward(fifty: QuestionWorld) -> None:
    with serve_model(fifty.find_reply) as (url, _):
        traces = asyncio.run(play(load(), url, count=COUNT))
    assert [trace.reward for trace in traces] == score_fifty(fifty)
    assert "sql_error" in {trace.info["reason"] for trace in traces}


@pytest.mark.parametrize(("look", "shown"), LOOKS)
def test_the_tool_reads_the_database_of_the_question(
    fifty: QuestionWorld, look: str, shown: str
) -> None:
    with serve_model(fifty.find_reply, look=look) as (url, seen):
        traces = asyncio.run(play(load(tools=True, max_turns=4), url, count=3))
    assert [trace.reward for trace in traces] == score_fifty(fifty)[:3]
    answers = [messages[-1] for messages in seen if messages[-1]["role"] == "tool"]
    assert len(answers) == 3
    assert all(shown in str(answer["content"]) for answer in answers), answers

"""The examples: one trains a model by TRL, and one asks a server for verdicts on gold."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from answerkey.risk.verdicts import read_verdicts
from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.project_world import World


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_stand_in_the_docs(path: Path):
    docs = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"examples/{path.name}" in text for text in docs)


COMMAND = ".venv/trl/bin/python examples/train_grpo.py"
EXAMPLE = (ROOT / "examples/train_grpo.py").read_text(encoding="utf-8")
NEEDED = (".venv/trl", "data/exports/trl")


def skip_without_needs() -> None:
    for path in NEEDED:
        if not (ROOT / path).is_dir():
            pytest.skip(f"needs {path}: docs/exports.md")


@pytest.mark.slow
def test_loss_falls_and_reward_rises(tmp_path: Path) -> None:
    skip_without_needs()
    assert COMMAND in (ROOT / "docs/exports.md").read_text(encoding="utf-8").splitlines()
    printed = run(ROOT, *COMMAND.split(), "--out", str(tmp_path)).stdout
    lines = [line.partition(": ") for line in printed.splitlines()]  # some are the trainer's own
    figures = {name: values.split() for name, _, values in lines}
    loss, reward = (
        [float(value) for value in figures[name]] for name in ("SFT, loss", "GRPO, reward")
    )
    assert len(loss) == 50
    assert len(reward) == 20
    assert loss[-1] < loss[0] / 10
    assert mean(reward[-5:]) > mean(reward[:5])


@pytest.mark.slow
def test_reward_of_one_database_takes_answers_by_heart_and_that_of_suites_does_not(
    tmp_path: Path,
) -> None:
    skip_without_needs()
    options = ("--compare", "--questions", "6", "--grpo-steps", "40")
    assert f"python examples/train_grpo.py {' '.join(options)}\n" in EXAMPLE
    run(ROOT, *COMMAND.split(), *options, "--out", str(tmp_path))
    alone, suites = json.loads((tmp_path / "rewards.json").read_text(encoding="utf-8")).values()
    assert alone[0] == suites[0]  # the same model, before it learns from either
    assert all(step["on_suites"] <= step["on_database"] for step in alone + suites)
    last = {
        name: [mean(step[name] for step in history[-5:]) for history in (alone, suites)]
        for name in ("by_heart", "on_suites")
    }
    assert last["by_heart"][0] > 0.5 > last["by_heart"][1]
    assert last["on_suites"][0] < 0.5 < last["on_suites"][1]
    assert (tmp_path / "rewards.png").stat().st_size > 0


OUT = "data/verdicts/tried.jsonl"
QUESTIONS = [
    ("What are the ports of ships?", "SELECT port_id FROM ship"),
    ("What are the captains of ships?", "SELECT captain_id FROM ship"),
    ("How heavy is Sun?", "SELECT weight FROM ship WHERE name = 'Sun'"),
]


Answer = str | int | bytes | tuple[bytes, float]


class ModelServer(ThreadingHTTPServer):
    """A model on 127.0.0.1 that gives its answers in turn, the last one for ever.

    An answer is the text of the model, a status, or bytes to send as they are; or bytes that are
    sent for ever, with a pause after each time.
    """

    daemon_threads = True

    def __init__(self, *answers: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.retry_after = "0"
        self.asked: list[dict[str, Any]] = []

    @property
    def prompts(self) -> list[str]:
        return [request["messages"][0]["content"] for request in self.asked]


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Authorization"]
        self.server.asked.append({"path": self.path, "key": key, **json.loads(body)})
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, tuple):
            self.send_for_ever(*answer)
            return
        text = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
        sent = answer if isinstance(answer, bytes) else json.dumps(text).encode()
        self.send_response(answer if isinstance(answer, int) else 200)
        self.send_header("Content-Length", str(len(sent)))
        self.send_header("Retry-After", self.server.retry_after)
        self.end_headers()
        self.wfile.write(sent)

    def send_for_ever(self, sent: bytes, pause_s: float) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # until nobody reads
            while True:
                self.wfile.write(sent)
                time.sleep(pause_s)

    def log_message(self, *_: Any) -> None:
        """Tests say nothing on stderr."""


def say(verdict: str) -> str:
    """What a talkative model answers."""
    verdict = json.dumps({"verdict": verdict, "reason": "So."})
    return f'<think>{{"verdict": ?}}</think>\n```json\n{verdict}\n```'


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Three questions, two of them whose answers have equal rows."""
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        world = World(folder)
        world.write_flag_precision({"duplicate_rows": 80})
        world.write_questions("train_spider.json", "harbour", QUESTIONS)
        world.write_questions("dev.json", "library", [])
        world.drop_targets()
        world.run_to("compare_questions")
    return world


@pytest.fixture
def out(world: World) -> Iterator[Path]:
    """The file of verdicts, which is not there yet."""
    path = world.folder / OUT
    yield path
    path.unlink(missing_ok=True)


def judge(
    world: World,
    *answers: Answer,
    options: tuple[str, ...] = (),
    key: str = "",
) -> tuple[ModelServer, subprocess.CompletedProcess[str]]:
    """Run the example against a model with these answers."""
    with ModelServer(*answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
            "OPENAI_MODEL": "tiny",
            "OPENAI_API_KEY": key,
            "no_proxy": "127.0.0.1",
        }
        done = subprocess.run(
            [
                *(sys.executable, str(ROOT / "examples/judge_gold.py"), "--out", OUT),
                *("--backoff-s", "0", "--attempts", "2", *options),
            ],
            cwd=world.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        server.shutdown()
        thread.join(60)
    return server, done


def test_riskiest_questions_are_asked_and_what_is_said_becomes_flags(
    world: World, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--count", "2")
    server, done = judge(world, say("wrong"), say("right"), options=options, key="secret-of-tests")
    assert done.stdout == "right: 1, wrong: 1, asked before: 0, no verdict: 0\n", done.stderr
    verdicts = read_verdicts(out.parent)
    assert {verdict.gold_sql for verdict in verdicts} == {sql for _, sql in QUESTIONS[:2]}
    assert {(v.corpus, v.source, v.reason) for v in verdicts} == {("local", "model:tiny", "So.")}
    assert {request["path"] for request in server.asked} == {"/v1/chat/completions"}
    assert {request["key"] for request in server.asked} == {"Bearer secret-of-tests"}
    assert {request["model"] for request in server.asked} == {"tiny"}
    for part in (*QUESTIONS[0], "CREATE TABLE ship", "-- (1, 'Tern', 40", "[1, 1, 2, 2, 3, 3]"):
        assert part in server.prompts[0], part
    assert "duplicate_rows: The answer has equal rows" in server.prompts[0]
    assert "template_in_both_splits" not in server.prompts[0]
    repair = "- SELECT DISTINCT port_id FROM ship\n  Reason: Each row may be asked for once"
    rows = "The first rows that the SQL above has and it lacks: [[1], [2], [3]]"
    for part in (repair, "The answers differ.", rows):
        assert part in server.prompts[0], part
    monkeypatch.chdir(world.folder)
    world.run("compare_questions")
    flags = {
        record["question_text"]: (record["answer_risk"], record["flags"][-1]["code"])
        for record in world.lines("data/interim/joined.jsonl")[:2]
    }
    assert flags == {
        QUESTIONS[0][0]: (1.0, "judged_wrong"),
        QUESTIONS[1][0]: (0.0, "judged_right"),
    }
    out.unlink()
    world.run("compare_questions")


@pytest.mark.slow
def test_run_that_was_cut_short_goes_on_where_it_was(world: World, out: Path) -> None:
    _, done = judge(world, say("wrong"), 401)
    assert done.returncode == 1
    assert "401, message='Unauthorized'" in done.stderr
    assert f"what was judged is in {OUT}" in done.stderr
    assert len(read_verdicts(out.parent)) == 1
    server, done = judge(world, say("right"))
    assert done.stdout == "right: 2, wrong: 0, asked before: 1, no verdict: 0\n", done.stderr
    assert len(server.asked) == 2
    server, done = judge(world, say("right"))
    assert done.stdout == "right: 0, wrong: 0, asked before: 3, no verdict: 0\n"
    assert server.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        429,
        "I cannot say.",
        *(pytest.param(a, marks=pytest.mark.slow) for a in (b"[]", b"[" * 99_999, say("perhaps"))),
    ],
)
def test_answer_that_is_none_is_asked_for_again(
    world: World, out: Path, answer: str | int | bytes
) -> None:
    server, done = judge(world, answer, say("right"), options=("--count", "1"))
    assert done.stdout == "right: 1, wrong: 0, asked before: 0, no verdict: 0\n", done.stderr
    assert len(server.asked) == 2
    assert server.asked[0]["key"] is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(
            (b" ", 0.1), "no whole answer in 1.0 seconds", id="slow", marks=pytest.mark.slow
        ),
        pytest.param((b" " * 65_536, 0), "over 4000000 bytes", id="endless"),
    ],
)
def test_answer_without_an_end_is_given_up(
    world: World, out: Path, answer: Answer, words: str
) -> None:
    options = ("--count", "1", "--timeout-s", "1.0" if "seconds" in words else "60")
    server, done = judge(world, answer, options=options)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(server.asked) == 2
    assert not out.read_bytes()

"""What people are used to: a bar that says of how many, one line on Ctrl-C, a pipe that closes, a
command that works in a folder below, help that is there, and 1 question, not 1 questions."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.command import main
from tests.shared.export_world import ExportWorld
from tests.shared.paths import ROOT
from tests.shared.processes import heed_interrupts
from tests.shared.project_world import World
from tests.shared.report_world import STAGES, run_stages, write_corpus, write_params

SECONDS = 120  # the limit of each process
QUICK = ("flags", "score", "compute_gold_answers")  # of the commands that all do the same


def make_variables(**others: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "DVC_NO_ANALYTICS": "1", **others}


def start(*command: str, folder: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command of this Python as its users start it."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=make_variables(),
        text=True,
        timeout=SECONDS,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
    )


def write_predictions(folder: Path, inside: ExportWorld, name: str = "small.jsonl") -> Path:
    lines = [
        json.dumps({"question_id": one["question_id"], "prediction": one["gold_sql"]})
        for one in inside.questions("eval")
    ]
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return folder / name


# --- how commands are called


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_package_is_the_command_and_helps(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = start("-m", "answerkey", *arguments, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: answerkey ")
    assert "tell how many predictions are right" in done.stdout


# --- where commands are called


def test_verbs_find_the_project_from_a_folder_below(
    exported: ExportWorld,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    world = exported.copy(tmp_path)
    world.run("select_questions")
    below = tmp_path / "notes/today"
    below.mkdir(parents=True)
    write_predictions(below, exported)
    monkeypatch.chdir(below)
    capsys.readouterr()
    for command, words in {
        "explain": "largest selection: 35 of ",
        "validate": "",
        "repairs --limit 0": "",
        "evaluate small.jsonl": "100.0%",
        "evaluate ./small.jsonl --out own --dataset ../../data/questions": "100.0%",
        "score small.jsonl --databases ../../data/databases": '"score": 1.0',
    }.items():
        assert main(command.split()) == 0
        assert words in capsys.readouterr().out, command
        assert Path.cwd() == below
    assert (tmp_path / "reports/evaluation/summary.json").is_file()
    assert (below / "own/summary.json").is_file()
    with pytest.raises(SystemExit):
        main(["score", "none.jsonl"])
    assert "notes/today/none.jsonl: expected a file of predictions" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["explain", "validate", "repairs", "pin spider", "score p.jsonl"]
)
def test_verb_without_a_project_says_so(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "p.jsonl").write_text("{}")
    with pytest.raises(SystemExit) as caught:
        main(command.split())
    assert caught.value.code == 1
    words = f"There is no project: {here}, and each folder above, has no params.yaml"
    assert words in capsys.readouterr().err


# --- a reader that leaves


PIPED = {
    "flags": ("answerkey.flags",),
    "score": ("answerkey", "score", "small.jsonl"),
    "evaluate": ("answerkey", "evaluate", "small.jsonl"),
    "explain": ("answerkey", "explain"),
    "repairs": ("answerkey", "repairs"),
    "policies": ("stages.select_questions", "--policies"),
    "tasks": (
        "answerkey.environments.tasks",
        "nemo_gym",
        "--split",
        "eval",
        "--out",
        "tasks.jsonl",
    ),
}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(PIPED[name], id=name, marks=pytest.mark.slow if name not in QUICK else ())
        for name in PIPED
    ],
)
def test_reader_that_leaves_is_told_nothing(
    command: tuple[str, ...], exported: ExportWorld, tmp_path: Path
) -> None:
    shutil.copytree(exported.folder, tmp_path, dirs_exist_ok=True)
    shutil.copy(ROOT / "data/flag_precision.json", tmp_path / "data")
    write_predictions(tmp_path, exported)
    reading, writing = os.pipe()
    os.close(reading)
    done = start("-m", *command, folder=tmp_path, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


# --- Ctrl-C


def interrupt(
    *command: str, folder: Path, is_ready: Callable[[], bool], **variables: str
) -> tuple[int, str]:
    """The status of a command whose processes are interrupted, as by a terminal, and its words."""
    with heed_interrupts():
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env=make_variables(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + SECONDS
        while not is_ready():
            assert process.poll() is None, process.communicate(timeout=60)[0]
            assert time.monotonic() < until
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(SECONDS)
    return process.returncode, said


# Python runs it first: the process that begins to execute says so, and goes on.
READY = """
import os, sys
def tell(event, arguments):
    if event == "sqlite3.connect" and "harbour.sqlite" in str(arguments[0]):
        open(%r, "w").close()
sys.addaudithook(tell)
"""
# More steps than any budget allows; in seconds.
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def ready(tmp_path: Path) -> tuple[Callable[[], bool], str]:
    """Whether a query runs, and where Python has to look for what tells it."""
    start = tmp_path / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(READY % str(tmp_path / "ready"), encoding="utf-8")
    return (tmp_path / "ready").exists, os.pathsep.join([str(start), str(ROOT)])


def test_interrupted_evaluation_says_one_line(exported: ExportWorld, tmp_path: Path) -> None:
    questions = [one for one in exported.questions("train") if one["database_name"] == "harbour"]
    lines = [
        json.dumps({"question_id": one["question_id"], "prediction": f"{SLOW} LIMIT {number + 1}"})
        for one in questions
        for number in range(100)
    ]
    (tmp_path / "slow.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ("-m", "answerkey", "evaluate", str(tmp_path / "slow.jsonl"), "--out", str(tmp_path))
    is_ready = (tmp_path / "journal.jsonl").exists  # just before predictions are executed
    status, said = interrupt(*command, folder=exported.folder, is_ready=is_ready)
    words = "answerkey evaluate: interrupted; run it again: what is done is kept\n"
    assert (status, said) == (130, words)


def write_slow_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project of which only the gold queries are still to be executed, which takes minutes."""
    monkeypatch.chdir(folder)
    world = World(folder)
    slow = [(f"Count, {number}.", f"{SLOW} LIMIT {number + 1}") for number in range(200)]
    world.write_questions("train_spider.json", "harbour", slow)
    world.run_to("assign_splits")


@pytest.mark.slow
def test_interrupted_run_of_dvc_says_one_line_beside_that_of_dvc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ready: tuple[Callable[[], bool], str]
) -> None:
    folder = tmp_path / "world"
    folder.mkdir()
    write_slow_world(folder, monkeypatch)
    shutil.copytree(ROOT / "stages", folder / "stages")
    stage = {"cmd": f"{sys.executable} -m stages.compute_gold_answers", "outs": []}
    (folder / "dvc.yaml").write_text(json.dumps({"stages": {"compute_gold_answers": stage}}))
    for command in (("git", "init", "-q"), (sys.executable, "-m", "dvc", "init", "-q")):
        subprocess.run(command, cwd=folder, check=True, timeout=SECONDS)
    is_ready, path = ready
    (tmp_path / "ready").unlink(missing_ok=True)
    status, said = interrupt(
        *("-m", "dvc", "repro"), folder=folder, is_ready=is_ready, PYTHONPATH=path
    )
    first, second, line, *of_dvc = said.strip().splitlines()
    assert status != 0
    assert (first, second[:2]) == ("Running stage 'compute_gold_answers':", "> ")
    assert line == "compute_gold_answers: interrupted; run it again: what is done is kept"
    assert len(of_dvc) == 1
    assert "failed to reproduce 'compute_gold_answers'" in of_dvc[0]


def test_stage_that_is_interrupted_while_it_imports_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text(
        f"import time; open({str(tmp_path / 'ready')!r}, 'w').close(); time.sleep({SECONDS})"
    )
    status, said = interrupt(
        *("-m", "stages.assign_splits"),
        folder=ROOT,
        is_ready=(tmp_path / "ready").exists,
        PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]),
    )
    assert (status, said) == (-signal.SIGINT, "")


# --- bars


def watch(*command: str, folder: Path, **variables: str) -> str:
    """What a command writes on a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=make_variables(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    timer = time.monotonic() + SECONDS
    said = b""
    with open(ours, "rb", buffering=0) as terminal, contextlib.suppress(OSError):  # at its end
        while piece := terminal.read(4096):
            said += piece
            assert time.monotonic() < timer
    assert process.wait(SECONDS) == 0, said.decode()
    return said.decode()


BARS = {
    "download_databases": "databases: 0 of 2 databases",
    "compute_gold_answers": "gold_answers: 0 of 2 databases",
    "parse_gold_sql": "parsed: 0 of 2 databases",
    "audit_gold_answers": "audit: 0 of 2 databases",
    "generate_test_suites": "test_suites: 0 of 2 databases",
}


@pytest.mark.parametrize(
    "stage",
    [pytest.param(name, marks=pytest.mark.slow if name not in QUICK else ()) for name in BARS],
)
def test_bar_says_of_how_many(stage: str, built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    if stage == "download_databases":
        shutil.rmtree(tmp_path / "data/databases")
    said = watch("-m", f"stages.{stage}", folder=tmp_path)
    assert BARS[stage] in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_bar_of_an_evaluation_names_its_file(exported: ExportWorld, tmp_path: Path) -> None:
    files = [str(write_predictions(tmp_path, exported, f"{name}.jsonl")) for name in ("a", "b")]
    count = len(exported.questions("eval"))
    command = ("-m", "answerkey", "evaluate", *files, "--out", str(tmp_path / "out"))
    said = watch(*command, folder=exported.folder)
    for name in ("a", "b"):
        assert f"{name}: 0 of {count} predictions" in said
    (tmp_path / "tqdm.py").write_text("raise ModuleNotFoundError(name='tqdm')")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    said = watch(*command, folder=exported.folder, PYTHONPATH=path)
    assert f"a: {count} predictions" in said


# --- one of a kind


@pytest.mark.slow
def test_one_of_a_kind_is_no_plural(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "corpus")
    train = json.loads((tmp_path / "corpus/train_spider.json").read_text(encoding="utf-8"))
    for name, records in (("train_spider", train[:1]), ("dev", [])):
        (tmp_path / f"corpus/{name}.json").write_text(json.dumps(records), encoding="utf-8")
    write_params(tmp_path, {})
    said = run_stages(tmp_path, *STAGES)
    assert "1 question of 1 database" in said
    monkeypatch.chdir(tmp_path)
    line = {"question_id": "ships_train_000", "prediction": "SELECT 1"}
    (tmp_path / "p.jsonl").write_text(json.dumps(line), encoding="utf-8")
    for command in ("explain", "validate", "evaluate p.jsonl"):
        main(command.split())
    said += "".join(capfd.readouterr())
    assert "1 selected question;" in said
    card = tmp_path / "data/exports/huggingface/croissant.json"
    said += card.read_text(encoding="utf-8") if card.is_file() else ""
    plurals = re.findall(r"(?<![\d.,])1 (?:[a-z]+ )?(?:[a-z]+[^aeiousi]s|queries)\b.*", said)
    assert plurals == []

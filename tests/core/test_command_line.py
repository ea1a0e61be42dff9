"""Every stage says what it does when asked, refuses options that it does not have, and ends what
a user can mend with a message: what, where, what was expected, what to do next."""

from __future__ import annotations

import ast
import os
import re
import resource
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.shared.paths import ROOT

PARAMS = Path("params.yaml")
STAGES = list(yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"])
COMMANDS = [f"stages.{path.stem}" for path in sorted((ROOT / "stages").glob("[!_]*.py"))]


def start(
    *command: str, folder: Path, most_bytes: int | None = None
) -> subprocess.CompletedProcess[str]:
    """A command as its users start it; no file may become larger than `most_bytes`."""

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limit,
    )


def test_every_stage_is_a_command() -> None:
    assert {f"stages.{name}" for name in STAGES} <= set(COMMANDS)


def run_here(module: str, *arguments: str) -> int:
    """The status of a command that runs in this process, which spares it the imports."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(path), *arguments])
        with pytest.raises(SystemExit) as caught:
            runpy.run_path(str(path), run_name="__main__")
    return caught.value.code or 0


@pytest.mark.parametrize("module", COMMANDS)
def test_command_says_what_it_does_and_refuses_options_that_it_does_not_have(
    module: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_here(module, "--help") == 0
    out, err = capfd.readouterr()
    source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(source)).split("\n\n")[0]
    assert out.startswith(f"usage: python -m {module} ")
    assert " ".join(about.split()) in " ".join(out.split())
    assert err == ""
    assert run_here(module, "--nonsense") == 2
    assert f"python -m {module}: error: " in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


# --- mistakes of users, in a world that has run


@pytest.fixture
def folder(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a world in which every stage up to the product has run, to stand in, without a
    network."""
    folder = tmp_path / "world"
    shutil.copytree(built, folder)
    shutil.copy(ROOT / "templates/prompt.j2", folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    change("export_trainers.prompt_template", "prompt.j2")()
    return folder


def change(key: str, value: Any) -> Callable[[], None]:
    def act() -> None:
        params = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
        *sections, last = key.split(".")
        place = params
        for section in sections:
            place = place[section]
        place[last] = value
        PARAMS.write_text(yaml.safe_dump(params), encoding="utf-8")

    return act


def remove(path: str) -> Callable[[], None]:
    return Path(path).unlink


def write(path: str, text: str) -> Callable[[], None]:
    def act() -> None:
        Path(path).write_text(text, encoding="utf-8")

    return act


def cut(path: str) -> Callable[[], None]:
    """A file that was being written when the machine stopped."""
    return lambda: os.truncate(path, Path(path).stat().st_size - 9)


def drop_line(path: str) -> Callable[[], None]:
    def act() -> None:
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
        Path(path).write_text("".join(lines[1:]), encoding="utf-8")

    return act


INTERIM = "data/interim"
TARGETS = "select_questions.targets"
MISTAKES = {
    "no params": ("assign_splits", remove("params.yaml"), "No .*/params.yaml: run stages from the"),
    "no YAML": ("assign_splits", write("params.yaml", "a: [b\n"), "params.yaml: expected YAML: "),
    "typo in a key": (
        "assign_splits",
        change("select_questions.policy", {}),
        "params.yaml: unknown key select_questions.policy: expected some of seed, policies",
    ),
    "wrong policy": (
        "download_databases",
        change("select_questions.policies.latent_tie", "maybe"),
        "params.yaml: .*policies.latent_tie: expected exclude, flag or off, .*found 'maybe'",
    ),
    "unknown corpus": (
        "download_databases",
        change("corpus", "locall"),
        "params.yaml: corpus is 'locall', expected some of bird, local, sample, spider",
    ),
    "missing records": (
        "compute_gold_answers",
        remove(f"{INTERIM}/splits.jsonl"),
        f"No {INTERIM}/splits.jsonl: run `dvc repro`, which makes it",
    ),
    "torn records": (
        "classify_difficulty",
        cut(f"{INTERIM}/joined.jsonl"),
        f"{INTERIM}/joined.jsonl:42: not JSON: .*; mend it; `dvc repro` makes",
    ),
    "database that is none": (
        "export_trainers",
        write("data/databases/harbour/harbour.sqlite", "no database " * 100),
        "Corrupt database: .*harbour.sqlite",
    ),
    "records of two runs": (
        "select_questions",
        drop_line(f"{INTERIM}/difficulty.jsonl"),
        "no difficulty of harbour_train_000: .*run `dvc repro`",
    ),
    "targets out of reach": (
        "select_questions",
        change(f"{TARGETS}.min_questions", 100),
        f"{TARGETS} cannot be met: expected 100 questions or more; largest selection: 35 of 36",
    ),
    "altered selection": (
        "validate_dataset",
        drop_line(f"{INTERIM}/selection/questions.jsonl"),
        "Validation failed with ",
    ),
    "invalid dataset": (
        "export_dataset",
        write(f"{INTERIM}/validation.json", '{"errors": ["a: wrong"]}'),
        "validation.json lists 1 errors, expected none: run `dvc repro validate_dataset`",
    ),
    "missing product": (
        "export_trainers",
        remove("data/questions/questions_eval.json"),
        "data/questions/questions_eval.json: No such file or directory",
    ),
    "missing template": (
        "export_trainers",
        change("export_trainers.prompt_template", "nothing.j2"),
        "nothing.j2: No such file or directory",
    ),
    "broken template": (
        "export_trainers",
        write("prompt.j2", "{{ question_text"),
        "prompt.j2:1: ",
    ),
    "template that asks for more": (
        "export_trainers",
        write("prompt.j2", "{{ question_txt }}"),
        "prompt_template: 'question_txt' is undefined: expected no other names than schema",
    ),
}


@pytest.mark.parametrize(("command", "act", "words"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.usefixtures("folder")
def test_mistake_of_a_user_ends_with_its_message(
    command: str,
    act: Callable[[], None],
    words: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    act()
    name, *options = command.split()
    assert run_here(f"stages.{name}", *options) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert re.search(f"^{name}: (error: )?.*{words}", err, re.MULTILINE), err


def test_disk_that_takes_no_more_is_said(folder: Path) -> None:
    before = Path(f"{INTERIM}/splits.jsonl").read_bytes()
    done = start("-m", "stages.assign_splits", folder=folder, most_bytes=4096)
    words = "assign_splits: error: File too large: run `dvc repro` again once it is mended\n"
    assert (done.returncode, done.stderr) == (1, words)
    assert Path(f"{INTERIM}/splits.jsonl").read_bytes() == before
    assert not list(Path(INTERIM).glob("*.partial"))


def test_fault_of_ours_keeps_its_traceback(folder: Path) -> None:
    write(f"{INTERIM}/questions.jsonl", '{"spider_split": "train"}\n')()
    done = start("-m", "stages.assign_splits", folder=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith("KeyError: 'database_name'\n")


@pytest.mark.parametrize(
    "command", [("stages.select_questions", "--policies"), ("answerkey.command", "explain")]
)
def test_reader_that_leaves_is_told_nothing(command: tuple[str, ...], folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")

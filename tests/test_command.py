"""Each verb and each stage does what it says, or ends with a message that says what to do next."""

from __future__ import annotations

import argparse
import ast
import json
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

from answerkey.command import main, make_parser
from tests.shared.export_world import ExportWorld
from tests.shared.paths import ROOT


def list_verbs() -> dict[str, argparse.ArgumentParser]:
    (verbs,) = (each for each in make_parser()._actions if each.dest == "verb")
    return verbs.choices


VERBS = list_verbs()
EXAMPLES = {name: verb.epilog.removeprefix("example: answerkey ") for name, verb in VERBS.items()}
WITHOUT_PACKAGES = ("evaluate", "repairs", "score", "verdicts")


@pytest.mark.parametrize("name", VERBS)
def test_every_option_has_a_help_and_every_verb_an_example_that_it_takes(name: str) -> None:
    assert all(action.help for action in VERBS[name]._actions)
    assert make_parser().parse_args(EXAMPLES[name].split()).verb == name


def start_bare(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that has the package and the standard library alone."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"
    command = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_help_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    ours = "sorted(name for name in sys.modules if name.startswith('answerkey'))"
    code = f"import answerkey.command as c; c.make_parser().format_help(); print({ours})"
    done = start_bare(code, tmp_path)
    base = [
        "answerkey.base",
        *(f"answerkey.base.{name}" for name in ("errors", "paths", "secrets")),
    ]
    verbs = [f"answerkey.verbs.{path.stem}" for path in (ROOT / "answerkey/verbs").glob("[!_]*.py")]
    loaded = ["answerkey", *base, "answerkey.command", "answerkey.verbs", *sorted(verbs)]
    assert done.stdout == f"{loaded}\n", done.stderr


def test_every_module_of_a_verb_is_in_the_command() -> None:
    files = {path.stem for path in (ROOT / "answerkey/verbs").glob("[!_]*.py")} - {"options"}
    assert files == {name.replace("-", "_") for name in VERBS}


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    said = capsys.readouterr().out
    assert re.fullmatch(r"answerkey \d+\.\d+\.\d+\n", said)


@pytest.mark.parametrize("name", [name for name in VERBS if name not in WITHOUT_PACKAGES])
def test_verb_that_lacks_a_package_names_the_extra(name: str, tmp_path: Path) -> None:
    done = start_bare(
        f"import answerkey.command as c; sys.exit(c.main({EXAMPLES[name].split()}))", tmp_path
    )
    extra = "completion" if name == "completion" else "pipeline"
    assert done.returncode == 1
    words = (
        rf"answerkey {name}: it needs \w+: in a clone of Answerkey, pip install '\.\[{extra}\]'\n"
    )
    assert re.fullmatch(words, done.stderr), done.stderr


def write_predictions(folder: Path, questions: list[dict[str, Any]]) -> Path:
    """Gold for all questions but the first, which gets SQL that no database takes."""
    path = folder / "predictions.jsonl"
    sqls = ["SELECT a FROM nowhere", *(question["gold_sql"] for question in questions[1:])]
    lines = [
        json.dumps({"question_id": question["question_id"], "prediction": sql})
        for question, sql in zip(questions, sqls, strict=True)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["evaluate", "score"])
def test_predictions_are_scored_without_any_package(
    name: str, inside: ExportWorld, tmp_path: Path
) -> None:
    questions = inside.questions("eval")
    arguments = [name, str(write_predictions(tmp_path, questions))]
    if name == "evaluate":
        arguments += ["--out", str(tmp_path / "out")]
    code = f"import answerkey.command as c; sys.exit(c.main({arguments}))"
    done = start_bare(code, inside.folder)
    assert done.returncode == 0, done.stderr
    if name == "evaluate":
        assert done.stderr == "No page: in a clone of Answerkey, pip install '.[evaluate]'\n"
        assert done.stdout.splitlines()[2].split()[:2] == ["all", str(len(questions))]
        return
    first, *others = map(json.loads, done.stdout.splitlines())
    assert (first["question_id"], first["score"]) == (questions[0]["question_id"], 0.0)
    assert (first["reason"], first["on_database"]) == ("sql_error", False)
    assert [line["question_id"] for line in others] == [q["question_id"] for q in questions[1:]]
    assert {line["score"] for line in others} == {1.0}


IMPORT = "import-corrections a.json --corpus local --name a --source b --license c --date"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("score none.jsonl", "none.jsonl: expected a file of predictions, found none"),
        ("score p.jsonl --rule no", "No rule 'no': expected one of strict, "),
        ("compare no-such-revision", "revision no-such-revision: "),
        ("explain nobody_1 nobody_2", "no question nobody_1, nobody_2: expected question_ids, as"),
        ("pin local", "Corpus local has nothing to pin: "),
        (f"{IMPORT} tomorrow", "--date is 'tomorrow', expected a day: 2026-03-01"),
    ],
)
def test_mistake_in_a_verb_ends_with_its_message(
    command: str,
    words: str,
    inside: ExportWorld,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    predictions = write_predictions(tmp_path, inside.questions("eval"))
    arguments = command.replace("p.jsonl", str(predictions)).split()
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"answerkey {arguments[0]}: {words}")


def test_explain_and_validate_say_what_there_is(
    inside: ExportWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    inside.world.run("select_questions")
    assert main(["explain"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("corpus local: 42 questions\n\n")
    assert "largest selection: 35 of " in said
    question = inside.questions("eval")[0]
    assert main(["explain", question["question_id"]]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{question['question_id']}: usable\n")
    assert "\n  sql_risk    0." in said
    assert main(["validate"]) == 0
    assert capsys.readouterr().err == "validate: no errors\n"


def test_validate_has_a_status_for_errors_and_one_for_nothing(
    exported: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(exported.folder, tmp_path / "world")
    monkeypatch.chdir(tmp_path / "world")
    Path("data/questions/questions_eval.json").unlink()
    assert main(["validate"]) == 1
    shutil.rmtree("data/questions")
    assert main(["validate"]) == 3


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_verbs_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="needs the extra `completion`")
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert all(word in said for word in (*VERBS, "no-test-suites"))


# --- stages

PARAMS = Path("params.yaml")
COMMANDS = [f"stages.{path.stem}" for path in sorted((ROOT / "stages").glob("[!_]*.py"))]


def start(
    *command: str, folder: Path, most_bytes: int | None = None, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """A command as its users start it; no file may become larger than `most_bytes`."""

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        preexec_fn=limit,
    )


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
    "no params": (
        "assign_splits",
        remove("params.yaml"),
        "No .*/params.yaml: expected the root of the",
    ),
    "typo in a key": (
        "assign_splits",
        change("select_questions.policy", {}),
        "params.yaml: unknown key select_questions.policy: expected some of seed, policies",
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
        f"{INTERIM}/joined.jsonl:42: not JSON: .*; it is the pipeline.s own: `dvc repro` makes",
    ),
    "database that is none": (
        "export_trainers",
        write("data/databases/harbour/harbour.sqlite", "no database " * 100),
        "Corrupt database: .*harbour.sqlite",
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
    "missing template": (
        "export_trainers",
        change("export_trainers.prompt_template", "nothing.j2"),
        "nothing.j2: No such file or directory",
    ),
    "broken template": ("export_trainers", write("prompt.j2", "{{ question_text"), "prompt.j2:1: "),
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

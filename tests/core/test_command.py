"""Each verb of `answerkey` does what it says, or says what it lacks."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from answerkey.command import main, make_parser
from tests.shared.export_world import ExportWorld
from tests.shared.paths import ROOT


def list_verbs() -> dict[str, argparse.ArgumentParser]:
    (verbs,) = (each for each in make_parser()._actions if each.dest == "verb")
    return verbs.choices


VERBS = list_verbs()
EXAMPLES = {name: verb.epilog.removeprefix("example: answerkey ") for name, verb in VERBS.items()}
WITHOUT_PACKAGES = ("evaluate", "review", "score")


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
    ours = "[name for name in sys.modules if name.startswith('answerkey')]"
    code = f"import answerkey.command as c; c.make_parser().format_help(); print({ours})"
    done = start_bare(code, tmp_path)
    loaded = ["answerkey", "answerkey.base", "answerkey.base.errors", "answerkey.command"]
    assert done.stdout == f"{loaded}\n", done.stderr


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
    words = rf"answerkey {name}: it needs \w+: pip install 'answerkey\[{extra}\]'\n"
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
        assert done.stderr == "No page: pip install 'answerkey[evaluate]'\n"
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
        ("review", "No reports/dataset.html: run `dvc repro`, which makes it"),
        ("pin local", "Corpus local has nothing to pin: "),
        (f"{IMPORT} tomorrow", "--date is 'tomorrow', expected a day: 2026-03-01"),
    ],
)
def test_mistake_of_a_user_ends_with_its_message(
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
    assert "largest selection: 35 of " in capsys.readouterr().out
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


def test_review_names_the_page_and_the_next_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "reports/dataset.html"
    page.parent.mkdir()
    page.touch()
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["review", "--open"]) == 0
    assert opened == [page.as_uri()]
    said = capsys.readouterr().out
    assert said.startswith(f"{page.as_uri()}\n")
    assert "data/corrections/CORPUS.yaml" in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_verbs_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="needs the extra `completion`")
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert all(word in said for word in (*VERBS, "no-test-suites"))

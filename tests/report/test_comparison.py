"""comparison: what two runs differ in, read from DVC in a clone with a remote of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from answerkey.report.comparison import Snapshot, describe_changes, list_changes
from tests.shared.checkout import commit, output, run
from tests.shared.paths import ROOT

pytestmark = pytest.mark.slow


def make_question(question_id: str, **fields: object) -> dict:
    return {"question_id": question_id, "question_text": f"{question_id}?"} | fields


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(1, 1.0, "1 -> 1.0"), (1, True, "1 -> true"), (["a", None], ["a"], '["a", null] -> ["a"]')],
)
def test_values_of_another_type_differ(before, after, change):
    assert list_changes({"gold_answer": before}, {"gold_answer": after}) == [
        f"gold_answer: {change}"
    ]
    assert list_changes({"gold_answer": before}, {"gold_answer": before}) == []


def test_long_values_are_cut():
    (change,) = list_changes({}, {"gold_sql": "x" * 5000})
    assert change == f'gold_sql: null -> "{"x" * 199}…'


def test_every_question_is_told_once():
    then = Snapshot(
        {"a": make_question("a"), "b": make_question("b")}, {"c": "x", "d": "y", "e": "z"}
    )
    now = Snapshot({"a": make_question("a"), "c": make_question("c")}, {"d": "w", "e": "z"})
    lines = list(describe_changes(then, now))
    assert lines[0].endswith("1 came, 1 went, 0 changed, 1 left out for another reason")
    assert lines[1:] == [
        'came: c (was x) "c?"',
        'went: b (is not there) "b?"',
        "left out: d (y -> w)",
    ]


# --- read through DVC


def write_product(folder: Path, train: list[dict], reasons: dict[str, str]) -> None:
    """A product as export_dataset writes it."""
    product = folder / "data/questions"
    shutil.rmtree(product, ignore_errors=True)
    product.mkdir(parents=True)
    (product / "questions_train.json").write_text(json.dumps(train), encoding="utf-8")
    (product / "questions_eval.json").write_text("[]", encoding="utf-8")
    (product / "excluded.jsonl").write_text(
        "".join(
            json.dumps({"question_id": key, "reason": reason}) + "\n"
            for key, reason in reasons.items()
        ),
        encoding="utf-8",
    )
    run(folder, "dvc", "add", "-q", "data/questions")
    commit(folder, "A run")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose DVC has two products; the first is on the remote, the second is not."""
    folder = tmp_path_factory.mktemp("runs") / "project"
    folder.mkdir()
    run(folder, "git", "init", "-q", "-b", "main")
    run(folder, "dvc", "init", "-q")
    run(folder, "dvc", "remote", "add", "-q", "-d", "beside", "../../storage")
    write_product(folder, [make_question("a", gold_answer=1)], {"b": "sql_error"})
    run(folder, "dvc", "push", "-q")
    questions = [make_question("a", gold_answer=2), make_question("b")]
    write_product(folder, questions, {})
    return folder


def compare(folder: Path, revision: str, *, check: bool = True) -> str:
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1));"
        " from answerkey.command import main; sys.exit(main())"
    )
    done = run(folder, "python", "-c", code, str(ROOT), "compare", revision, check=check)
    assert (done.returncode == 0) is check
    assert "Traceback" not in done.stderr
    return done.stdout if check else output(done)


def test_run_of_a_revision_is_read_from_the_cache(project):
    before = run(project, "git", "status", "--porcelain").stdout
    assert compare(project, "HEAD~1").splitlines() == [
        "Against HEAD~1:",
        "1 question then, 2 now: 1 came, 0 went, 1 changed, 0 left out for another reason",
        'came: b (was sql_error) "b?"',
        'changed: a "a?"',
        "  gold_answer: 1 -> 2",
    ]
    assert "0 came, 0 went, 0 changed" in compare(project, "HEAD")
    assert run(project, "git", "status", "--porcelain").stdout == before


def test_run_of_a_revision_is_read_from_the_remote(project):
    clone = project.parent / "clone"
    run(project, "git", "clone", "-q", ".", str(clone))
    write_product(clone, [make_question("a", gold_answer=3)], {})
    assert compare(clone, "origin/main~1").splitlines()[-1] == "  gold_answer: 1 -> 3"
    message = compare(clone, "origin/main", check=False)
    assert "answerkey compare: revision origin/main: " in message
    assert "whoever ran it pushes it with `dvc push`" in message


def test_unknown_revision_is_an_error_in_words(project):
    assert "unknown Git revision 'nowhere'" in compare(project, "nowhere", check=False)


def test_project_below_the_root_of_a_git_repository_is_compared_like_any_other(tmp_path):
    folder = tmp_path / "teams/sql"
    folder.mkdir(parents=True)
    run(tmp_path, "git", "init", "-q", "-b", "main")
    run(folder, "dvc", "init", "-q", "--subdir")
    run(folder, "dvc", "remote", "add", "-q", "-d", "beside", "../../storage")
    write_product(folder, [make_question("a", gold_answer=1)], {})
    write_product(folder, [make_question("a", gold_answer=2)], {})
    assert compare(folder, "HEAD~1").splitlines()[-1] == "  gold_answer: 1 -> 2"
    run(folder, "dvc", "push", "-q", "--all-commits")
    shutil.rmtree(folder / ".dvc/cache")
    assert compare(folder, "HEAD~1").splitlines()[-1] == "  gold_answer: 1 -> 2"

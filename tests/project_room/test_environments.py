"""`answerkey init --environments`: copies of what the package has, which replace nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.command import main
from tests.shared.checkout import hash_tree, run
from tests.shared.paths import ROOT

FOLDERS = ("environments", "examples")


def test_project_that_is_there_gets_the_environments_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = hash_tree(project, ".")
    assert main(["init", ".", "--environments"]) == 0
    listed = run(ROOT, "git", "ls-files", "-co", "--exclude-standard", *FOLDERS).stdout
    after = hash_tree(project, ".")
    new = {path: after[path] for path in after.keys() - before.keys()}
    ours = hash_tree(ROOT, *FOLDERS)
    assert new == {path: ours[path] for path in listed.splitlines()}
    assert {path: after[path] for path in before} == before
    assert capsys.readouterr().out.count(": new;") == 2

    mine = project / "environments/openenv/openenv.yaml"
    mine.write_text("# ours\n", encoding="utf-8")
    (project / "examples/trl.lock").unlink()
    before = hash_tree(project, ".")
    assert main(["init", str(project), "--environments"]) == 0
    assert hash_tree(project, ".") == before
    assert capsys.readouterr().out.count("kept as it is: ") == 2


def test_new_project_may_have_them_from_the_start(here: Path) -> None:
    assert main(["init", "own", "--environments"]) == 0
    assert (here / "own/environments/verl/agent_loop.yaml").is_file()
    assert (here / "own/dvc.yaml").is_file()


def test_other_options_are_for_a_new_project(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = hash_tree(project, ".")
    with pytest.raises(SystemExit):
        main(["init", ".", "--environments", "--sample"])
    assert "replaces nothing" in capsys.readouterr().err
    assert hash_tree(project, ".") == before

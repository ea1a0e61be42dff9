"""Two maintainers merge, and a torn dvc.lock is mended: the ways of docs/sharing.md, in clones."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.shared.checkout import PRODUCT, commit, hash_tree, output, run, stages_to_run
from tests.shared.paths import ROOT
from tests.shared.transcripts import read_section

DOCS = ROOT / "docs/sharing.md"

pytestmark = pytest.mark.slow


@pytest.fixture
def clone(finished: Path, tmp_path: Path) -> Path:
    """A maintainer's clone, with the data, on the branch `main`, and a branch `their-branch`."""
    folder = tmp_path / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    run(folder, "git", "config", "user.name", "Tester")
    run(folder, "git", "config", "user.email", "tester@example.org")
    run(folder, "git", "branch", "-q", "their-branch")
    return folder


def change(folder: Path, branch: str, path: str, old: str, new: str) -> None:
    """Change a file on a branch, run what it concerns, and commit."""
    run(folder, "git", "checkout", "-q", branch)
    run(folder, "dvc", "checkout", "-q")
    text = (folder / path).read_text(encoding="utf-8")
    assert old in text
    (folder / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    run(folder, "dvc", "repro")
    commit(folder, f"Change {path}")


def read_way() -> list[str]:
    """The commands of the docs."""
    (block,) = re.findall(r"^```\n(.*?)^```$", read_section(DOCS, "Two maintainers"), re.M | re.S)
    return block.splitlines()


def enter(folder: Path, command: str) -> tuple[int, str]:
    """Status and output of a command, in a shell."""
    done = run(folder, "bash", "-c", command, check=False)
    return done.returncode, output(done)


def check_is_run(folder: Path) -> None:
    """Code, parameters, lock and data belong together, and everything is committed."""
    assert "up to date" in run(folder, "dvc", "status").stdout
    assert run(folder, "git", "status", "--porcelain").stdout == ""


def test_both_changed_one_stage_and_either_side_will_do(clone: Path) -> None:
    change(clone, "their-branch", "params.yaml", "easy_max_tables: 2", "easy_max_tables: 1")
    change(clone, "main", "params.yaml", "seed: 20", "seed: 21")
    merge, side, *rest = read_way()
    status, said = enter(clone, merge)
    assert status != 0
    conflicts = re.findall(r"^CONFLICT .* in (\S+)$", said, re.MULTILINE)
    assert {"dvc.lock", "metrics/dataset.json"} <= set(conflicts)
    assert {name.split("/")[0] for name in conflicts} <= {"dvc.lock", "metrics", "plots"}
    results = []
    for taken in (side.replace("--ours", "--theirs"), side):
        assert enter(clone, taken)[0] == 0
        assert enter(clone, rest[0])[0] == 0
        results.append(hash_tree(clone, *PRODUCT, "metrics", "plots", "dvc.lock"))
    assert results[0] == results[1]
    for command in rest:
        status, said = enter(clone, command)
        assert status == 0, said
    check_is_run(clone)
    assert hash_tree(clone, *PRODUCT, "metrics", "plots", "dvc.lock") == results[0]


@pytest.fixture
def changed(finished: Path, tmp_path: Path) -> Path:
    """A clone in which a changed threshold has run, and nothing of it is committed."""
    folder = tmp_path / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    params = folder / "params.yaml"
    text = params.read_text(encoding="utf-8")
    params.write_text(text.replace("easy_max_tables: 2", "easy_max_tables: 1"), encoding="utf-8")
    run(folder, "dvc", "repro")
    return folder


def test_torn_lock_file_is_mended_as_the_docs_say(changed: Path) -> None:
    path = changed / "dvc.lock"
    whole = path.read_bytes()
    row = next(line for line in DOCS.read_text("utf-8").splitlines() if "DVC was killed" in line)
    *messages, way = re.findall(r"`([^`]+)`", row)
    heard = set()
    start = whole.index(b"  parse_gold_sql:")
    for end in (whole.index(b"size: ", start) + 6, whole.index(b"md5: ", start) + 2):
        path.write_bytes(whole[:end])
        done = run(changed, "dvc", "repro", check=False)
        assert done.returncode != 0
        heard |= {message for message in messages if message in output(done)}
    assert heard == set(messages)
    said = output(run(changed, "bash", "-c", way))
    assert "executed" not in said
    assert stages_to_run(said) == ["export_dataset"]  # the one that DVC's cache of runs leaves out
    assert path.read_bytes() == whole

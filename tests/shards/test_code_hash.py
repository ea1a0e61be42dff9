"""Code that changes makes the shards again that it made; code that does not executes nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from answerkey.shards.runs import hash_code
from tests.shared.paths import ROOT
from tests.shared.project_world import World

# What is changed: in which module, from what, to what.
ANSWERS_CHANGE = (
    "answerkey/sqlite/answers.py",
    "return [list(row) for row in rows]",
    "return [list(row) for row in rows][::-1]",
)
COLUMNS_CHANGE = ("answerkey/sql/parsed_query.py", "return sorted(", "return [] and sorted(")
AUDIT_CHANGE = (
    "answerkey/probes/answers.py",
    'Finding("boolean_answer", {',
    'Finding("boolean_answer", {"changed": True, ',
)


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text, f"{path}: no {before}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def execute(folder: Path, code: Path, stage: str) -> int:
    """Run a stage of some code in a folder; how many queries it says that it looked at."""
    done = subprocess.run(
        [sys.executable, "-m", f"stages.{stage}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(code)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return int(re.search(r" (\d+) queries (?:executed|parsed|audited)", done.stderr)[1])


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_changed_code_makes_the_shards_of_its_stage_again(tmp_path: Path, monkeypatch) -> None:
    world, code = tmp_path / "world", tmp_path / "code"
    world.mkdir()
    for package in ("answerkey", "stages"):
        shutil.copytree(ROOT / package, code / package)
    shutil.copy(ROOT / "dvc.yaml", code)
    monkeypatch.chdir(world)
    World(world).run_to("audit_gold_answers")
    answers, parsed, audit = (
        world / path
        for path in ("data/interim/gold_answers", "data/interim/parsed", "data/interim/audit")
    )
    made = read_files(answers)
    assert execute(world, code, "compute_gold_answers") == 0
    for stage, out, (module, before, after) in (
        ("parse_gold_sql", parsed, COLUMNS_CHANGE),
        ("audit_gold_answers", audit, AUDIT_CHANGE),
        ("compute_gold_answers", answers, ANSWERS_CHANGE),
    ):
        before_it = read_files(out)
        change(code / module, before, after)
        assert execute(world, code, stage) > 30
        assert read_files(out) != before_it
    assert execute(world, ROOT, "compute_gold_answers") > 30
    assert read_files(answers) == made


# --- which files are the code of a stage


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A stage whose code is a module, a package and a folder of another kind."""
    deps = ["stages/one.py", "library", "data", "${corpora.local.root}"]
    pipeline = {"stages": {"one": {"deps": deps}, "other": {"deps": ["stages/other.py"]}}}
    files = {
        "dvc.yaml": yaml.safe_dump(pipeline),
        "stages/one.py": "1",
        "stages/other.py": "2",
        "library/__init__.py": "",
        "library/inner/deep.py": "3",
        "library/inner/page.html": "4",
        "data/questions.jsonl": "5",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["stages/one.py", "library/inner/deep.py", "library/inner/page.html", "library/new.py"]
)
def test_every_file_of_a_module_or_package_counts(project: Path, name: str) -> None:
    one, other = hash_code("one", root=project), hash_code("other", root=project)
    (project / name).write_text("changed = 1")
    assert hash_code("one", root=project) != one
    assert hash_code("other", root=project) == other


@pytest.mark.parametrize(
    "name",
    [
        "library/__pycache__/deep.cpython-311.pyc",
        "data/questions.jsonl",
        "data/tool.py",
        "stages/other.py",
    ],
)
def test_compiled_files_data_and_code_of_others_do_not_count(project: Path, name: str) -> None:
    before = hash_code("one", root=project)
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("changed")
    assert hash_code("one", root=project) == before


def test_module_that_is_listed_and_missing_is_named(project: Path) -> None:
    (project / "stages/one.py").unlink()
    with pytest.raises(FileNotFoundError, match=r"stages/one\.py"):
        hash_code("one", root=project)


CODE = '''"""A module."""

import os  # for two


class Ship:
    """A ship."""

    def sail(self) -> str:
        """Sail.

        Far.
        """
        # Away.
        return """# no comment

        """
'''


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""', '"""Another\nmodule."""'),
        ('"""A module."""', ""),
        ("\n\n\n", "\n"),
        ("Far.", "Near."),
        ("# Away.", "# Here.\n        # There."),
        ('        """Sail.\n\n        Far.\n        """\n', ""),
    ],
)
def test_docstrings_comments_and_blank_lines_do_not_count(
    project: Path, before: str, after: str
) -> None:
    (project / "stages/one.py").write_text(CODE)
    one = hash_code("one", root=project)
    assert before in CODE
    (project / "stages/one.py").write_text(CODE.replace(before, after, 1))
    assert hash_code("one", root=project) == one


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import os", "import sys"),
        ("# no comment", "# nothing"),
        ("# no comment\n\n", "# no comment\n"),
        ("        return", "        yield"),
        ("class Ship", "class Boat"),
    ],
)
def test_code_and_texts_count(project: Path, before: str, after: str) -> None:
    (project / "stages/one.py").write_text(CODE)
    one = hash_code("one", root=project)
    assert before in CODE
    (project / "stages/one.py").write_text(CODE.replace(before, after, 1))
    assert hash_code("one", root=project) != one

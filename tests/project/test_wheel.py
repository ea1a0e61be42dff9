"""What is published: one package, which scores in an environment that has nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.shared.checkout import make_checkout
from tests.shared.export_world import ExportWorld
from tests.shared.paths import ROOT

for package, least in (("setuptools", "77"), ("build", None), ("twine", None)):
    pytest.importorskip(package, least, reason=f"needs {package} of the extra `release`")
pytestmark = pytest.mark.slow


def list_shipped() -> list[Path]:
    """The files of git that the lines `graft` and `include` of MANIFEST.in name."""
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    paths = [
        path for line in lines for verb, path in [line.split()] if verb in ("graft", "include")
    ]
    options = ("ls-files", "-co", "--exclude-standard", "--")
    listed = run("git", "--glob-pathspecs", *options, *paths, folder=ROOT)
    return [ROOT / name for name in listed.splitlines()]


def run(*command: str, folder: Path) -> str:
    """What a command prints, in a folder, without what this test run can import."""
    environment = {k: value for k, value in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    (path,) = distributions.glob("*.whl")
    return path


def test_the_index_takes_what_both_say_of_themselves(distributions: Path) -> None:
    files = sorted(map(str, distributions.iterdir()))
    check = ("-m", "twine", "--no-color", "check", "--strict")
    said = run(sys.executable, *check, *files, folder=distributions)
    assert said.count("PASSED") == len(files) == 2


def test_the_source_distribution_has_the_package_and_what_it_ships(
    distributions: Path,
) -> None:
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {Path(name).parts[1] for name in archive.getnames() if "/" in name}
    texts = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}
    shipped = {file.relative_to(ROOT).parts[0] for file in list_shipped()}
    assert names == texts | {"answerkey", "answerkey.egg-info", "setup.py"} | shipped


def test_it_has_one_package_with_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"answerkey"}
    inside = {name.partition("/")[2] for name in names}
    assert {
        "py.typed",
        "reward.py",
        "reading/prompt.j2",
        "reading/rules.md",
        "report/templates/report.html.j2",
        "report/datatables/LICENSE.txt",
        "licenses/LICENSE",
        "licenses/answerkey/report/datatables/LICENSE.txt",
    } <= inside
    sources = {path.suffix for path in map(Path, inside)}
    assert ".pyc" not in sources


def test_it_has_copies_of_what_projects_take(wheel: Path) -> None:
    folder = "answerkey/shipped/"
    with zipfile.ZipFile(wheel) as archive:
        copies = {
            name.removeprefix(folder): archive.read(name)
            for name in archive.namelist()
            if name.startswith(folder)
        }
    assert {"dvc.yaml", "params.yaml", "stages/load_questions.py", "templates/prompt.j2"} <= set(
        copies
    )
    assert copies == {
        file.relative_to(ROOT).as_posix(): file.read_bytes() for file in list_shipped()
    }


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel, and none of its dependencies."""
    folder = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", "--without-pip", "environment", folder=folder)
    programs = folder / "environment/bin"
    install = ("install", "--quiet", "--no-index", "--no-deps", str(wheel))
    run(sys.executable, "-m", "pip", "--python", str(programs / "python"), *install, folder=folder)
    return programs


def test_it_scores_in_an_empty_environment(empty: Path, tmp_path: Path) -> None:
    script = str(ROOT / "tests/shared/score_alone.py")
    file = run(str(empty / "python"), script, folder=tmp_path).strip()
    assert Path(file).is_relative_to(empty.parent)


def test_its_command_evaluates_there_and_says_what_other_verbs_need(
    empty: Path, exported: ExportWorld, tmp_path: Path
) -> None:
    command = str(empty / "answerkey")
    lines = [
        json.dumps({"question_id": one["question_id"], "prediction": one["gold_sql"]})
        for one in exported.questions("eval")
    ]
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text("\n".join(lines), encoding="utf-8")
    out = str(tmp_path / "out")
    said = run(command, "evaluate", str(predictions), "--out", out, folder=exported.folder)
    assert "100.0%" in said.splitlines()[2]
    scores = run(command, "score", str(predictions), folder=exported.folder).splitlines()
    assert {json.loads(line)["score"] for line in scores} == {1.0}
    assert len(scores) == len(lines)
    refused = subprocess.run(
        [command, "explain"], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert refused.returncode == 1
    words = r"answerkey explain: it needs \w+: pip install 'answerkey\[pipeline\]'\n"
    assert re.fullmatch(words, refused.stderr), refused.stderr


def test_script_beside_a_clone_finds_the_package(tmp_path: Path) -> None:
    """Also where the clone has the name of the package, and is installed as it lies there."""
    clone = make_checkout(tmp_path / "answerkey")
    build = "from setuptools import build_meta; build_meta.build_editable('dist')"
    run(sys.executable, "-c", build, folder=clone)
    (wheel,) = (clone / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", "environment", folder=tmp_path)
    python = str(tmp_path / "environment/bin/python")
    install = ("install", "--quiet", "--no-index", "--no-deps", str(wheel))
    run(sys.executable, "-m", "pip", "--python", python, *install, folder=tmp_path)
    script = tmp_path / "script.py"
    script.write_text("import answerkey.environments as e; print(e.__file__)", encoding="utf-8")
    found = run(python, str(script), folder=tmp_path).strip()
    assert Path(found) == clone / "answerkey/environments/__init__.py"

"""A project of one's own, by the wheel alone: it makes the bytes of a clone, and an upgrade reruns
what other code concerns, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from answerkey.engines.names import ENGINES
from answerkey.project.files import FOLDERS
from tests.shared.checkout import hash_tree, stages_to_run
from tests.shared.installed import Installed, run
from tests.shared.shop_world import write_shop

for package, least in (("setuptools", "77"), ("build", None)):
    pytest.importorskip(package, least, reason=f"needs {package} of the extra `release`")
pytestmark = pytest.mark.slow

MADE = ("data", "metrics", "plots", "reports")
CODE = ("import annotations\n", "import annotations\n\nCHANGED = True\n")


@pytest.fixture(scope="module")
def demo(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of the sample that has run."""
    folder = tmp_path_factory.mktemp("own")
    installed.answerkey(folder, "init", "--sample", "demo")
    installed.dvc(folder / "demo", "repro")
    return folder / "demo"


def test_project_makes_the_bytes_of_a_clone(
    demo: Path, installed: Installed, finished: Path
) -> None:
    ours, theirs = hash_tree(demo, *MADE), hash_tree(finished, *MADE)
    assert ours["data/questions/questions_train.json"]
    notes = {f"{folder}/README.md" for folder in FOLDERS}
    assert {path: ours[path] for path in ours if path not in notes} == {
        path: theirs[path] for path in theirs if path in ours and path not in notes
    }
    rest = theirs.keys() - ours.keys()
    names = ["flag_precision.json", "corrections/spider.yaml", "verdicts/spider.jsonl"]
    names += ["bird/README.md", "local/README.md"]
    assert rest == {f"data/{name}" for name in names}  # of the package, and of other corpora
    assert "up to date" in installed.dvc(demo, "status")
    assert "no errors" in installed.answerkey(demo, "validate")
    run(demo, installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")


def test_changed_docstring_reruns_nothing(demo: Path, installed: Installed) -> None:
    installed.change("engines/sqlite/guard.py", '"""', '"""Changed. ')
    assert "stale: no stage" in installed.answerkey(demo, "upgrade")
    assert "no errors" in installed.answerkey(demo, "validate")
    assert "up to date" in installed.dvc(demo, "status")


def test_changed_doubt_reruns_the_audit_and_executes_nothing(
    demo: Path, installed: Installed
) -> None:
    installed.change("doubts/answers.py", *CODE)
    refused = installed.answerkey(demo, "validate", check=False)
    assert re.fullmatch(r"answerkey validate: .+ for audit_gold_answers.*: run .+\n", refused)
    stage = run(demo, installed.python, "-m", "stages.audit_gold_answers", check=False)
    assert stage.returncode == 1
    assert "run `answerkey upgrade`" in stage.stderr
    told = installed.answerkey(demo, "upgrade")
    assert "stale: audit_gold_answers (answerkey/doubts)" in told
    said = installed.dvc(demo, "repro")
    ran = stages_to_run(said)
    assert ran[0] == "audit_gold_answers"
    assert "compute_gold_answers" not in ran
    assert "queries audited" in said
    assert "up to date" in installed.dvc(demo, "status")
    run(demo, installed.python, "-m", "stages.compute_gold_answers")
    again = run(demo, installed.python, "-m", "stages.compute_gold_answers").stderr
    assert " 0 queries executed" in again


# A trainer's process: gold of the exports is right, and a query that is not is wrong.
SCORE = """
import json
from pathlib import Path
from answerkey.reward import TERMS, RewardPool

def read(path):
    return Path(path).read_text(encoding="utf-8")

questions = json.loads(read("data/questions/questions_train.json"))
gold = {question["question_id"]: question for question in questions}
with RewardPool(workers=1) as pool:
    for row in map(json.loads, read("data/exports/openenv/train.jsonl").splitlines()):
        names = {"database_name", "order_matters", *TERMS} & row.keys()
        terms = {name: row[name] for name in names}
        for sql in (gold[row["question_id"]]["gold_sql"], "SELECT 0"):
            answer = gold[row["question_id"]]["gold_answer"]
            print(row["engine"], pool.score_sql(sql, answer, **terms))
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_two_lines_make_a_dataset_of_a_database_and_questions(
    installed: Installed, tmp_path: Path, engine: str
) -> None:
    database, questions = write_shop(tmp_path, engine)
    files = ("--database", database.name, "--questions", questions.name)
    told = installed.answerkey(tmp_path, "init", "our shop", *files)
    assert told.splitlines()[-3:] == ["Next:", "  cd 'our shop'", "  dvc repro"]
    project = tmp_path / "our shop"
    installed.dvc(project, "repro")
    assert "no errors" in installed.answerkey(project, "validate")
    assert "up to date" in installed.dvc(project, "status")
    assert "nothing to do" in installed.answerkey(project, "upgrade")
    scored = run(project, installed.python, "-c", SCORE).stdout.splitlines()
    assert set(scored) == {f"{engine} 1.0", f"{engine} 0.0"}


def test_wheel_without_a_project_says_how_to_make_one(installed: Installed, tmp_path: Path) -> None:
    said = installed.answerkey(tmp_path, "explain", check=False)
    assert "`answerkey init DIR` makes one" in said

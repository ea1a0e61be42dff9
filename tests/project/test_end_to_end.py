"""The whole pipeline under DVC, as a user and a teammate run it, in clones of this repository."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.shared.checkout import PRODUCT, hash_tree, make_checkout, output, run, stages_to_run
from tests.shared.paths import ROOT

pytestmark = pytest.mark.slow
AFTER_DIFFICULTY = [
    "classify_difficulty",
    "select_questions",
    "validate_dataset",
    "export_dataset",
    "export_trainers",
    "export_huggingface",
    "report_dataset",
]


@pytest.fixture(scope="module")
def built(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which `dvc repro` has run."""
    folder = tmp_path_factory.mktemp("first") / "answerkey"
    return shutil.copytree(finished, folder, symlinks=True)


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A clone in which nothing has run."""
    return make_checkout(tmp_path / "answerkey")


def change_params(folder: Path, **changes: object) -> None:
    """Change values of params.yaml by their dotted keys, written with __ for the dots."""
    path = folder / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key, value in changes.items():
        *sections, last = key.split("__")
        place = params
        for section in sections:
            place = place[section]
        assert last in place or sections[-1] == "policies", key  # others have their defaults
        place[last] = value
    path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def restore(folder: Path) -> None:
    """Bring a clone back to what was committed, data included."""
    run(folder, "git", "checkout", "-q", ".")
    run(folder, "dvc", "checkout", "--force")


def read_product(folder: Path) -> list[dict]:
    return [
        question
        for split in ("train", "eval")
        for question in json.loads(
            (folder / f"data/questions/questions_{split}.json").read_text(encoding="utf-8")
        )
    ]


def test_clean_run_leaves_everything_in_git_as_it_was(built: Path) -> None:
    assert run(built, "git", "diff", "--stat", "HEAD~1").stdout == ""
    assert run(built, "git", "status", "--porcelain").stdout == ""


def test_every_source_question_is_in_the_product_or_excluded_once(built: Path) -> None:
    source = [
        row
        for name in ("train_spider.json", "dev.json")
        for row in json.loads((ROOT / "data/sample" / name).read_text(encoding="utf-8"))
    ]
    excluded = (built / "data/questions/excluded.jsonl").read_text(encoding="utf-8").splitlines()
    ids = [question["question_id"] for question in read_product(built)]
    ids += [json.loads(line)["question_id"] for line in excluded]
    assert len(ids) == len(set(ids)) == len(source)


def test_second_run_elsewhere_gives_the_same_bytes(built: Path, fresh: Path) -> None:
    run(fresh, "dvc", "repro", environment={"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"})
    parts = (*PRODUCT, "data/interim", "metrics", "plots")
    assert hash_tree(fresh, *parts) == hash_tree(built, *parts)


def test_number_of_workers_does_not_change_a_byte(built: Path, fresh: Path) -> None:
    change_params(fresh, execution__workers=1)
    run(fresh, "dvc", "repro")
    assert hash_tree(fresh, *PRODUCT) == hash_tree(built, *PRODUCT)


def test_fresh_clone_has_nothing_to_run(fresh: Path) -> None:
    done = run(fresh, "dvc", "repro", "--dry", "--allow-missing")
    assert stages_to_run(output(done)) == []


def test_ties_of_the_sample_are_kept_where_policies_accept_them_and_nothing_executes(built: Path):
    ties = dict.fromkeys(("tie_at_limit", "limit_without_order"), "accept_ties")
    policies = {f"select_questions__policies__{flag}": policy for flag, policy in ties.items()}
    change_params(built, **policies, reward__rule="spider", reward__max_steps=2_000_000)
    done = run(built, "dvc", "repro")
    assert sorted(stages_to_run(output(done))) == sorted(["score_rollouts", *AFTER_DIFFICULTY])
    lines = (built / "data/questions/audit.jsonl").read_text(encoding="utf-8").splitlines()
    audits = [json.loads(line) for line in lines]
    assert {audit["rule"] for audit in audits} == {"spider"}
    kept = [audit for audit in audits if audit["accepted_rows"] is not None]
    cut = [a for a in audits if ties.keys() & {flag["code"] for flag in a["flags"]}]
    assert len(kept) >= 5
    assert cut == kept
    excluded = (built / "data/questions/excluded.jsonl").read_text(encoding="utf-8")
    assert '"reason": "tie_at_limit"' not in excluded
    restore(built)


@pytest.fixture(scope="module")
def pulled(built: Path) -> Path:
    """A teammate's clone after a plain `dvc pull`: the remote is beside the repository, and so is
    the clone."""
    run(built, "dvc", "push")
    folder = built.parent / "teammate"
    run(built.parent, "git", "clone", "-q", str(built), str(folder))
    run(folder, "dvc", "pull")
    return folder


def test_pull_brings_all_that_a_run_has_made(built: Path, pulled: Path) -> None:
    parts = (*PRODUCT, "data/interim", "reports")
    assert hash_tree(pulled, *parts) == hash_tree(built, *parts)
    run(pulled, "python", "-m", "compileall", "-q", "answerkey", "stages")  # is no change
    assert "up to date" in run(pulled, "dvc", "status").stdout


def test_threshold_reruns_difficulty_and_what_follows_at_a_teammates(pulled: Path) -> None:
    change_params(pulled, classify_difficulty__easy_max_tables=1)
    shown = run(pulled, "dvc", "params", "diff").stdout
    assert "classify_difficulty.easy_max_tables" in shown
    done = run(pulled, "dvc", "repro")
    assert sorted(stages_to_run(output(done))) == sorted(AFTER_DIFFICULTY)
    assert " executed" not in output(done)
    restore(pulled)


def test_teammate_finds_the_product_valid_until_it_is_changed(pulled: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(pulled, tmp_path / "answerkey", symlinks=True)
    done = run(folder, "python", "-m", "stages.validate_dataset", "--validate")
    assert "no errors" in output(done)
    eval_path = folder / "data/questions/questions_eval.json"
    broken = eval_path.read_text(encoding="utf-8").replace(
        '"answer_type": "list"', '"answer_type": "table"', 1
    )
    eval_path.unlink()
    eval_path.write_text(broken, encoding="utf-8")
    done = run(folder, "python", "-m", "stages.validate_dataset", "--validate", check=False)
    assert done.returncode == 1
    assert "Validation failed with 1 errors" in output(done)

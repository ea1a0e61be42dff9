"""A clone that has pulled makes only those shards again that a change concerns."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.shared.checkout import output, run, stages_to_run
from tests.shared.paths import ROOT
from tests.shared.project_world import HARBOUR, World

OUTS = {
    out if isinstance(out, str) else next(iter(out))
    for stage in yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"].values()
    for out in stage["outs"]
}
SHARDS = ("gold_answers", "parsed", "audit", "test_suites")


def count_work(said: str) -> list[int]:
    """How many queries were executed, parsed and audited, and of how many databases the suites
    were made, as the stages said."""
    patterns = (r"queries executed", r"queries parsed now", r"queries audited")
    counts = [re.search(rf" (\d+) {words}", said) for words in patterns]
    counts.append(re.search(r"suites of (\d+) made", said))
    return [int(count[1]) for count in counts]


def work_on(world: World, capfd: pytest.CaptureFixture[str], db_list: list[str] | str) -> list[int]:
    """The work of all stages that have shards, on a choice of databases."""
    world.change("corpora.local.db_list", db_list)
    world.change("select_questions.targets.min_questions", None)
    capfd.readouterr()
    world.run_to("generate_test_suites")
    return count_work(capfd.readouterr().err)


def test_outs_are_all_that_the_shards_of_a_clone_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A database that a teammate adds, changes or removes costs its own queries."""
    maintainer, teammate = tmp_path / "maintainer", tmp_path / "teammate"
    maintainer.mkdir()
    monkeypatch.chdir(maintainer)
    harbour = work_on(World(maintainer), capfd, ["harbour"])
    made = [path for out in OUTS if (path := maintainer / out).exists()]
    assert len(made) > len(SHARDS)
    teammate.mkdir()
    for path in made:
        target = teammate / path.relative_to(maintainer)
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target)
    monkeypatch.chdir(teammate)
    world = World(teammate)
    library = work_on(world, capfd, "all")
    assert library == [11, 11, 11, 1]
    assert work_on(world, capfd, ["library"]) == [0, 0, 0, 0]
    assert work_on(world, capfd, "all") == harbour
    world.write_database("harbour", HARBOUR.replace("'Sun', 55", "'Sun', 56"))
    assert work_on(world, capfd, "all") == [harbour[0], 0, *harbour[2:]]


def test_no_stage_depends_on_keys() -> None:
    """They change with the code, also where the shards do not."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert {f"data/interim/{name}.keys" for name in SHARDS} <= OUTS
    for name, stage in stages.items():
        assert not [dep for dep in stage["deps"] if dep.endswith((".keys", "data/interim"))], name


def make_clone(finished: Path, folder: Path, *pulled: str) -> Path:
    """A clone of what a maintainer has pushed, with what was pulled: by default all."""
    maintainer, teammate = folder / "answerkey", folder / "teammate"
    shutil.copytree(finished, maintainer, symlinks=True)
    run(maintainer, "dvc", "push")
    run(folder, "git", "clone", "-q", str(maintainer), str(teammate))
    run(teammate, "dvc", "pull", *pulled)
    return teammate


def change_params(folder: Path, before: str, after: str) -> None:
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


@pytest.mark.slow
def test_fresh_clone_executes_what_changed_after_a_plain_pull(
    finished: Path, tmp_path: Path
) -> None:
    teammate = make_clone(finished, tmp_path)

    def repro() -> str:
        return output(run(teammate, "dvc", "repro", "compare_questions"))

    *kept, last = sorted(path.name for path in (teammate / "data/sample/database").iterdir())
    lines = (teammate / "data/interim/splits.jsonl").read_text(encoding="utf-8").splitlines()
    sources = [source for source in map(json.loads, lines) if source["database_name"] == last]
    queries = {source["gold_sql"] for source in sources}
    chosen = f"db_list: [{', '.join(kept)}]"
    change_params(teammate, "db_list: all", chosen)
    assert count_work(repro()) == [0, 0, 0, 0]
    change_params(teammate, chosen, "db_list: all")
    executed, parsed, audited, suites = count_work(repro())
    assert (executed, parsed, suites) == (len(queries), len(queries), 1)
    assert 0 < audited <= len(sources)
    assert "up to date" in run(teammate, "dvc", "status", "compare_questions").stdout

    script = teammate / "stages/compute_gold_answers.py"
    script.write_text(f"{script.read_text(encoding='utf-8')}# changed\n", encoding="utf-8")
    assert stages_to_run(repro()) == ["compute_gold_answers"]


PULLED = ("data/questions", "data/test_suites", "data/databases")
EXPLAIN = """
import json, sys
from answerkey.reward import explain_score
predicted_sql, gold_answer, terms = json.loads(sys.argv[1])
found = explain_score(predicted_sql, gold_answer, **terms)
print(json.dumps([found.reward, found.database]))
"""


@pytest.mark.slow
def test_clone_with_suites_and_nothing_of_the_pipeline_tells_wrong_from_right(
    finished: Path, tmp_path: Path
) -> None:
    teammate = make_clone(finished, tmp_path, *PULLED)
    assert not (teammate / "data/interim").exists()

    def read_first(name: str) -> dict:
        with (teammate / "data/questions" / name).open(encoding="utf-8") as lines:
            return json.loads(next(lines))

    suite, audit = read_first("test_suites.jsonl"), read_first("audit.jsonl")
    train = json.loads((teammate / "data/questions/questions_train.json").read_text("utf-8"))
    question = next(q for q in train if q["question_id"] == suite["question_id"])
    terms = {"database_name": question["database_name"], "order_matters": audit["order_matters"]}
    on_suite = terms | {"test_suite": suite["databases"]}

    def explain(sql: str, terms: dict) -> list:
        asked = json.dumps([sql, question["gold_answer"], terms])
        return json.loads(run(teammate, "python", "-c", EXPLAIN, asked).stdout)

    killing = suite["databases"][0]
    wrong_sql = killing["kill"]["sql"]
    assert explain(question["gold_sql"], on_suite) == [1.0, None]
    assert explain(wrong_sql, terms) == [1.0, None]
    assert explain(wrong_sql, on_suite) == [0.0, killing["path"]]

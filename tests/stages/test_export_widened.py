"""export_trainers with `schema: widened`: prompts, metrics, and environments on what it made."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyarrow import parquet

from answerkey.environments.questions import explain_query, list_terms, load_questions, run_sql
from answerkey.environments.trl import SqlEnvironment
from answerkey.reward import RewardPool
from tests.shared.checkout import output, run, stages_to_run
from tests.shared.paths import ROOT
from tests.shared.product_world import write_product
from tests.shared.project_world import write_params
from tests.shared.stages import call_stage
from tests.shared.transcripts import find_block

FORMS = ("schema", "compact_schema", "linked_schema", "searched_schema")


def export(folder: Path, template: str = "prompt", **settings: object) -> None:
    path = str(ROOT / f"templates/{template}.j2")
    write_params(folder / "params.yaml", export_trainers={"prompt_template": path, **settings})
    call_stage("export_trainers")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose databases have seven tables each, where eval has two: to read."""
    folder = write_product(tmp_path_factory.mktemp("widened"))
    with contextlib.chdir(folder):
        export(folder, schema="widened", widened_tables=7)
    return folder


@pytest.fixture
def widened(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as the current folder."""
    for name in ("ANSWERKEY_DATABASES", "ANSWERKEY_TEST_SUITES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made)
    return made


def read_prompt(folder: Path, question_id: str) -> str:
    rows = parquet.read_table(folder / "data/exports/prompts/train.parquet").to_pylist()
    (prompt,) = (row["prompt"] for row in rows if row["question_id"] == question_id)
    return prompt[0]["content"]


def read_lengths(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (folder / "data/exports/prompt_lengths.json").read_text("utf-8")
    )
    return found


def test_prompts_and_metrics_are_of_the_widened_schema(widened: Path) -> None:
    assert read_prompt(widened, "fleet_train_000").count("CREATE TABLE") == 7
    lengths = read_lengths(widened)
    assert lengths["widened"]["tables"] == {"fewest": 2, "median": 7, "most": 7}
    assert lengths["widened"]["queries_with_the_same_answer"] == 7
    assert {lengths[form]["recall_of_gold_tables"] for form in FORMS} == {1.0}


@pytest.mark.parametrize(
    ("template", "most", "recall"),
    [("prompt_linked", 420, 1.0), ("prompt_searched", 120, 0.7143)],
)
def test_prompt_shows_the_likely_tables_that_find_room(
    here: Path, template: str, most: int, recall: float
) -> None:
    sizes = {"widened_tables": 7, "max_schema_characters": most}
    export(write_product(here), template, schema="widened", **sizes)
    text = read_prompt(here, "fleet_train_001")
    tables = set(re.findall(r"CREATE TABLE (\w+)", text))
    assert len(tables) < 7
    assert (tables > {"ship", "port"}) == (recall == 1.0)
    found = read_lengths(here)[template.replace("prompt", "").strip("_") + "_schema"]
    assert found["recall_of_gold_tables"] == recall
    assert found["characters"]["longest"] <= most


def test_environments_ask_the_widened_databases(widened: Path) -> None:
    questions, folders = load_questions("data/exports", "train")
    assert folders == {"databases": "data/exports/widened"}
    with RewardPool(workers=1, **folders) as pool:
        environment = SqlEnvironment(pool)
        for question in questions:
            terms = list_terms(question)
            environment.reset(**terms)
            count = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
            assert environment.run_sql(count) == "[[7]]"
            assert explain_query(pool, question.gold_sql, terms).reward == 1.0
        assert run_sql(pool, "SELECT kind FROM bread ORDER BY 1", "zoo") == '[["rye"], ["wheat"]]'


def test_databases_without_the_other_tables_are_an_error_where_a_checksum_is_told(
    widened: Path,
) -> None:
    questions, _ = load_questions("data/exports", "train")
    terms = list_terms(questions[0])
    with RewardPool(workers=1) as pool:
        with pytest.raises(ValueError, match="which is data/exports/widened if schemas are"):
            explain_query(pool, questions[0].gold_sql, terms)
        del terms["database_sha256"]
        assert explain_query(pool, questions[0].gold_sql, terms).reward == 1.0


def test_folder_that_somebody_names_is_taken(
    widened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERKEY_DATABASES", str(widened / "elsewhere"))
    assert load_questions("data/exports", "train")[1] == {}


def test_own_schema_leaves_no_widened_database_behind(made: Path, here: Path) -> None:
    shutil.copytree(made, here, dirs_exist_ok=True)
    export(here)
    left = [path.name for path in (here / "data/exports/widened").iterdir()]
    assert left == ["README.md"]  # DVC warns of an empty folder
    assert load_questions("data/exports", "train")[1] == {}
    assert read_prompt(here, "fleet_train_000").count("CREATE TABLE") == 2


LOAD = """
import answerkey
from answerkey.reward import RewardPool

for source in (".", "data/exports/huggingface"):
    loaded = answerkey.load(source, split="train")
    batch = {name: [row[name] for row in loaded.questions] for name in loaded.questions[0]}
    with RewardPool(workers=2, **loaded.folders) as pool:
        assert set(pool.score_completions(batch.pop("completion"), **batch)) == {1.0}
        print(len(pool.execute("SELECT 1 FROM sqlite_schema", batch["database_name"][0])))
"""


@pytest.mark.slow
def test_whoever_reads_the_docs_alone_plays_on_a_large_schema(
    finished: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "clone"
    shutil.copytree(finished, folder, symlinks=True)
    params = yaml.safe_load((folder / "params.yaml").read_text("utf-8"))
    keys = find_block(ROOT / "docs/exports.md", "yaml", "schema: widened")
    params["export_trainers"] |= yaml.safe_load(keys)["export_trainers"]
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), "utf-8")
    again = stages_to_run(output(run(folder, "dvc", "repro")))
    assert again == ["export_trainers", "export_huggingface"]
    card = (folder / "data/exports/huggingface/README.md").read_text("utf-8")
    assert "Each database has tables of others beside its own" in card
    script = find_block(ROOT / "docs/exports.md", "python", "run_sql")
    ((count,),) = json.loads(run(folder, "python", "-c", script).stdout)
    assert count > 40
    counts = run(
        folder, "python", "-c", LOAD, environment={"ANSWERKEY_CACHE": str(tmp_path)}
    ).stdout
    assert len({*counts.split()}) == 1

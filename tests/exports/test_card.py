"""The card and Croissant: the libraries that read them do, and they hold the numbers of the run."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from typing import Any

import datasets
import pytest
import yaml
from huggingface_hub import DatasetCard

from answerkey.exports.card import CardFacts, make_card, make_croissant, make_front_matter
from answerkey.exports.huggingface import COLUMNS, DATABASES, TEST_SUITES, PackedFiles, make_schema
from answerkey.exports.prompts import read_template
from answerkey.exports.row_files import WrittenFile
from tests.shared.paths import ROOT

METRICS = {
    "loaded": 1500,
    "usable": 1354,
    "corpus": {"spider": {"loaded": 1500, "usable": 1354, "selected": 1234}},
    "excluded": {"null_answer": 7, "sql_error": 0, "not_selected": 120},
    "flags": {"date_text_order": 3, "cross_join": 0},
    "split": {"train": 1200, "eval": 34},
    "difficulty": {"easy": 1000, "medium": 200, "hard": 34},
    "answer_type": {"integer": 1234, "table": 0},
    "database": {"pets": 1200, "cars": 34, "unused": 0},
}
HUB = {"origin": "hub", "questions": {"repo_id": "who/asks", "revision": "main"}}


def make_file(rows: int) -> WrittenFile:
    return WrittenFile(rows, size_bytes=rows * 100, file_bytes=rows * 10, sha256="0" * 64)


def make_facts(
    *,
    license: str | None = "cc-by-4.0",
    targets: dict[str, Any] | None = None,
    has_content: bool = True,
    total_bytes: int = 5000,
    origins: list[dict[str, str]] | None = None,
    split: dict[str, Any] | None = None,
    **rows: int,
) -> CardFacts:
    known = {"license": license, "language": "en", "citation": "@inproceedings{first,\n}\n"}
    return CardFacts(
        corpora={"spider": HUB | known | ({"split": split} if split else {})},
        origins=origins or [],
        files={split: make_file(count) for split, count in rows.items()},
        packed={
            DATABASES: PackedFiles(make_file(2), total_bytes, has_content),
            TEST_SUITES: PackedFiles(make_file(9), 700, True),
        },
        metrics=METRICS,
        bar={
            "questions": 25,
            "min_mutation_score": 0.5,
            "below": 2,
            "max_sql_risk": 0.4,
            "above": 3,
        },
        targets=targets or {},
        repo_id="org/name",
        version="1.2.3",
        date_published="2026-01-02",
    )


def write_card(**facts: Any) -> tuple[dict[str, Any], str]:
    card = make_card(make_facts(**facts), read_template(ROOT / "templates/card.md.j2"))
    _, front, text = card.split("---\n", 2)
    return yaml.safe_load(front), text


def test_yaml_says_where_the_splits_are_and_how_large():
    front, _ = write_card(train=1200, eval=34)
    assert front["configs"][0] == {
        "config_name": "default",
        "default": True,
        "data_files": [
            {"split": "train", "path": "train.parquet"},
            {"split": "eval", "path": "eval.parquet"},
        ],
    }
    assert front["configs"][1:] == [
        {"config_name": name, "data_files": [{"split": "files", "path": f"{name}.parquet"}]}
        for name in (DATABASES, TEST_SUITES)
    ]
    infos = {info["config_name"]: info for info in front["dataset_info"]}
    assert set(infos) == {"default", DATABASES, TEST_SUITES}
    assert infos["default"]["splits"] == [
        {"name": "train", "num_bytes": 120_000, "num_examples": 1200},
        {"name": "eval", "num_bytes": 3400, "num_examples": 34},
    ]
    assert infos["default"]["download_size"] == 12_340
    features = datasets.Features._from_yaml_list(infos["default"]["features"])
    assert features == datasets.Features.from_arrow_schema(make_schema(COLUMNS))
    assert (front["license"], front["language"]) == ("cc-by-4.0", ["en"])


@pytest.mark.parametrize(
    "words",
    [
        "1234 questions of `spider`, asked of 2 databases: train 1200, eval 34.",
        "1. 1500 questions were loaded; each has the split of its source.\n",
        "127 of 1500 questions, each for one reason",
        "| train | 1200 |\n",
        "- `train.parquet` (12,000 bytes): 1200 questions.\n- `eval.parquet`",
        "| reason | questions | meaning |\n|---|---|---|\n| null_answer | 7 | The answer",
        "| date_text_order | 3 |",
        "```bibtex\n@software{answerkey,",
        "}\n\n@inproceedings{first,\n}\n```",
        "the Hugging Face dataset `who/asks` at revision `main`. Licence: cc-by-4.0.\n",
        *(f"| {name} |" for name in COLUMNS),
    ],
)
def test_text_holds_the_numbers_of_the_run(words):
    _, text = write_card(train=1200, eval=34)
    assert words in text
    assert "sql_error" not in text


@pytest.mark.parametrize(
    ("by", "origin", "limit"),
    [
        (None, "each has the split of its source.", "; no database does."),
        ("source", "each has the split of its source.", "; and so may a database."),
        (
            "query",
            "source, but for those of `spider`, where a hash drew about 30 % of the queries,",
            "; and so may a database.",
        ),
        ("database", "where a hash drew about 30 % of the databases for eval.", "; no database"),
    ],
)
def test_split_is_told_as_it_was_made(by, origin, limit):
    rule = by and {"by": by, "eval_share": 0.3, "seed": 20}
    _, text = write_card(train=1200, eval=34, split=rule)
    assert origin in text
    assert limit in text
    crosses = by in ("source", "query")
    assert ("a database may be in both |" in text) == crosses
    assert ("no database is in both |" in text) != crosses
    assert text.count("\n- SQL is in SQLite's dialect.") == 1


def test_selection_is_told_as_it_was():
    targets = {"eval_share": 0.3, "tolerance": 0.02, "max_questions": None}
    _, text = write_card(train=1200, eval=34, targets=targets)
    assert "1354 were usable, and 1234 of them, as many as these targets allow, are in it:" in text
    assert ": `eval_share` 0.3.\n" in text
    _, text = write_card(train=1300, eval=54)
    assert "4. 1354 were usable, and all of them are in it.\n" in text


def test_databases_that_stay_out_are_told_and_asked_for():
    _, text = write_card(train=3)
    assert "the SQLite file itself (5,000 bytes in all, unpacked)" in text
    assert 'answerkey.load("org/name", split="train")' in text
    _, text = write_card(train=3, has_content=False)
    assert "of 5,000 bytes in all, are not in this dataset: take them" in text
    assert 'answerkey.load("org/name", split="train", databases="data/databases")' in text
    _, text = write_card(train=3, total_bytes=600_000_000)
    assert 'answerkey.load("org/name", split="train", max_bytes=600000000)' in text


@pytest.mark.parametrize(
    ("license", "name", "words"),
    [(None, "other", "Licence: not known"), ("a: b  # c", "a: b  # c", "Licence: a: b  # c.")],
)
def test_licence_is_told_whatever_it_is(license, name, words):
    front, text = write_card(license=license, train=1)
    assert front["license"] == name
    assert words in text


@pytest.mark.parametrize(
    ("total", "size"),
    [(0, "n<1K"), (999, "n<1K"), (1_000, "1K<n<10K"), (2_500_000, "n>1M")],
)
def test_card_names_the_size(total, size):
    facts = make_facts(train=total) if total else make_facts()
    front = yaml.safe_load(make_front_matter(facts))
    assert front["size_categories"] == [size]
    names = [config["config_name"] for config in front["configs"]]
    assert ("default" in names) == (total > 0)


@pytest.mark.parametrize(
    ("origin", "sentence"),
    [
        ({"kind": "file"}, "Databases: 2 copied from `zoo`."),
        ({"kind": "sql"}, "Databases: 2 made from SQL text of `zoo`."),
        (
            {"kind": "archive", "repo_id": "who/what", "revision": "4a01"},
            "Databases: 2 from the Hugging Face repository `who/what` at `4a01`.",
        ),
    ],
)
def test_origin_of_databases_is_told_from_the_manifest(origin, sentence):
    _, text = write_card(train=1, origins=[{"corpus": "zoo", **origin}] * 2)
    assert sentence in text


def test_hub_reads_the_card_which_names_no_path_of_this_machine(exported):
    path = exported.exports / "huggingface/README.md"
    card = DatasetCard.load(path)
    assert card.data.license == "cc-by-sa-4.0"
    assert "35 questions of `local`" in card.text
    for name in ("README.md", "croissant.json"):
        text = (path.parent / name).read_text(encoding="utf-8")
        assert str(exported.folder) not in text


@pytest.mark.filterwarnings("ignore")  # of libraries
def test_snippets_of_the_card_run(exported, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    folder = shutil.copytree(exported.exports / "huggingface", tmp_path / "your-name/your-dataset")
    text = (folder / "README.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(snippets) == 2
    for code in snippets:
        exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.endswith(f"\n{[1.0] * 8}\n")


@pytest.mark.filterwarnings("ignore")  # of libraries
def test_configurations_of_the_card_load_the_files(exported, tmp_path):
    folder, cache = str(exported.exports / "huggingface"), str(tmp_path)
    for name in (DATABASES, TEST_SUITES):
        rows = datasets.load_dataset(folder, name, split="files", cache_dir=cache)
        assert len(rows) > 0
        for row in rows:
            content = (exported.folder / "data" / name / row["path"]).read_bytes()
            assert row["content"] == content
            assert row["sha256"] == hashlib.sha256(content).hexdigest()
            if name == DATABASES:
                assert row["schema"].startswith("CREATE TABLE ")


def test_benchmark_has_what_the_hub_asks_for(exported):
    text = (exported.exports / "huggingface/eval.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    assert {"name", "description", "evaluation_framework", "tasks"} == set(found)
    card = DatasetCard.load(exported.exports / "huggingface/README.md")
    configs = {config["config_name"]: config["data_files"] for config in card.data.configs}
    (task,) = found["tasks"]
    assert task["split"] in {file["split"] for file in configs[task["config"]]}


def test_croissant_has_a_record_set_with_every_column():
    metadata = make_croissant(make_facts(train=12, eval=3))
    assert (metadata["version"], metadata["datePublished"]) == ("1.2.3", "2026-01-02")
    assert metadata["citeAs"].endswith("@inproceedings{first,\n}")
    train, _, databases, _ = metadata["recordSet"]
    assert [field["name"] for field in databases["field"]] == [
        *("database_name", "schema", "compact_schema", "path", "size_bytes", "sha256")
    ]
    fields = {field["name"]: field for field in train["field"]}
    assert list(fields) == [name for name in COLUMNS if name not in ("prompt", "completion")]
    types = {name: field["dataType"] for name, field in fields.items()}
    assert types["gold_sql"] == types["flags"] == "sc:Text"
    assert (types["gold_integer"], types["gold_float"]) == ("cr:Int64", "cr:Float64")
    repeated = [name for name, field in fields.items() if field.get("repeated")]
    assert repeated == ["tables_involved", "flags"]


def test_checksums_of_croissant_are_those_of_the_files(exported):
    folder = exported.exports / "huggingface"
    metadata = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    assert len(metadata["distribution"]) == 4
    for file in metadata["distribution"]:
        content = (folder / file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"


@pytest.mark.filterwarnings("ignore")  # of its dependencies
def test_mlcroissant_finds_no_fault_and_gives_back_every_question(exported, caplog):
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs the extra `croissant`")
    dataset = mlcroissant.Dataset(str(exported.exports / "huggingface/croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert not issues.errors | issues.warnings
    assert not [text for text in caplog.messages if "@context" in text]
    assert {record["databases/path"].decode() for record in dataset.records("databases")} == {
        f"{name}/{name}.sqlite" for name in ("harbour", "library")
    }
    for split in ("train", "eval"):
        questions = exported.world.json(f"data/questions/questions_{split}.json")
        for record, question in zip(dataset.records(split), questions, strict=True):
            assert record[f"{split}/question_text"].decode() == question["question_text"]
            assert json.loads(record[f"{split}/gold_answer"]) == question["gold_answer"]
            tables = [table.decode() for table in record[f"{split}/tables_involved"]]
            assert tables == question["tables_involved"]


def test_card_of_another_engine_names_it_and_never_sqlite():
    facts = replace(make_facts(train=12, eval=3), engines=("duckdb",))
    card = make_card(facts, read_template(ROOT / "templates/card.md.j2"))
    assert "the gold answer that DuckDB gives" in card
    assert "and the SQL text itself" in card
    assert "- SQL is in DuckDB's dialect." in card
    assert "a query that answers it, in DuckDB's dialect" in card
    assert yaml.safe_load(make_front_matter(facts))["tags"][2] == "duckdb"
    others = [line for line in card.splitlines() if "sqlite" in line.lower()]
    assert [line.split(" | ")[0] for line in others] == ["| engine", "| max_steps"]


def test_card_of_several_engines_says_that_each_has_its_own():
    facts = replace(make_facts(train=12), engines=("duckdb", "sqlite"))
    card = make_card(facts, read_template(ROOT / "templates/card.md.j2"))
    assert "the gold answer that its engine gives" in card
    assert yaml.safe_load(make_front_matter(facts))["tags"][2:4] == ["duckdb", "sqlite"]

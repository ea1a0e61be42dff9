"""The card: the hub's own library reads it, and it holds the numbers of the run."""

from __future__ import annotations

import hashlib
import re
import shutil

import datasets
import pytest
import yaml
from huggingface_hub import DatasetCard

from answerkey.exports.card import CardFacts, describe_origin, make_card, make_front_matter
from answerkey.exports.huggingface import COLUMNS, FEATURES
from answerkey.exports.packed_files import DATABASES, TEST_SUITES, PackedFiles
from answerkey.exports.parquet_files import WrittenFile

METRICS = {
    "loaded": 1500,
    "usable": 1354,
    "corpus": {"spider": {"loaded": 1500, "usable": 1354, "selected": 1234}},
    "excluded": {"null_answer": 7, "sql_error": 0, "not_selected": 120},
    "flags": {"latent_tie": 3, "cross_join": 0},
    "difficulty": {"easy": 1000, "medium": 200, "hard": 34},
    "answer_type": {"integer": 1234, "table": 0},
    "database": {"pets": 1200, "cars": 34, "unused": 0},
}


def make_file(rows: int) -> WrittenFile:
    return WrittenFile(rows, size_bytes=rows * 100, file_bytes=rows * 10, sha256="0" * 64)


def make_facts(
    *,
    license: str | None = "cc-by-4.0",
    targets: dict[str, object] | None = None,
    has_content: bool = True,
    metrics: dict[str, object] = METRICS,
    **rows: int,
) -> CardFacts:
    packed = {DATABASES: PackedFiles(make_file(2), 5000, has_content)}
    return CardFacts(
        licenses={"spider": license},
        origin=("Questions: written by hand.",),
        files={split: make_file(count) for split, count in rows.items()},
        packed=packed | {TEST_SUITES: PackedFiles(make_file(9), 700, True)},
        metrics=metrics,
        targets=targets or {},
        languages=("en", "zh"),
        citations=("@inproceedings{first,\n}\n",),
        repo_id="org/name",
        version="1.2.3",
        date_published="2026-01-02",
    )


def read_card(card: str) -> tuple[dict, str]:
    _, front, text = card.split("---\n", 2)
    return yaml.safe_load(front), text


def test_yaml_says_where_the_splits_are_and_how_large():
    front, _ = read_card(make_card(make_facts(train=1200, eval=34)))
    assert front["configs"] == [
        {
            "config_name": "default",
            "default": True,
            "data_files": [
                {"split": "train", "path": "train.parquet"},
                {"split": "eval", "path": "eval.parquet"},
            ],
        },
        {
            "config_name": "databases",
            "data_files": [{"split": "files", "path": "databases.parquet"}],
        },
        {
            "config_name": "test_suites",
            "data_files": [{"split": "files", "path": "test_suites.parquet"}],
        },
    ]
    infos = {info["config_name"]: info for info in front["dataset_info"]}
    assert set(infos) == {"default", "databases", "test_suites"}
    assert infos["default"]["splits"] == [
        {"name": "train", "num_bytes": 120_000, "num_examples": 1200},
        {"name": "eval", "num_bytes": 3400, "num_examples": 34},
    ]
    assert infos["default"]["download_size"] == 12_340
    assert infos["default"]["dataset_size"] == 123_400
    assert datasets.Features._from_yaml_list(infos["default"]["features"]) == FEATURES
    assert front["license"] == "cc-by-4.0"
    assert front["language"] == ["en", "zh"]
    assert "text-to-sql" in front["tags"]


def test_text_holds_the_numbers_of_the_run():
    _, text = read_card(make_card(make_facts(train=1200, eval=34)))
    assert (
        "1234 questions of the corpus `spider`, asked of 2 databases: 1200 train, 34 eval." in text
    )
    assert "1. 1500 questions were loaded; each has the split of its source." in text
    assert "127 of 1500 questions, each for one reason" in text
    assert "| train | 1200 |\n" in text
    assert "- `train.parquet` (12,000 bytes): 1200 questions.\n" in text
    assert "| null_answer | 7 | The answer is a single NULL" in text
    assert "| not_selected | 120 |" in text
    assert "| latent_tie | 3 |" in text
    assert "sql_error" not in text
    assert "```bibtex\n@software{answerkey," in text
    assert "}\n\n@inproceedings{first,\n}\n```" in text
    assert "- Questions: written by hand.\n- Licence: cc-by-4.0.\n" in text
    for name in COLUMNS:
        assert f"| {name} |" in text


def test_selection_is_told_as_it_was():
    _, text = read_card(make_card(make_facts(train=1200, eval=34, targets={"eval_share": 0.3})))
    assert "1354 were usable, and 1234 of them, as many as these targets allow, are in it:" in text
    assert ": `eval_share` 0.3.\n5. The result was validated: fields, answers, splits and" in text
    _, text = read_card(make_card(make_facts(train=1300, eval=54)))
    assert "4. 1354 were usable, and all of them are in it.\n" in text
    assert "target" not in text.partition("## Splits")[0]


def test_databases_that_stay_out_are_told_and_asked_for():
    _, text = read_card(make_card(make_facts(train=3)))
    assert "the SQLite file itself (5,000 bytes in all, unpacked)" in text
    assert 'answerkey.load("org/name", split="train")' in text
    _, text = read_card(make_card(make_facts(train=3, has_content=False)))
    assert "of 5,000 bytes in all, are not in this dataset: take them" in text
    assert 'answerkey.load("org/name", split="train", databases="data/databases")' in text


def test_licence_that_nobody_knows_is_other():
    front, text = read_card(make_card(make_facts(license=None, train=1)))
    assert front["license"] == "other"
    assert "Licence: not known" in text


def test_licence_cannot_break_the_yaml():
    front, _ = read_card(make_card(make_facts(license="a: b  # c", train=1)))
    assert front["license"] == "a: b  # c"


@pytest.mark.parametrize(
    ("total", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (99_999, "10K<n<100K"),
        (100_000, "100K<n<1M"),
        (2_500_000, "n>1M"),
    ],
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
        ({"kind": "file", "path": "a.sqlite"}, "Databases: 2 copied from `zoo`."),
        ({"kind": "sql", "path": "a.sql"}, "Databases: 2 made from SQL text of `zoo`."),
        (
            {"kind": "archive", "repo_id": "who/what", "revision": "4a01"},
            "Databases: 2 from the Hugging Face repository `who/what` at `4a01`.",
        ),
    ],
)
def test_origin_of_databases_is_told_from_the_manifest(origin, sentence):
    entry = {"origin": "hub", "questions": {"repo_id": "who/asks", "revision": "main"}}
    placed = {"origin": {"corpus": "zoo", **origin}}
    assert describe_origin({"zoo": entry}, {"pets": placed, "cars": placed}) == [
        "Questions: the Hugging Face dataset `who/asks` at revision `main` (the corpus `zoo`).",
        sentence,
    ]


def test_unknown_kind_of_origin_is_an_error():
    entry = {"origin": "hub", "questions": {"repo_id": "who/asks", "revision": "main"}}
    with pytest.raises(ValueError, match="unknown kind of origin 'carrier pigeon'"):
        describe_origin({"zoo": entry}, {"pets": {"origin": {"kind": "carrier pigeon"}}})


def test_filled_databases_are_told() -> None:
    origin = {"corpus": "zoo", "kind": "file", "fill_empty": "40"}
    assert describe_origin({}, {"pets": {"origin": origin}}) == [
        "Databases: 1 copied from `zoo`, with invented rows where a table had less than 40."
    ]


def test_hub_reads_the_card_which_names_no_path_of_this_machine(exported):
    path = exported.exports / "huggingface/README.md"
    card = DatasetCard.load(path)
    assert card.data.license == "cc-by-sa-4.0"
    assert card.data.size_categories == ["n<1K"]
    assert card.data.configs[0]["data_files"][1] == {"split": "eval", "path": "eval.parquet"}
    assert "35 questions of the corpus `local`" in card.text
    assert str(exported.folder) not in path.read_text(encoding="utf-8")


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
    page = (exported.exports / "huggingface/README.md").read_text(encoding="utf-8")
    card = yaml.safe_load(page.split("---\n")[1])
    (task,) = found["tasks"]
    configs = {config["config_name"]: config["data_files"] for config in card["configs"]}
    assert task["split"] in {file["split"] for file in configs[task["config"]]}

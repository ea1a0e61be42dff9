"""Croissant: its own library reads the metadata, and every question by them."""

from __future__ import annotations

import hashlib
import json

import pytest

from answerkey.exports.card import CardFacts
from answerkey.exports.croissant import make_croissant
from answerkey.exports.huggingface import COLUMNS
from answerkey.exports.packed_files import DATABASES, PackedFiles
from answerkey.exports.parquet_files import WrittenFile


def test_split_has_a_file_and_a_record_set_with_every_column():
    file = WrittenFile(12, size_bytes=1200, file_bytes=120, sha256="0" * 64)
    facts = CardFacts(
        licenses={"spider": "cc-by-4.0"},
        origin=(),
        files={"train": file, "eval": file},
        packed={DATABASES: PackedFiles(file, 12, has_content=True)},
        metrics={},
        targets={},
        languages=("en",),
        citations=("@article{first}",),
        repo_id="org/name",
        version="1.2.3",
        date_published="2026-01-02",
    )
    metadata = make_croissant(facts)
    assert (metadata["version"], metadata["datePublished"]) == ("1.2.3", "2026-01-02")
    assert metadata["citeAs"].endswith("@article{first}")
    assert [file["contentUrl"] for file in metadata["distribution"]] == [
        "train.parquet",
        "eval.parquet",
        "databases.parquet",
    ]
    *questions, databases = metadata["recordSet"]
    assert [record_set["@id"] for record_set in questions] == ["train", "eval"]
    assert [field["name"] for field in databases["field"]] == [
        *("database_name", "schema", "compact_schema", "path", "size_bytes", "sha256")
    ]
    for record_set in questions:
        names = [field["name"] for field in record_set["field"]]
        assert names == [name for name in COLUMNS if name not in ("prompt", "completion")]
        types = {field["name"]: field["dataType"] for field in record_set["field"]}
        assert types["gold_sql"] == types["flags"] == "sc:Text"
        assert (types["gold_integer"], types["gold_float"]) == ("cr:Int64", "cr:Float64")
        repeated = [field["name"] for field in record_set["field"] if field.get("repeated")]
        assert repeated == ["tables_involved", "flags"]


def test_checksums_are_those_of_the_files(exported):
    folder = exported.exports / "huggingface"
    text = (folder / "croissant.json").read_text(encoding="utf-8")
    assert str(exported.folder) not in text
    metadata = json.loads(text)
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
    assert {record["databases/path"].decode() for record in dataset.records("databases")} == {
        f"{name}/{name}.sqlite" for name in ("harbour", "library")
    }
    assert not [text for text in caplog.messages if "@context" in text]

    def decode(value: object) -> object:
        return value.decode() if isinstance(value, bytes) else value

    for split in ("train", "eval"):
        questions = exported.world.json(f"data/questions/questions_{split}.json")
        records = list(dataset.records(split))
        assert len(records) == len(questions)
        for record, question in zip(records, questions, strict=True):
            row = {name.removeprefix(f"{split}/"): decode(v) for name, v in record.items()}
            assert row["question_id"] == question["question_id"]
            assert row["question_text"] == question["question_text"]
            assert json.loads(row["gold_answer"]) == question["gold_answer"]
            tables = [decode(table) for table in row["tables_involved"]]
            assert tables == question["tables_involved"]

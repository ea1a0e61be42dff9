"""Croissant: its own library reads the metadata, and every question by them."""

from __future__ import annotations

import hashlib
import json

import pytest

from answerkey.exports.card_facts import CardFacts
from answerkey.exports.croissant import make_croissant
from answerkey.exports.huggingface import COLUMNS
from answerkey.exports.parquet_files import WrittenFile


def test_split_has_a_file_and_a_record_set_with_every_column():
    file = WrittenFile(12, size_bytes=1200, file_bytes=120, sha256="0" * 64)
    files = {"train": file, "eval": file}
    metadata = make_croissant(CardFacts({"spider": "cc-by-4.0"}, (), files, {}))
    assert [file["contentUrl"] for file in metadata["distribution"]] == [
        "train.parquet",
        "eval.parquet",
    ]
    assert [record_set["@id"] for record_set in metadata["recordSet"]] == ["train", "eval"]
    for record_set in metadata["recordSet"]:
        assert [field["name"] for field in record_set["field"]] == list(COLUMNS)
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
    assert len(metadata["distribution"]) == 2
    for file in metadata["distribution"]:
        content = (folder / file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"


@pytest.mark.filterwarnings("ignore")  # of its dependencies
def test_mlcroissant_finds_no_error_and_gives_back_every_question(exported, caplog):
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs the extra `croissant`")
    dataset = mlcroissant.Dataset(str(exported.exports / "huggingface/croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
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

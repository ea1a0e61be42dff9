"""The card: the hub's own library reads it, and it holds the numbers of the run."""

from __future__ import annotations

import datasets
import pytest
import yaml
from huggingface_hub import DatasetCard

from answerkey.exports.card import make_card, make_front_matter
from answerkey.exports.card_facts import CardFacts, describe_origin
from answerkey.exports.huggingface import COLUMNS, FEATURES
from answerkey.exports.parquet_files import WrittenFile

METRICS = {
    "loaded": 1500,
    "usable": 1354,
    "corpus": {"spider": {"loaded": 1500, "usable": 1354, "selected": 1234}},
    "excluded": {"null_answer": 7, "sql_error": 0, "not_selected": 120},
    "flags": {"guessable": 3, "cross_join": 0},
    "difficulty": {"easy": 1000, "medium": 200, "hard": 34},
    "answer_type": {"integer": 1234, "table": 0},
    "database": {"pets": 1200, "cars": 34, "unused": 0},
}


def make_file(rows: int) -> WrittenFile:
    return WrittenFile(rows, size_bytes=rows * 100, file_bytes=rows * 10, sha256="0" * 64)


def make_facts(*, license: str | None = "cc-by-4.0", **rows: int) -> CardFacts:
    files = {split: make_file(count) for split, count in rows.items()}
    return CardFacts({"spider": license}, ("Questions: written by hand.",), files, METRICS)


def read_card(card: str) -> tuple[dict, str]:
    _, front, text = card.split("---\n", 2)
    return yaml.safe_load(front), text


def test_yaml_says_where_the_splits_are_and_how_large():
    front, _ = read_card(make_card(make_facts(train=1200, eval=34)))
    assert front["configs"] == [
        {
            "config_name": "default",
            "data_files": [
                {"split": "train", "path": "train.parquet"},
                {"split": "eval", "path": "eval.parquet"},
            ],
        }
    ]
    assert front["dataset_info"]["splits"] == [
        {"name": "train", "num_bytes": 120_000, "num_examples": 1200},
        {"name": "eval", "num_bytes": 3400, "num_examples": 34},
    ]
    assert front["dataset_info"]["download_size"] == 12_340
    assert front["dataset_info"]["dataset_size"] == 123_400
    assert datasets.Features._from_yaml_list(front["dataset_info"]["features"]) == FEATURES
    assert front["license"] == "cc-by-4.0"
    assert front["language"] == ["en"]
    assert "text-to-sql" in front["tags"]


def test_text_holds_the_numbers_of_the_run():
    _, text = read_card(make_card(make_facts(train=1200, eval=34)))
    assert (
        "1234 questions of the corpus `spider`, asked of 2 databases: 1200 train, 34 eval." in text
    )
    assert "1. 1500 questions were loaded; each has the split of its source." in text
    assert "127 of 1500 questions, each for one reason" in text
    assert "| train | 1200 | 120000 | 12000 |\n" in text
    assert "| null_answer | 7 | The answer is a single NULL" in text
    assert "| not_selected | 120 |" in text
    assert "| guessable | 3 |" in text
    assert "sql_error" not in text
    assert "- Questions: written by hand.\n- Licence: cc-by-4.0.\n" in text
    for name in COLUMNS:
        assert f"| {name} |" in text


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
    front = make_front_matter(facts)
    assert front["size_categories"] == [size]
    assert ("configs" in front) == ("dataset_info" in front) == (total > 0)


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


def test_hub_reads_the_card_which_names_no_path_of_this_machine(exported):
    path = exported.exports / "huggingface/README.md"
    card = DatasetCard.load(path)
    assert card.data.license == "cc-by-sa-4.0"
    assert card.data.size_categories == ["n<1K"]
    assert card.data.configs[0]["data_files"][1] == {"split": "eval", "path": "eval.parquet"}
    assert "35 questions of the corpus `local`" in card.text
    assert str(exported.folder) not in path.read_text(encoding="utf-8")

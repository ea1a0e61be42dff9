"""huggingface: `datasets` reads back what was written, with nothing changed."""

from __future__ import annotations

import json

import datasets
import pytest
from pyarrow import parquet

from answerkey.dataset import FIELDS, list_reward_terms, read_product
from answerkey.exports.huggingface import COLUMNS, make_hub_row, make_schema
from answerkey.exports.prompts import PromptExample
from tests.shared.export_world import SPLITS
from tests.shared.joined_questions import make_joined

TYPES = {int: "integer", float: "float", str: "string"}


def make_example(answer: object) -> PromptExample:
    known = {"gold_answer": answer, "answer_type": TYPES.get(type(answer), "list")}
    question = make_joined("a_train_000", gold_sql="SELECT 'x\ty'", **known)
    return PromptExample(question, "Where?", 0)


def test_loaded_dataset_is_the_product(exported, tmp_path):
    datasets.disable_progress_bars()
    folder, cache = str(exported.exports / "huggingface"), str(tmp_path / "cache")
    loaded = datasets.load_dataset(folder, cache_dir=cache)
    assert {name: len(rows) for name, rows in loaded.items()} == {"train": 25, "eval": 10}
    for split in SPLITS:
        assert loaded[split].features == datasets.Features.from_arrow_schema(make_schema(COLUMNS))
        questions = read_product(exported.folder / "data/questions", split)
        for row, question in zip(loaded[split], questions, strict=True):
            assert json.loads(row["gold_answer"]) == question.gold_answer
            expected = question.product_record | {"gold_answer": row["gold_answer"]}
            assert {field: row[field] for field in FIELDS} == expected
            assert (row["hardness"], row["evidence"]) == (question.hardness, question.evidence)
            assert row.items() >= list_reward_terms(question).items()
            assert row["mutation_score"] == question.suite_score
            assert f"Question: {row['question_text']}" in row["prompt"][0]["content"]
            assert f"\n{row['gold_sql']}\n" in row["completion"][0]["content"]
            assert row["flags"] == [flag["code"] for flag in question.flags]


def test_file_has_its_columns_and_nothing_of_this_machine(exported):
    schema = parquet.read_schema(exported.exports / "huggingface/train.parquet")
    assert schema == make_schema(COLUMNS)
    assert schema.metadata is None


@pytest.mark.parametrize(
    "answer", [2**63 - 1, 1.0, -0.5e-300, "1", "", ["x", None, 1, 1.0], [["\u2028", 2]], []]
)
def test_every_answer_comes_back_as_the_same_value_and_type(answer):
    row = make_hub_row(make_example(answer))
    assert list(row) == list(COLUMNS)
    assert repr(json.loads(row["gold_answer"])) == repr(answer)
    for kind, name in TYPES.items():
        assert row[f"gold_{name}"] == (answer if type(answer) is kind else None)
    assert row["answer_rows"] == (len(answer) if isinstance(answer, list) else 1)


def test_answer_that_json_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="JSON"):
        make_hub_row(make_example([float("nan")]))

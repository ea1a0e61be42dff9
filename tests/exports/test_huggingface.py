"""huggingface: `datasets` reads back what was written, with nothing changed."""

from __future__ import annotations

import json

import datasets
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from answerkey.dataset import FIELDS, Question, list_reward_terms, read_product
from answerkey.errors import InputError
from answerkey.exports.huggingface import FEATURES, make_row, read_examples
from answerkey.exports.prompts import PromptExample
from tests.shared.export_world import SPLITS

TYPES = {int: "integer", float: "float", str: "string"}
AUDIT = {
    "hardness": "hard",
    "order_matters": True,
    "max_steps": 2_000_000,
    "rule": "subset,=,3",
    "accepted_rows": [{"rows": [["Åsa"], [2.0]], "take": 1}],
    "test_suite": [
        {
            "path": "a/a.00.sqlite",
            "sha256": "e3",
            "gold_answer": None,
            "order_matters": True,
            "accepted_rows": None,
        }
    ],
    "database_sha256": "b0",
    "flags": [{"code": "latent_tie"}],
    "evidence": "heavy means weight > 70",
}
VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)


def make_example(answer: object) -> PromptExample:
    question = {
        "question_id": "a_train_000",
        "question_text": "Où est «Åsa»?\n",
        "database_name": "a",
        "gold_sql": "SELECT 'x\ty'",
        "gold_answer": answer,
        "answer_type": TYPES.get(type(answer), "list"),
        "difficulty": "easy",
        "tables_involved": ["Ship", "two words"],
        "split": "train",
    }
    return PromptExample(Question(**question, **AUDIT, source={"corpus": "a"}), "Where?", 0)


def test_loaded_dataset_is_the_product(exported, tmp_path):
    datasets.disable_progress_bars()
    folder, cache = str(exported.exports / "huggingface"), str(tmp_path / "cache")
    builder = datasets.load_dataset_builder(folder, cache_dir=cache)
    counts = {name: split.num_examples for name, split in builder.info.splits.items()}
    assert counts == {"train": 25, "eval": 10}
    assert builder.info.features == FEATURES
    loaded = datasets.load_dataset(folder, cache_dir=cache)
    assert list(loaded) == list(SPLITS)
    product = exported.folder / "data/questions"
    audits = {
        question.question_id: question
        for split in SPLITS
        for question in read_product(product, split)
    }
    for split, rows in loaded.items():
        assert rows.features == FEATURES
        questions = exported.world.json(f"data/questions/questions_{split}.json")
        assert len(rows) == len(questions) > 0
        for row, question in zip(rows, questions, strict=True):
            audit = audits[question["question_id"]]
            assert json.loads(row["gold_answer"]) == question["gold_answer"]
            assert {field: row[field] for field in FIELDS} == question | {
                "gold_answer": row["gold_answer"]
            }
            assert row["hardness"] == audit.hardness
            assert row.items() >= list_reward_terms(audit).items()
            assert row["evidence"] == audit.evidence
            assert f"Question: {row['question_text']}" in row["prompt"][0]["content"]
            assert f"\n{row['gold_sql']}\n" in row["completion"][0]["content"]
            assert row["flags"] == [flag["code"] for flag in audit.flags]
            answer, kind = question["gold_answer"], question["answer_type"]
            for typed in TYPES.values():
                assert row[f"gold_{typed}"] == (answer if typed == kind else None)


def test_file_carries_its_features_and_nothing_of_this_machine(exported):
    schema = parquet.read_schema(exported.exports / "huggingface/train.parquet")
    assert schema == FEATURES.arrow_schema
    assert schema.metadata == FEATURES.arrow_schema.metadata


@given(answer=VALUES | st.lists(VALUES, max_size=5))
def test_every_answer_comes_back_as_the_same_value_and_type(answer):
    example = make_example(answer)
    row = make_row(example)
    assert list(row) == list(FEATURES)
    assert repr(json.loads(row["gold_answer"])) == repr(answer)
    kind = example.question.answer_type
    typed = {name: row[f"gold_{name}"] for name in TYPES.values()}
    assert repr(typed) == repr({name: answer if name == kind else None for name in typed})
    assert row["answer_rows"] == (len(answer) if isinstance(answer, list) else 1)
    for field in set(FIELDS) - {"gold_answer"}:
        assert row[field] == getattr(example.question, field)


def test_answer_that_json_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="JSON"):
        make_row(make_example([float("nan")]))


def test_prompts_of_other_questions_are_refused(exported):
    path = exported.exports / "trl/prompt_completion/train.parquet"
    questions = list(read_product(exported.folder / "data/questions", "train"))
    assert [example.index for example in read_examples(questions, path)] == [*range(len(questions))]
    with pytest.raises(InputError, match=f"expected the prompt of {questions[1].question_id}"):
        list(read_examples(questions[1:], path))

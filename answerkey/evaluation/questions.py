"""Questions of a dataset with what evaluation needs to know of each: its product and sidecars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SPLITS = ("train", "eval")

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EvaluatedQuestion:
    """A question of the product.

    terms: its record in audit.jsonl: order_matters, max_steps, rule, accepted_rows, hardness,
        features, source.
    suite: the databases of its test suite; empty where it has none.
    """

    question_id: str
    question_text: str
    database_name: str
    gold_sql: str
    gold_answer: Any
    answer_type: str
    difficulty: str
    split: str
    terms: Record
    suite: list[Record] = field(default_factory=list)

    @property
    def source(self) -> tuple[str, str, int]:
        """Corpus, file and place in that file."""
        source = self.terms["source"]
        return source["corpus"], source["file"], source["index"]


class Dataset:
    """A folder such as data/questions.

    questions: by id, in the order of the product.
    excluded: why each other source question was left out, by id.

    Raises:
        FileNotFoundError: where a file of it is missing, with what to do.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        terms = {record["question_id"]: record for record in self._read_lines("audit.jsonl")}
        suites = {
            record["question_id"]: record["databases"]
            for record in self._read_lines("test_suites.jsonl")
        }
        self.questions = {
            question["question_id"]: _join(question, terms, suites)
            for split in SPLITS
            for question in json.loads(self._find(f"questions_{split}.json").read_text("utf-8"))
        }
        self.excluded = {
            record["question_id"]: record["reason"] for record in self._read_lines("excluded.jsonl")
        }

    def has_id(self, question_id: str) -> bool:
        """Whether it is the id of a question that was loaded, be it left out or not."""
        return question_id in self.questions or question_id in self.excluded

    def list_ids(self, corpus: str, file: str) -> dict[int, str]:
        """The ids of the questions of a source file, by their place in it."""
        return {
            question.source[2]: question_id
            for question_id, question in self.questions.items()
            if question.source[:2] == (corpus, file)
        }

    def count_rows(self, corpus: str, file: str) -> int:
        """How many questions a source file has, those of databases that were not chosen too."""
        corpora = json.loads(self._find("corpora.json").read_text("utf-8"))
        return corpora[corpus]["rows"][file]

    def _find(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: expected the folder of a dataset, as `dvc pull data/questions`"
                " or `dvc repro` makes it"
            )
        return path

    def _read_lines(self, name: str) -> Iterator[Record]:
        with self._find(name).open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def _join(
    question: Record, terms: dict[str, Record], suites: dict[str, list[Record]]
) -> EvaluatedQuestion:
    question_id = question["question_id"]
    return EvaluatedQuestion(
        question_id,
        question["question_text"],
        question["database_name"],
        question["gold_sql"],
        question["gold_answer"],
        question["answer_type"],
        question["difficulty"],
        question["split"],
        terms[question_id],
        suites.get(question_id, []),
    )

"""Joined questions: the table reads back as it was, with the difficulty of each question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerkey.dataset import DIFFICULTY, JOINED, Question, read_classified, read_joined
from answerkey.errors import InputError
from tests.shared.joined_questions import make_joined, write_joined

IDS = ["a_train_000", "a_train_001", "b_eval_000"]


def write_lines(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def make_question(question_id: str, hardness: str | None) -> Question:
    source = {"corpus": "bird", "difficulty": "simple"}
    return make_joined(question_id, hardness=hardness, source=source)


@pytest.fixture
def interim(tmp_path: Path) -> Path:
    """Three questions, of which the second was not parsed."""
    questions = [make_question(IDS[0], "easy"), make_question(IDS[1], None)]
    questions.append(make_question(IDS[2], "hard"))
    write_joined(tmp_path, questions)
    levels = zip((IDS[0], IDS[2]), ("easy", "hard"), strict=True)
    write_lines(tmp_path / DIFFICULTY, [{"question_id": i, "difficulty": d} for i, d in levels])
    return tmp_path


def test_table_reads_back_as_it_was(interim):
    first, *_ = read_joined(interim)
    assert first == make_question(IDS[0], "easy")
    assert (first.corpus, first.source_difficulty) == ("bird", "simple")


def test_each_parsed_question_has_its_difficulty(interim):
    assert [question.difficulty for question in read_classified(interim)] == ["easy", None, "hard"]


def test_question_without_difficulty_is_an_error(interim):
    path = interim / DIFFICULTY
    path.write_text(path.read_text(encoding="utf-8").splitlines(keepends=True)[1])
    with pytest.raises(InputError, match="no difficulty of a_train_000"):
        list(read_classified(interim))


def test_difficulty_of_no_question_is_an_error(interim):
    with (interim / DIFFICULTY).open("a", encoding="utf-8") as file:
        file.write('{"question_id": "c_eval_000", "difficulty": "easy"}\n')
    with pytest.raises(InputError, match="c_eval_000 is in no other file, or out of step"):
        list(read_classified(interim))


@pytest.mark.parametrize("name", [JOINED, DIFFICULTY])
def test_missing_file_is_an_error_with_its_path(interim, name):
    (interim / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        list(read_classified(interim))

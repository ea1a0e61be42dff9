"""Verdicts: read from files that people and models wrote, and the one that holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.risk.verdicts import choose_verdicts, read_verdicts

VERDICT = {
    "corpus": "local",
    "database_name": "ships",
    "question_text": "How many ships?",
    "gold_sql": "SELECT count(*) FROM ship",
    "verdict": "right",
    "reason": "Every ship has one row.",
    "source": "person:kim",
    "date": "2026-03-01",
}


def write(folder: Path, name: str, *records: object) -> None:
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_verdicts_of_all_files_are_read_with_their_place(tmp_path):
    write(tmp_path, "b.jsonl", VERDICT)
    write(tmp_path, "a.jsonl", VERDICT | {"verdict": "wrong"}, VERDICT | {"reason": ""})
    (tmp_path / "README.md").write_text("No verdict.")
    found = read_verdicts(tmp_path)
    places = [f"{tmp_path}/{place}" for place in ("a.jsonl:1", "a.jsonl:2", "b.jsonl:1")]
    assert [verdict.where for verdict in found] == places
    codes = [verdict.finding.code for verdict in found]
    assert codes == ["judged_wrong", "judged_right", "judged_right"]
    said = {name: VERDICT[name] for name in ("reason", "source", "date")}
    assert found[2].finding.evidence == said


def test_folder_without_files_or_no_folder_has_no_verdicts(tmp_path):
    assert read_verdicts(tmp_path) == read_verdicts(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ("[]", "expected a JSON object"),
        (VERDICT | {"verdict": "maybe"}, "verdict is 'maybe', expected right or wrong"),
        (VERDICT | {"verdict": 1}, "verdict is 1, expected text"),
        (VERDICT | {"date": "yesterday"}, "date is 'yesterday', expected a day such as"),
        (VERDICT | {"source": " "}, "source is ' ', expected text"),
        (VERDICT | {"question_text": None}, "question_text is None, expected text"),
        (VERDICT | {"sql": "x"}, "expected corpus, database_name, .*, found corpus, .*, sql"),
        ({"corpus": "local"}, "expected corpus, .*, found corpus"),
    ],
)
def test_line_that_cannot_be_meant_is_named_with_file_and_line(tmp_path, line, words):
    write(tmp_path, "kim.jsonl", VERDICT, line)
    with pytest.raises(InputError, match=rf"kim\.jsonl:2: {words}"):
        read_verdicts(tmp_path)


OLD, NEW = {"date": "2026-03-01"}, {"date": "2026-04-01"}


@pytest.mark.parametrize(
    ("changes", "source"),
    [
        ([NEW | {"source": "person:new"}, OLD | {"source": "person:old"}], "person:new"),
        ([OLD | {"source": "person:old"}, NEW | {"source": "model:new"}], "person:old"),
        ([NEW | {"source": "model:new"}, OLD | {"source": "model:old"}], "model:new"),
        ([OLD | {"source": "person:1"}, OLD | {"source": "person:2"}], "person:2"),
    ],
)
def test_person_goes_before_a_model_then_the_later_verdict(tmp_path, changes, source):
    write(tmp_path, "a.jsonl", *(VERDICT | change for change in changes))
    (chosen,) = choose_verdicts(read_verdicts(tmp_path)).values()
    assert chosen.source == source

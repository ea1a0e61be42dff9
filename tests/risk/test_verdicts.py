"""Verdicts: read from files that people and models wrote, and the one that holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import Finding, hash_question
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
PLACE = {"file": "dev.json", "index": 7, "sha256": "0f" * 32}
HASHED = {name: VERDICT[name] for name in VERDICT if name not in ("question_text", "gold_sql")}
HASHED |= PLACE
WRONG = VERDICT | {"verdict": "wrong"}


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
        (VERDICT | {"verdict": "maybe"}, "verdict: expected right, wrong or ambiguous, found 'may"),
        (VERDICT | {"verdict": 1}, "verdict: expected right, wrong or ambiguous, found 1"),
        (VERDICT | {"date": "yesterday"}, "date: expected a day such as .*, found 'yesterday'"),
        (VERDICT | {"source": " "}, "source: expected text, found ' '"),
        (VERDICT | {"gold_sql": 5}, "gold_sql: expected text, or null, found 5"),
        (VERDICT | {"judge": "x"}, "unknown key judge: expected some of corpus, database_name"),
        ({"corpus": "local"}, "no key database_name, verdict, .*: expected it among corpus"),
        (VERDICT | {"question_text": None}, "expected question_text and gold_sql, or file, index"),
        (VERDICT | PLACE, "expected .*, found question_text, gold_sql, file, index, sha256"),
        (HASHED | {"sha256": None}, "expected .*, or file, index and sha256, found file, index"),
        (HASHED | {"sha256": "12AB"}, "sha256: expected 64 hex digits, in small letters, or null"),
        (HASHED | {"index": "7"}, "index: expected a whole number from 0, or null, found '7'"),
        (VERDICT | {"sql": "SELECT 1"}, "sql: expected none beside the verdict right"),
        (WRONG | {"answers": "equal"}, "answers: expected same or other, or null, found 'equal'"),
        (WRONG | {"kind": "typo"}, "kind: expected repeated_things, .*, found 'typo'"),
        (WRONG | {"readings": []}, r"readings: expected a list of verdicts, or null, found \[\]"),
        (
            WRONG | {"readings": ["no"]},
            "readings.0: expected right, wrong or ambiguous, found 'no'",
        ),
    ],
)
def test_line_that_cannot_be_meant_is_named_with_file_and_line(tmp_path, line, words):
    write(tmp_path, "kim.jsonl", VERDICT, line)
    with pytest.raises(InputError, match=rf"kim\.jsonl:2: {words}"):
        read_verdicts(tmp_path)


def test_question_is_named_by_its_text_and_query_or_by_their_hash(tmp_path):
    sha256 = hash_question(VERDICT["question_text"], VERDICT["gold_sql"])
    half = VERDICT | {"question_text": "\ud800"}  # JSON spells it, and UTF-8 does not
    write(tmp_path, "a.jsonl", VERDICT, HASHED | {"sha256": sha256}, half)
    quoted, hashed, strange = read_verdicts(tmp_path)
    assert quoted.key == hashed.key == ("ships", sha256) != strange.key
    assert choose_verdicts([quoted, hashed]) == {hashed.key: hashed}


FAULT = {"sql": "SELECT 1", "answers": "other", "kind": "column", "readings": ["wrong", "right"]}


@pytest.mark.parametrize(
    ("verdict", "answers", "code", "risks"),
    [
        ("wrong", "other", "judged_wrong", (1.0, 1.0)),
        ("wrong", "same", "judged_wrong_sql", (0.0, 1.0)),
        ("ambiguous", "other", "judged_ambiguous", (0.5, 0.5)),
        ("ambiguous", "same", "judged_ambiguous", (0.0, 0.5)),
    ],
)
def test_fault_is_told_with_what_is_asked_and_whether_the_answer_stands(
    tmp_path, verdict, answers, code, risks
):
    fault = FAULT | {"answers": answers}
    write(tmp_path, "a.jsonl", HASHED | fault | {"verdict": verdict})
    (found,) = read_verdicts(tmp_path)
    said = {name: VERDICT[name] for name in ("reason", "source", "date")}
    assert (found.risks, found.finding) == (risks, Finding(code, said | fault))


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

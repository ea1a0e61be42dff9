"""The table of measured precision: counts by flag and by kind, written and read back."""

from __future__ import annotations

import json

import pytest

from answerkey.errors import InputError
from answerkey.records import write_json
from answerkey.risk.gold_risk import (
    Count,
    Sign,
    count_signs,
    encode_flag_precision,
    list_signs,
    read_flag_precision,
)
from tests.shared.paths import FLAG_PRECISION

CROSS, TIE = Sign("cross_join", None), Sign("latent_tie", "text")
JUDGED = [([CROSS], True), ([CROSS, TIE], True), ([TIE], False), ([], False), ([], True)]


def flag(code: str, **evidence: object) -> dict:
    return {"code": code, "evidence": evidence}


def test_sign_is_a_flag_with_the_kind_of_its_evidence():
    flags = [
        flag("cross_join", tables=["a"]),
        flag("latent_tie", kind="text"),
        flag("latent_ambiguity", reading="distinct_rows"),
    ]
    assert list_signs(flags * 2) == [
        CROSS,
        TIE,
        Sign("latent_ambiguity", "distinct_rows"),
    ]


@pytest.mark.parametrize(
    "code",
    ["gold_risk", "judged_wrong", "judged_right", "paraphrase_of", "template_in_both_splits"],
)
def test_what_follows_from_risk_or_from_other_questions_is_no_sign(code):
    assert list_signs([flag(code, kind="x")]) == []


def test_counts_are_of_questions_by_flag_and_by_kind():
    table = count_signs(JUDGED)
    assert table.judged == Count(5, 3)
    assert table.flags == {"cross_join": Count(2, 2), "latent_tie": Count(2, 1)}
    assert table.signs == {TIE: Count(2, 1)}


def test_table_reads_back_as_it_was(tmp_path):
    path = tmp_path / "table.json"
    write_json(path, encode_flag_precision(count_signs(JUDGED)))
    assert read_flag_precision(path) == count_signs(JUDGED)
    assert json.loads(path.read_text())["flags"]["latent_tie"] == {
        "flagged": 2,
        "wrong": 1,
        "precision": 0.5,
        "kinds": {"text": {"flagged": 2, "wrong": 1, "precision": 0.5}},
    }


def test_table_of_the_project_is_one():
    assert read_flag_precision(FLAG_PRECISION).flags["cross_join"].wrong > 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "table.json: expected what benchmarks/gold_flags.py writes: questions and wrong"),
        ({"questions": 5, "wrong": 0, "flags": {}}, "expected some wrong questions, and some"),
        ({"questions": 5, "wrong": 5, "flags": {}}, "expected some wrong questions, and some"),
        ({"questions": 5, "wrong": 1}, "flags: expected what"),
        (
            {"questions": 5, "wrong": 1, "flags": {"cross_join": {"flagged": 1, "wrong": 2}}},
            "table.json: cross_join: expected what .*: flagged and wrong, found",
        ),
        (
            {
                "questions": 5,
                "wrong": 1,
                "flags": {"cross_join": {"flagged": 1, "wrong": 1, "kinds": {"x": 3}}},
            },
            "table.json: cross_join: x: expected what .*: flagged and wrong, found 3",
        ),
    ],
)
def test_file_that_is_no_table_is_named(tmp_path, values, words):
    path = tmp_path / "table.json"
    write_json(path, values)
    with pytest.raises(InputError, match=words):
        read_flag_precision(path)


def test_missing_table_says_which_param_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"compare_questions\.flag_precision"):
        read_flag_precision(tmp_path / "table.json")

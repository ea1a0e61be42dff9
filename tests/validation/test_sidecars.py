"""Product and sidecars are about the same questions, each loaded one once."""

from __future__ import annotations

from itertools import compress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.validation.sidecars import are_in_step, check_conservation, check_sidecars

QUESTIONS = [{"question_id": "a_train_000", "database_name": "a"}]
AUDIT = [{"question_id": "a_train_000", "database_sha256": "11"}]


@pytest.mark.parametrize(
    ("audit", "excluded", "hashes", "messages"),
    [
        (AUDIT, [], {"a": "11"}, []),
        (
            AUDIT,
            [],
            {"a": "22"},
            [
                "a: database_sha256: expected 11, as audit.jsonl has it for 1 of the questions,"
                " found 22"
            ],
        ),
        (
            AUDIT,
            [],
            {},
            [
                "a: database_sha256: expected 11, as audit.jsonl has it for 1 of the questions,"
                " found none"
            ],
        ),
        (AUDIT, [], {"a": None}, []),
        ([], [], {"a": "11"}, ["a_train_000: audit.jsonl: expected one record, found 0"]),
        (AUDIT * 2, [], {"a": "11"}, ["a_train_000: audit.jsonl: expected one record, found 2"]),
        (
            [*AUDIT, {"question_id": "b_train_000", "database_sha256": "11"}],
            [],
            {"a": "11"},
            ["b_train_000: audit.jsonl: expected only questions of the product"],
        ),
        (AUDIT, QUESTIONS, {"a": "11"}, ["a_train_000: excluded.jsonl: also in the product"]),
    ],
)
def test_sidecars_must_speak_of_the_same_questions(audit, excluded, hashes, messages):
    assert check_sidecars(QUESTIONS, audit, excluded, hashes) == messages


def test_every_loaded_question_must_be_selected_or_excluded_once():
    def ids(text: str) -> list[dict[str, str]]:
        return [{"question_id": letter} for letter in text]

    assert check_conservation(ids("ab"), ids("c"), ids("abc")) == []
    assert check_conservation(ids("ab"), ids("bd"), ids("abc")) == [
        "b: expected 1 times among selected and excluded questions, as it was loaded,"
        " found 2 times",
        "c: expected 1 times among selected and excluded questions, as it was loaded,"
        " found 0 times",
        "d: expected 0 times among selected and excluded questions, as it was loaded,"
        " found 1 times",
    ]


def name_questions(text: str, **fields: str) -> list[dict[str, str]]:
    return [{"question_id": letter, **fields} for letter in text]


IDS = st.text("abcd", max_size=4)


@given(IDS, IDS, IDS, st.sets(st.sampled_from("abcd")), st.sampled_from(["11", "22"]))
def test_files_in_step_have_no_error_that_the_slower_checks_would_find(
    selected: str, audited: str, excluded: str, loaded: set[str], sha256: str
) -> None:
    questions = name_questions(selected, database_name="harbour")
    audit = name_questions(audited, database_sha256="11")
    left_out, source = name_questions(excluded), name_questions("".join(sorted(loaded)))
    hashes = {"harbour": sha256}
    if are_in_step(questions, audit, left_out, source, hashes):
        assert check_sidecars(questions, audit, left_out, hashes) == []
        assert check_conservation(questions, left_out, source) == []


@given(st.lists(st.booleans(), max_size=6))
def test_files_that_keep_the_order_of_the_questions_are_in_step(is_selected: list[bool]) -> None:
    loaded = "abcdef"[: len(is_selected)]
    selected = "".join(compress(loaded, is_selected))
    excluded = "".join(letter for letter in loaded if letter not in selected)
    assert are_in_step(
        name_questions(selected, database_name="harbour"),
        name_questions(selected, database_sha256="11"),
        name_questions(excluded),
        name_questions(loaded),
        {"harbour": "11"},
    )

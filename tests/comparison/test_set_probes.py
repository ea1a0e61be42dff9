"""What the questions of a set have in common: what must be found, and near misses that must not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.comparison.compare import SetRecord, find_in_database, find_similar
from tests.comparison.records import flags, record

LIST_SHIPS = "List the names of all the ships."
IN_DATABASE = {
    "the same question twice": (
        [record(0, "How many ships?"), record(1, "how many  SHIPS ?")],
        {"001": ["duplicate_question"]},
    ),
    "the same question, SQL that differs, one answer": (
        [record(0, "How many ships?", "q"), record(1, "How many ships", "p")],
        {"001": ["duplicate_question"]},
    ),
    "the same question, other answers": (
        [record(0, "How many ships?", "q", 1), record(1, "How many ships?", "p", 2)],
        {"000": ["conflicting_gold"], "001": ["conflicting_gold"]},
    ),
    "the same SQL that gave two answers": (
        [record(0, "A ship?", "q", 1), record(1, "A ship?", "q", 2)],
        {"000": ["conflicting_gold"], "001": ["duplicate_question", "conflicting_gold"]},
    ),
    "two that agree and one that does not": (
        [record(0, "Who?", "q", 1), record(1, "Who?", "q", 1), record(2, "Who?", "p", 2)],
        {
            "000": ["conflicting_gold"],
            "001": ["duplicate_question", "conflicting_gold"],
            "002": ["conflicting_gold"],
        },
    ),
    "a whole number and a float": (
        [record(0, "Who?", "q", 1), record(1, "Who?", "p", 1.0)],
        {"000": ["conflicting_gold"], "001": ["conflicting_gold"]},
    ),
    "a number and text": (
        [record(0, "Who?", "q", 1), record(1, "Who?", "p", "1")],
        {"000": ["conflicting_gold"], "001": ["conflicting_gold"]},
    ),
    "rows in another order, where order matters to none": (
        [record(0, "Who?", "q", ["a", "b"]), record(1, "Who?", "p", ["b", "a"])],
        {"001": ["duplicate_question"]},
    ),
    "rows in another order, where it matters to one": (
        [
            record(0, "Who?", "q", ["a", "b"], order_matters=True),
            record(1, "Who?", "p", ["b", "a"]),
        ],
        {"001": ["duplicate_question"]},
    ),
    "rows in another order, where it matters to both": (
        [
            record(0, "Who?", "q", ["a", "b"], order_matters=True),
            record(1, "Who?", "p", ["b", "a"], order_matters=True),
        ],
        {"000": ["conflicting_gold"], "001": ["conflicting_gold"]},
    ),
    "floats that differ by their summation only": (
        [record(0, "Who?", "q", 0.1 + 0.2), record(1, "Who?", "p", 0.3)],
        {"001": ["duplicate_question"]},
    ),
    "rows with floats that differ by their summation only": (
        [
            record(0, "Who?", "q", [["a", 0.1 + 0.2], ["b", 2.5]]),
            record(1, "Who?", "p", [["b", 2.5], ["a", 0.3]]),
        ],
        {"001": ["duplicate_question"]},
    ),
    "rows with a whole number and a float beside another float": (
        [record(0, "Who?", "q", [[1, 0.5]]), record(1, "Who?", "p", [[1.0, 0.5]])],
        {"000": ["conflicting_gold"], "001": ["conflicting_gold"]},
    ),
    "floats that differ in the eighth digit": (
        [record(0, "Who?", "q", 1.0000001), record(1, "Who?", "p", 1.0000004)],
        {"001": ["duplicate_question"]},
    ),
    "floats that differ in the seventh digit": (
        [record(0, "Who?", "q", 1.000001), record(1, "Who?", "p", 1.000004)],
        {"000": ["conflicting_gold"], "001": ["conflicting_gold"]},
    ),
    "a paraphrase": (
        [record(0, "How many ships?"), record(1, "Count the fleet.")],
        {"001": ["paraphrase_of"]},
    ),
    "three paraphrases, one of them twice": (
        [record(0, "How many?"), record(1, "Count the fleet."), record(2, "Count the fleet")],
        {"001": ["paraphrase_of"], "002": ["duplicate_question", "paraphrase_of"]},
    ),
    "nearly the same text and the same SQL": (
        [record(0, LIST_SHIPS), record(1, "List the names of all ships")],
        {"001": ["near_duplicate_question", "paraphrase_of"]},
    ),
    "nearly the same text and other SQL": (
        [record(0, LIST_SHIPS, "q"), record(1, "List the names of all the shops.", "p")],
        {},
    ),
    "other questions with one answer": (
        [record(0, "How many ships?", "q", 4), record(1, "How many harbours?", "p", 4)],
        {},
    ),
    "queries without a canonical form": (
        [record(0, "How many ships?", "", 1), record(1, "Count the fleet.", "", 1)],
        {},
    ),
    "questions without words": ([record(0, "?", "q", 1), record(1, "", "p", 2)], {}),
    "words that differ by an accent": (
        [record(0, "Où ?", "q", 1), record(1, "Ou ?", "p", 2)],
        {},
    ),
    "one question": ([record(0, "How many ships?")], {}),
    "no question": ([], {}),
}


@pytest.mark.parametrize(("records", "expected"), IN_DATABASE.values(), ids=IN_DATABASE)
def test_questions_of_one_database(records, expected):
    assert flags(find_in_database(records)) == expected
    assert find_in_database(records[::-1]) == find_in_database(records)


def test_evidence_names_the_first_question():
    found = find_in_database(
        [record(1000, "Count ships"), record(999, "count ships"), record(2, "How many?")]
    )
    duplicate, paraphrase = found["fleet_train_1000"]
    assert duplicate.evidence == {
        "first": "fleet_train_999",
        "same_sql": True,
        "same_answer": True,
    }
    assert paraphrase.evidence == {"first": "fleet_train_002", "questions": 3}
    conflict = find_in_database([record(n, "Who?", f"q{n}", n) for n in range(9)])
    assert conflict["fleet_train_000"][0].evidence == {
        "others": [f"fleet_train_00{n}" for n in range(1, 6)],
        "count": 8,
    }
    near = find_in_database([record(0, LIST_SHIPS), record(1, "List the names of all ships")])
    assert near["fleet_train_001"][0].evidence == {"first": "fleet_train_000", "similarity": 0.931}


def agree(left: SetRecord, right: SetRecord) -> bool:
    if left.sequence and right.sequence:
        return left.sequence == right.sequence
    return left.answer == right.answer


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["All the ships?", "All the ship?", "Ships?"]),
            st.sampled_from(["", "p", "q"]),
            st.sampled_from([1, ["a", "b"], ["b", "a"]]),
            st.booleans(),
        ),
        max_size=9,
    )
)
def test_findings_are_those_of_comparing_every_pair(drawn):
    records = [
        record(number, text, sql, answer, order_matters=order_matters)
        for number, (text, sql, answer, order_matters) in enumerate(drawn)
    ]
    found = find_in_database(records)
    evidence = {
        (question_id, finding.code): finding.evidence
        for question_id, findings in found.items()
        for finding in findings
    }
    for place, one in enumerate(records):
        twins = [other for other in records if other.text == one.text]
        earlier = [
            other.question_id
            for other in records[:place]
            if other.text == one.text
            and (
                agree(one, other)
                or (one.canonical_sql and one.canonical_sql == other.canonical_sql)
            )
        ]
        duplicate = evidence.get((one.question_id, "duplicate_question"), {})
        assert duplicate.get("first") == (earlier[0] if earlier else None)
        others = [other.question_id for other in twins if not agree(one, other)]
        conflict = evidence.get((one.question_id, "conflicting_gold"), {"others": [], "count": 0})
        assert conflict == {"others": others[:5], "count": len(others)}
        alike = [
            other.question_id
            for other in records[:place]
            if one.canonical_sql
            and one.canonical_sql == other.canonical_sql
            and find_similar(one.text, [other.text], 0.9)
        ]
        near = evidence.get((one.question_id, "near_duplicate_question"), {})
        assert near.get("first") == (alike[0] if alike else None)


def test_time_does_not_grow_with_the_square_of_the_questions_of_one_text():
    crowd = [record(number, "How many ships?", answer=number // 9_999) for number in range(20_000)]
    start = time.process_time()
    found = find_in_database(crowd)
    assert time.process_time() - start < 10  # a tenth of a second; comparing every pair, a minute
    assert len(found) == 20_000
    last = {finding.code: finding.evidence for finding in found["fleet_train_19999"]}
    assert last["conflicting_gold"]["count"] == 19_998
    assert last["duplicate_question"]["first"] == "fleet_train_000"


def test_databases_are_looked_at_one_by_one():
    with pytest.raises(ValueError, match="one database"):
        find_in_database([record(0, "Who?"), record(0, "Who?", database_name="zoo")])

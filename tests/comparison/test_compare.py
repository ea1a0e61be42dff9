"""What questions have in common, and with held-out sets: what must be found, and near misses that
must not."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from answerkey.base.records import Finding
from answerkey.comparison import compare as comparison
from answerkey.comparison.compare import (
    Fingerprint,
    HeldOut,
    Nearest,
    compare,
    find_nearest,
    find_schema_twins,
    list_columns,
    make_fingerprint,
    normalize_question,
    normalize_sql,
)
from answerkey.dataset import Question
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.schema import read_schema
from tests.shared.joined_questions import make_joined


def record(number: int, text: str, sql: str = "q", answer: Any = 1, **other: Any) -> Fingerprint:
    known = {"database_name": "fleet", "split": "train", "order_matters": False, **other}
    return make_fingerprint(
        Question(
            question_id=f"{known['database_name']}_{known['split']}_{number:03d}",
            question_text=text,
            gold_sql="",
            source={},
            flags=[],
            canonical_sql=sql,
            gold_answer=answer,
            answer_type="any",
            **known,
        )
    )


def held_out(number: int, text: str, template: str = "T", **other: Any) -> Fingerprint:
    known = {"database_name": "zoo", "split": "eval", "sql": "", **other}
    return record(number, text, template=template, **known)


def find(*fingerprints: Fingerprint) -> dict[str, list[Finding]]:
    return compare(fingerprints, [], min_similarity=0.9)


def list_flags(findings: dict[str, list[Finding]]) -> dict[str, list[str]]:
    return {
        question_id.rsplit("_", 1)[1]: [finding.code for finding in found]
        for question_id, found in sorted(findings.items())
    }


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
    "a whole number and a float": (
        [record(0, "Who?", "q", 1), record(1, "Who?", "p", 1.0)],
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
    "no question": ([], {}),
}


@pytest.mark.parametrize(("records", "expected"), IN_DATABASE.values(), ids=IN_DATABASE)
def test_questions_of_one_database(records, expected):
    assert list_flags(find(*records)) == expected


def test_evidence_names_the_first_question():
    found = find(record(1000, "Count ships"), record(999, "count ships"), record(2, "How many?"))
    duplicate, paraphrase = found["fleet_train_1000"]
    assert duplicate.evidence == {
        "first": "fleet_train_999",
        "same_sql": True,
        "same_answer": True,
    }
    assert paraphrase.evidence == {"first": "fleet_train_002", "questions": 3}
    conflict = find(*[record(n, "Who?", f"q{n}", n) for n in range(9)])
    assert conflict["fleet_train_000"][0].evidence == {
        "others": [f"fleet_train_00{n}" for n in range(1, 6)],
        "count": 8,
    }
    near = find(record(0, LIST_SHIPS), record(1, "List the names of all ships"))
    assert near["fleet_train_001"][0].evidence == {"first": "fleet_train_000", "similarity": 0.931}


def train(number: int, text: str, template: str = "T") -> Fingerprint:
    return record(number, text, "", template=template)


SAME_TEMPLATE = ["template_in_both_splits"]
ACROSS = {
    "the same text": (
        [train(0, "How many are there?", "T")],
        [held_out(1, "how many are there", "U")],
        {"000": ["question_in_both_splits"], "001": ["question_in_both_splits"]},
    ),
    "the same template": (
        [train(0, "How many ships are there?")],
        [held_out(1, "Count the animals.")],
        {"000": SAME_TEMPLATE, "001": SAME_TEMPLATE},
    ),
    "nearly the same text and the same template": (
        [train(0, "What is the average age of all the cats?")],
        [held_out(1, "What is the average age of all the rats?")],
        {
            "000": ["near_duplicate_question", *SAME_TEMPLATE],
            "001": ["near_duplicate_question", *SAME_TEMPLATE],
        },
    ),
    "nearly the same text and another template": (
        [train(0, "What is the average age of all the cats?", "T")],
        [held_out(1, "What is the average age of all the rats?", "U")],
        {},
    ),
    "half of a surrogate pair": (
        [train(0, "How many \ud800 are there?", "T '\ud800'")],
        [held_out(1, "How many \ud801 are there?", "T '\ud800'")],
        {
            "000": ["near_duplicate_question", *SAME_TEMPLATE],
            "001": ["near_duplicate_question", *SAME_TEMPLATE],
        },
    ),
    "no template": ([train(0, "How many?", "")], [held_out(1, "Who?", "")], {}),
    "nothing held out": ([train(0, "How many?")], [], {}),
}


@pytest.mark.parametrize(("trained", "held", "expected"), ACROSS.values(), ids=ACROSS)
def test_questions_of_both_splits(trained, held, expected):
    assert list_flags(find(*trained, *held)) == expected


def test_evidence_counts_the_other_split():
    trained = [train(number, f"Question number {number} of the fleet") for number in (12, 3, 7)]
    held = [held_out(1000, "Name a bird"), held_out(999, "Name a fish")]
    found = find(*trained, *held)
    assert found["fleet_train_012"][0].evidence == {
        "template": "T",
        "count": 2,
        "example": "zoo_eval_999",
    }
    assert found["zoo_eval_1000"][0].evidence == {
        "template": "T",
        "count": 3,
        "example": "fleet_train_003",
    }
    found = find(
        train(5, "What is the age of a cat?"),
        train(4, "What is the age of a cat??"),
        held_out(0, "What is the age of a rat?"),
        held_out(1, "What is the age of a bat?"),
    )
    near = found["zoo_eval_000"][0].evidence
    assert near == {"other": "fleet_train_004", "similarity": 0.958}
    assert found["fleet_train_004"][0].evidence["other"] == "zoo_eval_000"


# Long ones, too, which are compared in another way, and pairs that are just similar enough.
TEXTS = st.lists(
    st.one_of(
        st.text("abc", max_size=12),
        st.text("ab", min_size=18, max_size=20),
        st.builds(str.__mul__, st.text("ab ", max_size=9), st.integers(1, 30)),
        st.just("how many customers live in porto"),
    ),
    max_size=8,
)


@given(
    TEXTS, TEXTS, st.sampled_from([0.0, 0.5, 0.75, 0.8, 0.9, 0.95, 1.0]), st.sampled_from([1, 9])
)
def test_nearest_text_is_that_of_all_pairs(texts, others, min_similarity, cells):
    def find_by_all_pairs(text: str) -> Nearest | None:
        likes = [
            (-round(likeness, 3), index)
            for index, other in enumerate(others)
            if (likeness := Indel.normalized_similarity(text, other)) >= min_similarity
            if text and text != other
        ]
        return Nearest(min(likes)[1], -min(likes)[0], len(likes)) if likes else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "_MAX_CELLS", cells)
        found = list(find_nearest(texts, others, min_similarity))
    assert found == [find_by_all_pairs(text) for text in texts]


VOCABULARY = "how many ships are there in a zoo ?"
WORDS = st.lists(st.sampled_from(VOCABULARY.split()), max_size=6)
RECORDS = st.lists(
    st.tuples(WORDS, st.sampled_from("pqr"), st.integers(0, 2), st.sampled_from("TU")), max_size=12
)


@given(drawn=RECORDS, held=RECORDS, seed=st.integers(0, 9))
def test_order_of_records_changes_nothing(drawn, held, seed):
    trained = [
        record(number, " ".join(words), sql, answer, template=template)
        for number, (words, sql, answer, template) in enumerate(drawn)
    ]
    kept = [held_out(number, " ".join(words), t) for number, (words, _, _, t) in enumerate(held)]
    shuffled = trained + kept
    random.Random(seed).shuffle(shuffled)
    assert find(*shuffled) == find(*trained, *kept)


@given(text=st.text())
def test_normalizing_twice_is_normalizing_once(text):
    once = normalize_question(text)
    assert normalize_question(once) == once


def test_normalized_text():
    assert normalize_question("\uff28ow\u00a0many ships?! ") == "how many ships"
    assert normalize_question("Is 3.5 > 2?") == "is 3.5 > 2"


def make_schema(sql: str) -> Schema:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sql)
        return read_schema(connection)


FLEET = "CREATE TABLE ship (id INT, name TEXT); CREATE TABLE crew (ship_id INT, name TEXT);"
WIDE = ", ".join(f"c{number} INT" for number in range(19))
TWINS = {
    "the same, in another case and order": (
        FLEET,
        "CREATE TABLE CREW (Name TEXT, ship_ID int); CREATE TABLE Ship (id INT, name TEXT);",
        {"share": 1.0, "same_types": True, "count": 1},
    ),
    "other types": (
        FLEET,
        "CREATE TABLE ship (id TEXT, name TEXT); CREATE TABLE crew (ship_id INT, name TEXT);",
        {"share": 1.0, "same_types": False, "count": 1},
    ),
    "a view more": (
        FLEET,
        f"{FLEET} CREATE VIEW v AS SELECT * FROM ship;",
        {"share": 1.0, "same_types": True, "count": 1},
    ),
    "a column more among many": (
        f"CREATE TABLE t ({WIDE})",
        f"CREATE TABLE t ({WIDE}, more INT)",
        {"share": 0.95, "same_types": False, "count": 1},
    ),
    "a column more among few": (FLEET, FLEET.replace("id INT,", "id INT, flag TEXT,", 1), None),
    "the same columns in other tables": (FLEET, FLEET.replace("ship (", "boat ("), None),
    "nothing in common": (FLEET, "CREATE TABLE cat (id INT)", None),
    "two empty databases": ("", "", None),
}


def find_twins(train: dict[str, str], held_out: dict[str, str]) -> dict[str, dict]:
    """The evidence of each database that has a twin."""
    splits = dict.fromkeys(train, "train") | dict.fromkeys(held_out, "eval")
    schemas = {name: list_columns(make_schema(sql)) for name, sql in (train | held_out).items()}
    found = find_schema_twins(schemas, splits)
    assert all(finding.code == "schema_in_both_splits" for finding in found.values())
    return {name: finding.evidence for name, finding in found.items()}


@pytest.mark.parametrize(("left", "right", "evidence"), TWINS.values(), ids=TWINS)
def test_schemas_of_both_splits(left, right, evidence):
    twins = {"fleet": "zoo", "zoo": "fleet"} if evidence else {}
    expected = {name: {"database": other, **evidence} for name, other in twins.items()}
    assert find_twins({"fleet": left}, {"zoo": right}) == expected
    assert find_twins({"fleet": left, "zoo": right}, {}) == {}


# Schemas of up to forty columns, of which some are in others but for a few.
SCHEMAS = st.lists(
    st.tuples(st.integers(0, 41), st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=12
)


@given(SCHEMAS)
def test_twins_are_those_of_all_pairs(drawn):
    schemas, splits = {}, {}
    for number, (size, start, extra, is_held_out) in enumerate(drawn):
        names = [*range(start, size), *range(100 * number, 100 * number + extra)]
        schemas[f"d{number}"] = {("t", f"c{name}"): "INT" for name in names}
        splits[f"d{number}"] = ["eval"] if is_held_out else ["train"]
    shares = {}
    for name, mine in schemas.items():
        others = [other for other in schemas if splits[other] != splits[name]]
        share = {
            other: len(mine.keys() & schemas[other].keys()) / len(mine.keys() | schemas[other])
            for other in others
            if mine or schemas[other]
        }
        if alike := {other: value for other, value in share.items() if value >= 0.9}:
            shares[name] = max(alike.values()), len(alike)
    found = find_schema_twins(schemas, splits)
    evidence = {name: finding.evidence for name, finding in found.items()}
    assert {name: one["count"] for name, one in evidence.items()} == {
        name: count for name, (_, count) in shares.items()
    }
    assert all(one["share"] == round(shares[name][0], 3) for name, one in evidence.items())


def test_most_alike_of_several_twins_is_named():
    wide, wider = (f"CREATE TABLE t ({WIDE}{more})" for more in ("", ", more INT"))
    found = find_twins({"a": wide}, {"near": wider, "c": wide, "b": wide})
    assert found["a"] == {"database": "b", "share": 1.0, "same_types": True, "count": 3}
    assert found["near"]["share"] == 0.95


# Overlap with held-out sets


COUNT = "SELECT count(*) FROM ship"


def find_held_out(text: str, sql: str, *held_out: tuple[str, str], corpus: str = "mine") -> Any:
    records = [
        {"question_text": a, "gold_sql": b, "source": {"corpus": "dev", "file": "f", "index": n}}
        for n, (a, b) in enumerate(held_out)
    ]
    question = make_joined("a_train_000", question_text=text, gold_sql=sql, answer_type="list")
    question = question._replace(source={"corpus": corpus})
    found = HeldOut(records, min_similarity=0.9).find_overlap(question)
    if found is None:
        return None
    evidence = found.evidence
    return evidence["index"], evidence["text_similarity"], evidence["sql_similarity"]


def test_exact_comes_before_near_and_two_before_one() -> None:
    near = ("How many ships were there?", "SELECT count(*) FROM shop")
    text = ("how many ships are there", "SELECT 1")
    both = ("How many  ships are there?", "select COUNT(*) from SHIP;")
    assert find_held_out("How many ships are there?", COUNT, near, text, both) == (2, 1.0, 1.0)
    assert find_held_out("How many ships are there?", COUNT, near, text)[:2] == (1, 1.0)
    assert find_held_out("How many ships are there?", COUNT, near) == (0, 0.939, 0.964)
    assert find_held_out("Count the ships.", COUNT, near, text, both)[0::2] == (2, 1.0)


@pytest.mark.parametrize(
    "other",
    [
        ("How many shops are there?", "SELECT name FROM shop WHERE id > 5"),  # the text alone
        ("Is there any ship that sails?", "SELECT count(*) FROM shop"),  # the SQL alone
        ("", "SELECT 'ship'"),
    ],
)
def test_nearness_of_one_is_no_overlap(other: tuple[str, str]) -> None:
    assert find_held_out("How many ships are there?", COUNT, other) is None


def test_nothing_is_like_nothing_and_no_set_like_itself() -> None:
    assert find_held_out("", "", ("", "")) is None
    assert find_held_out("?", "x", ("?", "x"), corpus="dev") is None
    assert find_held_out("How many?", "x") is None


def test_texts_of_any_length_are_compared() -> None:
    long = "Which of the ships that sail under the flag of Peru have been to Porto in May"
    sql = "SELECT name FROM ship WHERE flag = 'Peru' AND port = 'Porto' AND month = 5"
    held_out = [("Which?", "y"), (long + " or June?", sql), ("z" * 900, "y")]
    assert find_held_out(long, sql + "0", *held_out) == (1, 0.951, 0.993)


def test_sql_is_told_apart_by_what_changes_it() -> None:
    same = ["SELECT a FROM t WHERE b = 'X'", 'select A\nfrom `t` where [b]="X" -- c\n;;']
    assert len(set(map(normalize_sql, same))) == 1
    assert normalize_sql(same[0]) != normalize_sql(same[0].replace("X", "x"))
    assert normalize_sql("SELECT  'no end") == "SELECT 'no end"

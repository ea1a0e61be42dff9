"""statistics: counts with stable keys, and tables in which every pair stands."""

from __future__ import annotations

from io import StringIO

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.core.dossier import Dossier
from answerkey.core.question import DIFFICULTIES, HARDNESS_LEVELS, SPLITS
from answerkey.core.reasons import Flag, Reason
from answerkey.exports.statistics import (
    Description,
    Group,
    count_pairs,
    count_values,
    describe_question,
    make_counts,
    make_metrics,
    make_plots,
    tabulate,
)
from answerkey.sqlite.answers import ANSWER_TYPES


def describe(database_name, template, *group):
    return Description(Group(*group), database_name, template)


ROWS = [
    describe("a", "t1", "x", "train", "easy", "easy", "integer", 1, None),
    describe("a", "t1", "x", "train", "easy", "medium", "list", 2, None),
    describe("b", "t2", "x", "train", "hard", "extra", "table", 4, "not_selected"),
    describe("c", "t3", "y", "eval", "medium", "hard", "list", 3, None),
    describe("c", "t4", "y", "eval", "easy", "easy", None, 1, "sql_error"),
    describe("c", None, "y", "eval", None, None, "list", 0, "unparsable_sql"),
]
FROM = {"source": {"corpus": "x"}}
SUMMARY = {"size": 3}


def test_question_is_described_by_its_columns():
    source = {"split": "train", "database_name": "a", "question_id": "a_train_000"} | FROM
    parsed = {"hardness": "easy", "tables_involved": ["t", "u"], "template": "f"}
    selected = Dossier(source, {"answer_type": "list"}, parsed, {"flags": []}, "easy")
    assert describe_question(selected, None) == Description(
        Group(
            corpus="x",
            split="train",
            difficulty="easy",
            hardness="easy",
            answer_type="list",
            tables=2,
            reason=None,
        ),
        database_name="a",
        template="f",
    )


def test_question_without_answer_or_parse_is_described_by_what_there_is():
    source = {"split": "eval", "database_name": "a", "question_id": "a_eval_000"} | FROM
    failed = {"reason": "sql_error", "detail": "no"}
    described = describe_question(Dossier(source, failed, failed, None, None), "sql_error")
    assert described == describe("a", None, "x", "eval", None, None, None, 0, "sql_error")


def test_values_are_counted_in_the_order_of_their_vocabulary():
    groups = tabulate(ROWS[::-1]).groups
    counts = count_values(groups, "difficulty", ["hard", "easy", "medium"])
    assert counts == {"hard": 1, "easy": 3, "medium": 1}
    assert list(counts) == ["hard", "easy", "medium"]
    assert list(count_values(groups, "difficulty")) == ["easy", "hard", "medium"]


def test_value_that_the_vocabulary_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="difficulty: expected one of easy, hard, found 'medium'"):
        count_values(tabulate(ROWS).groups, "difficulty", ["easy", "hard"])


def test_counts_are_of_the_selected_questions():
    counts = make_counts(tabulate(ROWS), {"guessable": 2}, SUMMARY)
    assert (counts["loaded"], counts["usable"], counts["selected"]) == (6, 4, 3)
    assert {name: n for name, n in counts["excluded"].items() if n} == {
        "not_selected": 1,
        "sql_error": 1,
        "unparsable_sql": 1,
    }
    assert counts["corpus"] == {
        "x": {"loaded": 3, "usable": 3, "selected": 2},
        "y": {"loaded": 3, "usable": 1, "selected": 1},
    }
    assert counts["split"] == {"train": 2, "eval": 1}
    assert counts["difficulty"] == {"easy": 2, "medium": 1, "hard": 0}
    assert counts["hardness"] == {"easy": 1, "medium": 1, "hard": 1, "extra": 0}
    assert counts["answer_type"] == {"integer": 1, "float": 0, "string": 0, "list": 2, "table": 0}
    assert counts["database"] == {"a": 2, "b": 0, "c": 1}
    assert counts["templates"] == 2
    assert counts["flags"] == {"guessable": 2}
    assert counts["selection"] == SUMMARY


def test_metrics_are_the_counts_that_one_tunes_by():
    cells = {"train": {"easy": {"usable": 3, "selected": 2}}}
    coverage = {"tables": 9, "tables_touched": 7, "columns": 30, "columns_touched": 20}
    summary = {"size": 3, "cells": cells, "coverage": coverage}
    assert make_metrics(make_counts(tabulate(ROWS), {}, summary)) == {
        "loaded": 6,
        "usable": 4,
        "selected": 3,
        "split": {"train": 2, "eval": 1},
        "difficulty": {"easy": 2, "medium": 1, "hard": 0},
        "cell": {"train": {"easy": 2}},
        "excluded": {
            "total": 3,
            "not_selected": 1,
            "sql_error": 1,
            "tie_at_limit": 0,
            "empty_answer": 0,
            "conflicting_gold": 0,
            "duplicate_question": 0,
            "other_reasons": 1,
        },
        "templates": 2,
        "tables_touched": 7,
        "columns_touched": 20,
    }


def test_counts_are_in_order_whatever_the_order_of_the_questions():
    counts = make_counts(tabulate(ROWS[::-1]), {}, SUMMARY)
    assert list(counts["excluded"]) == sorted({*Reason, *Flag})
    assert list(counts["database"]) == ["a", "b", "c"]
    assert list(counts["corpus"]) == ["x", "y"]


@pytest.mark.parametrize(("rows", "templates"), [(ROWS[:2], 1), (ROWS[2:3], 0), (ROWS[3:], 1)])
def test_templates_are_those_of_the_selected_questions(rows, templates):
    assert tabulate(rows).templates == templates


def test_database_without_selected_questions_has_no_bar():
    assert make_plots(tabulate(ROWS))["databases"].rows == [("a", 2), ("c", 1)]


@pytest.mark.parametrize("rows", [[], ROWS[:1], ROWS[5:], ROWS])
def test_every_reason_and_flag_stands_in_the_counts(rows):
    counts = make_counts(tabulate(rows), {}, SUMMARY)
    assert set(counts["excluded"]) == {*Reason, *Flag}
    assert counts["loaded"] == counts["selected"] + sum(counts["excluded"].values())


def test_unknown_reason_is_an_error():
    row = ROWS[0]._replace(group=ROWS[0].group._replace(reason="bad_luck"))
    with pytest.raises(ValueError, match="bad_luck"):
        make_counts(tabulate([row]), {}, SUMMARY)


def test_pairs_without_questions_stand_in_the_table():
    groups = tabulate(ROWS).groups
    table = count_pairs(groups, "split", ("train", "eval"), "difficulty", ("easy", "hard"))
    assert table.columns == ("split", "difficulty", "cell", "questions")
    assert table.rows == [
        ("train", "easy", "train easy", 2),
        ("train", "hard", "train hard", 1),
        ("eval", "easy", "eval easy", 1),
        ("eval", "hard", "eval hard", 0),
    ]


@pytest.mark.parametrize("rows", [[], ROWS[4:], ROWS])
def test_plots_have_the_same_columns_whatever_there_is(rows):
    plots = make_plots(tabulate(rows))
    assert {name: list(table.columns) for name, table in plots.items()} == {
        "difficulty_usable": ["split", "difficulty", "cell", "questions"],
        "difficulty_selected": ["split", "difficulty", "cell", "questions"],
        "exclusions": ["reason", "questions"],
        "answer_types": ["answer_type", "questions"],
        "databases": ["database_name", "questions"],
        "tables": ["tables", "questions"],
        "hardness_by_difficulty": ["difficulty", "hardness", "cell", "questions"],
    }
    assert len(plots["difficulty_usable"].rows) == 6
    assert len(plots["hardness_by_difficulty"].rows) == 12


def test_plots_count_the_usable_or_the_selected():
    plots = make_plots(tabulate(ROWS))
    totals = {name: sum(row[-1] for row in table.rows) for name, table in plots.items()}
    assert totals == {
        "difficulty_usable": 4,
        "difficulty_selected": 3,
        "exclusions": 3,
        "answer_types": 3,
        "databases": 3,
        "tables": 3,
        "hardness_by_difficulty": 3,
    }


GROUP = st.builds(
    Group,
    st.sampled_from(["x", "y"]),
    st.sampled_from(SPLITS),
    st.sampled_from(DIFFICULTIES),
    st.sampled_from(HARDNESS_LEVELS),
    st.sampled_from(ANSWER_TYPES),
    st.integers(1, 12),
    st.sampled_from([None, Reason.NOT_SELECTED, Flag.GUESSABLE]),
)


@settings(max_examples=30)
@given(st.lists(st.builds(Description, GROUP, st.sampled_from("abc"), st.none()), min_size=1))
def test_plots_are_what_pandas_counts(questions):
    frame = pd.DataFrame(
        [{**group._asdict(), "database_name": name} for group, name, _ in questions]
    )
    selected = frame[frame["reason"].isna()]
    usable = frame[frame["reason"].isna() | (frame["reason"] == "not_selected")]
    expected = {
        "difficulty_usable": (usable, ["split", "difficulty"]),
        "difficulty_selected": (selected, ["split", "difficulty"]),
        "exclusions": (frame, ["reason"]),
        "answer_types": (selected, ["answer_type"]),
        "databases": (selected, ["database_name"]),
        "tables": (selected, ["tables"]),
        "hardness_by_difficulty": (selected, ["difficulty", "hardness"]),
    }
    for name, table in make_plots(tabulate(questions)).items():
        counted, columns = expected[name]
        counts = counted.groupby(columns, as_index=False).size()
        read = pd.read_csv(StringIO(table.write_csv()))
        found = read.loc[read["questions"] > 0, [*columns, "questions"]]
        assert set(found.itertuples(index=False, name=None)) == set(
            counts.itertuples(index=False, name=None)
        ), name

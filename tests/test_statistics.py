"""statistics: counts with stable keys, and tables in which every pair stands."""

from __future__ import annotations

import pytest

from stages.dossier import Dossier
from stages.exports.statistics import (
    COLUMNS,
    count_pairs,
    count_values,
    describe_question,
    make_metrics,
    make_plots,
    tabulate,
)
from stages.reasons import Flag, Reason

ROWS = [
    ("x", "train", "easy", "easy", "integer", "a", 1, "t1", None),
    ("x", "train", "easy", "medium", "list", "a", 2, "t1", None),
    ("x", "train", "hard", "extra", "table", "b", 4, "t2", "not_selected"),
    ("y", "eval", "medium", "hard", "list", "c", 3, "t3", None),
    ("y", "eval", "easy", "easy", None, "c", 1, "t4", "sql_error"),
    ("y", "eval", None, None, "list", "c", 0, None, "unparsable_sql"),
]
FROM = {"source": {"corpus": "x"}}
SUMMARY = {"size": 3}


def test_question_is_described_by_its_columns():
    source = {"split": "train", "database_name": "a", "question_id": "a_train_000"} | FROM
    parsed = {"hardness": "easy", "tables_involved": ["t", "u"], "template": "f"}
    selected = Dossier(source, {"answer_type": "list"}, parsed, {"flags": []}, "easy")
    described = dict(zip(COLUMNS, describe_question(selected, None), strict=True))
    assert described == {
        "corpus": "x",
        "split": "train",
        "difficulty": "easy",
        "hardness": "easy",
        "answer_type": "list",
        "database_name": "a",
        "tables": 2,
        "template": "f",
        "reason": None,
    }


def test_question_without_answer_or_parse_is_described_by_what_there_is():
    source = {"split": "eval", "database_name": "a", "question_id": "a_eval_000"} | FROM
    failed = {"reason": "sql_error", "detail": "no"}
    described = describe_question(Dossier(source, failed, failed, None, None), "sql_error")
    assert described == ("x", "eval", None, None, None, "a", 0, None, "sql_error")


def test_values_are_counted_in_the_order_of_their_vocabulary():
    groups = tabulate(ROWS).groups
    counts = count_values(groups, "difficulty", ["hard", "easy", "medium"])
    assert counts == {"hard": 1, "easy": 3, "medium": 1}
    assert list(counts) == ["hard", "easy", "medium"]
    assert list(count_values(groups, "difficulty")) == ["easy", "hard", "medium"]


def test_value_that_the_vocabulary_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="difficulty: expected one of easy, hard, found 'medium'"):
        count_values(tabulate(ROWS).groups, "difficulty", ["easy", "hard"])


def test_metrics_are_counts_of_the_selected_questions():
    metrics = make_metrics(tabulate(ROWS), {"guessable": 2}, SUMMARY)
    assert (metrics["loaded"], metrics["usable"], metrics["selected"]) == (6, 4, 3)
    assert {name: n for name, n in metrics["excluded"].items() if n} == {
        "not_selected": 1,
        "sql_error": 1,
        "unparsable_sql": 1,
    }
    assert metrics["corpus"] == {
        "x": {"loaded": 3, "usable": 3, "selected": 2},
        "y": {"loaded": 3, "usable": 1, "selected": 1},
    }
    assert metrics["split"] == {"train": 2, "eval": 1}
    assert metrics["difficulty"] == {"easy": 2, "medium": 1, "hard": 0}
    assert metrics["hardness"] == {"easy": 1, "medium": 1, "hard": 1, "extra": 0}
    assert metrics["answer_type"] == {"integer": 1, "float": 0, "string": 0, "list": 2, "table": 0}
    assert metrics["database"] == {"a": 2, "b": 0, "c": 1}
    assert metrics["templates"] == 2
    assert metrics["flags"] == {"guessable": 2}
    assert metrics["selection"] == SUMMARY


@pytest.mark.parametrize("rows", [[], ROWS[:1], ROWS[5:], ROWS])
def test_every_reason_and_flag_stands_in_the_metrics(rows):
    metrics = make_metrics(tabulate(rows), {}, SUMMARY)
    assert set(metrics["excluded"]) == {*Reason, *Flag}
    assert metrics["loaded"] == metrics["selected"] + sum(metrics["excluded"].values())


def test_unknown_reason_is_an_error():
    row = (*ROWS[0][:-1], "bad_luck")
    with pytest.raises(ValueError, match="bad_luck"):
        make_metrics(tabulate([row]), {}, SUMMARY)


def test_pairs_without_questions_stand_in_the_table():
    groups = tabulate(ROWS).groups
    table = count_pairs(groups, "split", ("train", "eval"), "difficulty", ("easy", "hard"))
    assert table.to_dict("list") == {
        "split": ["train", "train", "eval", "eval"],
        "difficulty": ["easy", "hard", "easy", "hard"],
        "cell": ["train easy", "train hard", "eval easy", "eval hard"],
        "questions": [2, 1, 1, 0],
    }


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
    assert len(plots["difficulty_usable"]) == 6
    assert len(plots["hardness_by_difficulty"]) == 12


def test_plots_count_the_usable_or_the_selected():
    plots = make_plots(tabulate(ROWS))
    totals = {name: int(table["questions"].sum()) for name, table in plots.items()}
    assert totals == {
        "difficulty_usable": 4,
        "difficulty_selected": 3,
        "exclusions": 3,
        "answer_types": 3,
        "databases": 3,
        "tables": 3,
        "hardness_by_difficulty": 3,
    }

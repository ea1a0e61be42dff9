"""Compare others' lists on Spider's gold with our review, for benchmarks/spider_readings.py.

A list is a JSON array of one of these forms:

- {"db_id", "query", "question", "verdict"}: the SQL is wrong if INCORRECT, right if CORRECT or
  PARTIALLY_CORRECT; other values are ignored;
- {"question_id", "edition"}: the wrong SQL of the split eval; all other SQL is right. If the
  edition is not spider1.0, other gold was judged, and the row is ignored;
- {"database", "question", "gold_right"}: the verdict of people on gold; null is ignored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from gold_flags import fold

from answerkey.base.records import EVAL, TRAIN
from answerkey.risk.agreement import find_kappa
from answerkey.risk.verdicts import WRONG

SAID = {"INCORRECT": True, "CORRECT": False, "PARTIALLY_CORRECT": False}
OURS = "readings"

Questions = Mapping[str, dict[str, Any]]  # of a run, by id, each with its verdict
Said = dict[str, bool]  # by question_id: whether the SQL is wrong


def measure_lists(questions: Questions, lists: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return how far lists, each a name and a path, agree with our review and with each other. A
    question that is ambiguous here is not called wrong."""
    known = {name: dict(read_list(Path(path), questions)) for name, path in lists}
    ours = {name: each["verdict"].verdict == WRONG for name, each in questions.items()}
    return {
        "beside_ours": [
            {
                **compare_lists(name, said, OURS, ours),
                "kinds_of_second_alone": dict(
                    Counter(
                        questions[question_id]["verdict"].kind
                        for question_id, is_wrong in said.items()
                        if ours[question_id] and not is_wrong
                    ).most_common()
                ),
            }
            for name, said in known.items()
        ],
        "beside_each_other": [
            compare_lists(*first, *second)
            for first, second in combinations(known.items(), 2)
            if first[1].keys() & second[1].keys()
        ],
    }


def read_list(path: Path, questions: Questions) -> Iterator[tuple[str, bool]]:
    """Yield the questions that a list judges, and whether their SQL is wrong."""
    records = json.loads(path.read_text("utf-8"))
    form = records[0].keys()
    if "verdict" in form:
        verdicts = {
            (each["db_id"], fold(each["query"]), fold(each["question"])): SAID[each["verdict"]]
            for each in records
            if each["verdict"] in SAID
        }
        for name, question in questions.items():
            texts = fold(question["gold_sql"]), fold(question["question_text"])
            key = question["database_name"], *texts
            if key in verdicts and question["split"] == TRAIN:
                yield name, verdicts[key]
    elif "edition" in form:
        editions = {each["question_id"]: each["edition"] for each in records}
        for name, question in questions.items():
            is_same = editions.get(name, "spider1.0") == "spider1.0"
            if question["split"] == EVAL and is_same:
                yield name, name in editions
    else:
        held_right = {
            (each["database"], fold(each["question"])): each["gold_right"] for each in records
        }
        for name, question in questions.items():
            key = question["database_name"], fold(question["question_text"])
            if (is_right := held_right.get(key)) is not None:
                yield name, not is_right


def compare_lists(
    first: str, said: Mapping[str, bool], second: str, others: Mapping[str, bool]
) -> dict[str, Any]:
    """Return for how many questions both or only one of two lists call SQL wrong, and their
    kappa."""
    pairs = Counter((said[name], others[name]) for name in said if name in others)
    return {
        "first": first,
        "second": second,
        "questions": pairs.total(),
        "both": pairs[True, True],
        "first_alone": pairs[True, False],
        "second_alone": pairs[False, True],
        "kappa": find_kappa(list(pairs.elements())),
    }

"""A teammate who pulls questions, databases and test suites, and nothing else, scores with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.shared.checkout import run

PULLED = ("data/questions", "data/test_suites", "data/databases")
EXPLAIN = """
import json, sys
from answerkey.reward import explain_score
predicted_sql, gold_answer, terms = json.loads(sys.argv[1])
found = explain_score(predicted_sql, gold_answer, **terms)
print(json.dumps([found.reward, found.database]))
"""


@pytest.mark.slow
def test_clone_with_suites_and_nothing_of_the_pipeline_tells_wrong_from_right(
    finished: Path, tmp_path: Path
) -> None:
    maintainer, teammate = tmp_path / "answerkey", tmp_path / "teammate"
    shutil.copytree(finished, maintainer, symlinks=True)
    run(maintainer, "dvc", "push")
    run(tmp_path, "git", "clone", "-q", str(maintainer), str(teammate))
    run(teammate, "dvc", "pull", *PULLED)
    assert not (teammate / "data/interim").exists()

    def read_first(name: str) -> dict:
        with (teammate / "data/questions" / name).open(encoding="utf-8") as lines:
            return json.loads(next(lines))

    suite, audit = read_first("test_suites.jsonl"), read_first("audit.jsonl")
    train = json.loads((teammate / "data/questions/questions_train.json").read_text("utf-8"))
    question = next(q for q in train if q["question_id"] == suite["question_id"])
    terms = {"database_name": question["database_name"], "order_matters": audit["order_matters"]}
    on_suite = terms | {"test_suite": suite["databases"]}

    def explain(sql: str, terms: dict) -> list:
        asked = json.dumps([sql, question["gold_answer"], terms])
        return json.loads(run(teammate, "python", "-c", EXPLAIN, asked).stdout)

    killing = suite["databases"][0]
    wrong_sql = killing["kill"]["sql"]
    assert explain(question["gold_sql"], on_suite) == [1.0, None]
    assert explain(wrong_sql, terms) == [1.0, None]
    assert explain(wrong_sql, on_suite) == [0.0, killing["path"]]

"""Compare the rule `spider` with the execution match of taoyds/test-suite-sql-eval, on predictions.

    python benchmarks/spider_rule.py --evaluator CHECKOUT --run RUN --predictions FILE

CHECKOUT: a clone of that repository, which needs sqlparse and tqdm; it is run and not copied. RUN:
a checkout of ours that has run on the corpus. FILE: JSON Lines with question_id and `predictions`,
SQL by system. Both use the real database alone; theirs executes gold and keeps DISTINCT.

It prints how often they agree, and every disagreement as a row of Markdown, with its kind: why ours
rejects a prediction that theirs accepts, or the other way round.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from suite_predictions import join_operators

from answerkey.engines.answers import read_order, write_order
from answerkey.reward import RewardPool


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluator", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--predictions", type=Path, required=True)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.evaluator))
    from exec_eval import eval_exec_match

    questions = read_questions(arguments.run)
    databases = arguments.run / "data/databases"
    agreed, kinds, lines = Counter(), Counter(), []
    with RewardPool(databases=databases, rule="spider", limits={"max_seconds": 60}) as pool:
        for question, sql, systems in list_predictions(arguments.predictions, questions):
            name = question["database_name"]
            path = databases / name / f"{name}.sqlite"
            theirs = bool(eval_exec_match(str(path), sql, question["gold_sql"], False, True, False))
            explanation = pool.explain_score(
                join_operators(sql),
                question["gold_answer"],
                database_name=name,
                **write_order(read_order(question["order_matters"], question["accepted_rows"])),
                max_steps=100_000_000,
            )
            ours = explanation.reward == 1
            agreed[theirs, ours] += len(systems)
            if theirs != ours:
                kind = name_kind(question, theirs=theirs, reason=explanation.reason)
                kinds[kind] += len(systems)
                lines.append(f"| {question['question_id']} | {len(systems)} | {kind} |")
    print(f"{agreed.total():,} predictions")
    for name, verdicts in (
        ("both accept", (True, True)),
        ("both reject", (False, False)),
        ("theirs alone accepts", (True, False)),
        ("ours alone accepts", (False, True)),
    ):
        print(f"{name}: {agreed[verdicts]:,}")
    for kind, count in kinds.most_common():
        print(f"- {count}: {kind}")
    print("\n| question | systems | kind |\n|---|---|---|", *lines, sep="\n")


def read_questions(run: Path) -> dict[str, dict[str, Any]]:
    """Return the questions of a run that have an answer, whatever policies say."""
    with (run / "data/interim/joined.jsonl").open(encoding="utf-8") as file:
        joined = map(json.loads, file)
        return {
            question["question_id"]: question
            for question in joined
            if question["answer_type"] is not None
        }


def list_predictions(
    path: Path, questions: dict[str, dict[str, Any]]
) -> list[tuple[dict[str, Any], str, list[str]]]:
    """Return each distinct SQL for a question, with the systems that predicted it."""
    systems_by_query: dict[tuple[str, str], list[str]] = {}
    with path.open(encoding="utf-8") as file:
        for record in map(json.loads, file):
            if record["question_id"] in questions:
                for system, sql in record["predictions"].items():
                    systems_by_query.setdefault((record["question_id"], sql), []).append(system)
    return [(questions[id_], sql, systems) for (id_, sql), systems in systems_by_query.items()]


def name_kind(question: dict[str, Any], *, theirs: bool, reason: str | None) -> str:
    """Return why the two disagree, in words that say which is right."""
    if theirs:
        return f"ours rejects: {reason}"
    if "order by" in question["gold_sql"].lower() and not question["order_matters"]:
        return "theirs asks for an order that gold leaves open: ours is right"
    return "theirs rejects"


if __name__ == "__main__":
    main()

"""Record the results of rules on a corpus before its gold is reviewed.

    python benchmarks/freeze_rules.py RUN --out benchmarks/unseen_spider.jsonl

In RUN the stages have run with `corrections: null`. A line per question has its id, the hash of its
text and gold SQL, why it is excluded, both risks, its flags and its repairs by rule. It contains no
text of the corpus. A review after the file is committed measures the rules on questions that were
not used to make them.

benchmarks/unseen_spider.jsonl is about the 71 databases of Spider that nobody had reviewed when it
was written, by the code of commit 35df87b5.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from answerkey.base.records import hash_question, read_jsonl, write_jsonl


def freeze_question(question: dict[str, Any]) -> dict[str, Any]:
    """Return the results of rules on a question, without its text, its rows or its SQL."""
    return {
        "question_id": question["question_id"],
        "sha256": hash_question(question["question_text"], question["gold_sql"]),
        "reason": question["reason"],
        "answer_risk": question["answer_risk"],
        "sql_risk": question["sql_risk"],
        "flags": [freeze_flag(flag) for flag in question["flags"]],
        "repairs": [
            {"rule": repair["rule"], "answers": repair["answers"]}
            for repair in question["repairs"] or ()
        ],
    }


def freeze_flag(flag: dict[str, Any]) -> dict[str, Any]:
    """Return a flag's code, its kind, and whether its repair gives gold's answer."""
    evidence = flag["evidence"]
    return {"code": flag["code"], "kind": evidence.get("kind"), "answers": evidence.get("answers")}


def main() -> None:
    """Read a run, and write the results of its rules."""
    parser = argparse.ArgumentParser(description="write what the rules say before gold is read")
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    excluded = {
        line["question_id"]: line["reason"]
        for line in read_jsonl(arguments.run / "data/questions/excluded.jsonl")
    }
    questions = [
        freeze_question(question | {"reason": excluded.get(question["question_id"])})
        for question in read_jsonl(arguments.run / "data/interim/joined.jsonl")
    ]
    write_jsonl(arguments.out, questions)


if __name__ == "__main__":
    main()

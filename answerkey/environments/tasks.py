"""Tasks as files: the lines that NeMo Gym reads, and the folders that Harbor runs.

    python -m answerkey.environments.tasks nemo_gym --split train --out reports/nemo_gym/train.jsonl
    python -m answerkey.environments.tasks harbor --count 5 --out reports/harbor

A Harbor task has the database of its question in the container of the agent. The answer, the test
suite and the code of the reward are in tests/, for a container that the agent never sees. The
reward is 1.0 if the query in /app/answer.sql is right, else 0.0.

Source: "Tasks" in Harbor's documentation; responses_create_params and tools in NeMo Gym's data.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import answerkey
from answerkey.base.records import write_json, write_jsonl
from answerkey.dataset import Question
from answerkey.environments.questions import EXPORTS, list_terms, load_questions, read_terms
from answerkey.reward import RewardPool

TEMPLATES = Path(__file__).parent / "harbor"
# What `answerkey.reward` imports; all else is of the standard library.
_OF_REWARD = (
    *("__init__.py", "base/__init__.py", "base/errors.py", "base/kinds.py", "reward.py"),
    *("scoring", "sqlite"),
)
_TOOL = {
    "type": "function",
    "name": "run_sql",
    "description": "Run a query on the database of the question, which it cannot change. Gives the"
    " first rows as JSON, or the error of SQLite.",
    "parameters": {
        "type": "object",
        "properties": {"sql": {"type": "string", "description": "A query of SQLite."}},
        "required": ["sql"],
        "additionalProperties": False,
    },
    "strict": True,
}


def make_line(question: Question) -> dict[str, Any]:
    """What NeMo Gym asks the model, and the columns by which its reply is scored."""
    asked = {"input": [{"role": "user", "content": question.prompt}], "tools": [_TOOL]}
    known = {"question_id": question.question_id, **list_terms(question)}
    return {"responses_create_params": asked, **known}


def write_harbor_task(question: Question, pool: RewardPool, folder: Path) -> None:
    """Write the folder of a task: task.toml, instruction.md, environment/, solution/, tests/."""
    name = question.database_name
    databases, suites = Path(pool.find_folder()), Path(pool.find_suites_folder())
    suite = [Path(*Path(one["path"]).parts[-2:]) for one in question.test_suite or ()]
    shutil.copytree(TEMPLATES, folder)
    facts = {
        "name": name,
        "prompt": question.prompt,
        "question_id": question.question_id,
        "difficulty": question.difficulty or "unknown",
    }
    for path in ("task.toml", "instruction.md", "environment/Dockerfile"):
        text = (folder / path).read_text(encoding="utf-8")
        for fact, value in facts.items():
            text = text.replace(f"{{{{ {fact} }}}}", value)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "solution").mkdir()
    solution = f"cat > /app/answer.sql <<'END_OF_SQL'\n{question.gold_sql}\nEND_OF_SQL\n"
    (folder / "solution/solve.sh").write_text(f"#!/bin/bash\n{solution}", encoding="utf-8")
    shutil.copy(databases / name / f"{name}.sqlite", folder / "environment")
    of_question = (databases, Path(name, f"{name}.sqlite"))
    for root, path in [of_question, *((suites, path) for path in suite)]:
        target = folder / "tests/databases" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, target)
    write_json(folder / "tests/question.json", read_terms(list_terms(question)))
    _copy_reward(folder / "tests/answerkey")


def _copy_reward(folder: Path) -> None:
    package = Path(answerkey.__file__).parent
    compiled = shutil.ignore_patterns("__pycache__")
    for name in _OF_REWARD:
        (folder / name).parent.mkdir(exist_ok=True)
        if (package / name).is_dir():
            shutil.copytree(package / name, folder / name, ignore=compiled)
        else:
            shutil.copy(package / name, folder / name)


def main() -> None:
    """Write the tasks of a split in the format of a library."""
    parser = argparse.ArgumentParser(description="tasks of a split, as files")
    parser.add_argument("format", choices=("nemo_gym", "harbor"))
    parser.add_argument("--source", default=EXPORTS, help="data/exports, or as answerkey.load")
    parser.add_argument("--split", default="eval")
    parser.add_argument("--count", type=int, help="the first ones alone")
    parser.add_argument("--out", type=Path, required=True, help="a file, or a folder of tasks")
    arguments = parser.parse_args()
    questions, folders = load_questions(arguments.source, arguments.split)
    chosen = questions[: arguments.count]
    if arguments.format == "nemo_gym":
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(arguments.out, map(make_line, chosen))
    else:
        pool = RewardPool(**folders)
        for question in chosen:
            write_harbor_task(question, pool, arguments.out / question.question_id)
    print(f"{len(chosen)} tasks in {arguments.out}")


if __name__ == "__main__":
    main()

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
import hashlib
import json
import re
import shutil
from pathlib import Path
from string import Template
from typing import Any

import answerkey
from answerkey.base.errors import InputError, exit_on_error
from answerkey.base.log import spell_count
from answerkey.base.records import DIFFICULTIES, write_json, write_jsonl
from answerkey.dataset import Question
from answerkey.engines.names import SQLITE, TITLES
from answerkey.engines.sqlite.files import find_inside
from answerkey.environments.questions import (
    EXPORTS,
    describe_tool,
    list_terms,
    load_questions,
    read_terms,
)
from answerkey.reward import RewardPool

TEMPLATES = Path(__file__).parent / "harbor"
# The modules that `answerkey.reward` imports, beside the standard library.
_OF_REWARD = (
    "__init__.py",
    "base/__init__.py",
    "base/cores.py",
    "base/errors.py",
    "base/kinds.py",
    "base/paths.py",
    "base/reasons.py",
    "base/secrets.py",
    "reward.py",
    "scoring",
    "engines",
)
# The agent may test queries with programs that use another time.
_CLOCK = (
    "Where your query is scored, `'now'` and `CURRENT_DATE` mean {now} (UTC), whatever the clock\n"
    "of this container says.\n"
)


def make_line(question: Question) -> dict[str, Any]:
    """Return NeMo Gym's prompt for the model, and the columns for scoring its reply."""
    tool = {"type": "function", **describe_tool(question.engine), "strict": True}
    asked = {"input": [{"role": "user", "content": question.prompt}], "tools": [tool]}
    known = {"question_id": question.question_id, **list_terms(question)}
    return {"responses_create_params": asked, **known}


def name_task(question_id: str) -> str:
    """Return the id of a question in the characters that Harbor allows in the name of a task.

    >>> name_task("fleet_eval_003"), name_task("my fleet_eval_003")
    ('fleet_eval_003', 'my-fleet_eval_003-272004ca')

    A name that differs from the id ends with a hash of the id: no two questions have the same name.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", question_id).lstrip("-_")[:100]
    if name == question_id:
        return name
    return f"{name}-{hashlib.sha256(question_id.encode()).hexdigest()[:8]}".lstrip("-")


def write_harbor_task(question: Question, pool: RewardPool, folder: Path) -> None:
    """Write the folder of a task: task.toml, instruction.md, environment/, solution/, tests/.

    Scripts and Dockerfiles are the same for all questions, whose texts are in files of their own.
    So no content of a corpus is ever read as a command.

    Raises:
        InputError: a path of a database leaves the folder of its kind, or the database is not one
            of SQLite, whose reward needs Python alone in a container.
    """
    if question.engine != SQLITE:
        raise InputError(
            f"{question.question_id} asks a database of {TITLES[question.engine]}: expected one of"
            " SQLite for a task of Harbor"
        )
    name = question.database_name
    real, suites = f"{name}/{name}.sqlite", Path(pool.find_suites_folder())
    suite = ["/".join(Path(database["path"]).parts[-2:]) for database in question.test_suite or ()]
    files = {real: find_inside(pool.find_folder(), real)}
    files |= {path: find_inside(suites, path) for path in suite}
    shutil.copytree(TEMPLATES, folder)
    config = folder / "task.toml"
    # With these characters, JSON text is valid TOML, too.
    facts = {
        "name": json.dumps(f"answerkey/{name_task(question.question_id)}"),
        "difficulty": json.dumps(
            question.difficulty if question.difficulty in DIFFICULTIES else "unknown"
        ),
    }
    text = Template(config.read_text(encoding="utf-8")).substitute(facts)
    config.write_text(text, encoding="utf-8")
    instruction = folder / "instruction.md"
    after = instruction.read_text(encoding="utf-8")
    clock = _CLOCK.format(now=question.now) if question.now else ""
    instruction.write_text(f"{question.prompt}{after}{clock}", encoding="utf-8")
    (folder / "solution/gold.sql").write_bytes(question.gold_sql.encode())
    shutil.copy(files[real], folder / "environment/database.sqlite")
    for path, file in files.items():
        target = folder / "tests/databases" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
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
            write_harbor_task(question, pool, arguments.out / name_task(question.question_id))
    print(f"{spell_count(len(chosen), 'task')} in {arguments.out}")


if __name__ == "__main__":
    with exit_on_error("answerkey.environments.tasks"):
        main()

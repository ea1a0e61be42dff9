"""Our audit against attestql's, over the same questions.

    python -m venv /tmp/attestql && /tmp/attestql/bin/pip install attestql==0.4.0
    python benchmarks/audit.py --corpus DIR --attestql /tmp/attestql/bin/attestql [--repeat 3]

attestql is no dependency of ours, and lives in an environment of its own. It audits one database a
call. Since most of a short call is the start of its process, it is run in two ways: one process a
database, as people use it; and one process that calls its main function for all, which is fairer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from bare_loop import read_questions
from measure import describe_machine, print_table, run, show_ratio, show_seconds, tell
from worlds import World

STAGE = "audit_gold_answers"
IN_ONE_PROCESS = """
import contextlib, io, json, sys
from attestql.audit.cli import main
for arguments in json.load(open(sys.argv[1])):
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(arguments)
    if status:
        sys.exit(f"{arguments} ended with {status}")
"""


def write_question_files(corpus: Path, folder: Path) -> dict[str, Path]:
    """The questions of each database, as attestql reads them."""
    questions: dict[str, list[dict[str, object]]] = defaultdict(list)
    for number, question in enumerate(read_questions(corpus)):
        questions[question["db_id"]].append(
            {
                "question_id": number,
                "db_id": question["db_id"],
                "question": question["question"],
                "evidence": "",
                "SQL": question["query"],
                "difficulty": "simple",
            }
        )
    paths = {name: folder / f"{name}.json" for name in sorted(questions)}
    for name, path in paths.items():
        path.write_text(json.dumps(questions[name]), encoding="utf-8")
    return paths


def list_calls(paths: dict[str, Path], databases: Path, folder: Path) -> list[list[str]]:
    """The arguments of attestql for each database."""
    return [
        [
            *("audit", "--engine", "sqlite"),
            *("--dsn", str(databases / name / f"{name}.sqlite")),
            *("--questions", str(path)),
            *("--out", str(folder / name)),
        ]
        for name, path in paths.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--attestql", type=Path, required=True, help="its executable")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    corpus = arguments.corpus.resolve()
    version = subprocess.run(
        [arguments.attestql, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    print(f"{version}; {describe_machine()}\n", flush=True)
    ours: list[float] = []
    cpu: list[float] = []
    peers: dict[str, list[float]] = {"one process a database": [], "one process": []}
    with tempfile.TemporaryDirectory(prefix="answerkey-bench-") as name:
        folder = Path(name)
        world = World(folder / "world", corpus)
        world.run_stages()
        questions = folder / "questions"
        questions.mkdir()
        paths = write_question_files(corpus, questions)
        databases = world.folder / "data" / "databases"
        for turn in range(arguments.repeat):
            tell(f"turn {turn + 1} of {arguments.repeat}")
            world.forget("audit")
            cost = world.run_stage(STAGE)
            ours.append(cost.wall_s)
            cpu.append(cost.cpu_s)
            for way, seconds in peers.items():
                calls = list_calls(paths, databases, folder / f"{turn} {way}")
                if way == "one process":
                    listed = folder / "calls.json"
                    listed.write_text(json.dumps(calls), encoding="utf-8")
                    python = str(arguments.attestql.parent / "python")
                    seconds.append(run(python, "-c", IN_ONE_PROCESS, str(listed))[0].wall_s)
                else:
                    program = str(arguments.attestql)
                    seconds.append(sum(run(program, *call)[0].wall_s for call in calls))
    count = len(read_questions(corpus))
    print_table(
        ("questions", "attestql, run as", f"{STAGE}, s", "attestql, s", "ratio", "to reach"),
        (
            (count, way, show_seconds(ours), show_seconds(seconds), show_ratio(ours, seconds), 0.2)
            for way, seconds in peers.items()
        ),
    )
    print(f"CPU seconds of {STAGE}: {show_seconds(cpu)}. attestql uses one core.")
    print(f"Medians; all values in brackets. {describe_machine()}")


if __name__ == "__main__":
    main()

"""Run the pipeline on corpora of up to a million questions: time, memory, and the cost of a change.

    python benchmarks/scale.py [--questions 10000 100000] [--databases 160 1600]
        [--stages NAME ...] [--memory-limit MB] [--workers N] [--folder DIR]

Every corpus is made from the sample's databases under other names (scale_corpus.py) or, with one
database, from a shop's (one_database.py). Each stage is a process with limited memory, and so is
each of its workers. The selection has the targets of params.yaml, or none if the one database is in
one split. Then one value of one database is changed, and the stages up to the audit run again,
except those whose dependencies are the same, as in DVC; later stages process all questions, as they
did the first time. It measures and never asserts. Everything happens in a temporary folder, one
corpus at a time, and is removed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import one_database
import yaml
from measure import Cost, add_costs, announce, describe_machine, print_table, run
from scale_corpus import name_copy, read_bases, write_copy
from worlds import ROOT, World, look_up

HERE = Path(__file__).resolve().parent
SAMPLE = ROOT / "data" / "sample"
AUDIT = "audit_gold_answers"
DATABASES_PER_QUESTION = 16_000 / 1_000_000
TARGETS = tuple(
    f"select_questions.targets.{name}" for name in ("difficulty_shares", "eval_share", "tolerance")
)
CODE = ("answerkey/", "stages/")
EXECUTED = re.compile(r"(\d+) quer(?:y|ies) (?:executed|audited)")
LIMIT = resource.RLIMIT_DATA  # libraries reserve more address space than they ever use


class Size(NamedTuple):
    """The size of a corpus."""

    questions: int
    databases: int

    def __str__(self) -> str:
        return f"{self.questions:,} over {self.databases:,}"


class Outcome(NamedTuple):
    """The costs of the stages on a new corpus, and of those that ran after a change of one
    database, with the number of queries that these executed."""

    size: Size
    corpus_bytes: int
    made_bytes: int
    from_scratch: dict[str, Cost]
    after_change: dict[str, tuple[Cost, str]]


class Plan(NamedTuple):
    """What to run on a corpus: the stages, the number of workers, and the memory."""

    stages: list[str]
    workers: int
    limit_bytes: int


def measure_size(size: Size, plan: Plan, folder: Path) -> Outcome:
    """Make a corpus, run the stages on it, change a database, run them again; remove the data."""
    corpus = folder / "corpus"
    announce(f"{size}: making it")
    if size.databases == 1:
        arguments = (str(HERE / "one_database.py"), str(corpus), str(size.questions))
    else:
        arguments = (str(HERE / "scale_corpus.py"), str(SAMPLE), str(corpus), *map(str, size))
    run(sys.executable, *arguments)
    corpus_bytes = count_bytes(corpus)
    world = World(folder / "world", corpus)
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for key in TARGETS if size.databases > 1 else ():
        world.set_param(key, look_up(params, key))
    world.set_param("execution.workers", plan.workers)
    before = count_bytes(world.folder)
    with limit_memory(plan.limit_bytes):
        from_scratch = {name: run_stage(world, name)[0] for name in plan.stages}
        made_bytes = count_bytes(world.folder) - before
        after_change = measure_change(world, corpus, size.databases // 2, plan.stages)
    shutil.rmtree(folder)
    return Outcome(size, corpus_bytes, made_bytes, from_scratch, after_change)


@contextlib.contextmanager
def limit_memory(limit_bytes: int) -> Iterator[None]:
    """Set a limit that processes inherit if they start in the block."""
    before = resource.getrlimit(LIMIT)
    resource.setrlimit(LIMIT, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(LIMIT, before)


def measure_change(
    world: World, corpus: Path, number: int, stages: Sequence[str]
) -> dict[str, tuple[Cost, str]]:
    """Return the cost of each stage up to the audit that must run after a change of one database,
    and the number of queries in its log."""
    commands = list(world.commands())
    chosen = [name for name in commands[: commands.index(AUDIT) + 1] if name in stages]
    depends_on = {name: list_dependencies(world, name) for name in chosen}
    paths = {path for name in chosen for path in depends_on[name]}
    known = {path: hash_path(path) for path in paths}
    announce(f"{change_database(corpus, number, added=1_000_000)} is changed")
    costs = {}
    for name in chosen:
        if any(hash_path(path) != known[path] for path in depends_on[name]):
            cost, printed = run_stage(world, name)
            executed = EXECUTED.search(printed)
            costs[name] = cost, executed[1] if executed else ""
    return costs


def list_dependencies(world: World, name: str) -> list[Path]:
    """Return the data on which a stage depends: of the corpus, and of other stages."""
    stage = yaml.safe_load((world.folder / "dvc.yaml").read_text(encoding="utf-8"))["stages"][name]
    params = yaml.safe_load((world.folder / "params.yaml").read_text(encoding="utf-8"))

    def find_root(template: re.Match[str]) -> str:
        return params["corpora"][template[1]]["root"]

    paths = [re.sub(r"\$\{corpora\.(\w+)\.root\}", find_root, dep) for dep in stage["deps"]]
    return [world.folder / path for path in paths if not path.startswith(CODE)]


def hash_path(path: Path) -> str:
    """Return a hash of a file, or of all files of a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for name in files:
        with name.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def run_stage(world: World, name: str) -> tuple[Cost, str]:
    """Return the cost of a stage, and its output."""
    cost, printed = world.listen_to_stage(name)
    spent = f"{cost.wall_s:.1f} s ({cost.cpu_s:.1f} CPU), {cost.peak_bytes / 1e6:.0f} MB"
    announce(f"{spent}: {printed.splitlines()[0]}")
    return cost, printed


def change_database(corpus: Path, number: int, *, added: int) -> str:
    """Change one value of one database of a corpus; return its name."""
    if (corpus / "database" / one_database.NAME).is_dir():
        one_database.change_database(corpus, added=added)
        return one_database.NAME
    bases = read_bases(SAMPLE)
    base = bases[number % len(bases)]
    write_copy(corpus, base, number, added=added)
    return name_copy(base, number)


def count_bytes(folder: Path) -> int:
    """Return the size of a folder on the disk."""
    total = 0
    for path, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(path, name)).st_blocks * 512 for name in files)
    return total


def print_outcomes(outcomes: Sequence[Outcome], stages: Sequence[str]) -> None:
    """Print the tables."""
    header = ["stage"]
    for number, outcome in enumerate(outcomes):
        header += [f"{outcome.size}: s", "CPU s", "questions/s", "peak MB"]
        header += ["CPU x", "peak x"] if number else []
    costs = {name: [outcome.from_scratch[name] for outcome in outcomes] for name in stages}
    costs["all"] = [add_costs(outcome.from_scratch.values()) for outcome in outcomes]
    lines = []
    for name, by_size in costs.items():
        line = [name]
        for number, (outcome, cost) in enumerate(zip(outcomes, by_size, strict=True)):
            speed = outcome.size.questions / cost.wall_s
            line += [f"{cost.wall_s:.1f}", f"{cost.cpu_s:.1f}", f"{speed:,.0f}"]
            line.append(f"{cost.peak_bytes / 1e6:.0f}")
            if number:
                before = by_size[number - 1]
                line.append(f"{cost.cpu_s / before.cpu_s:.1f}")
                line.append(f"{cost.peak_bytes / before.peak_bytes:.2f}")
        lines.append(line)
    print_table(header, lines)
    print_table(
        ("questions", "databases", "corpus, GB", "made of it, GB"),
        (
            (*outcome.size, f"{outcome.corpus_bytes / 1e9:.2f}", f"{outcome.made_bytes / 1e9:.2f}")
            for outcome in outcomes
        ),
    )
    print("After a change to one database, the stages that have to run, up to the audit:\n")
    header = ["stage"]
    for outcome in outcomes:
        header += [f"{outcome.size}: s", "queries executed"]
    lines = []
    for name in outcomes[0].after_change:
        line = [name]
        for outcome in outcomes:
            cost, executed = outcome.after_change[name]
            line += [f"{cost.wall_s:.1f}", executed]
        lines.append(line)
    print_table(header, lines)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--questions", type=int, nargs="+", default=[10_000, 100_000], help="in ascending order"
    )
    parser.add_argument(
        "--databases",
        type=int,
        nargs="+",
        help="one number a size, 1 for a database of 20,000 rows; default: 16 per 1,000 questions",
    )
    parser.add_argument("--stages", nargs="+", help="in an order that can run; default: all")
    parser.add_argument("--workers", type=int, default=0, help="default: 0, one a core")
    parser.add_argument(
        "--memory-limit", type=int, default=2000, metavar="MB", help="of each process; default 2000"
    )
    parser.add_argument("--folder", type=Path, help="where to work; default: for temporary files")
    arguments = parser.parse_args()
    if arguments.databases is None:
        arguments.databases = [
            max(10, round(count * DATABASES_PER_QUESTION)) for count in arguments.questions
        ]
    if len(arguments.databases) != len(arguments.questions):
        parser.error("--databases: expected as many numbers as --questions has")
    return arguments


def main() -> None:
    arguments = read_arguments()
    limit = f"at most {arguments.memory_limit} MB a process"
    print(f"{describe_machine()}; {limit}\n", flush=True)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="answerkey-scale-", dir=arguments.folder) as name:
        folder = Path(name)
        stages = arguments.stages or list(World(folder / "commands", SAMPLE).commands())
        plan = Plan(stages, arguments.workers, arguments.memory_limit * 1_000_000)
        for number, size in enumerate(zip(arguments.questions, arguments.databases, strict=True)):
            outcomes.append(measure_size(Size(*size), plan, folder / str(number)))
    print_outcomes(outcomes, stages)
    print(describe_machine())


if __name__ == "__main__":
    main()

"""The pipeline on corpora of a million questions: time, memory, and what a change costs.

    python benchmarks/scale.py [--questions 10000 100000] [--databases 160 1600]
        [--stages NAME ...] [--borrow NAME ...] [--memory-limit MB]
        [--engine local|ray] [--workers N]

Every corpus is made of the sample's databases under other names (scale_corpus.py). Each stage is a
process whose memory is limited, and so is that of each of its workers. Then one value of one
database is changed, and the stages up to the audit run again, without those whose dependencies are
the same, as in DVC; what comes after the audit goes through all questions as it did from scratch.
A stage that is borrowed runs on the first corpus only, and for the others its records are copied
(borrow.py). It measures and never asserts. Everything happens in a temporary folder, one corpus at
a time, and is removed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from borrow import AUDIT, PARSE
from measure import Cost, add_costs, describe_machine, print_table, run, tell
from scale_corpus import name_copy, read_bases, write_copy
from worlds import ROOT, World

HERE = Path(__file__).resolve().parent
SAMPLE = ROOT / "data" / "sample"
LAST_STAGE = "export_dataset"
DATABASES_PER_QUESTION = 16_000 / 1_000_000
EXECUTED = re.compile(r"(\d+) queries executed")
# Memory that a process maps for its data; the address space says little, since libraries reserve
# more of it than they ever use.
LIMIT = resource.RLIMIT_DATA


class Size(NamedTuple):
    """How large a corpus is."""

    questions: int
    databases: int


class Outcome(NamedTuple):
    """What the stages cost on a corpus from scratch, and those that ran after one database was
    changed, with how many queries these executed."""

    size: Size
    corpus_bytes: int
    made_bytes: int
    from_scratch: dict[str, Cost]
    after_change: dict[str, tuple[Cost, str]]


class Plan(NamedTuple):
    """What is run on a corpus: all the stages, of which some may be borrowed, under some params."""

    stages: list[str]
    borrowed: list[str]
    params: dict[str, object]


def measure_size(size: Size, plan: Plan, folder: Path, *, lender: Path | None = None) -> Outcome:
    """Make a corpus, run the stages on it, change a database, run them again; remove the data.

    lender: the folder of the corpus from which stages are borrowed; None where nothing is.
    """
    corpus = folder / "corpus"
    tell(f"{size.questions:,} questions over {size.databases:,} databases: making them")
    script = str(HERE / "scale_corpus.py")
    run(sys.executable, script, str(SAMPLE), str(corpus), *map(str, size))
    corpus_bytes = count_bytes(corpus)
    world = World(folder / "world", corpus)
    for key, value in plan.params.items():
        world.set_param(key, value)
    before = count_bytes(world.folder)
    from_scratch: dict[str, Cost] = {}
    for name in plan.stages:
        if lender is not None and name in plan.borrowed:
            interims = [str(path / "world" / "data" / "interim") for path in (lender, folder)]
            run(sys.executable, str(HERE / "borrow.py"), name, *interims)
        else:
            from_scratch[name] = run_stage(world, name)[0]
    made_bytes = count_bytes(world.folder) - before
    after_change = measure_change(world, corpus, size.databases // 2, list(from_scratch))
    if not plan.borrowed:
        shutil.rmtree(folder)
    else:
        shutil.rmtree(corpus)
    return Outcome(size, corpus_bytes, made_bytes, from_scratch, after_change)


def measure_change(
    world: World, corpus: Path, number: int, stages: Sequence[str]
) -> dict[str, tuple[Cost, str]]:
    """The cost of each stage up to the audit that has to run after one database was changed, and
    how many queries it executed, as it says."""
    commands = list(world.commands())
    chosen = [name for name in commands[: commands.index(AUDIT) + 1] if name in stages]
    depends_on = {name: list_dependencies(world, name) for name in chosen}
    paths = {path for name in chosen for path in depends_on[name]}
    known = {path: hash_path(path) for path in paths}
    tell(f"{change_database(corpus, number, added=1_000_000)} is changed")
    found = {}
    for name in chosen:
        if any(hash_path(path) != known[path] for path in depends_on[name]):
            cost, printed = run_stage(world, name)
            executed = EXECUTED.search(printed)
            found[name] = cost, executed[1] if executed else ""
    return found


def list_dependencies(world: World, name: str) -> list[Path]:
    """The data that a stage depends on: of the corpus, and of other stages."""
    stage = yaml.safe_load((world.folder / "dvc.yaml").read_text(encoding="utf-8"))["stages"][name]
    params = yaml.safe_load((world.folder / "params.yaml").read_text(encoding="utf-8"))

    def find_root(template: re.Match[str]) -> str:
        return params["corpora"][template[1]]["root"]

    paths = [re.sub(r"\$\{corpora\.(\w+)\.root\}", find_root, dep) for dep in stage["deps"]]
    return [world.folder / path for path in paths if not path.startswith("stages/")]


def hash_path(path: Path) -> str:
    """A hash of a file, or of all files of a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for name in files:
        with name.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def run_stage(world: World, name: str) -> tuple[Cost, str]:
    """The cost of a stage, and what it printed."""
    program, *arguments = shlex.split(world.commands()[name])
    if program != "python":
        raise ValueError(f"Stage {name}: expected a command of `python`, found {program!r}")
    cost, printed = run(sys.executable, *arguments, folder=world.folder)
    spent = f"{cost.wall_s:.1f} s ({cost.cpu_s:.1f} CPU), {cost.peak_bytes / 1e6:.0f} MB"
    tell(f"{spent}: {printed.splitlines()[0]}")
    return cost, printed


def change_database(corpus: Path, number: int, *, added: int) -> str:
    """Change one value of one database of a corpus; its name."""
    bases = read_bases(SAMPLE)
    base = bases[number % len(bases)]
    write_copy(corpus, base, number, added=added)
    return name_copy(base, number)


def count_bytes(folder: Path) -> int:
    """What a folder takes on the disk."""
    total = 0
    for path, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(path, name)).st_blocks * 512 for name in files)
    return total


def print_outcomes(outcomes: Sequence[Outcome], stages: Sequence[str]) -> None:
    """Print the tables."""
    header = ["stage"]
    for outcome in outcomes:
        header += [f"{outcome.size.questions:,}: s", "CPU s", "questions/s", "peak MB"]
    costs = {name: [outcome.from_scratch.get(name) for outcome in outcomes] for name in stages}
    costs["all that ran"] = [add_costs(outcome.from_scratch.values()) for outcome in outcomes]
    if len(outcomes) > 1:
        header += ["CPU, last to first", "growth, bytes a question"]
    lines = []
    for name, by_size in costs.items():
        line = [name]
        for outcome, cost in zip(outcomes, by_size, strict=True):
            if cost is None:
                line += ["borrowed", "", "", ""]
                continue
            speed = outcome.size.questions / cost.wall_s
            line += [f"{cost.wall_s:.1f}", f"{cost.cpu_s:.1f}", f"{speed:,.0f}"]
            line.append(f"{cost.peak_bytes / 1e6:.0f}")
        if len(outcomes) > 1 and None in by_size:
            line += ["", ""]
        elif len(outcomes) > 1:
            line += [
                f"{by_size[-1].cpu_s / by_size[0].cpu_s:.1f}",
                f"{describe_growth(outcomes, by_size):.0f}",
            ]
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
        header += [f"{outcome.size.questions:,}: s", "queries executed"]
    lines = []
    for name in outcomes[0].after_change:
        line = [name]
        for outcome in outcomes:
            cost, executed = outcome.after_change.get(name, (None, ""))
            line += [f"{cost.wall_s:.1f}" if cost else "borrowed", executed]
        lines.append(line)
    print_table(header, lines)


def describe_growth(outcomes: Sequence[Outcome], costs: Sequence[Cost]) -> float:
    """Bytes of peak memory that each further question took, from the last size but one on."""
    before, after = outcomes[-2].size.questions, outcomes[-1].size.questions
    return (costs[-1].peak_bytes - costs[-2].peak_bytes) / (after - before)


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
        help="one number a size; default: 16 per 1,000 questions",
    )
    parser.add_argument(
        "--stages", nargs="+", help=f"in an order that can run; default: all to {LAST_STAGE}"
    )
    parser.add_argument(
        "--borrow", nargs="+", default=[], choices=[PARSE, AUDIT], help="run on the first one only"
    )
    parser.add_argument("--engine", default="local", help="local or ray; default: local")
    parser.add_argument("--workers", type=int, default=0, help="default: 0, one a core")
    parser.add_argument(
        "--memory-limit", type=int, default=2000, metavar="MB", help="of each process; default 2000"
    )
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
    limit_bytes = arguments.memory_limit * 1_000_000
    resource.setrlimit(LIMIT, (limit_bytes, resource.getrlimit(LIMIT)[1]))  # processes inherit it
    print(f"{describe_machine()}; at most {arguments.memory_limit} MB a process\n", flush=True)
    params = {"execution.engine": arguments.engine, "execution.workers": arguments.workers}
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="answerkey-scale-") as name:
        folder = Path(name)
        stages = arguments.stages
        if stages is None:
            commands = list(World(folder / "commands", SAMPLE).commands())
            stages = commands[: commands.index(LAST_STAGE) + 1]
        plan = Plan(stages, arguments.borrow, params)
        for number, size in enumerate(zip(arguments.questions, arguments.databases, strict=True)):
            lender = folder / "0" if number and plan.borrowed else None
            outcomes.append(measure_size(Size(*size), plan, folder / str(number), lender=lender))
    print_outcomes(outcomes, stages)
    print(describe_machine())


if __name__ == "__main__":
    main()

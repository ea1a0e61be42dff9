"""Compare the time of the pipeline with its limits, as ratios, with the raw seconds beside them.

    python benchmarks/pipeline.py --corpus DIR [--against DIR] [--repeat 3] [--rows 1,2] [--quick]

It measures and never asserts. The corpus has the layout of a Spider release. Everything happens in
a temporary folder. Things that are compared run in turns, since the load of a machine varies.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from bare_loop import group_queries
from measure import (
    Cost,
    Line,
    add_costs,
    announce,
    count_cores,
    describe_machine,
    measure_rows,
    print_table,
    run,
    show_ratio,
    show_seconds,
)
from worlds import ROOT, World, make_bare_dag

HERE = Path(__file__).resolve().parent
SAMPLE = ROOT / "data" / "sample"
HEADER = ("", "work", "limit or peer", "ours, s", "limit or peer, s", "ratio", "to reach")
SUITES = "generate_test_suites"  # the plain flow has no such step
EXECUTED = re.compile(r"(\d+) quer(?:y|ies) (?:executed|audited)")


class Bench:
    """The rows of the table, and the worlds that they share."""

    def __init__(self, corpus: Path, folder: Path, repeat: int, against: Path | None) -> None:
        self.corpus = corpus
        self.folder = folder
        self.repeat = repeat
        self.stage_costs: list[dict[str, Cost]] = []
        self._full_s: list[float] = []
        announce("first run, which also compiles the modules: not measured")
        self.world = World(folder / "world", corpus)
        self.other_world = against and World(folder / "other-world", corpus, source=against)
        self.world.run_stages()
        self.databases = folder / "databases"  # kept, whatever happens to the world
        shutil.copytree(self.world.folder / "data" / "databases", self.databases)
        (self.databases / "manifest.json").unlink()

    def compare_answers_with_floor(self) -> list[Line]:
        """Row 1."""
        ours, floor = [], []
        self.world.run_stages(until="compute_gold_answers")
        for turn in self._turns("compute_gold_answers"):
            if turn:
                self.world.forget("gold_answers")
            ours.append(self.world.run_stage("compute_gold_answers").wall_s)
            _, printed = self._run_script("bare_loop.py", self.corpus, self.databases)
            floor.append(float(printed) / count_cores())
        reach = 1.5 * median(floor) + 0.5
        work = (
            "compute_gold_answers, whole process",
            f"each distinct query once in a bare loop, divided by {count_cores()} cores",
        )
        reached = f"{reach / median(floor):.2f} (1.5 x floor + 0.5 s = {reach:.2f} s)"
        return [_compare(*work, ours, floor, reached)]

    def compare_stages_with_plain_flow(self) -> list[Line]:
        """Row 2."""
        plain = []
        for turn in self._turns("all stages"):
            self.stage_costs.append(self.world.run_stages())
            target = self.folder / f"plain-{turn}"
            cost, _ = self._run_script("plain_flow.py", self.corpus, self.databases, target)
            plain.append(cost.wall_s)
            shutil.rmtree(target)
        work = f"all stages but {SUITES} one after another, without DVC"
        ours = [
            add_costs(cost for name, cost in costs.items() if name != SUITES).wall_s
            for costs in self.stage_costs
        ]
        return [_compare(work, "one process with the plain flow", ours, plain, "3.00")]

    def compare_up_to_date_with_bare_dag(self) -> list[Line]:
        """Row 3."""
        self._measure_full_run()
        ours, bare = [], []
        for turn in self._turns("dvc repro, up to date", warm_up=True):
            up_to_date = self.world.repro()[0].wall_s
            of_bare = self._repro_bare_dag()
            if turn:
                ours.append(up_to_date)
                bare.append(of_bare)
        work = "`dvc repro`, everything up to date"
        peer = "the same DAG of one-byte files, every command `true`"
        return [_compare(work, peer, ours, bare, "1.20")]

    def compare_threshold_with_bare_dag(self) -> list[Line]:
        """Row 4."""
        self._measure_full_run()
        ours, bare, executed = [], [], 0
        again = ("--force", "--downstream", "classify_difficulty")
        for turn in self._turns("dvc repro after a threshold change", warm_up=True):
            self.world.set_param("classify_difficulty.easy_max_tables", 1 + turn % 2)
            cost, printed = self.world.repro()
            of_bare = self._repro_bare_dag(*again)
            if turn:
                ours.append(cost.wall_s)
                bare.append(of_bare)
                executed += sum(map(int, EXECUTED.findall(printed)))
        work = f"`dvc repro` after a threshold change: {executed} queries executed"
        peer = "DVC alone: the same stages, every command `true`"
        return [_compare(work, peer, ours, bare, "3.00, 0 queries")]

    def compare_new_database_with_full_run(self) -> list[Line]:
        """Row 5: the database is the one with the median number of distinct queries."""
        self._measure_full_run()
        queries = {name: len(texts) for name, texts in group_queries(self.corpus).items()}
        names = sorted(queries, key=lambda name: (queries[name], name))
        added = names[len(names) // 2]
        ours, executed = [], []
        for _ in self._turns("dvc repro after one database was added"):
            self.world.set_param("corpora.local.db_list", sorted(set(names) - {added}))
            self.world.repro()
            self.world.set_param("corpora.local.db_list", "all")
            cost, printed = self.world.repro()
            ours.append(cost.wall_s)
            executed.append(EXECUTED.findall(printed))
        counts = " and ".join(sorted({count for found in executed for count in found}))
        work = (
            f"one database added to {len(names) - 1}: {counts} queries executed, once to answer"
            " and once to audit"
        )
        reach = f"{queries[added]} queries"
        return [_compare(work, "`dvc repro` from scratch", ours, self._full_s, reach)]

    def compare_full_run_with_other_checkout(self) -> list[Line]:
        """Row 6; nothing without another checkout."""
        if self.other_world is None:
            return []
        worlds = (self.world, self.other_world)
        _repro_from_scratch(self.other_world)  # compiles its modules
        ours, theirs = [], []
        for _ in self._turns("dvc repro from scratch, here and in the other checkout"):
            for world, seconds in zip(worlds, (ours, theirs), strict=True):
                seconds.append(_repro_from_scratch(world))
        peer = "the same in another checkout"
        return [_compare("`dvc repro` from scratch", peer, ours, theirs, "1.25")]

    def list_stages(self) -> Iterator[Line]:
        """Yield each stage by itself."""
        for name in self.world.commands():
            costs = zip(*(stages[name] for stages in self.stage_costs), strict=True)
            wall_s, cpu_s, peak = map(median, costs)
            yield (name, f"{wall_s:.2f}", f"{cpu_s:.2f}", f"{peak / 1e6:.0f}")

    def _measure_full_run(self) -> None:
        if not self._full_s:
            for _ in self._turns("dvc repro from scratch"):
                self._full_s.append(_repro_from_scratch(self.world))

    def _repro_bare_dag(self, *options: str) -> float:
        """Return the seconds of `dvc repro` if only DVC takes time."""
        folder = self.folder / "bare"
        if not folder.exists():
            make_bare_dag(self.world, folder)
        command = (sys.executable, "-m", "dvc", "repro", "--no-run-cache", *options)
        return run(*command, folder=folder)[0].wall_s

    def _turns(self, what: str, *, warm_up: bool = False) -> range:
        """Return numbers from 0; with a warm-up, 0 is one more turn that does not count."""
        announce(f"{what}: {self.repeat} times")
        return range(self.repeat + warm_up)

    def _run_script(self, name: str, *arguments: object) -> tuple[Cost, str]:
        return run(sys.executable, str(HERE / name), *map(str, arguments))


def _compare(
    work: str, peer: str, ours: Sequence[float], theirs: Sequence[float], reach: str
) -> Line:
    """Return a line of the table."""
    seconds = (show_seconds(ours), show_seconds(theirs), show_ratio(ours, theirs))
    return (work, peer, *seconds, reach)


def _repro_from_scratch(world: World) -> float:
    """Return the seconds of `dvc repro` if nothing has run before."""
    world.clear()
    shutil.rmtree(world.folder / ".dvc" / "cache", ignore_errors=True)
    (world.folder / "dvc.lock").unlink(missing_ok=True)
    return world.repro()[0].wall_s


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=SAMPLE, help="default: the sample")
    parser.add_argument("--against", type=Path, metavar="DIR", help="a checkout, for row 6")
    parser.add_argument("--repeat", type=int, default=3, help="runs of everything; default: 3")
    parser.add_argument("--rows", default="1,2,3,4,5,6", help="some rows; default: all")
    parser.add_argument("--quick", action="store_true", help="the sample, one run")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.corpus, arguments.repeat = SAMPLE, 1
    return arguments


def main() -> None:
    arguments = read_arguments()
    print(f"{describe_machine()}\n", flush=True)
    corpus, repeat, against = arguments.corpus.resolve(), arguments.repeat, arguments.against
    with tempfile.TemporaryDirectory(prefix="answerkey-bench-") as folder:
        bench = Bench(corpus, Path(folder), repeat, against)
        rows: dict[str, Callable[[], list[Line]]] = {
            "1": bench.compare_answers_with_floor,
            "2": bench.compare_stages_with_plain_flow,
            "3": bench.compare_up_to_date_with_bare_dag,
            "4": bench.compare_threshold_with_bare_dag,
            "5": bench.compare_new_database_with_full_run,
            "6": bench.compare_full_run_with_other_checkout,
        }
        print_table(HEADER, measure_rows(rows, arguments.rows.split(",")))
        if bench.stage_costs:
            print_table(("stage", "s", "CPU s", "peak MB"), bench.list_stages())
    values = "Medians; all values in brackets" if repeat > 1 else "One run"
    print(f"{values}. {describe_machine()}")


if __name__ == "__main__":
    main()

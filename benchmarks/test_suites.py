"""Test suites: what they reject that one database accepts, what they cost, and their sizes.

    python benchmarks/test_suites.py --corpus DIR [--predictions FILE] [--pairs FILE]
        [--wrong-gold FILE] [--variants 32] [--large-mb 500] [--run CHECKOUT] [--rejections OUT]
    python benchmarks/test_suites.py --quick

DIR is a corpus in the layout of a Spider release. The stages run in a temporary folder, up to
generate_test_suites; a CHECKOUT in which they have run spares that. Every file of predictions is
scored twice, against the database alone and with the suite of its question.

--predictions: JSON Lines with db_id, question, query (gold SQL) and predictions, the SQL of each
system. --pairs: a JSON list with db_id, gold and prediction, said to be equivalent. --wrong-gold: a
JSON list with the question_id of each prediction's question whose gold SQL is wrong. --variants:
fuzzed databases without a gate, for what the gate holds back. It measures and never asserts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from large_corpus import make_large_corpus
from measure import Cost, describe_machine, print_table, tell
from suite_predictions import Prediction, Question, read_pairs, read_predictions, read_questions
from suite_variants import find_why_held
from worlds import ROOT, World

from answerkey.reward import explain_score, score_completions
from answerkey.sqlite.answers import has_choice
from answerkey.sqlite.files import open_database
from answerkey.sqlite.schema import quote_name, read_schema
from answerkey.suites.questions import write_by_heart

SAMPLE = ROOT / "data" / "sample"
STAGE = "generate_test_suites"
_MOST_GUARDED = 200  # rows of an answer that a guarded query says
_SHORT = 30  # rows of an answer that a CASE or a UNION ALL of literals says

Line = tuple[str, ...]


class Run(NamedTuple):
    """A checkout in which the stages have run, its questions, and what the stage cost."""

    folder: Path
    questions: list[Question]
    cost: Cost | None = None

    @property
    def databases(self) -> Path:
        return self.folder / "data" / "databases"

    @property
    def suites(self) -> Path:
        return self.folder / "data" / "test_suites"

    def score(self, predictions: Sequence[Prediction], *, with_suites: bool) -> list[bool]:
        """Which predictions are right, by the database alone or by the suite, too."""
        questions = [prediction.question for prediction in predictions]
        rewards = score_completions(
            [f"```sql\n{prediction.sql}\n```" for prediction in predictions],
            databases=self.databases,
            test_suites=self.suites,
            database_name=[question.database_name for question in questions],
            gold_answer=[json.dumps(question.gold_answer) for question in questions],
            order_matters=[question.order_matters for question in questions],
            accepted_rows=[
                question.accepted_rows and json.dumps(question.accepted_rows)
                for question in questions
            ],
            test_suite=[
                json.dumps(question.suite) if with_suites else None for question in questions
            ],
        )
        return [reward == 1.0 for reward in rewards]

    def explain(self, prediction: Prediction) -> dict[str, Any]:
        """Where a prediction is wrong, and the rows that show it."""
        question = prediction.question
        found = explain_score(
            prediction.sql,
            question.gold_answer,
            database_name=question.database_name,
            order_matters=question.order_matters,
            accepted_rows=question.accepted_rows,
            test_suite=question.suite,
            databases=self.databases,
            test_suites=self.suites,
        )
        return {
            **{"question_id": question.question_id, "question": question.text},
            **{"gold": question.gold_sql, "prediction": prediction.sql},
            **{"systems": prediction.systems, "database": found.database},
            **{"reason": found.reason, "missing": found.missing, "unexpected": found.unexpected},
        }


def make_run(corpus: Path, folder: Path) -> Run:
    """Run the stages on a corpus, up to the one that makes suites."""
    tell(f"{corpus.name}: the stages up to {STAGE}")
    world = World(folder, corpus)
    costs = {}
    for name in world.commands():
        costs[name] = world.run_stage(name)
        if name == STAGE:
            break
    return Run(folder, read_questions(folder), costs[STAGE])


def show_cost(name: str, run: Run, reach: str) -> Iterator[Line]:
    """What the stage took."""
    if run.cost is not None:
        peak = run.cost.peak_bytes / 1e6
        yield (f"{STAGE}: {name}", f"{run.cost.wall_s:.1f} s, {peak:.0f} MB", reach)


def show_sizes(run: Run) -> Iterator[Line]:
    """How many databases there are, and their bytes against those of the corpus."""
    counts = [len(question.suite) for question in run.questions]
    files = sorted(run.suites.glob("*/*.sqlite"))
    most = max(Counter(path.parent for path in files).values(), default=0)
    yield (
        "databases of suites",
        f"{len(files)}; {max(counts, default=0)} a question at most, {mean(counts):.2f} on average;"
        f" {most} a database at most",
        "5 a question, 8 a database",
    )
    own = sum(path.stat().st_size for path in files)
    real = sum(path.stat().st_size for path in run.databases.glob("*/*.sqlite"))
    reach = "half of the databases"
    yield ("bytes of all suites", f"{own:,} of {real:,}: {own / max(real, 1):.2f}", reach)


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / max(len(values), 1)


def show_neighbors(run: Run) -> Iterator[Line]:
    """How many neighbors are killed, of those that some database of the pool tells from gold."""
    told = killed = by_database = 0
    for question in run.questions:
        counts = question.count_neighbors()
        told += counts["killed"] + counts["alive"]
        killed += counts["killed"]
        by_database += question.count_killed_by_database()
    share = f"{by_database / max(told, 1):.1%} by the database, {killed / max(told, 1):.2%} with"
    yield ("neighbors killed", f"{share} the suite, of {told:,}", "99 %")


def list_operators(run: Run) -> Iterator[Line]:
    """The fate of the neighbors of each operator."""
    totals: dict[str, Counter[str]] = {}
    for question in run.questions:
        for name, counts in question.operators.items():
            totals.setdefault(name, Counter()).update(counts)
    for name, total in sorted(totals.items()):
        yield (name, *(f"{total[fate]:,}" for fate in ("killed", "alive", "undecided")))


def show_constants(run: Run) -> Iterator[Line]:
    """Queries that read no table and return the stored answer."""
    asked = [question for question in run.questions if not has_choice(question.accepted_rows)]
    predictions = [
        Prediction(question, sql) for question in asked for sql in list_constant_queries(question)
    ]
    right = run.score(predictions, with_suites=False)
    accepted = run.score(predictions, with_suites=True)
    fooled = {
        prediction.question.question_id
        for prediction, is_right in zip(predictions, accepted, strict=True)
        if is_right
    }
    undecided = {
        question.question_id
        for question in asked
        if question.operators.get("by_heart", {}).get("undecided")
    }
    yield (
        "constant queries that return the stored answer",
        f"{sum(right):,} accepted by the database, {sum(accepted):,} with the suite, of"
        f" {len(fooled)} questions of {len(asked):,}, of which {len(undecided)} are undecided",
        "none but of undecided questions, under 1 %",
    )


def list_constant_queries(question: Question) -> Iterator[str]:
    """VALUES, and where the answer is short, a UNION ALL of literals and CASE on nothing."""
    rows = question.list_rows()
    values = write_by_heart(rows)
    yield values
    if 0 < len(rows) <= _SHORT:
        literals = [write_by_heart([row]).removeprefix("VALUES (")[:-1] for row in rows]
        yield " UNION ALL ".join(f"SELECT {literal}" for literal in literals)
    if len(rows) == 1:
        parts = [write_by_heart([(value,)]).removeprefix("VALUES (")[:-1] for value in rows[0]]
        yield f"SELECT {', '.join(f'CASE WHEN 1 THEN {part} END' for part in parts)}"


def show_guarded(run: Run) -> Iterator[Line]:
    """Queries that return the stored answer where a table has as many rows as in the real database,
    and else nothing, NULL or 0."""
    asked = [question for question in run.questions if question.suite]
    counts = {path.stem: count_rows(path) for path in run.databases.glob("*/*.sqlite")}
    predictions = [
        Prediction(question, sql)
        for question in asked
        for sql in list_guarded_queries(question, counts[question.database_name])
    ]
    accepted = run.score(predictions, with_suites=True)
    pairs = zip(predictions, accepted, strict=True)
    fooled = {one.question.question_id: one.question for one, is_right in pairs if is_right}
    told = sum(bool(one.operators["by_heart"]["killed"]) for one in fooled.values())
    yield (
        "the stored answer behind a guard",
        f"{sum(accepted):,} of {len(predictions):,} accepted, of {len(fooled)} questions of"
        f" {len(asked):,} with a suite; {told} of them said to be told",
        "0.5 % of questions, none said to be told",
    )


def count_rows(path: Path) -> dict[str, int]:
    """The number of rows of each table, by its quoted name."""
    with open_database(path) as connection:
        names = [quote_name(table.name) for table in read_schema(connection).tables]
        return {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names
        }


def list_guarded_queries(question: Question, counts: dict[str, int]) -> Iterator[str]:
    """The stored answer where each table has its number of rows, and else each answer that says
    nothing."""
    rows = question.list_rows()
    if not 0 < len(rows) <= _MOST_GUARDED:
        return
    width = len(rows[0])
    known = f"SELECT * FROM ({write_by_heart(rows)})"
    others = {("NULL",) * width, ("0",) * width, ("''",) * width, ("0", *["NULL"] * (width - 1))}
    for name, count in counts.items():
        guard = f"(SELECT count(*) FROM {name}) = {count}"
        yield f"{known} WHERE {guard}"
        for other in sorted(others):
            yield f"{known} WHERE {guard} UNION ALL SELECT {', '.join(other)} WHERE NOT {guard}"


class Judged(NamedTuple):
    """Predictions with what the database says of them, and the suite, too."""

    predictions: list[Prediction]
    by_database: list[bool]
    by_suite: list[bool]
    database_s: float
    suite_s: float

    def list_rejected(self) -> list[Prediction]:
        """Those that the database accepts, and the suite does not."""
        judged = zip(self.predictions, self.by_database, self.by_suite, strict=True)
        return [prediction for prediction, real, suite in judged if real and not suite]

    def list_accepted(self) -> list[Prediction]:
        """Those that the database accepts."""
        judged = zip(self.predictions, self.by_database, strict=True)
        return [prediction for prediction, is_right in judged if is_right]


def judge(run: Run, predictions: list[Prediction]) -> Judged:
    """Score all, and again those that the database accepts, to compare what that takes."""
    by_database = run.score(predictions, with_suites=False)
    by_suite = run.score(predictions, with_suites=True)
    judged = Judged(predictions, by_database, by_suite, 0.0, 0.0)
    accepted = judged.list_accepted()
    seconds = []
    for with_suites in (False, True):
        start = time.perf_counter()
        run.score(accepted, with_suites=with_suites)
        seconds.append(time.perf_counter() - start)
    return judged._replace(database_s=seconds[0], suite_s=seconds[1])


def show_predictions(judged: Judged) -> Iterator[Line]:
    """What the suite rejects, where gold is right and where it is not."""
    accepted, rejected = judged.list_accepted(), judged.list_rejected()
    for name, is_wrong in (("gold not listed as wrong", False), ("gold listed as wrong", True)):
        total = sum(prediction.is_gold_wrong is is_wrong for prediction in accepted)
        count = sum(prediction.is_gold_wrong is is_wrong for prediction in rejected)
        ours = f"{count:,} rejected of {total:,} distinct that the database accepts"
        yield (f"published predictions, {name}", ours, "")
    ratio = judged.suite_s / max(judged.database_s, 1e-9)
    ours = f"{judged.suite_s:.2f} s and {judged.database_s:.2f} s: {ratio:.2f}"
    yield ("accepted predictions on their suites, and on the database alone", ours, "3")


def list_systems(judged: Judged) -> Iterator[Line]:
    """What each system has right, by the database and by the suite."""
    counts: dict[str, Counter[str]] = {}
    verdicts = zip(judged.predictions, judged.by_database, judged.by_suite, strict=True)
    for prediction, real, suite in verdicts:
        for system in prediction.systems:
            found = counts.setdefault(system, Counter())
            found.update(asked=1, real=real, suite=real and suite)
    for system, found in sorted(counts.items()):
        lost = (found["real"] - found["suite"]) / max(found["real"], 1)
        yield (system, *(f"{found[name]:,}" for name in ("asked", "real", "suite")), f"{lost:.1%}")


def show_held(run: Run, judged: Judged, count: int) -> Iterator[Line]:
    """What variants without a gate reject, and why the suite does not."""
    predictions = [one for one in judged.list_accepted() if not one.is_gold_wrong]
    rejected = {id(prediction) for prediction in judged.list_rejected()}
    tell(f"{count} variants of each database, without a gate")
    why = find_why_held(run.databases, predictions, count=count)
    told = {place for place, reason in why.items() if reason is not None}
    held = Counter(
        why[place] or "no variant that passes the gate is in the suite"
        for place, prediction in enumerate(predictions)
        if place in why and id(prediction) not in rejected
    )
    by_suite = sum(id(predictions[place]) in rejected for place in why)
    yield (f"rejected by {count} variants without a gate", f"{len(why):,}", "304 of 3,837")
    yield ("of these, rejected by the suite", f"{by_suite:,}", "all that the gate passes")
    yield ("of these, told by a variant that the gate holds back alone", f"{len(told):,}", "")
    for name, number in held.most_common():
        yield (f"accepted because of: {name}", f"{number:,}", "")


def show_pairs(judged: Judged) -> Line:
    """Pairs said to be equivalent that the suite rejects."""
    agreeing, rejected = len(judged.list_accepted()), len(judged.list_rejected())
    ours = f"{rejected} rejected of {agreeing} that agree on the database"
    return ("pairs said to be equivalent", ours, "those whose rows show that they are not")


def write_rejections(path: Path, run: Run, judged: Sequence[Judged]) -> None:
    """A JSON object a line for each prediction and pair that only the suite rejects."""
    with path.open("w", encoding="utf-8") as file:
        for prediction in (one for each in judged for one in each.list_rejected()):
            record = {**run.explain(prediction), "is_gold_wrong": prediction.is_gold_wrong}
            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=SAMPLE, help="default: the sample")
    parser.add_argument("--run", type=Path, metavar="CHECKOUT", help="with the stages' outputs")
    for name in ("predictions", "pairs", "wrong-gold"):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE")
    parser.add_argument("--variants", type=int, default=0, help="default: none")
    parser.add_argument("--large-mb", type=int, help="a database of that size, too")
    parser.add_argument("--rejections", type=Path, metavar="OUT", help="JSON Lines, with rows")
    parser.add_argument("--quick", action="store_true", help="the sample alone")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.corpus = SAMPLE
    return arguments


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    """Print all tables."""
    lines: list[Line] = []
    if arguments.run is not None:
        run = Run(arguments.run.resolve(), read_questions(arguments.run))
    else:
        run = make_run(arguments.corpus.resolve(), folder / "corpus")
        reach = "15 s; 1 GB" if arguments.corpus == SAMPLE else "4 min; 1 GB"
        lines += show_cost(arguments.corpus.name, run, reach)
    if arguments.large_mb:
        corpus = make_large_corpus(folder / "large", arguments.large_mb)
        name = f"a database of {arguments.large_mb} MB"
        lines += show_cost(name, make_run(corpus, folder / "of-large"), "2 min; 1 GB")
    lines += [*show_sizes(run), *show_neighbors(run), *show_constants(run), *show_guarded(run)]
    judged: list[Judged] = []
    if arguments.predictions is not None:
        known = read_predictions(arguments.predictions, run.questions, arguments.wrong_gold)
        tell(f"{len(known):,} predictions")
        judged.append(judge(run, known))
        lines += show_predictions(judged[0])
        if arguments.variants:
            lines += show_held(run, judged[0], arguments.variants)
    if arguments.pairs is not None:
        judged.append(judge(run, read_pairs(arguments.pairs, run.questions)))
        lines.append(show_pairs(judged[-1]))
    print_table(("what", "ours", "to reach"), lines)
    print_table(("operator", "killed", "alive", "undecided"), list_operators(run))
    if arguments.predictions is not None:
        header = ("system", "predictions", "right by the database", "by the suite", "lost")
        print_table(header, list_systems(judged[0]))
    if arguments.rejections is not None:
        write_rejections(arguments.rejections, run, judged)


def main() -> None:
    arguments = read_arguments()
    print(f"{describe_machine()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="answerkey-bench-") as folder:
        measure(arguments, Path(folder))


if __name__ == "__main__":
    main()

"""Measure test suites: what they reject that one database accepts, their cost, and their sizes.

    python benchmarks/test_suites.py --run CHECKOUT [--predictions FILE] [--labels FILE]
        [--pairs FILE] [--wrong-gold FILE] [--against CHECKOUT] [--rejections OUT]
    python benchmarks/test_suites.py --quick

In a CHECKOUT the stages have run, up to generate_test_suites; --quick runs them on the sample.
Every prediction is scored against the database alone and with the suite of its question.

--predictions: JSON Lines with db_id, question or question_id, query (gold SQL) and predictions, the
SQL of each system. --labels: a JSON list with question_id, prediction, class and verdict: worse,
as_good or better than gold. --pairs: a JSON list with db_id, gold and prediction, which somebody
called equivalent. --wrong-gold: a JSON list with the question_id of each question whose gold is
wrong. --against: another checkout, to show what only one of both rejects. It measures and never
asserts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from measure import announce, describe_machine, print_table
from suite_attacks import ATTACKS, FITTED, guard, read_real
from suite_predictions import (
    Prediction,
    Question,
    read_labels,
    read_pairs,
    read_predictions,
    read_questions,
)
from worlds import ROOT, World

from answerkey.base.records import read_jsonl
from answerkey.engines.answers import has_choice
from answerkey.engines.schema import quote_name
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.schema import read_schema
from answerkey.reward import explain_score, score_completions
from answerkey.suites.rivals import write_by_heart

STAGE = "generate_test_suites"
_MOST_GUARDED = 200  # rows of an answer for which guarded queries are made
_SHORT = 30  # rows of an answer for which a CASE or a UNION ALL of literals is made

Line = tuple[str, ...]


class Run(NamedTuple):
    """A checkout in which the stages have run, and its questions."""

    folder: Path
    questions: list[Question]

    @property
    def databases(self) -> Path:
        return self.folder / "data" / "databases"

    @property
    def suites(self) -> Path:
        return self.folder / "data" / "test_suites"

    def list_product(self) -> list[Question]:
        """Return the selected questions; all questions if no stage has selected any."""
        files = sorted((self.folder / "data" / "questions").glob("questions_*.json"))
        ids = {
            question["question_id"]
            for path in files
            for question in json.loads(path.read_text("utf-8"))
        }
        return [question for question in self.questions if not files or question.question_id in ids]

    def read_weak_answers(self) -> set[str]:
        """Return the ids of the questions with the flag weak_answer; none before that stage."""
        path = self.folder / "data" / "interim" / "joined.jsonl"
        joined = read_jsonl(path) if path.exists() else ()
        return {
            question["question_id"]
            for question in joined
            if any(flag["code"] == "weak_answer" for flag in question["flags"])
        }

    def score(self, predictions: Sequence[Prediction], *, with_suites: bool) -> list[bool]:
        """Return which predictions are right, by the database alone or by the suite, too."""
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

    def judge(self, predictions: list[Prediction]) -> Judged:
        """Score predictions; those that the database accepts also run on suites."""
        right = self.score(predictions, with_suites=False)
        accepted = [
            prediction for prediction, is_right in zip(predictions, right, strict=True) if is_right
        ]
        by_suite = self.score(accepted, with_suites=True)
        rejected = [
            prediction
            for prediction, is_right in zip(accepted, by_suite, strict=True)
            if not is_right
        ]
        return Judged(accepted, rejected)

    def explain(self, prediction: Prediction) -> dict[str, Any]:
        """Return where a prediction is wrong, with rows that show it."""
        question = prediction.question
        explanation = explain_score(
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
            **{"systems": prediction.systems, "verdict": prediction.verdict},
            **{"class": prediction.kind, "is_gold_wrong": prediction.is_gold_wrong},
            **{"database": explanation.database, "reason": explanation.reason},
            **{"missing": explanation.missing, "unexpected": explanation.unexpected},
        }


class Judged(NamedTuple):
    """The predictions that the database accepts, and those of them that the suite rejects."""

    accepted: list[Prediction]
    rejected: list[Prediction]

    def list_fooled(self) -> set[str]:
        """Return the ids of questions with a prediction that is right on the suite, too."""
        rejected = {prediction.name for prediction in self.rejected}
        return {
            prediction.question.question_id
            for prediction in self.accepted
            if prediction.name not in rejected
        }


def make_run(folder: Path) -> Run:
    """Run the stages on the sample, up to the one that makes suites."""
    announce(f"the sample: the stages up to {STAGE}")
    world = World(folder, ROOT / "data" / "sample")
    world.run_stages(until=STAGE)
    world.run_stage(STAGE)
    return Run(folder, read_questions(folder))


def show_sizes(run: Run) -> Iterator[Line]:
    """Count the databases, and their bytes against those of the corpus."""
    counts = [len(question.suite) for question in run.questions]
    files = sorted(run.suites.glob("*/*.sqlite"))
    most = max(Counter(path.parent for path in files).values(), default=0)
    mean = sum(counts) / max(len(counts), 1)
    without = sum(not count for count in counts)
    yield (
        "databases of suites",
        f"{len(files)}; {max(counts, default=0)} a question at most, {mean:.2f} on average;"
        f" {most} a database at most; {without} of {len(counts)} questions without",
    )
    own = sum(path.stat().st_size for path in files)
    real = sum(path.stat().st_size for path in run.databases.glob("*/*.sqlite"))
    yield ("bytes of all suites", f"{own:,} of {real:,}: {own / max(real, 1):.2f}")


def show_neighbors(run: Run) -> Iterator[Line]:
    """Count the neighbors that are killed, of those that some database of the pool kills."""
    counted = killed = by_database = 0
    for question in run.questions:
        counts = question.count_neighbors()
        counted += counts["killed"] + counts["alive"]
        killed += counts["killed"]
        by_database += question.count_killed_by_database()
    share = (
        f"{by_database / max(counted, 1):.1%} by the database, {killed / max(counted, 1):.2%} by"
    )
    yield ("neighbors killed", f"{share} the suite alone, of {counted:,}")


def list_operators(run: Run) -> Iterator[Line]:
    """Yield the fates of the neighbors of each operator."""
    totals: dict[str, Counter[str]] = {}
    for question in run.questions:
        for name, counts in question.operators.items():
            totals.setdefault(name, Counter()).update(counts)
    for name, total in sorted(totals.items()):
        yield (name, *(f"{total[fate]:,}" for fate in ("killed", "alive", "undecided")))


def show_constants(run: Run) -> Iterator[Line]:
    """Score queries that read no table and return the stored answer."""
    asked = [question for question in run.questions if not has_choice(question.accepted_rows)]
    predictions = [
        Prediction(question, sql) for question in asked for sql in list_constant_queries(question)
    ]
    judged = run.judge(predictions)
    won = len(judged.accepted) - len(judged.rejected)
    yield (
        "constant queries that return the stored answer",
        f"{len(judged.accepted):,} accepted by the database, {won:,} with the suite, of"
        f" {len(judged.list_fooled())} questions of {len(asked):,}",
    )


def list_constant_queries(question: Question) -> Iterator[str]:
    """Yield VALUES and, if the answer is short, a UNION ALL of literals and a CASE on nothing."""
    rows = question.list_rows()
    yield write_by_heart(rows)
    if 0 < len(rows) <= _SHORT:
        literals = [write_by_heart([row]).removeprefix("VALUES (")[:-1] for row in rows]
        yield " UNION ALL ".join(f"SELECT {literal}" for literal in literals)
    if len(rows) == 1:
        parts = [write_by_heart([(value,)]).removeprefix("VALUES (")[:-1] for value in rows[0]]
        yield f"SELECT {', '.join(f'CASE WHEN 1 THEN {part} END' for part in parts)}"


def show_guarded(run: Run) -> Iterator[Line]:
    """Score queries that return the stored answer if a table has as many rows as in the real
    database, and otherwise nothing, NULL or 0."""
    asked = [question for question in run.questions if question.suite]
    counts = {path.stem: count_rows(path) for path in run.databases.glob("*/*.sqlite")}
    predictions = [
        Prediction(question, sql)
        for question in asked
        for sql in list_guarded_queries(question, counts[question.database_name])
    ]
    judged = run.judge(predictions)
    won, fooled = len(judged.accepted) - len(judged.rejected), len(judged.list_fooled())
    yield (
        "the stored answer behind a guard",
        f"{won:,} of {len(predictions):,} accepted, of {fooled} questions of {len(asked):,} with a"
        f" suite: {fooled / max(len(asked), 1):.1%}",
    )


def count_rows(path: Path) -> dict[str, int]:
    """Return the number of rows of each table, by its quoted name."""
    with open_database(path) as connection:
        names = [quote_name(table.name) for table in read_schema(connection).tables]
        return {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names
        }


def list_guarded_queries(question: Question, counts: dict[str, int]) -> Iterator[str]:
    """Yield queries with the stored answer if each table has its number of rows, and otherwise each
    void answer."""
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


def show_attacks(run: Run) -> Iterator[Line]:
    """Attack the product's questions that have a suite: count those on which an attack is right."""
    asked = [question for question in run.list_product() if question.suite and question.list_rows()]
    weak = run.read_weak_answers()
    reals = {path.stem: read_real(path) for path in run.databases.glob("*/*.sqlite")}
    for name, attack in ATTACKS.items():
        guesses = [
            Prediction(question, sql)
            for question in asked
            for sql in dict.fromkeys(attack(question, reals[question.database_name]))
        ]
        attacks = [
            Prediction(
                guess.question,
                guard(guess.question, reals[guess.question.database_name], guess.sql),
            )
            for guess, is_right in zip(guesses, run.score(guesses, with_suites=False), strict=True)
            if not is_right or name in FITTED
        ]
        fooled = run.judge(attacks).list_fooled()
        yield (
            f"the stored answer behind a guard, and else {name}",
            f"right on {len(fooled):,} of {len(asked):,} questions of the product, of which"
            f" {len(fooled & weak):,} are flagged weak_answer",
        )


def show_predictions(judged: Judged) -> Iterator[Line]:
    """Count what the suite rejects, by the labels of gold and of the predictions."""
    for name, is_wrong in (("gold not listed as wrong", False), ("gold listed as wrong", True)):
        total = sum(prediction.is_gold_wrong is is_wrong for prediction in judged.accepted)
        count = sum(prediction.is_gold_wrong is is_wrong for prediction in judged.rejected)
        ours = f"{count:,} rejected of {total:,} distinct that the database accepts"
        yield (f"published predictions, {name}", ours)


def show_labels(judged: Judged) -> Iterator[Line]:
    """Count labelled predictions that the suite rejects, by verdict and by class."""
    total = Counter(prediction.verdict for prediction in judged.accepted if prediction.verdict)
    count = Counter(prediction.verdict for prediction in judged.rejected if prediction.verdict)
    share = count["worse"] / max(count.total(), 1)
    yield (
        "labelled predictions rejected",
        f"{count.total()} of {total.total()}, {count['worse']} worse than gold: {share:.2f}",
    )
    share = count["worse"] / max(total["worse"], 1)
    yield ("of those labelled worse", f"{count['worse']} of {total['worse']}: {share:.2f}")
    kinds = Counter(
        (prediction.verdict, prediction.kind)
        for prediction in judged.accepted
        if prediction.verdict
    )
    rejected = Counter((prediction.verdict, prediction.kind) for prediction in judged.rejected)
    for (verdict, kind), number in sorted(kinds.items()):
        yield (f"{verdict}: {kind}", f"{rejected[verdict, kind]} of {number} rejected")
    unlabelled = sum(not prediction.verdict for prediction in judged.rejected)
    yield ("rejected without a label", str(unlabelled))


def show_pairs(judged: Judged) -> Line:
    """Count pairs called equivalent that the suite rejects."""
    ours = f"{len(judged.rejected)} rejected of {len(judged.accepted)} that agree on the database"
    return ("pairs said to be equivalent", ours)


def show_against(judged: Judged, other: Judged) -> Iterator[Line]:
    """Compare what two runs reject of the same predictions."""
    own, others = ({prediction.name for prediction in each.rejected} for each in (judged, other))
    known = {prediction.name for prediction in judged.accepted} & {
        prediction.name for prediction in other.accepted
    }
    both = len(own & others)
    yield ("rejected by both runs", f"{both}; by this one alone {len(own & known - others)}")
    yield ("rejected by the other run alone", f"{len(others & known - own)}")


def write_rejections(path: Path, run: Run, judged: Sequence[Judged]) -> None:
    """Write one JSON object per line for each prediction and pair that only the suite rejects."""
    with path.open("w", encoding="utf-8") as file:
        for prediction in (rejected for each in judged for rejected in each.rejected):
            file.write(json.dumps(run.explain(prediction), ensure_ascii=False, default=str) + "\n")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("run", "against"):
        parser.add_argument(f"--{name}", type=Path, metavar="CHECKOUT", help="with outputs")
    for name in ("predictions", "labels", "pairs", "wrong-gold"):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE")
    parser.add_argument("--rejections", type=Path, metavar="OUT", help="JSON Lines, with rows")
    parser.add_argument("--quick", action="store_true", help="the sample, made anew")
    arguments = parser.parse_args()
    if (arguments.run is None) is not arguments.quick:
        parser.error("expected either --run CHECKOUT or --quick")
    return arguments


def read_asked(arguments: argparse.Namespace, questions: list[Question]) -> list[Prediction]:
    """Return the predictions for a run's questions, with their labels."""
    predictions = read_predictions(arguments.predictions, questions, arguments.wrong_gold)
    return (
        read_labels(arguments.labels, predictions) if arguments.labels is not None else predictions
    )


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    """Print all tables."""
    if arguments.quick:
        run = make_run(folder / "corpus")
    else:
        run = Run(arguments.run.resolve(), read_questions(arguments.run))
    lines = [*show_sizes(run), *show_neighbors(run), *show_constants(run), *show_guarded(run)]
    lines += show_attacks(run)
    judged: list[Judged] = []
    if arguments.predictions is not None:
        judged.append(run.judge(read_asked(arguments, run.questions)))
        lines += show_predictions(judged[0])
        if arguments.labels is not None:
            lines += show_labels(judged[0])
        if arguments.against is not None:
            other = Run(arguments.against.resolve(), read_questions(arguments.against))
            others = other.judge(read_asked(arguments, other.questions))
            lines += show_against(judged[0], others)
    if arguments.pairs is not None:
        judged.append(run.judge(read_pairs(arguments.pairs, run.questions)))
        lines.append(show_pairs(judged[-1]))
    print_table(("what", "ours"), lines)
    print_table(("operator", "killed", "alive", "undecided"), list_operators(run))
    if arguments.rejections is not None:
        write_rejections(arguments.rejections, run, judged)


def main() -> None:
    arguments = read_arguments()
    print(f"{describe_machine()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="answerkey-bench-") as folder:
        measure(arguments, Path(folder))


if __name__ == "__main__":
    main()

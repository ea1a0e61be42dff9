"""What pass rates say of gold: how much of it is wrong where models solve a question seldom or
never, and where its gold risk is high as well.

    python benchmarks/pass_rates.py --run CHECKOUT --predictions FILE --wrong-gold FILE --judge FILE

CHECKOUT: one in which the stages have run up to compare_questions. --predictions: JSON Lines of
{"db_id", "question", "query", "predictions"}, SQL by system, each system a model with one rollout.
--wrong-gold: a JSON array of {"question_id", "edition"}, the questions of the split eval whose gold
is wrong; those whose edition is not spider1.0 are passed over. --judge: verdicts on questions of
train, by which gold risk is weighed here, so that it knows nothing of the questions it is held
against (see gold_flags.py).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gold_flags import JUDGE, count_flags, fold, rank_by_noisy_or, read_judged
from measure import print_table, tell

from answerkey.core.manifest_file import read_database_hashes
from answerkey.core.records import read_jsonl
from answerkey.core.sections import Reward
from answerkey.evaluation.scoring import Folders
from answerkey.risk.flag_precision import list_signs
from answerkey.rollouts.pass_rates import score_rollouts
from answerkey.rollouts.questions import read_scored_questions
from answerkey.rollouts.rollout_files import Rollouts

REWARD = Reward(max_steps=100_000_000, rule="strict")
HIGH_RISK = 0.5
BINS = ("never", "under 25 %", "25 to 50 %", "50 to 75 %", "75 % and more", "always")


class Solved(NamedTuple):
    """A question: the share of right rollouts, its gold risk, and whether its gold is wrong."""

    share: float
    risk: float
    is_wrong: bool

    @property
    def bin(self) -> str:
        """The bin of its share."""
        if self.share in (0, 1):
            return BINS[-1] if self.share else BINS[0]
        return BINS[1 + int(4 * self.share)]


def read_rollouts(path: Path, joined: Path) -> Rollouts:
    """The predictions of a file as rollouts of the questions that they are for."""
    known = {
        (
            question["database_name"],
            fold(question["question_text"]),
            fold(question["gold_sql"]),
        ): question["question_id"]
        for question in read_jsonl(joined)
    }
    rollouts: Rollouts = {}
    for record in read_jsonl(path):
        key = record["db_id"], fold(record["question"]), fold(record["query"])
        if key in known:
            of_question = rollouts.setdefault(known[key], {})
            for system, sql in record["predictions"].items():
                of_question.setdefault(sql, Counter())[system] += 1
    return rollouts


def score(rollouts: Rollouts, run: Path) -> Iterator[tuple[str, float]]:
    """The share of right rollouts of each question that has an answer."""
    folders = Folders(run / "data/databases", run / "data/test_suites")
    hashes = read_database_hashes(folders.databases)
    with tempfile.TemporaryDirectory(prefix="answerkey-bench-") as scratch:
        for name, questions in read_scored_questions(
            rollouts, hashes, REWARD, interim=run / "data/interim"
        ):
            journal = Path(scratch) / f"{name}.jsonl"
            for rate in score_rollouts(rollouts, questions, folders, journal=journal):
                yield rate["question_id"], rate["suite"] / rate["total"]


def collect(arguments: argparse.Namespace) -> list[Solved]:
    """The questions that have rollouts, and whose gold is known to be right or wrong."""
    joined = arguments.run / "data/interim/joined.jsonl"
    judged = read_judged(joined, arguments.judge, arguments.wrong_gold)
    table = count_flags(question for question in judged if question.judge == JUDGE)
    listed = {
        record["question_id"]: record["edition"] == "spider1.0"
        for record in json.loads(arguments.wrong_gold.read_text("utf-8"))
    }
    flags = {question["question_id"]: question["flags"] for question in read_jsonl(joined)}
    rollouts = read_rollouts(arguments.predictions, joined)
    tell(f"{len(rollouts):,} questions with rollouts")
    return [
        Solved(
            share,
            rank_by_noisy_or(table, list_signs(flags[question_id])),
            question_id in listed,
        )
        for question_id, share in score(rollouts, arguments.run)
        if listed.get(question_id, True)
    ]


def show(solved: Iterable[Solved]) -> str:
    """Wrong of all, and the share."""
    wrong = [each.is_wrong for each in solved]
    return f"{sum(wrong)} of {len(wrong)}: {sum(wrong) / len(wrong):.0%}" if wrong else "none"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("run", "predictions", "wrong-gold", "judge"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    solved = collect(parser.parse_args())
    groups = {
        "all": lambda _: True,
        f"gold risk {HIGH_RISK} and more": lambda each: each.risk >= HIGH_RISK,
        "less": lambda each: each.risk < HIGH_RISK,
    }
    rows = [
        (
            name,
            *(
                show(e for e in solved if name in (e.bin, "all") and is_in(e))
                for is_in in groups.values()
            ),
        )
        for name in (*BINS, "all")
    ]
    print_table(("solved by the models", *groups), rows)


if __name__ == "__main__":
    main()

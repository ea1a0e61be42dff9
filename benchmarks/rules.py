"""Count what each rule of comparison accepts, of all predictions and of those of each system.

    python benchmarks/rules.py --predictions FILE --databases DIR [--rows OUT]

FILE has one JSON object per line: question_id, db_id, query (the gold SQL) and predictions, the SQL
of each system. DIR has the databases, each in a folder of its name. Gold SQL is executed once; the
audit decides whether the order of rows matters. Each distinct prediction is executed once, within
the limits of gold SQL, and its rows are compared by every rule. A question is left out, as by the
pipeline, if its gold SQL has no answer or is not parsed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from measure import print_table

from answerkey.engines.answers import write_order
from answerkey.engines.database import QueryError
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.scoring.comparison import rows_match
from answerkey.scoring.rules import read_rule
from answerkey.validation.dataset import GoldFacts, derive_facts

RULES = ("strict", "spider", "bird", "spider2", "multiset", "set", "list")


class Verdict(NamedTuple):
    """The results of the rules for one system's prediction for one question.

    accepted: by the name of the rule. row_count: the number of rows of the prediction; None if it
        has none, with a `reason`.
    """

    question_id: str
    system: str
    sql: str
    accepted: dict[str, bool]
    row_count: int | None = None
    reason: str | None = None


class LeftOut(NamedTuple):
    """A question without a gold answer, and the reason."""

    question_id: str
    why: str


def read_predictions(path: Path) -> list[dict[str, Any]]:
    """Return the questions of a file, grouped by database."""
    with path.open(encoding="utf-8") as file:
        return sorted(map(json.loads, file), key=itemgetter("db_id"))


def judge_questions(
    questions: Sequence[dict[str, Any]], databases: Path, rules: Sequence[str]
) -> Iterator[Verdict | LeftOut]:
    """Yield the results for all predictions, question after question."""
    for name, group in groupby(questions, key=itemgetter("db_id")):
        path = databases / name / f"{name}.sqlite"
        with derive_facts(path) as look_up, GuardedDatabase(path) as database:
            for question in group:
                question_id = question["question_id"]
                try:
                    facts = look_up(question["query"])
                except ValueError as error:
                    yield LeftOut(question_id, str(error))
                    continue
                if facts.answer is None:
                    yield LeftOut(question_id, "the answer is a single NULL")
                    continue
                yield from judge_predictions(question, facts, database, rules)


def judge_predictions(
    question: dict[str, Any], facts: GoldFacts, database: GuardedDatabase, rules: Sequence[str]
) -> Iterator[Verdict]:
    """Yield the results for the predictions for one question; a text is executed once."""
    known: dict[str, Verdict] = {}
    for system, sql in question["predictions"].items():
        if sql not in known:
            verdict = Verdict(question["question_id"], system, sql, dict.fromkeys(rules, False))
            known[sql] = apply_rules(verdict, facts, database)
        yield known[sql]._replace(system=system)


def apply_rules(verdict: Verdict, facts: GoldFacts, database: GuardedDatabase) -> Verdict:
    """Return the same with the results of its rules."""
    try:
        rows = database.execute(verdict.sql)
    except QueryError as error:
        return verdict._replace(reason=error.reason)
    accepted = {
        rule: rows_match(
            rows, facts.answer, rule=read_rule(rule), **write_order(facts.order_matters)
        )
        for rule in verdict.accepted
    }
    return verdict._replace(accepted=accepted, row_count=len(rows))


def print_rules(verdicts: Sequence[Verdict], rules: Sequence[str]) -> None:
    """Print how many predictions each rule accepts: of all, and of those with distinct texts."""
    distinct = {(verdict.question_id, verdict.sql): verdict for verdict in verdicts}
    lines = []
    for rule in rules:
        line = [rule]
        for some in (verdicts, distinct.values()):
            count = sum(verdict.accepted[rule] for verdict in some)
            line += [f"{count:,}", f"{count / len(some):.2%}" if some else "-"]
        lines.append(line)
    header = ("rule", f"accepted of {len(verdicts):,}", "share")
    print_table((*header, f"accepted of {len(distinct):,} distinct", "share"), lines)


def print_systems(verdicts: Sequence[Verdict], rules: Sequence[str]) -> None:
    """Print how many predictions of each system each rule accepts."""
    systems = sorted(verdicts, key=itemgetter(1))
    lines = []
    for system, group in groupby(systems, key=itemgetter(1)):
        of_system = list(group)
        counts = (sum(verdict.accepted[rule] for verdict in of_system) for rule in rules)
        lines.append((system, f"{len(of_system):,}", *(f"{count:,}" for count in counts)))
    print_table(("system", "predictions", *rules), lines)


def write_rows(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Write one JSON object per line and prediction."""
    with path.open("w", encoding="utf-8") as file:
        for verdict in verdicts:
            record = verdict._asdict()
            del record["sql"]
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--predictions", type=Path, required=True)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--rules", nargs="+", default=RULES, help=f"default: {' '.join(RULES)}")
    parser.add_argument("--rows", type=Path, help="a file for the verdict on each prediction")
    arguments = parser.parse_args()
    questions = read_predictions(arguments.predictions)
    judged = list(judge_questions(questions, arguments.databases, arguments.rules))
    verdicts = [verdict for verdict in judged if isinstance(verdict, Verdict)]
    left_out = [question for question in judged if isinstance(question, LeftOut)]
    print(f"{len(questions) - len(left_out):,} questions, {len(left_out)} left out")
    for question in left_out:
        print(f"- {question.question_id}: {question.why}")
    print(f"{sum(verdict.reason is not None for verdict in verdicts):,} predictions have no rows\n")
    print_rules(verdicts, arguments.rules)
    print_systems(verdicts, arguments.rules)
    if arguments.rows:
        write_rows(arguments.rows, verdicts)


if __name__ == "__main__":
    main()

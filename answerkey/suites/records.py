"""Records: the suite of a question, as a shard describes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from answerkey.sqlite.answers import shape_answer, write_order
from answerkey.sqlite.executions import Executions
from answerkey.suites.latent import LatentAmbiguity
from answerkey.suites.questions import BY_HEART, NoSuite, SuiteQuestion, Trial

_MAX_SHOWN_NEIGHBORS = 3


class KeptVariant(NamedTuple):
    """A variant that is kept: its path and checksum, and queries on it."""

    path: str
    sha256: str
    executions: Executions


class MutationScore(TypedDict):
    """The share of neighbors that the real database tells from gold, and that the suite does."""

    database: float
    suite: float


class AliveNeighbor(TypedDict):
    """A neighbor that a suite does not tell from gold."""

    operator: str
    sql: str
    killed_by_database: bool


class OtherAnswer(TypedDict):
    """The answer of another right query on a database of a suite."""

    sql: str
    answer: Any


class SuiteDatabase(TypedDict):
    """A database of a suite, the answer of gold on it, and how far the order of its rows counts."""

    path: str
    sha256: str
    gold_answer: Any
    order_matters: bool
    accepted_rows: Sequence[int] | None
    other_answers: NotRequired[list[OtherAnswer]]


class SuiteRecord(TypedDict):
    """The suite of a question, as its shard describes it.

    mutation_score: None if no neighbor is known to be killed or alive.
    no_suite: why it has none; None if it has one.
    operators: how many neighbors of each operator are killed, alive and undecided.
    alive: some of those that live.
    """

    question_id: str
    mutation_score: MutationScore | None
    no_suite: NoSuite | None
    operators: dict[str, dict[str, int]]
    alive: list[AliveNeighbor]
    databases: list[SuiteDatabase]
    latent_ambiguity: LatentAmbiguity | None


def make_empty_record(question: SuiteQuestion) -> SuiteRecord:
    """Describe a question for which no suite was tried."""
    return {
        "question_id": question.question_id,
        "mutation_score": None,
        "no_suite": NoSuite.PART_IS_ENOUGH if question.takes_part else NoSuite.GOLD_FAILS,
        "operators": {},
        "alive": [],
        "databases": [],
        "latent_ambiguity": None,
    }


def make_record(
    trial: Trial, suite: Sequence[int], databases: Mapping[int, KeptVariant]
) -> SuiteRecord:
    """Describe the suite of a question: the mutation score, why it has no suite, the counts
    by operator, some neighbors that live, and the databases.

    A suite that does not tell the stored answer said by heart scores 0, as does none: this answer
    wins, and no policy needs another one.

    databases: by their numbers.
    """
    fates = {}
    told = frozenset().union(*(trial.kills[number] for number in suite))
    by_pool, by_database = trial.list_told(), trial.list_killed()
    neighbors = trial.list_neighbors()
    for neighbor_index in neighbors:
        if neighbor_index in told or (suite and neighbor_index in by_database - trial.guarded):
            fates[neighbor_index] = "killed"
        else:
            fates[neighbor_index] = (
                "alive" if neighbor_index in by_database | by_pool else "undecided"
            )
    operators: dict[str, Counter[str]] = {}
    for neighbor_index, fate in fates.items():
        operators.setdefault(neighbors[neighbor_index].name, Counter())[fate] += 1
    counts = Counter(fates.values())
    total = counts["killed"] + counts["alive"]
    lives = [neighbor_index for neighbor_index, fate in fates.items() if fate == "alive"]
    wins = by_database | trial.list_by_heart()
    lives.sort(key=lambda neighbor_index: neighbor_index not in wins)
    is_by_heart = any(
        neighbor.name == BY_HEART and fates[neighbor_index] != "killed"
        for neighbor_index, neighbor in neighbors.items()
    )
    return {
        "question_id": trial.question.question_id,
        "mutation_score": {
            "database": round(len(by_database) / total, 4),
            "suite": 0.0 if is_by_heart else round(counts["killed"] / total, 4),
        }
        if total
        else None,
        "no_suite": None if suite else trial.tell_why_none(),
        "operators": {
            name: {fate: counts[fate] for fate in ("killed", "alive", "undecided")}
            for name, counts in sorted(operators.items())
        },
        "alive": [
            {
                "operator": neighbors[neighbor_index].name,
                "sql": neighbors[neighbor_index].sql[:2000],
                "killed_by_database": neighbor_index in by_database,
            }
            for neighbor_index in lives[:_MAX_SHOWN_NEIGHBORS]
        ],
        "databases": _list_databases(trial, suite, databases),
        "latent_ambiguity": trial.latent,
    }


def _list_databases(
    trial: Trial, suite: Sequence[int], databases: Mapping[int, KeptVariant]
) -> list[SuiteDatabase]:
    listed: list[SuiteDatabase] = []
    for number in suite:
        variant = databases[number]
        order = write_order(trial.query.orders[number])
        database: SuiteDatabase = {
            "path": variant.path,
            "sha256": variant.sha256,
            "gold_answer": shape_answer(variant.executions.read_rows(trial.query.sql)),
            "order_matters": order["order_matters"],
            "accepted_rows": order["accepted_rows"],
        }
        answers: list[OtherAnswer] = []
        for sql in trial.question.other_sql:
            rows = variant.executions.find_rows(sql)
            if rows is not None:
                answers.append({"sql": sql, "answer": shape_answer(rows)})
        if answers:
            database["other_answers"] = answers
        listed.append(database)
    return listed

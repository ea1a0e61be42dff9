"""Records: the suite of a question, as a shard describes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from answerkey.alternatives.shown import Difference, show_difference
from answerkey.engines.answers import OtherAnswer, shape_answer, write_order
from answerkey.engines.database import Value
from answerkey.suites.asked import AskedVariants, Refusal
from answerkey.suites.choice import Suite
from answerkey.suites.gate import GoldAnswer
from answerkey.suites.questions import NoSuite, SuiteQuestion
from answerkey.suites.rivals import GUESS, Case, OnReal, Rival

_MAX_SHOWN_NEIGHBORS = 3


class KeptFile(NamedTuple):
    """The path and the checksum of a variant that is kept."""

    path: str
    sha256: str


class MutationScore(TypedDict):
    """The share of neighbors that the real database tells from gold, and that the suite does."""

    database: float
    suite: float


class AliveNeighbor(TypedDict):
    """A neighbor that a suite does not tell from gold."""

    operator: str
    sql: str
    killed_by_database: bool


class SuiteDatabase(TypedDict):
    """A database of a suite, the answer of gold on it, and how far the order of its rows counts."""

    path: str
    sha256: str
    gold_answer: Any
    order_matters: bool
    accepted_rows: Sequence[int] | None
    other_answers: NotRequired[list[OtherAnswer]]


class LatentAmbiguity(TypedDict):
    """A reading of a question that differs from gold on a variant, with rows of both there, as
    `show_difference` has them.

    reading_rows, difference: None if the reading fails.
    """

    reading: str
    sql: str
    gold_rows: list[list[Value]]
    reading_rows: list[list[Value]] | None
    difference: Difference | None


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
    """Describe a question for which no suite was made."""
    return {
        "question_id": question.question_id,
        "mutation_score": None,
        "no_suite": NoSuite.PART_IS_ENOUGH if question.accepts_subset else NoSuite.GOLD_FAILS,
        "operators": {},
        "alive": [],
        "databases": [],
        "latent_ambiguity": None,
    }


def make_record(
    case: Case, suite: Suite, asked: AskedVariants, files: Mapping[int, KeptFile]
) -> SuiteRecord:
    """Describe the suite of a question: the mutation score, why it has no suite, the counts
    by operator, some rivals that survive, and the databases.

    A suite that does not kill the stored answer given as a constant scores 0, as does none: this
    answer wins, and no policy needs another one.

    files: by the numbers of the variants.
    """
    by_database = {*case.killed, *suite.guarded}
    fates = _decide_fates(case, suite)
    refusals = asked.refusals.get(case, {})
    operators: dict[str, Counter[str]] = {}
    for rival, fate in fates.items():
        operators.setdefault(rival.name, Counter())[fate] += 1
    counts = Counter(fates.values())
    total = counts["killed"] + counts["alive"]
    alive = [rival for rival, fate in fates.items() if fate == "alive"]
    wins = by_database | case.memorized
    alive.sort(key=lambda rival: rival not in wins)
    is_memorized = fates.get(case.gold.by_heart, "killed") != "killed"
    return {
        "question_id": case.question.question_id,
        "mutation_score": {
            "database": round(len(by_database) / total, 4),
            "suite": 0.0 if is_memorized else round(counts["killed"] / total, 4),
        }
        if total
        else None,
        "no_suite": None if suite.answers else _explain_missing_suite(suite, refusals),
        "operators": {
            name: {fate: counts[fate] for fate in ("killed", "alive", "undecided")}
            for name, counts in sorted(operators.items())
        },
        "alive": [
            {
                "operator": rival.name,
                "sql": rival.sql[:2000],
                "killed_by_database": rival in by_database,
            }
            for rival in alive[:_MAX_SHOWN_NEIGHBORS]
        ],
        "databases": [
            _describe_database(case, number, answer.gold, asked, files[number])
            for number, answer in suite.answers.items()
        ],
        "latent_ambiguity": _show_latent(case, refusals, asked),
    }


def _decide_fates(case: Case, suite: Suite) -> dict[Rival, str]:
    """Whether the suite of a question kills each rival; one that neither the real database nor any
    variant kills is undecided. A weak query counts if it is guarded, a reading never does."""
    alone = {*case.killed}.difference(suite.guarded) if suite.answers else ()
    killed = suite.killed.union(alone)
    killable = suite.killable.union(case.killed, suite.guarded)
    fates = {}
    for rival in (*case.gold.rivals, *(rival for rival in suite.guarded if rival.name == GUESS)):
        is_weak = rival.on_real is OnReal.UNASKED and rival not in suite.guarded
        if not is_weak and rival.sql not in case.readings:
            fate = "killed" if rival in killed else "alive"
            fates[rival] = fate if rival in killable else "undecided"
    return fates


def _explain_missing_suite(suite: Suite, refusals: Mapping[int, Refusal]) -> NoSuite:
    """Why a question has no suite: what kept it from the variant on which it came furthest."""
    if suite.counted:
        return NoSuite.NO_ROOM if suite.killable else NoSuite.TELLS_NOTHING
    reasons = [refusal.reason for refusal in refusals.values()]
    return max(reasons, key=[*NoSuite].index, default=NoSuite.NO_VARIANTS)


def _describe_database(
    case: Case, number: int, answer: GoldAnswer, asked: AskedVariants, file: KeptFile
) -> SuiteDatabase:
    order = write_order(answer.order)
    database: SuiteDatabase = {
        "path": file.path,
        "sha256": file.sha256,
        "gold_answer": shape_answer(answer.rows),
        "order_matters": order["order_matters"],
        "accepted_rows": order["accepted_rows"],
    }
    others: list[OtherAnswer] = []
    for sql in case.question.other_sql:
        rows = asked.open(number).find_rows(sql)
        if rows is not None:
            order_of = asked.find_other_order(number, sql, rows)
            others.append({"sql": sql, "answer": shape_answer(rows), **order_of})
    if others:
        database["other_answers"] = others
    return database


def _show_latent(
    case: Case, refusals: Mapping[int, Refusal], asked: AskedVariants
) -> LatentAmbiguity | None:
    """Describe the first reading that keeps variants from counting; None if there is none."""
    for number, (_, reading, gold) in refusals.items():
        if reading is not None and gold is not None:
            others = asked.open(number).find_rows(reading.sql)
            gold_rows, reading_rows, difference = show_difference(
                gold.rows, others or [], order=gold.order, abs_tol=case.gold.stored.abs_tol
            )
            return {
                "reading": reading.name,
                "sql": reading.sql,
                "gold_rows": gold_rows,
                "reading_rows": None if others is None else reading_rows,
                "difference": None if others is None else difference,
            }
    return None

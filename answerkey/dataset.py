"""The question type, and the readers of what stages and exports record of questions.

It needs only the standard library, except for Parquet files, which need pyarrow.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, Required, TypedDict

from answerkey.base.errors import InputError
from answerkey.base.paths import INTERIM
from answerkey.base.reasons import Reason
from answerkey.base.records import (
    ACCEPTED_ANSWERS,
    TRAIN,
    cut_in_shards,
    decode_json,
    encode_json,
    read_exclusion,
    read_jsonl,
    read_shards,
)
from answerkey.engines.names import SQLITE

if TYPE_CHECKING:
    from answerkey.doubts.repairs import Repair
    from answerkey.engines.answers import OtherAnswer
    from answerkey.scoring.worker import SuiteDatabase
    from answerkey.sections.score_rollouts import Reward

FIELDS = (
    "question_id",
    "question_text",
    "database_name",
    "gold_sql",
    "gold_answer",
    "answer_type",
    "difficulty",
    "tables_involved",
    "split",
)
# Files beside the questions.
SIDECARS = AUDIT, EXCLUDED, SUITES, PASS_RATES = (
    "audit.jsonl",
    "excluded.jsonl",
    "test_suites.jsonl",
    "pass_rates.jsonl",
)
# In data/interim/selection: usable questions that targets leave out, for evaluations.
SELECTION = "interim/selection"
NOT_SELECTED, SUITES_NOT_SELECTED = "not_selected.jsonl", "suites_not_selected.jsonl"


# The unpacked size of a table of the Hugging Face export that `answerkey.load` accepts by default.
MAX_TABLE_BYTES = 500_000_000


# The question, and how the records of one question from several files are joined.


JOINED = "joined.jsonl"
DIFFICULTY = "difficulty.jsonl"

NEXT_STEP = "data/interim is of several runs; run `dvc repro`, which brings it in step"

Record = dict[str, Any]


class CorrectionNote(TypedDict):
    """What a file of corrections did to a question, and the former fields.

    source, date, readings: the author, the date, and the verdict of each pass, if the file has
    them.
    """

    action: str
    reason: str
    link: str | None
    source: NotRequired[str]
    date: NotRequired[str]
    readings: NotRequired[list[str]]
    original: NotRequired[dict[str, str]]


class QuestionSource(TypedDict, total=False):
    """The origin of a question: a row of a file of a corpus, and other facts from the corpus.

    repo_id, revision: of a corpus of the Hugging Face hub.
    db_id: the database's name in the corpus, if it has another name here.
    difficulty, grading_method, accepted_answers, order_matters: the corpus's own values.
    dialect, source_sql: the original gold SQL and its engine, if gold SQL was translated.
    dialect_differs: evidence that the translation does not give the rows of the original.
    unconfirmed: a correction that is not applied, since its query gives another answer here than
        where the question was read: `sql`, its answer `here`, `reason`, `source` and `date`.
    """

    corpus: Required[str]
    file: Required[str]
    index: Required[int]
    repo_id: str
    revision: str
    db_id: str
    correction: CorrectionNote
    difficulty: str | None
    grading_method: str | None
    accepted_answers: list[Any]
    order_matters: bool
    dialect: str
    source_sql: str
    dialect_differs: Record
    unconfirmed: Record


class MutationScore(TypedDict):
    """The shares of gold's neighbors that are killed; exports have the share of the suite."""

    suite: float
    database: NotRequired[float]


class Rate(TypedDict):
    """How many rollouts there are, are right on the database, and are right on the suite as
    well."""

    total: int
    database: int
    suite: int


class PassRate(Rate):
    """The rate of all models together, and of each model by name.

    agreement: the answer that most models agree on, if it differs from gold's.
    """

    models: dict[str, Rate]
    agreement: NotRequired[Record]


class Question(NamedTuple):
    """Everything that is known of a question. None: not known yet, or absent.

    source: its origin, as load_questions recorded it.
    now: the time of the clock in queries on its database (`corpora.NAME.now`).
    flags: [{code, evidence}], its own flags and those from relations to other questions.
    stage, reason, detail: which stage set it aside and why, whatever policies say.
    gold_answer, answer_type, steps, order_matters: None if it has no answer; steps are those of
        SQLite's virtual machine, and other engines count none.
    accepted_rows: the segments of every right answer, if rows tie and the segments are known
        (answerkey.order.row_order).
    abs_tol: the absolute tolerance for floats of right answers, if the terms of a sum cancel
        (answerkey.order.additions).
    other_answers: [{sql, answer}], other right queries and their answers; None if the corpus has
        none.
    mutation_score: {database, suite}, the shares of gold's neighbors that the database and the test
        suite kill (0 if it has no suite, or if its memorized answer passes on the suite); None if
        no neighbor counts.
    pass_rate: {total, database, suite, models}: how many rollouts there are, how many are right on
        the database, and on the test suite as well, and the same for each model.
    answer_risk, sql_risk: the probability that its gold answer, or its gold SQL, is not what it
        asks for (answerkey.risk.risks).
    repairs: repairs and readings with their answers, the likeliest first
        (answerkey.doubts.repairs).
    tables_involved ... template: None if its SQL was not parsed.
    engine: of its database: sqlite, duckdb or postgres.
    max_steps, rule: the step budget of a prediction, and the rule of comparison.
    max_cpu_s: the seconds of CPU time of a prediction in an engine that counts no steps.
    test_suite: the databases of its test suite.
    prompt: the prompt for a policy, in the exports.
    """

    question_id: str
    database_name: str
    split: str
    question_text: str
    gold_sql: str
    source: QuestionSource
    flags: list[Record]
    evidence: str | None = None
    now: str | None = None
    stage: str | None = None
    reason: str | None = None
    detail: str | None = None
    gold_answer: Any = None
    answer_type: str | None = None
    steps: int | None = None
    order_matters: bool | None = None
    accepted_rows: list[Any] | None = None
    abs_tol: float | None = None
    other_answers: list[OtherAnswer] | None = None
    mutation_score: MutationScore | None = None
    pass_rate: PassRate | None = None
    answer_risk: float | None = None
    sql_risk: float | None = None
    repairs: list[Repair] | None = None
    tables_involved: list[str] | None = None
    answer_columns: list[str] | None = None
    features: list[str] | None = None
    hardness: str | None = None
    canonical_sql: str | None = None
    template: str | None = None
    difficulty: str | None = None
    engine: str = SQLITE
    max_steps: int | None = None
    max_cpu_s: int | None = None
    rule: str | None = None
    database_sha256: str | None = None
    test_suite: list[SuiteDatabase] | None = None
    prompt: str | None = None

    @property
    def corpus(self) -> str:
        return self.source["corpus"]

    @property
    def source_difficulty(self) -> str | None:
        return self.source.get("difficulty")

    @property
    def solved_share(self) -> float | None:
        """Return the share of its rollouts that are right on its test suite, from 0 to 1."""
        rate = self.pass_rate
        return None if rate is None else rate["suite"] / rate["total"]

    @property
    def suite_score(self) -> float | None:
        return None if self.mutation_score is None else self.mutation_score["suite"]

    @property
    def product_record(self) -> Record:
        """Return the nine fields of the product, in their order."""
        return {field: getattr(self, field) for field in FIELDS}


def is_below(suite_score: float | None, min_mutation_score: float) -> bool:
    """Return whether a test suite is too weak for a reward in training; no score counts as 0.

    >>> is_below(None, 0.5), is_below(0.5, 0.5), is_below(None, 0.0)
    (True, False, False)
    """
    return (suite_score or 0.0) < min_mutation_score


RISK_MEANINGS = {
    "answer_risk": "how likely the answer is not what the question asks",
    "sql_risk": "how likely gold SQL does not say what the question asks",
}


def is_above(sql_risk: float | None, max_sql_risk: float | None) -> bool:
    """Return whether gold SQL is too doubtful to train on its text; without a bound, it never is.

    >>> is_above(0.8, 0.7), is_above(0.7, 0.7), is_above(0.8, None), is_above(None, 0.7)
    (True, False, False, False)
    """
    return max_sql_risk is not None and (sql_risk or 0.0) > max_sql_risk


def join_records(
    records: Iterable[Record], streams: Mapping[str, Iterable[Record]]
) -> Iterator[tuple[Record, dict[str, Record | None]]]:
    """Yield each record with those of the same question_id from the streams; None if one has none.

    >>> shops, prices = [{"question_id": "a"}, {"question_id": "b"}], [{"question_id": "b"}]
    >>> [found["prices"] for _, found in join_records(shops, {"prices": prices})]
    [None, {'question_id': 'b'}]

    All are in the same order, so only one record of each is in memory.

    Raises:
        InputError: names a stream with a record that is not in `records`, or not in their order.
    """
    iterators = {name: iter(stream) for name, stream in streams.items()}
    heads = {name: next(iterator, None) for name, iterator in iterators.items()}
    for record in records:
        matching: dict[str, Record | None] = dict.fromkeys(heads)
        for name, head in heads.items():
            if head is not None and head["question_id"] == record["question_id"]:
                matching[name], heads[name] = head, next(iterators[name], None)
        yield record, matching
    for name, head in heads.items():
        if head is not None:
            raise InputError(
                f"{name}: {head['question_id']} is in no other file, or out of step: expected files"
                " of one run, as `dvc repro` or `dvc pull` makes them"
            )


# The shards of the stages before compare_questions. Some of them lack questions.


_PARSED_FIELDS = (
    "tables_involved",
    "answer_columns",
    "features",
    "hardness",
    "canonical_sql",
    "template",
)


def join_stages(
    interim: Path = INTERIM, *, wanted: Container[str] | None = None
) -> Iterator[tuple[Question, Record]]:
    """Yield each source question in order, with its answer, its parse and its own flags, and the
    record of its test suite, {} if it has none.

    wanted: ids of questions; shards with none of them are skipped.

    Raises:
        InputError: a file lacks a question or has one too many.
    """
    sources = read_jsonl(interim / "splits.jsonl")
    for shard, asked in cut_in_shards(sources):
        if wanted is not None and not any(source["question_id"] in wanted for source in asked):
            continue
        streams = {
            stage: read_shards(interim / stage, [shard])
            for stage in ("gold_answers", "parsed", "audit", "test_suites")
        }
        for source, records in join_records(asked, streams):
            yield _join(source, *records.values())


def _join(
    source: Record,
    outcome: Record | None,
    parsed: Record | None,
    audit: Record | None,
    suite: Record | None,
) -> tuple[Question, Record]:
    if outcome is None or parsed is None:
        raise InputError(f"no answer or parse of question {source['question_id']}: {NEXT_STEP}")
    audit, suite = audit or {}, suite or {}
    stage, reason, detail = find_failure(source, outcome, parsed) or (None, None, None)
    of_parsed: dict[str, Any] = {field: parsed.get(field) for field in _PARSED_FIELDS}
    question = Question(
        question_id=source["question_id"],
        database_name=source["database_name"],
        split=source["split"],
        question_text=source["question_text"],
        evidence=source.get("evidence"),
        now=source.get("now"),
        gold_sql=source["gold_sql"],
        source=source["source"],
        stage=stage,
        reason=reason,
        detail=detail,
        gold_answer=outcome.get("gold_answer"),
        answer_type=outcome.get("answer_type"),
        steps=outcome.get("steps"),
        order_matters=audit.get("order_matters"),
        accepted_rows=audit.get("accepted_rows"),
        abs_tol=audit.get("abs_tol"),
        other_answers=_add_orders(outcome.get("other_answers"), audit.get("other_orders", {})),
        mutation_score=suite.get("mutation_score"),
        flags=audit.get("flags", []),
        repairs=audit.get("repairs"),
        **of_parsed,
    )
    return question, suite


def find_failure(source: Record, outcome: Record, parsed: Record) -> tuple[str, str, str] | None:
    """Return the stage that set a question aside first, whatever policies say, with reason and
    detail; None if no stage did."""
    if (exclusion := read_exclusion(source)) is not None:
        return "load_questions", *exclusion
    if not source["question_text"].strip():
        return "load_questions", Reason.EMPTY_QUESTION, "question_text: expected text, found none"
    for name in ("question_text", "evidence"):
        try:
            (source.get(name) or "").encode()
        except UnicodeEncodeError as error:  # a lone surrogate: JSON can escape it, UTF-8 cannot
            return "load_questions", Reason.UNDECODABLE_TEXT, f"{name}: {error.reason}"
    for stage, record in (("compute_gold_answers", outcome), ("parse_gold_sql", parsed)):
        if "reason" in record:
            return stage, record["reason"], record["detail"]
    return None


# The table that compare_questions writes for later stages, one record per question. The difficulty
# is in a separate file, so that a changed threshold does not rewrite the table.


JOINED_FIELDS = Question._fields[: Question._fields.index("difficulty")]


def make_joined_record(question: Question) -> Record:
    """Return the line of a question in joined.jsonl; it has `now` and `abs_tol` only if needed."""
    record = {field: getattr(question, field) for field in JOINED_FIELDS}
    for field in ("now", "abs_tol"):
        if record[field] is None:
            del record[field]
    return record


def read_joined(interim: Path = INTERIM) -> Iterator[Question]:
    """Yield the questions in order, without their difficulty."""
    for record in read_jsonl(interim / JOINED):
        yield Question(**record)


def read_classified(interim: Path = INTERIM) -> Iterator[Question]:
    """Yield the questions in order, each with its difficulty.

    Raises:
        InputError: a parsed question has no difficulty, or another question has one.
    """
    streams = {DIFFICULTY: read_jsonl(interim / DIFFICULTY)}
    for record, others in join_records(read_jsonl(interim / JOINED), streams):
        difficulty = (others[DIFFICULTY] or {}).get("difficulty")
        if (difficulty is None) != (record["hardness"] is None):
            raise InputError(f"no difficulty of {record['question_id']}: {NEXT_STEP}")
        yield Question(**record, difficulty=difficulty)


# The product, data/questions: the nine fields of each question, and its sidecars.


def read_product(folder: Path, split: str) -> Iterator[Question]:
    """Yield the questions of a split in order, with everything from the sidecars.

    Raises:
        InputError: a sidecar lacks the record of a question, or has it in another order.
    """
    name = f"questions_{split}.json"
    streams = {
        name: read_questions(folder / name),
        SUITES: read_jsonl(folder / SUITES),
        PASS_RATES: read_jsonl(folder / PASS_RATES),
    }
    for audit, records in join_records(read_jsonl(folder / AUDIT), streams):
        question, suite, pass_rate = records.values()
        if question is None:
            continue
        if suite is None:
            raise InputError(
                f"{folder / SUITES}: {question['question_id']} is missing, or out of step: run"
                " `dvc repro export_dataset`, or `dvc pull`"
            )
        if pass_rate is not None:
            del pass_rate["question_id"]
        yield Question(
            **(audit | question | {"pass_rate": pass_rate}),
            mutation_score=suite["mutation_score"],
            test_suite=suite["databases"],
        )


def has_clock(folder: Path) -> bool:
    """Return whether any question of a product has a clock: then tables have a column `now`."""
    return any("now" in audit for audit in read_jsonl(folder / AUDIT))


def list_engines(folder: Path) -> tuple[str, ...]:
    """Return the engines of the databases of a product, sorted; SQLite if it has no question."""
    engines = {audit["engine"] for audit in read_jsonl(folder / AUDIT)}
    return tuple(sorted(engines)) or (SQLITE,)


class LeftOut(TypedDict):
    """The two bars of export_trainers, and how many questions to train on they leave out.

    below: left out of files for rewards; above: left out of files whose completion is gold SQL.
    """

    questions: int
    min_mutation_score: float
    below: int
    max_sql_risk: float | None
    above: int


def count_left_out(
    folder: Path, *, min_mutation_score: float, max_sql_risk: float | None
) -> LeftOut:
    """Count the questions that the bars of export_trainers leave out."""
    known = [(each.suite_score, each.sql_risk) for each in read_product(folder, TRAIN)]
    return {
        "questions": len(known),
        "min_mutation_score": min_mutation_score,
        "below": sum(is_below(score, min_mutation_score) for score, _ in known),
        "max_sql_risk": max_sql_risk,
        "above": sum(is_above(risk, max_sql_risk) for _, risk in known),
    }


def read_not_selected(selection: Path) -> Iterator[Question]:
    """Yield the usable questions that the selection leaves out, in order."""
    records, suites = (read_jsonl(selection / name) for name in (NOT_SELECTED, SUITES_NOT_SELECTED))
    for record, suite in zip(records, suites, strict=True):
        yield Question(
            **record, mutation_score=suite["mutation_score"], test_suite=suite["databases"]
        )


def read_answer_only(excluded: Iterable[Record]) -> Iterator[Question]:
    """Yield the questions of excluded.jsonl that have accepted answers but no gold SQL: predictions
    for them can be scored."""
    for record in excluded:
        source = record.get("source", {})
        if record["reason"] == Reason.NO_GOLD_SQL and source[ACCEPTED_ANSWERS]:
            gold_answer, *others = source[ACCEPTED_ANSWERS]
            known = {name: record[name] for name in Question._fields if name in record}
            known |= dict.fromkeys(("answer_type", "hardness", "difficulty"), record["reason"])
            yield Question(
                **known,
                gold_answer=gold_answer,
                other_answers=[
                    {"sql": f"answer {number}", "answer": answer}
                    for number, answer in enumerate(others, start=2)
                ],
                order_matters=source["order_matters"],
                rule=source["grading_method"],
            )


def read_questions(path: Path) -> Iterator[Record]:
    """Yield the records of a file of the product, one per line, without keeping them in memory.

    Raises:
        InputError: names path and line if it is not an array with one question per line.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if (text := line.strip().removesuffix(b",")) in (b"[", b"]"):
                continue
            try:
                yield decode_json(text)
            except ValueError as error:
                raise InputError(f"{path}:{number}: expected one question: {error}") from error


# The terms of a question for rewards and exports: columns that a table can hold, some as JSON text.


_STEPS_OF_GOLD = 20  # a prediction may take this many times the steps of gold SQL
# The fields of a suite's database that a reward needs.
_OF_DATABASE = (
    "path",
    "sha256",
    "gold_answer",
    "order_matters",
    "accepted_rows",
    "other_answers",  # if the question has any
)
_JSON_COLUMNS = ("gold_answer", "accepted_rows", "other_answers", "test_suite")


def add_terms(question: Question, database_sha256: str, reward: Reward, *, engine: str) -> Question:
    """Return the question with the budget of a prediction, its rule, and the engine and the sha256
    of its database. The budget is in steps, or in seconds if the engine counts no steps: the same
    for all questions, since a measured time would differ from run to run."""
    max_steps = max_cpu_s = None
    if engine != SQLITE:
        max_cpu_s = reward.max_cpu_s
    elif question.steps is not None:
        max_steps = min(_STEPS_OF_GOLD * question.steps, reward.max_steps)
    else:
        raise InputError(f"{question.question_id}: expected the steps of its gold SQL: {NEXT_STEP}")
    return question._replace(
        engine=engine,
        max_steps=max_steps,
        max_cpu_s=max_cpu_s,
        rule=question.source.get("grading_method") or _add_tolerance(reward.rule, question.abs_tol),
        database_sha256=database_sha256,
    )


def _add_tolerance(rule: str, abs_tol: float | None) -> str:
    """Add the tolerance of one question to the rule of all, unless the rule has its own."""
    has_own = "abs_tol" in rule or rule.startswith("spider2")
    return rule if abs_tol is None or has_own else f"{rule},abs_tol={abs_tol}"


def list_reward_terms(question: Question) -> Record:
    """Return the terms of a question for rewards, beside its gold answer, as columns.

    `max_steps` is None if the engine counts no steps, else `max_cpu_s` is. `accepted_rows`,
    `other_answers` and `test_suite` are JSON text, or None. `now` is present if the corpus of the
    question has a clock.
    """
    suite = question.test_suite or ()
    kept = [
        {name: facts[name] for name in _OF_DATABASE if name in facts}
        for facts in map(dict[str, Any], suite)
    ]
    return {
        "engine": question.engine,
        "order_matters": question.order_matters,
        "max_steps": question.max_steps,
        "max_cpu_s": question.max_cpu_s,
        "rule": question.rule,
        "accepted_rows": _write_json(question.accepted_rows),
        "other_answers": _write_json(question.other_answers or None),
        "test_suite": _write_json(kept or None),
        "database_sha256": question.database_sha256,
        **({"now": question.now} if question.now else {}),
    }


def _add_orders(others: Any, orders: Mapping[str, Any]) -> Any:
    """Return the answers of other right queries with what the audit says of their sequence."""
    if not orders:
        return others
    return [{**other, **orders.get(other["sql"], {})} for other in others]


def _write_json(value: Any) -> str | None:
    return None if value is None else encode_json(value).decode()


def decode_columns(columns: Mapping[str, Any]) -> Record:
    """Return columns of an export with the values of those that are JSON text.

    >>> decode_columns({"database_name": "fleet", "gold_answer": '"Sun"', "accepted_rows": None})
    {'database_name': 'fleet', 'gold_answer': 'Sun', 'accepted_rows': None}
    """
    return {
        name: json.loads(value) if name in _JSON_COLUMNS and value is not None else value
        for name, value in columns.items()
    }


def read_rows(path: Path) -> list[Record]:
    """Return the rows of a Parquet file unchanged."""
    import pyarrow.parquet

    rows: list[Record] = pyarrow.parquet.read_table(path).to_pylist()
    return rows


def read_export(path: Path) -> Iterator[Question]:
    """Yield the questions of a Parquet export of one split, with the fields that it has."""
    return make_questions(read_rows(path), split=path.stem)


def make_questions(rows: Iterable[Record], *, split: str) -> Iterator[Question]:
    """Yield the questions of the rows of an export, with the fields that they have."""
    for row in rows:
        known = decode_columns({name: row[name] for name in Question._fields if name in row})
        known["flags"] = [{"code": code} for code in row.get("flags", ())]
        if (score := known.get("mutation_score")) is not None:
            known["mutation_score"] = {"suite": score}
        known["prompt"] = row["prompt"][-1]["content"]
        yield Question(**{"split": split, "question_text": "", "source": {}, **known})

"""Verdicts of people and models on the gold SQL of questions.

`data/verdicts/*.jsonl` has one per line. It is about the question with exactly this text and SQL:

    {"corpus": "spider", "database_name": "ships", "question_text": "How many ships?",
     "gold_sql": "SELECT count(*) FROM ship", "verdict": "right",
     "reason": "Every ship has one row.", "source": "person:kim", "date": "2026-03-01"}

A file that must not copy a corpus has `sha256`, by `hash_question`, in place of text and SQL. It
also has `file` and `index`, the position of the question in the edition that was read. In another
edition the position may differ: only the hash identifies the question.

A file with the name of a list of corrections belongs to it: it counts if a corpus uses the list.

A verdict was made on one edition of a database; another edition may have other rows. So what it
says of answers is executed again on the database at hand (`Execution`). If the results contradict
it, the verdict does not count.

If gold SQL or text changes, the verdict no longer counts, since it was about another query. Of
several verdicts on one query, a person's overrides a model's (`source` begins with `model:`), and
otherwise the one with the later date counts, then the later line of the later file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from answerkey.base.kinds import (
    Day,
    From0,
    Kind,
    Sha256,
    Words,
    check_value,
    listing,
    one_of,
    text,
)
from answerkey.base.paths import CORRECTIONS, JUDGED, VERDICTS
from answerkey.base.records import (
    Finding,
    hash_question,
    hash_value,
    list_files,
    read_jsonl,
    read_lines,
)
from answerkey.base.shipped import find_file

if TYPE_CHECKING:
    from answerkey.dataset import Question

MODEL = "model:"  # the prefix of a model's `source`
VERDICT_WORDS = RIGHT, WRONG, AMBIGUOUS = "right", "wrong", "ambiguous"
SAME, OTHER = "same", "other"  # another query's answer, compared with gold's
KINDS = (
    "repeated_things",
    "label_for_key",
    "missing_distinct",
    "column",
    "condition",
    "literal",
    "text_as_number",
    "plural_superlative",
    "zero_dropped",
    "null",
    "join",
    "aggregate",
    "order",
    "two_parts",
    "other",
)
_QUOTED, _HASHED = ("question_text", "gold_sql"), ("file", "index", "sha256")
_OF_FAULT = ("sql", "answers", "kind")
_EVIDENCE = ("reason", "source", "date", *_OF_FAULT, "readings")
QUERIES = "queries"  # the folder of shards with executions that load_questions makes

Key = tuple[str, str]  # database_name, sha256 of text and gold SQL

Blank = Annotated[str, text("text", pattern="")]
Word = Annotated[str, one_of(VERDICT_WORDS)]
Answers = Annotated[str, one_of((SAME, OTHER))]
YesNo = Annotated[bool, Kind("true or false", lambda value: type(value) is bool)]
FaultKind = Annotated[str, one_of(KINDS)]
Readings = Annotated[list[str], listing("a list of verdicts", Word, least=1)]


class Execution(TypedDict):
    """The result of a verdict's or correction's query on the database at hand, beside gold.

    answers: SAME or OTHER; None: the query fails.
    is_void: whether its answer has no row, or only NULL and 0.
    detail: SQLite's words, if it fails.
    """

    answers: str | None
    is_void: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict about the question of this text and gold SQL, or of their sha256.

    file, index: the position of the question in the edition that was read, for people.
    sql: the query that the question asks for, if gold is wrong; if the question is ambiguous, the
        reading other than gold.
    answers: whether `sql` gave gold's answer when it was judged.
    void: whether the right answer (of `sql`, or of gold if that is right) had no row, or only NULL
        and 0. A verdict that identifies its question by a hash must say so; one that quotes it may.
    kind: the kind of fault.
    readings: the verdict of each pass, if a model read the question several times.
    where: its file and line.
    """

    corpus: Words
    database_name: Words
    verdict: Word
    reason: Blank
    source: Words
    date: Day
    question_text: Blank | None = None
    gold_sql: Blank | None = None
    file: Words | None = None
    index: From0 | None = None
    sha256: Sha256 | None = None
    sql: Words | None = None
    answers: Answers | None = None
    void: YesNo | None = None
    kind: FaultKind | None = None
    readings: Readings | None = None
    where: str = ""

    def __post_init__(self) -> None:
        given_fields = tuple(
            name for name in (*_QUOTED, *_HASHED) if getattr(self, name) is not None
        )
        if given_fields not in (_QUOTED, _HASHED):
            expected = "question_text and gold_sql, or file, index and sha256"
            raise ValueError(
                f"expected {expected}, found {', '.join(given_fields) or 'none of them'}"
            )
        for name in _OF_FAULT if self.verdict == RIGHT else ():
            if getattr(self, name) is not None:
                raise ValueError(f"{name}: expected none beside the verdict {RIGHT}")

    @property
    def key(self) -> Key:
        sha256 = self.sha256 or hash_question(self.question_text or "", self.gold_sql or "")
        return self.database_name, sha256

    @property
    def risks(self) -> tuple[float, float]:
        """Return answer_risk and sql_risk of the question. An ambiguous one has 0.5."""
        risk = _RISKS[self.verdict]
        return 0.0 if self.answers == SAME else risk, risk

    @property
    def needs_execution(self) -> bool:
        """Return whether it says something about the answer of `sql`."""
        return self.sql is not None and (self.answers is not None or self.said_void is not None)

    @property
    def said_void(self) -> bool | None:
        """Return whether it says that the right answer is void; None if it does not say."""
        return self.void if self.sha256 is None else bool(self.void)

    def explain_contradiction(self, execution: Execution) -> str | None:
        """Return how an execution here contradicts the verdict; None if it does not."""
        return explain_contradiction(execution, answers=self.answers, is_void=self.said_void)

    @property
    def finding(self) -> Finding:
        evidence = {name: getattr(self, name) for name in _EVIDENCE}
        known_evidence = {name: value for name, value in evidence.items() if value is not None}
        if self.verdict == RIGHT:
            return Finding("judged_right", known_evidence)
        if self.verdict == AMBIGUOUS:
            return Finding("judged_ambiguous", known_evidence)
        return Finding(
            "judged_wrong_sql" if self.answers == SAME else "judged_wrong", known_evidence
        )


def explain_contradiction(
    execution: Execution, *, answers: str | None, is_void: bool | None
) -> str | None:
    """Return how a query's answer contradicts a statement about it; None if it does not. A part
    that is None was not stated.

    >>> execution = Execution(answers=OTHER, is_void=True, detail="")
    >>> explain_contradiction(execution, answers=OTHER, is_void=False)
    'its answer here has no row, or only NULL and 0'
    >>> explain_contradiction(execution, answers=SAME, is_void=None)
    'its answer here is other than the one of the corpus, and it was the same'
    """
    here = execution["answers"]
    if here is None:
        return f"it fails here: {execution['detail']}"
    if answers is not None and here != answers:
        words = {SAME: "the same as", OTHER: "other than"}[here]
        was = {SAME: "the same", OTHER: "another"}[answers]
        return f"its answer here is {words} the one of the corpus, and it was {was}"
    if is_void is not None and execution["is_void"] != is_void:
        nothing = "no row, or only NULL and 0"
        if execution["is_void"]:
            return f"its answer here has {nothing}"
        return f"its answer here has rows, and it had {nothing}"
    return None


_RISKS = {RIGHT: 0.0, WRONG: 1.0, AMBIGUOUS: 0.5}


def read_verdicts(
    folder: Path = VERDICTS,
    *,
    used: Collection[str | None] = (),
    unused: Collection[str] = frozenset(),
) -> list[Verdict]:
    """Return the verdicts of all files of a folder, by file and line, without files of unused
    names.

    used: names of lists of corrections. If the folder lacks a file for one, the package's is used.

    Raises:
        InputError: names the file and the invalid line.
    """
    paths = {name: find_file(folder / f"{name}.jsonl") for name in used if name is not None}
    paths |= {path.stem: path for path in list_files(folder, "*.jsonl")}
    names = sorted(paths.keys() - unused)
    return [verdict for name in names for verdict in read_verdict_file(paths[name])]


def list_unused(
    used: Collection[str | None], folder: Path = VERDICTS, corrections: Path = CORRECTIONS
) -> list[str]:
    """Return the names of files of verdicts that belong to an unused list of corrections.

    Verdicts and corrections of one name come from one review of a corpus: `corrections: null` turns
    both off.
    """
    names = (path.stem for path in list_files(folder, "*.jsonl"))
    return [
        name
        for name in names
        if name not in used and find_file(corrections / f"{name}.yaml").is_file()
    ]


def read_verdict_file(path: Path) -> list[Verdict]:
    """Return the verdicts of a file; [] if it does not exist. Raises as `read_verdicts`."""
    return [_parse(*line) for line in read_lines(path)] if path.is_file() else []


def _parse(where: str, record: dict[str, Any]) -> Verdict:
    verdict: Verdict = check_value(Verdict, record, where=where)
    return replace(verdict, where=where)


def name_pair(database_name: str, gold_sql: str, sql: str) -> str:
    """Return the name of the execution of a query beside gold, 64 hex digits."""
    return hash_value([database_name, gold_sql, sql])


def read_executions(folder: Path = JUDGED) -> dict[str, Execution]:
    """Return the executions of the queries of verdicts and corrections, by `name_pair`."""
    paths = sorted((folder / QUERIES).rglob("*.jsonl"))
    records = (record for path in paths for record in read_jsonl(path))
    return {record.pop("question_id"): record for record in records}


def choose_verdicts(verdicts: Iterable[Verdict]) -> dict[Key, Verdict]:
    """Return the verdict that counts for each query."""
    ranked = sorted(verdicts, key=lambda each: (not each.source.startswith(MODEL), each.date))
    return {verdict.key: verdict for verdict in ranked}


def find_texts_before(question: Question) -> tuple[str, str]:
    """Return text and gold SQL of a question before a correction, or its own without one."""
    correction = question.source.get("correction")
    original = correction.get("original", {}) if correction is not None else {}
    return (
        original.get("question_text", question.question_text),
        original.get("gold_sql", question.gold_sql),
    )


def list_keys(question: Question) -> tuple[list[Key], list[Key]]:
    """Return the keys that a verdict about a question may have: for its text and SQL, and for those
    before a correction.

    A verdict may name the database as it is called here or, as corrections do, in its corpus.
    """
    here = question.database_name
    databases = dict.fromkeys((here, question.source.get("db_id", here)))
    sha256 = hash_question(question.question_text, question.gold_sql)
    sha256_before = hash_question(*find_texts_before(question))
    return [(name, sha256) for name in databases], [(name, sha256_before) for name in databases]

"""Verdicts: what a person, or a model that somebody asked, says of the gold SQL of a question.

`data/verdicts/*.jsonl` holds one a line, about the question of exactly this text and gold SQL:

    {"corpus": "spider", "database_name": "ships", "question_text": "How many ships?",
     "gold_sql": "SELECT count(*) FROM ship", "verdict": "right",
     "reason": "Every ship has one row.", "source": "person:kim", "date": "2026-03-01"}

A file that must not copy a corpus has `sha256`, by `hash_question`, in place of text and SQL; and
`file` and `index`, where the question stands in the edition that was read. It may stand elsewhere
in another one: the hash alone names it.

A file with the name of a list of corrections goes with it: it holds where a corpus takes the list.

Where gold SQL or text changes, the verdict is void: it was about another query. Of several verdicts
about one query, that of a person goes before that of a model (`source` begins with `model:`), then
the later date, then the later line of the later file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from answerkey.base.kinds import Day, From0, Sha256, Words, check_value, listing, one_of, text
from answerkey.base.paths import CORRECTIONS, VERDICTS
from answerkey.base.records import Finding, hash_question, list_files, read_lines

if TYPE_CHECKING:
    from answerkey.dataset import Question

MODEL = "model:"  # how the source of a model's verdict begins
VERDICT_WORDS = RIGHT, WRONG, AMBIGUOUS = "right", "wrong", "ambiguous"
SAME, OTHER = "same", "other"  # what another query answers, beside gold
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

Key = tuple[str, str]  # database_name, sha256 of text and gold SQL

Blank = Annotated[str, text("text", pattern="")]
Word = Annotated[str, one_of(VERDICT_WORDS)]
Answers = Annotated[str, one_of((SAME, OTHER))]
FaultKind = Annotated[str, one_of(KINDS)]
Readings = Annotated[list[str], listing("a list of verdicts", Word, least=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict about the question of this text and gold SQL, or of their sha256.

    file, index: where the question stands in the edition that was read, for people.
    sql: what is asked, if gold is wrong; if the question is ambiguous, the reading that gold does
        not take.
    answers: whether `sql` answered as gold did, when it was judged.
    kind: the kind of fault.
    readings: the verdict of each reading, if the question was read several times.
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
    kind: FaultKind | None = None
    readings: Readings | None = None
    where: str = ""

    def __post_init__(self) -> None:
        given = tuple(name for name in (*_QUOTED, *_HASHED) if getattr(self, name) is not None)
        if given not in (_QUOTED, _HASHED):
            expected = "question_text and gold_sql, or file, index and sha256"
            raise ValueError(f"expected {expected}, found {', '.join(given) or 'none of them'}")
        for name in _OF_FAULT if self.verdict == RIGHT else ():
            if getattr(self, name) is not None:
                raise ValueError(f"{name}: expected none beside the verdict {RIGHT}")

    @property
    def key(self) -> Key:
        sha256 = self.sha256 or hash_question(self.question_text or "", self.gold_sql or "")
        return self.database_name, sha256

    @property
    def risks(self) -> tuple[float, float]:
        """The answer_risk and the sql_risk of the question. Of two readings, either is meant."""
        risk = _RISKS[self.verdict]
        return 0.0 if self.answers == SAME else risk, risk

    @property
    def finding(self) -> Finding:
        evidence = {name: getattr(self, name) for name in _EVIDENCE}
        given = {name: value for name, value in evidence.items() if value is not None}
        if self.verdict == RIGHT:
            return Finding("judged_right", given)
        if self.verdict == AMBIGUOUS:
            return Finding("judged_ambiguous", given)
        return Finding("judged_wrong_sql" if self.answers == SAME else "judged_wrong", given)


_RISKS = {RIGHT: 0.0, WRONG: 1.0, AMBIGUOUS: 0.5}


def read_verdicts(
    folder: Path = VERDICTS, *, unused: Collection[str] = frozenset()
) -> list[Verdict]:
    """The verdicts of all files of a folder, by file and line, but of those with these names.

    Raises:
        InputError: with the file and the line that cannot be meant.
    """
    paths = [path for path in list_files(folder, "*.jsonl") if path.stem not in unused]
    return [verdict for path in paths for verdict in read_verdict_file(path)]


def list_unused(
    used: Collection[str | None], folder: Path = VERDICTS, corrections: Path = CORRECTIONS
) -> list[str]:
    """The names of files of verdicts that belong to a list of corrections which is not used.

    Verdicts and corrections of one name are one reading of a corpus, and `corrections: null` of the
    corpus turns both off.
    """
    lists = {path.stem for path in list_files(corrections, "*.yaml")}
    names = (path.stem for path in list_files(folder, "*.jsonl"))
    return [name for name in names if name in lists and name not in used]


def read_verdict_file(path: Path) -> list[Verdict]:
    """The verdicts of a file, none where there is no such file; raises as `read_verdicts`."""
    return [_parse(*line) for line in read_lines(path)] if path.is_file() else []


def _parse(where: str, record: dict[str, Any]) -> Verdict:
    verdict: Verdict = check_value(Verdict, record, where=where)
    return replace(verdict, where=where)


def choose_verdicts(verdicts: Iterable[Verdict]) -> dict[Key, Verdict]:
    """The verdict that holds about each query."""
    ranked = sorted(verdicts, key=lambda each: (not each.source.startswith(MODEL), each.date))
    return {verdict.key: verdict for verdict in ranked}


def find_texts_before(question: Question) -> tuple[str, str]:
    """The text and the gold SQL of a question before a correction; those of today without one."""
    correction = question.source.get("correction")
    original = correction.get("original", {}) if correction is not None else {}
    return (
        original.get("question_text", question.question_text),
        original.get("gold_sql", question.gold_sql),
    )


def list_keys(question: Question) -> tuple[list[Key], list[Key]]:
    """The keys that a verdict about a question may have: about its text and SQL, and about what
    these were before a correction.

    A verdict names the database as it is called here or, as corrections do, in its corpus.
    """
    here = question.database_name
    databases = dict.fromkeys((here, question.source.get("db_id", here)))
    sha256 = hash_question(question.question_text, question.gold_sql)
    sha256_before = hash_question(*find_texts_before(question))
    return [(name, sha256) for name in databases], [(name, sha256_before) for name in databases]

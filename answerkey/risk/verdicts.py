"""Verdicts: what a person, or a model that somebody asked, says of the gold SQL of a question.

`data/verdicts/*.jsonl` holds one a line, about the question of exactly this text and gold SQL:

    {"corpus": "spider", "database_name": "ships", "question_text": "How many ships?",
     "gold_sql": "SELECT count(*) FROM ship", "verdict": "right",
     "reason": "Every ship has one row.", "source": "person:kim", "date": "2026-03-01"}

Where gold SQL or text changes, the verdict is void: it was about another query. Of several verdicts
about one query, that of a person goes before that of a model (`source` begins with `model:`), then
the later date, then the later line of the later file.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.records import Finding, list_files, read_lines

VERDICTS = Path("data/verdicts")
MODEL = "model:"  # how the source of a model's verdict begins
RIGHT, WRONG = "right", "wrong"
_MAY_BE_BLANK = ("question_text", "gold_sql", "reason")

Key = tuple[str, str, str]  # database_name, question_text, gold_sql


class Verdict(NamedTuple):
    """A verdict; `where` is its file and line."""

    where: str
    corpus: str
    database_name: str
    question_text: str
    gold_sql: str
    verdict: str
    reason: str
    source: str
    date: str

    @property
    def key(self) -> Key:
        return self.database_name, self.question_text, self.gold_sql

    @property
    def finding(self) -> Finding:
        evidence = {"reason": self.reason, "source": self.source, "date": self.date}
        return Finding("judged_right" if self.verdict == RIGHT else "judged_wrong", evidence)


FIELDS = Verdict._fields[1:]


def read_verdicts(folder: Path = VERDICTS) -> list[Verdict]:
    """The verdicts of all files of a folder, by file and line.

    Raises:
        InputError: with the file and the line that cannot be meant.
    """
    return [
        verdict for path in list_files(folder, "*.jsonl") for verdict in read_verdict_file(path)
    ]


def read_verdict_file(path: Path) -> list[Verdict]:
    """The verdicts of a file, none where there is no such file; raises as `read_verdicts`."""
    return [_parse(*line) for line in read_lines(path)] if path.is_file() else []


def _parse(where: str, record: dict[str, Any]) -> Verdict:
    if record.keys() != set(FIELDS):
        raise InputError(f"{where}: expected {', '.join(FIELDS)}, found {', '.join(record)}")
    for name, value in record.items():
        if not isinstance(value, str) or not (value.strip() or name in _MAY_BE_BLANK):
            raise InputError(f"{where}: {name} is {value!r:.80}, expected text")
    verdict = Verdict(where, **record)
    if verdict.verdict not in (RIGHT, WRONG):
        raise InputError(f"{where}: verdict is {verdict.verdict!r}, expected {RIGHT} or {WRONG}")
    try:
        date.fromisoformat(verdict.date)
    except ValueError:
        expected = "a day such as 2026-03-01"
        raise InputError(f"{where}: date is {verdict.date!r}, expected {expected}") from None
    return verdict


def choose_verdicts(verdicts: Iterable[Verdict]) -> dict[Key, Verdict]:
    """The verdict that holds about each query."""
    ranked = sorted(verdicts, key=lambda each: (not each.source.startswith(MODEL), each.date))
    return {verdict.key: verdict for verdict in ranked}

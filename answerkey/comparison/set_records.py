"""Set records: what the probes of a whole set know of a question, as short texts and hashes."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any, NamedTuple

from answerkey.core.records import digest_text
from answerkey.sqlite.answers import answer_rows

_END_MARKS = ".?!,;:\u2026\u3002 "
_FLOAT_DIGITS = 6  # after the first one; floats that agree in these are one answer


class SetRecord(NamedTuple):
    """One question.

    text: the question, normalized.
    canonical_sql: a hash; '' where the query has no canonical form.
    template: as it was given, text or hash; '' for none.
    answer: a hash of the rows whatever their order.
    sequence: a hash of the rows in their order, or '' where some may change places.
    """

    question_id: str
    database_name: str
    split: str
    text: str
    canonical_sql: str
    template: str
    answer: str
    sequence: str


def make_set_record(
    question_id: str,
    database_name: str,
    split: str,
    *,
    question_text: str,
    canonical_sql: str,
    template: str,
    gold_answer: Any,
    order_matters: bool,
) -> SetRecord:
    """The record of a question that has an answer."""
    rows = [_encode_row(row) for row in answer_rows(gold_answer)]
    return SetRecord(
        question_id,
        sys.intern(database_name),
        sys.intern(split),
        normalize_question(question_text),
        _hash(canonical_sql) if canonical_sql else "",
        sys.intern(template),
        _hash("\n".join(sorted(rows))),
        _hash("\n".join(rows)) if order_matters else "",
    )


def normalize_question(question_text: str) -> str:
    """A question without what does not change it: case, white space, marks at its end.

    >>> normalize_question("How many  SHIPS are there ?")
    'how many ships are there'
    """
    folded = unicodedata.normalize("NFKC", question_text).casefold()
    # Folding may leave what is not normalized.
    return " ".join(unicodedata.normalize("NFKC", folded).split()).rstrip(_END_MARKS)


def sort_key(question_id: str) -> tuple[str, int, str]:
    """An order of questions in which number 1000 of a database comes after number 999.

    >>> sorted(["a_train_1000", "a_train_999"], key=sort_key)
    ['a_train_999', 'a_train_1000']
    """
    stem = question_id.rstrip("0123456789")
    number = question_id[len(stem) :]
    return stem, int(number) if number else -1, question_id


def _encode_row(row: tuple[Any, ...]) -> str:
    """A row as text, a float by its first digits; each value keeps its type."""
    if float not in map(type, row):
        return repr(row)
    return repr(tuple([f"{v:.{_FLOAT_DIGITS}e}"] if type(v) is float else v for v in row))


def _hash(text: str) -> str:
    return digest_text(text).hex()

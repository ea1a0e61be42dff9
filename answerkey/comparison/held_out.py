"""Held-out questions: those of public dev and test sets, which a training set must not hold.

A question overlaps with one of them if

- both have one text, but for case, white space and marks at the end;
- both have one SQL, but for case outside of texts, white space, comments and quotes;
- both the text and the SQL are nearly the same. One of the two alone says little: thousands of
  questions ask how many of something there are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from rapidfuzz import fuzz, process

from answerkey.base.records import Finding
from answerkey.comparison.compare import normalize_question
from answerkey.dataset import Question

# The tokens of SQL, cut where SQLite cuts them (sqlite3GetToken in its tokenize.c). A quote or a
# comment without an end goes on to the end of the text. Every quantifier is possessive, or stops at
# the first end that it finds, so that nothing is read twice.
_TOKEN = re.compile(
    r"""(?:[ \t\n\v\f\r\ufeff]|--[^\n]*+|/\*.*?(?:\*/|\Z))++"""
    r"""|(?P<word>[0-9A-Za-z_$\x80-\U0010ffff]++)"""
    r"""|'(?P<text>(?:[^']++|'')*+)(?:'|\Z)"""
    r"""|"(?P<text_or_name>(?:[^"]++|"")*+)(?:"|\Z)"""
    r"""|`(?P<name>(?:[^`]++|``)*+)(?:`|\Z)|\[(?P<bracketed>[^\]]*+)(?:\]|\Z)"""
    r"""|(?P<mark>.)""",
    re.DOTALL,
)
_QUOTES = {"text": "'", "text_or_name": '"', "name": "`"}


def normalize_sql(sql: str) -> str:
    """SQL without what does not change it: case outside of texts, white space, comments, quotes.

    >>> normalize_sql("SELECT  count(*) FROM [Ship] WHERE flag = 'Peru' ; -- all")
    "select count ( * ) from ship where flag = 'Peru'"
    """
    words = []
    for found in _TOKEN.finditer(sql):
        group = found.lastgroup
        if group is None:
            continue
        text = found[group]
        if group in _QUOTES:
            text = text.replace(2 * _QUOTES[group], _QUOTES[group])
        words.append(f"'{text}'" if group.startswith("text") else text.casefold())
    return " ".join(words).rstrip("; ")


class HeldOut:
    """The questions of some sets, in memory.

    records: each with `question_text`, `gold_sql`, and as `source` the corpus, file and row.
    min_similarity: the least similarity of two texts that are nearly the same.
    """

    def __init__(self, records: Iterable[dict[str, Any]], *, min_similarity: float) -> None:
        self._min_similarity = min_similarity
        self._sources: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._queries: list[str] = []
        self._of_sql: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            self._sources.append(record["source"])
            self._texts.append(normalize_question(record["question_text"]))
            self._queries.append(normalize_sql(record["gold_sql"]))
            self._of_sql[self._queries[-1]].append(place)

    def find_overlap(self, question: Question) -> Finding | None:
        """The finding of a question, with the held-out question that is most like it; None if there
        is none, or the question has no answer. Those of its own corpus are left out."""
        if question.answer_type is None:
            return None
        text, sql = normalize_question(question.question_text), normalize_sql(question.gold_sql)
        likes = []
        for place in self._list_places(text, sql):
            if self._sources[place]["corpus"] == question.corpus:
                continue
            similarities = (
                _measure_similarity(text, self._texts[place]),
                _measure_similarity(sql, self._queries[place]),
            )
            most, least = max(similarities), min(similarities)
            if most == 1 or least >= self._min_similarity:
                likes.append((-most, -least, place, similarities))
        if not likes:
            return None
        *_, place, (text_similarity, sql_similarity) = min(likes)
        evidence = {
            **{name: self._sources[place][name] for name in ("corpus", "file", "index")},
            "text_similarity": text_similarity,
            "sql_similarity": sql_similarity,
        }
        return Finding("overlap", evidence)

    def _list_places(self, text: str, sql: str) -> set[int]:
        """The questions with one SQL, or with one text or nearly one."""
        places = set(self._of_sql.get(sql, ()) if sql else ())
        if text:
            cutoff = 100 * self._min_similarity
            near = process.extract(
                text, self._texts, scorer=fuzz.ratio, score_cutoff=cutoff, limit=None
            )
            places.update(place for _, _, place in near)
        return places


def _measure_similarity(text: str, other: str) -> float:
    """How similar two texts are, from 0 to 1; 1 only if they are equal."""
    return 1.0 if text == other else min(round(fuzz.ratio(text, other) / 100, 3), 0.999)

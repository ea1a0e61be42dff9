"""Held-out questions: those of public dev and test sets, which a training set must not hold.

A question overlaps with one of them if

- both have one text, but for case, white space and marks at the end;
- both have one SQL, but for case outside of texts, white space, comments and quotes;
- both the text and the SQL are nearly the same. One of the two alone says little: thousands of
  questions ask how many of something there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from answerkey.comparison.compare import find_similar, measure_similarity, normalize_question
from answerkey.dataset import Question
from answerkey.records import Finding
from answerkey.sqlite.tokens import Kind, read_tokens

_TEXTS = (Kind.TEXT, Kind.DOUBLE_QUOTED)


def normalize_sql(sql: str) -> str:
    """SQL without what does not change it: case outside of texts, white space, comments, quotes.

    >>> normalize_sql("SELECT  count(*) FROM [Ship] WHERE flag = 'Peru' ; -- all")
    "select count ( * ) from ship where flag = 'Peru'"
    """
    words = [
        f"'{token.text}'" if token.kind in _TEXTS else token.text.casefold()
        for token in read_tokens(sql)
    ]
    return " ".join(words).rstrip("; ")


class HeldOut:
    """The questions of some sets, in memory.

    records: each with `question_text`, `gold_sql`, and as `source` the corpus, file and row.
    min_similarity: the least similarity of two texts that are nearly the same.
    """

    def __init__(self, records: Iterable[dict[str, Any]], *, min_similarity: float) -> None:
        self._min_similarity = min_similarity
        self._questions: list[tuple[str, str, dict[str, Any]]] = []
        self._of_text: dict[str, list[int]] = defaultdict(list)
        self._of_sql: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            text = normalize_question(record["question_text"])
            sql = normalize_sql(record["gold_sql"])
            self._questions.append((text, sql, record["source"]))
            self._of_text[text].append(place)
            self._of_sql[sql].append(place)
        self._texts = sorted(self._of_text, key=lambda text: (len(text), text))
        self._lengths = [len(text) for text in self._texts]

    def find_overlap(self, question: Question) -> Finding | None:
        """The finding of a question, with the held-out question that is most like it; None if there
        is none, or the question has no answer. Those of its own corpus are left out."""
        if question.answer_type is None:
            return None
        text, sql = normalize_question(question.question_text), normalize_sql(question.gold_sql)
        likes = []
        for place in self._list_places(text, sql):
            other_text, other_sql, source = self._questions[place]
            if source["corpus"] == question.corpus:
                continue
            text_similarity = measure_similarity(text, other_text)
            sql_similarity = measure_similarity(sql, other_sql)
            most, least = sorted((text_similarity, sql_similarity), reverse=True)
            if most == 1 or least >= self._min_similarity:
                likes.append((-most, -least, place, text_similarity, sql_similarity))
        if not likes:
            return None
        *_, place, text_similarity, sql_similarity = min(likes)
        source = self._questions[place][2]
        evidence = {
            **{name: source[name] for name in ("corpus", "file", "index")},
            "text_similarity": text_similarity,
            "sql_similarity": sql_similarity,
        }
        return Finding("overlap", evidence)

    def _list_places(self, text: str, sql: str) -> set[int]:
        """The questions with one text, one SQL, or nearly one text."""
        places = {
            *(self._of_text.get(text, ()) if text else ()),
            *(self._of_sql.get(sql, ()) if sql else ()),
        }
        # Texts of a and b characters are 2 * min(a, b) / (a + b) similar at most.
        most = (2 - self._min_similarity) / max(self._min_similarity, 0.01)
        first = bisect_left(self._lengths, len(text) / most)
        last = bisect_right(self._lengths, len(text) * most)
        for number, _ in find_similar(text, self._texts[first:last], self._min_similarity):
            places.update(self._of_text[self._texts[first + number]])
        return places

"""Find relations between questions: repeats, contradictions, and leaks between splits.

Nothing is executed. If one question changes, all are compared again.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from answerkey.base.records import EVAL, SPLITS, TRAIN, Finding, digest_text
from answerkey.comparison.leaks import find_seen_in_train
from answerkey.dataset import Question
from answerkey.engines.answers import answer_rows, read_order
from answerkey.engines.schema import Schema
from answerkey.sql.query_form import strip_constants
from answerkey.sql.query_tree import sql_dialect, trim_sql

# The share of all columns of two databases. With so many in common, a model that knows one database
# knows the other one, even if a column was renamed or added.
MIN_SHARE = 0.9
_END_MARKS = ".?!,;:\u2026\u3002 "
# Digits after the first one. Floats that agree in these are one answer: the tolerance of the
# comparison of answers is 1e-6.
_FLOAT_DIGITS = 6
_NAMED = 5  # questions in one piece of evidence
_TEXTS_WITH_A_PREFIX = {TokenType.HEREDOC_STRING, TokenType.BYTE_STRING}  # $$a$$, E'a'
_TEXT_MARKS = "'\""  # SQLite reads "x" as a text, too, if no column has this name
_TEMPLATE_CHARACTERS = 200  # in evidence

Findings = dict[str, list[Finding]]
Column = tuple[str, str]  # table, column


class Fingerprint(NamedTuple):
    """The parts of a question that are compared, as short texts and hashes. "" equals nothing.

    text: the question, normalized.
    canonical_sql: a hash; "" if the query has no canonical form.
    query: a hash of the canonical form without its constants.
    answer: a hash of the rows in any order.
    sequence: a hash of the rows in their order, or "" if some may change places.
    """

    question_id: str
    database_name: str
    split: str
    text: str
    canonical_sql: str
    query: str
    template: str
    answer: str
    sequence: str


def make_fingerprint(question: Question) -> Fingerprint:
    """Return the fingerprint of a question. Without an answer, as for one that a curator excluded,
    it has only names. So a good question is not left out for repeating a wrong one."""
    names = question.question_id, sys.intern(question.database_name), sys.intern(question.split)
    if question.answer_type is None:
        return Fingerprint(*names, "", "", "", "", "", "")
    rows = [_encode_row(row) for row in answer_rows(question.gold_answer)]
    is_sequence = read_order(bool(question.order_matters), question.accepted_rows) is True
    canonical_sql = question.canonical_sql or ""
    return Fingerprint(
        *names,
        text=normalize_question(question.question_text),
        canonical_sql=_hash(canonical_sql),
        query=_hash(strip_constants(canonical_sql)),
        template=sys.intern(question.template or ""),
        answer=digest_text("\n".join(sorted(rows))).hex(),
        sequence=digest_text("\n".join(rows)).hex() if is_sequence else "",
    )


def _hash(text: str) -> str:
    return digest_text(text).hex() if text else ""


def normalize_question(question_text: str) -> str:
    """Return a question in lower case, with single spaces, and without marks at its end.

    >>> normalize_question("How many  SHIPS are there ?")
    'how many ships are there'
    """
    folded = unicodedata.normalize("NFKC", question_text).casefold()
    # Folding case may undo the normalization.
    return " ".join(unicodedata.normalize("NFKC", folded).split()).rstrip(_END_MARKS)


def sort_key(question_id: str) -> tuple[str, int, str]:
    """Return a key that sorts question 1000 of a database after question 999."""
    stem = question_id.rstrip("0123456789")
    number = question_id[len(stem) :]
    return stem, int(number) if number else -1, question_id


def _encode_row(row: tuple[Any, ...]) -> str:
    """Return a row as text, with rounded floats; each value keeps its type."""
    if float not in map(type, row):
        return repr(row)
    return repr(tuple([f"{v:.{_FLOAT_DIGITS}e}" if type(v) is float else v for v in row]))


def find_similar(text: str, texts: list[str], min_similarity: float) -> list[tuple[int, float]]:
    """Return the index of each text that is similar to this one, with its similarity. Equal texts
    are left out.

    >>> find_similar("list all ships", ["list all shops", "list all ships", "who?"], 0.9)
    [(0, 0.929)]
    """
    if not text:
        return []
    matches = _extract(text, texts, min_similarity)
    return [
        (text_index, round(score / 100, 3))
        for text_index, score in matches
        if texts[text_index] != text
    ]


def _extract(text: str, texts: list[str], min_similarity: float) -> list[tuple[int, float]]:
    matches = process.extract(
        text, texts, scorer=fuzz.ratio, score_cutoff=100 * min_similarity, limit=None
    )
    return [(text_index, score) for _, score, text_index in matches]


_MAX_CELLS = 1 << 21  # of a table of similarities, 16 MB


class Nearest(NamedTuple):
    """The index of the most similar text (the first of several), and the number of similar
    texts."""

    place: int
    similarity: float
    near: int


def find_nearest(
    texts: list[str], others: list[str], min_similarity: float
) -> Iterator[Nearest | None]:
    """Yield the most similar text for each text, as `find_similar` does for one; None without one.

    >>> list(find_nearest(["list all ships", "who?"], ["list all shops", "list all ships"], 0.9))
    [Nearest(place=0, similarity=0.929, near=1), None]

    All pairs are compared, about 30 million per second. Only a table of similarities is kept in
    memory: if many texts are similar, a list of their pairs would be too long.
    """
    import numpy as np

    cutoff = 100 * min_similarity
    size = max(1, _MAX_CELLS // max(1, len(others)))
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        scores = process.cdist(
            part, others, scorer=fuzz.ratio, score_cutoff=cutoff, dtype=np.float64
        )
        scores[scores == 100] = -1  # equal texts
        counts = (scores >= cutoff).sum(axis=1)
        for text, row, count in zip(part, scores, counts, strict=True):
            if not text or not count:
                yield None
                continue
            places = np.flatnonzero(row >= row.max() - 0.1).tolist()  # some are equal when rounded
            similarities = [round(float(row[column_index]) / 100, 3) for column_index in places]
            best = max(similarities)
            yield Nearest(places[similarities.index(best)], best, int(count))


def compare(
    fingerprints: Iterable[Fingerprint],
    schemas: Iterable[tuple[str, Schema]],
    *,
    min_similarity: float,
) -> Findings:
    """Return {question_id: [Finding, ...]} for all questions that have findings. `schemas` are the
    schemas of all databases, with their names."""
    fingerprints = sorted(fingerprints, key=lambda fingerprint: sort_key(fingerprint.question_id))
    findings: Findings = defaultdict(list)
    find_near = partial(find_nearest, min_similarity=min_similarity)
    for of_database in _group(fingerprints, "database_name"):
        for of_split in _group(of_database, "split"):
            _find_duplicates(of_split, findings)
            _find_near_duplicates(of_split, findings, min_similarity)
            _find_paraphrases(of_split, findings)
        _find_conflicts(of_database, findings)
        for question_id, finding in find_seen_in_train(of_database, find_near):
            findings[question_id].append(finding)
    _find_near_leaks(fingerprints, findings, min_similarity)
    _find_leaks(fingerprints, findings)
    splits: dict[str, set[str]] = defaultdict(set)
    for fingerprint in fingerprints:
        splits[fingerprint.database_name].add(fingerprint.split)
    twins = find_schema_twins(
        {name: list_columns(schema) for name, schema in schemas if name in splits}, splits
    )
    for fingerprint in fingerprints:
        if fingerprint.answer and fingerprint.database_name in twins:
            findings[fingerprint.question_id].append(twins[fingerprint.database_name])
    return dict(findings)


# Repeats and contradictions of questions about one database in one split.
# `answerkey.comparison.leaks` finds questions of eval that repeat a question of train.


def _find_duplicates(records: list[Fingerprint], findings: Findings) -> None:
    """Flag repeats of a question: the same text, with the same canonical SQL or answer."""
    for group in _group(records, "text"):
        for rank, record in enumerate(group):
            for first in group[:rank]:
                evidence = {
                    "first": first.question_id,
                    "same_sql": record.canonical_sql == first.canonical_sql != "",
                    "same_answer": _have_one_answer(record, first),
                }
                if evidence["same_sql"] or evidence["same_answer"]:
                    findings[record.question_id].append(Finding("duplicate_question", evidence))
                    break


def _find_near_duplicates(
    records: list[Fingerprint], findings: Findings, min_similarity: float
) -> None:
    """Flag near repeats of a question: a similar text, and the same canonical SQL.

    Similar texts alone do not show that two questions have one meaning: one may ask for the
    minimum, the other for the maximum. Nor does the same answer help: one may ask for the source of
    flights, the other for the target.
    """
    for group in _group(records, "canonical_sql"):
        texts = [record.text for record in group]
        for rank, record in enumerate(group):
            if near := find_similar(record.text, texts[:rank], min_similarity):
                first_index, similarity = min(near, key=lambda pair: (-pair[1], pair[0]))
                evidence = {"first": group[first_index].question_id, "similarity": similarity}
                findings[record.question_id].append(Finding("near_duplicate_question", evidence))


def _find_paraphrases(records: list[Fingerprint], findings: Findings) -> None:
    """Flag paraphrases of a question: the same canonical SQL, with another text."""
    for group in _group(records, "canonical_sql"):
        first = group[0]
        for record in group[1:]:
            if record.text != first.text:
                evidence = {"first": first.question_id, "questions": len(group)}
                findings[record.question_id].append(Finding("paraphrase_of", evidence))


def _find_conflicts(records: list[Fingerprint], findings: Findings) -> None:
    for group in _group(records, "text"):
        for record in group:
            others = [other.question_id for other in group if not _have_one_answer(record, other)]
            if others:
                evidence = {"others": others[:_NAMED], "count": len(others)}
                findings[record.question_id].append(Finding("conflicting_gold", evidence))


def _group(records: Iterable[Fingerprint], field: str) -> Iterator[list[Fingerprint]]:
    groups: dict[str, list[Fingerprint]] = defaultdict(list)
    for record in records:
        groups[getattr(record, field)].append(record)
    return (group for shared, group in groups.items() if shared and len(group) > 1)


def _have_one_answer(left: Fingerprint, right: Fingerprint) -> bool:
    if left.sequence and right.sequence:
        return left.sequence == right.sequence
    return left.answer == right.answer


# Questions of train that questions of eval repeat, in text or template. Within one split, the same
# text or template about another database is no fault.


def _find_near_leaks(records: list[Fingerprint], findings: Findings, min_similarity: float) -> None:
    """Flag each question that has the template of a question in the other split, and a similar
    text; name the most similar one."""
    for sides in _list_shared(records, "template"):
        for own, others in (sides, sides[::-1]):
            texts, of_others = ([record.text for record in side] for side in (own, others))
            nearest_texts = find_nearest(texts, of_others, min_similarity)
            for record, nearest in zip(own, nearest_texts, strict=True):
                if nearest is not None:
                    other = others[nearest.place].question_id
                    evidence = {"other": other, "similarity": nearest.similarity}
                    finding = Finding("near_duplicate_question", evidence)
                    findings[record.question_id].append(finding)


def _find_leaks(records: list[Fingerprint], findings: Findings) -> None:
    """Flag each question whose template is also in the other split, or whose text is there about
    another database."""
    for sides in _list_shared(records, "text"):
        for own, others in (sides, sides[::-1]):
            for name, of_database in groupby(own, attrgetter("database_name")):
                of_others = [other for other in others if other.database_name != name]
                if of_others:
                    evidence = {"count": len(of_others), "example": of_others[0].question_id}
                    in_both = Finding("question_in_both_splits", evidence)
                    for record in of_database:
                        findings[record.question_id].append(in_both)
    for sides in _list_shared(records, "template"):
        template = sides[0][0].template[:_TEMPLATE_CHARACTERS]
        for own, others in (sides, sides[::-1]):
            evidence = {
                "template": template,
                "count": len(others),
                "example": others[0].question_id,
            }
            in_both = Finding("template_in_both_splits", evidence)
            for record in own:
                findings[record.question_id].append(in_both)


def _list_shared(
    records: list[Fingerprint], field: str
) -> Iterator[tuple[list[Fingerprint], list[Fingerprint]]]:
    for group in _group(records, field):
        train = [record for record in group if record.split != EVAL]
        held_out = [record for record in group if record.split == EVAL]
        if train and held_out:
            yield train, held_out


# Databases of different splits that have the same or nearly the same schema under two names. A
# model that is trained on one of them has seen the other's tables before it is evaluated.


def list_columns(schema: Schema) -> dict[Column, str]:
    """Return the type of each column of the tables, by lower-case names, without views."""
    return {
        (table.name.lower(), column.name.lower()): column.type.upper()
        for table in schema.tables
        if not table.is_view
        for column in table.columns
    }


def _list_pairs(
    schemas: Mapping[str, Mapping[Column, str]], train: list[str], held_out: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield all pairs of databases that may be twins. A twin lacks only a few columns, so of any
    few more columns it has at least one. So it is enough to compare databases that share one of the
    rarest columns."""
    having: dict[Column, list[str]] = defaultdict(list)
    for name in held_out:
        for column in schemas[name]:
            having[column].append(name)
    for name in train:
        columns = sorted(schemas[name], key=lambda column: len(having.get(column, ())))
        few = len(columns) - int(MIN_SHARE * len(columns)) + 1
        near = dict.fromkeys(other for column in columns[:few] for other in having.get(column, ()))
        yield from ((name, other) for other in near)


def find_schema_twins(
    schemas: Mapping[str, Mapping[Column, str]], splits: Mapping[str, Container[str]]
) -> dict[str, Finding]:
    """Return {database_name: Finding} for each database that has a twin in the other split. A
    database in both splits is no twin of itself.

    Twins share at least MIN_SHARE of all (table, column) pairs that either has. The evidence names
    the most similar twin, the first by name of several, and says whether even the types are equal.
    """
    in_split = {split: [name for name in schemas if split in splits[name]] for split in SPLITS}
    twins: dict[str, set[tuple[float, str, bool]]] = defaultdict(set)
    for name, other in _list_pairs(schemas, in_split[TRAIN], in_split[EVAL]):
        mine, its = schemas[name], schemas[other]
        share = len(mine.keys() & its.keys()) / max(len(mine.keys() | its.keys()), 1)
        if share >= MIN_SHARE and name != other:
            twins[name].add((-share, other, mine == its))
            twins[other].add((-share, name, mine == its))
    findings = {}
    for name, matches in twins.items():
        share, database_name, has_same_types = min(matches)
        evidence = {
            "database": database_name,
            "share": round(-share, 3),
            "same_types": has_same_types,
            "count": len(matches),
        }
        findings[name] = Finding("schema_in_both_splits", evidence)
    return findings


def normalize_sql(sql: str) -> str:
    """Return SQL of the dialect spoken in lower case (except texts), with single spaces, without
    comments and quotes.

    >>> normalize_sql("SELECT  count(*) FROM [Ship] WHERE flag = 'Peru' ; -- all")
    "select count ( * ) from ship where flag = 'Peru'"
    """
    try:
        sql = trim_sql(sql)
        tokens = sql_dialect().tokenize(sql)
    except TokenError:  # an unclosed quote
        return " ".join(sql.split())
    words = [
        f"'{token.text}'"
        if sql[token.start] in _TEXT_MARKS or token.token_type in _TEXTS_WITH_A_PREFIX
        else token.text.casefold()
        for token in tokens
    ]
    return " ".join(words)


class HeldOut:
    """The questions of public dev and test sets, which a training set must not contain.

    A question overlaps with one of them if

    - both have the same text, ignoring case, white space and marks at the end;
    - both have the same SQL, ignoring case outside of texts, white space, comments and quotes;
    - both text and SQL are similar. One of the two alone proves little: thousands of questions ask
      how many of something there are.

    records: each with `question_text`, `gold_sql`, and as `source` the corpus, file and row.
    min_similarity: the least similarity of similar texts.
    """

    def __init__(self, records: list[dict[str, Any]], *, min_similarity: float) -> None:
        self._min_similarity = min_similarity
        self._sources = [record["source"] for record in records]
        self._texts = [normalize_question(record["question_text"]) for record in records]
        self._queries = [normalize_sql(record["gold_sql"]) for record in records]

    def find_overlap(self, question: Question) -> Finding | None:
        """Return the finding of a question, which names the most similar held-out question. Return
        None without such a question, and if the question has no answer. Held-out questions of its
        own corpus do not count."""
        if question.answer_type is None or not self._sources:
            return None
        text, sql = normalize_question(question.question_text), normalize_sql(question.gold_sql)
        likes = []
        for index in self._list_places(text, sql):
            of_text = _measure_similarity(text, self._texts[index])
            of_sql = _measure_similarity(sql, self._queries[index])
            most, least = max(of_text, of_sql), min(of_text, of_sql)
            is_like = most == 1 or least >= self._min_similarity
            if is_like and self._sources[index]["corpus"] != question.corpus:
                likes.append((-most, -least, index, of_text, of_sql))
        if not likes:
            return None
        *_, index, of_text, of_sql = min(likes)
        source = {name: self._sources[index][name] for name in ("corpus", "file", "index")}
        evidence = {**source, "text_similarity": of_text, "sql_similarity": of_sql}
        return Finding("overlap", evidence)

    def _list_places(self, text: str, sql: str) -> set[int]:
        indexes = {index for index, other in enumerate(self._queries) if sql and sql == other}
        if text:
            indexes.update(index for index, _ in _extract(text, self._texts, self._min_similarity))
        return indexes


def _measure_similarity(text: str, other: str) -> float:
    """Return the similarity of two texts, from 0 to 1; 1 only if they are equal."""
    return 1.0 if text == other else min(round(fuzz.ratio(text, other) / 100, 3), 0.999)

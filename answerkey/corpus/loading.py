"""Load every question of the chosen databases once, unchanged or as a curator corrected it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from answerkey.base.errors import InputError
from answerkey.base.kinds import (
    Day,
    From0,
    Sha256,
    Words,
    check_value,
    mapping,
    one_of,
    text,
)
from answerkey.base.log import spell_count
from answerkey.base.paths import CORRECTIONS
from answerkey.base.records import hash_question
from answerkey.base.shipped import find_file
from answerkey.base.yaml_files import load_yaml
from answerkey.corpus.corpora import (
    GRADING_METHOD,
    Corpus,
    choose_db_ids,
    choose_spider,
    name_databases,
    read_source_questions,
)
from answerkey.corpus.records import HeldOutQuestion, SourceQuestion
from answerkey.corpus.splits import refuse_crossing
from answerkey.engines.sqlite.files import check_db_ids
from answerkey.risk.verdicts import Key, Readings
from answerkey.scoring.rules import read_rule
from answerkey.sections.corpora import ALL, VALIDATION, Download, Entry, HubQuestions

if TYPE_CHECKING:
    from answerkey.dataset import CorrectionNote

ACTIONS = _, REPLACE = ("exclude", "replace")
REPLACEABLE = ("question_text", "gold_sql", "evidence")

Link = Annotated[str, text("an address", pattern=r"^https?://")]
Replacement = Annotated[
    dict[str, str], mapping(f"some of {', '.join(REPLACEABLE)}", Words, keys=REPLACEABLE)
]


def load_spider_questions(
    db_ids: Iterable[str] | str, *, corpus: Corpus | None = None, limits: Download | None = None
) -> list[SourceQuestion]:
    """Return a record for each source question of these databases (`all`: of every one with
    questions), sorted by database, then train before validation, then in the order of the files.
    The default corpus is Spider from the hub.

    Raises:
        ConnectionError: "Failed to download Spider dataset: ...".
        ValueError: a database has no questions, or has questions in both source splits.
    """
    chosen = db_ids if db_ids == ALL else check_db_ids(db_ids)
    if not chosen:
        return []
    corpus, limits = choose_spider(corpus, limits)
    _, records, _ = _read_chosen(corpus, chosen, limits)
    refuse_crossing(records, [record["spider_split"] for record in records], {})
    return records


class LoadedCorpora(NamedTuple):
    """The questions of some corpora, by database, and the number of rows of each of their files.

    notes: lines for the log about files of corrections that name questions by a hash.
    hashed: these corrections, by database and sha256 of the questions that they have changed.
    """

    records: list[SourceQuestion]
    rows: dict[str, dict[str, int]]
    notes: list[str]
    hashed: dict[Key, Correction]


def load_corpora(corpora: Iterable[Corpus], *, limits: Download) -> LoadedCorpora:
    """Return the questions of some corpora, corrected and named; if several corpora share a
    database, in the order of the corpora."""
    chosen: list[tuple[Corpus, list[str]]] = []
    records: list[SourceQuestion] = []
    rows: dict[str, dict[str, int]] = {}
    notes: list[str] = []
    hashed: dict[Key, Correction] = {}
    for corpus in corpora:
        db_ids, questions, rows[corpus.name] = _read_chosen(corpus, corpus.db_list, limits)
        if corpus.corrections is not None:
            path = find_file(CORRECTIONS / f"{corpus.corrections}.yaml")
            corrected = apply_corrections(questions, read_corrections(path))
            questions = corrected.records
            notes += corrected.describe(path)
            hashed |= {
                (
                    corpus.name_database(correction.database),
                    cast("str", correction.sha256),
                ): correction
                for correction in corrected.hits
            }
        chosen.append((corpus, db_ids))
        records += [_name_for_dataset(question, corpus) for question in questions]
    name_databases(chosen)
    records.sort(key=lambda record: record["database_name"])
    return LoadedCorpora(records, rows, notes, hashed)


def describe_corpora(
    entries: Mapping[str, Entry], rows: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, Any]]:
    """Return facts about each loaded corpus for the dataset card: a part of its entry that names no
    machine, and the number of rows of each file of questions."""
    described = {}
    for name, counts in rows.items():
        entry = entries[name]
        facts = {key: getattr(entry, key) for key in ("license", "language", "citation", "origin")}
        if isinstance(entry.questions, HubQuestions):
            questions = asdict(entry.questions)
        else:
            questions = {split: files for split, files in entry.questions.items() if files}
        rule = {} if entry.split is None else {"split": asdict(entry.split)}
        lists = {} if entry.corrections is None else {"corrections": entry.corrections}
        described[name] = {**facts, **rule, **lists, "questions": questions, "rows": counts}
    return described


def _read_chosen(
    corpus: Corpus, db_ids: Iterable[str] | str, limits: Download
) -> tuple[list[str], list[SourceQuestion], dict[str, int]]:
    """Return the ids of the chosen databases, their questions, and the number of rows of each file,
    including other databases."""
    records = list(read_source_questions(corpus, limits=limits))
    _check_rules(records)
    rows = dict(Counter(record["source"]["file"] for record in records))
    chosen = choose_db_ids(corpus, db_ids, {record["database_name"] for record in records})
    ranks = {db_id: rank for rank, db_id in enumerate(chosen)}
    records = [record for record in records if record["database_name"] in ranks]
    records.sort(key=lambda record: ranks[record["database_name"]])  # train is already first
    return chosen, records, rows


def _check_rules(records: Iterable[SourceQuestion]) -> None:
    for source in (record["source"] for record in records):
        try:
            read_rule(str(source.get(GRADING_METHOD, "strict")))
        except ValueError as error:
            where = f"{source['file']}: row {source['index']}"
            raise InputError(f"{where}: {GRADING_METHOD}: {error}") from error


def _name_for_dataset(question: SourceQuestion, corpus: Corpus) -> SourceQuestion:
    db_id = question["database_name"]
    name = corpus.name_database(db_id)
    question = question.copy()
    if name != db_id:
        question["database_name"] = name
        question["source"] = question["source"] | {"db_id": db_id}
    if corpus.id_prefix:
        question["id_prefix"] = corpus.id_prefix
    if corpus.now is not None:
        question["now"] = corpus.now
    return question


def read_held_out(corpora: Iterable[Corpus], *, limits: Download) -> Iterator[HeldOutQuestion]:
    """Yield the validation questions of corpora, which compare_questions looks for in the
    dataset."""
    for corpus in corpora:
        for question in read_source_questions(corpus, limits=limits):
            if question["spider_split"] == VALIDATION:
                yield {
                    "question_text": question["question_text"],
                    "gold_sql": question["gold_sql"],
                    "source": question["source"],
                }


# Corrections: the decisions of curators on single questions.
#
# No question is dropped. An excluded one keeps its position, and so all ids stay the same;
# select_questions sets it aside. A decision that does not fit its corpus any more stops the run.


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A decision on the question of this text, or of this sha256 of its text and gold SQL.

    gold_sql: one of its queries, if it occurs with several.
    file, index: its position in the edition that was read, for people; another edition may have
        another one.
    link: the report of the fault; None if it was found here.
    source, date: the author and the date.
    readings: the verdict of each pass, if a model read the question several times.
    where: its position in the file.
    """

    database: Words
    action: Annotated[str, one_of(ACTIONS)]
    reason: Words
    question: Words | None = None
    gold_sql: Words | None = None
    file: Words | None = None
    index: From0 | None = None
    sha256: Sha256 | None = None
    replacement: Replacement | None = None
    link: Link | None = None
    source: Words | None = None
    date: Day | None = None
    readings: Readings | None = None
    where: str = ""

    def __post_init__(self) -> None:
        quoted, hashed = ("question", "gold_sql"), ("file", "index", "sha256")
        given_fields = tuple(name for name in (*quoted, *hashed) if getattr(self, name) is not None)
        if given_fields not in (quoted, quoted[:1], hashed):
            expected = "question, with gold_sql or without, or file, index and sha256"
            raise ValueError(
                f"expected {expected}, found {', '.join(given_fields) or 'none of them'}"
            )
        if (self.action == REPLACE) != bool(self.replacement):
            raise ValueError("expected a replacement for action replace, and for no other")

    @property
    def name(self) -> str:
        """Return the question in words for people."""
        if self.question is not None:
            return f"{self.question!r} of database {self.database}"
        return f"sha256 {str(self.sha256)[:12]}... of database {self.database}"

    @property
    def note(self) -> CorrectionNote:
        note: CorrectionNote = {"action": self.action, "reason": self.reason, "link": self.link}
        if self.source is not None:
            note["source"] = self.source
        if self.date is not None:
            note["date"] = self.date
        if self.readings is not None:
            note["readings"] = self.readings
        return note


def read_corrections(path: Path) -> list[Correction]:
    """Return the decisions of a file, which is a YAML list and may be empty.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: names the file and the number of the invalid entry, from 1.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No {path}: expected a list of corrections, or `corrections: null` for the corpus"
        )
    entries = load_yaml(path)
    if not isinstance(entries, list):
        raise InputError(f"{path}: expected a list (empty: []), found {type(entries).__name__}")
    corrections = []
    for number, entry in enumerate(entries, start=1):
        where = f"{path}: entry {number}"
        correction = check_value(Correction, entry, where=where)
        corrections.append(replace(correction, where=where, reason=correction.reason.strip()))
    return corrections


class Corrected(NamedTuple):
    """All questions in their order, and the corrections that name a question by a hash: those with
    a question here, and those without."""

    records: list[SourceQuestion]
    hits: list[Correction]
    misses: list[Correction]

    def describe(self, path: Path) -> list[str]:
        """Return the line of the log; [] if all corrections quote their questions."""
        about = len(self.hits) + len(self.misses)
        if not about:
            return []
        line = f"{path}: {len(self.hits)} of {spell_count(about, 'correction')} by hash"
        if self.misses:
            names = ", ".join(correction.name for correction in self.misses[:_NAMED])
            line += (
                f"; {len(self.misses)} are about other text or SQL than this edition has: {names}"
            )
            line += ", ..." if len(self.misses) > _NAMED else ""
        return [line]


_NAMED = 3  # corrections without a question in a line of the log


def apply_corrections(
    questions: Iterable[SourceQuestion], corrections: Iterable[Correction]
) -> Corrected:
    """Return all questions in their order, with new records for those that have a decision.

    `source` of such a question gets `correction`: action, reason and link, author and date, and for
    a replacement `original`, the replaced values. Decisions on other databases are skipped. A
    decision by a hash applies to every question of its database with this text and SQL. There may
    be none, and a decision that quotes the question has priority.

    Raises:
        InputError: names file, entry and database, if a decision quotes no question here, may mean
            several queries, changes nothing, or meets another decision.
    """
    originals = list(questions)
    corrected = originals.copy()
    databases = {question["database_name"] for question in originals}
    here = [correction for correction in corrections if correction.database in databases]
    decided: dict[int, Correction] = {}

    def decide(indexes: Iterable[int], correction: Correction) -> None:
        where = f"{correction.where}: {correction.name}"
        for index in indexes:
            if index not in decided:
                decided[index] = correction
                corrected[index] = _correct(originals[index], correction, where)
            elif (decided[index].sha256 is None) == (correction.sha256 is None):
                raise InputError(f"{where}: is corrected by {decided[index].where} already")

    by_text: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, question in enumerate(originals):
        by_text[question["database_name"], question["question_text"]].append(index)
    for correction in here:
        if correction.question is not None:
            indexes = by_text[correction.database, correction.question]
            decide(_choose_query(indexes, correction, originals), correction)

    hashed = [correction for correction in here if correction.sha256 is not None]
    of_hashed = {correction.database for correction in hashed}
    by_hash: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    for index, question in enumerate(originals):
        if question["database_name"] in of_hashed:
            sha256 = hash_question(question["question_text"], question["gold_sql"])
            by_hash[question["database_name"], sha256].append(index)
    hits: list[Correction] = []
    misses: list[Correction] = []
    for correction in hashed:
        indexes = by_hash.get((correction.database, correction.sha256), [])
        decide(indexes, correction)
        (hits if indexes else misses).append(correction)
    return Corrected(corrected, hits, misses)


def _choose_query(
    indexes: list[int], correction: Correction, originals: list[SourceQuestion]
) -> list[int]:
    """Return those of the questions of one text that have the query of the correction."""
    queries = {originals[index]["gold_sql"] for index in indexes}
    if len(queries & {correction.gold_sql} if correction.gold_sql else queries) != 1:
        raise InputError(
            f"{correction.where}: {correction.name}: expected one of its queries as gold_sql, found"
            f" {correction.gold_sql!r}; its queries:"
            f" {sorted(queries) or 'none, since there is no such question'}"
        )
    return [i for i in indexes if correction.gold_sql in (None, originals[i]["gold_sql"])]


def _correct(question: SourceQuestion, correction: Correction, where: str) -> SourceQuestion:
    note = correction.note
    new_values = correction.replacement or {}
    replacement = {field: new_values[field] for field in REPLACEABLE if field in new_values}
    fields = cast("dict[str, str]", question)
    if replacement:
        note["original"] = {field: fields.get(field, "") for field in replacement}
    if same := [field for field in replacement if fields.get(field) == replacement[field]]:
        raise InputError(f"{where}: has this {same[0]} already: expected another")
    corrected = cast("SourceQuestion", fields | replacement)
    corrected["source"] = question["source"] | {"correction": note}
    return corrected

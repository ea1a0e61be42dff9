"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from answerkey.base.errors import InputError
from answerkey.base.kinds import check_value, mapping, one_of, text
from answerkey.base.yaml_files import load_yaml
from answerkey.corpus.corpora import (
    CORRECTIONS_DIR,
    GRADING_METHOD,
    Corpus,
    choose_db_ids,
    choose_spider,
    name_databases,
    read_source_questions,
)
from answerkey.corpus.records import HeldOutQuestion, SourceQuestion
from answerkey.corpus.splits import refuse_crossing
from answerkey.scoring.rules import read_rule
from answerkey.sections.corpora import ALL, VALIDATION, Download, Entry, HubQuestions
from answerkey.sqlite.files import check_db_ids

if TYPE_CHECKING:
    from answerkey.dataset import CorrectionNote

ACTIONS = _, REPLACE = ("exclude", "replace")
REPLACEABLE = ("question_text", "gold_sql", "evidence")

Words = Annotated[str, text("text", pattern=r"\S")]
Link = Annotated[str, text("an address", pattern=r"^https?://")]
Replacement = Annotated[
    dict[str, str], mapping(f"some of {', '.join(REPLACEABLE)}", Words, keys=REPLACEABLE)
]


def load_spider_questions(
    db_ids: Iterable[str] | str, *, corpus: Corpus | None = None, limits: Download | None = None
) -> list[SourceQuestion]:
    """One record a source question of these databases (`all`: of every one with questions), sorted
    by database, then train before validation, then as the files have them. Spider from the hub, if
    no corpus is given.

    Raises:
        ConnectionError: "Failed to download Spider dataset: ...".
        ValueError: on a database without questions, or with questions in both source splits.
    """
    chosen = db_ids if db_ids == ALL else check_db_ids(db_ids)
    if not chosen:
        return []
    corpus, limits = choose_spider(corpus, limits)
    _, records, _ = _read_chosen(corpus, chosen, limits)
    refuse_crossing(records, [record["spider_split"] for record in records], {})
    return records


class Loaded(NamedTuple):
    """The questions of some corpora, by database, and how many rows each of their files has."""

    records: list[SourceQuestion]
    rows: dict[str, dict[str, int]]


def load_corpora(corpora: Iterable[Corpus], *, limits: Download) -> Loaded:
    """The questions of some corpora, corrected and named; of a database that several have, in the
    order of the corpora."""
    chosen: list[tuple[Corpus, list[str]]] = []
    records: list[SourceQuestion] = []
    rows: dict[str, dict[str, int]] = {}
    for corpus in corpora:
        db_ids, questions, rows[corpus.name] = _read_chosen(corpus, corpus.db_list, limits)
        if corpus.corrections is not None:
            corrections = read_corrections(CORRECTIONS_DIR / f"{corpus.corrections}.yaml")
            questions = apply_corrections(questions, corrections)
        chosen.append((corpus, db_ids))
        records += [_name_for_dataset(question, corpus) for question in questions]
    name_databases(chosen)
    records.sort(key=lambda record: record["database_name"])
    return Loaded(records, rows)


def describe_corpora(
    entries: Mapping[str, Entry], rows: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, Any]]:
    """Facts of each loaded corpus for the dataset card: a part of its entry that names no machine,
    and how many rows each of its files of questions has."""
    described = {}
    for name, counts in rows.items():
        entry = entries[name]
        facts = {key: getattr(entry, key) for key in ("license", "language", "citation", "origin")}
        if isinstance(entry.questions, HubQuestions):
            questions = asdict(entry.questions)
        else:
            questions = {split: files for split, files in entry.questions.items() if files}
        rule = {} if entry.split is None else {"split": asdict(entry.split)}
        described[name] = {**facts, **rule, "questions": questions, "rows": counts}
    return described


def _read_chosen(
    corpus: Corpus, db_ids: Iterable[str] | str, limits: Download
) -> tuple[list[str], list[SourceQuestion], dict[str, int]]:
    """The ids of the chosen databases, their questions, and the rows of each file, of other
    databases too."""
    records = list(read_source_questions(corpus, limits=limits))
    _check_rules(records)
    rows = dict(Counter(record["source"]["file"] for record in records))
    chosen = choose_db_ids(corpus, db_ids, {record["database_name"] for record in records})
    ranks = {db_id: rank for rank, db_id in enumerate(chosen)}
    records = [record for record in records if record["database_name"] in ranks]
    records.sort(key=lambda record: ranks[record["database_name"]])  # train comes first already
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
    """The validation questions of corpora, which compare_questions looks for in the dataset."""
    for corpus in corpora:
        for question in read_source_questions(corpus, limits=limits):
            if question["spider_split"] == VALIDATION:
                yield {
                    "question_text": question["question_text"],
                    "gold_sql": question["gold_sql"],
                    "source": question["source"],
                }


# --- corrections: what curators decided about single questions
#
# Nothing is dropped: an excluded question keeps its place, and with it every id, and is set aside
# by select_questions. A decision that its corpus no longer needs or knows stops the run.


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A decision about a question.

    gold_sql: one of its queries, if it occurs with several.
    link: where the fault is reported; None for one that was found here.
    where: its place in the file.
    """

    database: Words
    question: Words
    action: Annotated[str, one_of(ACTIONS)]
    reason: Words
    gold_sql: Words | None = None
    replacement: Replacement | None = None
    link: Link | None = None
    where: str = ""

    def __post_init__(self) -> None:
        if (self.action == REPLACE) != bool(self.replacement):
            raise ValueError("expected a replacement for action replace, and for no other")


def read_corrections(path: Path) -> list[Correction]:
    """The decisions of a file, which is a YAML list and may be empty.

    Raises:
        FileNotFoundError: if there is no such file.
        InputError: with the file and the number of the entry, from 1, that cannot be meant.
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


def apply_corrections(
    questions: Iterable[SourceQuestion], corrections: Iterable[Correction]
) -> list[SourceQuestion]:
    """All questions in their order: new records for those that were decided about.

    `source` of such a question gets `correction`: action, reason and link, and for a replacement
    `original`, the values that were replaced. Decisions about other databases are passed over.

    Raises:
        InputError: with file, entry and database, if a decision matches no question, may mean
            several queries, changes nothing, or meets another decision.
    """
    corrected = list(questions)
    databases = {question["database_name"] for question in corrected}
    indexes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, question in enumerate(corrected):
        indexes[question["database_name"], question["question_text"]].append(index)
    decided: dict[int, str] = {}
    originals = corrected.copy()
    for correction in corrections:
        if correction.database not in databases:
            continue
        where = f"{correction.where}: {correction.question!r} of database {correction.database}"
        same_text = indexes[correction.database, correction.question]
        queries = {originals[index]["gold_sql"] for index in same_text}
        if len(queries & {correction.gold_sql} if correction.gold_sql else queries) != 1:
            raise InputError(
                f"{where}: expected one of its queries as gold_sql, found {correction.gold_sql!r};"
                f" its queries: {sorted(queries) or 'none, since there is no such question'}"
            )
        for index in same_text:
            if correction.gold_sql not in (None, originals[index]["gold_sql"]):
                continue
            if index in decided:
                raise InputError(f"{where}: is corrected by {decided[index]} already")
            decided[index] = correction.where
            corrected[index] = _correct(originals[index], correction, where)
    return corrected


def _correct(question: SourceQuestion, correction: Correction, where: str) -> SourceQuestion:
    note: CorrectionNote = {
        "action": correction.action,
        "reason": correction.reason,
        "link": correction.link,
    }
    given = correction.replacement or {}
    replacement = {field: given[field] for field in REPLACEABLE if field in given}
    fields = cast("dict[str, str]", question)
    if replacement:
        note["original"] = {field: fields.get(field, "") for field in replacement}
    if same := [field for field in replacement if fields.get(field) == replacement[field]]:
        raise InputError(f"{where}: has this {same[0]} already: expected another")
    corrected = cast("SourceQuestion", fields | replacement)
    corrected["source"] = question["source"] | {"correction": note}
    return corrected

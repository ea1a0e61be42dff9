"""Make corrections and verdicts from a published list about the gold SQL of a corpus.

    answerkey import-corrections dev_fixed.json --corpus bird --name fixed \\
        --source https://example.org/fixed --license cc-by-4.0 --date 2026-03-01

The list is JSON, JSON Lines or CSV. Its rows have other SQL, question or evidence for questions, or
a word that says whether their SQL is right. Changes of a question go to data/corrections/NAME.yaml,
and judgements alone to data/verdicts/NAME.jsonl. A question on which two lists disagree is
disputed: the log and the files say so. Name the list in `corpora.CORPUS.corrections` to use both.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from answerkey.base.errors import InputError
from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import CORRECTIONS, SCHEMAS, SHIPPED, VERDICTS
from answerkey.base.records import hash_question, list_files, replace_file, write_jsonl
from answerkey.corpus.corpora import Corpus, parse_corpora
from answerkey.corpus.loading import REPLACE, load_corpora, read_corrections
from answerkey.corpus.readers import read_source_rows
from answerkey.corpus.records import SplitQuestion
from answerkey.corpus.split_rules import choose_splits
from answerkey.corpus.splits import assign_splits
from answerkey.engines.schema import SchemaFile
from answerkey.engines.sqlite.statement import trim_statement
from answerkey.risk.verdicts import RIGHT, WRONG, Key, read_verdicts
from answerkey.sections.whole_file import read_params

# The names of fields in lists; the first one that a row has is used.
IDS = ("question_id", "id", "qid", "instance_id")
DATABASES = ("db_id", "database_name", "database", "db")
QUESTIONS = ("question", "question_text", "nl")
CHANGED_QUESTIONS = ("corrected_question", "fixed_question", "new_question")
EVIDENCE = ("evidence", "external_knowledge")
JUDGED_SQL = ("original_sql", "gold_sql", "original")
CHANGED_SQL = ("corrected_sql", "fixed_sql", "new_sql", "fixed")
SQL = ("sql", "SQL", "query")  # the judged SQL if the row has a verdict, otherwise the new SQL
LABELS = ("verdict", "label", "is_correct", "correct")
REASONS = ("reason", "note", "notes", "classes", "error_types", "comment", "explanation")

_WORDS = {
    **dict.fromkeys(("right", "correct", "true", "1", "yes"), RIGHT),
    **dict.fromkeys(("wrong", "incorrect", "false", "0", "no"), WRONG),
}
_SHOWN = 5
_FILE_NAME = re.compile(r"[\w-]+")  # as corpora.NAME.corrections accepts it

Row = dict[str, Any]  # of a list of any origin


class KnownQuestion(SplitQuestion):
    """A question of the corpus, with the id of its database there."""

    db_id: str


Index = Mapping[tuple[str | None, ...], list[KnownQuestion]]


@dataclass(frozen=True, slots=True)
class Claim:
    """The content of a row of a list, about gold or `judged_sql`; `changes` are for a
    correction."""

    question_id: Any
    db_id: str | None
    question: str | None
    judged_sql: str | None
    changes: dict[str, str]
    verdict: str | None
    reason: str


def read_claims(path: Path) -> Iterator[Claim]:
    """Yield the claim of each row of a list. InputError names a row that cannot be used."""
    for number, row in enumerate(_read_list(path)):
        where = f"{path}: row {number}"
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected fields with values, found {row!r:.80}")
        yield _read_claim(row, where)


def _read_list(path: Path) -> Iterable[Any]:
    return _read_csv(path) if path.suffix == ".csv" else read_source_rows(path)


def _read_csv(path: Path) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            for row in rows:
                if None in row or None in row.values():
                    count = len(rows.fieldnames or ())
                    raise InputError(f"{path}: line {rows.line_num}: expected {count} fields")
                yield row
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected CSV as UTF-8: {error}") from error


def _read_claim(row: Row, where: str) -> Claim:
    verdict = _read_verdict(row, where)
    sql = _find(row, SQL)
    judged, changed = _find(row, JUDGED_SQL), _find(row, CHANGED_SQL)
    question, changed_question = _find(row, QUESTIONS), _find(row, CHANGED_QUESTIONS)
    evidence = _find(row, EVIDENCE)
    if verdict is not None:
        judged, evidence = judged or sql, None
    else:
        changed, changed_question = changed or sql, changed_question or question
    if verdict is None and changed is None:
        raise InputError(
            f"{where}: expected another SQL ({', '.join((*CHANGED_SQL, *SQL))}) or a verdict"
            f" ({', '.join(LABELS)}, classes or ..._wrong), found {', '.join(row)}"
        )
    changes = {"question_text": changed_question, "gold_sql": changed, "evidence": evidence}
    return Claim(
        next((row[name] for name in IDS if row.get(name) not in (None, "")), None),
        _find(row, DATABASES),
        question,
        judged,
        {name: value for name, value in changes.items() if value is not None},
        verdict,
        _read_reason(row),
    )


def _find(row: Row, names: Iterable[str]) -> str | None:
    return next((row[n] for n in names if isinstance(row.get(n), str) and row[n].strip()), None)


def _read_verdict(row: Row, where: str) -> str | None:
    """Return the verdict of a row: a label, a field such as `expert_wrong`, or error classes."""
    for name in (*LABELS, *(name for name in row if name.endswith("_wrong"))):
        if row.get(name) not in (None, ""):
            verdict = _WORDS.get(str(row[name]).strip().lower())
            if verdict is None:
                raise InputError(f"{where}: {name} is {row[name]!r}, expected right or wrong")
            if name.endswith("_wrong"):  # true means wrong
                return RIGHT if verdict == WRONG else WRONG
            return verdict
    return WRONG if row.get("classes") else None


def _read_reason(row: Row) -> str:
    for value in map(row.get, REASONS):
        if isinstance(value, list):
            value = "; ".join(v if isinstance(v, str) else json.dumps(v) for v in value)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _index_questions(questions: Iterable[SplitQuestion]) -> Index:
    index: dict[tuple[str | None, ...], list[KnownQuestion]] = defaultdict(list)
    for loaded in questions:
        source = loaded["source"]
        db_id = source.get("db_id", loaded["database_name"])
        question: KnownQuestion = {**loaded, "db_id": db_id}
        for question_id in {question["question_id"], str(source.get("question_id", ""))}:
            index["id", question_id].append(question)
        index["text", db_id, _fold(question["question_text"])].append(question)
        index["sql", db_id, fold_sql(question["gold_sql"])].append(question)
    return index


def _find_question(claim: Claim, index: Index) -> KnownQuestion | None:
    """Return the one question with the text of a row (and its SQL, if several have the text), or
    else with its id, or else with its SQL."""
    same_text = index.get(("text", claim.db_id, _fold(claim.question or "")), [])
    same_sql = index.get(("sql", claim.db_id, fold_sql(claim.judged_sql or "")), [])
    same_id = [
        question
        for question in index.get(("id", str(claim.question_id)), [])
        if claim.db_id in (None, question["db_id"])  # otherwise the number counts something else
    ]
    both = [question for question in same_text if question in same_sql]
    matches = (
        candidates for candidates in (both, same_text, same_id, same_sql) if len(candidates) == 1
    )
    return next(matches, [None])[0]


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def fold_sql(sql: str) -> str:
    """Return a query with single spaces, and without blanks and semicolons at its ends.

    >>> fold_sql("SELECT  name\\nFROM t ;") == fold_sql("SELECT name FROM t")
    True
    """
    return re.sub(r"\s+", " ", trim_statement(sql)).strip()


class Imported(NamedTuple):
    corrections: list[dict[str, str | dict[str, str]]]
    verdicts: list[dict[str, str]]
    disputed: list[str]
    counts: Counter[str]


def _import_claims(
    claims: Iterable[Claim], index: Index, others: Mapping[Key, dict[str, str]], **facts: str
) -> Imported:
    """Return the corrections and verdicts of a list. `others` has the verdicts (right or wrong) of
    other lists on each question; `facts` are corpus, source and date."""
    done = Imported([], [], [], Counter())
    decided: set[Key] = set()
    for claim in claims:
        question = _find_question(claim, index)
        if question is None:
            done.counts["not found"] += 1
            continue
        judged_sql = (claim.verdict and claim.judged_sql) or question["gold_sql"]
        if fold_sql(judged_sql) != fold_sql(question["gold_sql"]):
            done.counts["about another query"] += 1
            continue
        changes = _list_changes(claim, question)
        verdict = claim.verdict or (WRONG if changes else RIGHT)
        database, question_text = question["database_name"], question["question_text"]
        key = database, hash_question(question_text, question["gold_sql"])
        if key in decided:
            done.counts["repeated"] += 1
            continue
        decided.add(key)
        other_verdicts = others.get((database, hash_question(question_text, "")), {}) | others.get(
            key, {}
        )
        against = sorted(name for name in other_verdicts if other_verdicts[name] != verdict)
        reason = claim.reason or f"The list says {verdict}."
        if against:
            done.disputed.append(f"{question['question_id']}: {verdict}, but not by {against[0]}")
            reason += f" Disputed: {', '.join(against)} says otherwise."
        if changes and verdict == WRONG:
            done.counts["corrected"] += 1
            done.corrections.append(_make_correction(question, changes, reason, facts["source"]))
        else:
            done.counts[verdict] += 1
            about = {
                "database_name": database,
                "question_text": question_text,
                "gold_sql": question["gold_sql"],
            }
            done.verdicts.append(about | {"verdict": verdict, "reason": reason} | facts)
    return done


def _list_changes(claim: Claim, question: KnownQuestion) -> dict[str, str]:
    fields = {name: question[name] for name in ("question_text", "gold_sql")}
    fields["evidence"] = question.get("evidence", "")
    changes = {}
    for name, value in claim.changes.items():
        fold = fold_sql if name == "gold_sql" else _fold
        if fold(value) != fold(fields[name]):
            changes[name] = value.strip()
    return changes


def _make_correction(
    question: KnownQuestion, changes: dict[str, str], reason: str, source: str
) -> dict[str, str | dict[str, str]]:
    link = source.split()[0]
    return {
        "database": question["db_id"],
        "question": question["question_text"],
        "gold_sql": question["gold_sql"],
        "action": REPLACE,
        "replacement": changes,
        "reason": reason,
        **({"link": link} if link.startswith(("https://", "http://")) else {}),
    }


def _read_others(corpus: Corpus, name: str) -> dict[Key, dict[str, str]]:
    """Return the verdicts of all other files of verdicts and corrections, the project's and the
    package's, by key and name of the file. For a correction that names no query, the key has an
    empty one."""
    verdicts: dict[Key, dict[str, str]] = defaultdict(dict)
    shipped = {path.stem for path in list_files(SHIPPED / VERDICTS, "*.jsonl")}
    for verdict in read_verdicts(used=shipped):
        if (stem := Path(verdict.where.rpartition(":")[0]).stem) != name:
            verdicts[verdict.key][stem] = verdict.verdict
    folders = (SHIPPED / CORRECTIONS, CORRECTIONS)
    lists = {path.stem: path for folder in folders for path in list_files(folder, "*.yaml")}
    for path in lists.values():
        for correction in read_corrections(path) if path.stem != name else ():
            database = corpus.name_database(correction.database)
            sha256 = correction.sha256 or hash_question(
                correction.question or "", correction.gold_sql or ""
            )
            verdicts[database, sha256][path.stem] = WRONG
    return verdicts


def import_list(path: Path, *, corpus: str, name: str, source: str, license: str, day: str) -> None:
    log = start_log("import-corrections")
    if not _FILE_NAME.fullmatch(name):
        raise InputError(f"--name is {name!r}, expected a file name without ending: bird_fixed")
    try:
        date.fromisoformat(day)
    except ValueError:
        raise InputError(f"--date is {day!r}, expected a day: 2026-03-01") from None
    params = read_params()
    entries = params.corpora
    download = params.download
    (entry,) = parse_corpora(corpus, entries)
    entry = replace(entry, corrections=None)  # the list is about the corpus's own gold
    records = load_corpora([entry], limits=download).records
    rule = entries[corpus].split
    rules = {} if rule is None else {corpus: rule}
    splits = choose_splits(records, rules, partial(SchemaFile, SCHEMAS))
    questions = assign_splits(records, splits=splits)
    source = " ".join(f"{source} ({license})".split())  # it becomes one line of a comment
    index, others = _index_questions(questions), _read_others(entry, name)
    facts = {"corpus": corpus, "source": source, "date": day}
    done = _import_claims(read_claims(path), index, others, **facts)
    if done.corrections:
        path = CORRECTIONS / f"{name}.yaml"
        text = yaml.safe_dump(done.corrections, allow_unicode=True, sort_keys=False, width=100)
        with replace_file(path) as file:
            file.write(f"# Made by `answerkey import-corrections` of {source}.\n{text}".encode())
        log.info(f"{path}: {spell_count(len(done.corrections), 'correction')}")
    if done.verdicts:
        path = VERDICTS / f"{name}.jsonl"
        log.info(f"{path}: {spell_count(write_jsonl(path, done.verdicts), 'verdict')}")
    for line in done.disputed[:_SHOWN]:
        log.info(f"disputed: {line}")
    rows = spell_count(done.counts.total(), "row")
    log.info(f"{rows}{list_counts(done.counts)}; {len(done.disputed):,} disputed")

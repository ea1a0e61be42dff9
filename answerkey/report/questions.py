"""Questions for the report: the decision, the reasons, and an answer cut to a readable size.

All questions are shown, or a sample of them if they are too many. The sample is the same everywhere
and has examples of every reason and flag.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from answerkey.base.records import hash_value, read_jsonl
from answerkey.dataset import (
    AUDIT,
    EXCLUDED,
    RISK_MEANINGS,
    SUITES,
    Question,
    QuestionSource,
    read_classified,
)
from answerkey.engines.names import SQLITE, TITLES, name_engine
from answerkey.engines.opening import find_database_file, open_database
from answerkey.engines.schema import SchemaFile, Table
from answerkey.engines.shown import write_statement
from answerkey.engines.sqlite.clock import describe_clock
from answerkey.flags import DIALECT_DIFFERS
from answerkey.report.columns import TableSummary, summarize_table
from answerkey.risk.explanations import (
    SENTENCES,
    count_shown,
    describe_difference,
    describe_repeats,
    explain_difference,
    find_doubts,
)
from answerkey.risk.verdicts import find_texts_before

if TYPE_CHECKING:
    from answerkey.alternatives.shown import Difference, Rows
    from answerkey.suites.records import SuiteRecord

Record = dict[str, Any]  # a line of audit.jsonl or of excluded.jsonl

_LATENT = "latent_ambiguity"
# Parts of a flag's evidence that are not spelled out: those shown with its repair, and codes.
_UNSAID = ("repair", "answers", "kind", "difference")
_JUDGED = {
    "judged_right": "right",
    "judged_wrong": "wrong",
    "judged_wrong_sql": "wrong",
    "judged_ambiguous": "ambiguous",
}
_SHOWN_APART = ("correction", "unconfirmed")  # parts of a source with a place of their own
_MIN_CELL_CHARACTERS = 20  # of a cell, however many columns there are
_MAX_TABLES = 40  # of a database, in addition to those that questions use
_MAX_COLUMNS = 100  # of a table, that are described in words
_MAX_SUMMARY_STEPS = 2_000_000  # of a query that counts a column: some hundred thousand rows
_EXACT_IN_SCRIPT = 2**53  # JavaScript's numbers are exact up to this whole number


class ShownAnswer(TypedDict):
    """An answer as rows of cells, and its number of rows before the cut."""

    rows: list[list[Any]]
    count: int


class ShownRows(ShownAnswer):
    """Rows of one of two answers; if it helps, how often each occurs in both, in words."""

    times: list[str]


class OtherQuery(TypedDict):
    """Another right query, and its answer."""

    sql: str
    answer: ShownAnswer


class Agreed(TypedDict):
    """The query whose answer models agree on, and how many of them do."""

    sql: str
    models: str


class Beside(TypedDict):
    """A query beside gold.

    doubts: codes of flags or readings, whose sentences are in `meanings`.
    difference: a sentence that says whether the answers differ.
    title: the title of the rows of each side.
    rows: those of gold, and those of the query; empty if both have the same answer.
    """

    doubts: list[str]
    sql: str
    difference: str
    title: str
    rows: list[ShownRows]


class ShownRepair(Beside):
    """A query that may be meant rather than gold, and can be accepted as a correction.

    answers: whether its answer is gold's.
    """

    answers: str


class ShownVerdict(TypedDict):
    """A verdict; sql, answers, kind and readings are those of the verdict."""

    verdict: str
    reason: str
    source: str
    date: str
    sql: str | None
    answers: str | None
    kind: str | None
    readings: list[str]


class ShownTable(TableSummary):
    """A table: its statement, its number of rows, and descriptions of its columns."""

    sql: str


class ShownCorrection(TypedDict):
    """A correction: its effect, reason and author; text and sql: the former question and query, if
    it replaced them."""

    action: str
    reason: str
    source: str
    text: str | None
    sql: str | None


class ShownSuite(TypedDict):
    """A test suite: the scores of the database and of the suite, the numbers of killed neighbors
    and of databases, and the operator and SQL of surviving neighbors."""

    scores: list[float] | None
    killed: int
    databases: int
    alive: list[list[str]]


class Row(TypedDict):
    """A question for the page's script; texts are cut.

    question: the text, its evidence and its clock; text: the text alone, if it has one of these.
    reason: why it is left out; None if it is selected.
    findings: codes, each with the names and texts of its evidence.
    names: the column names of the answer.
    latent: a reading that gives another answer, but only on a database of the test suite.
    verdict: the one that counts.
    as_in_corpus: see `find_corpus_text`.
    """

    id: str
    question: str
    text: str | None
    database: str
    corpus: str
    split: str
    difficulty: str | None
    answer_type: str | None
    reason: str | None
    answer_risk: float | None
    sql_risk: float | None
    findings: list[tuple[str, list[list[str]]]]
    sql: str
    names: list[str]
    answer: ShownAnswer | None
    others: list[OtherQuery]
    tables: list[str]
    hardness: str | None
    is_ordered: bool
    source: str
    repairs: list[ShownRepair]
    latent: Beside | None
    suite: ShownSuite | None
    agreed: Agreed | None
    verdict: ShownVerdict | None
    correction: ShownCorrection | None
    as_in_corpus: dict[str, str] | None


def read_page_rows(product: Path, *, max_rows: int, max_characters: int) -> list[Row]:
    """Return the rows of the page's table, in the order of the corpus."""
    ids = choose_ids(_read_sidecars(product), max_rows=max_rows)
    records = {
        record["question_id"]: record
        for record in _read_sidecars(product)
        if record["question_id"] in ids
    }
    suites = {
        suite["question_id"]: suite
        for suite in read_jsonl(product / SUITES)
        if suite["question_id"] in ids
    }
    return [
        make_page_row(question, records[name], suites.get(name), max_characters=max_characters)
        for question in read_classified()
        if (name := question.question_id) in records
    ]


def _read_sidecars(product: Path) -> Iterator[Record]:
    return chain(read_jsonl(product / AUDIT), read_jsonl(product / EXCLUDED))


def choose_ids(records: Iterable[Record], *, max_rows: int) -> set[str]:
    """Return the ids of at most `max_rows` questions to show: some of every code, then a tenth with
    the highest answer risk, then others. They are ordered by a hash of the id, so that other
    questions hardly change the choice."""
    line = sorted(
        (hash_value(record["question_id"]), record["question_id"], _list_codes(record), risk)
        for record in records
        for risk in [record.get("answer_risk") or 0]
    )
    seen: Counter[str] = Counter()
    some = []
    for entry in line:
        if any(seen[code] < max(1, max_rows // 200) for code in entry[2]):
            seen.update(entry[2])
            some.append(entry)
    riskiest = sorted(line, key=lambda entry: -entry[3])[: max_rows // 10]
    ids = dict.fromkeys(entry[1] for entry in (*some, *riskiest, *line))
    return set(islice(ids, max_rows))


def _list_codes(record: Record) -> list[str]:
    if "reason" in record:
        return [record["reason"]]
    return [flag["code"] for flag in record["flags"]]


def make_page_row(
    question: Question, record: Record, suite: SuiteRecord | None, *, max_characters: int
) -> Row:
    """Return everything that the report shows of a question, from its record of audit.jsonl or
    excluded.jsonl and its test suite."""
    most = max_characters
    text = question.question_text
    asked = "\n".join(filter(None, [text, question.evidence, describe_clock(question.now)]))
    findings = _list_findings(record, most=most)
    answer = None
    # SQLite's answer to SQL of another engine is no answer to the question.
    if question.answer_type is not None and record.get("reason") != DIALECT_DIFFERS:
        answer = show_answer(question.gold_answer, max_characters=most)
    row: Row = {
        "id": question.question_id,
        "question": cut_text(asked, most),
        "text": cut_text(text, most) if asked != text else None,
        "database": question.database_name,
        "corpus": question.corpus,
        "split": question.split,
        "difficulty": question.difficulty,
        "answer_type": question.answer_type,
        "reason": record.get("reason"),
        "answer_risk": record.get("answer_risk"),
        "sql_risk": record.get("sql_risk"),
        "findings": findings,
        "sql": cut_text(question.gold_sql, most),
        "names": (question.answer_columns or []) if answer else [],
        "answer": answer,
        "others": [
            {
                "sql": cut_text(other["sql"], most),
                "answer": show_answer(other["answer"], max_characters=most),
            }
            for other in question.other_answers or ()
        ],
        "tables": question.tables_involved or [],
        "hardness": question.hardness,
        "is_ordered": bool(question.order_matters),
        "source": _describe_source(question.source, record.get("engine", SQLITE)),
        "repairs": list(_show_repairs(record, most=most)),
        "latent": _find_latent(record, most=most),
        "suite": None if suite is None else show_suite(suite, max_characters=most),
        "agreed": _find_agreed(record, most=most),
        "verdict": _find_verdict(record, most=most),
        "correction": _show_correction(question.source, most=most),
        "as_in_corpus": None,
    }
    row["as_in_corpus"] = find_corpus_text(question, row, max_characters=most)
    return row


def _list_findings(record: Record, *, most: int) -> list[tuple[str, list[list[str]]]]:
    """Yield each code with its evidence, without a query that is shown beside gold with its
    answer."""
    flags = [(flag["code"], flag["evidence"]) for flag in record["flags"]]
    if (reason := record.get("reason")) is not None:
        is_flag = record["stage"] == "audit_gold_answers"
        first = (reason, json.loads(record["detail"]) if is_flag else {"detail": record["detail"]})
        flags = [first, *(flag for flag in flags if flag != first)]
    return [
        (
            code,
            [
                [name, cut_text(text, most)]
                for name, text in _describe_evidence(code, evidence, most=most)
            ],
        )
        for code, evidence in flags
    ]


def _describe_evidence(code: str, evidence: Record, *, most: int) -> list[tuple[str, str]]:
    if code in (_LATENT, *_JUDGED) and len(evidence.get("sql", "")) <= most:
        return []
    if code == "answer_risk" and "signs" in evidence:
        return [_describe_sign(sign) for sign in evidence["signs"]]
    return [pair for pair in _spell_evidence(evidence) if pair[0] not in _UNSAID and pair[1]]


def _describe_sign(sign: Record) -> tuple[str, str]:
    """Return how often answers with a sign are wrong, and its sentence; a reading has its rule's.

    >>> _describe_sign({"code": "cross_join", "precision": 0.7219})
    ('72 % wrong', 'No condition joins two tables, so that every row meets every other.')
    """
    code = sign["kind"] if sign["code"] == "reading" else sign["code"]
    share = min(99, max(1, round(100 * sign["precision"])))  # it is never certain
    return f"{share} % wrong", SENTENCES[code]


def _spell_evidence(evidence: Record) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _spell(value)) for name, value in evidence.items()]


def _spell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "; ".join(f"{name}: {text}" for name, text in _spell_evidence(value))
    if isinstance(value, list):
        is_nested = any(isinstance(part, list | dict) for part in value)
        parts = (_spell_row(part) if isinstance(part, list) else _spell(part) for part in value)
        return ("\n" if is_nested else ", ").join(parts)
    return "NULL" if value is None else json.dumps(value)


def _spell_row(row: list[Any]) -> str:
    """Return the cells of a row, with texts in quotes.

    >>> _spell_row(["5", 5, None, "O'Brien"])
    "'5', 5, NULL, 'O''Brien'"
    """
    return ", ".join(
        "'{}'".format(cell.replace("'", "''")) if isinstance(cell, str) else _spell(cell)
        for cell in row
    )


def cut_text(text: str, most: int) -> str:
    """Return a text of at most `most` characters, with a note if it was longer.

    >>> cut_text("abcdef", 6), cut_text("abcdefg", 4)
    ('abcdef', 'abcd… (7 characters in all)')
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters in all)"


def show_answer(answer: Any, *, max_characters: int) -> ShownAnswer:
    """Return an answer as rows of cells: `rows`, and `count`, the number of rows before the cut.

    >>> show_answer([["x", 1.0], [None, 2]], max_characters=99)
    {'rows': [['x', ['1.0']], [None, 2]], 'count': 2}

    A number that a script would write differently is text in a list of its own. Rows are kept while
    they fit into `max_characters`. At least one row is kept; if it is too long, its cells are cut.
    """
    values = answer if isinstance(answer, list) else [answer]
    kept: list[list[Any]] = []
    room = max_characters
    for value in values:
        row = value if isinstance(value, list) else [value]
        most = max(_MIN_CELL_CHARACTERS, max_characters // len(row))
        cells = [_show_cell(cell, most) for cell in row]
        room -= sum(len(_spell(cell)) + 1 for cell in cells)
        if kept and room < 0:
            break
        kept.append(cells)
    return {"rows": kept, "count": len(values)}


def _show_cell(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, most)
    if isinstance(value, float) or (value is not None and abs(value) > _EXACT_IN_SCRIPT):
        return [json.dumps(value)]
    return value


def _show_repairs(record: Record, *, most: int) -> Iterator[ShownRepair]:
    """Yield the repairs of a question, the likeliest first, without those whose SQL would be cut: a
    repair may be accepted as a correction."""
    for repair in record.get("repairs") or ():
        if len(repair["sql"]) <= most:
            yield {
                "doubts": find_doubts(repair["rule"], record["flags"]),
                "sql": repair["sql"],
                "answers": repair["answers"],
                "difference": explain_difference(repair),
                **_show_sides(
                    repair.get("difference"),
                    repair.get("gold_rows"),
                    repair.get("repair_rows"),
                    most=most,
                ),
            }


class _Sides(TypedDict):
    title: str
    rows: list[ShownRows]


_TITLES = {
    "order": "Rows from the first that stands elsewhere",
    "repeats": "Rows that the other has less often",
    "rows": "Rows that the other lacks",
}


def _show_sides(
    difference: Difference | None, gold: Rows | None, other: Rows | None, *, most: int
) -> _Sides:
    if difference is None:
        return {"title": "", "rows": []}
    rows: list[ShownRows] = [
        {
            **show_answer(side, max_characters=most),
            "count": count_shown(difference, side_index),
            "times": describe_repeats(difference, side_index),
        }
        for side_index, side in enumerate((gold, other))
    ]
    return {"title": _TITLES[difference["differs"]], "rows": rows}


def _find_latent(record: Record, *, most: int) -> Beside | None:
    evidence = {flag["code"]: flag["evidence"] for flag in record["flags"]}.get(_LATENT)
    if evidence is None or len(evidence["sql"]) > most:
        return None
    difference = evidence["difference"]
    does = "fails" if difference is None else "answers otherwise"
    how = [describe_difference(difference)] if difference else []
    return {
        "doubts": [evidence["reading"]],
        "sql": evidence["sql"],
        "difference": " ".join(
            [f"On a database of the test suite it {does}, and here it does not.", *how]
        ),
        **_show_sides(difference, evidence["gold_rows"], evidence["reading_rows"], most=most),
    }


def _find_agreed(record: Record, *, most: int) -> Agreed | None:
    evidence = {flag["code"]: flag["evidence"] for flag in record["flags"]}
    agreement = evidence.get("models_agree_otherwise", {})
    if "sql" not in agreement or len(agreement["sql"]) > most:
        return None
    models = f"{agreement['models']} of {agreement['of']} models"
    return {"sql": agreement["sql"], "models": models}


def find_corpus_text(question: Question, row: Row, *, max_characters: int) -> dict[str, str] | None:
    """Return the fields by which a correction identifies a question, if the row shows other texts.

    They are database, question and SQL as in the corpus: before any correction, and without a
    prefix. Return None if a correction cannot identify the question, or if one of them is longer
    than the page allows.
    """
    where = question.source
    text_before, sql_before = find_texts_before(question)
    every = (question.question_text, question.gold_sql, text_before, sql_before)
    if any(not text.strip() or len(text) > max_characters for text in every):
        return None
    texts = {
        "database": where.get("db_id", question.database_name),
        "question": text_before,
        "sql": sql_before,
    }
    shown = {"database": row["database"], "question": row["question"], "sql": row["sql"]}
    return {name: text for name, text in texts.items() if text != shown[name]}


def _describe_source(source: QuestionSource, engine: str) -> str:
    facts = [f"{name} {value}" for name, value in source.items() if name not in _SHOWN_APART]
    if engine != SQLITE:
        facts.append(f"engine {TITLES[engine]}")
    return "; ".join(facts)


def _find_verdict(record: Record, *, most: int) -> ShownVerdict | None:
    """Return the verdict on a question, unless its SQL would be cut."""
    for flag in record["flags"]:
        evidence = flag["evidence"]
        sql = evidence.get("sql")
        if flag["code"] in _JUDGED and len(sql or "") <= most:
            return {
                "verdict": _JUDGED[flag["code"]],
                "reason": cut_text(evidence["reason"], most),
                "source": evidence["source"],
                "date": evidence["date"],
                "sql": sql,
                "answers": evidence.get("answers"),
                "kind": evidence.get("kind"),
                "readings": evidence.get("readings", []),
            }
    return None


def _show_correction(source: QuestionSource, *, most: int) -> ShownCorrection | None:
    note = source.get("correction")
    if note is None:
        return None
    before = note.get("original", {})
    text, sql = before.get("question_text"), before.get("gold_sql")
    return {
        "action": note["action"],
        "reason": cut_text(note["reason"], most),
        "source": " ".join(filter(None, (note.get("source"), note.get("date"), note["link"]))),
        "text": text and cut_text(text, most),
        "sql": cut_text(sql, most) if sql else None,
    }


def show_suite(suite: SuiteRecord, *, max_characters: int) -> ShownSuite:
    """Return what the page's script shows of a question's suite; the sidecar has all of it."""
    score = suite["mutation_score"]
    return {
        "scores": None if score is None else [score["database"], score["suite"]],
        "killed": sum(fates["killed"] for fates in suite["operators"].values()),
        "databases": len(suite["databases"]),
        "alive": [
            [neighbor["operator"], cut_text(neighbor["sql"], max_characters)]
            for neighbor in suite["alive"]
        ],
    }


def pick_examples(rows: Iterable[Row], *, most: int) -> dict[str, list[Row]]:
    """Return up to `most` rows of each code that a question is counted by, the first ones."""
    examples: defaultdict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: hash_value(row["id"])):
        flags = dict.fromkeys(code for code, _ in row["findings"])
        for code in flags if row["reason"] is None else [row["reason"]]:
            if len(examples[code]) < most:
                examples[code].append(row)
    return dict(examples)


def make_payload(
    rows: Sequence[Row], schemas: SchemaFile, databases: Path, *, max_characters: int
) -> dict[str, object]:
    """Return the data of the page's script: column names once, then the values of each row; the
    tables of their databases, first those that they use; and a name of the dataset, made from its
    databases, that does not change when questions change."""
    finding_codes = {code for row in rows for code, _ in row["findings"]}
    beside = [query for row in rows for query in (*row["repairs"], row["latent"]) if query]
    codes = sorted(finding_codes.union(*(query["doubts"] for query in beside)))
    return {
        "columns": list(rows[0]) if rows else [],
        "rows": [list(row.values()) for row in rows],
        "meanings": {code: SENTENCES[code] for code in codes},
        "risks": RISK_MEANINGS,
        "schemas": dict(_show_schemas(rows, schemas, databases, most=max_characters)),
        "dataset": hash_value(sorted({(row["corpus"], row["database"]) for row in rows}))[:12],
    }


def _show_schemas(
    rows: Iterable[Row], schemas: SchemaFile, databases: Path, *, most: int
) -> Iterator[tuple[str, dict[str, ShownTable]]]:
    """Yield the tables of each database: those that questions use, and others up to a limit, with
    descriptions of their columns if the database is here and readable."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        asked[row["database"]].update(row["tables"])
    for name, tables in sorted(asked.items()):
        known = schemas[name].tables
        shown = [table for table in known if table.name in tables]
        others = [table for table in known if table.name not in tables]
        shown += others[: max(0, _MAX_TABLES - len(shown))]
        path = Path(find_database_file(databases, name))
        summaries = _summarize(path, shown)
        yield (
            name,
            {
                table.name: {
                    "sql": cut_text(_write_statement(path, table), most),
                    "rows": summaries[table.name]["rows"] if summaries else "",
                    "columns": summaries[table.name]["columns"][:_MAX_COLUMNS] if summaries else [],
                }
                for table in shown
            },
        )


def _write_statement(path: Path, table: Table) -> str:
    engine = name_engine(path)
    return table.sql if engine == SQLITE else write_statement(table, engine)


def _summarize(path: Path, tables: Iterable[Table]) -> dict[str, TableSummary]:
    try:
        with open_database(path) as database:
            return {
                table.name: summarize_table(database, table, max_steps=_MAX_SUMMARY_STEPS)
                for table in tables
            }
    except (FileNotFoundError, sqlite3.DatabaseError):
        return {}

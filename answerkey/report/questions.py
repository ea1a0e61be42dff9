"""Questions as the report shows them: what was decided, why, and an answer cut to what one reads.

All questions are shown, or where they are too many a sample of them that is the same everywhere and
holds some of every reason and flag.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answerkey.dataset import Question
from answerkey.errors import InputError
from answerkey.flags import EXPLANATIONS
from answerkey.records import DIFFICULTIES, SPLITS, hash_value
from answerkey.sqlite.answers import ANSWER_TYPES

Record = dict[str, Any]

AGREEMENT = "models_agree_otherwise"
_MOST_PER_CODE = 20
_FEWEST_IN_CELL = 20  # characters that a cell keeps, however many columns there are
_EXACT_IN_SCRIPT = 2**53  # JavaScript's numbers hold no greater whole number exactly


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided of a question: why it was left out (None if it was not), and each code
    with its evidence as pairs of a name and a text, the reason first. `risk` is its gold risk."""

    reason: str | None
    findings: list[tuple[str, list[tuple[str, str]]]]
    risk: float | None


def find_verdict(record: Record) -> Verdict:
    """The verdict in a record of audit.jsonl or of excluded.jsonl."""
    flags = [(flag["code"], flag["evidence"]) for flag in record["flags"]]
    reason = record.get("reason")
    if reason is not None:
        is_flag = record["stage"] == "audit_gold_answers"
        first = (reason, json.loads(record["detail"]) if is_flag else {"detail": record["detail"]})
        flags = [first, *(flag for flag in flags if flag != first)]
    findings = [(code, spell_evidence(evidence)) for code, evidence in flags]
    return Verdict(reason, findings, record.get("gold_risk"))


def list_codes(record: Record) -> list[str]:
    """What a question is counted by: its flags if it was selected, its reason if it was not."""
    if "reason" in record:
        return [record["reason"]]
    return [flag["code"] for flag in record["flags"]]


def spell_evidence(evidence: Record) -> list[tuple[str, str]]:
    """Evidence as pairs of a name and a text.

    >>> spell_evidence({"tied_positions": [1, 2], "conditions": [{"text": "a = 1", "rows": 3}]})
    [('tied positions', '1, 2'), ('conditions', 'text: a = 1; rows: 3')]
    """
    return [(name.replace("_", " "), _spell(value)) for name, value in evidence.items()]


def _spell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "; ".join(f"{name}: {text}" for name, text in spell_evidence(value))
    if isinstance(value, list):
        is_nested = any(isinstance(part, list | dict) for part in value)
        return ("\n" if is_nested else ", ").join(map(_spell, value))
    if value is None:
        return "NULL"
    return str(value) if type(value) is int else json.dumps(value)  # the same, and faster


def cut_text(text: str, most: int) -> str:
    """A text of at most so many characters, and a note where it was longer.

    >>> cut_text("abcdef", 6), cut_text("abcdefg", 4)
    ('abcdef', 'abcd… (7 characters in all)')
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters in all)"


def show_answer(answer: Any, *, max_characters: int) -> Record:
    """An answer as rows of cells: `rows`, and `count`, the number of rows before the cut.

    >>> show_answer([["x", 1.0], [None, 2]], max_characters=99)
    {'rows': [['x', ['1.0']], [None, 2]], 'count': 2}

    Numbers that a script would spell otherwise stand as text in a list of their own. As many rows
    are kept as have so many characters in all, and one at least, whose cells are cut instead.
    """
    values = answer if isinstance(answer, list) else [answer]
    kept: list[list[Any]] = []
    room = max_characters
    for value in values:
        row = value if isinstance(value, list) else [value]
        most = max(_FEWEST_IN_CELL, max_characters // len(row))
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


def choose_ids(records: Iterable[Record], *, max_rows: int) -> set[str]:
    """The ids of the questions to show: all, or `max_rows` of them, with some of every code and as
    far as there is room those of the highest gold risk, a tenth.

    A question's place in line is a hash of its id, so that other questions hardly move it. Memory
    grows with `max_rows` and not with the corpus.

    Raises:
        InputError: where max_rows is too small to show every code.
    """
    if max_rows < len(EXPLANATIONS):
        raise InputError(
            f"report_dataset.max_rows: expected at least {len(EXPLANATIONS)}, one for each reason"
            f" and flag, found {max_rows}"
        )
    per_code = max(1, min(_MOST_PER_CODE, max_rows // (2 * len(EXPLANATIONS))))
    nearest: list[tuple[float, str]] = []  # a heap whose top is the last in line
    riskiest: list[tuple[float, str]] = []
    by_code: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for record in records:
        question_id = record["question_id"]
        entry = (-int(hash_value(question_id)[:16], 16), question_id)
        _push(nearest, entry, max_rows)
        for code in list_codes(record):
            _push(by_code[code], entry, per_code)
        if record.get("gold_risk") is not None:
            _push(riskiest, (record["gold_risk"], question_id), max_rows // 10)
    chosen = {question_id for heap in by_code.values() for _, question_id in heap}
    for _, question_id in (*sorted(riskiest, reverse=True), *sorted(nearest, reverse=True)):
        if len(chosen) == max_rows:
            break
        chosen.add(question_id)
    return chosen


def _push(heap: list[tuple[float, str]], entry: tuple[float, str], most: int) -> None:
    if len(heap) < most:
        heapq.heappush(heap, entry)
    else:
        heapq.heappushpop(heap, entry)


def make_row(
    question: Question, verdict: Verdict, suite: Record | None, *, max_characters: int
) -> Record:
    """All that the report shows of a question; `suite` is its test suite as it is shown."""
    answer = None
    if question.answer_type is not None:
        answer = show_answer(question.gold_answer, max_characters=max_characters)
    text, evidence = question.question_text, question.evidence
    row = {
        "id": question.question_id,
        "question": cut_text(f"{text}\n{evidence}" if evidence else text, max_characters),
        "text": cut_text(text, max_characters) if evidence else None,
        "database": question.database_name,
        "corpus": question.corpus,
        "split": question.split,
        "difficulty": question.difficulty,
        "answer_type": question.answer_type,
        "reason": verdict.reason,
        "risk": verdict.risk,
        "findings": [
            [code, [[name, cut_text(text, max_characters)] for name, text in evidence]]
            for code, evidence in verdict.findings
        ],
        "sql": cut_text(question.gold_sql, max_characters),
        "answer": answer,
        "tables": question.tables_involved or [],
        "hardness": question.hardness,
        "is_ordered": bool(question.order_matters),
        "source": describe_source(question.source),
        "suite": suite,
        "agreed": find_agreed(verdict, max_characters=max_characters),
    }
    return row | {"as_in_corpus": find_corpus_text(question, row, max_characters=max_characters)}


def find_agreed(verdict: Verdict, *, max_characters: int) -> Record | None:
    """The query of models that agree with each other and not with gold, and how many they are.

    Return None if there is none, or if it is more text than the page takes.
    """
    evidence = dict(dict(verdict.findings).get(AGREEMENT, ()))
    if "sql" not in evidence or len(evidence["sql"]) > max_characters:
        return None
    return {"sql": evidence["sql"], "models": f"{evidence['models']} of {evidence['of']} models"}


def find_corpus_text(question: Question, row: Record, *, max_characters: int) -> Record | None:
    """The fields that a correction names a question by, as far as the row shows other text.

    They are database, question and SQL as the corpus has them: before any correction, and without a
    prefix. None where a correction cannot name the question, or where any of this is more text than
    the page takes.
    """
    where = question.source
    now = {"question_text": question.question_text, "gold_sql": question.gold_sql}
    before = now | where.get("correction", {}).get("original", {})
    every = (*now.values(), *before.values())
    if any(not text.strip() or len(text) > max_characters for text in every):
        return None
    texts = {
        "database": where.get("db_id", question.database_name),
        "question": before["question_text"],
        "sql": before["gold_sql"],
    }
    return {name: text for name, text in texts.items() if text != row[name]}


def describe_source(source: Record) -> str:
    """Where a question comes from, and why a curator corrected it.

    >>> describe_source({"file": "dev.json", "index": 3,
    ...                  "correction": {"action": "replace", "reason": "Wrong column."}})
    'file dev.json; index 3; corrected (replace): Wrong column.'
    """
    parts = [f"{name} {value}" for name, value in source.items() if name != "correction"]
    if correction := source.get("correction"):
        parts.append(f"corrected ({correction['action']}): {correction['reason']}")
    return "; ".join(parts)


def pick_examples(rows: Iterable[Record], *, most: int) -> dict[str, list[Record]]:
    """Up to `most` rows of each code that a question is counted by, those first in line."""
    found: defaultdict[str, list[Record]] = defaultdict(list)
    with_codes = (row for row in rows if row["findings"])
    for row in sorted(with_codes, key=lambda row: hash_value(row["id"])):
        flags = dict.fromkeys(code for code, _ in row["findings"])
        for code in flags if row["reason"] is None else [row["reason"]]:
            if len(found[code]) < most:
                found[code].append(row)
    return dict(found)


# The table of questions: what its script reads, and the filters above it.


def make_filters(
    rows: Sequence[Record], reasons: Mapping[str, int], flags: Mapping[str, int]
) -> list[Record]:
    """The filters of the table: a key, a name, and options in groups. Corpora are offered where
    the rows are of several."""
    corpora, databases = (sorted({row[key] for row in rows}) for key in ("corpus", "database"))

    def offer(key: str, name: str, *groups: tuple[str, Iterable[str]]) -> Record:
        return {
            "key": key,
            "name": name,
            "groups": [
                {"name": group, "options": [(value, value) for value in values]}
                for group, values in groups
            ],
        }

    return [
        *([offer("corpus", "Corpus", ("", corpora))] if len(corpora) > 1 else ()),
        offer("database", "Database", ("", databases)),
        offer("split", "Split", ("", SPLITS)),
        offer("difficulty", "Difficulty", ("", DIFFICULTIES)),
        offer("answer_type", "Answer type", ("", ANSWER_TYPES)),
        offer("outcome", "Outcome", ("", ("selected", "left out"))),
        offer(
            "code",
            "Reason or flag",
            ("Left out because of", sorted(code for code, count in reasons.items() if count)),
            ("In the dataset, flagged", sorted(code for code, count in flags.items() if count)),
        ),
    ]


def make_payload(rows: Sequence[Record], schemas: Mapping[str, Mapping[str, str]]) -> Record:
    """What the page's script reads: column names once, then the values of each row; and a name of
    the dataset, by its databases, that stays the same when questions change."""
    columns = list(rows[0]) if rows else []
    codes = sorted({code for row in rows for code, _ in row["findings"]})
    return {
        "columns": columns,
        "rows": [list(row.values()) for row in rows],
        "meanings": {code: EXPLANATIONS[code] for code in codes},
        "schemas": schemas,
        "dataset": hash_value(sorted({(row["corpus"], row["database"]) for row in rows}))[:12],
    }

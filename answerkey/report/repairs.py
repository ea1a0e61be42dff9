"""Doubts in words: what is doubted, what the repaired query answers beside gold, and how likely
gold is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.alternatives.rules import DOUBTS
from answerkey.base.errors import InputError
from answerkey.base.log import make_printable, spell_count
from answerkey.base.records import read_jsonl
from answerkey.dataset import RISK_MEANINGS, Question
from answerkey.flags import DIALECT_DIFFERS, EXPLANATIONS

if TYPE_CHECKING:
    from answerkey.alternatives.repairs import Repair

Record = dict[str, Any]

SENTENCES = {**EXPLANATIONS, **DOUBTS}


def find_doubts(rule: str, flags: Iterable[Mapping[str, Any]]) -> list[str]:
    """The code of the flag that names a repair; the rule itself, if it is a reading that no flag
    names; one for each of two rules that were tried together. SENTENCES has their sentences.

    >>> flags = [{"code": "group_by_non_key", "evidence": {"repair": "grouped_by_key"}}]
    >>> find_doubts("grouped_by_key", flags), find_doubts("grouped_by_key+any_case", flags)
    (['group_by_non_key'], ['group_by_non_key', 'any_case'])
    """
    codes = {flag["evidence"].get("repair"): flag["code"] for flag in flags}
    return [codes.get(name, name) for name in rule.split("+")]


def tell_doubts(rule: str, flags: Iterable[Mapping[str, Any]]) -> str:
    """What a repair says against gold, in sentences."""
    return " ".join(SENTENCES[code] for code in find_doubts(rule, flags))


def tell_difference(repair: Repair) -> str:
    """Whether a repair answers otherwise, in a sentence."""
    if repair["answers"] == "same":
        return "Both give the same answer here: gold SQL is in doubt, and not the answer."
    if not repair["gold_rows"] and not repair["repair_rows"]:
        return "The answers differ: the same rows, in another order."
    return "The answers differ."


def read_repairs(path: Path, *, by_sql: bool, limit: int | None) -> list[Record]:
    """The questions of repairs.jsonl, the highest answer_risk first, or the highest sql_risk.

    Raises:
        FileNotFoundError: if no run has made the file.
    """
    records = list(read_jsonl(path))
    if by_sql:
        records.sort(key=lambda record: (-record["sql_risk"], record["question_id"]))
    return records[:limit]


def describe_repaired(record: Record) -> str:
    """A question and its likeliest repair, as lines of text."""
    repair, *others = record["repairs"]
    lines = [
        f"{record['question_id']}: answer_risk {record['answer_risk']:.2f},"
        f" sql_risk {record['sql_risk']:.2f}",
        *_show_question(record),
        *_show_repair(repair, record["flags"]),
    ]
    if others:
        more = spell_count(len(others), "more repair")
        lines.append(f"  {more}: answerkey explain {record['question_id']}")
    return "\n".join(lines)


def _show_question(record: Record) -> Iterator[str]:
    for name in ("question_text", "evidence", "now", "gold_sql"):
        if text := record.get(name):
            yield _show(name.removesuffix("_text").removesuffix("_sql"), text)


def _show_repair(repair: Repair, flags: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    codes = dict.fromkeys([*find_doubts(repair["rule"], flags), repair["rule"]])
    yield _show("repair", repair["sql"])
    yield _show("reason", f"{tell_doubts(repair['rule'], flags)} ({', '.join(codes)})")
    yield _show("answers", tell_difference(repair))
    for name in ("gold_rows", "repair_rows"):
        if rows := repair.get(name):
            yield _show(f"only {name.removesuffix('_rows')}", json.dumps(rows, ensure_ascii=False))


def _show(name: str, text: str) -> str:
    return f"  {name:<12}{make_printable(text)}"


def explain_question(question: Question, why: Sequence[str | None] | None) -> str:
    """What is known of the gold of a question, as lines of text: its risks, flags and repairs.

    why: stage, reason and detail of what leaves it out, if something does.
    """
    lines = [f"{question.question_id}: {'usable' if why is None else f'left out: {why[1]}'}"]
    lines += _show_question(question._asdict())
    for name, meaning in RISK_MEANINGS.items():
        risk = getattr(question, name)
        told = "none: it has no answer" if risk is None else f"{risk:.2f}, {meaning}"
        lines.append(_show(name, told))
    lines += [_show("flag", f"{SENTENCES[code]} ({code})") for code in _list_codes(question)]
    for flag in question.flags:
        if flag["code"] == DIALECT_DIFFERS:
            lines += _show_dialect(flag["evidence"])
    for repair in question.repairs or ():
        lines += ["", *_show_repair(repair, question.flags)]
    return "\n".join(lines)


def _show_dialect(evidence: Mapping[str, Any]) -> Iterator[str]:
    """What gold SQL was, and how it goes in its own engine and in SQLite."""
    yield _show(evidence["dialect"], evidence["source_sql"])
    yield _show("differs", evidence.get("error") or evidence["detail"])
    for side in ("there", "here"):
        if (rows := evidence.get(side)) is not None:
            yield _show(side, json.dumps(rows, ensure_ascii=False))


def _list_codes(question: Question) -> list[str]:
    return list(dict.fromkeys(flag["code"] for flag in question.flags))


def find_questions(questions: Iterable[Question], ids: Sequence[str]) -> list[Question]:
    """The questions of these ids, in the order of the ids.

    Raises:
        InputError: with the ids that no question has.
    """
    wanted = set(ids)
    found = {
        question.question_id: question for question in questions if question.question_id in wanted
    }
    if missing := [name for name in ids if name not in found]:
        raise InputError(
            f"no question {', '.join(missing)}: expected question_ids, as answerkey repairs and"
            " reports/dataset.html show them"
        )
    return [found[name] for name in ids]

"""What each rule raised on gold that was read, and what it missed: whence
benchmarks/spider_readings.py has it.

Flags are counted by benchmarks/gold_flags.py, as for data/flag_precision.json. The queries of rules
are those that the audit executed: repairs, and readings that answer otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gold_flags import REPAIRED, TARGETS, Judged, encode_table, match_repairs

from answerkey.flags import FLAGS
from answerkey.risk.verdicts import AMBIGUOUS, OTHER, SAME, WRONG, Verdict

CORPUS = "spider"
PAIRED = "two together"
NOBODY = {"questions": 0, "wrong": 0}
Questions = Mapping[str, dict[str, Any]]  # of a run, by id, each with its verdict


def measure_doubts(judged: list[Judged], questions: Questions, run: Path) -> dict[str, Any]:
    """Return what the page tells of rules."""
    corrected = (
        (question, question["verdict"].sql)
        for question in questions.values()
        if is_wrong_answer(question["verdict"]) and question["verdict"].sql
    )
    matches = {
        question["question_id"]: is_same for question, is_same in match_repairs(run, corrected)
    }
    return {
        "flags": list_flags(judged),
        "queries": list_queries(questions, matches),
        "missed": count_missed(questions, matches),
        "doubted": {
            "questions": sum(each.is_doubted for each in judged),
            "wrong_answer": sum(each.is_doubted and bool(each.wrong["answers"]) for each in judged),
            "wrong": sum(each.is_doubted and bool(each.wrong["sql"]) for each in judged),
        },
    }


def list_flags(judged: list[Judged]) -> list[dict[str, Any]]:
    """Return how many questions have each flag and of how many of them the SQL is wrong; on how
    many it speaks against the answer, too, and of how many of these that is wrong."""
    tables = {target: encode_table(judged, target)[CORPUS]["flags"] for target in TARGETS}
    rows = [
        {
            "flag": code,
            "doubts_gold": code in REPAIRED,
            **{target: list(of.get(code, NOBODY).values()) for target, of in tables.items()},
        }
        for code in tables["sql"].keys() & FLAGS.keys()
    ]
    return sorted(rows, key=lambda row: (-row["sql"][0], row["flag"]))


def is_wrong_answer(verdict: Verdict) -> bool:
    """Whether the answer is wrong, too: also if what is asked cannot be said in one query."""
    return verdict.verdict == WRONG and verdict.answers != SAME


def list_queries(questions: Questions, matches: Mapping[str, list[bool]]) -> list[dict[str, Any]]:
    """Return of each rule on how many questions its query answers otherwise, on how many of these
    gold's answer is wrong, and on how many the query has the rows of what is asked; and the same of
    questions on which it is the first of several. Two rules in one query count as PAIRED."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for question_id, question in questions.items():
        if question["verdict"].verdict == AMBIGUOUS:
            continue
        repairs = question["repairs"] or ()
        is_same = matches.get(question_id) or [False] * len(repairs)
        rules: dict[str, bool] = {}
        for place, (repair, has_rows) in enumerate(zip(repairs, is_same, strict=True)):
            if repair["answers"] != OTHER:
                continue
            rule = PAIRED if "+" in repair["rule"] else repair["rule"]
            rules[rule] = rules.get(rule, False) or has_rows
            if place == 0:
                counts[rule]["first"] += 1
                counts[rule]["first_has_rows"] += has_rows
        for rule, has_rows in rules.items():
            counts[rule]["questions"] += 1
            counts[rule]["wrong_answer"] += is_wrong_answer(question["verdict"])
            counts[rule]["has_rows"] += has_rows
    names = ("questions", "wrong_answer", "has_rows", "first", "first_has_rows")
    rows = [{"rule": rule, **{name: of[name] for name in names}} for rule, of in counts.items()]
    return sorted(rows, key=lambda row: (-row["questions"], row["rule"]))


def count_missed(
    questions: Questions, matches: Mapping[str, list[bool]]
) -> dict[str, dict[str, int]]:
    """Return of all faults, and of those of each kind, how many there are and how many no rule
    sees: no flag that doubts gold, no repair, no reading that answers otherwise; and of those with
    a wrong answer for how many any query of a rule, or the first, has the rows of what is asked."""
    every: Counter[str] = Counter()
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for question_id, question in questions.items():
        verdict = question["verdict"]
        if verdict.verdict != WRONG:
            continue
        is_same = matches.get(question_id) or [False]
        codes = {flag["code"] for flag in question["flags"]}
        is_unseen = not (codes & REPAIRED or question["repairs"])
        has_wrong_answer = is_wrong_answer(question["verdict"])
        told = {
            "wrong": True,
            "unseen": is_unseen,
            "wrong_answer": has_wrong_answer,
            "unseen_answer": is_unseen and has_wrong_answer,
            "repaired": any(is_same),
            "repaired_first": is_same[0],
        }
        for counts in (every, kinds[verdict.kind or "other"]):
            counts.update({name: int(holds) for name, holds in told.items()})
    return {"all": dict(every), **{kind: dict(of) for kind, of in sorted(kinds.items())}}

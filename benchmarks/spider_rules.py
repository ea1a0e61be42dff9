"""Compare the results of rules on Spider's gold, from before its review, with the verdicts. Used by
benchmarks/spider_readings.py.

benchmarks/seen_spider.jsonl and benchmarks/unseen_spider.jsonl (benchmarks/freeze_rules.py) are
from the code of commit 35df87b5. Its rules were made while the verdicts on the databases of the
first file were known. Nobody had reviewed those of the second file, which shows how good rules are
elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from gold_flags import BINS, match_repairs

from answerkey.base.records import read_jsonl
from answerkey.flags import FLAGS
from answerkey.risk.risks import SIGNS
from answerkey.risk.verdicts import AMBIGUOUS, OTHER, SAME, WRONG, Key, Verdict

HALVES = ("seen", "unseen")
PAIRED = "two together"
FOLDER = Path(__file__).parent
# The flags of that code that doubt whether gold says what its question asks. Today's code has only
# those that proved right.
DOUBTS = frozenset(
    {
        "numeric_text_order",
        "type_mismatch",
        "cross_join",
        "order_without_effect",
        "group_by_non_key",
        "set_operation_on_non_key",
        "join_fan_out",
        "join_repeats_rows",
        "date_text_order",
        "latent_text_order",
        "text_arithmetic",
        "limit_on_joined_rows",
        "extreme_dropped",
        "each_without_group",
        "zero_count_dropped",
        "not_in_on_rows",
        "literal_not_in_column",
        "literal_not_in_question",
        "direction_mismatch",
        "comparison_mismatch",
        "negation_mismatch",
        "projection_mismatch",
        "column_not_asked",
        "distinct_missing",
    }
)
LEFT_OUT = DOUBTS | {"answer_risk"}  # reasons to leave a question out as doubtful
# The fate of kinds and readings, if it differs from that of their flag.
TODAY = {
    "join_fan_out added": "gone",
    "join_fan_out averaged": "gone",
    "join_fan_out possible": "gone",
    "join_repeats_rows referred": "gone",
    "average": "repairs nothing",
    "counted_names": "repairs nothing",
    "stated_name": "repairs nothing",
    "question_spelling": "repairs nothing if no row has the text",
}


class Case(NamedTuple):
    """A question with results of rules, and its verdict."""

    database_name: str
    said: dict[str, Any]
    verdict: Verdict


def is_wrong_answer(verdict: Verdict) -> bool:
    """Return whether the answer is wrong, too; also if no single query can say what is asked."""
    return verdict.verdict == WRONG and verdict.answers != SAME


def read_half(name: str, verdicts: Mapping[Key, Verdict]) -> list[Case]:
    """Return the questions of a half that were reviewed."""
    cases = []
    for frozen in read_jsonl(FOLDER / f"{name}_spider.jsonl"):
        database_name = frozen["question_id"].rsplit("_", 2)[0]
        verdict = verdicts.get((database_name, frozen["sha256"]))
        if verdict is not None:
            cases.append(Case(database_name, frozen, verdict))
    return cases


def measure_rules(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Return the page's numbers for both halves. An ambiguous question is neither right nor wrong,
    and counts only under `ambiguous`."""
    known = {verdict.key: verdict for verdict in verdicts}
    halves = {name: read_half(name, known) for name in HALVES}
    settled = {
        name: [case for case in cases if case.verdict.verdict != AMBIGUOUS]
        for name, cases in halves.items()
    }
    return {
        "questions": {name: len(cases) for name, cases in halves.items()},
        "databases": {
            name: len({case.database_name for case in cases}) for name, cases in halves.items()
        },
        "flags": put_beside({name: count_flags(cases) for name, cases in settled.items()}),
        "queries": put_beside({name: count_queries(cases) for name, cases in settled.items()}),
        "answer_risk": {name: count_bins(cases, "answer_risk") for name, cases in settled.items()},
        "sql_risk": {name: count_bins(cases, "sql_risk") for name, cases in settled.items()},
        "product": {name: count_product(cases) for name, cases in halves.items()},
        "missed": {name: count_missed(cases) for name, cases in halves.items()},
    }


def count_flags(cases: Iterable[Case]) -> dict[str, dict[str, Any]]:
    """Return the counts of each flag that doubts gold, and of each of its kinds."""
    cases_by_flag: defaultdict[str, list[tuple[Case, bool]]] = defaultdict(list)
    for case in cases:
        doubted: dict[str, bool] = {}
        for flag in case.said["flags"]:
            if flag["code"] in DOUBTS:
                against = flag["answers"] != SAME
                kind = f"{flag['code']} {flag['kind']}" if flag["kind"] else flag["code"]
                for name in (flag["code"], kind):
                    doubted[name] = doubted.get(name, False) or against
        for name, against in doubted.items():
            cases_by_flag[name].append((case, against))
    return {name: count_cases(those) for name, those in cases_by_flag.items()}


def count_queries(cases: Iterable[Case]) -> dict[str, dict[str, Any]]:
    """Return the counts of each repair and reading whose query gives another answer than gold."""
    cases_by_rule: defaultdict[str, list[tuple[Case, bool]]] = defaultdict(list)
    for case in cases:
        rules = {each["rule"] for each in case.said["repairs"] if each["answers"] == OTHER}
        for rule in rules:
            cases_by_rule[PAIRED if "+" in rule else rule].append((case, True))
    return {name: count_cases(those) for name, those in cases_by_rule.items()}


def count_cases(cases: Sequence[tuple[Case, bool]]) -> dict[str, Any]:
    """Return the number of questions and of databases, and of questions with wrong SQL; and how
    many answers are doubted, and how many of these are wrong."""
    against = [case for case, speaks in cases if speaks]
    return {
        "questions": len(cases),
        "databases": len({case.database_name for case, _ in cases}),
        "wrong": sum(case.verdict.verdict == WRONG for case, _ in cases),
        "against": len(against),
        "wrong_answer": sum(is_wrong_answer(case.verdict) for case in against),
    }


def put_beside(halves: Mapping[str, Mapping[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return a row per name with the counts of each half (None if it has none), sorted."""
    names = sorted({name for counts in halves.values() for name in counts})
    return [
        {
            "name": name,
            "today": describe_today(name),
            **{half: of.get(name) for half, of in halves.items()},
        }
        for name in names
    ]


def describe_today(name: str) -> str:
    """Return the fate of a flag, of a kind, or of a rule that has a flag's name."""
    flag = name.split()[0]
    if name in TODAY:
        return TODAY[name]
    if flag in DOUBTS and flag not in FLAGS:
        return "gone"
    return "decides nothing" if flag in FLAGS.keys() - SIGNS else "stays"


def count_bins(cases: Sequence[Case], target: str) -> list[dict[str, Any]]:
    """Return, for the questions of about one risk, their number, their mean risk, and the share
    that is wrong: in the answer, or in SQL."""
    known = [case for case in cases if case.said[target] is not None]  # None: it has no answer
    rows = []
    for low, high in pairwise(BINS):
        here = [case for case in known if low <= case.said[target] < high]
        is_wrong = [
            is_wrong_answer(case.verdict)
            if target == "answer_risk"
            else case.verdict.verdict == WRONG
            for case in here
        ]
        rows.append(
            {
                "from": low,
                "to": min(high, 1),
                "questions": len(here),
                "said": round(fmean(case.said[target] for case in here), 4) if here else None,
                "wrong": sum(is_wrong),
            }
        )
    return rows


def count_product(cases: Iterable[Case]) -> dict[str, dict[str, int]]:
    """Return the verdicts on the questions that were left out as doubtful, and on those that were
    kept."""
    groups: dict[str, list[Verdict]] = {"doubted": [], "kept": []}
    for case in cases:
        if case.said["reason"] is None:
            groups["kept"].append(case.verdict)
        elif case.said["reason"] in LEFT_OUT:
            groups["doubted"].append(case.verdict)
    return {
        name: {
            "questions": len(those),
            "wrong_answer": sum(map(is_wrong_answer, those)),
            "wrong": sum(each.verdict == WRONG for each in those),
            "ambiguous": sum(each.verdict == AMBIGUOUS for each in those),
        }
        for name, those in groups.items()
    }


def count_missed(cases: Iterable[Case]) -> dict[str, dict[str, int]]:
    """Return the number of faults in all and of each kind, and how many of them rules missed: no
    flag doubts gold, and no repair or reading gives another answer."""
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        if case.verdict.verdict == WRONG:
            codes = {flag["code"] for flag in case.said["flags"]}
            is_missed = not (codes & DOUBTS or case.said["repairs"])
            has_wrong_answer = is_wrong_answer(case.verdict)
            counts = {
                "wrong": 1,
                "missed": int(is_missed),
                "wrong_answer": int(has_wrong_answer),
                "missed_answer": int(is_missed and has_wrong_answer),
            }
            for kind in ("all", case.verdict.kind or "other"):
                kinds[kind].update(counts)
    return {kind: dict(counts) for kind, counts in sorted(kinds.items())}


def measure_repaired(questions: Mapping[str, dict[str, Any]], run: Path) -> dict[str, Any]:
    """Return, for each half, how many answers are wrong, and for how many of these a repair or
    reading of a run, or the first one, has the right rows.

    questions: of the run, by id, each with its verdict.
    """
    halves = {
        frozen["question_id"]: name
        for name in HALVES
        for frozen in read_jsonl(FOLDER / f"{name}_spider.jsonl")
    }
    wrong = {
        question_id: question
        for question_id, question in questions.items()
        if is_wrong_answer(question["verdict"])
    }
    corrected = [(each, each["verdict"].sql) for each in wrong.values() if each["verdict"].sql]
    counts = {name: Counter({"wrong_answer": 0, "among": 0, "first": 0}) for name in HALVES}
    for question_id in wrong:
        if question_id in halves:
            counts[halves[question_id]]["wrong_answer"] += 1
    for question, is_same in match_repairs(run, corrected):
        if question["question_id"] in halves:
            counts[halves[question["question_id"]]].update(
                among=any(is_same), first=is_same[:1] == [True]
            )
    return {name: dict(of) for name, of in counts.items()}

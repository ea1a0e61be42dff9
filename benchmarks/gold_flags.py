"""How often gold with each flag is wrong, by what people or a model said of it; and how well gold
risk ranks wrong gold.

    python benchmarks/gold_flags.py --run CHECKOUT --judge FILE --experts FILE --out FILE

CHECKOUT is one in which the stages have run up to compare_questions. A judge's file is a JSON array
of {"db_id", "query", "question", "verdict"}: INCORRECT is wrong, CORRECT and PARTIALLY_CORRECT are
right, anything else says nothing. A file of experts is one of {"question_id", "edition"}: the
questions of the split eval whose gold is wrong, all others there being right; where the edition is
not spider1.0 they looked at other gold, and nothing is said. Experts go before the judge.

Printed are a table of flags, and the recall of wrong gold at a precision: of all thresholds whose
precision is reached, the one with the largest recall. "other databases" counts the flags on half of
the databases and ranks the questions of the other half, both ways, by ten halvings; the mean. With
--table, the risk is that of a table which was counted elsewhere, such as data/flag_precision.json.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean

from answerkey.core.reasons import Flag
from answerkey.core.records import digest_text, read_jsonl, write_json
from answerkey.risk.flag_precision import (
    FlagPrecision,
    Sign,
    count_signs,
    encode_flag_precision,
    list_signs,
    read_flag_precision,
)
from answerkey.risk.gold_risk import (
    estimate_precision,
    estimate_risk,
    find_base,
    weigh_signs,
)

JUDGE, EXPERTS = "judge", "experts"
WRONG, RIGHT = ("INCORRECT",), ("CORRECT", "PARTIALLY_CORRECT")
TARGETS = ((JUDGE, 0.5), (JUDGE, 0.75), (EXPERTS, 0.5), (EXPERTS, 0.75))
HALVINGS = 10

Rank = Callable[[FlagPrecision, list[Sign]], float]


@dataclass(frozen=True, slots=True)
class Judged:
    """A question that somebody judged: who, and whether its gold is wrong."""

    database_name: str
    signs: list[Sign]
    judge: str
    is_wrong: bool


def fold(text: str) -> str:
    """A text with single spaces, and no semicolon at its end."""
    return " ".join(text.split()).rstrip(";").strip()


def read_judged(joined: Path, judge: Path | None, experts: Path | None) -> list[Judged]:
    """The questions that were judged, with the signs that their flags are."""
    verdicts = {}
    for record in json.loads(judge.read_text("utf-8")) if judge else ():
        if record["verdict"] in (*WRONG, *RIGHT):
            key = record["db_id"], fold(record["query"]), fold(record["question"])
            verdicts[key] = record["verdict"] in WRONG
    listed = {}
    for record in json.loads(experts.read_text("utf-8")) if experts else ():
        listed[record["question_id"]] = record["edition"] == "spider1.0"
    found = []
    for question in read_jsonl(joined):
        name, question_id = question["database_name"], question["question_id"]
        signs = list_signs(question["flags"])
        key = name, fold(question["gold_sql"]), fold(question["question_text"])
        if experts and question["split"] == "eval":
            if listed.get(question_id, True):
                found.append(Judged(name, signs, EXPERTS, question_id in listed))
        elif key in verdicts:
            found.append(Judged(name, signs, JUDGE, verdicts[key]))
    return found


def count_flags(judged: Iterable[Judged]) -> FlagPrecision:
    """The table of these questions."""
    return count_signs((question.signs, question.is_wrong) for question in judged)


def rank_by_noisy_or(table: FlagPrecision, signs: list[Sign]) -> float:
    """The gold risk of the library."""
    return estimate_risk(table, weigh_signs(table, signs))


def rank_by_naive_bayes(table: FlagPrecision, signs: list[Sign]) -> float:
    """The log-odds of the base, and a log-likelihood ratio for each sign, those too that speak for
    gold; the second strongest counts 0.7 times, the third 0.49 times, and so on."""
    base = log_odds(find_base(table))
    precisions = (estimate_precision(table, sign) for sign in signs)
    ratios = [log_odds(precision) - base for precision in precisions if precision is not None]
    ratios.sort(key=abs, reverse=True)
    return base + sum(ratio * 0.7**place for place, ratio in enumerate(ratios))


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def rank_by_strongest(table: FlagPrecision, signs: list[Sign]) -> float:
    """The largest precision of any sign, or the base."""
    strongest = [each.precision for each in weigh_signs(table, signs)[:1]]
    return max([find_base(table), *strongest])


FORMULAS: dict[str, Rank] = {
    "gold_risk (noisy-or)": rank_by_noisy_or,
    "naive Bayes": rank_by_naive_bayes,
    "strongest flag": rank_by_strongest,
}


def find_recall(ranked: list[tuple[float, bool]], precision: float) -> float | None:
    """The largest recall of wrong gold by any threshold that reaches the precision; None where no
    gold is wrong."""
    total = sum(is_wrong for _, is_wrong in ranked)
    if not total:
        return None
    best, taken, wrong = 0.0, 0, 0
    ordered = sorted(ranked, reverse=True)
    for _, same in groupby(ordered, key=lambda pair: pair[0]):
        of_risk = [is_wrong for _, is_wrong in same]
        taken, wrong = taken + len(of_risk), wrong + sum(of_risk)
        if wrong >= precision * taken:
            best = wrong / total
    return best


def measure(judged: list[Judged], table: FlagPrecision, rank: Rank) -> list[float | None]:
    """The recall at each of TARGETS, of these questions with the weights of a table."""
    ranked = defaultdict(list)
    for question in judged:
        ranked[question.judge].append((round(rank(table, question.signs), 4), question.is_wrong))
    return [find_recall(ranked[judge], precision) for judge, precision in TARGETS]


def measure_across(judged: list[Judged], rank: Rank) -> list[float | None]:
    """The mean recall at each of TARGETS, with weights from other databases."""
    rows = []
    for number in range(HALVINGS):
        halves: tuple[list[Judged], list[Judged]] = ([], [])
        for question in judged:
            side = digest_text(f"{number} {question.database_name}")[0] % 2
            halves[side].append(question)
        for counted, measured in (halves, halves[::-1]):
            table = count_flags(counted)
            if 0 < table.judged.wrong < table.judged.questions:
                rows.append(measure(measured, table, rank))
    means = []
    for column in zip(*rows, strict=True):
        recalls = [recall for recall in column if recall is not None]
        means.append(fmean(recalls) if recalls else None)
    return means


def write_flags(judged: list[Judged]) -> str:
    """The markdown table of flags and their kinds: n of m are wrong."""
    tables = {
        name: count_flags(question for question in judged if question.judge in judges)
        for name, judges in ((JUDGE, {JUDGE}), (EXPERTS, {EXPERTS}), ("all", {JUDGE, EXPERTS}))
    }

    def write(sign: Sign) -> str:
        cells, share = [], ""
        for table in tables.values():
            counts = table.flags if sign.kind is None else table.signs
            count = counts.get(sign.code if sign.kind is None else sign)
            cells.append(f"{count.wrong}/{count.questions}" if count else "0/0")
            share = f"{count.wrong / count.questions:.2f}" if count else ""
        return f"| `{sign.code}` | {sign.kind or ''} | {cells[0]} | {cells[1]} | {share} |"

    lines = ["| flag | kind | judge | experts | precision |", "|---|---|---|---|---|"]
    for flag in Flag:
        if flag in tables["all"].flags:
            kinds = sorted(sign for sign in tables["all"].signs if sign.code is flag)
            lines += [write(sign) for sign in (Sign(flag, None), *kinds)]
    return "\n".join(lines)


def write_recalls(judged: list[Judged], table: FlagPrecision | None) -> str:
    """The markdown table of recall at precision."""
    own = count_flags(judged)
    names = (f"{judge}: recall at {precision:g}" for judge, precision in TARGETS)
    lines = [f"| formula | weights of | {' | '.join(names)} |", "|---" * 6 + "|"]
    rows = [(name, "these databases", measure(judged, own, f)) for name, f in FORMULAS.items()]
    rows += [(name, "other databases", measure_across(judged, f)) for name, f in FORMULAS.items()]
    if table is not None:
        rows += [(name, "--table", measure(judged, table, f)) for name, f in FORMULAS.items()]
    for name, weights, recalls in rows:
        cells = ("none" if recall is None else f"{recall:.1%}" for recall in recalls)
        lines.append(f"| {name} | {weights} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", type=Path, default=Path(), help="a checkout; default: this folder")
    parser.add_argument("--judge", type=Path, help="verdicts of a judge")
    parser.add_argument("--experts", type=Path, help="wrong gold that experts list")
    parser.add_argument("--table", type=Path, help="measure the risk by this table, too")
    parser.add_argument("--out", type=Path, help="write the table of these questions")
    arguments = parser.parse_args()
    joined = arguments.run / "data/interim/joined.jsonl"
    judged = read_judged(joined, arguments.judge, arguments.experts)
    if not any(question.is_wrong for question in judged):
        parser.error("none of these questions was judged wrong: see --judge and --experts")
    for judge in (JUDGE, EXPERTS):
        of_judge = [question.is_wrong for question in judged if question.judge == judge]
        print(f"{judge}: {sum(of_judge)} wrong of {len(of_judge)} questions")
    table = read_flag_precision(arguments.table) if arguments.table else None
    print(f"\n{write_flags(judged)}\n\n{write_recalls(judged, table)}")
    if arguments.out:
        write_json(arguments.out, encode_flag_precision(count_flags(judged)))


if __name__ == "__main__":
    main()

"""How often gold with each flag is wrong, by what people or a model said of it; and how well gold
risk ranks wrong gold.

    python benchmarks/gold_flags.py --run CHECKOUT --judge FILE --experts FILE --out FILE

CHECKOUT is one in which the stages have run up to compare_questions. A judge's file is a JSON array
of {"db_id", "query", "question", "verdict"}: INCORRECT is wrong, CORRECT and PARTIALLY_CORRECT are
right, anything else says nothing. A file of experts is one of {"question_id", "edition"}: the
questions of the split eval whose gold is wrong, all others there being right; where the edition is
not spider1.0 they looked at other gold, and nothing is said. Experts go before the judge.

Printed are a table of flags, and the recall of wrong gold at a precision: of all thresholds whose
precision is reached, the one with the largest recall. Last come the precision and the recall of all
questions from a gold risk on. "other databases" counts the flags on half of the databases and ranks
the questions of the other half, both ways, by ten halvings; the mean. With --table, the risk is by
a table that was counted elsewhere, such as data/flag_precision.json.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import groupby, product
from pathlib import Path
from statistics import fmean

from answerkey.flags import FLAGS
from answerkey.records import digest_text, read_jsonl, write_json
from answerkey.risk.gold_risk import (
    FlagPrecision,
    Sign,
    count_signs,
    encode_flag_precision,
    estimate_precision,
    estimate_risk,
    find_base,
    list_signs,
    read_flag_precision,
    weigh_signs,
)

JUDGE, EXPERTS = "judge", "experts"
WRONG, RIGHT = ("INCORRECT",), ("CORRECT", "PARTIALLY_CORRECT")
TARGETS = ((JUDGE, 0.5), (JUDGE, 0.75), (EXPERTS, 0.5), (EXPERTS, 0.75))
STEPS = (0.25, 0.5, 0.75)
HALVINGS = 10

Shares = list[float | None]
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


def rank_all(
    judged: list[Judged], table: FlagPrecision, rank: Rank
) -> dict[str, list[tuple[float, bool]]]:
    """By judge, the rank of each question and whether its gold is wrong."""
    ranked = defaultdict(list)
    for question in judged:
        ranked[question.judge].append((round(rank(table, question.signs), 4), question.is_wrong))
    return ranked


def measure_recalls(judged: list[Judged], table: FlagPrecision, rank: Rank) -> Shares:
    """The recall at each of TARGETS, of these questions with the weights of a table."""
    ranked = rank_all(judged, table, rank)
    return [find_recall(ranked[judge], precision) for judge, precision in TARGETS]


def measure_steps(judged: list[Judged], table: FlagPrecision) -> Shares:
    """For each of STEPS and each judge the precision and the recall of the questions with that
    gold risk or more."""
    ranked = rank_all(judged, table, rank_by_noisy_or)
    shares: Shares = []
    for step in STEPS:
        for judge in (JUDGE, EXPERTS):
            taken = [is_wrong for risk, is_wrong in ranked[judge] if risk >= step]
            total = sum(is_wrong for _, is_wrong in ranked[judge])
            shares += [sum(taken) / len(taken) if taken else None]
            shares += [sum(taken) / total if total else None]
    return shares


def average_halvings(
    judged: list[Judged], measure: Callable[[list[Judged], FlagPrecision], Shares]
) -> Shares:
    """The means of what is measured on databases with weights from other ones."""
    rows = []
    for number in range(HALVINGS):
        halves: tuple[list[Judged], list[Judged]] = ([], [])
        for question in judged:
            side = digest_text(f"{number} {question.database_name}")[0] % 2
            halves[side].append(question)
        for counted, measured in (halves, halves[::-1]):
            table = count_flags(counted)
            if 0 < table.judged.wrong < table.judged.questions:
                rows.append(measure(measured, table))
    means: Shares = []
    for column in zip(*rows, strict=True):
        known = [share for share in column if share is not None]
        means.append(fmean(known) if known else None)
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
    for flag in FLAGS:
        if flag in tables["all"].flags:
            kinds = sorted(sign for sign in tables["all"].signs if sign.code == flag)
            lines += [write(sign) for sign in (Sign(flag, None), *kinds)]
    return "\n".join(lines)


def write_shares(judged: list[Judged], table: FlagPrecision | None) -> str:
    """The markdown tables of recall at precision, and of both from a gold risk on."""
    tables = {"these databases": count_flags(judged), "other databases": None}
    if table is not None:
        tables["--table"] = table

    def list_cells(
        weights: str, measure: Callable[[list[Judged], FlagPrecision], Shares]
    ) -> list[str]:
        known = tables[weights]
        shares = average_halvings(judged, measure) if known is None else measure(judged, known)
        return ["none" if share is None else f"{share:.1%}" for share in shares]

    names = (f"{judge}: recall at {precision:g}" for judge, precision in TARGETS)
    lines = [f"| formula | weights of | {' | '.join(names)} |", "|---|---|---|---|---|---|"]
    for weights, (name, rank) in product(tables, FORMULAS.items()):
        cells = list_cells(weights, partial(measure_recalls, rank=rank))
        lines.append(f"| {name} | {weights} | {' | '.join(cells)} |")
    names = (f"{judge}: {share}" for judge in (JUDGE, EXPERTS) for share in ("precision", "recall"))
    lines += ["", f"| gold_risk from | weights of | {' | '.join(names)} |"]
    lines.append("|---|---|---|---|---|---|")
    for weights in tables:
        for step, cells in zip(STEPS, batch(list_cells(weights, measure_steps)), strict=True):
            lines.append(f"| {step:g} | {weights} | {' | '.join(cells)} |")
    return "\n".join(lines)


def batch(cells: list[str], size: int = 4) -> list[list[str]]:
    """The cells in rows of this size."""
    return [cells[start : start + size] for start in range(0, len(cells), size)]


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
    print(f"\n{write_flags(judged)}\n\n{write_shares(judged, table)}")
    if arguments.out:
        write_json(arguments.out, encode_flag_precision(count_flags(judged)))


if __name__ == "__main__":
    main()

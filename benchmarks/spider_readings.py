"""Evaluate the review of Spider's gold: how much is wrong, its effects, and what rules found.

    python benchmarks/spider_readings.py [--before RUN] [--after RUN] [--predictions FILE ...]
        [--list NAME FILE ...] [--verdicts FILE] [--numbers FILE] [--page FILE]

--before, --after: checkouts in which the stages have run on Spider, with `corrections: null`, and
with `corrections: spider`. --predictions: JSON Lines with question_id and `predictions`, SQL by
system. --list: judged gold of others, in a form of spider_lists.py. --verdicts: the verdicts, by
default data/verdicts/spider.jsonl. spider_rules.py has the results of rules from before the review.

The numbers are written to docs/spider.json, and with the words of benchmarks/spider_page.md.j2 to
docs/spider.md. Numbers that need a file that is not given do not change.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from spider_lists import measure_lists
from spider_rules import is_wrong_answer, measure_repaired, measure_rules
from spider_systems import measure_systems

from answerkey.base.errors import InputError
from answerkey.base.records import HARDNESS_LEVELS, hash_question, read_json, read_jsonl, write_json
from answerkey.risk.agreement import find_agreement
from answerkey.risk.verdicts import (
    AMBIGUOUS,
    RIGHT,
    VERDICT_WORDS,
    WRONG,
    Key,
    Verdict,
    read_verdict_file,
)

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = Path(__file__).with_name("spider_page.md.j2")
DEV = "dev.json"
EXCLUDED_FILE = "data/questions/excluded.jsonl"
WORST = 10  # databases that the page names

Questions = dict[str, dict[str, Any]]  # of a run, by id


def read_originals(path: Path) -> list[Verdict]:
    """Return the verdicts on the original gold. The query of a correction has a verdict, too:
    right, with the file and index of the wrong gold."""
    originals: dict[tuple[str, str | None, int | None], Verdict] = {}
    for verdict in read_verdict_file(path):
        position = verdict.database_name, verdict.file, verdict.index
        if position not in originals or verdict.verdict != RIGHT:
            originals[position] = verdict
    return list(originals.values())


def count_verdicts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return how many questions there are, how many are right and ambiguous, and how many are wrong
    in SQL alone, or in the answer as well."""
    counts = Counter((each.verdict, is_wrong_answer(each)) for each in verdicts)
    return {
        "questions": counts.total(),
        "right": counts[RIGHT, False],
        "wrong": counts[WRONG, False] + counts[WRONG, True],
        "wrong_answer": counts[WRONG, True],
        "ambiguous": counts[AMBIGUOUS, False],
    }


def group(verdicts: Iterable[Verdict], by: str) -> dict[str, list[Verdict]]:
    """Return the verdicts by a field, in the order of its values."""
    groups = defaultdict(list)
    for each in verdicts:
        groups[getattr(each, by) or ""].append(each)
    return dict(sorted(groups.items()))


def measure_faults(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the counts by split, kind and database. Needs only the verdicts."""
    files = {file: count_verdicts(those) for file, those in group(verdicts, "file").items()}
    wrong = [each for each in verdicts if each.verdict == WRONG]
    kinds = [
        {
            "kind": kind,
            "wrong": len(those),
            "wrong_answer": sum(map(is_wrong_answer, those)),
            "dev": sum(each.file == DEV for each in those),
        }
        for kind, those in group(wrong, "kind").items()
    ]
    databases = [
        {"name": name, **count_verdicts(those)}
        for name, those in group(verdicts, "database_name").items()
    ]
    databases.sort(key=lambda each: (-each["wrong"] / each["questions"], each["name"]))
    shares = [each["wrong"] / each["questions"] for each in databases]
    return {
        "all": count_verdicts(verdicts),
        "files": files,
        "kinds": sorted(kinds, key=lambda each: (-each["wrong"], each["kind"])),
        "databases": {
            "count": len(databases),
            "without_wrong": sum(not each["wrong"] for each in databases),
            "without_wrong_answer": sum(not each["wrong_answer"] for each in databases),
            "quartiles": [round(shares[len(shares) * part // 4], 4) for part in (3, 2, 1)],
            "worst": databases[:WORST],
        },
    }


def measure_agreement(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return how far the first two passes agree, how often a third pass agreed with one of them if
    they differ, and how many verdicts were changed by a later pass."""
    readings = [each.readings or [] for each in verdicts]
    pairs = Counter((first, second) for first, second, *_ in readings)
    thirds = [each for each in readings if each[0] != each[1]]
    return {
        **find_agreement(list(pairs.elements()))._asdict(),
        "table": [[pairs[row, column] for column in VERDICT_WORDS] for row in VERDICT_WORDS],
        "thirds": len(thirds),
        "sided": sum(each[2] in each[:2] for each in thirds),
        "changed_later": sum(len(each) > (2 if each[0] == each[1] else 3) for each in readings),
    }


def read_questions(run: Path, verdicts: Iterable[Verdict]) -> Questions:
    """Return the questions of a run without corrections by id, each with its `verdict`.

    Raises:
        InputError: a verdict is about none of them, or the run has used verdicts itself.
    """
    known: defaultdict[Key, list[Verdict]] = defaultdict(list)  # several, if a question is repeated
    for verdict in verdicts:
        known[verdict.key].append(verdict)
    questions = {}
    for record in read_jsonl(run / "data/interim/joined.jsonl"):
        sha256 = hash_question(record["question_text"], record["gold_sql"])
        if left := known.get((record["database_name"], sha256)):
            questions[record["question_id"]] = {**record, "verdict": left.pop(0)}
            if any(flag["code"].startswith("judged_") for flag in record["flags"]):
                raise InputError(
                    f"{run}: {record['question_id']} is judged by a verdict: expected a run with"
                    " `corrections: null`"
                )
    if missing := sum(map(len, known.values())):
        raise InputError(
            f"{run}: {missing:,} verdicts are about none of its questions: expected a run on"
            " Spider with `corrections: null`"
        )
    return questions


def measure_hardness(questions: Questions) -> list[dict[str, Any]]:
    """Return the counts by Spider's hardness; a query that was not parsed has none."""
    levels: defaultdict[str, list[Verdict]] = defaultdict(list)
    for question in questions.values():
        levels[question["hardness"] or "none"].append(question["verdict"])
    return [
        {"level": level, **count_verdicts(levels[level])}
        for level in (*HARDNESS_LEVELS, "none")
        if level in levels
    ]


def measure_product(questions: Questions, before: Path, after: Path) -> dict[str, Any]:
    """Return how many questions each run keeps, and how many it leaves out for each reason; and how
    many of those with wrong SQL or a wrong answer the first run keeps."""
    old, new = (
        {each["question_id"]: each["reason"] for each in read_jsonl(run / EXCLUDED_FILE)}
        for run in (before, after)
    )
    kept = [each["verdict"] for name, each in questions.items() if name not in old]
    reasons = [Counter(reasons.values()) for reasons in (old, new)]
    names = sorted(reasons[0] | reasons[1], key=lambda name: (-reasons[0][name], name))
    return {
        "usable": [len(questions) - len(old), len(questions) - len(new)],
        "wrong_before": count_verdicts(kept),
        "reasons": {name: [side[name] for side in reasons] for name in names},
    }


def render_page(numbers: Mapping[str, Any]) -> str:
    """Return docs/spider.md."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["number"] = "{:,}".format
    environment.filters["percent"] = "{:.1%}".format
    return environment.from_string(TEMPLATE.read_text("utf-8")).render(numbers)


def main() -> None:
    """Compute the numbers for the given files, and write numbers and page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="a run with `corrections: null`")
    parser.add_argument("--after", type=Path, help="a run with corrections")
    parser.add_argument(
        "--predictions", type=Path, nargs="+", help="files of systems, for the split eval"
    )
    parser.add_argument(
        "--list", nargs=2, action="append", metavar=("NAME", "FILE"), help="judged gold of others"
    )
    parser.add_argument("--verdicts", type=Path, default=ROOT / "data/verdicts/spider.jsonl")
    parser.add_argument("--numbers", type=Path, default=ROOT / "docs/spider.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/spider.md")
    arguments = parser.parse_args()
    if not arguments.before and (arguments.after or arguments.list or arguments.predictions):
        parser.error("--after, --predictions and --list: expected --before beside them")
    if bool(arguments.after) != bool(arguments.predictions):
        parser.error("--after and --predictions: expected both, or none")
    verdicts = read_originals(arguments.verdicts)
    numbers = read_json(arguments.numbers) if arguments.numbers.is_file() else {}
    numbers |= {
        "faults": measure_faults(verdicts),
        "readings": measure_agreement(verdicts),
        "rules": measure_rules(verdicts),
    }
    if arguments.before:
        questions = read_questions(arguments.before, verdicts)
        numbers["hardness"] = measure_hardness(questions)
        numbers["repaired"] = measure_repaired(questions, arguments.before)
        if arguments.list:
            numbers["lists"] = measure_lists(questions, arguments.list)
        if arguments.after:
            numbers["product"] = measure_product(questions, arguments.before, arguments.after)
            moved = {
                question_id: question["verdict"].kind
                for question_id, question in questions.items()
                if is_wrong_answer(question["verdict"])
            }
            numbers["systems"] = measure_systems(
                arguments.before, arguments.after, arguments.predictions, moved
            )
    write_json(arguments.numbers, dict(sorted(numbers.items())))
    arguments.page.write_text(render_page(numbers), encoding="utf-8")


if __name__ == "__main__":
    main()

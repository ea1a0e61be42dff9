"""Measure how often gold with each sign is wrong, by corpus, and how well the two risks find it.

    python benchmarks/gold_flags.py --corpus spider RUN LABELS... --corpus bird RUN LABELS...
        [--ids FILE] [--out data/flag_precision.json]

RUN is a checkout in which the stages have run on that corpus, without corrections. If its
data/rollouts has rollouts, what models agree on counts, too. LABELS are lists of judged gold: a
file in the format of data/verdicts, or a JSON array of one of these forms:

- {"question_id", "sqldriller_wrong", "arcwise": {"sql_changed", "rows_changed"}}: two lists in one,
  by the ids of BIRD, which --ids maps to ours: JSON Lines of {"question_id", "bird_question_id"};
- {"db_id", "question", "query"}, `query` being a list: all of these answers are accepted.

A list says whether SQL is wrong, and if it can, whether the answer is: by `answers` of verdicts,
corrected rows (arcwise), or accepted answers. If there is only a verdict on SQL, the answer of
right SQL is right. The answer of wrong SQL counts as wrong, unless the repairs of all its doubts
have gold's rows. An ambiguous question is not counted: gold is one of its two readings, so it is
not wrong, and a sign for the other reading is no mistake.

A sign is counted on the questions whose strongest sign it is, by the precision of each sign alone.
A sign that is nowhere the strongest is counted wherever it occurs. A question that two lists judge
is counted twice: neither list is the truth.

For each list and risk the command prints the area under the ROC curve, the Brier score, the results
from a threshold on, and how many questions of about one risk are wrong. The risks use counts of
other
databases: ten times the databases (or the questions of a corpus with one database) are halved, and
each half is judged by the counts of the other half and of all other corpora. Then it prints how
many questions are excluded in these runs by flags that doubt gold, and the share of sound questions
among them; all flags; and how often each repair and reading that gives another answer has the
corrected rows.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from answerkey.base.records import hash_question, read_jsonl, write_json
from answerkey.engines.executions import Executions, are_same
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.flags import FLAGS
from answerkey.risk.risks import AGREEMENT, Count, Counts, Risks, RiskTable, Sign, list_signs
from answerkey.risk.verdicts import (
    AMBIGUOUS,
    OTHER,
    SAME,
    WRONG,
    Verdict,
    choose_verdicts,
    read_verdict_file,
)

STEPS = (0.5, 0.7)
BINS = (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.1)
HALVINGS = 10
TARGETS = Risks._fields
REPAIRED = {name for name, flag in FLAGS.items() if flag.doubts_gold and name != AGREEMENT}


class Label(NamedTuple):
    """The judgement of a list: whether SQL and answer of a question are wrong; None: unknown."""

    of_list: str
    question_id: str
    is_wrong_sql: bool | None
    is_wrong_answer: bool | None = None


class Judged(NamedTuple):
    """A question that a list judges."""

    corpus: str
    database_name: str
    question_id: str
    hardness: str
    signs: list[Sign]
    is_doubted: bool  # excluded by the run's policies, for a flag that doubts gold
    of_list: str
    wrong: dict[str, bool | None]  # by target


class Prediction(NamedTuple):
    """The risk of a question, and whether it is wrong."""

    risk: float
    is_wrong: bool


def fold(text: str) -> str:
    """Return a text with single spaces, and without a semicolon at its end."""
    return " ".join(text.split()).rstrip(";").strip()


def read_labels(
    path: Path, questions: list[dict[str, Any]], ids: dict[Any, str]
) -> Iterator[Label]:
    """Yield the judgements of a list on the questions of a run."""
    if path.suffix == ".jsonl":
        yield from read_judgements(path, questions)
        return
    records = json.loads(path.read_text("utf-8"))
    form = records[0].keys()
    if "sqldriller_wrong" in form:
        for record in records:
            question_id = ids[record["question_id"]]
            yield Label(f"{path.stem}: sqldriller", question_id, record["sqldriller_wrong"])
            if (change := record.get("arcwise")) is not None:
                changes = change["sql_changed"], change["rows_changed"]
                yield Label(f"{path.stem}: arcwise", question_id, *changes)
    else:
        accepted = {(record["db_id"], fold(record["question"])) for record in records}
        for question in questions:
            if (question["database_name"], fold(question["question_text"])) in accepted:
                yield Label(path.parent.name, question["question_id"], False, False)


def read_judgements(path: Path, questions: list[dict[str, Any]]) -> Iterator[Label]:
    """Yield the judgements of a file of data/verdicts, without ambiguous questions."""
    for question, verdict in match_verdicts(path, questions):
        if verdict.verdict != AMBIGUOUS:
            is_wrong = verdict.verdict == WRONG
            of_answer = {SAME: False, OTHER: True, None: None}[verdict.answers]
            is_wrong_answer = of_answer if is_wrong else False
            yield Label(path.stem, question["question_id"], is_wrong, is_wrong_answer)


def match_verdicts(
    path: Path, questions: Iterable[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Verdict]]:
    """Yield the questions that have a verdict in a file of data/verdicts, with the verdict."""
    verdicts = choose_verdicts(read_verdict_file(path))
    for question in questions:
        sha256 = hash_question(question["question_text"], question["gold_sql"])
        verdict = verdicts.get((question["database_name"], sha256))
        if verdict is not None:
            yield question, verdict


def measure_repairs(
    run: Path, labels: list[Path], ids: dict[Any, str], judged: list[Judged]
) -> str:
    """Return a line: for how many golds that were corrected to other rows a repair, and the first
    repair, has the corrected rows. Return a table, too: how often each rule that gives another
    answer is right. "" if these lists correct no gold."""
    questions = list(read_jsonl(run / "data/interim/joined.jsonl"))
    corrected = [each for path in labels for each in list_corrected(path, questions, ids)]
    matches = list(match_repairs(run, corrected))
    if not matches:
        return ""
    among = sum(any(is_same) for _, is_same in matches)
    first = sum(is_same[:1] == [True] for _, is_same in matches)
    lines = [
        f"{len(matches)} golds corrected to other rows: {among} among the repairs, {first} the"
        " first",
        "",
        "| repair that answers otherwise | questions | wrong answers | corrected to its rows |",
        "|---|---|---|---|",
    ]
    wrong = {each.question_id: bool(each.wrong["answers"]) for each in judged}
    rules = [
        (repair["rule"], wrong[question["question_id"]])
        for question in questions
        if question["question_id"] in wrong
        for repair in question["repairs"] or ()
        if repair["answers"] == OTHER
    ]
    hits = Counter(
        repair["rule"]
        for question, is_same in matches
        for repair, is_hit in zip(question["repairs"] or (), is_same, strict=True)
        if is_hit
    )
    for rule, count in read_counter(Counter(rules)):
        if "+" not in rule:
            lines.append(f"| {rule} | {count.questions} | {count.wrong} | {hits[rule]} |")
    return "\n".join(lines)


def list_corrected(
    path: Path, questions: list[dict[str, Any]], ids: dict[Any, str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the questions that a list corrects to other rows, each with the corrected SQL."""
    if path.suffix == ".jsonl":
        for question, verdict in match_verdicts(path, questions):
            if (verdict.verdict, verdict.answers) == (WRONG, OTHER) and verdict.sql:
                yield question, verdict.sql
        return
    known = {question["question_id"]: question for question in questions}
    for record in json.loads(path.read_text("utf-8")):
        change = record.get("arcwise") or {}
        corrected = known.get(ids.get(record.get("question_id"), ""))
        if change.get("rows_changed") and corrected is not None:
            yield corrected, change["sql"]


def match_repairs(
    run: Path, corrected: Iterable[tuple[dict[str, Any], str]]
) -> Iterator[tuple[dict[str, Any], list[bool]]]:
    """Yield each corrected question, with a list that says for each of its repairs whether it has
    the corrected rows."""
    for name, those in groupby(corrected, key=lambda each: each[0]["database_name"]):
        with GuardedDatabase(run / f"data/databases/{name}/{name}.sqlite") as opened:
            real = Executions(opened)
            for question, sql in those:
                rows = real.find_rows(sql)
                yield (
                    question,
                    [
                        are_same(rows, real.find_rows(repair["sql"]), ordered=False)
                        for repair in question["repairs"] or ()
                    ],
                )


def read_judged(corpus: str, run: Path, labels: list[Path], ids: dict[Any, str]) -> list[Judged]:
    """Return each judgement of a question that has an answer, with its signs."""
    questions = [q for q in read_jsonl(run / "data/interim/joined.jsonl") if q["answer_type"]]
    known = {question["question_id"]: question for question in questions}
    doubted = {
        record["question_id"]
        for record in read_jsonl(run / "data/questions/excluded.jsonl")
        if (flag := FLAGS.get(record["reason"])) is not None and flag.doubts_gold
    }
    judged = []
    for path in labels:
        for label in read_labels(path, questions, ids):
            if (question := known.get(label.question_id)) is None:
                continue
            signs = list_signs(question["flags"], question["repairs"] or ())
            answer = label.is_wrong_answer
            if answer is None and label.is_wrong_sql is not None:
                doubts = [sign.answers for sign in signs if sign.code in REPAIRED]
                is_same = bool(doubts) and all(answers == SAME for answers in doubts)
                answer = label.is_wrong_sql and not is_same
            judged.append(
                Judged(
                    corpus,
                    question["database_name"],
                    label.question_id,
                    question["hardness"],
                    signs,
                    label.question_id in doubted,
                    label.of_list,
                    {"answers": answer, "sql": label.is_wrong_sql},
                )
            )
    return judged


def count(judged: Iterable[Judged], target: str) -> dict[str, Counts]:
    """Return the counts of these judgements by corpus: each sign on those where it is strongest."""
    return add_up(choose_signs(judged, target), target)


def choose_signs(judged: Iterable[Judged], target: str) -> list[tuple[Judged, list[Sign]]]:
    """Return each judgement with the strongest sign of its query, and the sign of models. Strength
    is measured wherever a sign occurs. A sign that is nowhere the strongest is kept wherever it
    occurs: otherwise its broader case would replace it."""
    pairs = [
        (each, list_telling(each, target)) for each in judged if each.wrong[target] is not None
    ]
    table = RiskTable(add_up(pairs, target))
    chosen = []
    for each, signs in pairs:
        ranked = [strength.sign for strength in table.weigh(each.corpus, signs)]
        of_models = [sign for sign in ranked if sign.code == AGREEMENT]
        of_query = [sign for sign in ranked if sign.code != AGREEMENT]
        chosen.append((each, of_query[:1] + of_models[:1]))
    strongest = {sign for _, signs in chosen for sign in signs}
    return [
        (each, [*own, *(sign for sign in signs if sign not in strongest)])
        for (each, own), (_, signs) in zip(chosen, pairs, strict=True)
    ]


def add_up(pairs: Iterable[tuple[Judged, list[Sign]]], target: str) -> dict[str, Counts]:
    """Return the counts of judgements with these signs, by corpus."""
    corpora: dict[str, Counts] = defaultdict(Counts)
    for each, signs in pairs:
        count = Count(1, int(bool(each.wrong[target])))
        cases = {case: count for sign in signs for case in sign.list_cases()}
        corpora[each.corpus].merge(Counts(count, {} if signs else {each.hardness: count}, cases))
    return corpora


def list_telling(each: Judged, target: str) -> list[Sign]:
    """Return the signs that count for a target, as in answerkey.risk.risks.Risks: a sign whose
    repair has gold's rows does not count for the answer."""
    return [sign for sign in each.signs if target == "sql" or sign.answers != SAME]


def encode_table(judged: list[Judged], target: str) -> dict[str, dict[str, Any]]:
    """Return the entry of each corpus in data/flag_precision.json, all names sorted: the questions
    without a sign by hardness, those that have a flag, and those whose strongest sign a sign is."""
    chosen = choose_signs(judged, target)
    corpora = add_up(chosen, target)
    of_flags: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    of_signs: dict[str, Counter[tuple[Sign, bool]]] = defaultdict(Counter)
    for each, signs in chosen:
        is_wrong = bool(each.wrong[target])
        codes = {sign.code for sign in list_telling(each, target)}
        of_flags[each.corpus].update((code, is_wrong) for code in codes)
        of_signs[each.corpus].update((sign, is_wrong) for sign in signs)
    return {
        name: {
            **counts.judged._asdict(),
            "unsigned": {
                level: count._asdict() for level, count in sorted(counts.unsigned.items())
            },
            "flags": {code: count._asdict() for code, count in read_counter(of_flags[name])},
            "signs": [
                sign._asdict() | count._asdict() for sign, count in read_counter(of_signs[name])
            ],
        }
        for name, counts in corpora.items()
    }


def read_counter(counter: Counter[tuple[Any, bool]]) -> list[tuple[Any, Count]]:
    """Return the count of each key, sorted.

    >>> read_counter(Counter({("b", True): 2, ("a", False): 1}))
    [('a', Count(questions=1, wrong=0)), ('b', Count(questions=2, wrong=2))]
    """
    things = sorted({thing for thing, _ in counter}, key=str)
    return [
        (thing, Count(counter[thing, True] + counter[thing, False], counter[thing, True]))
        for thing in things
    ]


def find_area(known: list[Prediction]) -> float | None:
    """Return the area under the ROC curve; None if all are wrong, or all right."""
    wrong = [risk for risk, is_wrong in known if is_wrong]
    right = [risk for risk, is_wrong in known if not is_wrong]
    if not wrong or not right:
        return None
    better = sum((a > b) + (a == b) / 2 for a in wrong for b in right)
    return better / (len(wrong) * len(right))


def predict_halves(judged: list[Judged], of_list: str, target: str) -> list[list[Prediction]]:
    """Return the risks of a list's questions; each half is judged by the counts without it."""
    judged = [each for each in judged if each.wrong[target] is not None]
    tested = [each for each in judged if each.of_list == of_list]
    databases = sorted({each.database_name for each in tested})
    by = "database_name" if len(databases) > 1 else "question_id"
    names = sorted({getattr(each, by) for each in tested})
    halves = []
    shuffle = random.Random(20).shuffle
    for _ in range(HALVINGS):
        shuffle(names)
        first = set(names[: len(names) // 2])
        for half in (first, set(names) - first):
            table = RiskTable(count((e for e in judged if getattr(e, by) not in half), target))
            halves.append(
                [
                    Prediction(
                        table.estimate(e.corpus, e.hardness, list_telling(e, target)).risk,
                        bool(e.wrong[target]),
                    )
                    for e in tested
                    if getattr(e, by) in half
                ]
            )
    return halves


def write_list(judged: list[Judged], of_list: str, target: str) -> tuple[str, list[str]]:
    """Return the row of a list, and its rows by risk."""
    halves = predict_halves(judged, of_list, target)
    areas = [area for half in halves if (area := find_area(half)) is not None]
    known = [each for half in halves for each in half]
    tested = [e for e in judged if e.of_list == of_list and e.wrong[target] is not None]
    wrong = sum(bool(each.wrong[target]) for each in tested)
    brier = fmean((each.risk - each.is_wrong) ** 2 for each in known)
    row = [of_list, target, f"{wrong} of {len(tested)}", f"{fmean(areas):.2f}" if areas else ""]
    row.append(f"{brier:.3f}")
    for step in STEPS:
        caught = [each.is_wrong for each in known if each.risk >= step]
        row.append(f"{fmean(caught):.2f}" if caught else "none")
        row.append(f"{sum(caught) / (HALVINGS * wrong):.2f}" if wrong else "")
    row += measure_exclusions(tested, target)
    rows = []
    for low, high in pairwise(BINS):
        if here := [each for each in known if low <= each.risk < high]:
            numbers = (fmean(each.risk for each in here), fmean(each.is_wrong for each in here))
            cells = (of_list, target, f"{low:g} to {min(high, 1):g}", f"{len(here) / HALVINGS:.0f}")
            rows.append(f"| {' | '.join(cells)} | {numbers[0]:.2f} | {numbers[1]:.2f} |")
    return f"| {' | '.join(row)} |", rows


def measure_exclusions(tested: list[Judged], target: str) -> list[str]:
    """Return how many of the questions that flags exclude as wrong are wrong, and the share of
    sound questions that are lost."""
    excluded = [each for each in tested if each.is_doubted]
    wrong = sum(bool(each.wrong[target]) for each in excluded)
    sound = sum(not each.wrong[target] for each in tested)
    return [f"{wrong} of {len(excluded)}", f"{(len(excluded) - wrong) / sound:.1%}"]


def write_lists(judged: list[Judged]) -> str:
    """Return the table of lists, and that of their questions by risk."""
    lines = [
        "| list | of | wrong | area | Brier | precision from 0.5 | recall | from 0.7 | recall "
        "| excluded as wrong, that are | sound ones lost |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    by_risk = [
        "| list | of | risk | questions | mean risk | wrong |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(each.of_list for each in judged):
        for target in TARGETS:
            line, rows = write_list(judged, name, target)
            lines.append(line)
            by_risk += rows
    return "\n".join([*lines, "", *by_risk])


def write_signs(judged: list[Judged], target: str) -> str:
    """Return the table of signs: how often gold is wrong on judged questions that have it, and on
    those whose strongest sign it is."""
    known = [each for each in judged if each.wrong[target] is not None]
    everywhere = add_up(((each, list_telling(each, target)) for each in known), target)
    strongest = count(known, target)
    names = sorted(everywhere)
    lines = [f"| sign of wrong {target} | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    bases = (everywhere[name].judged for name in names)
    lines.append(f"| all judged | {' | '.join(f'{n.wrong} of {n.questions}' for n in bases)} |")
    signs = {sign for counts in everywhere.values() for sign in counts.signs}
    for sign in sorted(signs, key=str):
        texts = []
        for name in names:
            whole, part = (of[name].signs.get(sign, Count()) for of in (everywhere, strongest))
            text = f"{whole.wrong} of {whole.questions} ({part.wrong} of {part.questions})"
            texts.append(text if whole.questions else "")
        name = ", ".join(part for part in sign if part is not None)
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--corpus",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "RUN"),
        help="its name, a checkout, and lists of judged gold",
    )
    parser.add_argument("--ids", type=Path, help="BIRD's ids: bird_question_id and question_id")
    parser.add_argument("--out", type=Path, help="write the tables of these questions")
    arguments = parser.parse_args()
    records = read_jsonl(arguments.ids) if arguments.ids else ()
    ids = {record["bird_question_id"]: record["question_id"] for record in records}
    judged = [
        each
        for name, run, *labels in arguments.corpus
        for each in read_judged(name, Path(run), [Path(label) for label in labels], ids)
    ]
    if not any(each.wrong["sql"] for each in judged):
        parser.error("none of these questions was judged wrong: expected lists of judged gold")
    print(write_lists(judged), *(write_signs(judged, target) for target in TARGETS), sep="\n\n")
    for name, run, *labels in arguments.corpus:
        those = [each for each in judged if each.corpus == name]
        if lines := measure_repairs(Path(run), [Path(label) for label in labels], ids, those):
            print(f"\n{lines}")
    if arguments.out:
        tables = {target: encode_table(judged, target) for target in TARGETS}
        corpora = sorted({name for table in tables.values() for name in table})
        entries = {name: {target: tables[target][name] for target in TARGETS} for name in corpora}
        write_json(arguments.out, entries)


if __name__ == "__main__":
    main()

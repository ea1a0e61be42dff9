"""How often gold with each sign is wrong, by corpus; and how well the two risks rank wrong gold.

    python benchmarks/gold_flags.py --corpus spider RUN LABELS... --corpus bird RUN LABELS...
        [--ids FILE] [--out data/flag_precision.json]

RUN is a checkout in which the stages have run on that corpus; with rollouts in its data/rollouts,
what models agree on counts, too. LABELS are lists of judged gold: a file as
data/verdicts has them, or a JSON array of one of these forms:

- {"db_id", "query", "question", "verdict"}: the SQL is wrong if INCORRECT, right if CORRECT or
  PARTIALLY_CORRECT; anything else says nothing;
- {"question_id", "edition"}: the wrong SQL of the split eval, all others there being right; where
  the edition is not spider1.0, other gold was judged, and nothing is said;
- {"question_id", "sqldriller_wrong", "arcwise": {"sql_changed", "rows_changed"}}: two lists in one,
  by the ids of BIRD, which --ids maps to ours: JSON Lines of {"question_id", "bird_question_id"};
- {"database", "question", "queries", "gold", "right", "gold_right"}: which of several queries
  people hold right;
- {"db_id", "question", "query"}, `query` being a list: all of these answers are accepted.

A list says of SQL whether it is wrong, and of an answer where it can: `answers` of verdicts,
corrected rows (arcwise), rows of the queries that are right, accepted answers. A verdict on SQL
alone says that the answer of right SQL is right; that of wrong SQL counts as wrong, unless the
repairs of all that doubts it have gold's rows.

A question that two lists judge counts twice: neither list is the truth. Printed are, by list and
risk, the area under the ROC curve and what a risk from a threshold on finds, with weights of other
databases: ten times the databases (of a corpus with one, its questions) are halved, and each half
is ranked by what was counted on the other and on all other corpora. Last come the questions that a
flag which doubts gold excludes in these runs, and the share of sound ones that go with them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from answerkey.base.records import hash_question, read_jsonl, write_json
from answerkey.flags import FLAGS
from answerkey.risk.risks import AGREEMENT, SAME, Count, Counts, Risks, RiskTable, Sign, list_signs
from answerkey.risk.verdicts import (
    AMBIGUOUS,
    OTHER,
    WRONG,
    Verdict,
    choose_verdicts,
    read_verdict_file,
)
from answerkey.sqlite.executions import Executions, are_same
from answerkey.sqlite.guard import GuardedDatabase

SAID_WRONG, SAID_RIGHT = ("INCORRECT",), ("CORRECT", "PARTIALLY_CORRECT")
STEPS = (0.5, 0.7)
HALVINGS = 10
TARGETS = Risks._fields
REPAIRED = {name for name, flag in FLAGS.items() if flag.doubts_gold and name != AGREEMENT}


class Label(NamedTuple):
    """What a list says of a question: whether its SQL and its answer are wrong. None: nothing."""

    of_list: str
    question_id: str
    is_wrong_sql: bool | None
    is_wrong_answer: bool | None = None


class Judged(NamedTuple):
    """A question of which a list says something."""

    corpus: str
    database_name: str
    question_id: str
    hardness: str
    signs: list[Sign]
    is_doubted: bool  # excluded by the run's policies, by a flag that doubts gold
    of_list: str
    wrong: dict[str, bool | None]  # by target


def fold(text: str) -> str:
    """Return a text with single spaces, and no semicolon at its end."""
    return " ".join(text.split()).rstrip(";").strip()


def read_labels(
    path: Path, run: Path, questions: list[dict[str, Any]], ids: dict[Any, str]
) -> Iterator[Label]:
    """Yield what a list says of the questions of a run."""
    if path.suffix == ".jsonl":
        yield from read_judgements(path, questions)
        return
    records = json.loads(path.read_text("utf-8"))
    form = records[0].keys()
    if "verdict" in form:
        yield from read_verdicts(path.stem, records, questions)
    elif "edition" in form:
        editions = {record["question_id"]: record["edition"] for record in records}
        for question in questions:
            question_id = question["question_id"]
            is_same = editions.get(question_id, "spider1.0") == "spider1.0"
            if question["split"] == "eval" and is_same:
                yield Label(path.stem, question_id, question_id in editions)
    elif "sqldriller_wrong" in form:
        for record in records:
            question_id = ids[record["question_id"]]
            yield Label(f"{path.stem}: sqldriller", question_id, record["sqldriller_wrong"])
            if (change := record.get("arcwise")) is not None:
                changes = change["sql_changed"], change["rows_changed"]
                yield Label(f"{path.stem}: arcwise", question_id, *changes)
    elif "queries" in form:
        yield from read_choices(path.stem, run, records, questions)
    else:
        accepted = {(record["db_id"], fold(record["question"])) for record in records}
        for question in questions:
            if (question["database_name"], fold(question["question_text"])) in accepted:
                yield Label(path.parent.name, question["question_id"], False, False)


def read_judgements(path: Path, questions: list[dict[str, Any]]) -> Iterator[Label]:
    """Yield what a file of data/verdicts says; of an ambiguous question nothing."""
    for question, verdict in match_verdicts(path, questions):
        if verdict.verdict != AMBIGUOUS:
            is_wrong = verdict.verdict == WRONG
            of_answer = verdict.answers and verdict.answers == OTHER if is_wrong else False
            yield Label(path.stem, question["question_id"], is_wrong, of_answer)


def match_verdicts(
    path: Path, questions: Iterable[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Verdict]]:
    """Yield the questions that a file of data/verdicts is about, each with its verdict."""
    verdicts = choose_verdicts(read_verdict_file(path))
    for question in questions:
        sha256 = hash_question(question["question_text"], question["gold_sql"])
        verdict = verdicts.get((question["database_name"], sha256))
        if verdict is not None:
            yield question, verdict


def read_verdicts(
    name: str, records: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> Iterator[Label]:
    """Yield the verdicts on SQL of the split train."""
    verdicts = {
        (r["db_id"], fold(r["query"]), fold(r["question"])): r["verdict"] in SAID_WRONG
        for r in records
        if r["verdict"] in (*SAID_WRONG, *SAID_RIGHT)
    }
    for question in questions:
        texts = fold(question["gold_sql"]), fold(question["question_text"])
        key = question["database_name"], *texts
        if key in verdicts and question["split"] == "train":
            yield Label(name, question["question_id"], verdicts[key])


def read_choices(
    name: str, run: Path, records: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> Iterator[Label]:
    """Yield what people say of gold, and whether what they hold right has other rows."""
    known = {(q["database_name"], fold(q["question_text"])): q for q in questions}
    for record in records:
        question = known.get((record["database"], fold(record["question"])))
        if question is None or record["gold_right"] is None:
            continue
        right = [sql for which, sql in record["queries"].items() if record["right"][which]]
        database = record["database"]
        path = run / "data/databases" / database / f"{database}.sqlite"
        with GuardedDatabase(path) as opened:
            real = Executions(opened)
            gold = real.find_rows(question["gold_sql"])
            same = [are_same(gold, real.find_rows(sql), ordered=False) for sql in right]
        is_wrong = not record["gold_right"]
        answer = (not any(same) if right else None) if is_wrong else False
        yield Label(name, question["question_id"], is_wrong, answer)


def measure_repairs(run: Path, labels: list[Path], ids: dict[Any, str]) -> str:
    """Return a line: of how many golds that were corrected to other rows the corrected rows are
    those of a repair, and of the first one; "" if these lists correct none."""
    questions = list(read_jsonl(run / "data/interim/joined.jsonl"))
    corrected = [each for path in labels for each in list_corrected(path, questions, ids)]
    matches = [is_same for _, is_same in match_repairs(run, corrected)]
    if not matches:
        return ""
    among, first = sum(map(any, matches)), sum(is_same[:1] == [True] for is_same in matches)
    corrections = f"{len(matches)} golds corrected to other rows"
    return f"{corrections}: {among} among the repairs, {first} the first"


def list_corrected(
    path: Path, questions: list[dict[str, Any]], ids: dict[Any, str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the questions that a list corrects to other rows, each with the SQL that has them."""
    if path.suffix == ".jsonl":
        for question, verdict in match_verdicts(path, questions):
            if (verdict.verdict, verdict.answers) == (WRONG, OTHER) and verdict.sql:
                yield question, verdict.sql
        return
    known = {question["question_id"]: question for question in questions}
    for record in json.loads(path.read_text("utf-8")):
        change = record.get("arcwise") or {}
        question = known.get(ids.get(record.get("question_id"), ""))
        if change.get("rows_changed") and question is not None:
            yield question, change["sql"]


def match_repairs(
    run: Path, corrected: Iterable[tuple[dict[str, Any], str]]
) -> Iterator[tuple[dict[str, Any], list[bool]]]:
    """Yield each corrected question, and whether its repairs have the corrected rows, in their
    order."""
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
        for label in read_labels(path, run, questions, ids):
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
    """Return the counts of these judgements, by corpus."""
    corpora: dict[str, Counts] = defaultdict(Counts)
    for each in judged:
        if (is_wrong := each.wrong[target]) is None:
            continue
        one = Count(1, int(is_wrong))
        cases = {case: one for sign in list_telling(each, target) for case in sign.list_cases()}
        corpora[each.corpus].merge(Counts(one, {each.hardness: one}, cases))
    return corpora


def list_telling(each: Judged, target: str) -> list[Sign]:
    """Return the signs that tell something of a target, as answerkey.risk.risks.Risks has it: one
    whose repair has gold's rows tells nothing of the answer."""
    return [sign for sign in each.signs if target == "sql" or sign.answers != SAME]


def encode_counts(counts: Counts) -> dict[str, Any]:
    """Return the entry of a corpus in data/flag_precision.json, all names sorted."""
    codes = sorted({sign.code for sign in counts.signs})
    return {
        **counts.judged._asdict(),
        "hardness": {level: one._asdict() for level, one in sorted(counts.hardness.items())},
        "flags": {
            code: {
                **counts.signs[Sign(code)]._asdict(),
                "cases": [
                    {"kind": sign.kind, "answers": sign.answers, **one._asdict()}
                    for sign, one in sorted(counts.signs.items(), key=lambda item: str(item[0]))
                    if sign.code == code and sign != Sign(code)
                ],
            }
            for code in codes
        },
    }


def find_area(pairs: list[tuple[float, bool]]) -> float | None:
    """Return the area under the ROC curve; None if all are wrong, or all right."""
    wrong = [risk for risk, is_wrong in pairs if is_wrong]
    right = [risk for risk, is_wrong in pairs if not is_wrong]
    if not wrong or not right:
        return None
    better = sum((a > b) + (a == b) / 2 for a in wrong for b in right)
    return better / (len(wrong) * len(right))


def measure_list(judged: list[Judged], of_list: str, target: str) -> list[str]:
    """Return the row of a list: size, area, and precision and recall from each risk on."""
    judged = [each for each in judged if each.wrong[target] is not None]
    tested = [each for each in judged if each.of_list == of_list]
    databases = sorted({each.database_name for each in tested})
    by = "database_name" if len(databases) > 1 else "question_id"
    names = sorted({getattr(each, by) for each in tested})
    areas, hits = [], {step: Count() for step in STEPS}
    shuffle = random.Random(20).shuffle
    for _ in range(HALVINGS):
        shuffle(names)
        first = set(names[: len(names) // 2])
        for side in (True, False):
            held = {n for n in names if (n in first) is side}
            table = RiskTable(count((e for e in judged if getattr(e, by) not in held), target))
            pairs = [
                (
                    table.estimate(e.corpus, e.hardness, list_telling(e, target)).risk,
                    bool(e.wrong[target]),
                )
                for e in tested
                if getattr(e, by) in held
            ]
            if (area := find_area(pairs)) is not None:
                areas.append(area)
            for step in STEPS:
                for risk, is_wrong in pairs:
                    hits[step] = hits[step].plus(Count(risk >= step, risk >= step and is_wrong))
    wrong = sum(bool(each.wrong[target]) for each in tested)
    row = [of_list, target, f"{wrong} of {len(tested)}", f"{fmean(areas):.2f}" if areas else ""]
    for step in STEPS:
        caught = hits[step]
        precision = f"{caught.wrong / caught.questions:.2f}" if caught.questions else "none"
        row += [precision, f"{caught.wrong / (HALVINGS * wrong):.2f}" if wrong else ""]
    return row + measure_exclusions(tested, target)


def measure_exclusions(tested: list[Judged], target: str) -> list[str]:
    """Return how many of the questions that flags exclude as wrong are, and the share of sound
    ones that are lost by it."""
    excluded = [each for each in tested if each.is_doubted]
    wrong = sum(bool(each.wrong[target]) for each in excluded)
    sound = sum(not each.wrong[target] for each in tested)
    return [f"{wrong} of {len(excluded)}", f"{(len(excluded) - wrong) / sound:.1%}"]


def write_lists(judged: list[Judged]) -> str:
    """Return the table of lists."""
    lines = [
        "| list | of | wrong | area | precision from 0.5 | recall | from 0.7 | recall "
        "| excluded as wrong, that are | sound ones lost |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {' | '.join(measure_list(judged, name, target))} |"
        for name in dict.fromkeys(each.of_list for each in judged)
        for target in TARGETS
    ]
    return "\n".join(lines)


def write_signs(judged: list[Judged], target: str) -> str:
    """Return the table of signs: of how many judged questions that have it gold is wrong."""
    corpora = count(judged, target)
    names = sorted(corpora)
    lines = [f"| sign of wrong {target} | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    bases = (f"{corpora[name].judged.wrong} of {corpora[name].judged.questions}" for name in names)
    lines.append(f"| all judged | {' | '.join(bases)} |")
    for sign in sorted({sign for counts in corpora.values() for sign in counts.signs}, key=str):
        cells = [corpora[name].signs.get(sign, Count()) for name in names]
        texts = (f"{cell.wrong} of {cell.questions}" if cell.questions else "" for cell in cells)
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
    for _, run, *labels in arguments.corpus:
        if line := measure_repairs(Path(run), [Path(label) for label in labels], ids):
            print(f"\n{line}")
    if arguments.out:
        tables = {target: count(judged, target) for target in TARGETS}
        corpora = sorted({name for table in tables.values() for name in table})
        entries = {
            name: {target: encode_counts(tables[target][name]) for target in TARGETS}
            for name in corpora
        }
        write_json(arguments.out, entries)


if __name__ == "__main__":
    main()

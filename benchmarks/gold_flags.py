"""How often gold with each flag is wrong, by corpus; and how well gold risk ranks wrong gold.

    python benchmarks/gold_flags.py --corpus spider RUN LABELS... --corpus bird RUN LABELS...
        [--ids FILE] [--out data/flag_precision.json]

RUN is a checkout in which the stages have run on that corpus; with rollouts in its data/rollouts,
what models agree on counts, too. LABELS are
lists of judged gold, each a JSON array of one of these forms:

- {"db_id", "query", "question", "verdict"}: INCORRECT is wrong, CORRECT and PARTIALLY_CORRECT are
  right, anything else says nothing;
- {"question_id", "edition"}: the wrong ones of the split eval, all others there being right; where
  the edition is not spider1.0, other gold was judged, and nothing is said;
- {"question_id", "sqldriller_wrong", "arcwise": {"sql_changed"}}: two lists in one, by the ids of
  BIRD, which --ids maps to ours: JSON Lines of {"question_id", "bird_question_id"}.

A question that two lists judge counts twice: neither list is the truth. Printed are, by list, the
area under the ROC curve and what a risk from a threshold on finds, with weights of other databases:
ten times the databases (of a corpus with one, its questions) are halved, and each half is ranked by
what was counted on the other and on all other corpora. Last come the questions that a flag which
doubts gold excludes in these runs, and the share of sound ones that go with them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from answerkey.base.records import read_jsonl, write_json
from answerkey.flags import FLAGS
from answerkey.risk.gold_risk import Count, Counts, RiskTable, Sign, list_signs

WRONG, RIGHT = ("INCORRECT",), ("CORRECT", "PARTIALLY_CORRECT")
STEPS = (0.5, 0.7)
HALVINGS = 10


class Judged(NamedTuple):
    """A question that a list judged."""

    corpus: str
    database_name: str
    question_id: str
    hardness: str
    signs: list[Sign]
    is_doubted: bool  # excluded by the run's policies, by a flag that doubts gold
    of_list: str
    is_wrong: bool


def fold(text: str) -> str:
    """Return a text with single spaces, and no semicolon at its end."""
    return " ".join(text.split()).rstrip(";").strip()


def read_labels(
    path: Path, questions: list[dict[str, Any]], ids: dict[Any, str]
) -> Iterator[tuple[str, str, bool]]:
    """Yield the list, the question_id and whether its gold is wrong."""
    records = json.loads(path.read_text("utf-8"))
    if "verdict" in records[0]:
        verdicts = {
            (r["db_id"], fold(r["query"]), fold(r["question"])): r["verdict"] in WRONG
            for r in records
            if r["verdict"] in (*WRONG, *RIGHT)
        }
        for question in questions:
            texts = fold(question["gold_sql"]), fold(question["question_text"])
            key = question["database_name"], *texts
            if key in verdicts and question["split"] == "train":
                yield path.stem, question["question_id"], verdicts[key]
    elif "edition" in records[0]:
        editions = {record["question_id"]: record["edition"] for record in records}
        for question in questions:
            question_id = question["question_id"]
            if (
                question["split"] == "eval"
                and editions.get(question_id, "spider1.0") == "spider1.0"
            ):
                yield path.stem, question_id, question_id in editions
    else:
        for record in records:
            question_id = ids[record["question_id"]]
            yield f"{path.stem}: sqldriller", question_id, record["sqldriller_wrong"]
            if "arcwise" in record:
                yield f"{path.stem}: arcwise", question_id, record["arcwise"]["sql_changed"]


def read_judged(corpus: str, run: Path, labels: list[Path], ids: dict[Any, str]) -> list[Judged]:
    """Return each judgement of a question that has an answer, with the signs that its flags are."""
    questions = [q for q in read_jsonl(run / "data/interim/joined.jsonl") if q["answer_type"]]
    known = {question["question_id"]: question for question in questions}
    doubted = {
        record["question_id"]
        for record in read_jsonl(run / "data/questions/excluded.jsonl")
        if (flag := FLAGS.get(record["reason"])) is not None and flag.doubts_gold
    }
    found = []
    for path in labels:
        for of_list, question_id, is_wrong in read_labels(path, questions, ids):
            if (question := known.get(question_id)) is not None:
                signs = list_signs(question["flags"])
                name, level = question["database_name"], question["hardness"]
                is_out = question_id in doubted
                found.append(
                    Judged(corpus, name, question_id, level, signs, is_out, of_list, is_wrong)
                )
    return found


def count(judged: Iterable[Judged]) -> dict[str, Counts]:
    """Return the counts of these judgements, by corpus."""
    corpora: dict[str, Counts] = defaultdict(Counts)
    for each in judged:
        one = Count(1, int(each.is_wrong))
        kinds = {sign: one for sign in each.signs if sign.kind is not None}
        flags = {sign.code: one for sign in each.signs}
        corpora[each.corpus].merge(Counts(one, {each.hardness: one}, flags, kinds))
    return corpora


def encode_counts(counts: Counts) -> dict[str, Any]:
    """Return the entry of a corpus in data/flag_precision.json, all names sorted."""
    return {
        **counts.judged._asdict(),
        "hardness": {level: one._asdict() for level, one in sorted(counts.hardness.items())},
        "flags": {
            code: {
                **one._asdict(),
                "kinds": {
                    sign.kind: of_kind._asdict()
                    for sign, of_kind in sorted(counts.kinds.items())
                    if sign.code == code
                },
            }
            for code, one in sorted(counts.flags.items())
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


def measure_list(judged: list[Judged], of_list: str) -> list[str]:
    """Return the row of a list: size, area, and precision and recall from each risk on."""
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
            table = RiskTable(count(e for e in judged if getattr(e, by) not in held))
            pairs = [
                (table.estimate(e.corpus, e.hardness, e.signs).risk, e.is_wrong)
                for e in tested
                if getattr(e, by) in held
            ]
            if (area := find_area(pairs)) is not None:
                areas.append(area)
            for step in STEPS:
                for risk, is_wrong in pairs:
                    hits[step] = hits[step].plus(Count(risk >= step, risk >= step and is_wrong))
    wrong = sum(each.is_wrong for each in tested)
    row = [of_list, f"{wrong} of {len(tested)}", f"{fmean(areas):.2f}"]
    for step in STEPS:
        found = hits[step]
        precision = f"{found.wrong / found.questions:.2f}" if found.questions else "none"
        row += [precision, f"{found.wrong / (HALVINGS * wrong):.2f}"]
    return row + measure_exclusions(tested)


def measure_exclusions(tested: list[Judged]) -> list[str]:
    """Return how many of the questions that flags exclude as wrong are, and the share of sound
    ones that are lost by it."""
    excluded = Count()
    for each in tested:
        if each.is_doubted:
            excluded = excluded.plus(Count(1, each.is_wrong))
    sound = sum(not each.is_wrong for each in tested)
    lost = excluded.questions - excluded.wrong
    return [f"{excluded.wrong} of {excluded.questions}", f"{lost / sound:.1%}"]


def write_lists(judged: list[Judged]) -> str:
    """Return the table of lists."""
    lines = [
        "| list | wrong | area | precision from 0.5 | recall | from 0.7 | recall "
        "| excluded as wrong, that are | sound ones lost |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {' | '.join(measure_list(judged, name))} |"
        for name in dict.fromkeys(each.of_list for each in judged)
    ]
    return "\n".join(lines)


def write_flags(corpora: dict[str, Counts]) -> str:
    """Return the table of flags: of how many judged questions that have it gold is wrong."""
    names = sorted(corpora)
    lines = [f"| flag | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    bases = (f"{c.judged.wrong} of {c.judged.questions}" for _, c in sorted(corpora.items()))
    lines.append(f"| all judged | {' | '.join(bases)} |")
    for code in sorted({code for counts in corpora.values() for code in counts.flags}):
        cells = [corpora[name].flags.get(code, Count()) for name in names]
        texts = (f"{cell.wrong} of {cell.questions}" if cell.questions else "" for cell in cells)
        lines.append(f"| `{code}` | {' | '.join(texts)} |")
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
    parser.add_argument("--out", type=Path, help="write the table of these questions")
    arguments = parser.parse_args()
    records = read_jsonl(arguments.ids) if arguments.ids else ()
    ids = {record["bird_question_id"]: record["question_id"] for record in records}
    judged = [
        each
        for name, run, *labels in arguments.corpus
        for each in read_judged(name, Path(run), [Path(label) for label in labels], ids)
    ]
    if not any(each.is_wrong for each in judged):
        parser.error("none of these questions was judged wrong: expected lists of judged gold")
    corpora = count(judged)
    print(f"{write_lists(judged)}\n\n{write_flags(corpora)}")
    if arguments.out:
        table = {name: encode_counts(counts) for name, counts in sorted(corpora.items())}
        write_json(arguments.out, table)


if __name__ == "__main__":
    main()

"""Choose among all usable questions, report on the choice, and write its records: each question is
selected, or has a reason why it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NotRequired, TypedDict

import pandas as pd

from answerkey.base.errors import InputError
from answerkey.base.log import align, list_counts, spell_count
from answerkey.base.reasons import Policy, Reason
from answerkey.base.records import (
    DIFFICULTIES,
    SPLITS,
    TRAIN,
    encode_json,
    list_shards,
    read_shards,
    replace_file,
    write_jsonl,
)
from answerkey.dataset import (
    AUDIT,
    EXCLUDED,
    NOT_SELECTED,
    PASS_RATES,
    Question,
    Record,
    add_terms,
    is_above,
    is_below,
)
from answerkey.engines.answers import has_choice, read_order, write_order
from answerkey.engines.names import name_engine
from answerkey.flags import DIALECT_DIFFERS
from answerkey.sections.classify_difficulty import (
    METHODS,
    PASS_RATE,
    RANK,
    SOURCE,
    TABLES,
    DifficultyRule,
)
from answerkey.sections.score_rollouts import Reward
from answerkey.sections.select_questions import SelectQuestions, Targets
from answerkey.selection.complexity import classify, find_cuts
from answerkey.selection.policies import accepts_ties, find_reason, keep_reported, read_policies
from answerkey.selection.program import (
    Group,
    count_by,
    find_largest,
    find_paraphrases,
    find_size,
    order_candidates,
    pick,
)

WHY = ["stage", "reason", "detail"]
_STAGE = "select_questions"
_FIELDS = [
    "question_id",
    *Group._fields,
    "template",
    "canonical_sql",
    "suite_score",
    "sql_risk",
    "tables_involved",
    "hardness",
    "source_difficulty",
    "solved_share",
]
_LIFTABLE = (
    "difficulty_shares",
    "corpus_shares",
    "eval_share",
    "max_questions",
    "max_per_database",
    "max_answer_type_share",
)
_SUITE_FIELDS = (
    "question_id",
    "mutation_score",
    "no_suite",
    "operators",
    "alive",
    "databases",
)
Why = tuple[str | None, str | None, str | None]  # stage, reason, detail; None: selected


def survey_questions(questions: Iterable[Question], policies: Mapping[str, Policy]) -> pd.DataFrame:
    """Return a row per question with the fields that selection uses. `stage`, `reason` and `detail`
    say why a question is not usable; they are None if it is."""
    rows = (
        (
            *(getattr(question, field) for field in _FIELDS),
            *(find_reason(question, policies) or (None, None, None)),
        )
        for question in questions
    )
    return pd.DataFrame(rows, columns=[*_FIELDS, *WHY], dtype=object)


def choose(table: pd.DataFrame, settings: SelectQuestions) -> tuple[pd.DataFrame, SelectionSummary]:
    """Return the largest choice among the usable questions of `survey_questions`, with its summary.
    In its table the questions without a reason are selected.

    Raises:
        InputError: the targets ask for more than there is.
    """
    usable, targets = table[table["reason"].isna()], settings.targets
    ordered = order_candidates(usable, seed=settings.seed, by_corpus=bool(targets.corpora))
    capped = find_paraphrases(ordered, settings.max_per_canonical_sql)
    ordered = ordered.drop(capped)
    supply = _count_supply(ordered)
    taken = find_largest(supply, targets)
    summary = summarize(supply, taken, targets)
    wanted = max(targets.min_questions or 0, min(len(ordered), 1))
    if summary["size"] < wanted:
        reasons = Counter(table["reason"].dropna())
        raise InputError(
            f"select_questions.targets cannot be met: expected {spell_count(wanted, 'question')}"
            f" or more; {describe(summary)}\n"
            f"Not usable: {reasons.total()} of {spell_count(len(table), 'question')}"
            f"{list_counts(reasons)}"
        )
    rest = usable.index.difference(capped).difference(pick(ordered, taken, targets))
    cells = summary["cells"]
    table = table.copy()
    table.loc[capped.union(rest), ["stage", "reason"]] = _STAGE, Reason.NOT_SELECTED
    table.loc[capped, "detail"] = (
        "max_per_canonical_sql: enough questions of this database have this SQL"
    )
    table.loc[rest, "detail"] = [
        f"{split} {level}: the targets take {cells[split][level]['selected']}"
        f" of {cells[split][level]['usable']} usable questions"
        for split, level in table.loc[rest, ["split", "difficulty"]].itertuples(index=False)
    ]
    return table, summary


def _count_supply(usable: pd.DataFrame) -> Counter[Group]:
    groups = usable[list(Group._fields)].itertuples(index=False, name=None)
    return Counter(map(Group._make, groups))


# A report on a choice: how large it can be, and which part of the usable questions it takes.


class Taken(TypedDict):
    """How many questions are usable, and how many of them are selected."""

    usable: int
    selected: int


Cells = dict[str, dict[str, Taken]]  # by split, then by difficulty or by corpus


class SelectionSummary(TypedDict):
    """A selection in numbers.

    size, usable: how many questions are selected, and how many are usable.
    lifts: the fewest targets that must be lifted together to select all usable questions.
    corpora: present if targets name shares of corpora.
    """

    size: int
    usable: int
    lifts: list[str]
    cells: Cells
    corpora: NotRequired[Cells]


def summarize(
    supply: Mapping[Group, int], taken: Mapping[Group, int], targets: Targets
) -> SelectionSummary:
    """Return a selection in numbers, for metrics."""

    def count_cells(field: str, names: tuple[str, ...]) -> Cells:
        usable, selected = (count_by(groups, "split", field) for groups in (supply, taken))
        return {
            split: {
                name: {"usable": usable[split, name], "selected": selected[split, name]}
                for name in names
            }
            for split in SPLITS
        }

    summary: SelectionSummary = {
        "size": sum(taken.values()),
        "usable": sum(supply.values()),
        "lifts": find_lifts(supply, targets),
        "cells": count_cells("difficulty", DIFFICULTIES),
    }
    if targets.corpora:
        summary["corpora"] = count_cells("corpus", targets.corpora)
    return summary


def find_lifts(supply: Mapping[Group, int], targets: Targets) -> list[str]:
    """Return the fewest targets that must be lifted together to select all usable questions."""
    usable = sum(supply.values())
    names = [name for name in _LIFTABLE if getattr(targets, name) is not None]
    return next(
        list(lifted)
        for count in range(len(names) + 1)
        for lifted in combinations(names, count)
        if find_size(supply, targets.lift(lifted)) == usable
    )


def describe(summary: SelectionSummary) -> str:
    """Return a summary in words: its size, targets to lift, and a table of selected questions.

    >>> supply = {Group("train", level): 7 for level in DIFFICULTIES}
    >>> targets = Targets(max_questions=5)
    >>> print(describe(summarize(supply, {Group("train", "easy"): 5}, targets)))
    largest selection: 5 of 21 usable questions
    all 21 without max_questions
    split  easy    medium  hard
    train  5 of 7  0 of 7  0 of 7
    eval   0 of 0  0 of 0  0 of 0
    """
    usable = spell_count(summary["usable"], "usable question")
    lines = [f"largest selection: {summary['size']} of {usable}"]
    if summary["lifts"]:
        lines.append(f"all {summary['usable']} without {', '.join(summary['lifts'])}")
    return "\n".join([*lines, tabulate(summary)])


def tabulate(summary: SelectionSummary) -> str:
    none: Cells = {split: {} for split in SPLITS}
    corpora = summary.get("corpora", none)
    rows = [["split", *DIFFICULTIES, *(f"corpus {name}" for name in corpora[SPLITS[0]])]]
    for split in SPLITS:
        cells = [*summary["cells"][split].values(), *corpora[split].values()]
        rows.append([split, *(f"{cell['selected']} of {cell['usable']}" for cell in cells)])
    return align(rows)


def explain_choice(
    questions: Iterable[Question],
    settings: SelectQuestions,
    rule: DifficultyRule,
    *,
    min_mutation_score: float,
    max_sql_risk: float | None,
    corpora: Iterable[str],
) -> str:
    """Return the text of `answerkey explain`: the run, the largest selection by a rule and by
    similar rules, the bar for test suites, and the bar for the risk of gold SQL.

    Raises:
        InputError: the questions are not those of the corpora in params.yaml.
    """
    table, targets = survey_questions(questions, read_policies(settings.policies)), settings.targets
    named, last_run = ", ".join(sorted(corpora)), ", ".join(sorted(set(table["corpus"])))
    if named != last_run:
        raise InputError(
            f"The last run is of corpus {last_run} ({spell_count(len(table), 'question')}), and"
            f" params.yaml names {named}: run `dvc repro`, or set corpus to what it was"
        )
    usable = table[table["reason"].isna()]
    sections = [f"corpus {last_run}: {spell_count(len(table), 'question')}"]
    for other in [rule, *list_neighbours(rule, usable, targets)]:
        rows = list(usable.itertuples())
        cuts = find_cuts(rows, targets.difficulty_shares) if other.method == RANK else None
        levels = [classify(row, other, cuts) for row in rows]
        supply = _count_supply(usable.assign(difficulty=levels))
        summary = summarize(supply, find_largest(supply, targets), targets)
        sections.append(f"{other}\n{describe(summary)}")
    to_train_on = usable[usable["split"] == TRAIN]
    sections.append(explain_suites(list(to_train_on["suite_score"]), min_mutation_score))
    sections.append(explain_sql_risks(list(to_train_on["sql_risk"]), max_sql_risk))
    return "\n\n".join(sections)


_OTHER_BARS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)
_OTHER_RISKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def explain_suites(scores: Sequence[float | None], min_mutation_score: float) -> str:
    """Return the cost of min_mutation_score, in questions to train on, and of other values.

    >>> print(explain_suites([None, 0.6, 0.97, 1.0], 0.5))
    min_mutation_score 0.5: 1 of 4 usable questions to train on stays out of what rewards read
    0.0: 0, 0.8: 2, 0.9: 2, 0.95: 2, 1.0: 3
    """

    def count(least: float) -> int:
        return sum(is_below(score, least) for score in scores)

    own = count(min_mutation_score)
    others = [bar for bar in _OTHER_BARS if bar != min_mutation_score]
    return (
        f"min_mutation_score {min_mutation_score}: {own} of"
        f" {spell_count(len(scores), 'usable question')} to train on"
        f" {'stays' if own == 1 else 'stay'} out of what rewards read\n"
        + ", ".join(f"{bar}: {count(bar)}" for bar in others)
    )


def explain_sql_risks(risks: Sequence[float | None], max_sql_risk: float | None) -> str:
    """Return the cost of max_sql_risk, in questions to train on, and of other values.

    >>> print(explain_sql_risks([0.1, 0.25, 0.6, 0.8], 0.5))
    max_sql_risk 0.5: 2 of 4 usable questions to train on stay out of files with gold SQL to learn
    0.1: 3, 0.2: 3, 0.3: 2, 0.7: 1, 0.9: 0, null: 0
    """

    def count(most: float | None) -> int:
        return sum(is_above(risk, most) for risk in risks)

    own = count(max_sql_risk)
    others = [bar for bar in (*_OTHER_RISKS, None) if bar != max_sql_risk]
    return (
        f"max_sql_risk {_spell_bar(max_sql_risk)}: {own} of"
        f" {spell_count(len(risks), 'usable question')} to train on"
        f" {'stays' if own == 1 else 'stay'} out of files with gold SQL to learn\n"
        + ", ".join(f"{_spell_bar(bar)}: {count(bar)}" for bar in others)
    )


def _spell_bar(bar: float | None) -> str:
    return "null" if bar is None else str(bar)


def list_neighbours(
    rule: DifficultyRule, usable: pd.DataFrame, targets: Targets
) -> Iterator[DifficultyRule]:
    """Yield similar rules: if tables decide, each threshold one lower or higher; and the other
    methods: rank if there are shares to cut at, and those of source and rollouts if they say
    something about a question."""
    if rule.method == TABLES:
        easy, medium = rule.easy_max_tables, rule.medium_max_tables
        steps = [(easy - 1, medium), (easy + 1, medium), (easy, medium - 1), (easy, medium + 1)]
        for low, high in steps:
            if 0 <= low <= high:
                yield replace(rule, easy_max_tables=low, medium_max_tables=high)
    known = {
        SOURCE: usable["source_difficulty"].notna().any(),
        PASS_RATE: usable["solved_share"].notna().any(),
        RANK: targets.difficulty_shares is not None,
    }
    for method in METHODS:
        if method != rule.method and known.get(method, True):
            yield replace(rule, method=method)


# The files of the stage: the candidate dataset, and records about each question.


def write_suites(path: Path, questions: Iterable[Record], shards: Path) -> None:
    """Write the test suite of each question, in the order of the shards, which is theirs, too."""

    def take() -> Iterator[Record]:
        for name, of_database in groupby(questions, key=itemgetter("database_name")):
            asked = {question["question_id"] for question in of_database}
            for suite in read_shards(shards, list_shards(shards, name)):
                if suite["question_id"] in asked:
                    yield {field: suite[field] for field in _SUITE_FIELDS}

    write_jsonl(path, take())


def write_selection(
    folder: Path,
    decided: Iterable[tuple[Question, Why]],
    policies: Mapping[str, Policy],
    hashes: Mapping[str, str],
    paths: Mapping[str, str],
    reward: Reward,
) -> None:
    """Write the candidate dataset and its sidecars: each question with its decision. Usable
    questions that are not selected are kept beside it, since an evaluation may want them.

    hashes, paths: the sha256 and the file of each database.
    """

    def write(file: BinaryIO, record: Record) -> None:
        file.write(encode_json(record) + b"\n")

    with (
        replace_file(folder / "questions.jsonl") as questions,
        replace_file(folder / AUDIT) as audits,
        replace_file(folder / EXCLUDED) as excluded,
        replace_file(folder / PASS_RATES) as pass_rates,
        replace_file(folder / NOT_SELECTED) as not_selected,
    ):
        for question, why in decided:
            _, reason, _ = why
            if reason is not None:
                write(excluded, _make_exclusion(question, policies, why))
            if reason not in (None, Reason.NOT_SELECTED):
                continue
            record = question.product_record
            name = question.database_name
            engine = name_engine(paths[name])
            audit = _make_audit(add_terms(question, hashes[name], reward, engine=engine), policies)
            if reason is not None:
                write(not_selected, record | audit)
                continue
            write(questions, record)
            write(audits, audit)
            if question.pass_rate is not None:
                write(pass_rates, {"question_id": question.question_id, **question.pass_rate})


def _make_audit(question: Question, policies: Mapping[str, Policy]) -> Record:
    accepted_rows: Sequence[Any] | None = question.accepted_rows
    if has_choice(accepted_rows) and not accepts_ties(question.flags, policies):
        own_rows = write_order(read_order(bool(question.order_matters), accepted_rows))
        accepted_rows = own_rows["accepted_rows"]
    return {
        "question_id": question.question_id,
        "flags": keep_reported(question.flags, policies),
        "answer_risk": question.answer_risk,
        "sql_risk": question.sql_risk,
        "repairs": question.repairs,
        "engine": question.engine,
        "order_matters": question.order_matters,
        "max_steps": question.max_steps,
        "max_cpu_s": question.max_cpu_s,
        "rule": question.rule,
        "accepted_rows": accepted_rows,
        **({"abs_tol": question.abs_tol} if question.abs_tol else {}),
        **({"other_answers": question.other_answers} if question.other_answers else {}),
        "hardness": question.hardness,
        "features": question.features,
        "evidence": question.evidence,
        **({"now": question.now} if question.now else {}),
        "source": question.source,
        "database_sha256": question.database_sha256,
    }


def _make_exclusion(question: Question, policies: Mapping[str, Policy], why: Why) -> Record:
    stage, reason, detail = why
    more = ("split", "evidence", "source") if reason == Reason.NO_GOLD_SQL else ()
    has_answer = reason != DIALECT_DIFFERS  # SQLite's answer is no answer to another engine's SQL
    return {
        "question_id": question.question_id,
        "database_name": question.database_name,
        "stage": stage,
        "reason": reason,
        "detail": detail,
        "flags": keep_reported(question.flags, policies),
        "answer_risk": question.answer_risk if has_answer else None,
        "sql_risk": question.sql_risk if has_answer else None,
        "repairs": question.repairs if has_answer else None,
        "question_text": question.question_text,
        "gold_sql": question.gold_sql,
        **{field: getattr(question, field) for field in more},
        **({"now": question.now} if more and question.now else {}),
    }

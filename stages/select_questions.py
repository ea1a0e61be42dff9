"""The largest set of usable questions that meets the targets; any other gets a reason."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from stages.classify_difficulty import SPIDER
from stages.dossier import Dossier, read_curated_exclusion, read_dossiers
from stages.fingerprints import read_database_hashes
from stages.log import list_counts, start_log
from stages.params import read_params
from stages.question import FIELDS
from stages.reasons import Flag, Reason
from stages.records import encode_json, hash_value, replace_file, write_json
from stages.schema_file import SchemaFile
from stages.selection.candidates import Candidate, Candidates
from stages.selection.cells import (
    Cell,
    CorpusCell,
    Group,
    Solution,
    count_cells,
    count_corpora,
)
from stages.selection.coverage import Coverage
from stages.selection.picks import pick
from stages.selection.policies import Policy, find_exclusion, keep_reported, read_policies
from stages.selection.supply import check_size, describe_supply, summarize
from stages.selection.targets import Targets, find_largest, read_targets
from stages.selection.what_if import Rule, Usable, explain

DATABASES = Path("data/databases")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
OUT = Path("data/interim/selection")


class LostQuestionError(Exception):
    """A question that is neither selected nor excluded, or both."""


def find_reason(dossier: Dossier, policies: Mapping[Flag, Policy]) -> tuple[str, str, str] | None:
    """Why a question is not usable: stage, reason and detail; None if it is usable."""
    decision = read_curated_exclusion(dossier.source)
    if decision is not None:
        return "load_questions", Reason.EXCLUDED_BY_CURATOR, decision
    try:
        dossier.source["question_text"].encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair: JSON can spell it, UTF-8 cannot
        return "load_questions", Reason.UNDECODABLE_TEXT, f"question_text: {error.reason}"
    for stage, record in (
        ("compute_gold_answers", dossier.outcome),
        ("parse_gold_sql", dossier.parsed),
    ):
        if "reason" in record:
            return stage, record["reason"], record["detail"]
    if dossier.audit is None or dossier.difficulty is None:
        raise LookupError(f"{dossier.question_id} has an answer, but no audit or no difficulty")
    exclusion = find_exclusion(dossier.audit["flags"], policies)
    return ("audit_gold_answers", *exclusion) if exclusion else None


def make_candidate(number: int, dossier: Dossier, *, has_canonical_sql: bool) -> Candidate:
    """What selection looks at; canonical SQL is '' where nobody will look at it."""
    source, parsed = dossier.source, dossier.parsed
    return Candidate(
        number,
        Group(
            source["split"],
            dossier.difficulty,
            source["database_name"],
            dossier.outcome["answer_type"],
            source["source"]["corpus"],
        ),
        dossier.question_id,
        hash_value(parsed["template"])[:16],
        hash_value(parsed["canonical_sql"])[:16] if has_canonical_sql else "",
    )


def make_record(dossier: Dossier) -> dict[str, Any]:
    """The nine fields of the product, in their order."""
    known = {
        **dossier.source,
        **dossier.outcome,
        "difficulty": dossier.difficulty,
        "tables_involved": dossier.parsed["tables_involved"],
    }
    return {field: known[field] for field in FIELDS}


def make_audit(
    dossier: Dossier, policies: Mapping[Flag, Policy], database_sha256: str
) -> dict[str, Any]:
    """What the nine fields do not hold."""
    return {
        "question_id": dossier.question_id,
        "flags": keep_reported(dossier.audit["flags"], policies),
        "order_matters": dossier.audit["order_matters"],
        "hardness": dossier.parsed["hardness"],
        "features": dossier.parsed["features"],
        "evidence": dossier.source.get("evidence"),
        "source": dossier.source["source"],
        "database_sha256": database_sha256,
    }


def make_exclusion(dossier: Dossier, stage: str, reason: str, detail: str) -> dict[str, Any]:
    """A question that is set aside, and why."""
    return {
        "question_id": dossier.question_id,
        "database_name": dossier.source["database_name"],
        "stage": stage,
        "reason": reason,
        "detail": detail,
        "question_text": dossier.source["question_text"],
        "gold_sql": dossier.source["gold_sql"],
    }


class Verdict(IntEnum):
    """What becomes of a question; there may be millions, so that it is a byte."""

    UNUSABLE = 0
    NOT_PICKED = 1
    CAPPED = 2  # by max_per_canonical_sql
    SELECTED = 3


def survey_questions(
    policies: Mapping[Flag, Policy], *, seed: int, has_canonical_sql: bool
) -> tuple[bytearray, Candidates]:
    """A first pass over all questions: their verdicts as long as none is picked, and the usable
    ones by their number."""
    verdicts = bytearray()

    def list_usable() -> Iterator[Candidate]:
        for number, dossier in enumerate(read_dossiers()):
            is_usable = find_reason(dossier, policies) is None
            verdicts.append(Verdict.NOT_PICKED if is_usable else Verdict.UNUSABLE)
            if is_usable:
                yield make_candidate(number, dossier, has_canonical_sql=has_canonical_sql)

    candidates = Candidates(list_usable(), seed=seed)
    return verdicts, candidates


@dataclass(frozen=True, slots=True)
class Choice:
    """The verdict of each question, in their order; the supply, also by cell and by corpus, and
    what it was solved to."""

    verdicts: bytearray
    supply: Counter[Group]
    cells: dict[Cell, int]
    corpora: dict[CorpusCell, int]
    solution: Solution

    def explain(self, dossier: Dossier, verdict: int) -> str:
        """Why a usable question is not selected."""
        if verdict == Verdict.CAPPED:
            return "max_per_canonical_sql: enough questions of this database have this SQL"
        cell = (dossier.source["split"], dossier.difficulty)
        taken = (
            f"{cell[0]} {cell[1]}: the targets take {self.solution.counts[cell]}"
            f" of {self.cells[cell]} usable questions"
        )
        if not self.corpora:
            return taken
        place = (dossier.source["split"], dossier.source["source"]["corpus"])
        return (
            f"{taken}; {place[0]} corpus {place[1]}: {self.solution.corpora[place]}"
            f" of {self.corpora[place]}"
        )


def choose(
    verdicts: bytearray,
    candidates: Candidates,
    targets: Targets,
    *,
    max_per_canonical_sql: int | None,
) -> Choice:
    """The choice among the candidates, with their verdicts as they are then.

    Raises:
        TargetsNotMetError: where the targets ask for more than there is.
    """
    for number in candidates.cap_paraphrases(max_per_canonical_sql):
        verdicts[number] = Verdict.CAPPED
    supply = candidates.count(
        by_database=targets.max_per_database is not None,
        by_answer_type=targets.max_answer_type_share is not None,
        by_corpus=bool(targets.corpora),
    )
    solution = find_largest(supply, targets)
    check_size(supply, targets, solution)
    for number in pick(candidates, solution, targets):
        verdicts[number] = Verdict.SELECTED
    corpora = count_corpora(supply, targets.corpora)
    return Choice(verdicts, supply, count_cells(supply), corpora, solution)


def check_conservation(loaded: int, selected: int, excluded: int, expected_selected: int) -> None:
    """Make sure that every question is accounted for, once.

    Raises:
        LostQuestionError: with the numbers.
    """
    if selected + excluded != loaded or selected != expected_selected:
        raise LostQuestionError(
            f"{loaded} questions were loaded, {selected} selected (expected {expected_selected})"
            f" and {excluded} excluded: every question must be one or the other"
        )


def write_selection(
    choice: Choice,
    policies: Mapping[Flag, Policy],
    hashes: Mapping[str, str],
    coverage: Coverage,
) -> tuple[int, Counter[str]]:
    """Write the candidate dataset and its sidecars in one pass over all questions; how many are
    selected, and how many are not, by reason. What the selected ones touch is counted."""
    count = 0
    reasons: Counter[str] = Counter()
    with (
        replace_file(OUT / "questions.jsonl") as questions,
        replace_file(OUT / "audit.jsonl") as audits,
        replace_file(OUT / "excluded.jsonl") as excluded,
    ):
        for dossier, verdict in zip(read_dossiers(), choice.verdicts, strict=True):
            if verdict == Verdict.SELECTED:
                count += 1
                name, parsed = dossier.source["database_name"], dossier.parsed
                coverage.add(name, parsed["tables_involved"], parsed["columns_involved"])
                questions.write(encode_json(make_record(dossier)) + b"\n")
                audits.write(encode_json(make_audit(dossier, policies, hashes[name])) + b"\n")
                continue
            why = find_reason(dossier, policies) or (
                "select_questions",
                Reason.NOT_SELECTED,
                choice.explain(dossier, verdict),
            )
            reasons[why[1]] += 1
            excluded.write(encode_json(make_exclusion(dossier, *why)) + b"\n")
    return count, reasons


def explain_params() -> str:
    """What the current params would select, from what the last run left, and their neighbours."""
    corpus, policy_values, target_values, method, easy_max, medium_max, levels = read_params(
        "corpus",
        "select_questions.policies",
        "select_questions.targets",
        "classify_difficulty.method",
        "classify_difficulty.easy_max_tables",
        "classify_difficulty.medium_max_tables",
        "classify_difficulty.hardness_levels",
    )
    policies, targets = read_policies(policy_values), read_targets(target_values, corpus)
    usable = Counter(
        Usable(
            dossier.source["split"],
            dossier.source["database_name"],
            dossier.outcome["answer_type"],
            len(dossier.parsed["tables_involved"]),
            dossier.parsed["hardness"],
            dossier.source["source"]["corpus"],
        )
        for dossier in read_dossiers()
        if find_reason(dossier, policies) is None
    )
    rule = Rule(easy_max, medium_max, levels if method == SPIDER else {})
    return explain(usable, rule, targets, levels=levels)


def main(*arguments: str) -> None:
    """Select, and write the candidate dataset and its sidecars; or only --explain."""
    parser = argparse.ArgumentParser(prog="python -m stages.select_questions")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print what the current params and their neighbours would select, and write nothing",
    )
    if parser.parse_args(arguments).explain:
        print(explain_params())
        return
    log = start_log("select_questions")
    corpus, policy_values, target_values, max_per_canonical_sql, seed = read_params(
        "corpus",
        "select_questions.policies",
        "select_questions.targets",
        "select_questions.max_per_canonical_sql",
        "select_questions.seed",
    )
    policies, targets = read_policies(policy_values), read_targets(target_values, corpus)
    hashes = read_database_hashes(DATABASES)
    verdicts, candidates = survey_questions(
        policies, seed=seed, has_canonical_sql=max_per_canonical_sql is not None
    )
    choice = choose(verdicts, candidates, targets, max_per_canonical_sql=max_per_canonical_sql)
    coverage = Coverage(SchemaFile(SCHEMAS_PATH))
    count, reasons = write_selection(choice, policies, hashes, coverage)
    check_conservation(len(verdicts), count, reasons.total(), choice.solution.size)
    summary = summarize(choice.supply, targets, choice.solution)
    write_json(OUT / "summary.json", {**summary, "coverage": coverage.measure()})
    log.info("%d of %d questions%s", count, len(verdicts), list_counts(reasons))
    table = describe_supply(choice.supply, choice.solution.counts, choice.solution.corpora)
    log.info("selected of usable:\n%s", table)


if __name__ == "__main__":
    main(*sys.argv[1:])

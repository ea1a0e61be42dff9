"""The largest set of usable questions that meets the targets; any other gets a reason."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import make_parser, run_stage
from answerkey.core.dossier import read_dossiers
from answerkey.core.fingerprints import read_database_hashes
from answerkey.core.log import list_counts, start_log
from answerkey.core.params import read_params
from answerkey.core.reasons import Flag, Reason
from answerkey.core.records import encode_json, replace_file, write_json
from answerkey.core.schema_file import SchemaFile
from answerkey.selection.choice import Choice, Verdict, choose, survey_questions
from answerkey.selection.coverage import Coverage
from answerkey.selection.difficulty_rule import DifficultyRule
from answerkey.selection.policies import Policy, read_policies
from answerkey.selection.product_records import make_audit, make_exclusion, make_record
from answerkey.selection.supply import (
    TargetsNotMetError,
    describe_loss,
    describe_supply,
    summarize,
)
from answerkey.selection.targets import read_targets
from answerkey.selection.usability import find_reason
from answerkey.selection.what_if import Usable, explain

DATABASES = Path("data/databases")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
OUT = Path("data/interim/selection")


class LostQuestionError(Exception):
    """A question that is neither selected nor excluded, or both."""


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
            excluded.write(encode_json(make_exclusion(dossier, policies, *why)) + b"\n")
    return count, reasons


def describe_unusable(policies: Mapping[Flag, Policy]) -> str:
    """How many questions are not usable and why, for whoever wonders where they are."""
    whys = (find_reason(dossier, policies) for dossier in read_dossiers())
    reasons = Counter("usable" if why is None else why[1] for why in whys)
    loaded, usable = reasons.total(), reasons.pop("usable", 0)
    return f"Not usable: {loaded - usable} of {loaded} questions{list_counts(reasons)}"


def explain_params() -> str:
    """What the current params would select, from what the last run left, and their neighbours."""
    corpus, policy_values, target_values, rule_values = read_params(
        "corpus",
        "select_questions.policies",
        "select_questions.targets",
        "classify_difficulty",
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
            dossier.source["source"].get("difficulty"),
        )
        for dossier in read_dossiers()
        if find_reason(dossier, policies) is None
    )
    return explain(usable, DifficultyRule(**rule_values), targets)


def main(*arguments: str) -> None:
    """Select, and write the candidate dataset and its sidecars; or only --explain."""
    parser = make_parser("stages.select_questions", __doc__)
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
    try:
        choice = choose(verdicts, candidates, targets, max_per_canonical_sql=max_per_canonical_sql)
    except TargetsNotMetError as error:
        raise TargetsNotMetError(f"{error}\n{describe_unusable(policies)}") from None
    coverage = Coverage(SchemaFile(SCHEMAS_PATH))
    count, reasons = write_selection(choice, policies, hashes, coverage)
    check_conservation(len(verdicts), count, reasons.total(), choice.solution.size)
    summary = summarize(choice.supply, targets, choice.solution)
    write_json(OUT / "summary.json", {**summary, "coverage": coverage.measure()})
    log.info("%d of %d questions%s", count, len(verdicts), list_counts(reasons))
    if (loss := describe_loss(summary, sum(choice.supply.values()))) is not None:
        log.warning("%s", loss)
    table = describe_supply(choice.supply, choice.solution.counts, choice.solution.corpora)
    log.info("selected of usable:\n%s", table)


if __name__ == "__main__":
    run_stage(main, has_options=True)

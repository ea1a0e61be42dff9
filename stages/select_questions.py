"""The largest set of usable questions that meets the targets; any other gets a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from answerkey.base.log import list_counts, start_log
from answerkey.base.params import make_parser, read_params, run_stage
from answerkey.base.records import read_database_hashes, read_jsonl, write_json
from answerkey.dataset import NOT_SELECTED, SUITES, SUITES_NOT_SELECTED, read_classified
from answerkey.selection.choice import (
    WHY,
    choose,
    explain_choice,
    find_rank_cuts,
    list_usable,
    survey_questions,
)
from answerkey.selection.policies import read_policies
from answerkey.selection.product_records import write_selection, write_suites
from answerkey.selection.supply import measure_coverage, tabulate
from answerkey.sqlite.schema_file import SchemaFile

DATABASES = Path("data/databases")
SCHEMAS = Path("data/interim/schemas.jsonl")
TEST_SUITES = Path("data/interim/test_suites")
OUT = Path("data/interim/selection")


def main(*arguments: str) -> None:
    """Select, and write the candidate dataset and its sidecars; or only --explain."""
    parser = make_parser("stages.select_questions", __doc__)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print what the current params and their neighbours would select, and write nothing",
    )
    parser.add_argument(
        "--policies", action="store_true", help="print the policy of every flag, and write nothing"
    )
    options = parser.parse_args(arguments)
    log = start_log("select_questions")
    settings, rule, reward = read_params("select_questions", "classify_difficulty", "reward")
    policies = read_policies(settings.policies)
    if options.policies:
        print("\n".join(f"{flag}: {policy}" for flag, policy in policies.items()))
        return
    if options.explain:
        print(explain_choice(read_classified(), settings, rule))
        return
    table = survey_questions(read_classified(), policies)
    chosen, summary = choose(table, settings)
    decided = zip(read_classified(), chosen[WHY].itertuples(index=False, name=None), strict=True)
    write_selection(OUT, decided, policies, read_database_hashes(DATABASES), reward)
    write_suites(OUT / SUITES, read_jsonl(OUT / "questions.jsonl"), TEST_SUITES)
    write_suites(OUT / SUITES_NOT_SELECTED, read_jsonl(OUT / NOT_SELECTED), TEST_SUITES)
    selected = list_usable(chosen)
    coverage = measure_coverage(
        selected[["database_name", "tables_involved", "columns_involved"]], SchemaFile(SCHEMAS)
    )
    cuts = find_rank_cuts(list_usable(table), rule, settings.targets)
    complexity_cuts = None if cuts is None else cuts._asdict()
    write_json(
        OUT / "summary.json", {**summary, "complexity_cuts": complexity_cuts, "coverage": coverage}
    )
    reasons = Counter(chosen["reason"].dropna())
    log.info("%d of %d questions%s", len(selected), len(table), list_counts(reasons))
    size, usable, lifts = summary["size"], summary["usable"], ", ".join(summary["lifts"])
    if 2 * size < usable:
        words = "the targets take %d of %d usable questions; all %d without %s"
        log.warning(words, size, usable, usable, lifts)
    log.info("selected of usable:\n%s", tabulate(summary))


if __name__ == "__main__":
    run_stage(main, has_options=True)

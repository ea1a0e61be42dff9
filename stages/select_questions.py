"""Select the largest set of usable questions that meets the targets; the others get a reason."""

from __future__ import annotations

from collections import Counter

from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import DATABASES, SELECTION, TEST_SUITES
from answerkey.base.records import (
    read_database_hashes,
    read_database_paths,
    read_jsonl,
    replace_folder,
    write_json,
)
from answerkey.base.stage import make_parser, run_command
from answerkey.dataset import NOT_SELECTED, SUITES, SUITES_NOT_SELECTED, read_classified
from answerkey.sections.whole_file import read_params
from answerkey.selection.choice import (
    WHY,
    choose,
    survey_questions,
    tabulate,
    write_selection,
    write_suites,
)
from answerkey.selection.policies import read_policies


def main(*arguments: str) -> None:
    """Select, and write the candidate dataset and its sidecars; or only print --policies."""
    parser = make_parser("stages.select_questions", __doc__)
    parser.add_argument(
        "--policies", action="store_true", help="print the policy of every flag, and write nothing"
    )
    options = parser.parse_args(arguments)
    log = start_log("select_questions")
    params = read_params()
    settings = params.select_questions
    reward = params.reward
    policies = read_policies(settings.policies)
    if options.policies:
        print("\n".join(f"{flag}: {policy}" for flag, policy in policies.items()))
        return
    chosen, summary = choose(survey_questions(read_classified(), policies), settings)
    decided = zip(read_classified(), chosen[WHY].itertuples(index=False, name=None), strict=True)
    with replace_folder(SELECTION) as folder:
        write_selection(
            folder,
            decided,
            policies,
            read_database_hashes(DATABASES),
            read_database_paths(DATABASES),
            reward,
        )
        write_suites(folder / SUITES, read_jsonl(folder / "questions.jsonl"), TEST_SUITES)
        write_suites(folder / SUITES_NOT_SELECTED, read_jsonl(folder / NOT_SELECTED), TEST_SUITES)
        write_json(folder / "summary.json", summary)
    reasons = Counter(chosen["reason"].dropna())
    size, usable, lifts = summary["size"], summary["usable"], ", ".join(summary["lifts"])
    log.info(f"{size} of {spell_count(len(chosen), 'question')}{list_counts(reasons)}")
    if 2 * size < usable:
        questions = spell_count(usable, "usable question")
        log.warning(f"the targets take {size} of {questions}; all {usable} without {lifts}")
    log.info("selected of usable:\n%s", tabulate(summary))


if __name__ == "__main__":
    run_command(main)

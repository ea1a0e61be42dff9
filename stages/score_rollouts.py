"""Execute the outputs of models in data/rollouts, and give each question its pass rate: the share
of them that is right. Without rollouts there are no pass rates."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from answerkey.base.log import show_progress, spell_count, start_log
from answerkey.base.paths import DATABASES, PASS_RATES, ROLLOUTS, SUITE_DATABASES
from answerkey.base.records import read_database_hashes, read_database_paths, write_json
from answerkey.base.stage import run_stage
from answerkey.dataset import add_terms, join_stages
from answerkey.engines.names import name_engine
from answerkey.evaluation.samples import read_rollouts
from answerkey.evaluation.scoring import Folders, score_rollouts
from answerkey.sections.whole_file import Params, read_params

FOLDERS = Folders(DATABASES, SUITE_DATABASES)
JOURNALS = Path(".answerkey/rollouts")


def main(params: Params) -> None:
    """Write the pass rates."""
    log = start_log("score_rollouts")
    settings = params.score_rollouts
    reward = params.reward
    execution = params.execution
    rollouts = read_rollouts(ROLLOUTS)
    count = {
        question_id: sum(models.total() for models in samples.values())
        for question_id, samples in rollouts.items()
    }
    wanted = {question_id for question_id in count if count[question_id] >= settings.min_rollouts}
    rates: list[dict[str, Any]] = []
    if wanted:
        hashes = read_database_hashes(FOLDERS.databases)
        paths = read_database_paths(FOLDERS.databases)
        asked = (
            add_terms(
                question,
                hashes[question.database_name],
                reward,
                engine=name_engine(paths[question.database_name]),
            )._replace(test_suite=suite["databases"])
            for question, suite in join_stages(wanted=wanted)
            if suite and question.question_id in wanted
        )
        total, workers = len(wanted), execution.workers or None
        with show_progress("rollouts", total=total, unit="questions") as advance:
            for name, questions in groupby(asked, key=attrgetter("database_name")):
                of_database, journal = list(questions), JOURNALS / f"{name}.jsonl"
                rates += score_rollouts(
                    rollouts, of_database, FOLDERS, journal=journal, workers=workers
                )
                advance(len(of_database))
    write_json(PASS_RATES, rates)
    if not rollouts:
        log.info("no rollouts in %s", ROLLOUTS)
        return
    scored = {rate["question_id"] for rate in rates}

    def spell(names: Iterable[str]) -> str:
        of = set(names)
        number = spell_count(sum(count[name] for name in of), "rollout")
        return f"{number} of {spell_count(len(of), 'question')}"

    log.info(f"{spell(scored)} scored, {spell(rollouts)} read")
    if few := rollouts.keys() - wanted:
        least = spell_count(settings.min_rollouts, "rollout")
        log.info(f"not scored: {spell(few)} with fewer than {least} each")
    if others := wanted - scored:
        log.info(f"not scored: {spell(others)} not here, or without an answer")


if __name__ == "__main__":
    run_stage(main, read_params)

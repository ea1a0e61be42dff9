"""Checks of the selection that lies between the stages, against what they wrote before it."""

from __future__ import annotations

from pathlib import Path

from answerkey.core.joined import DIFFICULTY, INTERIM, JOINED
from answerkey.core.manifest_file import read_database_hashes
from answerkey.core.question import PASS_RATES, SUITES
from answerkey.core.records import read_jsonl
from answerkey.validation.checks import Terms, find_errors
from answerkey.validation.pass_rate_checks import check_pass_rates
from answerkey.validation.recorded_facts import recorded_facts
from answerkey.validation.reward_terms import check_reward_terms
from answerkey.validation.risk_checks import check_gold_risks
from answerkey.validation.sidecars import are_in_step, check_conservation, check_sidecars
from answerkey.validation.suite_checks import TEST_SUITES, check_suites, hash_suites

SELECTION = INTERIM / "selection"
DATABASES = Path("data/databases")
# What the selection is held against.
RECORDS = (
    DATABASES / "manifest.json",
    TEST_SUITES,
    SELECTION,
    INTERIM / JOINED,
    INTERIM / DIFFICULTY,
)


def has_records() -> bool:
    """Whether all that the selection is held against is here."""
    return all(path.exists() for path in RECORDS)


def check_selection(terms: Terms) -> list[str]:
    """The errors of the selection that lies between the stages."""
    paths = [SELECTION / f"{name}.jsonl" for name in ("questions", "audit", "excluded")]
    paths.append(INTERIM / JOINED)
    hashes = read_database_hashes(DATABASES)
    errors = find_errors(read_jsonl(paths[0]), recorded_facts(INTERIM), terms)
    errors += check_reward_terms(*map(read_jsonl, paths[:2]))
    errors += check_gold_risks({path.name: read_jsonl(path) for path in paths[1:3]})
    suites = read_jsonl(SELECTION / SUITES)
    errors += check_suites(read_jsonl(paths[0]), suites, hash_suites())
    errors += check_pass_rates(read_jsonl(paths[0]), read_jsonl(SELECTION / PASS_RATES))
    if are_in_step(*map(read_jsonl, paths), hashes):
        return errors
    questions, audit, excluded, _ = map(read_jsonl, paths)
    errors += check_sidecars(questions, audit, excluded, hashes)
    questions, _, excluded, loaded = map(read_jsonl, paths)
    return errors + check_conservation(questions, excluded, loaded)

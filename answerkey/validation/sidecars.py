"""Product and sidecars hold the same questions: each loaded one is in the product and audited once,
or excluded, and the database is the one that was asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import zip_longest

from answerkey.validation.checks import Record


def check_sidecars(
    questions: Iterable[Record],
    audit: Iterable[Record],
    excluded: Iterable[Record],
    hashes: Mapping[str, str | None],
) -> list[str]:
    """Where product and sidecars do not hold the same questions, or speak of another database than
    that of `hashes`; a name that is None there is passed over."""
    errors = []
    databases = {question["question_id"]: question["database_name"] for question in questions}
    audited: Counter[str] = Counter()
    others: Counter[tuple[str, str, str | None]] = Counter()
    for record in audit:
        question_id, expected = record["question_id"], record["database_sha256"]
        audited[question_id] += 1
        name = databases.get(question_id)
        if name is None:
            errors.append(f"{question_id}: audit.jsonl: expected only questions of the product")
            continue
        found = hashes.get(name, "none")
        if found not in (None, expected):
            others[name, expected, found] += 1
    errors += [
        f"{name}: database_sha256: expected {expected}, as audit.jsonl has it for {count} of"
        f" the questions, found {found}"
        for (name, expected, found), count in sorted(others.items())
    ]
    errors += [
        f"{question_id}: audit.jsonl: expected one record, found {audited[question_id]}"
        for question_id in sorted(databases)
        if audited[question_id] != 1
    ]
    errors += [
        f"{record['question_id']}: excluded.jsonl: also in the product"
        for record in excluded
        if record["question_id"] in databases
    ]
    return errors


def check_conservation(
    questions: Iterable[Record], excluded: Iterable[Record], loaded: Iterable[Record]
) -> list[str]:
    """Source questions that are neither in the dataset nor excluded, and the other way round."""
    expected = Counter(record["question_id"] for record in loaded)
    found = Counter(record["question_id"] for record in questions)
    found.update(record["question_id"] for record in excluded)
    return [
        f"{question_id}: expected {expected[question_id]} times among selected and excluded"
        f" questions, as it was loaded, found {found[question_id]} times"
        for question_id in sorted(expected | found)
        if expected[question_id] != found[question_id]
    ]


def are_in_step(
    questions: Iterable[Record],
    audit: Iterable[Record],
    excluded: Iterable[Record],
    loaded: Iterable[Record],
    hashes: Mapping[str, str],
) -> bool:
    """Whether product, audit and exclusions follow the loaded questions, whose ids are all
    different: the next loaded question is always the next of product and audit, or the next that is
    excluded.

    Then `check_sidecars` and `check_conservation` would find nothing. They keep ids in memory; this
    does not.
    """
    selected = zip_longest(questions, audit, fillvalue={})
    left_out = iter(excluded)
    pair, exclusion = next(selected, None), next(left_out, None)
    for source in loaded:
        question_id = source["question_id"]
        if pair is not None and pair[0].get("question_id") == question_id:
            question, report = pair
            if report.get("question_id") != question_id:
                return False
            if report["database_sha256"] != hashes.get(question["database_name"]):
                return False
            pair = next(selected, None)
        elif exclusion is not None and exclusion["question_id"] == question_id:
            exclusion = next(left_out, None)
        else:
            return False
    return pair is None and exclusion is None

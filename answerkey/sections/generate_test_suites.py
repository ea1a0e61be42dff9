"""The section generate_test_suites: the sizes of test suites."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.base.kinds import From1, Whole


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """The sizes of test suites.

    seed: of all random choices.
    max_rows: the approximate number of rows of a table of a variant.
    pool: how many variants are tested.
    max_databases, max_databases_per_question: how many are kept.
    max_neighbors: of a gold query.
    """

    seed: Whole = 20
    max_rows: From1 = 8
    pool: From1 = 30
    max_databases: From1 = 12
    max_databases_per_question: From1 = 5
    max_neighbors: From1 = 60

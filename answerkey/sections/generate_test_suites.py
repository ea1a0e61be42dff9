"""The section generate_test_suites: how large test suites are."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.base.kinds import From1, Whole


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """What a test suite is made of.

    seed: of all chance.
    max_rows: a table of a variant has about so many rows.
    pool: so many variants are tried.
    max_databases, max_databases_per_question: so many are kept.
    max_neighbors: of a gold query.
    """

    seed: Whole = 20
    max_rows: From1 = 8
    pool: From1 = 30
    max_databases: From1 = 12
    max_databases_per_question: From1 = 5
    max_neighbors: From1 = 60

"""Guarded neighbors and weak queries: what a suite does not tell from gold though the real database
does.

A prediction can win with such a neighbor behind a guard: a condition that tells the real database
from the databases of the suite. So what lives on a suite that was chosen has to be told, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from answerkey.rewrites.trees import Change
from answerkey.sqlite.answers import Order
from answerkey.sqlite.executions import Executions, are_same, is_void
from answerkey.sqlite.schema import Schema, quote_name
from answerkey.suites.questions import BY_HEART, Query, Trial, is_told


def tells_apart(variant: Executions, query: Query, neighbor: Change, order: Order) -> bool:
    rows = variant.read_rows(query.sql)
    if neighbor.name == BY_HEART:
        return not is_void(rows, abs_tol=query.abs_tol) and not are_same(
            rows, query.rows, ordered=order, abs_tol=query.abs_tol
        )
    return bool(variant.tells_apart(rows, neighbor.sql, ordered=order, abs_tol=query.abs_tol))


def may_pass(variant: Executions, real: Executions, schema: Schema) -> bool:
    """Whether a guard that counts the rows of one table may take a variant for the real database:
    some table has as many in both."""
    counts = (f"SELECT count(*) FROM {quote_name(table.name)}" for table in schema.tables)
    return any(
        rows not in (None, [(0,)]) and rows == variant.find_rows(sql)
        for sql, rows in ((sql, real.find_rows(sql)) for sql in counts)
    )


def find_guarded(
    trials: list[Trial],
    suites: list[list[int]],
    variants: Mapping[int, Executions],
    real: Executions,
) -> bool:
    """Note in every question what lives on its suite though the real database tells it from gold,
    and which variants tell it: whether there is anything new."""
    is_new = False
    for trial, suite in zip(trials, suites, strict=True):
        for neighbor_index in _list_guarded(trial, suite, variants, real) if suite else ():
            is_new = True
            trial.guarded.add(neighbor_index)
            for number in trial.kills:
                note_guarded(trial, {neighbor_index}, number, variants[number])
    return is_new


def note_guarded(trial: Trial, guarded: set[int], number: int, variant: Executions) -> None:
    """Note in a question which guarded queries a variant tells from gold."""
    told = {index for index in guarded if _tells_guarded(trial, index, number, variant)}
    trial.kills[number] = trial.kills[number] - guarded | told


def _list_guarded(
    trial: Trial, suite: list[int], variants: Mapping[int, Executions], real: Executions
) -> Iterator[int]:
    answers = [
        variants[number].read_rows(trial.query.sql)
        for number in suite
        if number not in trial.passing
    ]
    if answers and all(
        are_same(answers[0], other, ordered=False, abs_tol=trial.query.abs_tol) for other in answers
    ):
        trial.add_guess(answers[0])
    candidates = trial.list_killed() | trial.list_weak() | trial.list_stopped()
    for neighbor_index in candidates - trial.guarded:
        is_alive = not any(
            _tells_guarded(trial, neighbor_index, number, variants[number]) for number in suite
        )
        if is_alive and is_told(trial.query, neighbor_index, real):
            yield neighbor_index


def _tells_guarded(trial: Trial, neighbor_index: int, number: int, variant: Executions) -> bool:
    """Whether a variant tells a query from gold though it stands behind a guard."""
    if number in trial.passing:
        return False
    query = trial.query
    if neighbor_index < len(query.alive):
        return neighbor_index in trial.kills[number]
    guess = neighbor_index - len(query.alive) - len(query.killed) - len(query.weak)
    if guess >= 0:
        return not are_same(
            variant.find_rows(query.sql), trial.guesses[guess], ordered=False, abs_tol=query.abs_tol
        )
    if (number, neighbor_index) not in query.fates:
        neighbor = [*query.killed, *query.weak][neighbor_index - len(query.alive)]
        query.fates[number, neighbor_index] = tells_apart(
            variant, query, neighbor, query.orders[number]
        )
    return query.fates[number, neighbor_index]

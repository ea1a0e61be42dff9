"""Inspection: what a probe may look at, one gold query and its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp

from answerkey.order.reordered_copy import ReorderedCopy
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.answers import REL_TOL
from answerkey.sqlite.guard import GuardedDatabase, QueryError, Row
from answerkey.sqlite.schema import Schema

if TYPE_CHECKING:  # stages that ask for no threshold do not read that section
    from answerkey.sections.audit_gold_answers import Thresholds

_Result = TypeVar("_Result")


@dataclass(slots=True)
class Inspection:
    """A gold query that was executed.

    sql, tree: its text, and what was parsed of it. Probes share the tree: copy it to change it.
    rows: what it returned.
    database: where probes ask for evidence, within the same bounds.
    copy: the same rows in the reverse order; None: nobody asks for them.
    thresholds: from where on an answer is remarkable; None: nobody asks that.
    scopes: what the names in the tree stand for.
    """

    sql: str
    tree: exp.Expression
    schema: Schema
    rows: list[Row]
    database: GuardedDatabase
    copy: ReorderedCopy | None = None
    thresholds: Thresholds | None = None
    scopes: Scopes = field(init=False)
    _known: dict[Callable[[Inspection], Any], Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.scopes = Scopes(self.tree, self.schema)

    @property
    def rel_tol(self) -> float:
        """The relative tolerance between floats."""
        return REL_TOL if self.thresholds is None else self.thresholds.rel_tol

    @property
    def is_scalar(self) -> bool:
        """Whether the answer is one value."""
        return len(self.rows) == 1 and len(self.rows[0]) == 1

    def once(self, function: Callable[[Inspection], _Result]) -> _Result:
        """Return what a function gives for this inspection: it is called once for all probes."""
        if function not in self._known:
            self._known[function] = function(self)
        return self._known[function]


def execute_on_copy(inspection: Inspection) -> tuple[GuardedDatabase, list[Row]] | None:
    """Return the reordered copy and the rows of the query there; None if it says nothing: there is
    none, or the query fails on it."""
    database = inspection.copy and inspection.copy.find_database(inspection.sql)
    try:
        return (database, database.execute(inspection.sql)) if database else None
    except QueryError:
        return None

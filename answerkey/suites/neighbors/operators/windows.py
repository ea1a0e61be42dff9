"""Windows: another rank function, or all rows as one partition.

`rank() OVER (PARTITION BY a ORDER BY b)` -> `dense_rank() ...`, `rank() OVER (ORDER BY b)`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed

_RANKS = (exp.Rank, exp.DenseRank, exp.RowNumber)


def mutate_windows(scopes: Scopes) -> Steps:
    """window_function, partition_removed."""
    for node in scopes.nodes.find_all(exp.Window):
        if isinstance(node.this, _RANKS):
            for kind in _RANKS:
                if not isinstance(node.this, kind):
                    with changed(node, this=kind()):
                        yield "window_function"
        if node.args.get("partition_by"):
            with changed(node, partition_by=None):
                yield "partition_removed"

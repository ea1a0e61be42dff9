"""The section execution: how stages run. It changes no result, so no stage depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from answerkey.kinds import From0, Text, one_of


@dataclass(frozen=True, slots=True)
class Execution:
    """How shards are made.

    engine: local, processes of this machine; ray, the cluster at RAY_ADDRESS, or one here.
    workers: processes, or tasks at a time on a cluster; 0: as many as there are cores.
    databases_url: workers fetch NAME/NAME.sqlite from there; None: they share data/databases.
    max_warnings: so many gold queries that fail are told one by one.
    """

    engine: Annotated[Literal["local", "ray"], one_of(["local", "ray"])] = "local"
    workers: From0 = 0
    databases_url: Text | None = None
    max_warnings: From0 = 10

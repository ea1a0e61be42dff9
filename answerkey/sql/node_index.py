"""An index of a query's tree: its nodes by type, for the many who ask for them."""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter

from sqlglot import exp


@lru_cache(maxsize=65_536)
def _pick(kinds: frozenset[type], types: tuple[type, ...]) -> list[type]:
    return [kind for kind in kinds if issubclass(kind, types)]


class NodeIndex:
    """The nodes of a tree that does not change."""

    def __init__(self, tree: exp.Expression) -> None:
        self._tree = tree
        self._walked: list[exp.Expression] = []
        self._nodes: dict[type, list[tuple[int, exp.Expression]]] = {}
        self._kinds: frozenset[type] = frozenset()
        self._found: dict[tuple[type, ...], list[exp.Expression]] = {}

    def walk(self) -> list[exp.Expression]:
        """All nodes, in the order of tree.walk. The list is not to be changed."""
        if not self._walked:
            self._walked = list(self._tree.walk())
        return self._walked

    def find_all(self, *types: type[exp.Expression]) -> list[exp.Expression]:
        """The nodes of the tree that are of one of these types, in the order of tree.find_all; the
        tree is walked once for all who ask. The list is not to be changed."""
        known = self._found.get(types)
        if known is None:
            if not self._nodes:
                for place, node in enumerate(self.walk()):
                    self._nodes.setdefault(type(node), []).append((place, node))
                self._kinds = frozenset(self._nodes)
            pairs = [pair for kind in _pick(self._kinds, types) for pair in self._nodes[kind]]
            pairs.sort(key=itemgetter(0))
            known = self._found[types] = [node for _, node in pairs]
        return known

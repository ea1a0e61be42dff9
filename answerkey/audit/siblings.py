"""Siblings: columns of one table whose names share a word, one of which a question names."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.inspection import Inspection
from answerkey.english.measures import split_name
from answerkey.english.question import Question, stem_word

_KEYS = frozenset({"id", "code", "key"})


def find_named_sibling(
    column: exp.Expression, inspection: Inspection, question: Question
) -> str | None:
    """The column, as table.column, that a question names where the query uses another; or None.

    `ORDER BY total_weight`, "the greatest total length" -> 'load.total_length', where the query
    uses that nowhere, its words stand together in the question, and "weight" does not.
    """
    found = inspection.scopes.resolve(column) if isinstance(column, exp.Column) else None
    if found is None or found.table is None or found.column is None:
        return None
    own = _list_stems(found.column.name)
    siblings = [
        (sibling.name, stems)
        for sibling in found.table.columns
        if (stems := _list_stems(sibling.name)) & own and own - stems and stems - own - _KEYS
    ]
    if not siblings:
        return None
    used = {node.name.lower() for node in inspection.scopes.nodes.find_all(exp.Column)}
    said = [word.stem for word in question.words]
    for name, stems in siblings:
        is_other = name.lower() not in used and (own - stems).isdisjoint(said)
        if is_other and _stand_together(stems, said):
            return f"{found.table.name}.{name}"
    return None


def _stand_together(stems: set[str], said: list[str]) -> bool:
    """Whether a text has all of some words one beside the other, at most one other among them."""
    width = len(stems) + 1
    return stems <= set(said) and any(
        stems <= set(said[start : start + width]) for start in range(len(said))
    )


def _list_stems(name: str) -> set[str]:
    return {stem_word(word) for word in split_name(name)}

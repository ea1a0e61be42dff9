"""Word sets: words that a rule about English looks for, written as one text."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text, which spaces separate.

    >>> sorted(word_set("many number count"))
    ['count', 'many', 'number']
    """
    return frozenset(text.split())

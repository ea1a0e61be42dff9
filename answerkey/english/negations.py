"""Negations: which words of a question deny something."""

from __future__ import annotations

import re

from answerkey.english.question import Question

_CLAUSE = re.compile(
    r"\b(?:(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would) not|cannot|never)\b"
    r"|n't\b|nt'(?= )"
)
_WORD = re.compile(
    r"\b(?:not|without|except|excluding|excludes?|other than|neither|nor|none|apart from"
    r"|aside from)\b|\bno(?= [a-z])"
)
_WEAK = re.compile(
    r"\b(?:but|outside|differ\w*|another|others?|lack\w*|miss\w*|fail\w*|only|rather|instead"
    r"|besides|aside|exclu\w*|un\w+|non\w*|nothing|nobody|no|empty|null|blank|else|still|free|yet"
    r"|remain\w*|leav\w*|omit\w*|skip\w*|avoid\w*|spar\w*|escap\w*|drop\w*|ignor\w*|bar|barring)\b"
)
_HARMLESS = re.compile(
    r"\s+(?:only|more than|less than|fewer than|greater|larger|higher|lower|smaller|later|earlier"
    r"|older|younger|longer than|shorter|exceed\w*|necessarily|just|count\w*|repeat\w*"
    r"|duplicat\w*)\b"
)
_OR_BEFORE = re.compile(r"\bor\s+$")  # refunded or not: either will do
_ASIDE = re.compile(r"\([^()]{0,200}\)")
CLAUSE, WORD = "clause", "word"


def find_negations(question: Question) -> list[tuple[str, str]]:
    """What a question denies: CLAUSE for a verb with not or never, WORD for no or without, and the
    words; those in parentheses, "or not", "not only" and "no more than" are left out.

    >>> find_negations(Question("Not only ships, or boats, that never sail"))
    [('clause', 'never sail')]
    """
    text = _ASIDE.sub(lambda match: " " * len(match.group()), question.plain_text)
    return [
        (kind, text[match.start() : match.end() + 20].strip())
        for kind, pattern in ((CLAUSE, _CLAUSE), (WORD, _WORD))
        for match in pattern.finditer(text)
        if not _HARMLESS.match(text, match.end())
        and not _OR_BEFORE.search(text[max(0, match.start() - 8) : match.start()])
    ]


def may_deny(question: Question) -> bool:
    """Whether any word of a question may stand for a negation, even a weak one or a quoted one."""
    text = question.text.lower().replace("’", "'")
    return any(pattern.search(text) for pattern in (_CLAUSE, _WORD, _WEAK))

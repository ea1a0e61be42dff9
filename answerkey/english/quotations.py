"""Quotations: what stands in quotation marks, which is a value and no English."""

from __future__ import annotations

import re

_QUOTED = re.compile(
    r"""(?<!\w)(?:"[^"]{1,80}"|“[^”]{1,80}”|'[^']{1,80}'(?!\w)|[‘`][^’'`]{1,80}[’'](?!\w))"""
)


def mask_quotations(text: str) -> str:
    """The text in small letters, each quotation in it as blanks of the same length.

    >>> mask_quotations("Films named 'No Way' or not")
    'films named          or not'
    """
    masked = _QUOTED.sub(lambda match: " " * len(match.group()), text).replace("’", "'")
    lower = masked.lower()
    return lower if len(lower) == len(text) else masked
